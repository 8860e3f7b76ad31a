"""Makes the site of the pages that there are: a hook of MkDocs, see mkdocs.yml.

The index, docs/README.md, is the navigation: each of its sections, with the pages that its table names; the README.md of a
folder names the pages of the folder. A link leads to a page, to another file of docs/, to a copy of a model or a test, or to a
file of the repository: the latter is text on the site, unless `REPOSITORY` in the environment says where the repository is to
be read.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
DOCS = "docs"
#: The page on which to begin, whose own title is the project's name.
START = "start.md"
#: Pages that stand outside of docs/, and what they are called on the site.
OUTSIDE = {
    "README.md": START,
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "tests/kernels/gate/README.md": "gate.md",
}
#: Files that pages link to and people read: models, tests, kernels. The site has copies, as text that browsers show.
SHOWN = (
    "axioms/models/*.cat",
    "litmus/library/*/*.litmus",
    "examples/*.*",
    "docs/grammars/*.lark",
    "docs/mistakes/*/*.cu",
    "docs/mistakes/*/*.toml",
)
COPIES = {path.relative_to(ROOT).as_posix() for pattern in SHOWN for path in ROOT.glob(pattern)}
_INSIDE = {there: here for here, there in OUTSIDE.items()}
_FENCE = re.compile(
    r"^(?P<in>[ \t]*)(?P<marks>```+)(?P<info>[^\n`]*)\n(?P<body>.*?)^(?P=in)(?P=marks)[ \t]*$", re.M | re.S
)
#: A span of code, which is left alone, or a link or a picture.
_LINK = re.compile(r"(`+)(?!`).*?(?<!`)\1(?!`)|\[(?P<text>(?:`[^`]*`|[^\[\]`])*)\]\((?P<target>[^()\s]+)\)", re.S)
_ROW = re.compile(r"^ {0,3}\|.*$", re.M)
_SPAN = re.compile(r"(`+)(?!`).*?(?<!`)\1(?!`)")
_HEADING = re.compile(r"^(#+) +(.*?) *#*$", re.M)


def repository_path(page: str) -> str:
    """Where the text of a page of the site lies in the repository."""
    return _INSIDE.get(page, f"{DOCS}/{page}")


def site_path(path: str) -> str | None:
    """What a file of the repository is called on the site; None if it is not there."""
    inside = path.removeprefix(f"{DOCS}/")
    on_the_site = inside != path and not inside.startswith("site/") and (ROOT / path).is_file()
    return OUTSIDE.get(path) or (f"files/{path}.txt" if path in COPIES else inside if on_the_site else None)


def slug(heading: str, separator: str = "-") -> str:
    """A heading's anchor, as GitHub makes it."""
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", separator)


def changed_outside_of_code(text: str, change: Callable[[str], str]) -> str:
    """A page with something done to all of it but its blocks of code, whose first lines become what the extension reads."""
    pieces, at = [], 0
    for fence in _FENCE.finditer(text):
        pieces += [change(text[at : fence.start()]), _shown(fence)]
        at = fence.end()
    return "".join([*pieces, change(text[at:])])


def _shown(fence: re.Match[str]) -> str:
    """A block of code: the file that it is kept as is its title."""
    language, _, rest = fence["info"].partition(" ")
    file = re.search(r"\bfile=(\S+)", rest)
    title = f' title="{file[1]}"' if file else ""
    return f"{fence['in']}{fence['marks']}{language.strip() or 'text'}{title}\n{fence['body']}{fence['in']}{fence['marks']}"


def for_the_site(text: str, page: str, repository: str = "") -> str:
    """The text of a page, with links that lead where they should on the site. One in a table that says only what file it
    leads to says the title of that page. A link to what is not there stays as it is, for MkDocs to find."""
    folder = posixpath.dirname(repository_path(page))

    def link(found: re.Match[str]) -> str:
        target, _, anchor = (found["target"] or "").partition("#")
        if not target or ":" in target:
            return found[0]
        path = posixpath.normpath(posixpath.join(folder, target))
        there = site_path(path)
        behind = f"#{anchor}" if anchor and path not in COPIES else ""
        if there is not None:
            relative = posixpath.relpath(there, posixpath.dirname(page) or ".")
            in_a_row = found.string[found.string.rfind("\n", 0, found.start()) + 1 :].startswith("|")
            own = posixpath.basename(posixpath.dirname(path) if path.endswith("/README.md") else path)
            named = in_a_row and found["text"] == own and path.endswith(".md")
            return f"[{title_of(there) if named else found['text']}]({relative}{behind})"
        if path.startswith("..") or not (ROOT / path).exists():
            return found[0]
        if repository:
            return f"[{found['text']}]({repository.rstrip('/')}/blob/main/{path}{behind})"
        return found["text"]

    return changed_outside_of_code(text, lambda part: _ROW.sub(_pipes, _LINK.sub(link, part)))


def _pipes(row: re.Match[str]) -> str:
    """The row of a table: in code, Python-Markdown takes a pipe as it is, which GitHub wants escaped."""
    return _SPAN.sub(lambda span: span[0].replace("\\|", "|"), row[0])


def title_of(page: str) -> str:
    found = _HEADING.search((ROOT / repository_path(page)).read_text(encoding="utf-8"))
    assert found is not None, f"{page} has no heading"
    return found[2]


def navigation() -> list[Any]:
    """The index, as MkDocs takes it: what stands before its first section, and a group for each section."""
    index = (ROOT / DOCS / "README.md").read_text(encoding="utf-8")
    before, *sections = re.split(r"^## +", index, flags=re.M)
    nav: list[Any] = ["README.md", *({"Start": page} if page == START else page for page in _named(before))]
    for section in sections:
        title, _, rest = section.partition("\n")
        nav.append({title.strip(): _named(rest)})
    return nav


def _named(text: str, folder: str = "") -> list[Any]:
    """The pages that a part of the index of a `folder` links to, in its order; behind the index of another folder its pages."""
    pages: list[Any] = []
    for found in _LINK.finditer(text):
        path = posixpath.normpath(posixpath.join(DOCS, folder, (found["target"] or ":").partition("#")[0]))
        page = site_path(path)
        if page is None or not page.endswith(".md") or page in pages:
            continue
        below = posixpath.dirname(page)
        if below == folder:
            pages.append(page)
        elif posixpath.basename(page) == "README.md" and posixpath.dirname(below) == folder:
            inner = (ROOT / path).read_text(encoding="utf-8")
            pages.append({title_of(page): [page, *(p for p in _named(inner, below) if p != page)]})
    return pages


# What MkDocs calls.


def on_config(config: Any, **_: Any) -> Any:
    config.nav = navigation()
    config.mdx_configs.setdefault("toc", {})["slugify"] = slug
    return config


def on_files(files: Any, config: Any, **_: Any) -> Any:
    from mkdocs.structure.files import File

    for path, page in OUTSIDE.items():
        files.append(File.generated(config, page, abs_src_path=str(ROOT / path)))
    for path in sorted(COPIES):
        files.append(File.generated(config, f"files/{path}.txt", abs_src_path=str(ROOT / path)))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, **_: Any) -> str:
    return for_the_site(markdown, page.file.src_uri, config.repo_url or "")


def on_post_build(config: Any, **_: Any) -> None:
    """What the search reads where pages are opened from disk: the same as a script."""
    folder = Path(config.site_dir) / "search"
    index = (folder / "search_index.json").read_text(encoding="utf-8")
    (folder / "search_index.js").write_text(f"var __index = {index}", encoding="utf-8")
