/* Saving a picture as PNG: its SVG is drawn at twice the size, and the file holds the resolution (300 dpi), title and
 * link. */

import { make } from "../../../components/common/dom.js";
import { _ } from "../../../components/common/messages.js";
import { SOFTWARE } from "./file_name.js";
import { resolutionChunk, textChunk } from "./png_chunks.js";

const SCALE = 2; // of the PNG beside the picture on the page
const MAX_SIDE = 16000; // pixels of what browsers can make
const MAX_PIXELS = 100e6; // in all

/* Return the PNG of the result of `asSvg`, as a Blob. */
export async function asPng({ svg, width, height }, { title, link }) {
  if (SCALE * Math.max(width, height) > MAX_SIDE || SCALE ** 2 * width * height > MAX_PIXELS)
    throw new Error(
      _("This picture of {width} × {height} pixels is too large for a PNG; save it as SVG.", { width, height }),
    );
  const address = URL.createObjectURL(new Blob([svg], { type: "image/svg+xml" }));
  const image = new Image();
  try {
    image.src = address;
    await image.decode();
    const sheet = Object.assign(make("canvas"), { width: SCALE * width, height: SCALE * height });
    sheet.getContext("2d").drawImage(image, 0, 0, sheet.width, sheet.height);
    const drawn = new Uint8Array(await (await new Promise((done) => sheet.toBlob(done, "image/png"))).arrayBuffer());
    const head = 33; // bytes: the signature and the IHDR chunk
    const written = [
      resolutionChunk(),
      textChunk("Title", title),
      textChunk("Source", link),
      textChunk("Software", SOFTWARE),
    ];
    return new Blob([drawn.subarray(0, head), ...written, drawn.subarray(head)], { type: "image/png" });
  } finally {
    URL.revokeObjectURL(address);
  }
}
