"""The heads of kernels in CUDA C++: their names and parameters, as far as they can be read without a compiler.

What is read here gives names and types to people and finds the kernel below an annotation. What a kernel takes, the PTX says.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ptxcore.records import NamedTuple

#: Strings, characters and comments: code that is none. Ends of lines stay.
_NO_CODE = re.compile(
    r'"(?>(?:[^"\\\n]++|\\.)*)"|\'(?>(?:[^\'\\\n]|\\.){1,8})\'|//[^\n]*+|/\*(?>(?:[^*]++|\*(?!/))*)(?>(?:\*/)?)'
)
_KERNEL = re.compile(r"\b__global__\b")
_CALLED = re.compile(r"([A-Za-z_]\w*)\s*(?:<[^<>()]*>\s*)?\(")
#: What stands before the name of a kernel and takes arguments, too.
_ATTRIBUTES = frozenset(
    (
        "__launch_bounds__",
        "__cluster_dims__",
        "__block_size__",
        "__maxnreg__",
        "__attribute__",
        "__declspec",
        "alignas",
        "decltype",
    )
)
_NAME = re.compile(r"([A-Za-z_]\w*)\s*(?:\[[^\]]*\]\s*)*\Z")
_QUALIFIERS = re.compile(r"\b(?:__restrict__|__restrict|restrict|__grid_constant__|const|volatile|struct|class|enum)\b")
_LONGEST_HEAD = 1 << 14  # characters
_PAIRS = {"(": ")", "[": "]", "{": "}"}


class DeclaredParameter(NamedTuple):
    """A parameter: its type without qualifiers, its name, and where it stands in the text."""

    type: str
    name: str
    start: int
    end: int


class KernelHead(NamedTuple):
    """A kernel: its name, its parameters, where `__global__` and the name stand in the text, and whether a body follows."""

    name: str
    parameters: tuple[DeclaredParameter, ...]
    start: int
    named: int
    defined: bool


def without_comments(text: str) -> str:
    """The text with blanks for its comments and strings: every character stays where it is."""
    return _NO_CODE.sub(lambda m: re.sub(r"[^\n]", " ", m[0]), text)


def heads(text: str) -> list[KernelHead]:
    """The kernels that are declared in a text, in its order."""
    code = without_comments(text)
    return [head for found in _KERNEL.finditer(code) if (head := _head(code, found.start(), found.end())) is not None]


def _head(code: str, start: int, at: int) -> KernelHead | None:
    last = min(len(code), at + _LONGEST_HEAD)
    while called := _CALLED.search(code, at, last):
        if re.search(r"[;{}]", code[at : called.start()]):
            return None
        end = closing(code, called.end() - 1, last)
        if end is None:
            return None
        if called[1] not in _ATTRIBUTES:
            parameters = tuple(_parameters(code, called.end(), end))
            return KernelHead(
                called[1], parameters, start, called.start(1), code[end + 1 : last].lstrip().startswith("{")
            )
        at = end + 1
    return None


def closing(code: str, at: int, last: int) -> int | None:
    """Where the bracket at `at` closes."""
    waiting: list[str] = []
    for i in range(at, last):
        c = code[i]
        if c in _PAIRS:
            waiting.append(_PAIRS[c])
        elif waiting and c == waiting[-1]:
            waiting.pop()
            if not waiting:
                return i
    return None


def _parameters(code: str, start: int, end: int) -> Iterator[DeclaredParameter]:
    depth, at = 0, start
    for i in range(start, end + 1):
        c = code[i]
        if i == end or (c == "," and depth == 0):
            one = _declared(code, at, i)
            if one is not None:
                yield one
            at = i + 1
        elif c in "<([{":
            depth += 1
        elif c in ">)]}":
            depth -= 1


def _declared(code: str, start: int, end: int) -> DeclaredParameter | None:
    whole = code[start:end]
    written = whole.partition("=")[0].rstrip()
    first = start + len(whole) - len(whole.lstrip())
    name = _NAME.search(written)
    if not written.strip() or written.strip() == "void":
        return None
    before = written[: name.start()].strip() if name else ""
    if name is None or not before or before.endswith("::"):  # no name: what stands there is its type
        return DeclaredParameter(_type(written), "", first, start + len(written))
    array = "*" if "[" in name[0] else ""
    return DeclaredParameter(_type(written[: name.start()]) + array, name[1], first, start + len(written))


def _type(written: str) -> str:
    words = " ".join(_QUALIFIERS.sub(" ", written).split())
    return re.sub(r"\s*([*&])\s*", r"\1", words)


#: PTX types of elements, by the words of CUDA C++.
_TYPES = {
    "char": "s8", "signed char": "s8", "unsigned char": "u8", "bool": "u8", "int8_t": "s8", "uint8_t": "u8",
    "short": "s16", "unsigned short": "u16", "int16_t": "s16", "uint16_t": "u16",
    "int": "s32", "signed": "s32", "unsigned": "u32", "unsigned int": "u32", "int32_t": "s32", "uint32_t": "u32",
    "long": "s64", "unsigned long": "u64", "long long": "s64", "unsigned long long": "u64",
    "int64_t": "s64", "uint64_t": "u64", "size_t": "u64", "ptrdiff_t": "s64", "intptr_t": "s64", "uintptr_t": "u64",
    "unsigned long int": "u64", "long int": "s64", "unsigned long long int": "u64", "long long int": "s64",
    "uint": "u32", "uchar": "u8", "ushort": "u16", "ulong": "u64",
    "half": "f16", "__half": "f16", "__nv_bfloat16": "bf16", "nv_bfloat16": "bf16", "float": "f32", "double": "f64",
}  # fmt: skip
_ATOMIC = re.compile(r"(?>(?:cuda::)?)(?>(?:std::)?)atomic<([^<>,]++)(?>(?:,[^<>]*+)?)>\Z")


def element(declared: str) -> str | None:
    """The PTX type behind a pointer, or of a number, that CUDA C++ declares so (`unsigned*`, `cuda::atomic<int>*`); None where
    it is another type."""
    written = declared.rstrip("*&").strip()
    atomic = _ATOMIC.match(written)
    return _TYPES.get((atomic[1].strip() if atomic else written).replace("std::", ""))
