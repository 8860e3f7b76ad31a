"""Directives and pragmas (PTX ISA 9.0, chapters 11 and 12) as data: what each needs, and when it was removed.

Their syntax and the places where they stand are in `ptxcore.syntax.directives`.
"""

from __future__ import annotations

from ptxcore.isa.difference import Difference
from ptxcore.records import NamedTuple


class DirectiveEntry(NamedTuple):
    """`gate`: the PTX version and target that it needs with ptxas (`ptxcore.isa.targets.gates`); `manual_gate` where the
    manual says otherwise. `gone`: the version that removed it, which the manual may not say (`gone_by_manual`)."""

    section: str
    gate: str = "1.0"
    manual_gate: str = ""
    gone: tuple[int, int] | None = None
    gone_by_manual: bool = False


_E = DirectiveEntry

#: By name, without the dot.
DIRECTIVES = {
    "version": _E("11.1.1"),
    "target": _E("11.1.2"),
    "address_size": _E("11.1.3", "2.3"),
    "entry": _E("11.2.1"),
    "func": _E("11.2.2"),
    "alias": _E("11.2.3", "6.3 sm_30"),
    "branchtargets": _E("11.3.1", "6.0 sm_30", "2.1 sm_20"),
    "calltargets": _E("11.3.2", "2.1 sm_20"),
    "callprototype": _E("11.3.3", "2.1 sm_20"),
    "maxnreg": _E("11.4.1", "1.3"),
    "maxntid": _E("11.4.2", "1.3"),
    "reqntid": _E("11.4.3", "2.1"),
    "minnctapersm": _E("11.4.4", "2.0"),
    "maxnctapersm": _E("11.4.5", "1.3", gone=(2, 1)),
    "noreturn": _E("11.4.6", "6.4 sm_30"),
    "pragma": _E("11.4.7", "2.0"),
    "abi_preserve": _E("11.4.8", "9.0 sm_80"),
    "abi_preserve_control": _E("11.4.9", "9.0 sm_80"),
    "@@DWARF": _E("11.5.1", "1.2", gone=(2, 0)),
    "section": _E("11.5.2", "2.0"),
    "file": _E("11.5.3"),
    "loc": _E("11.5.4"),
    "extern": _E("11.6.1"),
    "visible": _E("11.6.2"),
    "weak": _E("11.6.3", "3.1"),
    "common": _E("11.6.4", "5.0", "5.0 sm_20"),
    "reqnctapercluster": _E("11.7.1", "7.8 sm_90"),
    "explicitcluster": _E("11.7.2", "7.8 sm_90"),
    "maxclusterrank": _E("11.7.3", "7.8 sm_90"),
    "blocksareclusters": _E("11.8.1", "9.0 sm_90"),
}


class Pragma(NamedTuple):
    """A pragma string by its first word; `number`: a number follows."""

    section: str
    gate: str
    manual_gate: str = ""
    only_in_functions: bool = False
    number: bool = False


PRAGMAS = {
    "nounroll": Pragma("12.1", "2.0"),
    "used_bytes_mask": Pragma("12.2", "8.3", "8.3 sm_50", only_in_functions=True, number=True),
    "enable_smem_spilling": Pragma("12.3", "8.7 sm_75", "9.0 sm_75", only_in_functions=True),
    "frequency": Pragma("12.4", "9.0", number=True),
}

DIFFERENCES = (
    Difference(
        "11.3.1",
        "`.branchtargets` needs PTX ISA 6.0 and sm_30, as `brx.idx` does.",
        "It needs PTX ISA 2.1 and sm_20.",
    ),
    Difference(
        "11.4.5",
        "`.maxnctapersm` is gone since PTX ISA 2.1.",
        "It is deprecated since PTX ISA 2.0.",
    ),
    Difference(
        "11.5.1",
        "`@@DWARF` is gone since PTX ISA 2.0.",
        "It is deprecated since PTX ISA 2.0.",
    ),
    Difference(
        "11.5.3",
        "`.file` takes a time without a size. The checker wants both or neither.",
        "Both or neither are given.",
        checked=False,
    ),
    Difference(
        "11.6.4",
        "`.common` is taken for every target.",
        "It needs sm_20.",
    ),
    Difference(
        "12.3",
        "The pragma `enable_smem_spilling` is known from PTX ISA 8.7 on.",
        "It came with PTX ISA 9.0.",
    ),
    Difference(
        "4.5.1",
        "Integers somewhat above 64 bits, such as 2^64, are taken. The checker refuses them.",
        "Integers have 64 bits.",
        checked=False,
    ),
    Difference(
        "7.1",
        "A function may be declared within the body of another. The checker refuses it.",
        "Functions are declared at module level.",
        checked=False,
    ),
    Difference(
        "12",
        "`.pragma` may stand in the head of a function without a body. The checker takes it in heads of kernels.",
        "It stands in the heads of kernels.",
        checked=False,
    ),
)
