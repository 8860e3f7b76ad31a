"""Who can use the page: by keyboard, by ear, on a phone, in the dark; axe-core finds no serious violation."""

from __future__ import annotations

from typing import Any

import pytest
from accessibility import violations
from browsing import open_example, settled, verdicts, write

#: What opens each window, and what it shows.
_WINDOWS = (
    ("Library", "dialog .examples [role=option]"),
    ("From a cycle", "dialog .preview"),
    ("Keyboard help", "dialog .keys"),
)


@pytest.mark.parametrize("scheme", ["light", pytest.param("dark", marks=pytest.mark.long)])
def test_nothing_serious_is_wrong_with_the_page(visitor: Any, scheme: str) -> None:
    page = visitor.page(color_scheme=scheme)
    page.get_by_role("button", name="Models").click()
    page.get_by_role("checkbox", name="ptx-7.5").check()
    page.locator(".card").nth(1).wait_for()
    settled(page)
    assert violations(page) == []
    page.keyboard.press("Escape")
    page.locator("button.reason").first.click()
    write(page, page.locator("textarea.code").input_value().replace("st.weak", "st.wweak"))
    page.locator(".problem").wait_for()
    assert violations(page) == []


@pytest.mark.long
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_nothing_serious_is_wrong_with_any_window(visitor: Any, scheme: str, width: int) -> None:
    page = visitor.page(color_scheme=scheme, viewport={"width": width, "height": 850})
    for name, waited in _WINDOWS:
        page.get_by_role("button", name=name).click()
        page.locator(waited).first.wait_for()
        assert violations(page) == [], name
        page.keyboard.press("Escape")
    page.locator("textarea.code").focus()
    page.keyboard.press("Control+End")
    page.keyboard.type("\nex")
    page.get_by_role("listbox", name="Completions").wait_for()
    assert violations(page) == [], "completion"
    page.keyboard.press("Escape")
    open_example(page, "SB+fence.sc.gpu")
    assert violations(page) == [], "another test"


def test_everything_is_reached_by_keys(page: Any) -> None:
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "editor-pane"
    page.keyboard.press("F6")
    page.keyboard.press("?")
    page.get_by_role("dialog", name="Keyboard").wait_for()
    page.keyboard.press("Escape")
    page.get_by_role("dialog", name="Keyboard").wait_for(state="hidden")
    page.locator("textarea.code").focus()
    page.keyboard.press("Tab")  # leaves the text
    assert page.evaluate("document.activeElement.tagName") != "TEXTAREA"
    reached = set()
    for _ in range(80):
        reached.add(page.evaluate("(e => e.id || e.className || e.tagName)(document.activeElement)"))
        page.keyboard.press("Tab")
    assert {"splitter", "plain", "FIGURE", "LI"} <= reached and any(name.startswith("reason") for name in reached)


@pytest.mark.long
def test_the_splitter_moves_by_keys(page: Any) -> None:
    splitter = page.get_by_role("separator", name="Width of the editor")
    width = page.locator("#editor-pane").evaluate("pane => pane.offsetWidth")
    splitter.focus()
    page.keyboard.press("ArrowRight")
    assert page.locator("#editor-pane").evaluate("pane => pane.offsetWidth") > width
    assert splitter.get_attribute("aria-valuenow") == "48"


def test_a_screen_reader_is_told_the_verdict_and_finds_its_way(page: Any) -> None:
    page.wait_for_function("() => document.getElementById('said').innerText.startsWith('ptx-9.0: ok')")
    assert page.locator("#said").get_attribute("aria-live") == "polite"
    for role in ("banner", "main", "navigation"):
        assert page.get_by_role(role).count() == 1, role
    assert page.get_by_role("region", name="Editor").count() == page.get_by_role("region", name="Answer").count() == 1
    assert page.get_by_role("textbox", name="Test", exact=True).count() == 1
    assert page.get_by_role("img", name="Picture:").count() == 1
    names = page.locator("button, select, input:not([type=hidden])").evaluate_all(
        """all => all.filter(one => one.checkVisibility())
          .map(one => one.ariaLabel || one.labels?.[0]?.innerText || one.innerText)"""
    )
    assert len(names) > 15 and all(name.strip() for name in names)


def test_a_phone_has_one_column_and_nothing_sticks_out(visitor: Any) -> None:
    page = visitor.page(viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    editor, answer = (page.locator(f"#{name}-pane").bounding_box() for name in ("editor", "answer"))
    assert answer["y"] >= editor["y"] + editor["height"] - 1 and editor["width"] == answer["width"] == 390
    small = page.locator("button:visible, select:visible").evaluate_all(
        "all => all.map(one => one.getBoundingClientRect()).filter(box => box.height < 24 || box.width < 24).length"
    )
    assert small == 0
    page.get_by_role("button", name="Library").tap()
    page.locator("dialog [role=option]").first.tap()
    page.locator("dialog#library").wait_for(state="hidden")
    settled(page)
    assert verdicts(page) and page.evaluate("document.documentElement.scrollWidth") <= 390


def test_the_page_is_dark_where_the_system_is_and_where_one_says_so(visitor: Any) -> None:
    def shades(page: Any) -> tuple[bool, bool]:
        """Whether the page is dark, and its picture."""
        return tuple(page.evaluate(
            """() => [getComputedStyle(document.body).backgroundColor,
                getComputedStyle(document.querySelector('.drawing').shadowRoot.querySelector('svg > rect')).fill]
              .map(colour => colour.match(/\\d+/g).slice(0, 3).every(part => Number(part) < 60))"""
        ))  # fmt: skip

    light, dark = visitor.page(color_scheme="light"), visitor.page(color_scheme="dark")
    assert shades(light) == (False, False) and shades(dark) == (True, True)
    for _ in range(2):
        light.get_by_role("button", name="Theme").click()
    assert shades(light) == (True, True)
    dark.get_by_role("button", name="Theme").click()
    assert shades(dark) == (False, False)
    light.reload()
    settled(light)
    assert shades(light) == (True, True), "the choice is kept"


@pytest.mark.long
def test_who_wants_no_motion_gets_none(visitor: Any) -> None:
    page = visitor.page(reduced_motion="reduce")
    longest = page.evaluate(
        """() => Math.max(...[...document.querySelectorAll('*')]
          .map(one => parseFloat(getComputedStyle(one).transitionDuration)))"""
    )
    assert longest == 0


@pytest.mark.long
def test_colours_that_the_system_forces_leave_the_text(visitor: Any) -> None:
    page = visitor.page(forced_colors="active")
    fill, layer = page.evaluate(
        """() => [getComputedStyle(document.querySelector('textarea.code')).webkitTextFillColor,
          getComputedStyle(document.querySelector('.layer')).visibility]"""
    )
    assert layer == "hidden" and fill not in ("rgba(0, 0, 0, 0)", "transparent")
