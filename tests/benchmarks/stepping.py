"""The next stage on Step by step, key press to drawn, against the same frame, sidebar and run without a figure.

The page itself measures: from the key press to the first frame in which it shows the stage and the script has ended.
"""

import re
import statistics
from collections.abc import Iterator

from playwright.sync_api import Page

from tests.benchmarks.measure import Result, middle_half, ratio
from tests.benchmarks.servers import APP, SHELL, pages, served
from tests.benchmarks.watching import shell_step, timed
from tests.browser.helpers import go, idle
from viz_core.capture import Capture
from viz_core.figures.stage_panels import stage_panels
from viz_core.run import run
from viz_core.ui.pages.step_by_step.page import ALL_STAGES, stage_order, stage_path
from viz_core.ui.shell.setup import Setup, typed_sentences

BAR = 2.0
WEIGHTS = "decoder.layers.0.self_attn.weights"  # a stage that depends on the seed

# `awaited` is the stage's name, its path and the titles of its matrices.
STEP = """({path, titles}, before) => {
    const label = roots().map((root) => root.querySelector(".scrubber label")).find(Boolean)?.textContent ?? "";
    const shown = canvases();
    return label.endsWith(` · ${path}`) && String(shown.map((c) => c.dataset.title)) === String(titles)
        && shown.at(-1).dataset.drawn !== before;
}"""
OTHER_NUMBERS = """(awaited, before) => canvases().at(-1).dataset.drawn !== before"""


def next_step(page: Page, stage: dict) -> float:
    return timed(page, "keydown", STEP, stage, lambda: page.keyboard.press("ArrowRight"))


def next_seed(page: Page) -> float:
    return timed(page, "click", OTHER_NUMBERS, None, page.get_by_test_id("stNumberInputStepUp").click)


def stops() -> list[dict]:
    """The whole walk of preset 000: each stage's name and the titles of its matrices."""
    setup = Setup()
    source, target, _ = typed_sentences(setup)
    capture = run(setup.config, source, target, seed=setup.seed, device=setup.device)
    names = stage_order(capture, ALL_STAGES, norms=False)
    return [{"name": name, "path": stage_path(capture.stage(name)), "titles": _titles(capture, name)} for name in names]


def _titles(capture: Capture, name: str) -> list[str]:
    """Of the canvases that a stage is drawn on: one a matrix, but one alone for ids, the last of them."""
    titles = [panel.title for panel in stage_panels(capture, name)]
    return titles[-1:] if capture.stage(name).kind == "ids" else titles


def measure(small: bool) -> Iterator[Result]:
    stages = stops()
    with pages() as new_page, served(APP) as url, served(SHELL) as shell_url:
        step, shell = (new_page() for _ in range(2))
        step.goto(f"{url}/step_by_step?preset=000")
        shell.goto(f"{shell_url}/?preset=000")
        steps, shells = [], []
        for page in (step, shell):
            idle(page)
        for stage in stages[1:6] if small else stages[1:]:
            shells.append(shell_step(shell, stage))
            steps.append(next_step(step, stage))
        yield ratio("the next stage", steps, shells, None if small else BAR, f"preset 000, {len(steps)} steps")

        go(step, f"{url}/step_by_step?preset=000&stage={WEIGHTS}")
        changes, models = [], []
        for _ in range(2 if small else 15):
            changes.append(next_seed(step))
            (status,) = re.findall(r"([\d.]+) ms on", step.get_by_test_id("stSidebar").inner_text())
            models.append(float(status))
        setting = f"seed + 1; the model's own forward pass {statistics.median(models):.1f} ms"
        yield Result("another model", statistics.median(changes), None, middle_half(changes), "ms", setting)
