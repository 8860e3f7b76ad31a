"""Of each clause about order in sections 9.7.15 (`wgmma`) and 9.7.16 (`tcgen05`): the kernel of the library that does what
it asks for, and those that do not; and the sentences of these sections that have no kernel, with the reason."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import NamedTuple

from litmus.library import kernels

MANUAL = Path(__file__).parents[3] / "shared" / "manual" / "ptx-isa-9.0.txt"
_SECTION = re.compile(r"PTX ISA 9\.0, section (?P<section>[\d.]+\d): (?P<words>.+)\.")
_TEST = re.compile(
    r"^// ptxmm: name=(?P<name>\S+)(?:.*? expect=(?P<expect>\w+))?(?:.*? description=\"(?P<what>[^\"]+)\")?",
    re.MULTILINE,
)


class Clause(NamedTuple):
    """`says`: words of the manual from which the verdicts follow, in `quotes` with `[...]` for what is left out; `tests`: by
    name the verdict, and what is not as the clause asks."""

    path: str
    name: str
    folder: str
    about: str
    section: str
    quotes: tuple[str, ...]
    tests: dict[str, tuple[str, str]]

    @property
    def says(self) -> list[str]:
        return [plain(words) for quote in self.quotes for words in quote.split("[...]")]


@cache
def clauses() -> tuple[Clause, ...]:
    return tuple(map(_of, kernels()))


def _of(path: str) -> Clause:
    text = Path(path).read_text(encoding="utf-8")
    about, head = text[: text.index(".version")].split("\n", 1)
    found = _SECTION.fullmatch(" ".join(line.lstrip("/ ") for line in head.splitlines()))
    assert found is not None, f"{path}: its second line has section and words of the manual"
    tests = {t["name"]: (t["expect"] or "ok", t["what"] or "") for t in _TEST.finditer(text)}
    words = tuple(re.findall(r'"([^"]+)"', found["words"]))
    return Clause(path, Path(path).stem, Path(path).parent.name, about.lstrip("/ "), found["section"], words, tests)


def table(folder: str) -> str:
    """The clauses of a folder, as a table of a document."""
    rows = ["| Section | Words of the manual | Test | Wrong |", "|---|---|---|---|"]
    for clause in sorted((c for c in clauses() if c.folder == folder), key=lambda c: (_numbers(c.section), c.name)):
        words = "; ".join(f'"{plain(w)}"' for w in clause.quotes)
        wrong = "; ".join(f"{what} `{verdict}`" for verdict, what in clause.tests.values() if what)
        link = f"[{clause.name}](../litmus/library/{folder}/{clause.name}.ptx)"
        rows.append(f"| {clause.section} | {words} | {link} | {wrong} |")
    return "\n".join(rows) + "\n"


def _numbers(section: str) -> list[int]:
    return [int(part) for part in section.split(".")]


def plain(words: str) -> str:
    """Words as one line without marks, and instructions by the names that they have."""
    return re.sub(r"\bwmma\b", "wgmma", " ".join(words.replace("`", "").replace("*", "").split()))


def sentences(section: str) -> list[str]:
    """The sentences of a section of the manual, without its examples, and without those of the sections below it."""
    text = MANUAL.read_text(encoding="utf-8")
    at = re.search(rf"^{re.escape(section)}\.? \S", text, re.MULTILINE)
    assert at is not None, section
    end = re.compile(r"^9\.7\.\d+(?:\.\d+)*\.? \S|^PTX ISA Notes|^8\.\d[\d.]* ", re.MULTILINE).search(text, at.end())
    assert end is not None, section
    body = re.sub(r"```.*?```", "\n\n", text[at.end() : end.start()].partition("\n")[2], flags=re.DOTALL)
    body = re.split(r"^Syntax$", body, flags=re.MULTILINE)
    body = [body[0], body[1].partition("Description")[2]] if len(body) > 1 else body
    found = []
    for paragraph in re.split(r"\n\s*\n|\n(?=\d+\. |- ▶|▶)", "\n\n".join(body)):
        if "\t" in paragraph or "<pre>" in paragraph or plain(paragraph).startswith("Table "):
            continue  # rows of tables, of which the sentences around them tell
        found += [plain(s) for s in re.split(r"(?<=[a-z`)])\.(?=\s|$)", paragraph)]
    return [s for s in found if len(s.split()) > 1]


#: The sections whose sentences are held to the library.
ABOUT_ORDER = (
    "9.7.15.4", "9.7.15.7.1", "9.7.15.7.2", "9.7.15.7.3", "9.7.16.5", "9.7.16.5.1", "9.7.16.5.2", "9.7.16.6", "9.7.16.6.1",
    "9.7.16.6.2", "9.7.16.6.2.1", "9.7.16.6.2.2", "9.7.16.6.2.3", "9.7.16.6.3", "9.7.16.6.4", "9.7.16.6.4.1", "9.7.16.6.4.2",
    "9.7.16.6.4.3", "9.7.16.6.4.4", "9.7.16.6.4.5", "9.7.16.6.5",
)  # fmt: skip

#: Sentences that no kernel quotes, by how they begin: who holds what they say, or that they say nothing of order.
QUOTED_BY_NONE = {
    "Enforce an ordering of register accesses": "a title: the description below it is quoted",
    "Commits all prior uncommitted": "a title: the description below it is quoted",
    "Signal the completion of a preceding": "a title: the description below it is quoted",
    "The mandatory .sync qualifier": "who waits for whom: tests/ptxcore/machine/run/test_wgmma.py",
    "Operand N is an integer constant": "what may be written: ptxcore checks it",
    "Each of the tcgen05 operation has different": "leads over to table 48",
    "continues on next page": "no sentence",
    "Any 2 CTAs within the cluster": "a definition: tests/tensors/test_tensor_pairs.py",
    "- ▶ 0 is termed": "a definition",
    "- ▶ 1 is termed": "a definition",
    "Most of the tcgen05 operations can either": "leads over to what is accessed, which is quoted",
    "The set of threads that need to issue": "a reference",
    "The peer CTA of the odd CTA": "a definition: tests/tensors/test_tensor_pairs.py",
    "Similarly, the peer CTA of the even CTA": "a definition: tests/tensors/test_tensor_pairs.py",
    "The tcgen05 instructions support a specialized": "leads over to the fences, which are quoted",
    "The TensorCore 5th Generation Specialized": "a reference",
    "These concepts combine to form": "leads over to the patterns, which are quoted",
}
#: What leads over to a list, the number of an example, and an entry of a list that names an instruction or a heading.
LEADS_OVER = re.compile(r".*:|\d+\. .{,80}")
