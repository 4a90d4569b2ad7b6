import assert from "node:assert/strict";
import { test } from "node:test";
import { ui } from "./ui.js";

const { copyNumbers, withHyphens } = await ui("components/common/copying.js");

test("the minus of a number is a hyphen, other minus signs stay", () => {
  assert.equal(withHyphens("A − B\t−0.5\t−1.2e−5\n−.5"), "A − B\t-0.5\t-1.2e-5\n-.5");
});

test("what the browser would copy is replaced only where a number is in it, and not in a field", () => {
  const copied = (text, field = false) => {
    const kept = {};
    globalThis.document = { getSelection: () => text };
    copyNumbers({
      clipboardData: { setData: (type, said) => Object.assign(kept, { [type]: said }) },
      composedPath: () => [{ matches: () => field }],
      preventDefault: () => Object.assign(kept, { prevented: true }),
    });
    return kept;
  };
  assert.deepEqual(copied("−3"), { "text/plain": "-3", prevented: true });
  assert.deepEqual([copied("A − B"), copied("−3", true)], [{}, {}]);
});
