import assert from "node:assert/strict";
import { test } from "node:test";
import { ui } from "./ui.js";

const { records, unpack, withHeader } = await ui("components/common/packing.js");
const { largestOf, largestPlaces, padded, pooled } = await ui("components/offline/pooling.js");
const { fillFields, nodes } = await ui("components/common/messages.js");

test("a message is read as it was written", () => {
  for (const words of [[], ["猫", "😀", "שלום"], ["a".repeat(1000)]]) {
    const bytes = withHeader({ words, n: 3 }, Float32Array.of(1, NaN, -Infinity), Uint16Array.of(7));
    const [header, buffer, start] = unpack(bytes);
    assert.deepEqual(header, { words, n: 3 });
    assert.equal(start % 8, 0);
    assert.deepEqual([...new Float32Array(buffer, start, 3)], [1, NaN, -Infinity]);
    assert.deepEqual([...new Uint16Array(buffer, start + 12, 1)], [7]);
  }
});

test("objects are read from a table of their fields", () => {
  assert.deepEqual(
    records({
      fields: ["x", "of"],
      rows: [
        [1, ["a"]],
        [2, []],
      ],
    }),
    [
      { x: 1, of: ["a"] },
      { x: 2, of: [] },
    ],
  );
  assert.deepEqual(records({ fields: ["x"], rows: [] }), []);
});

test("a block keeps its largest value, NaN before all, and the place of that value", () => {
  const values = Float32Array.of(1, 2, 3, 4, NaN, 6, 7, 8, 9);
  const { shape, best, kept } = pooled(values, [3, 3], [2, 2]);
  assert.deepEqual(
    [shape, [...best], [...kept]],
    [
      [2, 2],
      [NaN, 6, 8, 9],
      [3, 2, 1, 0],
    ],
  );
  assert.deepEqual([...pooled(values, [3, 3], [1, 1]).best], [...values]);
  assert.deepEqual([...pooled(Float32Array.of(NaN, NaN), [1, 2], [1, 2]).kept], [0]); // the first NaN
});

test("the largest values", () => {
  assert.deepEqual(largestPlaces(Float32Array.of(0.1, 0.5, NaN, 0.2), 2), [2, 1]);
  assert.deepEqual(largestPlaces(new Float32Array(0), 2), []);
  assert.deepEqual([largestOf([0.1, NaN, Infinity, 0.4]), largestOf([NaN]), largestOf([])], [...[0.4, 1, 1]]);
  assert.deepEqual([...padded(Uint8Array.of(1, 2, 3, 4, 5))], [1, 2, 3, 4, 5, 0, 0, 0]);
});

test("fields of a message; typed text in a value is no field", () => {
  assert.equal(fillFields("{a} of {b}, {c}", { a: "{b}", b: 2 }), "{b} of 2, {c}");
  assert.equal(fillFields("{a}"), "{a}");
  assert.deepEqual(nodes("{word} has the id {id}.", { word: ["x", "y"], id: 3 }), [
    "",
    "x",
    "y",
    " has the id ",
    3,
    ".",
  ]);
});
