/* The scripts of viz_core/ui, with what viz_core/figures/assets.py puts in front of them. */

Object.assign(globalThis, {
  THEME: { heads: ["#0072B2", "#E69F00", "#009E73", "#CC79A7", "#D55E00"], axis: {}, special: {} },
  LETTERS: { B: "batch", T: "query", H: "head", D: "feature" },
  WORDS: { forms: {}, form: (n) => Number(n !== 1) },
});

/* Import a script by its path below viz_core/ui. */
export const ui = (path) => import(new URL(`../../viz_core/ui/${path}`, import.meta.url));
