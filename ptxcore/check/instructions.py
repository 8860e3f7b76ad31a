"""Instructions: forms, operands, versions and targets (PTX ISA 9.0, chapters 6 and 9).

What an instruction is judged by (its opcode, modifiers and the kinds of its operands) repeats in real code, so judgements
are remembered; most instructions cost one look-up.
"""

from __future__ import annotations

import re
from typing import Any

from ptxcore.check.calls import check_call
from ptxcore.check.constants import check_values, has_limits, values_of
from ptxcore.check.context import Context, kind_of_need
from ptxcore.check.kinds import Kinds
from ptxcore.check.mismatch import OperandKind, OperandMismatch, describe
from ptxcore.check.operands import arrange, judge
from ptxcore.check.rules import VALUED, broken_rule, misaligned, wrong_value
from ptxcore.check.symbols import Callable as Function
from ptxcore.diagnostics import Span
from ptxcore.isa.form import Use
from ptxcore.isa.matching import Misfit
from ptxcore.isa.table import candidates, explain, successor
from ptxcore.isa.targets import missing
from ptxcore.records import NamedTuple
from ptxcore.syntax.spans import guard_span, modifier_span, operand_span
from ptxcore.syntax.tree import Address, Instruction, Name, Operand, parts_of

#: Judgements that are kept; beyond, all are forgotten.
_MOST_VERDICTS = 8192
#: Explaining an opcode compares it with all others, so only the first that are wrong get more than a short word.
_MOST_EXPLAINED = 100


class Verdict(NamedTuple):
    """What is to be said of every instruction of one shape. `misfit` (True: the opcode is unknown) is about modifiers,
    `mismatch` about an operand, `lacking` about versions and targets; `use` where operands have values to look at."""

    misfit: Misfit | bool = False
    mismatch: OperandMismatch | None = None
    lacking: tuple[tuple[str, str, str | None], ...] = ()  # the words that lack something, the message, and a hint
    use: Use | None = None


#: Nothing to say.
_SOUND = Verdict()


class Instructions:
    """Checks the instructions of one module."""

    __slots__ = ("_explained", "_guards", "_verdicts", "context", "kinds", "labels", "tensor_groups")

    def __init__(self, context: Context) -> None:
        self.context = context
        self.kinds = Kinds(context)
        self._explained = 0
        self._guards: set[str] = set()
        self._verdicts: dict[Any, Verdict] = {}
        #: `.cta_group` of the tcgen05 instructions of the function that is open, and what it calls.
        self.tensor_groups: dict[str, Span] = {}

    def forget(self) -> None:
        """Names may mean something else from here on."""
        self.kinds.forget()
        self._guards.clear()

    def check(self, s: Instruction) -> None:
        """One instruction."""
        guard = s.guard
        if guard is not None and guard.name not in self._guards:
            self._check_guard(s, guard)
        opcode = s.opcode
        special = _SPECIAL.get(opcode)
        kinds: tuple[OperandKind, ...]
        if special is None:
            known = self.kinds.known
            try:
                kinds = tuple([known[id(o)] for o in s.operands])
            except KeyError:
                kinds = self.kinds.of(s)
        else:
            kinds = special(self, s)
        key = (opcode, s.modifiers, kinds)
        verdict = self._verdicts.get(key)
        if verdict is None:
            verdict = self._judge(s, kinds)
            if len(self._verdicts) >= _MOST_VERDICTS:
                self._verdicts.clear()
            self._verdicts[key] = verdict
        if verdict is not _SOUND:
            self._tell(s, kinds, verdict)

    # Judging a shape.

    def _judge(self, s: Instruction, kinds: tuple[OperandKind, ...]) -> Verdict:
        manual = self.context.manual
        uses = candidates(s.opcode, s.modifiers, manual=manual)
        if uses is None:
            return Verdict(misfit=True)
        if isinstance(uses, Misfit):
            return Verdict(misfit=uses)
        waiting = uses
        verdict = None
        while waiting:
            result = judge(waiting, kinds, manual=manual)
            if isinstance(result, OperandMismatch):
                return verdict or Verdict(mismatch=result)
            mismatch = broken_rule(self.context, result, kinds)
            if mismatch is not None:
                return Verdict(mismatch=mismatch)
            lacking = self._lacking(s, result)
            use = result if manual or s.opcode in VALUED or has_limits(result) else None
            if not lacking:
                return Verdict(use=use) if use else _SOUND
            verdict = verdict or Verdict(lacking=lacking, use=use)
            waiting = waiting[waiting.index(result) + 1 :]
        assert verdict is not None
        return verdict

    def _lacking(self, s: Instruction, use: Use) -> tuple[tuple[str, str, str | None], ...]:
        """What the module's version and target lack for a use."""
        context = self.context
        name = _head(s)
        found: list[tuple[str, str, str | None]] = []
        for what, gate in use.gates(manual=context.manual):
            lacking = context.lacks(gate)
            if lacking is not None:
                found.append((what, f"'.{what}' {lacking}" if what else f"'{name}' {lacking}", None))
        until = use.form.until
        if until and missing(until, context.version, context.target) is None:
            found.append(("", f"'{name}' in this form is gone since {_since(until)}", successor(s, context.manual)))
        return tuple(dict.fromkeys(found))

    # Telling.

    def _tell(self, s: Instruction, kinds: tuple[OperandKind, ...], verdict: Verdict) -> None:
        context = self.context
        if verdict.misfit:
            misfit = None if verdict.misfit is True else verdict.misfit
            assert misfit is None or isinstance(misfit, Misfit)
            self._explained += 1
            if self._explained <= _MOST_EXPLAINED:
                context.findings += explain(s, misfit, manual=context.manual).diagnostics
            else:
                code = "modifiers" if misfit else "unknown-instruction"
                context.report(code, s.span, misfit.message if misfit else f"unknown instruction '{s.opcode}'")
        for what, lacking, hint in verdict.lacking:
            word = what.partition(".")[0]
            span = modifier_span(s, s.modifiers.index(word)) if word in s.modifiers else s.span
            context.report(kind_of_need(lacking), span, lacking, hint)
        mismatch, code = verdict.mismatch, "operands"
        if mismatch is None and verdict.use is not None:
            places = arrange(verdict.use, len(kinds))
            code = "value"
            if places is not None:
                mismatch = check_values(verdict.use, places, values_of(s.operands))
            mismatch = mismatch or wrong_value(verdict.use, s.operands)
            if mismatch is None and context.manual:
                code = "alignment"
                mismatch = misaligned(context, verdict.use, s.operands)
        if mismatch is not None:
            span = operand_span(s, *mismatch.path) if mismatch.path else s.span
            context.report(code, span, _worded(s, mismatch), _hint(s, kinds, mismatch))

    # Guards.

    def _check_guard(self, s: Instruction, guard: Name) -> None:
        before = len(self.context.findings)
        kind = self.kinds.classify(Name(guard.name), s)
        if len(self.context.findings) > before:
            found = self.context.findings.pop()
            self.context.findings.append(found._replace(span=guard_span(s)))
        elif kind in ("pred", "any") or (type(kind) is tuple and kind[:2] == ("sreg", "pred")):
            self._guards.add(guard.name)
        else:
            hint = "setp makes a predicate of a comparison"
            self.context.report(
                "operands", guard_span(s), f"a guard is a predicate, '{guard.name}' is {describe(kind)}", hint
            )

    # Opcodes that ask more.

    def _branch(self, s: Instruction) -> tuple[OperandKind, ...]:
        """Labels may come later, so branches are kept until the scope that has the label is closed."""
        if len(s.operands) != 1:
            return ("any",) * len(s.operands)  # of whose names one may be a label that is still to come
        (operand,) = s.operands
        if not isinstance(operand, Name) or operand.prefix:
            return self.kinds.of(s)
        symbol = self.context.scopes.find(operand.name)
        if symbol is not None and not isinstance(symbol, Function):
            return (symbol.kind,)
        self.context.scopes.stack[-1].pending.setdefault(operand.name, []).append((s, operand))
        return ("label",)

    def _call(self, s: Instruction) -> tuple[OperandKind, ...]:
        return check_call(self.context, self.kinds, s)

    def _tensor(self, s: Instruction) -> tuple[OperandKind, ...]:
        for word in s.modifiers:
            if word.startswith("cta_group::"):
                self.tensor_groups.setdefault(word, s.span)
        return self.kinds.of(s)


_SPECIAL = {"bra": Instructions._branch, "call": Instructions._call, "tcgen05": Instructions._tensor}


#: Opcodes longer than this are cut in messages.
_LONGEST_HEAD = 40


def _head(s: Instruction) -> str:
    """An opcode with its modifiers, for a message."""
    head = s.opcode
    for word in s.modifiers:
        if len(head) + len(word) >= _LONGEST_HEAD:
            return head + "..."
        head += f".{word}"
    return head


def _since(gate: str) -> str:
    words = gate.split()
    return " on ".join(f"PTX ISA {w}" if w[0].isdigit() else f"{w} and later" for w in words)


_MIDDLE = " is needed here, not "


def _hint(s: Instruction, kinds: tuple[OperandKind, ...], mismatch: OperandMismatch) -> str | None:
    """What would be right."""
    kind: OperandKind = ("", *kinds)
    for index in mismatch.path:
        kind = kind[index + 1] if type(kind) is tuple and index + 1 < len(kind) else None
    if type(kind) is not tuple or kind[0] != "sreg":
        return mismatch.hint
    if s.opcode not in ("mov", "cvt"):
        return "mov and cvt alone take special registers: move it to a register before"
    return "its components are .x .y .z .w" if kind[1][:3] == "v4." else mismatch.hint


def _worded(s: Instruction, mismatch: OperandMismatch) -> str:
    """The message with the names that stand in the instruction."""
    if not mismatch.path:
        return re.sub(rf"^'{s.opcode}'", f"'{_head(s)}'", mismatch.message)
    if _MIDDLE not in mismatch.message:
        return mismatch.message
    wanted, _, found = mismatch.message.partition(_MIDDLE)
    operand: Operand | None = s.operands[mismatch.path[0]]
    for index in mismatch.path[1:]:
        parts = parts_of(operand) if operand is not None else ()
        operand = parts[index] if index < len(parts) else None
    if isinstance(operand, Address) and isinstance(operand.base, Name) and "address" not in found:
        operand = operand.base
    if not isinstance(operand, Name):
        return mismatch.message
    return f"'{_head(s)}' wants {wanted} here, '{operand.name}' is {found}"
