/* The filter of the table of stages. A row has the last part of its stage's `name`, its `axes`, all of its text in
 * lower case, and its `block`, `part` and `mark`. */

/* Whether a row contains a word. A lower-case letter is a whole name (q), a capital letter an axis (H). If there is no
 * such name or axis, a letter of either case stands for the other one. names: those of all rows. */
function matches({ name, axes, text }, word, names) {
  if (word.length > 1 || !/[a-z]/i.test(word)) return text.includes(word.toLowerCase());
  const [low, high] = [word.toLowerCase(), word.toUpperCase()];
  const isAxis = high in LETTERS;
  const isName = names.has(low);
  if (isAxis && (word === high || !isName)) return axes.includes(high);
  return isName ? name === low : text.includes(low);
}

/* Return whether each row is of the chosen block and part ("all" for any), has a mark if only those are shown, and
 * contains each word of the typed text. */
export function filterRows(rows, { text, block, part, onlyMarked }) {
  const words = text.split(/\s+/).filter(Boolean);
  const names = new Set(rows.map(({ name }) => name));
  return rows.map(
    (row) =>
      [row.block, "all"].includes(block) &&
      [row.part, "all"].includes(part) &&
      (!onlyMarked || row.mark !== "") &&
      words.every((word) => matches(row, word, names)),
  );
}
