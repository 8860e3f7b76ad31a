"""Changes to a kernel test that change no answer, or not for the worse.

renamed        all registers have other names
reordered      neighbours that have nothing to do with each other change places
with more      a CTA more, and threads more in each, that end at once
stronger       orders and scopes are the strongest there are: what held of all executions still does
"""

from __future__ import annotations

import random
import re
from dataclasses import replace

from ptxmm.kernels.test import KernelTest

_REGISTER = re.compile(r"(?<![\w$])%(?=(?:r|rd|rs|rl|p|f|fd|h|hh|b)\d*[<\d])")
#: An instruction that only computes: its opcode, what it writes, and the rest.
_COMPUTES = re.compile(
    r"\s+(add|sub|mul|mad|shl|shr|and|or|xor|mov|cvt|cvta|selp|setp|neg|min|max)\.[\w.:]+\s+(%\w+),([^;{}]*);\s*"
)
_NAME = re.compile(r"%\w+")
_ORDERED = re.compile(r"\b(ld|st|atom|red|fence)\.(?!proxy|mbarrier|async)([\w.:]*)")
_STRONGEST = {"ld": "acquire", "st": "release", "atom": "acq_rel", "red": "release", "fence": "sc"}


def renamed(text: str) -> str:
    """All registers with other names."""
    return _REGISTER.sub("%other_", text)


def reordered(text: str, seed: int = 0) -> str:
    """Neighbours that only compute, and of which neither writes what the other reads or writes, in another order."""
    random_ = random.Random(seed)
    lines = text.splitlines(keepends=True)
    for i in range(len(lines) - 1):
        first, second = _COMPUTES.fullmatch(lines[i]), _COMPUTES.fullmatch(lines[i + 1])
        if first and second and random_.random() < 0.7:
            reads, others = ({*_NAME.findall(found[3])} for found in (first, second))
            if first[2] != second[2] and first[2] not in others and second[2] not in reads:
                lines[i : i + 2] = lines[i + 1], lines[i]
    return "".join(lines)


def stronger(text: str) -> str:
    """Every order and every scope of an access or a fence the strongest."""

    def strongest(found: re.Match[str]) -> str:
        opcode, words = found[1], found[2].split(".")
        if not {"relaxed", "acquire", "release", "acq_rel", "sc"} & {*words}:
            return found[0]
        orders = {"relaxed", "acquire", "release", "acq_rel", "sc"}
        return ".".join([opcode, *(_strongest(opcode, w) if w in orders else _widest(w) for w in words)])

    return _ORDERED.sub(strongest, text)


def _strongest(opcode: str, order: str) -> str:
    return order if opcode == "fence" and order in ("acquire", "release") else _STRONGEST[opcode]


def _widest(word: str) -> str:
    return "sys" if word in ("cta", "cluster", "gpu") else word


def with_text(test: KernelTest, change: object) -> KernelTest:
    """A test whose modules are changed."""
    assert callable(change)
    return replace(test, launches=tuple(replace(one, text=change(one.text)) for one in test.launches), text="")


def may_have_more(test: KernelTest) -> bool:
    """Whether nobody in the kernels asks how many threads there are."""
    text = "".join(one.text for one in test.launches)
    asks = r"%n(tid|ctaid|clusterid)|%cluster|%is_explicit|%envreg|%total|%nwarpid|maxntid|reqntid|mbarrier|\.func"
    return not re.search(asks, text) and all(one.cluster in (None, (1, 1, 1)) for one in test.launches)


def with_more(test: KernelTest) -> KernelTest:
    """A test with a CTA more, and a thread more in each, all of which end at once."""
    launches = []
    for one in test.launches:
        (gx, gy, gz), (bx, by, bz) = one.grid, one.block
        leave = (
            "{ .reg .b32 %cta_, %thread_; .reg .pred %over_; mov.u32 %cta_, %ctaid.x; mov.u32 %thread_, %tid.x;\n"
            f"setp.ge.u32 %over_, %cta_, {gx}; @%over_ exit; setp.ge.u32 %over_, %thread_, {bx}; @%over_ exit; }}\n"
        )
        head = re.search(rf"\.entry\s+{re.escape(one.entry)}\b[^{{]*\{{", one.text)
        assert head is not None
        text = one.text[: head.end()] + "\n" + leave + one.text[head.end() :]
        launches.append(replace(one, text=text, grid=(gx + 1, gy, gz), block=(bx + 1, by, bz)))
    return replace(test, launches=tuple(launches), text="")
