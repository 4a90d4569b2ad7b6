"""Streamlit with every import of its script threads written down: `python tests/recorded.py LOG run app.py ...`.

A line is the thread's number, a space and the module's name, in the order in which the modules were asked for.
"""

import runpy
import sys
import threading
from pathlib import Path


class Recorder:
    """A finder that finds nothing: Python asks it first, once for each module that is not there yet."""

    def __init__(self, log: Path) -> None:
        self._log = log.open("w", buffering=1, encoding="utf-8")

    def find_spec(self, name: str, path: object = None, target: object = None) -> None:
        if "script" in threading.current_thread().name.lower():
            self._log.write(f"{threading.get_ident()} {name}\n")


if __name__ == "__main__":
    sys.meta_path.insert(0, Recorder(Path(sys.argv.pop(1))))
    sys.argv[0] = "streamlit"
    runpy.run_module("streamlit", run_name="__main__")
