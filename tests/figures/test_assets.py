"""Scripts and styles as files of the package, and a picture as a page of its own."""

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


@pytest.mark.parametrize("dark", [False, True])
def test_the_page_around_has_the_apps_colours(dark: bool) -> None:
    told = tomllib.loads((ROOT / ".streamlit/config.toml").read_text())["theme"]["dark" if dark else "light"]
    camel = {
        "".join(w.title() if i else w for i, w in enumerate(name.split("_"))): x for name, x in theme.page_colours(dark).items()
    }
    assert camel | {"codeTextColor": camel["textColor"]} == told


def test_words_in_a_mapping_end_no_script() -> None:
    assert assets.component_page("diagram", {"title": "</script><i>a"}, "An <b>identity</b>").count("</script>") == 1
