"""The pages of docs/ that are made as a whole: one for each axiom of the model, one for each common mistake.

A page of an axiom has its text, its section of the manual, and the smallest test of the library that needs it, which is
searched for. A page of a mistake comes from a folder of docs/mistakes: two sources, what nvcc made of them, and a kernel test
whose first comments say what is wrong. What commands print is written into the pages as into all others (`doc_blocks`).

Run as a script, this file searches, and writes all these pages anew, or those named (`coherence`, `lock-no-fences`).
"""

from __future__ import annotations

import difflib
import re
import sys
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

import doc_blocks
from doc_blocks import ROOT

MODEL = "ptx-9.0"
AXIOMS = ROOT / "docs" / "axioms"
MISTAKES = ROOT / "docs" / "mistakes"
MUSEUM = "tests/kernels/museum"
LIBRARY = "litmus/library"
_PICTURE = re.compile(r"\]\((pictures/[^)]+)\)")


def skeleton(text: str) -> str:
    """A page without what its commands print."""
    pieces, at = [], 0
    for block in doc_blocks.blocks(text):
        if block.language == "console":
            commands = "".join(line for line in block.body.splitlines(keepends=True) if line.startswith("$ "))
            pieces += [text[at : block.start], commands]
            at = block.start + len(block.body)
    return "".join([*pieces, text[at:]])


def console(*commands: str) -> str:
    return "\n".join(["```console", *(f"$ {command}" for command in commands), "```"])


# Axioms.


def axioms() -> list[str]:
    """The axioms of the model, by name, in the order of its file."""
    from ptxmm.api import model_named

    return list(dict.fromkeys(axiom.name for axiom in model_named(MODEL).axioms))


class Needed(NamedTuple):
    """A test of the library that an axiom is needed for: its path there, without the ending, and the picture that shows it."""

    test: str
    picture: str


def needing(axiom: str) -> Needed:
    """The smallest test of the library whose verdict is another one without the axiom; of several of one size the one with the
    fewest threads, and of these the shortest."""
    from litmus.test import Test
    from ptxmm.comparing.comparison import columns_for
    from ptxmm.comparing.finding import DifferenceSearch, library
    from ptxmm.comparing.reasons import reasons

    search = DifferenceSearch(columns_for((MODEL, f"{MODEL}/-{axiom}")), library(), most=10**6)
    best: tuple[tuple[int, int], Needed] | None = None
    for found in search:
        case, test = found.row.case, found.row.case.load()
        assert isinstance(test, Test)
        key = (case.size, len(test.threads))
        if best is not None and case.size > best[0][0]:
            break
        if found.difference.one.verdict == found.difference.other.verdict or (best is not None and best[0] <= key):
            continue
        path = Path(str(case.item)).resolve().relative_to(ROOT / LIBRARY).with_suffix("").as_posix()
        (reason, *_) = reasons(test, found.difference)
        by = (
            f"forbidden-by-{MODEL}"
            if reason.axioms == (axiom,)
            else f"allowed-by-{MODEL}_-{axiom}"
            if reason.state
            else "0"
        )
        best = key, Needed(path, f"pictures/{axiom}/{test.name}-{by}.svg")
    assert not any(search.open.values()), "some tests are not settled"
    assert best is not None, f"no test of the library needs {axiom}"
    return best[1]


def in_cat(axiom: str) -> tuple[str, list[str]]:
    """The text of an axiom with the definitions that it names, as they stand in the model; and the base names in all that."""
    import coverage_map

    from axioms.cat.names import BASE
    from axioms.models import text_of

    text, clauses = text_of(MODEL), coverage_map.clauses()
    own = {name: c for name, c in clauses.items() if name.split()[0] == axiom}
    named = {word for c in own.values() for word in _words(text[c.start : c.end])} - {axiom}
    shown = {name: text[c.start : c.end] for name, c in clauses.items() if name in own or name in named}
    pieces = [
        piece for name, piece in shown.items() if name in own or not piece.startswith("flag")
    ]  # a flag defines nothing
    words = {word for piece in pieces for word in _words(piece)}
    return "\n".join(pieces), [name for name in BASE if name in words]


def _words(text: str) -> list[str]:
    return re.findall(r"[\w-]+", text)


def axiom_page(axiom: str, needed: Needed) -> str:
    """The page of an axiom, with the test that needs it."""
    from axioms.cat.names import BASE
    from ptxmm.topics import title_of
    from ptxmm.words.why import SECTIONS

    written, base = in_cat(axiom)
    says = title_of(axiom).removeprefix("an axiom: ")
    parts = [
        f"# The axiom {axiom}",
        f"{says[0].upper()}{says[1:]}. PTX ISA 9.0, section {SECTIONS[axiom]}.",
        in_words(axiom),
        "## In the model",
        f"```cat\n{written}\n```",
        "\n".join(["| Name | What it is |", "|---|---|", *(f"| `{name}` | {BASE[name].meaning} |" for name in base)]),
        "Names that are not in this table are definitions of the model: see [its text](../../axioms/models/ptx-9.0.cat) and "
        "[what each clause means](../model.md).",
        *_needed(axiom, needed),
        *([_NOTES[axiom]] if axiom in _NOTES else []),
        "## More",
        f"- `ptxmm explain {axiom}`\n"
        f"- [the smallest test of all](../model-differences.md#{axiom}), also of cycles, with nothing in it to spare\n"
        "- [the other axioms](README.md)",
    ]
    return "\n\n".join(parts) + "\n"


def in_words(axiom: str) -> str:
    """What `ptxmm explain` says of an axiom, before its examples."""
    from ptxmm.topics import text_of

    prose = text_of(axiom).partition("\n\n")[2].partition("\n\n```")[0]
    return re.sub(r"(?<=\.)\s[^.]*:$", "", prose)  # not the sentence that leads to an example


#: What a reader of a page asks next.
_NOTES = {
    "fence-sc": (
        "Why no fence.sc stands in this test: of programs without restricted fences the axiom says nothing that the others "
        "do not say together. The proof is on [the page of what models differ in](../model-differences.md#fence-sc)."
    )
}


def _needed(axiom: str, needed: Needed) -> Iterator[str]:
    less = f"{MODEL}/-{axiom}"
    yield "## The smallest test of the library that needs it"
    yield console(f"ptxmm library {needed.test}")
    yield f"Its answers with the axiom and without it (`{less}`):"
    yield console(f"ptxmm compare --svg pictures/{axiom} --model {MODEL} --model {less} {LIBRARY}/{needed.test}.litmus")
    if "-forbidden-by-" in needed.picture:
        yield "The execution that the axiom forbids. What goes against it stands out:"
    elif "-allowed-by-" in needed.picture:
        yield "The outcome needs an execution that breaks one axiom or another. This is one that only this axiom forbids:"
    else:
        yield "Without the axiom nothing ends otherwise, but the program has no meaning. An execution as it is with the axiom:"
        yield console(f"ptxmm check library:{needed.test} --svg pictures/{axiom}")
    yield f"![An execution of {needed.test}]({needed.picture})"


def recorded(axiom: str) -> Needed:
    """What the page of an axiom names as the smallest test that needs it, with its picture."""
    text = (AXIOMS / f"{axiom}.md").read_text(encoding="utf-8")
    found = re.search(rf"^\$ ptxmm compare --svg .* {LIBRARY}/(\S+)\.litmus$", text, re.MULTILINE)
    assert found is not None, f"the page of {axiom} names no test"
    return Needed(found[1], _PICTURE.findall(text)[0])


def table_of_axioms() -> str:
    from ptxmm.topics import title_of
    from ptxmm.words.why import SECTIONS

    lines = ["| Axiom | It says | Manual | Smallest test of the library that needs it |", "|---|---|---|---|"]
    for axiom in axioms():
        test = recorded(axiom).test
        shown = f"[{test}](../../{LIBRARY}/{test}.litmus)"
        lines.append(
            f"| [{axiom}]({axiom}.md) | {title_of(axiom).removeprefix('an axiom: ')} | {SECTIONS[axiom]} | {shown} |"
        )
    return "\n".join(lines) + "\n"


# Mistakes.


class Mistake(NamedTuple):
    """What the first comments of a kernel test say: a title, what is `wrong`, what is `right`, where such a thing was `seen`,
    and the name of the kernel of the `museum`."""

    name: str
    title: str
    wrong: str
    right: str
    seen: str
    museum: str


@cache
def mistakes() -> dict[str, Mistake]:
    return {path.parent.name: _mistake(path) for path in sorted(MISTAKES.glob("*/*.toml"))}


def _mistake(path: Path) -> Mistake:
    head = path.read_text(encoding="utf-8").partition("\n\n")[0]
    title, *others = (" ".join(p.replace("\n# ", " ").split()) for p in head.removeprefix("# ").split("\n#\n# "))
    said = dict(other.split(": ", 1) for other in others)
    assert list(said) == ["wrong", "right", "seen", "museum"], (
        f"{path}: the first comments are wrong, right, seen, museum"
    )
    return Mistake(path.parent.name, title, **said)


def mistake_page(mistake: Mistake, drawn: Drawn) -> str:
    folder = MISTAKES / mistake.name
    wrong, right = ((folder / f"{name}.cu").read_text(encoding="utf-8") for name in ("wrong", "right"))
    changed = difflib.unified_diff(wrong.splitlines(), right.splitlines(), "wrong.cu", "right.cu", lineterm="")
    test = f"{mistake.name}.toml"
    parts = [
        f"# {mistake.title}",
        mistake.wrong,
        f"Seen in: {mistake.seen}.",
        "## The kernel",
        f"```cuda\n{wrong}```",
        "## What ptxmm says",
        f"This kernel is [wrong.cu]({mistake.name}/wrong.cu), the right one [right.cu]({mistake.name}/right.cu), "
        f"and [{test}]({mistake.name}/{test}) is the test of both, with what nvcc makes of them.",
        console(f"cp docs/mistakes/{mistake.name}/* .", f"ptxmm check {test}:wrong --svg pictures"),
        *(part for picture in drawn.pictures for part in _shown(picture, drawn.meaningless)),
        "## The fix",
        mistake.right,
        "```diff\n" + "\n".join(changed) + "\n```",
        console(f"ptxmm check {test}:right"),
        f"The same mistake as in the kernel of [{mistake.museum}](../../{MUSEUM}/{mistake.museum}.toml). "
        "[Other mistakes](README.md).",
    ]
    return "\n\n".join(parts) + "\n"


class Drawn(NamedTuple):
    """The pictures that show a mistake, and whether the manual gives the program no meaning."""

    pictures: list[str]
    meaningless: bool


def drawn(name: str) -> Drawn:
    """The pictures that show a mistake, as `ptxmm check --svg` calls them: the first race, if there is one, and an outcome that
    should not be, or the execution in which the program has no meaning."""
    import ptxmm

    result = ptxmm.check(ptxmm.load(MISTAKES / name / f"{name}.toml:wrong"))
    number = 0 if result.verdict == "undefined" else list(result.satisfied).index(False)
    races = ["race-0"] if result.race_witnesses else []
    pictures = [f"pictures/{name}.toml_wrong-{which}.svg" for which in (*races, number)]
    return Drawn(pictures, result.verdict == "undefined")


def pictured(name: str) -> Drawn:
    """The pictures that the page of a mistake has, and the verdict that it shows."""
    text = (MISTAKES / f"{name}.md").read_text(encoding="utf-8")
    return Drawn(_PICTURE.findall(text), f"\nundefined  {name}.toml:wrong " in text)


def _shown(picture: str, meaningless: bool) -> Iterator[str]:
    race = "-race-" in picture
    other = "One of its executions. Whatever it ends with, the manual promises nothing of it:" if meaningless else ""
    yield "Two accesses that nothing orders:" if race else other or "An execution that goes wrong:"
    yield f"![{'A race' if race else 'An execution that shows the mistake'}]({picture})"


def table_of_mistakes() -> str:
    lines = ["| Mistake | What mends it |", "|---|---|"]
    lines += [f"| [{m.title}]({name}.md) | {m.right} |" for name, m in mistakes().items()]
    return "\n".join(lines) + "\n"


# Writing the pages.


def pages() -> dict[Path, str]:
    """All these pages without what their commands print, with the tests and pictures that they have now."""
    made = {AXIOMS / f"{axiom}.md": axiom_page(axiom, recorded(axiom)) for axiom in axioms()}
    return made | {MISTAKES / f"{name}.md": mistake_page(m, pictured(name)) for name, m in mistakes().items()}


def main(names: Sequence[str]) -> None:
    import warm

    with warm.commands() as scripts:
        for axiom in (a for a in axioms() if not names or a in names):
            _write(AXIOMS / f"{axiom}.md", axiom_page(axiom, needing(axiom)), scripts)
        for name in (m for m in mistakes() if not names or m in names):
            _write(MISTAKES / f"{name}.md", mistake_page(mistakes()[name], drawn(name)), scripts)
        for folder in (AXIOMS, MISTAKES):
            doc_blocks.renew(folder / "README.md", scripts)
            for picture in set((folder / "pictures").rglob("*.svg")) - pictures_of(folder):
                picture.unlink()


def pictures_of(folder: Path) -> set[Path]:
    """The pictures that the pages of a folder show."""
    return {folder / p for page in folder.glob("*.md") for p in _PICTURE.findall(page.read_text(encoding="utf-8"))}


def _write(path: Path, text: str, scripts: Path) -> None:
    if not path.exists() or skeleton(path.read_text(encoding="utf-8")) != text:
        path.write_text(text, encoding="utf-8")
    doc_blocks.renew(path, scripts)


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    main(sys.argv[1:])
