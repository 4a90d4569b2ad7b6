"""Two replicas of the app behind a balancer: what a visitor keeps when the one that serves the lesson is killed."""

from __future__ import annotations

import re
import subprocess
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urlsplit

import pytest

from tests.browser.helpers import idle, linked, open_page, until
from tests.replicas.balancers import EXAMPLES, balanced, need
from viz_core.presets import PRESETS
from viz_core.stages import stages

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page, WebSocket

WEIGHTS = "decoder.layers.0.cross_attn.weights"
ORDER = [s.name for s in stages(PRESETS["000"].config) if not s.inside_norm]
AFTER = ORDER[ORDER.index(WEIGHTS) + 1]
TEXTS = ("one two three", "the cat " + "猫" * 1000)  # one that the link holds, and one that is too long for it


@dataclass
class Replicated:
    """A balancer's base URL and the replicas behind it, by theirs."""

    url: str
    replicas: dict[str, subprocess.Popen[bytes]]

    def sessions(self, replica: str) -> int:
        """How many visitors are there now."""
        said = urllib.request.urlopen(f"{replica}/_stcore/metrics", timeout=20).read().decode()
        return int(re.search(r"^active_sessions (\d+)$", said, re.MULTILINE)[1])

    def kill(self, replica: str) -> None:
        self.replicas[replica].kill()
        self.replicas[replica].wait()


@pytest.fixture(params=EXAMPLES)
def replicated(
    request: pytest.FixtureRequest, serve: Callable[..., str], servers: dict[str, subprocess.Popen[bytes]], tmp_path: Path
) -> Iterator[Replicated]:
    need(request.param)
    urls = [serve(fresh=True), serve(fresh=True)]
    with balanced(request.param, [urlsplit(url).port for url in urls], tmp_path) as url:
        here = Replicated(url, {url: servers[url] for url in urls})
        yield here
        for replica in urls:
            here.kill(replica)


def box(page: Page) -> Locator:
    return page.get_by_role("textbox", name="Source sentences", exact=True)


def weights(page: Page) -> Locator:
    found = page.locator('canvas[data-title^="cross_attn.weights · head"][data-drawn]')
    found.wait_for()
    return found


def link(page: Page) -> dict[str, str]:
    return {name: values[-1] for name, values in parse_qs(urlsplit(page.url).query).items()}


def seen(page: Page) -> dict[str, object]:
    """The text, the settings, the picked cell, and the very numbers of the picture."""
    return {
        "text": box(page).input_value(),
        "link": link(page),
        "heads": page.get_by_role("slider", name="n_heads").input_value(),
        "picture": [weights(page).get_attribute(f"data-{name}") for name in ("title", "drawn", "cols", "pick")],
        "cell": page.locator(".arithmetic").all_inner_texts(),
    }


def learn(page: Page, text: str) -> None:
    """Type, set, choose and pick."""
    box(page).fill(text)
    box(page).press("Control+Enter")
    idle(page)
    page.get_by_role("slider", name="n_heads").focus()
    page.keyboard.press("ArrowLeft")
    linked(page, "n_heads=3")
    page.get_by_role("radio", name="1", exact=True).click()
    linked(page, "attn_head=1")
    drawn = weights(page)
    left, top, wide, high = map(float, drawn.get_attribute("data-grid").split(","))
    drawn.click(position={"x": left + 1.5 * wide, "y": top + 2.5 * high})
    page.locator(".arithmetic").wait_for()
    idle(page)


def sent(page: Page) -> list[list[object]]:
    """What the page sends from now on: a list for each websocket, in the order in which they are opened."""
    sockets: list[list[object]] = []

    def opened(socket: WebSocket) -> None:
        messages: list[object] = []
        sockets.append(messages)
        socket.on("framesent", lambda message: messages.append(message))

    page.on("websocket", opened)
    return sockets


def test_a_replica_killed_in_a_lesson_costs_one_reconnect(replicated: Replicated, new_page: Callable[..., Page]) -> None:
    pages = {text: new_page() for text in TEXTS}
    sockets = [sent(page) for page in pages.values()]
    for text, page in pages.items():
        open_page(page, f"{replicated.url}/step_by_step?preset=000&stage={WEIGHTS}")
        learn(page, text)
    before = {text: seen(page) for text, page in pages.items()}
    assert [saw["text"] for saw in before.values()] == list(TEXTS) and all(saw["cell"] for saw in before.values())
    its, other = sorted(replicated.replicas, key=replicated.sessions, reverse=True)
    assert [replicated.sessions(replica) for replica in (its, other)] == [2, 0]  # tabs of one browser stay together

    replicated.kill(its)
    until(page, lambda: all(len(of) > 1 and of[1] for of in sockets))  # connected again, and asked to run
    for page in pages.values():
        idle(page)
    assert {text: seen(page) for text, page in pages.items()} == before
    for text, page in pages.items():
        page.get_by_test_id("stBaseButton-primary").click()  # Next
        linked(page, f"stage={AFTER}")
        assert box(page).input_value() == text
        assert link(page).items() >= {"n_heads": "3", "attn_head": "1"}.items()
    assert [len(of) for of in sockets] == [2, 2] and replicated.sessions(other) == 2
