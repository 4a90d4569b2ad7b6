/* The names of saved files. */

export const SOFTWARE = "Attention Lab"; // what a file says that it was made with
const MAX_NAME_CHARS = 80; // characters of a file's name

/* Return a file name of ASCII letters, such as "attention_cross-attention_layer-1.png"; never empty. */
export function fileName(page, title, key, ending) {
  const part = (text) => text.replace(/[^a-z0-9._-]+/g, "-").replace(/^[-._]+|[-._]+$/g, "");
  const plain = (text) =>
    text
      .normalize("NFKD")
      .replace(/[\u0300-\u036f]/g, "")
      .toLowerCase()
      .split(/[,:;|·()/]+/)
      .map(part)
      .filter(Boolean)
      .join("_");
  const stem = [plain(page), plain(title) || plain(key)].filter(Boolean).join("_") || "picture";
  return `${stem.slice(0, MAX_NAME_CHARS - ending.length - 1).replace(/[-._]+$/, "")}.${ending}`;
}
