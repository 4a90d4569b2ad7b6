import assert from "node:assert/strict";
import { test } from "node:test";
import { crc32 } from "node:zlib";
import { ui } from "./ui.js";

const SAVE = "shell/export/save_menus";
const { fileName } = await ui(`${SAVE}/file_name.js`);
const { resolutionChunk, textChunk } = await ui(`${SAVE}/png_chunks.js`);
const { asXml, element, fontOf, gradientStops, localUrls, partOf, px, splitCommas, wrapped } = await ui(
  `${SAVE}/svg_text.js`,
);

test("a file name has ASCII letters, no more than 80 characters, and is never empty", () => {
  const name = fileName("attention", "Cross-attention · layer 1", "att_matrix", "png");
  assert.equal(name, "attention_cross-attention_layer-1.png");
  assert.equal(fileName("cause", "注意力", "cause_maps", "svg"), "cause_cause_maps.svg"); // the key instead of the title
  assert.equal(fileName("", "😀", "שלום", "csv"), "picture.csv");
  assert.equal(fileName("home", "Équation: é", "", "png"), "home_equation_e.png");
  assert.equal(fileName("a", "../../etc/passwd\0", "k", "json"), "a_etc_passwd.json");
  const long = fileName("page", "word ".repeat(100), "key", "json");
  assert.ok(long.length <= 80 && /^[a-z0-9._-]+\.json$/.test(long), long);
});

/* The length, type, data and checksum of a chunk. */
function read(chunk) {
  const view = new DataView(chunk.buffer);
  const length = view.getUint32(0);
  return [new TextDecoder().decode(chunk.subarray(4, 8)), chunk.subarray(8, 8 + length), view.getUint32(8 + length)];
}

test("chunks of a PNG: checksum, resolution and text", () => {
  const [kind, data, sum] = read(resolutionChunk());
  assert.deepEqual([kind, new DataView(data.buffer, data.byteOffset).getUint32(0), data[8]], ["pHYs", 11811, 1]);
  assert.equal(sum, crc32(data, crc32("pHYs")));
  const [, text, textSum] = read(textChunk("Title", "猫 \0😀"));
  assert.equal(new TextDecoder().decode(text), "Title\0\0\0\0\0猫 😀"); // a text cannot end its field
  assert.equal(textSum, crc32(text, crc32("iTXt")));
});

test("text for XML", () => {
  assert.equal(asXml('<a href="x">&</a>'), "&#60;a href=&#34;x&#34;&#62;&#38;&#60;/a&#62;");
  assert.equal(asXml("a\u0000\u001b\ud800b\uffff😀\n"), "a���b�😀&#10;");
  assert.equal(element("text", { x: 1.005, y: null, id: "" }, "a"), '<text x="1">a</text>');
  assert.equal(element("path", { d: "M0 0" }), '<path d="M0 0"/>');
  assert.deepEqual([1 / 3, -0.001, 1e6].map(px), ["0.33", "0", "1000000"]);
});

test("fonts, lists and gradients of style sheets", () => {
  assert.deepEqual(fontOf("italic bold 14.5px Source Sans, sans-serif"), {
    ...{ size: 14.5, family: "Source Sans, sans-serif", weight: "bold", style: "italic" },
  });
  assert.deepEqual(splitCommas("rgb(1, 2, 3) 0 1px, calc(1px, (2px, 3px))"), [
    "rgb(1, 2, 3) 0 1px",
    "calc(1px, (2px, 3px))",
  ]);
  assert.deepEqual(gradientStops(["red 0px 1px", "#fff 50%", "blue"], 10), [
    ...[
      ["red", 0],
      ["red", 0.1],
      ["#fff", 0.5],
      ["blue", null],
    ],
  ]);
  assert.equal(localUrls('url("http://host/page#id")'), "url(#id)");
  const box = { x: 10, y: 20, width: 100, height: 50 };
  assert.deepEqual(partOf(box, "20px 100%", "50% 0%", "no-repeat"), { x: 50, y: 20, width: 20, height: 50 });
  assert.equal(partOf(box, "20px 100%", "50% 0%", "repeat"), box);
});

test("a caption is wrapped between words, and a word that is wider than a line within it", () => {
  const lines = (text) => wrapped(text, 10, (part) => part.length);
  assert.deepEqual(lines("layer 1, head 1 · “the cat”"), ["layer 1,", "head 1 ·", "“the cat”"]);
  assert.deepEqual(lines("short"), ["short"]);
  assert.deepEqual(lines("antidisestablished"), ["antidisest", "ablished"]);
});
