"""A module without the kernels that are not launched, for who reads it again and again.

A source with templates is compiled to dozens of kernels, of which a launch executes one: all else would be read with each
change of it. What is left stands where it stood, with blanks for the rest: lines and offsets are those of the whole module.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection

from ptxmm.kernels.modules import bare

_HEAD = re.compile(r"^[ \t]*(?:\.(?:visible|weak|extern)[ \t]+)*\.entry[ \t]+([\w$]+)", re.M)
#: Comments and texts, in which braces are none, and braces.
_BRACES = re.compile(r'//[^\n]*|/\*.*?\*/|"[^"\n]*"|[{};]', re.S)
_CHARACTER = re.compile(r"[^\n]")
_WORD = re.compile(r"[\w$.]+")
#: Bytes of sections: the names of functions that were inlined, which nobody reads.
_BYTES = re.compile(r"^\.b8 [\d,]+$", re.M)
#: What refers to the code of kernels from outside of them.
_REFERS = (".debug_info", ".alias")


def kernels_alone(text: str, entries: Collection[str]) -> str:
    """The module with these kernels, and with all that is no kernel but bytes of sections. One of which the rest speaks by its
    name is left, and so is everything where sections refer to code."""
    if any(word in text for word in _REFERS):
        return text
    heads = [head for head in _HEAD.finditer(text) if head[1] not in entries]
    words = Counter(_WORD.findall(bare(text))) if heads else Counter[str]()
    pieces, at = list[str](), 0
    for head in heads:
        end = _end_of(text, head.end()) if head.start() >= at and words[head[1]] == 1 else None
        if end is not None:
            pieces += [text[at : head.start()], _CHARACTER.sub(" ", text[head.start() : end])]
            at = end
    alone = "".join([*pieces, text[at:]]) if at else text
    return _BYTES.sub(lambda line: " " * len(line[0]), alone) if heads else alone


def _end_of(text: str, start: int) -> int | None:
    """Where a kernel ends, of which the head begins before a place; None where it has no body, or does not end."""
    depth = 0
    for found in _BRACES.finditer(text, start):
        if found[0] == "{":
            depth += 1
        elif found[0] == "}":
            depth -= 1
            if depth <= 0:
                return found.end() if not depth else None
        elif found[0] == ";" and not depth:
            return None
    return None
