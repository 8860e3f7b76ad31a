"""What every model of the herd family may use without defining it, beside the base names: relations made of those, functions of
the standard library, and the files that it may include without having them.

Functions and files are written in the language itself, and are read where a model needs them.
"""

from __future__ import annotations

from collections.abc import Callable

from axioms.cat.nodes import RELATION, SET, Builder, Node
from ptxcore.records import NamedTuple


class Derived(NamedTuple):
    """A set or a relation that is made of others; `meaning` is for the documentation."""

    kind: str
    meaning: str
    build: Callable[[Builder], Node]


def _and(a: str, b: str) -> Callable[[Builder], Node]:
    return lambda builder: builder.intersection([builder.base(a), builder.base(b)])


def _final(b: Builder) -> Node:
    return b.difference(b.base("FINAL"), b.domain(b.base("co")))


def _certain_coherence(b: Builder) -> Node:
    writes, initial, last = b.base("W"), b.base("IW"), _final(b)
    first = b.product(initial, b.difference(writes, initial))
    end = b.product(b.difference(writes, last), last)
    return b.intersection([b.base("loc"), b.union([first, end])])


DERIVED: dict[str, Derived] = {
    "rfe": Derived(RELATION, "`rf & ext`", _and("rf", "ext")),
    "rfi": Derived(RELATION, "`rf & int`", _and("rf", "int")),
    "coe": Derived(RELATION, "`co & ext`", _and("co", "ext")),
    "coi": Derived(RELATION, "`co & int`", _and("co", "int")),
    "fre": Derived(RELATION, "`fr & ext`", _and("fr", "ext")),
    "fri": Derived(RELATION, "`fr & int`", _and("fr", "int")),
    "FW": Derived(
        SET,
        "the last write of each location in `FINAL`; where a model speaks of it, `co` is total at each location",
        _final,
    ),
    "co0": Derived(
        RELATION,
        "from initial writes to the others of their location, and from those to the last one, see `FW`",
        _certain_coherence,
    ),
    "X": Derived(SET, "`RMW`", lambda b: b.base("RMW")),
    "amo": Derived(RELATION, "`rmw`: atomic operations here are one instruction", lambda b: b.base("rmw")),
    "lxsx": Derived(
        RELATION, "empty: there are no load-exclusive and store-exclusive here", lambda b: b.empty(RELATION)
    ),
    "sm": Derived(RELATION, "`[M]`: an access is one event here, whatever its size", lambda b: b.identity(b.base("M"))),
    "si": Derived(RELATION, "`sm`", lambda b: b.identity(b.base("M"))),
    "depend": Derived(RELATION, "`addr | data`", lambda b: b.union([b.base("addr"), b.base("data")])),
    "SPEC": Derived(SET, "empty: nothing is executed on trial here", lambda b: b.empty(SET)),
    "EXEC": Derived(SET, "every event that is executed", lambda b: b.base("_")),
    "LKW": Derived(SET, "empty: locks are programs here", lambda b: b.empty(SET)),
}
#: Those for which `co` has to be total.
OF_TOTAL_ORDERS = frozenset({"FW", "co0"})

#: Names of herd's that cannot mean anything here, and why.
_REGISTERS = "there are no events of registers here"
_SCOPES = "scopes are `sr`, `scta` and the sets CTA, CLUSTER, GPU and SYS here"
_FENCES = "it is a fence of another instruction set; fences are in F here, and in SC, ACQ_REL, ACQ or REL"
_TAGS = "instructions have no tags here: what they say is in sets, as ACQ"
MEANINGLESS = {
    **dict.fromkeys(
        ["iico_data", "iico_ctrl", "rf-reg", "same-instr", "same-static", "same-instance", "equiv-spec", "success", "control",
         "instr", "DATA", "NDATA", "PoD", "C"],
        _REGISTERS,
    ),
    **dict.fromkeys(["tag2scope", "tag2level", "nextlevel"], _SCOPES),
    **dict.fromkeys(["tag2events", "tag2instrs", "tag2fenced"], _TAGS),
    **dict.fromkeys(["MFENCE", "SFENCE", "LFENCE", "SYNC", "LWSYNC", "EIEIO", "ISYNC", "ISB", "DMB", "DSB", "DMB.SY", "DMB.ST",
                     "DMB.LD", "DSB.SY", "DSB.ST", "DSB.LD", "DMB.ISH", "DSB.ISH"], _FENCES),
    **dict.fromkeys([f"Fence.{a}.{b}" for a in ("r", "w", "rw") for b in ("r", "w", "rw")], _FENCES),
    **dict.fromkeys(["ctrlisb", "ctrlisync"], _FENCES),
    **dict.fromkeys(["A", "Q", "L"], "what acquires is in ACQ here, and what releases in REL"),
    **dict.fromkeys(["LS", "LK", "UL"], "locks are programs here"),
}  # fmt: skip

#: Functions that the language has, and what they take.
PRIMITIVES = frozenset(
    [
        "domain",
        "range",
        "toid",
        "fencerel",
        "classes",
        "classes-loc",
        "partition",
        "linearisations",
        "bisimulation",
        "lift",
        "delift",
        "deliftinter",
        "fromto",
        "different-values",
        "loc2events",
        "fail",
        "cross",
        "co_locs",
        "generate_orders",
        "generate_cos",
    ]
)

#: Functions and procedures of the standard library, by name.
FUNCTIONS = {
    "ctrlcfence": "let ctrlcfence(S) = (ctrl & (_ * S)); po",
    "imply": "let imply(a, b) = ~a | b",
    "nodetour": "let nodetour(a, b, c) = a \\ (b; c)",
    "singlestep": "let singlestep(r) = r \\ (r; r)",
    "udr": "let udr(r) = domain(r) | range(r)",
    "map": "let map = fun f -> let rec each s = match s with || {} -> {} || x ++ rest -> f x ++ each rest end in each",
    "subseteq": "procedure subseteq(a, b) = empty a \\ b end",
    "inclusion": "procedure inclusion(a, b) = empty a \\ b end",
    "total": "procedure total(r, s) = empty (s * s) \\ (r | r^-1) end",
}

_COHERENCE = """
let invrf = rf^-1
with co from generate_cos(co0)
let coi = co & int
let coe = co \\ coi
let fr = (invrf; co) \\ id
let fri = fr & int
let fre = fr \\ fri
show co, fr
"""
_FILTERED = ["WW", "WR", "RW", "RR", "RM", "MR", "WM", "MW", "MM", "AA", "AP", "PA", "PP", "AM", "MA"]
_FILTERS = "\n".join(
    [
        "let A = (try X with {}) | (try A with {})",
        "let P = M \\ A",
        *[f"let {name}(r) = r & ({name[0]} * {name[1]})" for name in _FILTERED],
        "let noid(r) = r \\ id",
        "let invrf = rf^-1",
        "let atom = [A]",
    ]
)

#: Files that a model may include without having them: those of herd that define what they say here too.
FILES = {
    "stdlib.cat": "",
    "basic.cat": "",
    "fences.cat": "",
    "cross.cat": "",
    "ncross.cat": "",
    "cos.cat": _COHERENCE,
    "ncos.cat": _COHERENCE,
    "cos-opt.cat": _COHERENCE,
    "filters.cat": _FILTERS,
}
