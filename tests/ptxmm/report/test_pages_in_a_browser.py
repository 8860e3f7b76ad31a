"""Pages of reports as a browser shows them from disk: filtered and sorted without a server, pictures fetched when they are come
to and 300 results no more to load than their table; executions stepped through and their relations switched."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from accessibility import violations

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
        page.locator(".view svg").wait_for()
        assert violations(page) == []
        assert "no release semantics" in page.locator("h2:has-text('Cause') + pre").inner_text()
        assert page.locator(".view [data-event]").first.is_visible() and not page.locator("figure").first.is_visible()
        colours.append(page.evaluate("getComputedStyle(document.body).backgroundColor"))
        assert wrong == []
        page.close()
    assert colours == ["rgb(255, 255, 255)", "rgb(21, 24, 27)"]


def test_a_comparison_is_a_table_with_both_sides_as_pictures(browser: Any, tmp_path: Path) -> None:
    test = str(ROOT / "litmus/library/manual/MP+rel+red-fence.acquire.litmus")
    main(["compare", "--model", "ptx-7.5", "--model", "ptx-9.0", test, "--html", str(tmp_path)])
    page, wrong = opened(browser, tmp_path / "index.html")
    page.get_by_role("link", name="MP+rel+red-fence.acquire").click()
    page.locator(".beside .view svg").nth(1).wait_for()
    assert page.locator(".beside .view").count() == 2 and not page.locator(".stepper").count()
    assert page.locator(".below").all_inner_texts()[0].startswith("ptx-9.0 allows it")
    assert "ptx-9.0 allows, ptx-7.5 forbids" in page.locator("pre").first.inner_text()
    assert wrong == []
    page.close()


CORR = r"""PTX corr
{ x = 0; }
 P0@cta 0,gpu 0            | P1@cta 1,gpu 0              ;
 st.relaxed.gpu.u32 [x], 1 | ld.relaxed.gpu.u32 %r0, [x] ;
 st.relaxed.gpu.u32 [x], 2 | ld.relaxed.gpu.u32 %r1, [x] ;
~exists (1:r0 = 1 /\ 1:r1 = 2)
"""


def test_executions_are_stepped_through_and_relations_switched_from_disk(browser: Any, tmp_path: Path) -> None:
    (tmp_path / "corr.litmus").write_text(CORR)
    main(["check", str(tmp_path / "corr.litmus"), "--html", str(tmp_path / "out")])
    page, wrong = opened(browser, tmp_path / "out/tests/corr-page.html")
    loaded = "[...document.scripts].filter(script => script.src.includes('/pictures/')).length"
    page.locator(".view svg").wait_for()
    place, final = page.locator(".place"), page.locator(".view svg text").filter(has_text="final state")
    met = [row.locator("th").inner_text() for row in page.locator("tr.meets").all()]
    assert met == ["4"] and place.inner_text() == "5 of 6"  # what the verdict speaks of
    assert "1:r0 = 1, 1:r1 = 2" in final.text_content() and page.evaluate(loaded) == 1

    def drawn() -> list[bool]:  # a level line has no height, so that it counts as one that nobody sees
        edges = page.locator(".view .edge[data-relation=rf]")
        return [bool(edge.evaluate("edge => getComputedStyle(edge).display !== 'none'")) for edge in edges.all()]

    assert drawn() == [True, True]
    page.get_by_role("checkbox", name="rf").uncheck()
    assert drawn() == [False, False]
    page.locator(".view [data-event]").first.hover()
    assert "initially x = 0" in page.locator(".tip").inner_text()

    page.get_by_role("button", name="Next execution").click()
    page.wait_for_function("document.querySelector('.place').textContent === '6 of 6'")
    assert "1:r0 = 2, 1:r1 = 2" in final.text_content() and not any(drawn())  # what is off stays off
    page.locator(".drawn").press("n")
    page.wait_for_function("document.querySelector('.place').textContent === '1 of 6'")
    page.get_by_role("link", name="3", exact=True).click()  # the number of an outcome leads to its execution
    page.wait_for_function("document.querySelector('.place').textContent === '4 of 6'")
    assert "1:r0 = 1, 1:r1 = 1" in final.text_content() and page.evaluate(loaded) == 4
    assert wrong == []
    page.close()


def test_where_scripts_do_not_run_or_are_lost_the_pictures_are_images(browser: Any, tmp_path: Path) -> None:
    (tmp_path / "corr.litmus").write_text(CORR)
    main(["check", str(tmp_path / "corr.litmus"), "--html", str(tmp_path / "out")])
    path = tmp_path / "out/tests/corr-page.html"
    without = browser.new_context(java_script_enabled=False).new_page()
    without.goto(path.as_uri())
    assert without.locator("figure img").count() == 6 and without.locator("figure img").first.is_visible()
    without.context.close()
    for script in (tmp_path / "out/pictures").glob("*.js"):
        script.unlink()
    page = browser.new_page()
    with page.expect_event("requestfailed"):
        page.goto(path.as_uri())
    assert page.locator("figure img").first.evaluate("image => image.decode().then(() => image.naturalWidth)") > 100
    assert page.locator("figure").first.is_visible() and not page.locator(".view").count()
    page.close()
