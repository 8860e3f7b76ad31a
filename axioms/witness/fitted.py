"""What is certain of a program before anything is decided: see `axioms.cat.nodes.Facts`."""

from __future__ import annotations

from axioms.cat.model import Facts, Model
from axioms.cat.names import BASE
from axioms.cat.specialise import specialised
from axioms.program import Program, members_by_tag

#: Relations that the engines provide, each with the sets without which it is empty.
_NEEDS = {
    "sync_fence": ("SC",),
    "syncbar": ("BA", "BW"),
    "sync_barrier": ("BA", "BW"),
    "again": ("BA",),
    "mbo": ("MB",),
    "mbrf": ("MA", "MW"),
    "denied": ("REFUSED",),
    "issue": ("I", "ASY"),
    "comp": ("ASY",),
    "covers": ("RESTRICT",),
}
#: Relations that may be there in any program.
_OPEN = frozenset({"rf", "co", "fr", "addr", "data", "ctrl", "po-loc"})
_PROXIES = ("GEN", "SUR", "TEX", "CON", "ASYNC", "TMAP")


def facts_of(program: Program) -> Facts:
    members, relations = members_by_tag(program), program.relations
    empty = {name for name, base in BASE.items() if base.kind == "set" and name != "_" and not members.get(name)}
    for name, base in BASE.items():
        if base.kind == "relation" and name not in _OPEN:
            rows = relations.get(name)
            needed = _NEEDS.get(name)
            if not any(rows or ()) if needed is None else any(n in empty for n in needed):
                empty.add(name)
    if members.get("SC", 0).bit_count() < 2:
        empty.add("sync_fence")
    if members.get("BA", 0).bit_count() == members.get("BW", 0).bit_count():
        empty.add("again")  # each arrival waits
    same = (("vloc", "loc"),) if relations["vloc"] == relations["loc"] else ()
    memory = members.get("M", 0)
    full = frozenset(p for p in _PROXIES if members.get(p, 0) & memory == memory)
    return Facts(frozenset(empty), same, full, "TORN" in empty)


def fitted(model: Model, program: Program, flags: frozenset[str]) -> Model:
    """`model` for this program: simplified, with those of its flags that are asked for."""
    return specialised(model, Facts() if "specialise" in program.off else facts_of(program), flags)
