"""The layers of the code, read from the source: which module may import which, and what no module may do."""

import ast
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TOP_LEVEL = {
    *("app.py", "pages", "viz_core", "tests", "requirements.txt", ".streamlit"),
    *("README.md", "pyproject.toml", "LICENSE", ".gitignore", ".ci"),
}

# Layer by layer, from 0: each member (a module, or a package with all that is in it) and what it may import besides the
# standard library, itself and layer 0.
LAYER_0 = {f"viz_core.{name}" for name in ("config", "messages", "presets", "stages")}
CAPTURES = {"numpy", "viz_core.capture", "viz_core.text"}
MODEL = {"torch", "viz_core.tracing", "viz_core.model"}
VIEWS = {"viz_core.analysis", "viz_core.figures"}
RUNS = {f"viz_core.{name}" for name in ("run", "generate", "experiments", "weights", "training")}
INTERACTIVE = {"viz_core.training.interactive"}
PANDAS = {"pandas", "viz_core.capture.tidy", "viz_core.figures.plot_data"}  # imported where a file is made, as test_cold holds
COMPONENTS = CAPTURES | VIEWS | PANDAS | {"streamlit", "viz_core.ui.streamlit_internals", "viz_core.ui.components"}
TABLES = {"viz_core.tables", "viz_core.run_file"}
SHELL = COMPONENTS | MODEL | RUNS | TABLES | INTERACTIVE | {"PIL", "viz_core.training.jobs"}
SHELL |= {"viz_core.ui.escape", "viz_core.ui.shell"}
SHARED = SHELL | {"plotly", "viz_core.ui.shared"}
LAYERS: list[dict[str, set[str]]] = [
    {member: set() for member in ["viz_core.__init__", *LAYER_0]},
    {"viz_core.capture": {"numpy", "pandas", "regex"}, "viz_core.text": {"numpy", "regex"}},
    {
        "viz_core.run_file": {"numpy", "safetensors", "viz_core.capture"},
        "viz_core.tracing": {"torch", "numpy", "viz_core.capture"},
        "viz_core.analysis": CAPTURES,
    },
    {"viz_core.model": {"torch", "viz_core.tracing"}},
    {member: CAPTURES | MODEL | RUNS for member in RUNS - {"viz_core.weights", "viz_core.training"}}
    | {"viz_core.training": CAPTURES | MODEL | RUNS | {"viz_core.analysis"}}
    | {"viz_core.weights": CAPTURES | MODEL | RUNS | {"safetensors", "tokenizers", "huggingface_hub", "regex"}},
    {"viz_core.training.interactive": CAPTURES | MODEL | RUNS | {"viz_core.analysis", "safetensors"}},
    {
        "viz_core.training.jobs": {"torch", "safetensors", "dask", "distributed"} | INTERACTIVE,
        "viz_core.tables": {"pandas", "viz_core.analysis"} | CAPTURES | RUNS | INTERACTIVE,
    },
    {
        "viz_core.figures": {"plotly", "numpy", "PIL", "viz_core.analysis"} | CAPTURES,
        "viz_core.figures.plot_data": {"numpy", "pandas", "viz_core.capture"} | VIEWS,
        "viz_core.notebook": CAPTURES | VIEWS,
    },
    {member: SHELL for member in ["viz_core.ui.__init__", "viz_core.ui.escape", "viz_core.ui.shell"]}
    | {"viz_core.ui.streamlit_internals": {"streamlit"}, "viz_core.ui.components": COMPONENTS}
    | {"viz_core.ui.shared": SHARED, "viz_core.ui.pages": SHARED},
    {member: VIEWS | {"streamlit", "viz_core.ui"} for member in ["app", "pages"]},
]
ALLOWED = {member: allowed | LAYER_0 for layer in LAYERS for member, allowed in layer.items()}


# --- reading the source -------------------------------------------------------------------------


def files(*patterns: str) -> dict[str, Path]:
    """Module name → file, for every Python file that matches."""
    found = sorted(path for pattern in patterns for path in ROOT.glob(pattern))
    return {".".join(path.relative_to(ROOT).with_suffix("").parts): path for path in found}


MODULES = files("app.py", "pages/**/*.py", "viz_core/**/*.py")


def module_name(name: str) -> str:
    """The file that `name` was imported from: "viz_core.run.build" and "viz_core.model" have names of their own."""
    while name not in MODULES and f"{name}.__init__" not in MODULES and "." in name:
        name = name.rpartition(".")[0]
    return name if name in MODULES else f"{name}.__init__"


def imports(tree: ast.AST, module: str = "") -> Iterator[str]:
    """Every name that the tree imports, in full: `from a import b` is "a.b", relative to `module` where it has dots."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            package = module.split(".")[: -node.level] if node.level else []
            base = ".".join([*package, *([node.module] if node.module else [])])
            yield from (f"{base}.{alias.name}" for alias in node.names)


def within(name: str, members: set[str]) -> bool:
    return any(name == member or name.startswith(member + ".") for member in members)


# --- the checks: each yields what is wrong with one module ---------------------------------------


def wrong_layer(tree: ast.AST, module: str) -> Iterator[str]:
    member = max((member for member in ALLOWED if within(module, {member})), key=len, default=None)
    if member is None:
        yield f"{module} belongs to no layer"
        return
    allowed = ALLOWED[member] | sys.stdlib_module_names | {member}
    yield from (f"{module} imports {name}" for name in imports(tree, module) if not within(name, allowed))


def in_place(tree: ast.AST, module: str) -> Iterator[str]:
    """What a tap recorded must not change afterwards. Only `init.py`, which fills parameters, may write in place."""
    for node in ast.walk(tree):
        where = f"{module}:{getattr(node, 'lineno', 0)}"
        if isinstance(node, ast.AugAssign):
            yield f"{where} assigns in place"
        elif isinstance(node, ast.Call):
            name = getattr(node.func, "attr", getattr(node.func, "id", ""))
            if name.endswith("_") and not name.endswith("__"):
                yield f"{where} calls {name}"
            yield from (f"{where} passes {k.arg}=" for k in node.keywords if k.arg in ("out", "inplace"))


def unpickles(tree: ast.AST, module: str) -> Iterator[str]:
    """Unpickling a file runs what its author put there."""
    picklers = {"pickle", "_pickle", "cloudpickle", "dill", "joblib", "shelve", "marshal", "torch.load"}
    yield from (f"{module} imports {name}" for name in imports(tree, module) if within(name, picklers))
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and ast.unparse(node) == "torch.load":
            yield f"{module}:{node.lineno} calls torch.load"
        elif isinstance(node, ast.keyword) and node.arg == "allow_pickle" and ast.unparse(node.value) != "False":
            yield f"{module}:{node.lineno} allows pickle"


def modules_loaded_by(package: str, suspects: list[str]) -> set[str]:
    """Which suspects a fresh Python has loaded after importing the package and every module in it."""
    code = (
        "import importlib, pkgutil, sys\n"
        f"package = importlib.import_module({package!r})\n"
        "for m in pkgutil.walk_packages(package.__path__, package.__name__ + '.'): importlib.import_module(m.name)\n"
        f"print(*sys.modules.keys() & {set(suspects)!r})"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return set(done.stdout.split())


# --- the code as it stands ----------------------------------------------------------------------


def complaints(check: Callable[[ast.AST, str], Iterator[str]], modules: dict[str, Path]) -> list[str]:
    return [wrong for module, path in modules.items() for wrong in check(ast.parse(path.read_text("utf-8")), module)]


def test_each_module_imports_only_from_the_layers_below() -> None:
    assert not complaints(wrong_layer, MODULES)


def test_every_member_of_a_layer_is_there() -> None:
    assert [member for member in ALLOWED if not any(within(module, {member}) for module in MODULES)] == []


def test_no_module_imports_itself_through_others() -> None:
    graph = {
        module: {module_name(name) for name in imports(ast.parse(path.read_text("utf-8")), module)} & MODULES.keys()
        for module, path in MODULES.items()
    }
    TopologicalSorter(graph).prepare()  # raises CycleError, which names the circle


def test_the_model_computes_nothing_in_place() -> None:
    model = {m: path for m, path in MODULES.items() if within(m, {"viz_core.model"}) and m != "viz_core.model.init"}
    assert not complaints(in_place, model)


def test_nothing_is_unpickled() -> None:
    assert not complaints(unpickles, MODULES | files("tests/**/*.py"))


@pytest.mark.parametrize(
    ("package", "suspects"),
    [
        ("viz_core.figures", ["torch", "streamlit"]),
        ("viz_core.analysis", ["torch", "streamlit", "plotly"]),
        ("viz_core.model", ["plotly", "streamlit"]),
    ],
)
def test_a_layer_loads_nothing_from_above(package: str, suspects: list[str]) -> None:
    assert not modules_loaded_by(package, suspects)


def test_the_top_level_is_the_agreed_one() -> None:
    if not shutil.which("git") or not (ROOT / ".git").exists():
        pytest.skip("not a git checkout")
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    tracked = {path.split("/")[0] for path in listed.split("\0") if path}
    if not tracked:
        pytest.skip("git tracks nothing yet")
    assert tracked == TOP_LEVEL


# --- each check can fail ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("check", "module", "source"),
    [
        (wrong_layer, "viz_core.config", "import numpy"),
        (wrong_layer, "viz_core.config", "from viz_core.capture import Capture"),
        (wrong_layer, "viz_core.analysis.entropy", "import torch"),
        (wrong_layer, "viz_core.analysis.entropy", "from viz_core import figures"),
        (wrong_layer, "viz_core.analysis.entropy", "from ..figures import theme"),
        (wrong_layer, "viz_core.figures.heads", "def f():\n    import streamlit as st"),
        (wrong_layer, "viz_core.run", "import streamlit.components.v2"),
        (wrong_layer, "viz_core.unheard_of", "import math"),
        (wrong_layer, "viz_core.ui.components.canvas", "from viz_core.ui.shell import view"),
        (wrong_layer, "viz_core.ui.components.canvas", "from viz_core.ui.shared.elements import chart"),
        (wrong_layer, "viz_core.ui.shell.layout.sidebar", "from viz_core.ui.pages import home"),
        (wrong_layer, "pages.attention", "import plotly.graph_objects as go"),
        (wrong_layer, "app", "import numpy as np"),
        (in_place, "viz_core.model.attention", "scores /= 8"),
        (in_place, "viz_core.model.attention", "scores.masked_fill_(mask, 0)"),
        (in_place, "viz_core.model.attention", "torch.add(x, y, out=x)"),
        (in_place, "viz_core.model.attention", "F.relu(x, inplace=True)"),
        (unpickles, "viz_core.weights", "import pickle"),
        (unpickles, "viz_core.weights", "from torch import load"),
        (unpickles, "viz_core.weights", "torch.load(path, weights_only=True)"),
        (unpickles, "viz_core.weights", "np.load(path, allow_pickle=True)"),
    ],
)
def test_a_check_finds(check: Callable[[ast.AST, str], Iterator[str]], module: str, source: str) -> None:
    assert list(check(ast.parse(source), module))


@pytest.mark.parametrize(
    ("check", "module", "source"),
    [
        (wrong_layer, "viz_core.config", "import math\nfrom viz_core.config.limits import MAX"),
        (wrong_layer, "viz_core.figures.heads", "from . import parts\nfrom viz_core.figures import theme"),
        (wrong_layer, "viz_core.model.attention", "import torch.nn.functional as F"),
        (wrong_layer, "pages.attention", "import streamlit as st\nfrom viz_core.ui import frame"),
        (in_place, "viz_core.model.attention", "super().__init__()\nscores = tap('scores', scores / 8)"),
        (unpickles, "viz_core.weights", "np.load(path, allow_pickle=False)"),
    ],
)
def test_a_check_lets_pass(check: Callable[[ast.AST, str], Iterator[str]], module: str, source: str) -> None:
    assert not list(check(ast.parse(source), module))


def test_a_loaded_module_is_found() -> None:
    assert modules_loaded_by("xml", ["xml.dom.minidom", "numpy"]) == {"xml.dom.minidom"}
