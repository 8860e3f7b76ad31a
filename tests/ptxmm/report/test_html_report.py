"""Pages of a run: whole, linked, escaped, and with nothing that a network would have to give."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

import pytest

from ptxmm.checker import Outcome
from ptxmm.cli.main import main
from ptxmm.report.html import HtmlReport
from ptxmm.result import Result

ROOT = Path(__file__).resolve().parents[3]
#: Elements that have no end.
_VOID = {"meta", "input", "img", "br", "wbr", "col", "link"}
_ELEMENTS = _VOID | {
    "html", "head", "title", "style", "body", "h1", "h2", "p", "a", "nav", "code", "pre", "ul", "li", "strong",
    "table", "colgroup",  "thead", "tbody", "tr", "th", "td", "form", "label", "select", "option", "output", "span", "figure",
    "figcaption", "footer", "script", "details", "summary", "div",
}  # fmt: skip


class Page(HTMLParser):
    """What a browser finds: elements in order, what they link to, their text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        assert tag in _ELEMENTS, tag
        self.found.append((tag, dict(attributes)))
        if tag not in _VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if not self.open or self.open[-1] not in ("script", "style"):
            self.words.append(data)

    @property
    def text(self) -> str:
        return "".join(self.words)

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.found if name == tag]


def pages(folder: Path) -> dict[Path, Page]:
    found = {}
    for path in sorted(folder.rglob("*.html")):
        text = path.read_text(encoding="utf-8")
        assert not re.search(r"https?:|url\(|@import|src=.//", text)
        page = found[path] = Page(text)
        links = [e["href"] for e in page.all("a") + page.all("link")]
        links += [e["src"] for e in page.all("img") + page.all("script")]
        links += [e["data-drawing"] for e in page.all("figure")]
        names = {e["id"] for e in page.all("figure") if "id" in e}
        assert {link[1:] for link in links if link[0] == "#"} <= names
        for link in links:
            assert (link and link[0] == "#") or (path.parent / unquote(link)).is_file(), link
        assert all(i["alt"] for i in page.all("img")) and all(t.get("scope") in ("col", "row") for t in page.all("th"))
        assert [t for t, _ in page.found].count("h1") == 1 and page.all("html") == [{"lang": "en"}]
    return found


def test_every_test_has_a_row_and_a_page_with_cause_and_pictures(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(ROOT)
    junit, sarif = str(tmp_path / "x.xml"), str(tmp_path / "x.sarif")
    folder = tmp_path / "report"
    tests = ["examples/lock.toml", "examples/pipeline.toml:unfenced", "litmus/library/locks/lock+cas.rlx+st.rel.litmus"]
    assert main(["check", *tests, "--junit", junit, "--sarif", sarif, "--html", str(folder)]) == 0
    log = capsys.readouterr().out
    found = pages(folder)
    index = found.pop(folder / "index.html")
    assert len(found) == 4 and len([1 for a in index.all("tr") if "data-verdict" in a]) == 4
    assert "4 tests under ptx-9.0" in index.text and "0 not as expected" in index.text and "4 tests under" in log
    weak = found[folder / "tests" / "lock.toml_weak-page.html"]
    assert "lock.cu:12: no release semantics" in weak.text and "lock.store(0, unlock);" in weak.text
    assert len(weak.all("img")) > 2 and "an execution that ends with counter[0]=" in weak.text
    assert all((folder / "pictures").iterdir()) and Path(junit).exists() and Path(sarif).exists()


def test_nothing_in_a_test_is_taken_for_a_page(tmp_path: Path) -> None:
    evil = "</title></pre></style><script>alert(1)</script>\" onload='x' &amp; \x1b[31m \udc80 ::error::"
    (tmp_path / "evil<b>'\".litmus").write_text(
        f"PTX {evil.partition(chr(27))[0]}\n{{ x=0; }}\n P0@cta 0,gpu 0 ;\n st.weak.u32 [x], 1 ;\nexists x = 2\n"
    )
    main(["check", str(tmp_path), "--html", str(tmp_path / "out")])
    report = HtmlReport(str(tmp_path / "more"), evil, unroll=4)
    report.begin([])
    assert "did not come to its end" in (tmp_path / "more" / "index.html").read_text()
    for verdict in ("no", "error", "undecided"):
        result = Result(
            path=evil,
            name=evil,
            model=evil,
            verdict=verdict,
            error=evil,
            states=[{evil: 1}],
            kind="exists",
            condition=evil,
        )
        report.add(Outcome(result, {"svg": ["<svg/>"]}))
    report.end(1.0, [])
    for folder, tests in (("out", 1), ("more", 3)):
        found = pages(tmp_path / folder)
        assert len(found) == tests + 1
        for path, page in found.items():
            scripts = [attributes["src"] for tag, attributes in page.found if tag == "script"]
            drawn = ["../figures.js"] if page.all("figure") else []
            assert scripts == (["report.js"] if path.name == "index.html" else drawn)
            assert not any(name.startswith("on") for _, attributes in page.found for name in attributes)
            assert "\x1b" not in page.text and (folder == "out" or "alert(1)" in page.text)


@pytest.mark.parametrize(
    ("name", "cause"),
    [
        ("44-cp-async-no-wait.toml:buggy", "an access that nothing orders with that of an asynchronous operation"),
        ("30-missing-syncwarp-reduction.toml:buggy", "does not hold: out[0] = "),
    ],
)
def test_what_is_not_well_says_why_though_it_was_expected(
    name: str, cause: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not (ROOT.parent / "shared" / "kernels").is_dir():
        pytest.skip("no ../shared")
    monkeypatch.chdir(ROOT)
    assert main(["check", f"tests/kernels/museum/{name}", "--html", str(tmp_path)]) == 0
    found = pages(tmp_path)
    assert cause in found.pop(tmp_path / "index.html").text
    (page,) = found.values()
    assert cause in page.text.partition("Cause")[2].partition("Everything")[0]
    assert ("nothing is promised of outcomes" in page.text) == name.startswith("44")


def test_a_comparison_has_a_row_for_each_test_and_a_page_where_models_differ(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    tests = [f"litmus/library/manual/{name}.litmus" for name in ("MP+rel+red-fence.acquire", "MP+fence.sys")]
    models = ["--model", "ptx-7.5", "--model", "ptx-9.0"]
    assert main(["compare", *models, *tests, "--html", str(tmp_path)]) == 1
    found = pages(tmp_path)
    rows = [row.get("data-verdict") for row in found.pop(tmp_path / "index.html").all("tr")]
    assert sorted(row for row in rows if row) == ["differ", "same"]
    (page,) = found.values()
    assert len(page.all("img")) == 2 and "ptx-9.0 allows, ptx-7.5 forbids" in page.text
    assert "red.sys.global.add.u32 [flag], 1" in page.text


def test_a_table_of_many_tests_is_small_and_its_rows_tell_what_filters_need(tmp_path: Path) -> None:
    report = HtmlReport(str(tmp_path), "ptx-9.0", unroll=4)
    report.begin([])
    for i in range(300):
        verdict = ("ok", "no", "undecided")[i % 3]
        report.add(Outcome(Result(path=f"{i}.litmus", name=f"t{i}", model="m", verdict=verdict, seconds=i / 7), {}))
    report.end(1.0, [])
    text = (tmp_path / "index.html").read_text()
    index = Page(text)
    rows = [row for row in index.all("tr") if "data-verdict" in row]
    assert len(rows) == 300 and len(text) < 200_000 and not index.all("img")
    assert {(row["data-verdict"], row["data-passed"]) for row in rows} == {
        ("ok", "good"),
        ("no", "bad"),
        ("undecided", "open"),
    }
    values = [float(cell["data-value"] or "") for cell in index.all("td") if "data-value" in cell]
    assert values == sorted(values) and len(values) == 300


def test_a_folder_that_cannot_be_made_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").write_text("")
    test = str(ROOT / "litmus/library/locks/lock+cas.rlx+st.rel.litmus")
    assert main(["check", test, "--html", str(tmp_path / "file")]) == 2
    assert "cannot write" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("verdict", "bounded_ok", "good"), [("bounded", True, "open"), ("undecided", False, "open"), ("ok", False, "good")]
)
def test_what_is_not_proven_is_not_green(tmp_path: Path, verdict: str, bounded_ok: bool, good: str) -> None:
    """Nor is the count of tests that are not as expected, while one is open."""
    result = Result(path="a.litmus", name="a", model="m", verdict=verdict, bounded_ok=bounded_ok)
    report = HtmlReport(str(tmp_path), "m", unroll=4)
    report.begin([])
    report.add(Outcome(result, {}))
    report.end(0.0, [])
    index, test = ((tmp_path / name).read_text(encoding="utf-8") for name in ("index.html", "tests/a-page.html"))
    assert f"<span class={good}>0 not as expected" in index
    for page in (index, test):
        assert f"<span class='verdict {good}'>{verdict}</span>" in page
