"""A change of filter on Shapes with 12 layers a side, event to drawn, against the same frame, sidebar and run without a figure.

The page itself measures: from the event to the first frame in which the table shows the lines that are left and no
script runs. Filters are answered in the browser; when the link follows, and what a further column costs, is reported
beside.
"""

from collections.abc import Iterator, Sequence
from functools import partial
from urllib.parse import urlencode

from tests.benchmarks.measure import Result, middle_half, ratio
from tests.benchmarks.servers import APP, SHELL, pages, served
from tests.benchmarks.watching import shell_step, timed
from tests.browser.helpers import idle
from viz_core.analysis.stage_costs import StageCost, stage_costs
from viz_core.figures.shapes import PART_TITLES
from viz_core.stages import block_title
from viz_core.ui.shell.setup import from_link

BAR = 2.0
LAYERS, SMALL = 12, 2
WORDS = ("sc", "scores", "decoder scores", "weights", "norm out", "ffn", "tok embed", "d_ff", "")  # typed one after another
COLUMNS = ("bytes", "FLOPs", "torch")

TABLE = 'const stage_table = roots().map((root) => root.querySelector(".stage-table")).find(Boolean);'
SHOWS = f"({{shown}}) => {{ {TABLE} return stage_table?.dataset.shown === String(shown); }}"
IN_LINK = """({part}) => (new URLSearchParams(location.search).get("shapes_part") ?? "all") === part"""
HAS = f'({{columns}}) => {{ {TABLE} return stage_table?.querySelectorAll(".head .cell").length === columns; }}'

SCROLL = """async () => {
    const box = [...document.querySelectorAll("[data-testid=stBidiComponentIsolated]")]
        .map((host) => host.shadowRoot.querySelector(".stage-table .box")).find(Boolean);
    const frames = [];
    let last = await new Promise(requestAnimationFrame);
    for (let y = 0; y < box.scrollHeight - box.clientHeight; y += 600) {
        box.scrollTop = y;
        const now = await new Promise(requestAnimationFrame);
        frames.push(now - last);
        last = now;
    }
    return frames;
}"""


def measure(small: bool) -> Iterator[Result]:
    layers = SMALL if small else LAYERS
    link = {"preset": "000", "n_encoder_layers": str(layers), "n_decoder_layers": str(layers)}
    lines = stage_costs(from_link(link)[0].config, 1, 6, 5)
    parts = {**{line.part: PART_TITLES[line.part] for line in lines}, "all": "all"}  # in the link: as a choice
    texts = WORDS[:2] if small else WORDS * 2
    choices = [*parts.items()][:2] if small else [*parts.items()] * 2
    with pages() as new_page, served(APP) as url, served(SHELL) as shell_url:
        page, shell = (new_page() for _ in range(2))
        for each, address in ((page, f"{url}/shapes"), (shell, shell_url)):
            each.goto(f"{address}/?{urlencode(link)}" if each is shell else f"{address}?{urlencode(link)}")
            idle(each)
        names = iter([line.name for line in lines if not line.stage.is_norm_step][1:])
        times: dict[str, list[float]] = {what: [] for what in ("typed", "chosen", "linked", "columns", "typed, shell", "shell")}

        def bare(to: str) -> None:
            times[to].append(shell_step(shell, {"name": next(names)}))

        for text in texts:
            fill = partial(page.get_by_label("Filter", exact=True).fill, text)
            times["typed"].append(timed(page, "input", SHOWS, {"shown": fitting(lines, text)}, fill))
            idle(page)
            bare("typed, shell")
        page.get_by_label("Filter", exact=True).fill("")
        for part, title in choices:
            shown = {"shown": sum(part in ("all", line.part) for line in lines)}
            choose = page.get_by_label("Part", exact=True).select_option
            idle(page)
            times["chosen"].append(timed(page, "input", SHOWS, shown, partial(choose, str(title))))
            idle(page)
            choose("all")
            idle(page)
            times["linked"].append(timed(page, "input", IN_LINK, {"part": part}, partial(choose, str(title))))
            bare("shell")
        page.get_by_label("Part", exact=True).select_option("all")
        page.locator(".st-key-shapes_more button").first.click()
        for count, column in enumerate(COLUMNS[:1] if small else COLUMNS, 5):
            idle(page)
            press = page.get_by_role("button", name=column, exact=True).click
            times["columns"].append(timed(page, "click", HAS, {"columns": count}, press))
        idle(page)
        frames = page.evaluate(SCROLL)

    setting = f"{layers} layers a side, {len(lines)} stages"
    bar = None if small else BAR
    yield ratio("a typed filter", times["typed"], times["typed, shell"], bar, f"{setting}; {len(texts)} texts")
    yield ratio("another part", times["chosen"], times["shell"], bar, f"{setting}; {len(choices)} choices")
    yield ratio("another part, until the link says so", times["linked"], times["shell"], None, setting)
    yield Result("a further column", *spread(times["columns"]), "ms", setting)
    yield Result("a frame of scrolling", *spread(frames), "ms", f"{setting}; 600 pixels a frame, the longest {max(frames):.0f} ms")


def fitting(lines: Sequence[StageCost], text: str) -> int:
    """How many lines have every word in what the table shows of them at first, in their block or their part."""

    def told(x: StageCost) -> str:
        shape = " × ".join(map(str, x.shape)) or "a single number"
        titles = block_title(x.stage.block), PART_TITLES[x.part]
        return "\n".join((x.name, " ".join(x.stage.axes), shape, *map(str, (x.stage.meaning, *titles)))).lower()

    return sum(all(word in told(x) for word in text.split()) for x in lines)


def spread(values: Sequence[float]) -> tuple[float, None, tuple[float, float]]:
    """The middle one, without a bar, and the middle half."""
    return sorted(values)[len(values) // 2], None, middle_half(values)
