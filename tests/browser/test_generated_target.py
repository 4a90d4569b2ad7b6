"""The target that the model writes, as a visitor meets it: it follows the source, and typing takes it over at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urlsplit

from tests.browser.helpers import box, idle, keyed, linked

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytest_plugins = ["tests.browser.one_page"]


def said(url: str, name: str) -> list[str]:
    return parse_qs(urlsplit(url).query).get(name, [])


def type_source(page: Page, text: str) -> None:
    box(page).fill(text)
    page.keyboard.press("Control+Enter")
    linked(page, lambda url: said(url, "source") == [text])


def test_it_follows_the_source_until_one_types(serve: Callable[..., str], turn_to: Callable[..., Page]) -> None:
    page = turn_to(serve())
    assert box(page, "target").input_value() == "动物 没有 穿过 街道 因为 动物 太 累 了 。"
    type_source(page, "the dog chased the cat")
    assert box(page, "target").input_value() == "狗 追 了 猫" and not said(page.url, "target")

    keyed(page, "writer").locator("label").click()
    linked(page, lambda url: said(url, "target") == ["狗 追 了 猫"])
    box(page, "target").click()
    page.keyboard.press("Control+End")
    page.keyboard.type(" 。")
    page.keyboard.press("Control+Enter")
    linked(page, lambda url: said(url, "target") == ["狗 追 了 猫 。"])
    type_source(page, "I love you")
    assert box(page, "target").input_value() == "狗 追 了 猫 。"

    keyed(page, "writer").locator("label").click()
    linked(page, lambda url: not said(url, "target"))
    assert box(page, "target").input_value() == "我 爱 你"
    box(page, "target").click()
    page.keyboard.press("Control+A")
    page.keyboard.type("你 爱 我")
    page.keyboard.press("Control+Enter")  # typing is enough
    linked(page, lambda url: said(url, "target") == ["你 爱 我"])
    assert not keyed(page, "writer").get_by_role("switch").is_checked()
    page.reload()
    idle(page)
    assert box(page, "target").input_value() == "你 爱 我"
