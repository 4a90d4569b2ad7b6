"""The list of pages: each entry is complete, and nothing that a page needs is missing."""

import ast
import re
from pathlib import Path

import pytest

from tests.ui.helpers import open_page
from viz_core.ui.pages.home.page_cards import PREVIEWS
from viz_core.ui.shell import PAGES, PageSpec
from viz_core.ui.shell.setup import URL_PARAM_BY_NAME

ROOT = Path(__file__).parents[2]
each_page = pytest.mark.parametrize("page", PAGES.values(), ids=list(PAGES))
NO_LEAD = {"step_by_step"}  # its controls come first


def test_every_file_is_a_page_and_every_page_has_its_file() -> None:
    assert {path.stem for path in (ROOT / "pages").glob("*.py")} == set(PAGES)


@each_page
def test_an_entry_is_complete(page: PageSpec) -> None:
    assert page.title and re.fullmatch(r":material/\w+:", page.icon), "give it a title and an icon"
    assert page.question, "give it a question, which is its headline"
    assert page.introduction.endswith(".") or page.name in NO_LEAD, "give it a lead of whole sentences, or name it in NO_LEAD"
    assert bool(page.home_text) == (page.name != "home") and not page.home_text.endswith("."), (
        "give it a card: what Home's link says"
    )
    assert len({p.icon for p in PAGES.values()}) == len(PAGES), "two pages have one icon"


@each_page
def test_its_first_lines_are_its_entry(page: PageSpec) -> None:
    source = (ROOT / page.path).read_text("utf-8")
    assert f'open_page(PAGES["{page.name}"]' in source, f"{page.path} has to begin with open_page(PAGES[{page.name!r}])"


@each_page
def test_what_it_shows_is_a_module_or_a_package_of_its_own(page: PageSpec) -> None:
    folder = ROOT / "viz_core" / "ui" / "pages"
    assert (folder / f"{page.name}.py").is_file() or (folder / page.name / "__init__.py").is_file()


@each_page
def test_it_has_tests_of_its_own(page: PageSpec) -> None:
    """Where the generic tests do not look: without a browser, and in one."""
    for folder in ("ui", "browser"):
        sources = [path.read_text("utf-8") for path in (ROOT / "tests" / folder).glob("test_*.py")]
        assert any(f'"{page.name}"' in source for source in sources) or page.name == "home", (
            f"write tests/{folder}/test_{page.name}.py, which opens {page.name!r} by this name")


@each_page
def test_its_main_pictures_are_declared(page: PageSpec) -> None:
    """A page has one, or one in each section; the view that names its sections offers these and no others."""
    assert bool(page.figure_key) != bool(page.sections), "give it the key of its main picture, or sections that have one each"
    if page.sections:
        assert [s.name for s in page.sections] == list(URL_PARAM_BY_NAME[page.section_param].options or ())
    assert all(section.figure_key for section in page.sections)


def test_home_has_a_small_picture_of_each() -> None:
    assert set(PREVIEWS) == {page.name for page in PAGES.values() if page.home_text}


def test_home_links_to_all_others() -> None:
    at = open_page("home")
    labels = {link.proto.label for link in at.get("page_link")}
    assert labels == {f"**{p.title}**" for p in PAGES.values() if p.name != "home"}
    assert {p.home_text for p in PAGES.values() if p.home_text} <= {c.value for c in at.caption}


FRAGMENTS = [
    (path, function)
    for path in sorted((ROOT / "viz_core" / "ui" / "pages").rglob("*.py"))
    for function in ast.parse(path.read_text("utf-8")).body
    if isinstance(function, ast.FunctionDef) and any(ast.unparse(d).startswith("st.fragment") for d in function.decorator_list)
    and not function.name.startswith("_")  # else it is a part of a section
]


@pytest.mark.parametrize(("path", "function"), FRAGMENTS, ids=[f"{p.parent.name}/{p.stem}.{f.name}" for p, f in FRAGMENTS])
def test_a_fragment_begins_with_the_run_and_ends_with_the_link(path: Path, function: ast.FunctionDef) -> None:
    """Its first line reads the visitor's newest choices, which a rerun of it alone would miss; its last writes them down."""
    first, last, reads_the_run = function.body[1], function.body[-1], "lab." in ast.unparse(function)
    where = f"{path.relative_to(ROOT)}: {function.name}"
    begins = not reads_the_run or "present()" in ast.unparse(first)
    assert begins, f"{where} has to begin with `lab = present()`, below its docstring"
    assert ast.unparse(last) == "write_link()", f"{where} has to end with `write_link()`"
