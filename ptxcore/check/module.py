"""A whole module: one pass over its statements, with the scopes that are open (PTX ISA 9.0, chapters 4 to 7 and 11)."""

from __future__ import annotations

from collections.abc import Callable as Callable_
from collections.abc import Sequence
from typing import ClassVar

from ptxcore.check import labels
from ptxcore.check.calls import check_callees
from ptxcore.check.context import Context
from ptxcore.check.debugging import Debugging
from ptxcore.check.declarations import declare
from ptxcore.check.functions import check_alias, check_gates, check_pragma, check_prototype, enter
from ptxcore.check.header import check_header, check_misplaced
from ptxcore.check.instructions import Instructions
from ptxcore.check.places import word_span
from ptxcore.check.symbols import Callable
from ptxcore.clock import tick
from ptxcore.diagnostics import Diagnostic, InputError, Span, brief
from ptxcore.isa.targets import NEWEST
from ptxcore.syntax.tree import (
    AnyStatement,
    Close,
    Declaration,
    Directive,
    Function,
    Instruction,
    Label,
    Module,
    Name,
    OpenBrace,
    Prototype,
    Section,
)

#: Errors that may be none in a later version.
_MAY_BE_LATER = frozenset(
    (
        "syntax", "header", "target", "directive", "declaration", "function", "unknown-instruction", "unknown-modifier",
        "modifiers", "operands", "value",
    )
)  # fmt: skip
#: When the parameters of kernels moved from their bodies to their heads, and `.param` came to functions.
_KERNEL_LISTS = (1, 4)
_FUNCTION_PARAMS = (2, 0)


def check(module: Module, *, manual: bool = False, faults: Sequence[Diagnostic] = ()) -> list[Diagnostic]:
    """What is wrong with a module that was read, in source order. It is judged as ptxas 13.0 does or, with `manual`, as
    the manual says where the two differ; names that are declared `.extern` may stay undefined. Of `faults`, what reading
    it found, no consequences are told. Raises nothing."""
    return _Checker(manual, faults).run(module)


def check_text(text: str, *, manual: bool = False) -> list[Diagnostic]:
    """Read a module and check it: what is wrong with its syntax and its meaning, in source order. Raises nothing."""
    return read_and_check(text, manual=manual)[1]


def read_and_check(text: str, *, manual: bool = False) -> tuple[Module, list[Diagnostic]]:
    """As `check_text`, with the module: the statements that could be read."""
    from ptxcore.syntax.reader import read_module

    module, faults = read_module(text)
    checker = _Checker(manual, faults)
    found = checker.run(module)
    return module, sorted([*checker.hinted(faults), *found], key=lambda d: d.span)


def accepted(text: str) -> tuple[Module, list[Diagnostic]]:
    """A module that can be run or explored, and the warnings about it. Raises InputError with everything that is wrong."""
    module, found = read_and_check(text)
    errors = [d for d in found if d.severity == "error"]
    if errors:
        raise InputError(errors)
    return module, found


class _Checker:
    """The state of one pass."""

    def __init__(self, manual: bool, faults: Sequence[Diagnostic]) -> None:
        self.context = Context(manual, frozenset(d.span.line for d in faults))
        self.instructions = Instructions(self.context)
        self.debugging = Debugging(self.context)
        self.source = ""
        self.function: Function | None = None
        #: Blocks that are open in the function, its body among them; whether that body is still to come.
        self.blocks = 0
        self.body_follows = False
        self.following: AnyStatement | None = None
        self.calls: dict[str, set[str]] = {}
        self.groups: dict[str, dict[str, Span]] = {}

    def run(self, module: Module) -> list[Diagnostic]:
        context, statements, self.source = self.context, module.statements, module.source
        header = check_header(context, statements)
        check_instruction = self.instructions.check
        actions = self.ACTIONS
        last = len(statements) - 1
        for at in range(header, len(statements)):
            tick()
            s = statements[at]
            kind = type(s)
            if kind is Instruction:
                check_instruction(s)  # type: ignore[arg-type]
                if s.opcode == "call":  # type: ignore[union-attr]
                    self._note_call(s)  # type: ignore[arg-type]
                continue
            self.following = statements[at + 1] if at < last else None
            actions[kind](self, s)
        while context.scopes.depth:
            self._end_scope()
        target = next((s for s in statements[:header] if isinstance(s, Directive) and s.name == "target"), None)
        self.debugging.finish(target)
        self._check_groups()
        # A name that stands twice in a statement is wrong once, and a line that could not be read has its finding.
        found = [d for d in dict.fromkeys(context.findings) if d.span.line not in context.faulty]
        return sorted(self.hinted(found), key=lambda d: d.span)

    def hinted(self, found: Sequence[Diagnostic]) -> list[Diagnostic]:
        """Findings with a hint where what is wrong may have come with the version that the module says."""
        if self.context.later is None:
            return list(found)
        (major, minor), (newest, least) = self.context.later, NEWEST
        told = f"the module is of PTX ISA {major}.{minor}, and what came after {newest}.{least} is not known"
        return [
            d._replace(hint=brief(f"{d.hint}; {told}" if d.hint else told))
            if d.severity == "error" and d.code in _MAY_BE_LATER
            else d
            for d in found
        ]

    # Blocks.

    def _open(self, s: OpenBrace) -> None:
        if self.body_follows:
            self.body_follows = False
        else:
            scopes = self.context.scopes
            self.context.headless = self.context.headless or scopes.depth == 0
            scopes.open()
        self.blocks += 1

    def _close(self, s: Close) -> None:
        if self.context.scopes.depth:
            self.blocks = max(0, self.blocks - 1)
            self._end_scope()

    def _end_scope(self) -> None:
        scopes = self.context.scopes
        scope = scopes.close()
        if scope.names or scope.stems:
            self.instructions.forget()
        whole = scopes.depth == 0
        pending = labels.settle(scope, None if whole else scopes.stack[-1])
        if whole:
            labels.report_missing(self.context, pending, scope)
            self._end_function()

    # Functions.

    def _function(self, s: Function) -> None:
        while self.context.scopes.depth:  # what was never closed has been reported
            self._end_scope()
        enter(self.context, s)
        self.instructions.forget()
        self.function, self.blocks, self.body_follows = s, 0, s.defined
        if not s.defined:
            self._end_scope()

    def _end_function(self) -> None:
        if self.function is not None and self.instructions.tensor_groups:
            self.groups.setdefault(self.function.name, {}).update(self.instructions.tensor_groups)
        self.instructions.tensor_groups = {}
        self.function, self.body_follows = None, False
        self.context.headless = False

    def _note_call(self, s: Instruction) -> None:
        if self.function is None:
            return
        for operand in s.operands:
            if isinstance(operand, Name):
                self.calls.setdefault(self.function.name, set()).add(operand.name)
                return

    def _check_groups(self) -> None:
        """All tcgen05 instructions that a function reaches use the same `.cta_group` (section 9.7.16.5)."""
        callers: dict[str, list[str]] = {}
        for caller, called in self.calls.items():
            for name in called:
                callers.setdefault(name, []).append(caller)
        reached = {name: dict(groups) for name, groups in self.groups.items()}
        waiting = list(reached)
        while waiting:
            name = waiting.pop()
            for caller in callers.get(name, ()):
                groups = reached.setdefault(caller, {})
                fresh = [g for g in reached[name] if g not in groups]
                if fresh:
                    groups.update((g, reached[name][g]) for g in fresh)
                    waiting.append(caller)
        told: set[Span] = set()
        for name, groups in reached.items():
            if len(groups) > 1 and self._is_visible(name):
                span = max(groups.values())
                if span not in told:
                    told.add(span)
                    both = " and ".join(f".{g}" for g in sorted(groups))
                    self.context.report(
                        "modifiers", span, f"'{name}' uses {both}", "a kernel uses one of them throughout"
                    )

    def _is_visible(self, name: str) -> bool:
        """Whether code is made for a function by itself: kernels, and functions that others may call."""
        symbol = self.context.scopes.find(name)
        return (
            isinstance(symbol, Callable)
            and symbol.head is not None
            and (symbol.head.kind == "entry" or symbol.head.linkage in ("visible", "weak"))
        )

    # The rest.

    def _declaration(self, s: Declaration) -> None:
        context = self.context
        inside = context.scopes.depth > 0
        role = ""
        if s.space == "param" and inside:
            role = "local"
            entry = self.function is None or self.function.kind == "entry"
            if context.version < _KERNEL_LISTS and entry:
                role = "kernel"
            elif context.version < _FUNCTION_PARAMS:
                place = "in the head of the kernel" if entry else "in registers"
                context.report("version", s.span, f"before PTX ISA 2.0 parameters are declared {place}")
        before = context.scopes.depth
        declare(context, s, in_body=inside, role=role)
        if before > 1 or s.space != "reg":
            self.instructions.forget()

    def _label(self, s: Label) -> None:
        if labels.declare_label(self.context, s, self.following):
            self.instructions.forget()

    def _prototype(self, s: Prototype) -> None:
        check_prototype(self.context, s)

    def _section(self, s: Section) -> None:
        self.debugging.section(s, self.source)

    def _directive(self, s: Directive) -> None:
        if s.name == "loc":  # the most frequent one by far
            self.debugging.loc(s)
        elif not check_misplaced(self.context, s):
            action = self.DIRECTIVES.get(s.name)
            if s.name not in ("pragma", "@@DWARF"):
                check_gates(self.context, s, s.span)
            if action is not None:
                action(self, s)

    def _file(self, s: Directive) -> None:
        self.debugging.file(s)

    def _dwarf(self, s: Directive) -> None:
        self.debugging.dwarf(s)

    def _pragma(self, s: Directive) -> None:
        check_gates(self.context, s, s.span)
        check_pragma(self.context, s, s.span, self.context.scopes.depth > 0)

    def _alias(self, s: Directive) -> None:
        check_alias(self.context, s)

    def _branchtargets(self, s: Directive) -> None:
        labels.expect_labels(self.context, s)

    def _calltargets(self, s: Directive) -> None:
        names = tuple(a.name for a in s.arguments if isinstance(a, Name))
        check_callees(self.context, names, lambda name: word_span(s, name))

    ACTIONS: ClassVar[dict[type, Callable_[..., None]]] = {
        OpenBrace: _open,
        Close: _close,
        Function: _function,
        Declaration: _declaration,
        Label: _label,
        Prototype: _prototype,
        Section: _section,
        Directive: _directive,
    }

    DIRECTIVES: ClassVar[dict[str, Callable_[..., None]]] = {
        "file": _file,
        "@@DWARF": _dwarf,
        "pragma": _pragma,
        "alias": _alias,
        "branchtargets": _branchtargets,
        "calltargets": _calltargets,
    }
