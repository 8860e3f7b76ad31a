"""What the schema of SARIF 2.1.0 asks of the objects that ptxmm writes: which properties there are, which have to be there,
and what each holds. Objects that ptxmm does not write are left out, so that a new one is an error until it stands here."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Any, NamedTuple

#: A check of a value; gives what is wrong with it, each with a path to it.
Check = Callable[[Any, str], Iterator[str]]


class Shape(NamedTuple):
    """Of an object: its properties, those that are required, and of which others at least one is."""

    properties: dict[str, Check]
    required: tuple[str, ...] = ()
    one_of: tuple[str, ...] = ()


def of(kind: type, right: Callable[[Any], bool] = lambda _: True) -> Check:
    """A value of a type; a truth value is no number."""

    def check(value: Any, where: str) -> Iterator[str]:
        if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool) or not right(value):
            yield f"{where}: {value!r}"

    return check


def each(check: Check, least: int = 0, *, unique: bool = False) -> Check:
    """An array."""

    def of_array(value: Any, where: str) -> Iterator[str]:
        if not isinstance(value, list) or len(value) < least:
            yield f"{where}: {value!r} is no array of at least {least}"
            return
        if unique and any(value[i] in value[:i] for i in range(len(value))):
            yield f"{where}: the same twice"
        for number, element in enumerate(value):
            yield from check(element, f"{where}[{number}]")

    return of_array


def an(name: str) -> Check:
    """An object of `SHAPES`."""

    def of_object(value: Any, where: str) -> Iterator[str]:
        shape = SHAPES[name]
        if not isinstance(value, dict):
            yield f"{where}: {value!r} is no object"
            return
        for key in shape.required:
            if key not in value:
                yield f"{where}: {name} without '{key}'"
        if shape.one_of and not value.keys() & set(shape.one_of):
            yield f"{where}: {name} without one of {shape.one_of}"
        for key, inner in value.items():
            if key in shape.properties:
                yield from shape.properties[key](inner, f"{where}.{key}")
            elif key != "properties" or not isinstance(inner, dict):
                yield f"{where}: {name} has no '{key}'"

    return of_object


def strings(value: Any, where: str) -> Iterator[str]:
    """An object whose values are strings."""
    if not isinstance(value, dict) or any(not isinstance(text, str) for text in value.values()):
        yield f"{where}: {value!r}"


def among(*words: str) -> Check:
    return of(str, lambda value: value in words)


def _instant(text: str) -> bool:
    try:
        return bool(datetime.fromisoformat(text))
    except ValueError:
        return False


TEXT, TRUTH = of(str), of(bool)
COUNT = of(int, lambda value: value >= 1)
INDEX = of(int, lambda value: value >= -1)
URI = of(
    str, lambda value: re.fullmatch(r"(?:%[0-9A-Fa-f]{2}|[A-Za-z0-9._~:/?#\[\]@!$&'()*+,;=-])+", value) is not None
)
LEVEL = among("none", "note", "warning", "error")
SHAPES = {
    "document": Shape({"$schema": URI, "version": among("2.1.0"), "runs": each(an("run"))}, ("version", "runs")),
    "run": Shape(
        {
            "tool": an("tool"),
            "columnKind": among("utf16CodeUnits", "unicodeCodePoints"),
            "invocations": each(an("invocation")),
            "results": each(an("result")),
        },
        ("tool",),
    ),
    "tool": Shape({"driver": an("component")}, ("driver",)),
    "component": Shape({"name": TEXT, "version": TEXT, "rules": each(an("rule"), unique=True)}, ("name",)),
    "rule": Shape({"id": TEXT, "shortDescription": an("multiformat"), "helpUri": URI}, ("id",)),
    "multiformat": Shape({"text": TEXT, "markdown": TEXT}, ("text",)),
    "invocation": Shape(
        {
            "executionSuccessful": TRUTH,
            "toolExecutionNotifications": each(an("notification")),
            "endTimeUtc": of(str, _instant),
        },
        ("executionSuccessful",),
    ),
    "notification": Shape(
        {"level": LEVEL, "message": an("message"), "descriptor": an("reference"), "locations": each(an("location"))},
        ("message",),
    ),
    "reference": Shape({"id": TEXT, "index": INDEX}, one_of=("id", "index")),
    "message": Shape({"text": TEXT, "markdown": TEXT}, one_of=("text",)),
    "result": Shape(
        {
            "ruleId": TEXT,
            "ruleIndex": INDEX,
            "level": LEVEL,
            "message": an("message"),
            "locations": each(an("location")),
            "relatedLocations": each(an("location"), unique=True),
            "partialFingerprints": strings,
            "codeFlows": each(an("flow")),
            "fixes": each(an("fix"), unique=True),
            "baselineState": among("new", "unchanged", "updated", "absent"),
        },
        ("message",),
    ),
    "location": Shape({"id": INDEX, "physicalLocation": an("physical"), "message": an("message")}),
    "physical": Shape({"artifactLocation": an("artifact"), "region": an("region")}, one_of=("artifactLocation",)),
    "artifact": Shape({"uri": URI, "uriBaseId": TEXT, "index": INDEX}),
    "region": Shape(dict.fromkeys(("startLine", "startColumn", "endLine", "endColumn"), COUNT), ("startLine",)),
    "flow": Shape({"message": an("message"), "threadFlows": each(an("thread"), 1)}, ("threadFlows",)),
    "thread": Shape({"id": TEXT, "message": an("message"), "locations": each(an("step"), 1)}, ("locations",)),
    "step": Shape({"location": an("location"), "executionOrder": INDEX}),
    "fix": Shape({"description": an("message"), "artifactChanges": each(an("change"), 1, unique=True)}, ("artifactChanges",)),
    "change": Shape(
        {"artifactLocation": an("artifact"), "replacements": each(an("replacement"), 1)},
        ("artifactLocation", "replacements"),
    ),
    "replacement": Shape({"deletedRegion": an("region"), "insertedContent": an("content")}, ("deletedRegion",)),
    "content": Shape({"text": TEXT}),
}  # fmt: skip


def wrong(document: Any) -> list[str]:
    """What in a document is not as the schema has it, or names a rule that the run does not have."""
    found = list(an("document")(document, "$"))
    for run in [] if found else document["runs"]:
        rules = [rule["id"] for rule in run["tool"]["driver"].get("rules", ())]
        for result in run["results"]:
            index = result.get("ruleIndex", -1)
            if index >= len(rules) or (index >= 0 and rules[index] != result["ruleId"]):
                found.append(f"rule {index} is not {result['ruleId']}")
    return found


def physical_locations(value: Any) -> Iterator[tuple[str, dict[str, int]]]:
    """Every place in a document: the file's address, and the region, which may be empty."""
    if isinstance(value, dict):
        if "artifactLocation" in value:
            regions = [r["deletedRegion"] for r in value.get("replacements", ())] or [value.get("region", {})]
            yield from ((value["artifactLocation"]["uri"], region) for region in regions)
        for inner in value.values():
            yield from physical_locations(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from physical_locations(inner)
