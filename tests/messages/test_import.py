"""Nothing is translated while modules are imported: only what is shown is, and by then the visitor's language is known."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
IMPORT_ALL = """
import sys
from importlib import import_module
from pkgutil import walk_packages

import viz_core.messages as messages

def refuse(code):
    raise AssertionError("a text is translated while a module is imported")

messages._catalogue = refuse
for module in walk_packages(import_module("viz_core").__path__, "viz_core."):
    if not module.name.endswith("__main__"):
        import_module(module.name)
        print(module.name)
"""


def test_no_module_translates_when_it_is_imported() -> None:
    """The scripts app.py and pages/*.py are run for each visitor, so they may."""
    made = subprocess.run([sys.executable, "-c", IMPORT_ALL], cwd=ROOT, capture_output=True, text=True, check=False)
    assert made.returncode == 0, made.stderr[-2000:]
    assert "viz_core.ui.pages.masks.page" in made.stdout.splitlines()
