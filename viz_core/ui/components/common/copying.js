/* Copied numbers have hyphens as signs, with which other programs compute. */

/* Return a text with hyphens for the minus signs of its numbers: "−1.2e−5" → "-1.2e-5"; "A − B" is unchanged. */
export const withHyphens = (text) => text.replace(/−(?=\.?\d)/g, "-");

/* Handle the event "copy" of a document: replace what the browser would copy. */
export function copyNumbers(event) {
  if (event.defaultPrevented || event.composedPath()[0].matches?.("input, textarea")) return; // what was typed stays
  const text = String(document.getSelection());
  const copied = withHyphens(text);
  if (copied === text) return;
  event.clipboardData.setData("text/plain", copied); // cells of a table are separated by tabs
  event.preventDefault();
}
