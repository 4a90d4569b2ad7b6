import assert from "node:assert/strict";
import { test } from "node:test";
import { ui } from "./ui.js";

const { cellNumber, clamp, percent, precise, rounded, special, weightNumber, withDecimals } =
  await ui("components/common/numbers.js");

test("a number in a cell has at most four digits and an exponent", () => {
  const texts = [0, 0.00123, 0.125, 12.5, 1234.56, 4e-4, -0.5, 1e-300, 12345, -3, 0.9999, 999.96];
  assert.deepEqual(texts.map(cellNumber), [
    ...["0", "0.001", "0.125", "12.5", "1235", "4e-4", "-0.500", "1e-300", "1e+4", "-3", "1.000", "1000"],
  ]);
  for (let power = -320; power < 309; power++)
    for (const sign of [1, -1])
      assert.ok(cellNumber(sign * 1.2345 * 10 ** power).length <= 8, `${sign} · 1.2345e${power}`);
});

test("what is not finite has a name", () => {
  assert.deepEqual([NaN, Infinity, -Infinity, 0, 1e308].map(special), ["NaN", "+∞", "−∞", "", ""]);
  assert.deepEqual(
    [NaN, Infinity, -Infinity].map((x) => precise(x)),
    ["NaN", "+∞", "−∞"],
  );
  assert.equal(weightNumber(NaN), "NaN");
});

test("signs and digits", () => {
  assert.equal(precise(-1e-7), "-1e-7");
  assert.equal(rounded(-1e-7, 3), "−1e−7");
  assert.equal(rounded(1234.5678, 6), "1234.57");
  assert.equal(withDecimals(-0.00001, 4), "0.0000"); // a zero has no sign
  assert.equal(withDecimals(-0.5, 4), "−0.5000");
});

test("shares at the ends", () => {
  assert.deepEqual([0, 1e-9, 0.00005, 0.12345, 0.99994, 0.99999, 1].map(percent), [
    ...["0.00%", "< 0.01%", "0.01%", "12.35%", "99.99%", "> 99.99%", "100.00%"],
  ]);
});

test("an attention weight that is not 1 is not written as 1, and one that is not 0 not as 0", () => {
  assert.deepEqual([1, 0.9996, 0.125, 0.0004, 0, 1e-30].map(weightNumber), [
    ...["1.000", ">\u00a00.999", "0.125", "4e−4", "0.000", "1e−30"],
  ]);
});

test("clamped to an interval", () => {
  assert.deepEqual(
    [-1, 0.5, 9].map((x) => clamp(x, 0, 1)),
    [0, 0.5, 1],
  );
});
