"""Scripts and styles as files of the package, and a picture as a page of its own."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from viz_core.figures import assets, theme

ROOT = Path(__file__).parents[2]

# Draws a matrix whose labels are markup where Streamlit cannot be imported.
WITHOUT_STREAMLIT = """
import sys
sys.modules["streamlit"] = None
import numpy as np
from viz_core.figures.assets import component_page
from viz_core.figures.panels import pack_panels, panel
words = ["</script><i>a", "b", "猫"]
matrix = panel("Who </script> attends", np.eye(3), rows=words, cols=words, row_axis="T", col_axis="S", kind="probability")
print(component_page("canvas", pack_panels([matrix]), "An <b>identity</b>"))
"""


@pytest.fixture(scope="module")
def written() -> str:
    done = subprocess.run([sys.executable, "-c", WITHOUT_STREAMLIT], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_page_is_whole_without_streamlit(written: str) -> None:
    assert "<title>An &lt;b&gt;identity&lt;/b&gt;</title>" in written and written.count("</script>") == 1
    assert "http" not in written.replace("http://www.w3.org/2000/svg", "")  # the name of SVG, which nobody asks for


@pytest.mark.parametrize("name", assets.PICTURES)
def test_every_picture_has_its_files(name: str) -> None:
    made = assets.component(name)
    assert made["js"].count("export default function") == 1 and f".{assets.PICTURES[name]}" in made["js"]
    assert made["css"] and "__" not in made["html"]


UI = ROOT / "viz_core" / "ui"
ENTRIES = [path.relative_to(UI).as_posix() for path in sorted(UI.rglob("*.js")) if path.stem == path.parent.name]


@pytest.mark.parametrize("entry", [entry for entry in ENTRIES if "/common/" not in entry])
def test_the_scripts_of_a_module_declare_distinct_names(entry: str) -> None:
    """They are joined into one, where the names at the top of each are names of all."""
    pattern = re.compile(r"^(?:export )?(?:async )?(?:const|let|function|class) (\w+)", re.MULTILINE)
    names = [name for source in assets.script_files(entry).values() for name in pattern.findall(source)]
    assert names and len(names) == len(set(names)), sorted(name for name in set(names) if names.count(name) > 1)
    joined = assets.script(entry)
    assert "\nimport " not in joined and joined.count("\nexport ") == (0 if "offline" in entry else 1)


def test_every_script_is_part_of_a_module() -> None:
    used = {path for entry in ENTRIES for path in assets.script_files(entry)}
    assert used == {path.relative_to(UI).as_posix() for path in UI.rglob("*.js")}


def test_a_script_comes_after_those_that_it_imports(monkeypatch: pytest.MonkeyPatch) -> None:
    files = {"a/a.js": 'import { b } from "./b.js";\nimport {\n  c,\n} from "../c/c.js";\nexport const a = b + c;\n',
             "a/b.js": 'import { c } from "../c/c.js";\nexport const b = c;\n', "c/c.js": "export const c = 1;\n"}
    monkeypatch.setattr(assets, "_read", files.__getitem__)
    assert list(assets.script_files("a/a.js")) == ["c/c.js", "a/b.js", "a/a.js"]
    files["a/b.js"] = 'import * as c from "../c/c.js";\n'
    with pytest.raises(ValueError, match=r"a/b\.js has an import that is not of the form"):
        assets.script_files("a/a.js")


def test_no_line_of_a_script_or_style_is_longer_than_120_characters() -> None:
    files = [path for folder in ("viz_core", "tests/javascript") for ending in ("js", "css")
             for path in (ROOT / folder).rglob(f"*.{ending}") if "node_modules" not in path.parts]
    long = [f"{path.name}:{number}" for path in files for number, line in enumerate(path.read_text("utf-8").split("\n"), 1)
            if len(line) > 120]
    assert len(files) > 80 and not long


@pytest.mark.parametrize("dark", [False, True])
def test_the_page_around_has_the_apps_colours(dark: bool) -> None:
    told = tomllib.loads((ROOT / ".streamlit/config.toml").read_text())["theme"]["dark" if dark else "light"]
    camel = {
        "".join(w.title() if i else w for i, w in enumerate(name.split("_"))): x for name, x in theme.page_colours(dark).items()
    }
    assert camel | {"codeTextColor": camel["textColor"]} == told


def test_words_in_a_mapping_end_no_script() -> None:
    assert assets.component_page("diagram", {"title": "</script><i>a"}, "An <b>identity</b>").count("</script>") == 1
