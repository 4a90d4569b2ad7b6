import assert from "node:assert/strict";
import { test } from "node:test";
import { ui } from "./ui.js";

const { powersOfTen, ticks } = await ui("components/curves/ticks.js");
const { clampedRange, isFullRange, pannedRange, sameReach, scaledRange } = await ui("components/common/ranges.js");
const labels = (found) => found.map(([, label]) => label);

test("round ticks with the decimals that they need", () => {
  assert.deepEqual(labels(ticks(0, 1, 5)), ["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"]);
  assert.deepEqual(labels(ticks(-1, 1, 4)), ["−1.0", "−0.5", "0.0", "0.5", "1.0"]);
  assert.deepEqual(labels(ticks(0, 12000, 3)), ["0", "5,000", "10,000"]);
  assert.deepEqual(labels(ticks(0, 3, 10, 1)), ["0", "1", "2", "3"]); // positions are whole numbers
});

test("ticks of tiny and huge ranges lie in the range, rise, and are distinct", () => {
  for (const [low, high] of [
    [0, 1e-12],
    [1e9, 1e9 + 1],
    [-1e15, 1e15],
    [0.1, 0.1000001],
    [-5e-324, 1],
  ]) {
    const found = ticks(low, high, 6);
    const room = 1e-9 * (high - low);
    assert.ok(found.length >= 2 && found.length <= 15, `${low} to ${high}: ${found.length}`);
    for (const [at] of found) assert.ok(at >= low - room && at <= high + room, `${at} of ${low} to ${high}`);
    assert.equal(new Set(found.map(([at]) => at)).size, found.length);
  }
});

test("a logarithmic axis: powers of ten, also 2 and 5 times these, or round numbers", () => {
  assert.deepEqual(labels(powersOfTen(-3, 2, 6)), ["10⁻³", "10⁻²", "10⁻¹", "10⁰", "10¹", "10²"]);
  assert.deepEqual(labels(powersOfTen(0, 1, 6)), ["1", "2", "5", "10"]);
  assert.deepEqual(labels(powersOfTen(Math.log10(2.1), Math.log10(4.1), 4)), ["2.5", "3.0", "3.5", "4.0"]);
});

test("a zoomed range", () => {
  assert.deepEqual(scaledRange([0, 10], 0.5), [2.5, 7.5]);
  assert.deepEqual(scaledRange([0, 10], 0.5, 2), [-0.5, 4.5]);
  assert.deepEqual(clampedRange([-0.5, 4.5], [0, 10], 2), [0, 5]);
  assert.deepEqual(clampedRange([4, 4.1], [0, 10], 2), [3.05, 5.05]); // not smaller than two
  assert.deepEqual(clampedRange([-100, 100], [0, 10], 2), [0, 10]); // nor larger than all
  assert.deepEqual(clampedRange([3, 4], [0, 1], 2), [0, 1]); // of a chart with two points
  assert.ok(isFullRange([0, 9.995], [0, 10]) && !isFullRange([0, 9.9], [0, 10]));
});

test("a range that moves to a value", () => {
  assert.deepEqual(pannedRange([0, 10], 5), [0, 10]);
  assert.deepEqual(pannedRange([0, 10], 12), [2.5, 12.5]);
  assert.deepEqual(pannedRange([0, 10], -1), [-1.5, 8.5]);
});

test("a zoom is kept if the full range is similar", () => {
  assert.ok(sameReach([0, 100], [0, 120]) && !sameReach([0, 100], [0, 130]) && !sameReach([0, 1], [5, 6]));
});
