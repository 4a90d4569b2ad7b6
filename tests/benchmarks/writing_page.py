"""One step on the page Writing, key press or click to drawn, against the same frame, sidebar and run without a figure.

The page itself measures: from the event to the first frame in which it shows the step and the script has ended.
"""

from collections.abc import Callable, Iterator
from functools import partial
from urllib.parse import urlencode

from playwright.sync_api import Page

from tests.benchmarks.measure import Result, ratio
from tests.benchmarks.servers import APP, SHELL, pages, served
from tests.benchmarks.stepping import stops
from tests.benchmarks.watching import shell_step, timed
from tests.browser.helpers import go, idle

BAR = 2.5
STEPS, SMALL_STEPS = 18, 3  # what preset 000 draws ends with its 20th token
FIND = "const found = (css) => roots().map((root) => root.querySelector(css)).find(Boolean);"
TOKEN = f"""({{step}}) => {{ {FIND} return found(".choice .token[aria-current]")?.dataset.step === String(step); }}"""
NODE = f"""({{step}}) => {{ {FIND} return found(".tree button[aria-current]")?.dataset.node === String(step); }}"""
ROWS = f"""({{step}}, before) => {{
    {FIND}
    const label = found(".scrubber label")?.textContent ?? "";
    return label.startsWith(`Step ${{step + 1}} of `) && canvases().at(-1)?.dataset.drawn !== before;
}}"""


def pressed(page: Page, condition: str, step: int) -> float:
    """To the next step with the arrow key."""
    return timed(page, "keydown", condition, {"step": step}, partial(page.keyboard.press, "ArrowRight"))


def clicked(page: Page, condition: str, step: int) -> float:
    """To a token of the tree."""
    return timed(page, "click", condition, {"step": step}, page.locator(f'.tree button[data-node="{step}"]').click)


SECTIONS: dict[str, tuple[str, Callable[[Page, str, int], float]]] = {
    "choose": (TOKEN, pressed), "branch": (NODE, clicked), "cache": (ROWS, pressed),
}


def measure(small: bool) -> Iterator[Result]:
    with pages() as new_page, served(APP) as url, served(SHELL) as shell_url:
        page, shell = (new_page() for _ in range(2))
        page.goto(f"{url}/writing?preset=000")
        idle(page)
        for section, (condition, act) in SECTIONS.items():
            shell.goto(f"{shell_url}/?preset=000")
            idle(shell)
            query = {"preset": "000", "write_section": section, "write_strategy": "sampling", "write_overlay": ""}
            go(page, f"{url}/writing?{urlencode(query)}")
            steps, shells = [], []
            for step, stage in zip(range(1, 1 + (SMALL_STEPS if small else STEPS)), stops()[1:], strict=False):
                shells.append(shell_step(shell, stage))
                steps.append(act(page, condition, step))
            yield ratio(f"the next step, {section}", steps, shells, None if small else BAR, f"preset 000, {len(steps)} steps")
