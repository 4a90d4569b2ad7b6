"""From an event in a page to the first frame that shows its answer, measured by the page itself.

    milliseconds = timed(page, "click", TITLE, {"title": "…"}, button.click)

A condition is JavaScript: (awaited, before) => whether the page shows `awaited`; before: what the last canvas had drawn.
"""

from collections.abc import Callable, Mapping

from playwright.sync_api import Page

QUIET = 100  # ms after each answer, for what the page still does once it is drawn
SECONDS = 60  # after which an answer is not waited for any longer

# Looked for in every frame after the event. What fails or never comes ends the wait: nobody else would.
WATCH = """([event, awaited, limit]) => {
    const roots = () => [...document.querySelectorAll("[data-testid=stBidiComponentIsolated]")]
        .map((host) => host.shadowRoot).filter(Boolean);
    const canvases = () => roots().flatMap((root) => [...root.querySelectorAll("canvas[data-drawn]")]);
    const shows = CONDITION;
    const running = () => document.querySelector("[data-testid=stApp]").dataset.testScriptState !== "notRunning";
    const before = canvases().at(-1)?.dataset.drawn;
    window.milliseconds = new Promise((resolve, reject) => {
        let over = false;
        setTimeout(() => resolve((over = true) && null), limit);
        addEventListener(event, () => {
            const start = performance.now();
            const look = () => {
                try {
                    if (shows(awaited, before) && !running()) resolve(performance.now() - start);
                    else if (!over) requestAnimationFrame(look);
                } catch (error) {
                    reject(error);
                }
            };
            requestAnimationFrame(look);
        }, {capture: true, once: true});
    });
}"""

# Another stage on the bare shell.
SHELL = """({name}) => document.querySelector("[data-testid=stText]")?.textContent.trim() === name"""


def timed(page: Page, event: str, condition: str, awaited: Mapping[str, object] | None, act: Callable[[], object]) -> float:
    """Milliseconds from the event that `act` makes until the page shows what is awaited and the script has ended."""
    page.evaluate(WATCH.replace("CONDITION", condition), [event, awaited, 1000 * SECONDS])
    act()
    milliseconds: float | None = page.evaluate("window.milliseconds")
    if milliseconds is None:
        raise RuntimeError(f"the page at {page.url[:200]} did not show {awaited or 'other numbers'} in {SECONDS} s")
    page.wait_for_timeout(QUIET)
    return milliseconds


def shell_step(page: Page, stage: Mapping[str, object]) -> float:
    """The bare shell's next stage."""
    return timed(page, "keydown", SHELL, {"name": stage["name"]}, lambda: page.keyboard.press("ArrowRight"))
