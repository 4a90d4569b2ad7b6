"""What part of a screen is picture: measured on the marks that are drawn, not on boxes.

A picture's body is what it draws with (a canvas, an SVG, the rows of a table), without its caption, legend and readout. Its
marks are the pixels that differ from the page; a border without marks beyond 8 % of a side of the body does not count.
"""

from __future__ import annotations

import base64
import io
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from PIL import Image

if TYPE_CHECKING:
    from playwright.sync_api import Page

BORDER = 0.08  # of a side of a picture's body: what may be empty and still counts
DIFFERS = 12  # of 255: a pixel of a mark differs by more than that from the page in some channel

# The bodies of all pictures in the main picture's place: [left, top, width, height] each; the body of the picture that the
# page declares; and the smallest type in the place. A body inside another one is a part of it.
BODIES = """(key) => {
    const place = document.querySelector(".st-key-lab_picture");
    if (!place) return null;
    const found = [], own = [], texts = [];
    const body = "canvas, .lanes, svg.plot, .faces, .drawing svg, .js-plotly-plot, .stage-table .table, table, .lab-drawn";
    // A table that scrolls counts as far as it is to be seen.
    const clipped = (table) => {
        let box = table.getBoundingClientRect(), [left, top, right, bottom] = [box.left, box.top, box.right, box.bottom];
        for (let e = table.parentElement; e; e = e.parentElement ?? e.getRootNode().host) {
            if (e === place) break;
            if (getComputedStyle(e).overflowY === "visible") continue;
            box = e.getBoundingClientRect();
            [left, top] = [Math.max(left, box.left), Math.max(top, box.top)];
            [right, bottom] = [Math.min(right, box.right), Math.min(bottom, box.bottom)];
        }
        return { left, top, width: right - left, height: bottom - top };
    };
    const walk = (root, mine) => {
        for (const e of root.querySelectorAll("*")) {
            const here = mine || Boolean(e.closest?.(`.st-key-${CSS.escape(key)}`));
            if (e.matches(body) && e.offsetParent !== null || e.matches("svg.plot, .drawing svg")) {
                const { left, top, width, height } = e.matches(".table, table") ? clipped(e) : e.getBoundingClientRect();
                if (width > 8 && height > 8) {
                    found.push([left, top, width, height]);
                    if (here) own.push([left, top, width, height]);
                }
            }
            if (e.dataset?.type) texts.push([Number(e.dataset.type), e.tagName]);
            const own_text = [...e.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim());
            if (own_text && e.getClientRects().length && !e.matches("style, script, option"))
                texts.push([parseFloat(getComputedStyle(e).fontSize), e.textContent.slice(0, 30)]);
            if (e.shadowRoot) walk(e.shadowRoot, here);
        }
    };
    walk(place, false);
    const box = place.getBoundingClientRect();
    return { found, own, place: [box.left, box.top, box.width, box.height], type: texts.sort((a, b) => a[0] - b[0])[0] ?? null };
}"""


@dataclass(frozen=True, slots=True)
class Screen:
    """One page on one screen. top: where the main picture begins, in pixels; cover: the share of the screen that pictures
    cover; visible: the share of the main picture on the screen; wide, high: the share of the screen's sides that the pictures
    span; type: the smallest type in them, in pixels, and where."""

    top: float
    cover: float
    visible: float
    wide: float
    high: float
    type: tuple[float, str]


def measure(page: Page, key: str) -> Screen:
    """Measure the page as it is shown. key: of its main picture. An AssertionError says what is not there."""
    sent = page.evaluate(BODIES, key)
    assert sent, "the page has no place for its main picture: draw it in `main_figure()` or `figure_and_rail()`"
    assert sent["own"], f"the main picture {key!r} is not drawn in its place"
    screen = picture_of(page)
    high, wide = screen.shape[:2]
    seen = np.zeros((high, wide), bool)
    for body in sent["found"]:
        left, top, right, bottom = _marked(screen, body)
        seen[top:bottom, left:right] = True
    top = min(body[1] for body in sent["own"])
    foot = max(body[1] + body[3] for body in sent["own"])
    rows, cols = np.nonzero(seen.any(axis=1))[0], np.nonzero(seen.any(axis=0))[0]
    spans = (0.0, 0.0) if not len(rows) else ((cols[-1] + 1 - cols[0]) / wide, (rows[-1] + 1 - rows[0]) / high)
    size, where = sent["type"] or (0, "nothing is written")
    return Screen(top, float(seen.mean()), max(0.0, min(foot, high) - max(top, 0)) / (foot - top), *spans, (size, where))


def picture_of(page: Page) -> np.ndarray:
    """What is on the screen, [height, width, RGB]: as `page.screenshot`, but for a file that is written in a third of the time."""
    session = page.context.new_cdp_session(page)
    sent = session.send("Page.captureScreenshot", {"optimizeForSpeed": True})
    session.detach()
    return np.asarray(Image.open(io.BytesIO(base64.b64decode(sent["data"]))).convert("RGB"))


def _marked(screen: np.ndarray, body: list[float]) -> tuple[int, int, int, int]:
    """The part of a body that counts: its marks, with the border that may be empty; left, top, right, bottom on the screen."""
    high, wide = screen.shape[:2]
    left, top = max(0, round(body[0])), max(0, round(body[1]))
    right, bottom = min(wide, round(body[0] + body[2])), min(high, round(body[1] + body[3]))
    part = screen[top:bottom, left:right]
    if not part.size:
        return 0, 0, 0, 0
    paper = screen[-2, -2]
    marks = (np.maximum(part, paper) - np.minimum(part, paper) > DIFFERS).any(axis=2)
    rows, cols = np.nonzero(marks.any(axis=1))[0], np.nonzero(marks.any(axis=0))[0]
    if not len(rows):
        return 0, 0, 0, 0
    down, over = round(BORDER * (bottom - top)), round(BORDER * (right - left))
    return (
        left + max(0, cols[0] - over), top + max(0, rows[0] - down),
        left + min(right - left, cols[-1] + 1 + over), top + min(bottom - top, rows[-1] + 1 + down),
    )
