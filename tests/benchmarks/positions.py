"""Positions at 5,000 positions of 512 dimensions, event to drawn, against the same frame, sidebar and run without a figure: a
window of the table, and another base in each section that draws the table; the bytes that one change sends to the browser; and
the frames of the clock hands while they are dragged and while they play.
"""

import statistics
from collections.abc import Iterator
from urllib.parse import urlencode

from playwright.sync_api import Page

from tests.benchmarks.measure import Result, middle_half, ratio
from tests.benchmarks.servers import APP, SHELL, pages, served
from tests.benchmarks.stepping import stops
from tests.benchmarks.watching import shell_step, timed
from tests.browser.helpers import go, idle

BAR = 4.0
MEGABYTES = 2.0
FRAME = 50.0  # milliseconds: 20 frames a second
SIZES, SMALL = {"pos_length": "5000", "pos_width": "512"}, {"pos_length": "500", "pos_width": "32"}

WINDOW = """(awaited, before) => canvases().at(-1).dataset.drawn !== before"""
TABLE = """({base}, before) => canvases().at(-1).dataset.drawn !== before
    && roots().some((root) => root.querySelector(".curves .plot")?.textContent.includes(`2π · ${base}, `))"""
SIMILARITY = """(() => {
    const chart = () => roots().map((root) => root.querySelector(".curves")?.dataset.drawn).find(Boolean), old = chart();
    return (awaited, before) => canvases().at(-1).dataset.drawn !== before && chart() !== old;
})()"""
WAVES = """({base}) => document.querySelector(".katex-display annotation")?.textContent.includes(`{${base}^`)"""
OTHERS = {"waves": WAVES, "clock": WINDOW, "similarity": SIMILARITY}  # sections, and when another base is drawn

# Moves the slider in every frame for some seconds, as a hand does, or lets the hands play; resolves to each frame's length.
DRAG = """([play, seconds]) => new Promise((resolve, reject) => {
    const clocks = [...document.querySelectorAll("[data-testid=stBidiComponentIsolated]")]
        .map((host) => host.shadowRoot?.querySelector(".clocks")).find(Boolean);
    const slider = clocks.querySelector("input"), hand = clocks.querySelector(".hand");
    const frames = [], start = performance.now();
    let last = start, place = "";
    if (play) clocks.querySelector("button").click();
    const look = (now) => {
        if (hand.getAttribute("x2") !== place) frames.push(now - last), last = now;
        place = hand.getAttribute("x2");
        if (now - start > 1000 * seconds) return resolve(frames.slice(1));
        if (!play) {
            slider.value = Math.round((now - start) / 20) % 100;
            slider.dispatchEvent(new Event("input", {bubbles: true}));
        }
        requestAnimationFrame(look);
    };
    if (hand && slider) requestAnimationFrame(look);
    else reject(new Error("there are no hands yet"));
})"""


def window_step(page: Page) -> float:
    """The window one position further: the table stays."""
    click = page.get_by_test_id("stMain").get_by_test_id("stNumberInputStepUp").first.click
    return timed(page, "click", WINDOW, None, click)


def base_step(page: Page, turn: int, drawn: str = TABLE) -> float:
    """Another base, there and back: every number of the table and its pictures."""
    key, base = ("ArrowLeft", "10000") if turn % 2 else ("ArrowRight", "100000")
    page.get_by_test_id("stMain").get_by_role("slider", name="Base").focus()
    return timed(page, "keydown", drawn, {"base": base}, lambda: page.keyboard.press(key))


def measure(small: bool) -> Iterator[Result]:
    sizes = SMALL if small else SIZES
    query = {"preset": "000", "pos_section": "matrix"} | sizes
    repeats, seconds = (1, 0.5) if small else (15, 2)
    with pages() as new_page, served(APP) as url, served(SHELL) as shell_url:
        page, shell = (new_page() for _ in range(2))
        received: list[int] = []
        page.on("websocket", lambda ws: ws.on("framereceived", lambda payload: received.append(len(payload))))
        page.goto(f"{url}/positions?{urlencode(query)}")
        shell.goto(f"{shell_url}/?preset=000")
        for each in (page, shell):
            idle(each)
        windows, tables, shells, sent = [], [], [], []
        stages = iter(stops()[1:])  # where the shell's next steps lead
        for turn in range(2 * repeats):
            shells.append(shell_step(shell, next(stages)))
            received.clear()
            if turn % 2:
                tables.append(base_step(page, turn // 2))
                sent.append(sum(received) / 1e6)
            else:
                windows.append(window_step(page))
        size = f"{sizes['pos_length']} positions × {sizes['pos_width']} dimensions"
        yield ratio("the window of a large table", windows, shells[::2], None if small else BAR, size)
        yield ratio("another large table", tables, shells[1::2], None if small else BAR, f"another base; {size}")
        yield Result("bytes of another table", max(sent), None if small else MEGABYTES, middle_half(sent), "MB", f"most; {size}")

        for section, drawn in OTHERS.items():
            go(page, f"{url}/positions?{urlencode(query | {'pos_section': section})}")
            changes, shells = [], []
            for turn in range(repeats):
                changes.append(base_step(page, turn, drawn))
                shells.append(shell_step(shell, next(stages)))
            yield ratio(f"{section} of a large table", changes, shells, None if small else BAR, f"another base; {size}")

        go(page, f"{url}/positions?preset=000&pos_section=clock")
        for name, play in (("a frame of the dragged hands", False), ("a frame of the playing hands", True)):
            frames = page.evaluate(DRAG, [play, seconds])
            setting = f"{len(frames)} frames in {seconds} s, 10 clocks"
            yield Result(name, statistics.mean(frames), None if small else FRAME, middle_half(frames), "ms", setting)
            idle(page)
