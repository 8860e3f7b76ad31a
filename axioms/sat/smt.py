"""Terms as SMT-LIB text, each defined once."""

from __future__ import annotations

from axioms.errors import UnsupportedProgram
from ptxcore.values import terms
from ptxcore.values.terms import Term, Value

_OPERATORS = {
    "add": "bvadd",
    "sub": "bvsub",
    "mul": "bvmul",
    "and": "bvand",
    "or": "bvor",
    "xor": "bvxor",
    "shl": "bvshl",
    "lshr": "bvlshr",
    "ashr": "bvashr",
    "udiv": "bvudiv",
    "urem": "bvurem",
    "sdiv": "bvsdiv",
    "srem": "bvsrem",
    "ult": "bvult",
    "ule": "bvule",
    "slt": "bvslt",
    "sle": "bvsle",
    "eq": "=",
    "ite": "ite",
    "all": "and",
    "any": "or",
    "not": "not",
}


class SmtText:
    """SMT-LIB text over the variables of a formula (`k!N`) and the symbols of terms, each term defined once."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.names: dict[Term, str] = {}

    def define(self, value: Value, width: int) -> str:
        """The name of a value, defined with everything below it."""
        for t in terms.subterms([value]):
            if t not in self.names:
                name = self.names[t] = f"t!{len(self.names)}"
                sort = "Bool" if t.width == 1 else f"(_ BitVec {t.width})"
                if t.op == "symbol":
                    self.lines.append(f"(declare-const {name} {sort})")
                else:
                    self.lines.append(f"(define-fun {name} () {sort} {self._body(t)})")
        return self.operand(value, width)

    def operand(self, value: Value, width: int) -> str:
        if type(value) is Term:
            return self.names[value]
        if width == 1:
            return "true" if value else "false"
        return f"(_ bv{value} {width})"

    def _bits(self, value: Value, width: int) -> str:
        """An operand where truth values count as one bit."""
        name = self.operand(value, width)
        return name if width > 1 else f"(ite {name} #b1 #b0)"

    def _body(self, t: Term) -> str:
        if t.op == "fp":
            from axioms.sat.floats import body

            return body(t, [self.operand(a, _width_below(t, a)) for a in t.args[3:]])
        if t.op == "dot":
            raise UnsupportedProgram(
                "floating-point products of matrices of numbers that are not known cannot be decided"
            )
        if t.op == "extract":
            piece = f"((_ extract {t.args[1]} {t.args[2]}) {self.names[t.args[0]]})"
            return piece if t.width > 1 else f"(= {piece} #b1)"
        if t.op in ("zext", "sext"):
            inner = t.args[0]
            kind = "zero_extend" if t.op == "zext" else "sign_extend"
            return f"((_ {kind} {t.width - inner.width}) {self._bits(inner, inner.width)})"
        if t.op == "concat":
            widths = [terms.width_of(a, 0) for a in t.args]
            widths = [w or t.width - sum(widths) for w in widths]
            return f"(concat {' '.join(self._bits(a, w) for a, w in zip(t.args, widths, strict=True))})"
        elif t.op == "ite":
            widths = [1, t.width, t.width]
        elif t.op in ("eq", "ult", "ule", "slt", "sle"):
            widths = [max(terms.width_of(a, 0) for a in t.args)] * 2
        else:
            widths = [t.width] * len(t.args)
        operands = " ".join(self.operand(a, w) for a, w in zip(t.args, widths, strict=True))
        return f"({_OPERATORS[t.op]} {operands})"


def _width_below(t: Term, operand: Value) -> int:
    """The bits of an operand of a floating-point term."""
    from ptxcore.values.ieee import FORMATS

    if type(operand) is Term:
        return operand.width
    form = t.args[1]
    if isinstance(form, str):
        return FORMATS[form].width
    if t.args[0] in ("from_signed", "from_unsigned"):
        return int(form[1])
    return FORMATS[form[0]].width
