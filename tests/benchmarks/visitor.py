"""A browser without a screen: Streamlit's own websocket, the widgets on the page with their values, and the link.

    async with visitor(url, "norms", {}) as v:
        v.send(v.widget("set_norm_depth"), [30.0])

What a browser would send is sent: the values of all widgets on the page, the link as the server wrote it last, and the
fragment that the widget belongs to.
"""

import asyncio
import contextlib
import json
import time
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, urlencode

import websockets
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.proto.WidgetStates_pb2 import WidgetState

NUMBERED = len("$$ID-") + 32 + len("-")  # a widget's id is this long before its key
HTML = "html"  # what elements of HTML, which have no key, are called here
VALUES = {  # what kind of widget has what kind of value
    "text_area": "string_value", "text_input": "string_value", "selectbox": "string_value", "radio": "string_value",
    "checkbox": "bool_value", "number_input": "double_value", "slider": "double_array_value",
    "button_group": "string_array_value", "multiselect": "string_array_value", "bidi_component": "json_value",
}


@dataclass(slots=True)
class Widget:
    """One widget on the page, as the server sent it last."""

    element: Any
    fragment: str
    run: str
    field: str


@dataclass(slots=True)
class Run:
    """One run of the script as this visitor saw it."""

    id: str = ""
    fragments: tuple[str, ...] = ()
    drawn: dict[str, list[tuple[float, bytes]]] = field(default_factory=dict)  # key → when its picture came, and the picture


class Visitor:
    """An open page. `finished` is called with each run when it has ended."""

    def __init__(self, socket: Any, page: str, query: Mapping[str, str]) -> None:
        self.page, self.link = page, dict(query)
        self.widgets: dict[str, Widget] = {}  # key → widget
        self.values: dict[str, WidgetState] = {}  # id → the value that the browser holds
        self.buttons: dict[str, tuple[str, str]] = {}  # key → id, fragment
        self.said: list[str] = []  # the texts of the last run
        self.exceptions: list[str] = []
        self.received = 0  # bytes
        self.opened = False  # whether the page has been drawn once
        self.finished: Any = lambda run: None
        self._socket, self._run, self._hash = socket, Run(), ""

    # ------------------------------------------------------------ to the server

    async def rerun(self, fragment: str = "", trigger: WidgetState | None = None) -> None:
        """Ask for a run, as a browser does when a widget has changed."""
        message = BackMsg()
        asked = message.rerun_script
        asked.query_string, asked.page_script_hash, asked.page_name = urlencode(self.link), self._hash, self.page
        asked.fragment_id = fragment
        asked.widget_states.widgets.extend([*self.values.values(), *([trigger] if trigger else [])])
        await self._socket.send(message.SerializeToString())

    def widget(self, key: str) -> Widget:
        """The widget of this key, whichever of its identities is on the page: when the app sets a value, it appends a number."""
        return self.widgets[next((k for k in reversed(self.widgets) if k == key or k.startswith(f"{key}--")), key)]

    def element(self, key: str) -> Any:
        """What the server sent of it last."""
        return self.widget(key).element

    async def choose(self, key: str, value: Any) -> None:
        """Give a widget another value."""
        widget = self.widget(key)
        self.values[widget.element.id] = state(widget.element.id, widget.field, value)
        await self.rerun(widget.fragment)

    async def look_at(self, part: str) -> None:
        """Scroll to a part of the page below its first screen, which the server then draws."""
        await self.choose(f"lab_part_{part}_visibility", json.dumps({"near": True}))

    async def press(self, key: str) -> None:
        """Click a button."""
        id, fragment = self.buttons[key]
        await self.rerun(fragment, WidgetState(id=id, trigger_value=True))

    async def tell(self, key: str, event: str, value: Any) -> None:
        """What a component's setTriggerValue sends: an event, once."""
        widget = self.widget(key)
        name = f"$$STREAMLIT_INTERNAL_KEY_{widget.element.id}__events"
        told = json.dumps([{"event": event, "value": value}])
        await self.rerun(widget.fragment, state(name, "json_trigger_value", told))

    # ------------------------------------------------------------ from the server

    async def listen(self) -> None:
        """Read what the server sends, until the connection closes."""
        with contextlib.suppress(websockets.ConnectionClosed):
            while True:
                data = await self._socket.recv()
                self.received += len(data)
                self._read(ForwardMsg.FromString(data), data)

    def _read(self, message: ForwardMsg, data: bytes) -> None:
        kind = message.WhichOneof("type")
        if kind == "new_session":
            this = message.metadata.run
            self._run = Run(this.script_run_id, tuple(this.fragment_ids))
            self.said.clear()
        elif kind == "navigation":
            self._hash = message.navigation.page_script_hash
        elif kind == "page_info_changed":
            self.link = dict(parse_qsl(message.page_info_changed.query_string, keep_blank_values=True))
        elif kind == "delta":
            self._place(message, data)
        elif kind == "script_finished":
            if message.script_finished in (ForwardMsg.FINISHED_SUCCESSFULLY, ForwardMsg.FINISHED_FRAGMENT_RUN_SUCCESSFULLY):
                self._forget()
                self.opened = True
            self.finished(self._run)

    def _place(self, message: ForwardMsg, data: bytes) -> None:
        delta = message.delta
        if delta.WhichOneof("type") == "add_block":
            block = delta.add_block
            if block.WhichOneof("type") == "expandable" and block.expandable.id:
                self._hold(block.expandable, "bool_value", delta.fragment_id, block.expandable.expanded)
            return
        kind = delta.new_element.WhichOneof("type")
        element = getattr(delta.new_element, kind)
        if kind == "exception":
            self.exceptions.append(f"{element.type}: {element.message}")
        key = HTML if kind == "html" else getattr(element, "id", "")[NUMBERED:]
        if message.metadata.delta_path[0] == 0 and kind in (HTML, "bidi_component", "plotly_chart"):
            self._run.drawn.setdefault(key, []).append((time.perf_counter(), data))
        if kind == "markdown":
            self.said.append(element.body)
        if kind == "button":
            self.buttons[key] = element.id, delta.fragment_id
        if kind in VALUES and element.id:
            of = "string_array_value" if kind == "slider" and element.options else VALUES[kind]  # a select slider
            self._hold(element, of, delta.fragment_id, first_value(kind, element))

    def _hold(self, element: Any, of: str, fragment: str, value: Any) -> None:
        """Remember a widget and, where it is new or the server has set it, its value."""
        self.widgets[element.id[NUMBERED:]] = Widget(element, fragment, self._run.id, of)
        if value is not None and (element.id not in self.values or getattr(element, "set_value", False)):
            self.values[element.id] = state(element.id, of, value)

    def _forget(self) -> None:
        """Drop the widgets that this run no longer has, as the page does."""
        mine = self._run.fragments
        gone = [k for k, w in self.widgets.items() if w.run != self._run.id and (not mine or w.fragment in mine)]
        for key in gone:
            self.values.pop(self.widgets.pop(key).element.id, None)


def state(id: str, field: str, value: Any) -> WidgetState:
    """A widget's value as the wire has it."""
    made = WidgetState(id=id)
    if field.endswith("_array_value"):
        getattr(made, field).data.extend(value)
    else:
        setattr(made, field, value)
    return made


def first_value(kind: str, element: Any) -> Any:
    """The value that the server gives a widget; None for none."""
    set_here = element.set_value if "set_value" in element.DESCRIPTOR.fields_by_name else False
    if kind == "bidi_component":
        return None
    if kind == "slider" and element.options:
        return list(element.raw_value) if set_here else [element.options[int(i)] for i in element.default]
    if kind == "slider":
        return list(element.value if set_here else element.default)
    if kind == "button_group":
        return list(element.raw_values) if set_here else [element.options[i].content for i in element.default]
    if kind == "multiselect":
        return list(element.raw_values) if set_here else [element.options[i] for i in element.default]
    if kind in ("selectbox", "radio"):
        return element.raw_value if set_here else element.options[element.default]
    return element.value if set_here else element.default


@contextlib.asynccontextmanager
async def visitor(url: str, page: str, query: Mapping[str, str]) -> AsyncIterator[Visitor]:
    """A visitor whose page has been drawn once. page: its name in the link, "" for the first page."""
    stream = f"ws{url.removeprefix('http')}/_stcore/stream"
    async with websockets.connect(stream, subprotocols=["streamlit"], max_size=None, origin=url) as socket:  # type: ignore[arg-type]
        made = Visitor(socket, page, query)
        listening = asyncio.create_task(made.listen())
        await made.rerun()
        try:
            while not made.opened:
                if listening.done():
                    listening.result()
                    raise RuntimeError("The server closed the connection before it had sent a page.")
                await asyncio.sleep(0.02)
            yield made
        finally:
            listening.cancel()
            await asyncio.wait([listening])
            if not listening.cancelled():
                listening.result()
