"""A click on a cell of the patch grid, event to drawn, against the same frame, sidebar and run without a figure.

The maps are measured once; a click runs the patched model as a whole, says what it does, and marks the cell.
"""

from collections.abc import Iterator
from urllib.parse import urlencode

from playwright.sync_api import Page

from tests.benchmarks.attention import shell_steps
from tests.benchmarks.measure import Result, ratio
from tests.benchmarks.servers import APP, SHELL, pages, served
from tests.benchmarks.watching import timed
from tests.browser.helpers import idle

BAR = 2.5
CLICKS, SMALL_CLICKS = 16, 2
SMALL_LINK = {"preset": "000", "d_model": "16", "n_heads": "2", "d_ff": "16", "n_encoder_layers": "2", "n_decoder_layers": "2"}
# The link and the line about A and B come with the answer; the mark of the cell is drawn before.
PICKED = """({patch, place}) => new URLSearchParams(location.search).get("patch") === patch
    && document.querySelector(".st-key-lab_runs")?.textContent.includes(place)"""


def clicked(page: Page, layer: int, token: int) -> float:
    """Milliseconds from a click on a cell of the encoder's residual stream until the page has said what it does."""
    canvas = page.locator(".st-key-cause_maps canvas").first
    left, top, wide, high = map(float, str(canvas.get_attribute("data-grid")).split(","))
    place = {"x": left + (token + 0.5) * wide, "y": top + (layer + 1.5) * high}
    awaited = {"patch": f"encoder.residual.{layer}.{token}", "place": f"after layer {layer} of the encoder"}
    return timed(page, "click", PICKED, awaited, lambda: canvas.click(position=place))


def measure(small: bool) -> Iterator[Result]:
    link, layers, tokens = (SMALL_LINK, 2, 4) if small else ({}, 3, 12)
    with pages() as new_page, served(APP) as url, served(SHELL) as shell_url:
        page, shell = (new_page() for _ in range(2))
        for each, address in ((page, f"{url}/cause?{urlencode(link)}"), (shell, f"{shell_url}/?{urlencode(link)}")):
            each.goto(address)
            idle(each)
        clicked(page, 0, 0)  # the first one puts the changed sentence into the sidebar
        cells = [(layer, token) for token in range(tokens) for layer in range(layers)][1:]
        times, shells = [], []
        for (layer, token), step in zip(cells[: SMALL_CLICKS if small else CLICKS], shell_steps(shell, link), strict=False):
            shells.append(step)
            times.append(clicked(page, layer, token))
        yield ratio("a click on a patched cell", times, shells, None if small else BAR, f"{len(times)} cells, a run each")
