"""The places that documents for other tools name, and what of them is not there for whoever opens the file."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote, urlsplit
from xml.etree import ElementTree

from sarif_shape import physical_locations

from ptxmm.report.github import GithubReport
from ptxmm.report.junit import JunitReport
from ptxmm.report.sarif import SarifReport


class Place(NamedTuple):
    """What is named: a file, and where it says more, line, column, last line and the column after the last."""

    path: str
    line: int = 0
    column: int = 0
    last: int = 0
    end: int = 0


@cache
def lines_of(path: str) -> list[str]:
    return Path(path).read_text(encoding="utf-8").split("\n")


def missing(place: Place) -> str:
    """What of a place is not there; empty where all is."""
    if not Path(place.path).is_file():
        return f"{place.path}: no such file"
    lines = lines_of(place.path)
    last = place.last or place.line
    if not place.line <= last <= len(lines):
        return f"{place}: the file has {len(lines)} lines"
    if place.line and not lines[place.line - 1].strip() and last == place.line:
        return f"{place}: the line is empty"
    if place.column > len(lines[place.line - 1]) + 1 or place.end > len(lines[last - 1]) + 1:
        return f"{place}: the line is shorter"
    return ""


def of_sarif(document: Any) -> Iterator[Place]:
    for uri, region in physical_locations(document):
        parts = urlsplit(uri)
        assert parts.scheme in ("", "file")
        keys = ("startLine", "startColumn", "endLine", "endColumn")
        yield Place(unquote(parts.path), *(region.get(key, 0) for key in keys))


def of_github(text: str) -> Iterator[Place]:
    for fields in re.findall(r"^::(?:error|warning|notice) (.*?)::", text, re.MULTILINE):
        said = dict(field.split("=", 1) for field in fields.split(","))
        path = said["file"].replace("%3A", ":").replace("%2C", ",").replace("%25", "%")
        yield Place(path, int(said["line"]), int(said.get("col", 0)))


def of_junit(text: str) -> Iterator[Place]:
    for case in ElementTree.fromstring(text).iter("testcase"):
        yield Place(case.attrib["file"], int(case.get("line", "0")))


FORMS: dict[str, tuple[Callable[[], Any], Callable[[str], Iterator[Place]]]] = {
    "sarif": (lambda: SarifReport("ptx-9.0"), lambda text: of_sarif(json.loads(text))),
    "github": (lambda: GithubReport("ptx-9.0", unroll=4), of_github),
    "junit": (lambda: JunitReport("ptx-9.0"), of_junit),
}
