"""What is installed: the files of the wheel, the command `attention-lab` in an empty folder, and an editable installation."""

import asyncio
import json
import subprocess
import sys
import tomllib
import venv
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from zipfile import ZipFile

import pytest

from tests.architecture.test_imports import ROOT
from tests.browser.conftest import await_health, free_port
from tests.visitor import PAGES, Visitor
from viz_core import __main__ as command

PIP = [sys.executable, "-m", "pip", "--disable-pip-version-check"]
SETTINGS = {
    f"{section}.{name}": value
    for section, values in tomllib.loads((ROOT / ".streamlit" / "config.toml").read_text("utf-8")).items()
    for name, value in values.items()
    if not isinstance(value, dict)
}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    subprocess.run([*PIP, "wheel", "--quiet", "--no-deps", "-w", folder, ROOT], check=True, capture_output=True, timeout=300)
    (built,) = folder.glob("*.whl")
    return built


def environment(folder: Path, *what: str | Path) -> Path:
    """Install a project without its dependencies in a fresh environment, which borrows their files; return its folder `bin`."""
    venv.create(folder, with_pip=False)
    there = next(folder.glob("lib/*/site-packages"))
    (there / "borrowed.pth").write_text("\n".join(path for path in sys.path if path.endswith("site-packages")))
    install = [*PIP, "--python", folder, "install", "--quiet", "--no-deps", *what]
    subprocess.run(install, check=True, capture_output=True, timeout=300)
    return folder / "bin"


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return environment(tmp_path_factory.mktemp("fresh") / "environment", wheel)


# ---------------------------------------------------------------- the files of the wheel


def test_the_wheel_holds_the_package_without_the_generator_and_the_app_below_it(wheel: Path) -> None:
    """Nothing else: no module named `app` or `pages`, which another package might have too."""
    names = set(ZipFile(wheel).namelist())
    assert {name.split("/")[0] for name in names if ".dist-info/" not in name} == {"viz_core"}
    files = {path.relative_to(ROOT).as_posix() for path in (ROOT / "viz_core").rglob("*") if path.is_file()}
    due = {name for name in files if "__pycache__" not in name and not name.startswith("viz_core/training/corpus/")}
    assert {"viz_core/text/lexicon.json", "viz_core/training/sentences/held_out.txt"} <= due
    app = {"viz_core/app/app.py", "viz_core/app/.streamlit/config.toml", *(f"viz_core/app/pages/{page}.py" for page in PAGES)}
    assert {name for name in names if ".dist-info/" not in name} == due | app
    assert any(name.endswith("/licenses/LICENSE") for name in names)


# ---------------------------------------------------------------- the command


def test_the_settings_hold_in_an_empty_folder(installed: Path, tmp_path: Path) -> None:
    """What Streamlit would serve the app with, asked at the place where it starts the server."""
    code = (
        "import json, sys, streamlit.web.bootstrap as bootstrap\n"
        "from streamlit.config import get_option\n"
        "def run(script, *_):\n"
        f"    print(json.dumps([script, {{name: get_option(name) for name in {[*SETTINGS, 'server.address']!r}}}]))\n"
        "bootstrap.run_asgi_app = run\n"
        "from viz_core.__main__ import main\n"
        "main([])"
    )
    done = subprocess.run([installed / "python", "-c", code], cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert done.stdout, done.stderr
    script, found = json.loads(done.stdout)
    assert Path(script).parent.parent.name == "viz_core" and installed.parent in Path(script).parents
    assert found.pop("server.address") == "localhost"
    assert found["runner.fastReruns"] is False and found == SETTINGS


@contextmanager
def started(installed: Path, folder: Path) -> Iterator[str]:
    """The app, started by its command in an empty folder: its URL."""
    url, log = f"http://localhost:{free_port()}", folder.with_suffix(".log")
    with log.open("wb") as out:
        line = [installed / "attention-lab", "--port", url.rpartition(":")[2]]
        process = subprocess.Popen(line, cwd=folder, stdout=out, stderr=subprocess.STDOUT)
    try:
        await_health(url, process, log)
        yield url
    finally:
        process.terminate()
        process.wait()


def test_the_command_serves_every_page_from_an_empty_folder(installed: Path, tmp_path: Path) -> None:
    folder = tmp_path / "empty"
    folder.mkdir()

    async def visit(url: str) -> None:
        async with Visitor(url) as visitor:
            for page in PAGES:
                answer = await visitor.opens(page)
                assert answer.finished and not answer.exceptions, (page, answer.exceptions)

    with started(installed, folder) as url:
        asyncio.run(visit(url))
    assert not list(folder.iterdir())


def test_the_command_says_what_it_takes(installed: Path, tmp_path: Path) -> None:
    said = subprocess.run([installed / "attention-lab", "--help"], cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert not said.returncode and {"--port", "--host", "--weights"} <= set(said.stdout.replace(",", " ").split())


def test_the_options_become_streamlit_s_and_the_app_s(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(command.runpy, "run_module", lambda *_, **__: None)
    monkeypatch.setattr(sys, "argv", [])
    monkeypatch.setenv("ATTENTION_LAB_WEIGHTS", "")
    monkeypatch.chdir(tmp_path)
    command.main(["--port", "8600", "--host", "0.0.0.0", "--weights", "bert", "--weights", "gpt"])
    assert sys.argv[:3] == ["streamlit", "run", str(ROOT / "app.py")]
    assert sys.argv[3:] == ["--server.address", "0.0.0.0", "--server.port", "8600"]
    assert command.os.environ["ATTENTION_LAB_WEIGHTS"].split(":") == [str(tmp_path / name) for name in ("bert", "gpt")]


# ---------------------------------------------------------------- an editable installation


def test_an_editable_installation_runs_the_repository(tmp_path: Path) -> None:
    source = tmp_path / "checkout"
    source.mkdir()
    for name in ("viz_core", "app.py", "pages", ".streamlit", "pyproject.toml", "README.md", "LICENSE"):
        (source / name).symlink_to(ROOT / name)
    programs = environment(tmp_path / "fresh", "-e", source)
    code = (
        "from viz_core.run import run; from viz_core.config import TransformerConfig; from viz_core.notebook import show\n"
        "capture = run(TransformerConfig(), ['a b'], ['c'], device='cpu')\n"
        "from viz_core.__main__ import app_file\n"
        "print(len(capture.summary()), show(capture)._repr_html_()[:7], app_file())"
    )
    said = subprocess.run([programs / "python", "-c", code], cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert said.stdout.split()[1:] == ["<iframe", str(source / "app.py")], said.stderr
