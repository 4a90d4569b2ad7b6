"""The next stage on Step by step, key press to drawn, against the same frame, sidebar and run without a figure.

The page itself measures: from the key press to the first frame in which it shows the stage and the script has ended.
"""

import re
import statistics
from collections.abc import Iterator

from playwright.sync_api import Page

from tests.benchmarks.measure import Result, middle_half, ratio
from tests.benchmarks.servers import VIEWPORT, chromium, served
from tests.browser.helpers import idle, listen
from viz_core.figures.steps import stage_panels
from viz_core.run import run
from viz_core.ui.setup import Setup, sentences
from viz_core.ui.steps import WHOLE, path, walk

BAR = 2.0
QUIET = 100  # ms after each step, for what the page still does once it is drawn
WEIGHTS = "decoder.layers.0.self_attn.weights"  # a stage that depends on the seed

# Looked for in every frame after the event; `awaited` is the stage's name, its path and the titles of its matrices.
SHELL = """({name}) => document.querySelector("[data-testid=stText]")?.textContent.trim() === name"""
STEP = """({path, titles}, before) => {
    const label = roots().map((root) => root.querySelector(".scrubber label")).find(Boolean)?.textContent ?? "";
    const shown = canvases();
    return label.endsWith(` · ${path}`) && String(shown.map((c) => c.dataset.title)) === String(titles)
        && shown.at(-1).dataset.drawn !== before;
}"""
OTHER_NUMBERS = """(awaited, before) => canvases().at(-1).dataset.drawn !== before"""

WATCH = """([event, awaited]) => {
    const roots = () => [...document.querySelectorAll("[data-testid=stBidiComponentIsolated]")].map((host) => host.shadowRoot);
    const canvases = () => roots().flatMap((root) => [...root.querySelectorAll("canvas[data-drawn]")]);
    const shows = CONDITION;
    const running = () => document.querySelector("[data-testid=stApp]").dataset.testScriptState !== "notRunning";
    const before = canvases().at(-1)?.dataset.drawn;
    window.milliseconds = new Promise((resolve) => addEventListener(event, () => {
        const start = performance.now();
        const look = () => shows(awaited, before) && !running() ? resolve(performance.now() - start)
            : performance.now() - start > 30000 ? resolve(null) : requestAnimationFrame(look);
        requestAnimationFrame(look);
    }, {capture: true, once: true}));
}"""


def timed(page: Page, event: str, condition: str, awaited: dict | None = None) -> float:
    """Milliseconds from a key press, or a click on the seed's plus, until the page shows what is awaited."""
    page.evaluate(WATCH.replace("CONDITION", condition), [event, awaited])
    if event == "keydown":
        page.keyboard.press("ArrowRight")
    else:
        page.get_by_test_id("stNumberInputStepUp").click()
    milliseconds = page.evaluate("window.milliseconds")
    if milliseconds is None:
        raise RuntimeError(f"the page at {page.url} did not show {awaited} in 30 s")
    page.wait_for_timeout(QUIET)
    return milliseconds


def stops() -> list[dict]:
    """The whole walk of preset 000: each stage's name and the titles of its matrices."""
    setup = Setup()
    source, target, _ = sentences(setup)
    capture = run(setup.config, source, target, seed=setup.seed, device=setup.device)
    names = walk(capture, WHOLE, norms=False)
    return [
        {"name": name, "path": path(capture.stage(name)), "titles": [panel.title for panel in stage_panels(capture, name)]}
        for name in names
    ]


def measure(small: bool) -> Iterator[Result]:
    stages = stops()
    with chromium() as browser, served("app.py") as url, served("tests/benchmarks/shell_app.py") as shell_url:
        step, shell = (listen(browser.new_context(viewport=VIEWPORT)).new_page() for _ in range(2))
        step.goto(f"{url}/step_by_step?preset=000")
        shell.goto(f"{shell_url}/?preset=000")
        steps, shells = [], []
        for page in (step, shell):
            idle(page)
        for stage in stages[1:6] if small else stages[1:]:
            shells.append(timed(shell, "keydown", SHELL, stage))
            steps.append(timed(step, "keydown", STEP, stage))
        yield ratio("the next stage", steps, shells, None if small else BAR, f"preset 000, {len(steps)} steps")

        step.goto(f"{url}/step_by_step?preset=000&stage={WEIGHTS}")
        idle(step)
        changes, models = [], []
        for _ in range(2 if small else 15):
            changes.append(timed(step, "click", OTHER_NUMBERS))
            (status,) = re.findall(r"([\d.]+) ms on", step.get_by_test_id("stMain").inner_text())
            models.append(float(status))
        setting = f"seed + 1; the model's own forward pass {statistics.median(models):.1f} ms"
        yield Result("another model", statistics.median(changes), None, middle_half(changes), "ms", setting)
