"""The table of docs/model-differences.md: the smallest test that tells two models apart, of the models that ship, of each
reading of 9.0, and of 9.0 less each axiom. Run as a script, this file searches and writes the table; that takes minutes."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[3]
PAGE = ROOT / "docs" / "model-differences.md"
MODEL = "ptx-9.0"
_TABLE = re.compile(r"(?<=<!-- told-apart: recorded -->\n).*?(?=<!-- end -->)", re.DOTALL)
_ROW = re.compile(
    r"\| `(?P<one>[^`]+)` \| `(?P<other>[^`]+)` \| "
    r"(?:\[(?P<name>[^\]]+)\]\((?P<path>[^)]+)\)|(?P<cycle_name>[^|`]+) `(?P<cycle>[^`]+)`|none) \| "
    r"(?P<size>\d+) \| (?P<count>\d+) \| (?P<alike>\d+) \|"
)
_HEAD = "| Models | | Smallest test | Size | Looked at | of which are alike |\n|---|---|---|---|---|---|\n"


class Row(NamedTuple):
    """What a search came to: the test's `name`, its `path` where it ships, else its `cycle`; neither where none was found, then
    `size` is the largest that was looked at among cycles. `count` tests were looked at, `alike` of them without deciding."""

    one: str
    other: str
    name: str
    path: str
    cycle: str
    size: int
    count: int
    alike: int

    def __str__(self) -> str:
        shown = f"[{self.name}]({self.path})" if self.path else f"{self.name} `{self.cycle}`" if self.cycle else "none"
        return f"| `{self.one}` | `{self.other}` | {shown} | {self.size} | {self.count} | {self.alike} |"


def pairs() -> list[tuple[str, str]]:
    """What is told apart: the models that ship, the readings of 9.0, and 9.0 less each of its axioms."""
    from axioms.models.options import OF_LAUNCHES, OPTIONS
    from ptxmm.api import model_named

    shipped = [("ptx-6.0", "ptx-7.5"), ("ptx-6.0", MODEL), ("ptx-7.5", MODEL)]
    readings = [(MODEL, f"{MODEL} --{option.replace('=', ' ')}") for option in OPTIONS if option not in OF_LAUNCHES]
    axioms = dict.fromkeys(axiom.name for axiom in model_named(MODEL).axioms)
    return [*shipped, *readings, *((MODEL, f"{MODEL}/-{axiom}") for axiom in axioms)]


def searched(one: str, other: str, jobs: int = 1) -> Row:
    """Looks for the smallest test, where `ptxmm compare --find` does."""
    from litmus.test import Test
    from ptxmm.comparing.comparison import SIZE, columns_for
    from ptxmm.comparing.finding import DifferenceSearch
    from ptxmm.comparing.universe import universe

    search = DifferenceSearch(columns_for((one, other)), universe(SIZE).cases(), jobs=jobs)
    found = next(iter(search), None)
    assert found is not None or not any(search.open.values()), "some tests are not settled"
    count = sum(search.searched.values())
    if found is None:
        return Row(one, other, "", "", "", SIZE, count, search.alike)
    case = found.row.case
    test = case.load()
    assert isinstance(test, Test)
    path = "" if case.item is None else f"../{Path(str(case.item)).resolve().relative_to(ROOT).as_posix()}"
    cycle = "" if path else dict(test.meta)["Cycle"]
    return Row(one, other, test.name, path, cycle, case.size, count, search.alike)


def recorded() -> list[Row]:
    """The rows that the page has."""
    table = _TABLE.search(PAGE.read_text(encoding="utf-8"))
    assert table is not None
    return [
        Row(
            m["one"], m["other"], m["name"] or m["cycle_name"] or "", m["path"] or "", m["cycle"] or "",
            int(m["size"]), int(m["count"]), int(m["alike"]),
        )
        for m in _ROW.finditer(table[0])
    ]  # fmt: skip


def main(names: Sequence[str]) -> None:
    """Searches again for all, or for the pairs whose second model is named, and for those that have no row."""
    from time import perf_counter

    known = {(row.one, row.other): row for row in recorded()}
    rows = []
    for one, other in pairs():
        if names and other not in names and (one, other) in known:
            rows.append(known[one, other])
            continue
        start = perf_counter()
        rows.append(searched(one, other, jobs=2))
        print(f"{perf_counter() - start:6.1f} s  {rows[-1]}", flush=True)
    text = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(_TABLE.sub(lambda _: _HEAD + "".join(f"{row}\n" for row in rows), text), encoding="utf-8")


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    main(sys.argv[1:])
