"""The documentation as a site: it is built without a warning, every link leads somewhere, nothing comes from elsewhere, and
tables and blocks of code are what they are in the documents."""

from __future__ import annotations

import os
import posixpath
import re
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass, field
from functools import cached_property
from html.parser import HTMLParser
from importlib import resources
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest

ROOT = Path(__file__).resolve().parents[2]
SITE = ROOT / "docs" / "site"


def hook() -> Any:
    """docs/site/pages.py, which MkDocs calls; it needs MkDocs only where that does."""
    spec = spec_from_file_location("pages", SITE / "pages.py")
    assert spec is not None and spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


pages = hook()
#: Each page of the site, and the text that it is made of.
PAGES = {path.relative_to(ROOT / "docs").as_posix(): path for path in (ROOT / "docs").rglob("*.md")}
PAGES |= {page: ROOT / path for path, page in pages.OUTSIDE.items()}


@dataclass
class Page(HTMLParser):
    """What is of interest in a page: `ids`, `links` (of `a`), `loaded` (what a browser fetches by itself), how many there are
    of each tag within the article, the text of its blocks of code, and what else is `shown` there."""

    ids: set[str] = field(default_factory=set)
    links: list[str] = field(default_factory=list)
    loaded: list[str] = field(default_factory=list)
    tags: Counter[str] = field(default_factory=Counter)
    code: list[str] = field(default_factory=list)
    shown: str = ""

    def __post_init__(self) -> None:
        super().__init__()
        self._article = self._pre = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.ids |= {given["id"] or ""} if "id" in given else set()
        if tag == "article":
            self._article = True
        if tag == "pre":
            self._pre = True
            self.code.append("")
        if self._article:
            self.tags[tag] += 1
        if tag == "a" and given.get("href"):
            self.links.append(given["href"] or "")
        wanted = given.get("src") or (given.get("href") if tag == "link" else None)
        if wanted:
            self.loaded.append(wanted)

    def handle_endtag(self, tag: str) -> None:
        self._article = self._article and tag != "article"
        self._pre = self._pre and tag != "pre"

    def handle_data(self, data: str) -> None:
        if self._article and not self._pre:
            self.shown += data
        if self._pre:
            self.code[-1] += data


@dataclass
class Built:
    folder: Path
    log: str

    @cached_property
    def pages(self) -> dict[str, Page]:
        found = {}
        for path in sorted(self.folder.rglob("*.html")):
            page = Page()
            page.feed(path.read_text(encoding="utf-8"))
            found[path.relative_to(self.folder).as_posix()] = page
        return found

    def of(self, page: str) -> Page:
        """The page that is made of a text."""
        html = posixpath.join(
            posixpath.dirname(page), re.sub(r"(^|/)README$", r"\1index", page[:-3]).rpartition("/")[2]
        )
        return self.pages[f"{html}.html"]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    pytest.importorskip("mkdocs", reason="mkdocs is not installed")
    pytest.importorskip("material", reason="mkdocs-material is not installed")
    folder = tmp_path_factory.mktemp("site")
    environment = {name: value for name, value in os.environ.items() if name != "REPOSITORY"}
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "-f", str(SITE / "mkdocs.yml"), "-d", str(folder)],
        env={**environment, "NO_MKDOCS_2_WARNING": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    return Built(folder, done.stdout)


@pytest.mark.long
def test_the_site_is_built_without_a_warning(built: Built) -> None:
    assert "WARNING" not in built.log and "ERROR" not in built.log
    assert "not included in the" not in built.log  # of pages that the navigation lacks


@pytest.mark.long
def test_every_document_is_a_page_and_every_page_leads_to_all_others(built: Built) -> None:
    assert len(PAGES) == len(built.pages) - 1 > 50  # 404.html is nobody's
    for page in PAGES:
        here = built.of(page)
        title = pages.title_of(page).replace("`", "")
        assert title in here.shown, page
    index = built.of("README.md")
    named = {target.partition("#")[0] for target in index.links}
    assert [page for page in built.pages if page not in named and page != "404.html"] == []


@pytest.mark.long
def test_every_link_of_the_site_leads_somewhere(built: Built) -> None:
    looked = 0
    for name, page in built.pages.items():
        if name == "404.html":  # of absolute links, for a server
            continue
        for target in [*page.links, *page.loaded]:
            path, _, anchor = unquote(target).partition("#")
            if re.match(r"\w+:|//", target):
                continue
            there = posixpath.normpath(posixpath.join(posixpath.dirname(name), path)) if path else name
            looked += 1
            assert (built.folder / there).is_file() or (built.folder / there / "index.html").is_file(), (
                f"{name}: {target}"
            )
            if anchor and there in built.pages:
                assert anchor in built.pages[there].ids or anchor == "__", f"{name}: {target}"
    assert looked > 3000


@pytest.mark.long
def test_nothing_is_loaded_from_elsewhere(built: Built) -> None:
    for name, page in built.pages.items():
        assert [target for target in page.loaded if re.match(r"(https?:)?//", target)] == [], name
    sheets = [path.read_text(encoding="utf-8") for path in built.folder.rglob("*.css")]
    assert sheets and not any(re.search(r"@import|url\(['\"]?(https?:)?//", sheet) for sheet in sheets)


@pytest.mark.long
def test_tables_and_blocks_of_code_stand_on_the_site_as_in_the_documents(built: Built) -> None:
    """Markdown of another kind would make paragraphs of them."""
    counted: Counter[str] = Counter()
    for page, path in PAGES.items():
        text, here = path.read_text(encoding="utf-8"), built.of(page)
        bodies = [_words(found["body"]) for found in pages._FENCE.finditer(text) if not found["in"]]
        code = {_words(block) for block in here.code}
        assert [body for body in bodies if body not in code] == [], page
        prose = pages._FENCE.sub("", text)
        tables = len(re.findall(r"^ {0,3}\|(?: *:?-+:? *\|)+ *$", prose, re.MULTILINE))
        assert here.tags["table"] == tables, page
        assert here.tags["img"] == len(re.findall(r"!\[[^\]]*\]\(", prose)), page
        assert "](" not in here.shown and "\\|" not in here.shown, page
        counted += Counter(blocks=len(bodies), tables=tables)
    assert counted["blocks"] > 200 and counted["tables"] > 100


@pytest.mark.long
def test_a_page_is_read_searched_and_turned_dark_and_light_from_disk(built: Built, browser: Any) -> None:
    page = browser.new_page(color_scheme="dark", viewport={"width": 1300, "height": 900})
    wrong: list[str] = []
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("request", lambda request: None if request.url.startswith("file:") else wrong.append(request.url))
    page.on("requestfailed", lambda request: wrong.append(request.url))
    page.goto((built.folder / "axioms" / "coherence.html").as_uri())
    scheme = "() => document.body.dataset.mdColorScheme"
    paper = "() => getComputedStyle(document.body).backgroundColor"
    pictured = "() => getComputedStyle(document.querySelector('article img')).colorScheme"
    dark = page.evaluate(paper)
    assert page.evaluate("() => document.querySelector('article img').naturalWidth") > 100
    assert (page.evaluate(scheme), page.evaluate(pictured)) == ("slate", "dark")
    page.locator("label[for^=__palette]:visible").click()
    page.wait_for_function("() => document.body.dataset.mdColorScheme == 'default'")
    assert page.evaluate(pictured) == "light" and page.evaluate(paper) != dark
    page.locator("input.md-search__input").click()
    page.wait_for_function("() => !/Initializing/.test(document.querySelector('.md-search-result__meta').textContent)")
    page.locator("input.md-search__input").press_sequentially("proxy fence")
    page.locator(".md-search-result__item a").first.wait_for(state="visible")
    page.locator(".md-search-result__item a").first.click()
    page.wait_for_url(lambda url: "coherence" not in url)
    assert wrong == []


@pytest.mark.long
def test_nothing_serious_is_in_the_way_of_who_reads_by_other_means(built: Built, browser: Any) -> None:
    pytest.importorskip("axe_playwright_python", reason="no axe-playwright-python, which carries axe-core")
    axe = (resources.files("axe_playwright_python") / "axe.min.js").read_text(encoding="utf-8")
    for scheme in ("light", "dark"):
        page = browser.new_page(color_scheme=scheme)
        for name in ("index.html", "mistakes/lock-no-fences.html", "axioms/coherence.html", "cli.html"):
            page.goto((built.folder / name).as_uri())
            page.evaluate(axe)
            found = page.evaluate("axe.run()")["violations"]
            assert [v["id"] for v in found if v["impact"] in ("serious", "critical")] == [], f"{name}, {scheme}"


def _words(text: str) -> str:
    return " ".join(text.split())


# What the hook does with links.


def test_links_lead_to_pages_to_files_of_docs_or_are_text() -> None:
    text = (
        "[a](models.md#the-axioms), [b](../README.md), [`c`](../ptxmm/api.py), [d](grammars/ptx.lark),\n"
        "[e](https://x.org/y.md), [f](#here), [CHANGELOG.md](../CHANGELOG.md), `[h](../README.md)`, [cat.md](cat.md#x)\n"
        "| `a\\|b` \\| c | [cat.md](cat.md#x) |\n"
        "```text file=x.litmus\n[i](../README.md)\n```\n"
    )
    assert pages.for_the_site(text, "cat.md") == (
        "[a](models.md#the-axioms), [b](start.md), `c`, [d](files/docs/grammars/ptx.lark.txt),\n"
        "[e](https://x.org/y.md), [f](#here), [CHANGELOG.md](changelog.md), `[h](../README.md)`, [cat.md](cat.md#x)\n"
        "| `a|b` \\| c | [The cat language](cat.md#x) |\n"
        '```text title="x.litmus"\n[i](../README.md)\n```\n'
    )
    assert pages.for_the_site(
        "[x](../../README.md), [y](../../ptxmm/api.py#L3)", "axioms/README.md", "https://h/o/r"
    ) == ("[x](../start.md), [y](https://h/o/r/blob/main/ptxmm/api.py#L3)")
    assert pages.for_the_site("[docs](docs/README.md#x)", "start.md") == "[docs](README.md#x)"


def test_a_link_to_what_is_not_there_is_left_for_mkdocs_to_refuse() -> None:
    for broken in ("[a](no-such-page.md)", "[a](../no/such.py)", "[a](../../elsewhere)"):
        assert pages.for_the_site(broken, "cat.md", "https://h/o/r") == broken


def test_anchors_are_those_of_github() -> None:
    assert [pages.slug(title) for title in ("ptxmm.check", "`init`, and more", "A & B", "8.7.1: x_y")] == [
        "ptxmmcheck",
        "init-and-more",
        "a--b",
        "871-x_y",
    ]


def test_the_navigation_is_the_index() -> None:
    first, second, *groups = pages.navigation()
    assert (first, second) == ("README.md", {"Start": "start.md"})
    index = (ROOT / "docs" / "README.md").read_text(encoding="utf-8")
    sections = re.findall(r"^## (.*)$", index, re.MULTILINE)
    assert len(sections) >= 3 and [title for group in groups for title in group][-len(sections) :] == sections

    def flat(entry: Any) -> list[str]:
        values = entry.values() if isinstance(entry, dict) else entry
        return [entry] if isinstance(entry, str) else [page for value in values for page in flat(value)]

    assert sorted(flat([first, second, *groups])) == sorted(PAGES)
