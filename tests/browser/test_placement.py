"""The page on Pre- and Post-LN in Chromium: hover, a slider, the paper's setting, a measurement that is asked for, every width."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest

from tests.browser.helpers import button, idle, linked, option, scroll_to, slider
from tests.browser.looks import LOOKS, look
from viz_core.figures.norm_placement import METRIC_TITLES, PLACEMENT_TITLES

if TYPE_CHECKING:
    from playwright.sync_api import Page

Open = Callable[..., "Page"]
pytest_plugins = ["tests.browser.one_page"]
SMALL = {"preset": "000", "source": "the cat sat on the mat", "target": "x y", "norm_width": "16", "norm_depth": "4"}
N_CHARTS = {"depth": 1, "theory": 2, "gradients": 2}

# Title, names of the lines, and the axis's kind, of every chart that is drawn.
DRAWN = """() => [...document.querySelectorAll(".js-plotly-plot")].map((e) => ({
    title: e._fullLayout.title.text, names: e._fullData.map((t) => t.name), y: e._fullLayout.yaxis.type,
    last: e._fullData.map((t) => t.y[t.y.length - 1]),
}))"""

# What is cut off: an element of a chart or of the drawings beyond the page's width.
BEYOND = """() => [...document.querySelectorAll(".js-plotly-plot .main-svg, [data-testid=stHtml] img")]
    .filter((e) => e.getBoundingClientRect().right > document.documentElement.clientWidth + 1).length"""


@pytest.fixture
def open_at(serve: Callable[..., str], turn_to: Open) -> Open:
    """`open_at("theory", width=390, norm_depth="8")` → that section, drawn."""

    def open_at(section: str, width: int = 1280, theme: str = "light", **params: str) -> Page:
        query = urlencode(SMALL | {"norm_section": section} | params)
        return turn_to(f"{serve()}/norms?{query}", width=width, theme=theme)

    return open_at


def query(page: Page) -> dict[str, str]:
    return {k: v[-1] for k, v in parse_qs(urlsplit(page.url).query).items()}


def drawn(page: Page) -> list[dict]:
    idle(page)
    return page.evaluate(DRAWN)


def test_it_opens_on_two_placements(open_at: Open) -> None:
    page = open_at("depth")
    (chart,) = drawn(page)
    assert chart["title"] == str(METRIC_TITLES["power"][0]) and chart["y"] == "linear"
    assert {name.split(" · ")[0] for name in chart["names"]} == {"Post-LN", "Pre-LN"}
    assert page.get_by_test_id("stMain").get_by_role("slider").count() == 1  # one depth slider
    scroll_to(page, "layer_blocks")
    assert page.get_by_alt_text("One layer of Post-LN").or_(page.locator('img[alt^="One layer of P"]')).count() == 2


def test_the_pointer_reads_layer_stage_and_value(open_at: Open) -> None:
    page = open_at("depth", norm_placements="pre")
    point = page.locator(".js-plotly-plot .scatterlayer .trace").first.locator(".point").nth(3)
    box = point.bounding_box()
    assert box
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    label = page.locator(".js-plotly-plot .hovertext")
    label.wait_for()
    told = label.text_content() or ""
    assert "Pre-LN" in told and "encoder.layers.1.resid_mid" in told and "after 1.5 layers: " in told


def test_another_depth_is_another_run(open_at: Open) -> None:
    page = open_at("depth")
    before = drawn(page)[0]["last"]
    slider(page, "norm_depth").focus()
    page.keyboard.press("ArrowRight")
    linked(page, "norm_depth=5")
    assert "5 layers" in page.get_by_text("Untrained weights (Xavier").inner_text() and drawn(page)[0]["last"] != before


def test_other_placements_are_a_click_away(open_at: Open) -> None:
    page = open_at("depth", norm_depth="48")
    for name in ("none", "plain"):
        option(page, "norm_placements", name).click()
        idle(page)
    (chart,) = drawn(page)
    assert chart["y"] == "log"
    assert {name.split(" · ")[0] for name in chart["names"]} == {str(PLACEMENT_TITLES[n]) for n in ("post", "pre", "none", "plain")}
    assert query(page)["norm_placements"] == "post,pre,none,plain"


def test_the_lit_path_follows_a_click(open_at: Open) -> None:
    page = open_at("depth")
    scroll_to(page, "layer_blocks")
    assert page.get_by_text("path to resid_mid").is_visible()
    option(page, "norm_lit", "ffn.out").click()
    linked(page, "norm_lit=ffn.out")
    assert page.get_by_text("path to ffn.out").is_visible()
    assert query(page)["norm_lit"] == "ffn.out"


def test_one_button_sets_the_papers_setting(open_at: Open) -> None:
    page = open_at("theory", norm_broken="normal,square")
    assert page.get_by_text("The dropped assumptions").is_visible()
    button(page, "norm_paper").click()
    idle(page)
    assert page.get_by_text("All assumptions hold").is_visible()
    assert not {"norm_broken", "norm_depth", "norm_width"} & query(page).keys()
    option(page, "norm_broken", "square").click()
    idle(page)
    assert page.get_by_text("The dropped assumptions").is_visible()
    assert [len(c["names"]) for c in drawn(page)] == [5, 4]


def test_what_costs_much_is_asked_for(open_at: Open) -> None:
    page = open_at("gradients", norm_depth="48", norm_width="256", source=" ".join(["word"] * 32), max_len="40")
    ask = page.locator('[class*="st-key-norm_ask_"] button')
    assert not drawn(page) and ask.count() == 2
    ask.first.click()
    idle(page, 120_000)
    assert page.get_by_text("for the last layer only").is_visible()
    assert [c["title"] for c in drawn(page)] == ["Gradient of each layer's weights, 4 batches"] and ask.count() == 1


def test_every_section_fits(open_at: Open) -> None:
    for section, n_charts in N_CHARTS.items():
        page = open_at(section, norm_placements=",".join(PLACEMENT_TITLES))
        for width, theme in LOOKS:
            look(page, width, theme)
            case = section, width, theme
            assert len(page.evaluate(DRAWN)) == n_charts, case
            assert page.evaluate("document.documentElement.scrollWidth") <= width and page.evaluate(BEYOND) == 0, case
            assert page.get_by_test_id("stException").count() == 0, case


def test_a_section_comes_back_with_its_link(open_at: Open) -> None:
    page = open_at("depth")
    option(page, "norm_section", "theory").click()
    linked(page, "norm_section=theory")
    assert page.get_by_text("Compare the points with the lines").is_visible()
    assert query(page)["norm_section"] == "theory"
    page.reload()
    assert [c["title"] for c in drawn(page)] == ["Post-LN: theory predicts a flat line", "Pre-LN: theory predicts growth"]
