"""All heads of a sentence as one HTML file: ours against BertViz's model view, in bytes and until they are drawn.

BertViz (https://github.com/jessevig/bertviz) is installed for this benchmark alone, into a folder that is deleted again; where
that fails, ours is measured alone. Its page asks cdnjs.cloudflare.com for three scripts; here they come from npm's packages,
without a delay, where npm has them. Both show the same weights: 12 × 12 heads of random attention that is as sharp as a trained
model's.
"""

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import torch
from playwright.sync_api import Browser, Request, Route
from playwright.sync_api import TimeoutError as NotInTime

from tests.benchmarks.measure import Result, ratio
from tests.benchmarks.servers import VIEWPORT, chromium
from viz_core.capture import Capture
from viz_core.config import TransformerConfig
from viz_core.figures.offline import attention_page
from viz_core.run import run

LENGTHS, SMALL_LENGTHS = (32, 64, 128), (8,)
HEADS, SMALL_HEADS = 12, 2
REPEATS = {32: 5, 64: 3, 128: 1}
SHARPNESS = 3.0  # of the scores before the softmax: their standard deviation
LONGEST = 240.0  # seconds that a page may take
# jQuery 2.0.0, which BertViz names, is not on npm.
SCRIPTS = {"require.min.js": ("requirejs@2.3.6", "requirejs/require.js"), "d3.min.js": ("d3@5.7.0", "d3/dist/d3.min.js"),
           "jquery.min.js": ("jquery@2.1.0", "jquery/dist/jquery.min.js")}
OURS = """() => {
    const drawn = (part, what) => document.getElementById(part)?.shadowRoot?.querySelector(what);
    return drawn("heads", "canvas[data-tile]") && drawn("matrix", "canvas[data-drawn]") && drawn("lines", "[data-drawn]");
}"""
THEIRS = "(lines) => document.getElementsByTagName('line').length === lines"
PAINTED = "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done())))"


def measure(small: bool) -> Iterator[Result]:
    heads = SMALL_HEADS if small else HEADS
    with tempfile.TemporaryDirectory() as folder, chromium() as browser:
        root = Path(folder)
        view, scripts = (None, {}) if small else (bertviz(root), npm_scripts(root))  # a small run waits for no network
        for tokens in SMALL_LENGTHS if small else LENGTHS:
            yield from compared(browser, root, sharp(tokens, heads), tokens, heads, view, scripts)


def compared(
    browser: Browser, root: Path, capture: Capture, tokens: int, heads: int, view: Callable[..., Any] | None,
    scripts: dict[str, Path],
) -> Iterator[Result]:
    """The rows of one length: bytes, and milliseconds with a network and without."""
    lines, repeats = heads * heads * tokens * tokens, REPEATS.get(tokens, 2)
    ours, theirs = root / f"ours{tokens}.html", root / f"bertviz{tokens}.html"
    ours.write_text(attention_page(capture), "utf-8")
    size = ours.stat().st_size
    said = f"{tokens} tokens, {heads} × {heads} heads"

    def opened(file: Path, ready: str, offline: bool) -> float | str:
        return drawn(browser, file, ready, lines, offline, scripts)

    if view is not None:
        weights = [torch.tensor(capture[f"encoder.layers.{i}.self_attn.weights"]) for i in range(heads)]
        html = view(attention=weights, tokens=capture.tokens("source")[0], html_action="return").data
        theirs.write_text(f'<!doctype html><meta charset="utf-8">{html}', "utf-8")
        other = theirs.stat().st_size
        yield Result(f"offline page, bytes, {tokens} tokens", size / other, None, (size / other,) * 2, "×",
                     f"{size / 1e6:.2f} against {other / 1e6:.2f} MB of BertViz; {said}")
        times = [(opened(ours, OURS, False), opened(theirs, THEIRS, False)) for _ in range(repeats)]
        both = [(a, b) for a, b in times if isinstance(a, float) and isinstance(b, float)]
        name = f"offline page, drawn with a network, {tokens} tokens"
        if both:
            yield ratio(name, [a for a, __ in both], [b for __, b in both], None, f"against BertViz, {len(both)} times; {said}")
        else:
            mine = [a for a, __ in times if isinstance(a, float)]
            yield Result(name, mine[0], None, (min(mine), max(mine)), "ms", f"BertViz {times[0][1]}; {said}")
        apart = opened(theirs, THEIRS, True)
        without = f"BertViz {apart}" if isinstance(apart, str) else f"BertViz takes {apart:.0f} ms"
    else:
        without = "ours alone, without BertViz"
        yield Result(f"offline page, bytes, {tokens} tokens", size / 1e6, None, (size / 1e6,) * 2, "MB", f"{without}; {said}")
    found = sorted(time for _ in range(repeats) if isinstance(time := opened(ours, OURS, True), float))
    yield Result(f"offline page, drawn without a network, {tokens} tokens", found[len(found) // 2], None, (found[0], found[-1]),
                 "ms", f"{without}; {said}")


def sharp(tokens: int, heads: int) -> Capture:
    """A run of an encoder with as many layers as heads, whose weights are a softmax over random scores."""
    config = TransformerConfig(architecture="encoder-only", n_heads=heads, d_model=4 * heads, d_ff=8, n_encoder_layers=heads,
                               max_len=256)
    generator = torch.Generator().manual_seed(0)

    def tap(name: str, x: torch.Tensor) -> torch.Tensor:
        if not name.endswith("self_attn.weights"):
            return x
        return torch.softmax(SHARPNESS * torch.randn(x.shape, generator=generator), dim=-1)

    return run(config, source=[" ".join(f"word{i}" for i in range(tokens))], device="cpu", tap=tap)


def drawn(browser: Browser, file: Path, ready: str, lines: int, offline: bool, scripts: dict[str, Path]) -> float | str:
    """Milliseconds from opening a file until it is painted; or, in words, why it is not."""
    context = browser.new_context(viewport=VIEWPORT)
    page = context.new_page()
    missing: list[str] = []
    page.on("requestfailed", lambda request: missing.append(request.url))
    context.set_offline(offline)
    if scripts and not offline:
        context.route("https://cdnjs.cloudflare.com/**", lambda route, request: _answered(route, request, scripts))
    try:
        page.set_default_timeout(1000 * LONGEST)
        start = time.perf_counter()
        page.goto(file.as_uri(), wait_until="load")
        if missing:
            return f"draws nothing, since it cannot reach {missing[0]}"
        page.wait_for_function(ready, arg=lines)
        page.evaluate(PAINTED)
        return 1000 * (time.perf_counter() - start)
    except NotInTime:
        return f"is not drawn within {LONGEST:.0f} s"
    finally:
        context.close()


def _answered(route: Route, request: Request, scripts: dict[str, Path]) -> None:
    route.fulfill(path=scripts[request.url.rpartition("/")[2]], content_type="text/javascript")


def bertviz(root: Path) -> Callable[..., Any] | None:
    """BertViz's `model_view` from a folder of its own; None, and why, where it cannot be installed."""
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--retries", "0", "--timeout", "10",
               "--disable-pip-version-check", "--target", str(root / "bertviz"), "bertviz==1.4.1"]
    if why := why_not(command):
        print(f"BertViz cannot be installed, so ours is measured alone: {why}")
        return None
    # It writes its page with three names of IPython, which it otherwise needs only in a notebook.
    display: Any = ModuleType("IPython.display")
    display.HTML = display.Javascript = lambda data: SimpleNamespace(data=data)
    display.display = print
    added = {"IPython": ModuleType("IPython"), "IPython.display": display}
    before = {name: sys.modules.get(name) for name in added}
    sys.path.insert(0, str(root / "bertviz"))
    sys.modules.update(added)
    try:
        from bertviz import model_view
    finally:
        sys.path.remove(str(root / "bertviz"))
        for name, module in before.items():
            if module is None:
                del sys.modules[name]
            else:
                sys.modules[name] = module
    found: Callable[..., Any] = model_view
    return found


def npm_scripts(root: Path) -> dict[str, Path]:
    """The scripts that BertViz's page asks for, from npm; none where there is no npm or no registry: then the network is asked."""
    (root / "package.json").write_text(json.dumps({"private": True}), "utf-8")
    command = ["npm", "install", "--prefix", str(root), "--no-audit", "--no-fund", "--fetch-retries=0", "--fetch-timeout=10000",
               *(package for package, __ in SCRIPTS.values())]
    return {} if why_not(command) else {name: root / "node_modules" / path for name, (__, path) in SCRIPTS.items()}


def why_not(command: list[str]) -> str:
    """Run a command that installs something: "", or in one line why it did not."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    return (done.stderr.strip().splitlines() or ["no reason is given"])[-1] if done.returncode else ""
