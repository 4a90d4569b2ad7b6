"""Requests of one session that come faster than its runs: one after the other, the last one last, and their callbacks whole
(`streamlit_internals.defer_interruptions`)."""

from __future__ import annotations

import re
import time
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets.sync.client import ClientConnection, connect

from tests.browser.conftest import ROOT

APP = Path(__file__).with_name("order_app.py")


class Tab:
    """What a browser says and hears, without the browser."""

    def __init__(self, socket: ClientConnection) -> None:
        self.socket, self.page, self.shown = socket, "", ""
        self.ids: dict[str, str] = {}

    def ask(self, click: bool = False, **values: str) -> None:
        """Ask for a run of the whole script, with every widget's value."""
        message = BackMsg()
        message.rerun_script.page_script_hash = self.page
        for name, value in values.items():
            message.rerun_script.widget_states.widgets.add(id=self.ids[name], string_value=value)
        if click:
            message.rerun_script.widget_states.widgets.add(id=self.ids["click"], trigger_value=True)
        self.socket.send(message.SerializeToString())

    def await_receipt(self) -> None:
        """Return when the server has taken up all that was sent: it answers in turn."""
        message = BackMsg()
        message.file_urls_request.request_id = "receipt"
        self.socket.send(message.SerializeToString())
        self._read(lambda message: message.WhichOneof("type") == "file_urls_response")

    def await_end(self) -> str:
        """The page's text when a run has ended that none was asked to follow."""
        whole = ForwardMsg.ScriptFinishedStatus.FINISHED_SUCCESSFULLY
        self._read(lambda message: message.WhichOneof("type") == "script_finished" and message.script_finished == whole)
        return self.shown

    def _read(self, until: Callable[[ForwardMsg], bool]) -> None:
        while True:
            message = ForwardMsg.FromString(self.socket.recv(timeout=60))
            self.page = message.navigation.page_script_hash or self.page
            element = message.delta.new_element
            self.shown = element.text.body or self.shown
            for widget in (element.text_input, element.button):
                if widget.id:
                    self.ids[widget.label] = widget.id
            if until(message):
                return


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "log"
    path.touch()
    return path


@pytest.fixture
def tab(serve: Callable[..., str], log: Path) -> Iterator[Tab]:
    url = serve(APP, env={"HURRY_LOG": str(log)})
    with connect(url.replace("http", "ws") + "/_stcore/stream", subprotocols=["streamlit"], origin=url) as socket:  # type: ignore[arg-type, list-item]
        yield Tab(socket)


def await_line(log: Path, line: str) -> None:
    end = time.monotonic() + 60
    while line not in log.read_text().splitlines():
        assert time.monotonic() < end, f"no {line!r} in\n{log.read_text()}"
        time.sleep(0.01)


def test_hurried_runs_do_not_overtake_and_the_last_value_stands(tab: Tab, log: Path) -> None:
    tab.ask()
    assert tab.await_end() == "x= y= noted=None clicks=None"
    tab.ask(x="one", y="one")
    await_line(log, "x one begins")
    tab.ask(x="two", y="one", click=True)  # while the first callback of the first run still works
    tab.await_receipt()
    log.with_name("x").touch()
    await_line(log, "y one begins")
    tab.ask(x="three", y="one")  # while its second one does
    tab.await_receipt()
    log.with_name("y").touch()
    assert tab.await_end() == "x=three y=one noted=three clicks=1"
    ended = [line for line in log.read_text().splitlines() if "ends" in line]
    assert ended == [f"{line} ends, script threads: 1" for line in ("x one", "y one", "x three")]


def test_the_app_runs_one_thread_a_session_and_says_why() -> None:
    config = (ROOT / ".streamlit" / "config.toml").read_text()
    assert tomllib.loads(config)["runner"]["fastReruns"] is False
    assert re.search(r"^fastReruns = false +# .*threads.*older", config, re.MULTILINE)
