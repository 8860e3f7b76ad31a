"""How CUDA C++ launches its kernels, as far as that can be read without a compiler.

    constexpr int BLOCK = 256;
    dim3 grid(n / BLOCK, 2);
    scale<float><<<grid, BLOCK, BLOCK * sizeof(float)>>>(x, n);

Sizes are numbers where all that they are made of is: literals, macros, and variables that are given one value in the file. It
gives a launch to begin with; what one launch means, its author says.
"""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Iterator, Mapping

from ptxcore.records import NamedTuple
from ptxmm.kernels.cuda_source import closing, without_comments

_MACRO = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w++)[ \t]++([^\n]++)$", re.MULTILINE)
#: `int n = 4;`, `dim3 grid(4, 2);`, `dim3 grid = {4, 2};`; of several in one declaration each but the first has no type.
_VARIABLE = re.compile(
    r"(?:\b(?:int|unsigned|long|size_t|u?int(?:32|64)_t|auto|uint)\s+|,\s*+)(\w++)\s*+=\s*+([^;,{}=][^;,{}]{0,200})(?=[;,])"
)
_DIM3 = re.compile(r"\bdim3\s+(\w++)\s*+(?:=\s*+)?(?:dim3\s*+)?[({]([^;{}]{0,200})[)}]\s*+;")
_SUFFIX = re.compile(r"\b(0[xX][0-9a-fA-F]+|\d+)[uUlL]+\b")
_SIZEOF = re.compile(r"\bsizeof\s*\(\s*([\w ]+?)\s*\)")
_CAST = re.compile(r"\(\s*(?:unsigned|int|size_t|unsigned int|dim3)\s*\)|\bstatic_cast\s*<[\w ]+>")
_BYTES = {"char": 1, "bool": 1, "short": 2, "half": 2, "__half": 2, "int": 4, "unsigned": 4, "unsigned int": 4,
          "float": 4, "double": 8, "long": 8, "long long": 8, "size_t": 8, "float2": 8, "float4": 16, "int4": 16}  # fmt: skip
_OPERATORS: Mapping[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod, ast.LShift: operator.lshift, ast.RShift: operator.rshift,
}  # fmt: skip
#: Characters of a launch's sizes, names within names, and the largest number.
_LONGEST, _DEEPEST, _MOST = 400, 16, 1 << 31


class LaunchSite(NamedTuple):
    """A launch in the source: its line, the grid in CTAs, the CTA in threads, its dynamic shared memory in bytes, and its
    arguments; None for what is no number."""

    line: int
    grid: list[int] | None
    block: list[int] | None
    dynamic_shared: int | None
    arguments: tuple[int | None, ...] = ()


def launch_sites(text: str, kernel: str) -> list[LaunchSite]:
    """The launches of a kernel, by the last part of its name, in the order of the text."""
    code = without_comments(text)
    named = _Named(code)
    found = []
    for at in re.finditer(rf"\b{re.escape(kernel)}\s*(?:<[^;{{}}]{{0,200}}?>\s*)?<<<", code):
        end = code.find(">>>", at.end(), at.end() + _LONGEST)
        sizes = list(_parted(code[at.end() : end])) if end >= 0 else []
        if len(sizes) > 1:
            shared = named.number(sizes[2]) if len(sizes) > 2 else 0
            line = code.count("\n", 0, at.start()) + 1
            arguments = tuple(named.number(one) for one in _arguments(code, end + len(">>>")))
            found.append(LaunchSite(line, named.dimensions(sizes[0]), named.dimensions(sizes[1]), shared, arguments))
    return found


def _arguments(code: str, at: int) -> Iterator[str]:
    """What stands in the brackets that open there."""
    begin = at + len(code[at : at + _LONGEST]) - len(code[at : at + _LONGEST].lstrip())
    end = closing(code, begin, min(len(code), begin + 4 * _LONGEST)) if code.startswith("(", begin) else None
    if end is not None and code[begin + 1 : end].strip():
        yield from _parted(code[begin + 1 : end])


class _Named:
    """What names stand for in a text: those that are given one value."""

    def __init__(self, code: str) -> None:
        self._values: dict[str, set[str]] = {}
        for name, value in (*_MACRO.findall(code), *_VARIABLE.findall(code)):
            self._values.setdefault(name, set()).add(value.strip())
        for name, value in _DIM3.findall(code):
            self._values.setdefault(name, set()).add(f"dim3({value})")

    def number(self, written: str) -> int | None:
        """What an expression comes to; None where it is no number."""
        found = self._value(written, _DEEPEST)
        return found[0] if found is not None and len(found) == 1 else None

    def dimensions(self, written: str) -> list[int] | None:
        """The sizes of a grid or of a CTA, those of one behind the last other one left out; None for what is none."""
        found = self._value(written, _DEEPEST)
        if found is None or not 1 <= len(found) <= 3 or not all(0 < n < _MOST for n in found):
            return None
        while len(found) > 1 and found[-1] == 1:
            found.pop()
        return found

    def _value(self, written: str, deepest: int) -> list[int] | None:
        if not deepest:
            return None
        text = _CAST.sub("", _SIZEOF.sub(lambda m: str(_BYTES.get(m[1], "?")), _SUFFIX.sub(r"\1", written)))
        text = re.sub(r"\b0+(?=\d)", "", text).replace("/", "//").replace("{", "(").replace("}", ")").strip()
        try:
            tree = ast.parse(text, mode="eval").body
        except (SyntaxError, ValueError, MemoryError, RecursionError):
            return None
        return self._of(tree, deepest)

    def _of(self, node: ast.expr, deepest: int) -> list[int] | None:
        if isinstance(node, ast.Constant):
            return [node.value] if type(node.value) is int else None
        if isinstance(node, ast.Name):
            values = self._values.get(node.id, set())
            return self._value(next(iter(values)), deepest - 1) if len(values) == 1 else None
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "dim3" and node.args:
            each = [self._one(arg, deepest) for arg in node.args]
            return None if None in each else [n for n in each if n is not None]
        if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
            left, right = self._one(node.left, deepest), self._one(node.right, deepest)
            if left is None or right is None or not 0 <= right < _MOST or not 0 <= left < _MOST:
                return None
            shifts = isinstance(node.op, ast.LShift | ast.RShift)
            divides = isinstance(node.op, ast.FloorDiv | ast.Mod)
            if (shifts and right > 31) or (divides and not right):
                return None
            return [_OPERATORS[type(node.op)](left, right)]
        return None

    def _one(self, node: ast.expr, deepest: int) -> int | None:
        found = self._of(node, deepest)
        return found[0] if found is not None and len(found) == 1 else None


def _parted(written: str) -> Iterator[str]:
    """What stands between commas that no bracket holds."""
    depth, at = 0, 0
    for i, c in enumerate(written):
        if c == "," and not depth:
            yield written[at:i]
            at = i + 1
        depth += (c in "([{") - (c in ")]}")
    yield written[at:]


__all__ = ["LaunchSite", "launch_sites"]
