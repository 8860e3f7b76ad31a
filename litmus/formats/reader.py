"""`read`: a litmus test from its text."""

from __future__ import annotations

import re

from litmus.formats.checks import check_cells, check_tail, check_threads
from litmus.formats.condition import read_tail
from litmus.formats.declarations import Declarations, read_declarations
from litmus.formats.header import read_head
from litmus.formats.parts import Parts
from litmus.formats.placement import merge_tree, places
from litmus.formats.program import ReadColumn, read_program
from litmus.formats.source import LitmusSource, blank_comments, decode, normalised
from litmus.test import Condition, LitmusThread, Test
from ptxcore.diagnostics import InputError
from ptxcore.places import Placement
from ptxcore.syntax.tree import AnyStatement, Declaration, Declarator


def read(text: str | bytes, path: str = "<input>", instance: str = "") -> Test:
    """The litmus test that `text` spells: in our format, in that of ASPLOS 2015 (`GPU_PTX`), or in nvlitmus's. `path` is for
    messages, `instance` the number of a template's row, from 1, where the text is a template.

    Raises `ptxcore.diagnostics.InputError`, which holds every finding with its place, for whatever is no such test.
    """
    words = normalised(text if isinstance(text, str) else decode(text, path))
    if instance:
        from litmus.formats import nvlitmus

        words = nvlitmus.instance(words, instance, path)
    source = LitmusSource(words, path)
    try:
        return _test(source, _parts(source, instance), instance)
    except InputError as error:
        source.keep(error)
    raise source.complete_error()


_OTHER_HEAD = re.compile(r"(?>(?:\s++|//[^\n]*+\n)*)GPU_PTX(?!\S)")


def _parts(source: LitmusSource, instance: str) -> Parts:
    # What reads other formats is imported where a test is in them.
    if not source.text.startswith("PTX"):
        if _OTHER_HEAD.match(source.text):
            from litmus.formats import gpu_ptx

            return gpu_ptx.read_parts(source)
        from litmus.formats import nvlitmus

        if instance or nvlitmus.recognised(source.text) or source.path.lower().endswith(".test"):
            return nvlitmus.read_parts(source, instance)
    (name, comments, meta), opening = read_head(source)
    blank_comments(source, opening)
    declared, at = read_declarations(source, opening)
    init_is_good = not source.findings
    columns, at = read_program(source, at)
    return Parts(name, comments, meta, declared, init_is_good, columns, read_tail(source, at))


def _test(source: LitmusSource, parts: Parts, instance: str) -> Test:
    name, comments, meta, declared, init_is_good, columns, tail = parts
    if init_is_good:
        check_threads(source, declared, columns)
        for column in columns:
            check_cells(source, column, declared)
            column.statements[:0] = _register_declarations(source, declared, column)
        if not source.findings:
            check_tail(source, tail.reader, declared, columns)
    source.stop_on_findings()
    if tail.tree is not None:
        merge_tree(source, {column.name: column.levels for column in columns}, *tail.tree)
        source.stop_on_findings()
    threads = tuple(
        LitmusThread(
            column.name,
            place,
            tuple(column.statements),
            column.dialect,
            tuple(declared.registers.get(column.name, {}).items()),
            column.span,
        )
        for column, place in zip(columns, _places(source, columns), strict=True)
    )
    return Test(
        name,
        threads,
        tuple(declared.locations.values()),
        tail.conditions[0] if tail.conditions else Condition(asked=False),
        tail.filter,
        tail.observed,
        tuple(declared.kernels),
        meta,
        comments,
        source.path,
        source.original,
        tail.checks,
        tuple(tail.lines.items()),
        tuple(tail.conditions[1:]),
        instance,
    )


def _register_declarations(source: LitmusSource, declared: Declarations, column: ReadColumn) -> list[AnyStatement]:
    """What the init block declares of a thread's registers, as statements at its beginning."""
    types = declared.types.get(column.name, {})
    if types and column.dialect != "typed":
        message = f"{column.name} is in the short dialect, whose registers have no types"
        source.note_at(declared.thread_spans[column.name], message, "write '0:r0 = 1'")
        return []
    return [Declaration("reg", type_[1:], (Declarator(name, span=column.span),)) for name, type_ in types.items()]


def _places(source: LitmusSource, columns: list[ReadColumn]) -> list[Placement]:
    try:
        return places([column.levels for column in columns])
    except ValueError as error:
        source.note_at(columns[0].span, str(error), "give the cluster for every thread of the CTA, or for none")
        source.stop_on_findings()
        raise
