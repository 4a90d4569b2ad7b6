"""The app's frame around a page whose callbacks wait until the test lets them go on, and log to the file HURRY_LOG."""

import os
import threading
import time
from pathlib import Path

import streamlit as st

from viz_core.messages import lazy
from viz_core.ui.shell import PageSpec, main

LOG = Path(os.environ["HURRY_LOG"])


def log(line: str) -> None:
    with LOG.open("a") as file:
        file.write(line + "\n")


def heard(key: str) -> None:
    """Hold a first value until its gate is there, and any later one until the last gate is; then note the value of x."""
    value = st.session_state.to_dict()[key]  # not a point at which Streamlit breaks off
    log(f"{key} {value} begins")
    gate = LOG.with_name(key if value == "one" else "y")
    while not gate.exists():
        time.sleep(0.01)
    threads = sum(thread.name == "ScriptRunner.scriptThread" for thread in threading.enumerate())
    if key == "x":
        st.session_state["noted"] = value
    log(f"{key} {value} ends, script threads: {threads}")


def clicked() -> None:
    st.session_state["clicks"] = st.session_state.get("clicks", 0) + 1


def page() -> None:
    for key in ("x", "y"):
        st.text_input(key, key=key, on_change=heard, args=(key,))
    st.button("click", on_click=clicked)
    st.text(" ".join(f"{name}={st.session_state.get(name)}" for name in ("x", "y", "noted", "clicks")))


main([PageSpec(name="home", title=lazy("Home"), icon=":material/home:", question=lazy("Home"))], {"home": page})
