"""The page on Pre- and Post-LN with 48 layers of d_model 256 and 32 tokens: both placements with the gradients of 4 batches,
click to drawn, each time with weights of another seed; and another metric of the runs that are held, click to drawn,
against the same frame, sidebar and run without a figure.
"""

from collections.abc import Iterator
from urllib.parse import urlencode

from playwright.sync_api import Page

from tests.benchmarks.measure import Result, middle_half, ratio
from tests.benchmarks.servers import APP, SHELL, pages, served
from tests.benchmarks.stepping import stops
from tests.benchmarks.watching import shell_step, timed
from tests.browser.helpers import go, idle
from viz_core.figures.norm_placement import METRIC_NAMES, METRIC_TITLES

SECONDS, BAR = 3.0, 3.0
TEXT = "the quick brown fox jumps over a lazy dog while two small cats sleep and " * 3  # its first 32 words are read
METRICS = ("cosine", "std", "largest", "mean", "entropy", "inactive", "power")

TITLE = """({title}) => [...document.querySelectorAll(".js-plotly-plot")].some((e) => e._fullLayout?.title?.text === title)"""


def link(small: bool, **more: str) -> dict[str, str]:
    sizes = {"norm_depth": "4", "norm_width": "32"} if small else {"norm_depth": "48", "norm_width": "256"}
    return {"preset": "000", "source": " ".join(TEXT.split()[:32]), "max_len": "100"} | sizes | more


def gradients(page: Page, url: str, seed: int, small: bool) -> float:
    """Seconds from the click on Measure (small models need none: from another number of batches) until it is drawn."""
    page.goto(f"{url}/norms?{urlencode(link(small, norm_section='gradients', seed=str(seed)))}")
    idle(page, timeout=120_000)
    if small:
        awaited = {"title": "Gradient of each layer's weights, 8 batches"}
        choose = page.get_by_test_id("stButtonGroup").filter(has_text="Batches").get_by_role("radio", name="8", exact=True)
    else:
        awaited = {"title": "Gradient of each layer's weights, 4 batches"}
        choose = page.get_by_role("button", name="Measure").first
    return timed(page, "click", TITLE, awaited, choose.click) / 1000


def another_metric(page: Page, metric: str) -> float:
    """The same runs drawn by another metric."""
    awaited = {"title": str(METRIC_TITLES[metric][0])}  # type: ignore[index]
    choice = page.get_by_role("radio", name=str(METRIC_NAMES[metric]), exact=True)  # type: ignore[index]
    return timed(page, "click", TITLE, awaited, choice.click)


def measure(small: bool) -> Iterator[Result]:
    setting = "4 layers of 32" if small else "48 layers of d_model 256, 32 tokens"
    with pages() as new_page, served(APP) as url, served(SHELL) as shell_url:
        page, shell = (new_page() for _ in range(2))
        found = [gradients(page, url, seed, small) for seed in range(1 if small else 5)]
        middle = sorted(found)[len(found) // 2]
        yield Result("both placements with gradients", middle, None if small else SECONDS, middle_half(found), "s",
                     f"{setting}, {8 if small else 4} batches, another seed each time")

        go(page, f"{url}/norms?{urlencode(link(small))}")
        shell.goto(f"{shell_url}/?preset=000")
        idle(shell)
        changes, shells = [], []
        for metric, stage in zip(METRICS[:2] if small else METRICS * 2, stops()[1:], strict=False):
            shells.append(shell_step(shell, stage))
            changes.append(another_metric(page, metric))
        yield ratio("another metric", changes, shells, None if small else BAR, f"{len(changes)} changes; {setting}")
