"""Pages of reports as a browser shows them from disk: filtered and sorted without a server, pictures fetched when they are come
to, and 300 results no more to load than their table."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ptxmm.checker import Outcome
from ptxmm.cli.main import main
from ptxmm.report.html import HtmlReport
from ptxmm.result import Result

ROOT = Path(__file__).resolve().parents[3]


def opened(browser: Any, path: Path, scheme: str = "light") -> tuple[Any, list[str]]:
    """A page from disk, and what goes wrong in it from then on."""
    page = browser.new_page(color_scheme=scheme)
    wrong: list[str] = []
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("requestfailed", lambda request: wrong.append(request.url))
    page.on("console", lambda message: wrong.append(message.text) if message.type == "error" else None)
    page.goto(path.as_uri())
    return page, wrong


def test_a_table_of_300_results_is_filtered_and_sorted_from_disk(browser: Any, tmp_path: Path) -> None:
    report = HtmlReport(str(tmp_path), "ptx-9.0", unroll=4)
    report.begin([])
    for i in range(300):
        verdict = ("ok", "no", "undecided")[i % 3]
        report.add(Outcome(Result(path=f"{i}.litmus", name=f"t{i}", model="m", verdict=verdict, seconds=300 - i), {}))
    report.end(1.0, [])
    page, wrong = opened(browser, tmp_path / "index.html")
    shown = page.locator("tbody tr:visible")
    assert shown.count() == 300 and page.locator("#told").inner_text() == "300 of 300 tests"
    page.fill("#text", "t29")
    assert shown.count() == 11 and page.locator("#told").inner_text() == "11 of 300 tests"
    page.select_option("#verdict", "no")
    assert {row.get_attribute("data-verdict") for row in shown.all()} == {"no"}
    page.fill("#text", "")
    page.select_option("#verdict", "")
    first = page.locator("tbody tr").first
    page.get_by_role("button", name="Time").click()
    assert first.locator("th").inner_text() == "t299"
    page.get_by_role("button", name="Test").click()
    assert first.locator("th").inner_text() == "t0"
    page.get_by_role("button", name="Test").click()
    assert first.locator("th").inner_text() == "t299"
    first.get_by_role("link").click()
    assert page.locator("h1").inner_text() == "t299"
    assert wrong == []
    page.close()


def test_pages_of_a_run_show_causes_and_pictures_in_light_and_dark(browser: Any, tmp_path: Path) -> None:
    main(["check", str(ROOT / "examples/lock.toml:weak"), "--html", str(tmp_path)])
    (path,) = (tmp_path / "tests").iterdir()
    colours = []
    for scheme in ("light", "dark"):
        page, wrong = opened(browser, path, scheme)
        assert "no release semantics" in page.locator("h2:has-text('Cause') + pre").inner_text()
        assert page.locator("figure img").first.evaluate("image => image.decode().then(() => image.naturalWidth)") > 100
        folded = page.locator("details:has(figure)").first
        assert not folded.locator("img").is_visible()
        folded.locator("summary").click()
        assert folded.locator("img").is_visible()
        colours.append(page.evaluate("getComputedStyle(document.body).backgroundColor"))
        assert wrong == []
        page.close()
    assert colours == ["rgb(255, 255, 255)", "rgb(21, 24, 27)"]


def test_a_comparison_is_a_table_with_both_sides_as_pictures(browser: Any, tmp_path: Path) -> None:
    test = str(ROOT / "litmus/library/manual/MP+rel+red-fence.acquire.litmus")
    main(["compare", "--model", "ptx-7.5", "--model", "ptx-9.0", test, "--html", str(tmp_path)])
    page, wrong = opened(browser, tmp_path / "index.html")
    page.get_by_role("link", name="MP+rel+red-fence.acquire").click()
    pictures = page.locator(".beside figure")
    assert pictures.count() == 2
    for picture in pictures.all():
        assert picture.locator("img").evaluate("image => image.decode().then(() => image.naturalWidth)") > 100
    assert "ptx-9.0 allows, ptx-7.5 forbids" in page.locator("pre").first.inner_text()
    assert wrong == []
    page.close()
