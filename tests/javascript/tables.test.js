import assert from "node:assert/strict";
import { test } from "node:test";
import { ui } from "./ui.js";

const { filterRows } = await ui("components/table/filter.js");
const { readRows } = await ui("components/table/rows.js");
const { sortedRows } = await ui("components/profiles/sorting.js");
const { connector, revealed } = await ui("components/tree/geometry.js");

const rowOf = (name, axes, block, part, mark = "") => ({
  ...{ name, block, part, mark, axes: axes.split(" "), text: `${block} ${part} ${name} ${axes}`.toLowerCase() },
});
const ROWS = [
  rowOf("q", "B H T K", "encoder 0", "attention", "changed"),
  rowOf("scores", "B H T S", "encoder 0", "attention"),
  rowOf("hidden", "B T F", "decoder 1", "feed-forward"),
];
const shown = (filter) =>
  filterRows(ROWS, { text: "", block: "all", part: "all", onlyMarked: false, ...filter }).map(Number);

test("rows as they are sent: the indices of their values, and of what else they have", () => {
  const values = ["encoder.", "q", "B H T K", null, "encoder 0", "attention", "", "k"];
  const extras = [
    { mark: "", previous: {}, note: "", split: null },
    { mark: "new", previous: {}, note: "This tensor is new.", split: null },
  ];
  const rows = [
    [0, 1, 2, 3, 4, 5, 0],
    [6, 7, 2, 3, 4, 5, 1],
  ];
  assert.deepEqual(readRows({ values, extras, rows }), [
    { cells: ["encoder.q", "B H T K", null], block: "encoder 0", part: "attention", ...extras[0] },
    { cells: ["k", "B H T K", null], block: "encoder 0", part: "attention", ...extras[1] },
  ]);
});

test("rows of a block, of a part, and with a mark", () => {
  assert.deepEqual(shown({}), [1, 1, 1]);
  assert.deepEqual(shown({ block: "encoder 0" }), [1, 1, 0]);
  assert.deepEqual(shown({ block: "encoder 0", part: "feed-forward" }), [0, 0, 0]);
  assert.deepEqual(shown({ onlyMarked: true }), [1, 0, 0]);
});

test("typed words: parts of the text, all of them", () => {
  assert.deepEqual(shown({ text: "  SCORE  atten" }), [0, 1, 0]);
  assert.deepEqual(shown({ text: "(.*" }), [0, 0, 0]); // no regular expression
  assert.deepEqual(shown({ text: "猫" }), [0, 0, 0]);
});

test("one letter is a name, an axis, or else part of the text", () => {
  assert.deepEqual(shown({ text: "q" }), [1, 0, 0]); // a whole name
  assert.deepEqual(shown({ text: "H" }), [1, 1, 0]); // an axis
  assert.deepEqual(shown({ text: "h" }), [1, 1, 0]); // no name, so the axis
  assert.deepEqual(shown({ text: "Q" }), [1, 0, 0]); // no axis, so the name
  assert.deepEqual(shown({ text: "x" }), [0, 0, 0]);
});

test("rows sorted by numbers or texts; rows without a value are last", () => {
  assert.deepEqual(sortedRows([0.2, null, -3, 1e300, 0.2], true), [3, 0, 4, 2, 1]);
  assert.deepEqual(sortedRows([0.2, null, -3, 1e300, 0.2], false), [2, 0, 4, 3, 1]);
  assert.deepEqual(sortedRows(["b", null, "a"], false), [2, 0, 1]);
  assert.deepEqual(sortedRows([null, null], true), [0, 1]);
  assert.deepEqual(sortedRows([], true), []);
});

test("a line of the tree leaves a token at its right and reaches the next one at its left", () => {
  const from = { offsetLeft: 10, offsetTop: 0, offsetWidth: 30, offsetHeight: 20 };
  const to = { offsetLeft: 60, offsetTop: 40, offsetWidth: 30, offsetHeight: 20 };
  assert.equal(connector(from, to), "M 40 10 H 52 V 50 H 60");
});

test("a hidden token is scrolled to, and a visible one is not", () => {
  const view = { scrollLeft: 0, scrollTop: 0, clientWidth: 200, clientHeight: 100 };
  const tokenAt = (offsetLeft, offsetTop) => ({ offsetLeft, offsetTop, offsetWidth: 30, offsetHeight: 20 });
  assert.deepEqual(revealed(tokenAt(100, 50), view, 40), { scrollLeft: 0, scrollTop: 0 });
  assert.deepEqual(revealed(tokenAt(500, 300), view, 40), { scrollLeft: 380, scrollTop: 223 });
  const below = { ...view, scrollTop: 300 };
  assert.equal(revealed(tokenAt(100, 50), below, 40).scrollTop, 47);
  const behindNames = revealed(tokenAt(20, 50), { ...view, scrollLeft: 90 }, 40);
  assert.equal(behindNames.scrollLeft, -100);
});
