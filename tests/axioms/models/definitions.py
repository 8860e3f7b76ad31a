"""The models written down a second time, over one concrete execution: sets of pairs and plain loops, no cat.

Each function gives the names of the axioms that an execution breaks, and relations that it found on the way. They follow
the definitions (the manual's chapter 8 for ptx-9.0, the published Alloy models for the older two) and not our cat files,
so that one is a check on the other. Qualifiers are read off the instructions themselves, not off the tags that the engine
gives to events.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from axioms.cat.evaluate import bits
from axioms.program import Program
from axioms.witness.candidate import Candidate
from ptxcore.places import Placement
from ptxcore.syntax.tree import Instruction

Pair = tuple[int, int]
Pairs = frozenset[Pair] | set[Pair]

_PROXY_OF = {
    "suld": "surface",
    "sust": "surface",
    "suatom": "surface",
    "sured": "surface",
    "tld": "texture",
    "cold": "constant",
}
_SCOPES = ("cta", "cluster", "gpu", "sys")
_SEMANTICS = ("weak", "relaxed", "acquire", "release", "acq_rel", "sc")


@dataclass(frozen=True, slots=True)
class Op:
    """One operation. `kind`: R, W, F (memory fence), PF (proxy fence), BA and BW (halves of a barrier).

    `cell` is the physical location, `address` the virtual one; `place` is None for initial writes. `silent`: half of a
    reduction, or of an atomic operation whose result is thrown away.
    """

    index: int
    thread: int
    place: Placement | None
    kind: str
    semantics: str = "weak"
    scope: str | None = None
    proxy: str = ""
    cell: int = -1
    address: tuple[int, int] = (-1, -1)
    silent: bool = False

    @property
    def memory(self) -> bool:
        return self.kind in ("R", "W")

    @property
    def strong(self) -> bool:
        return self.kind == "F" or (self.memory and self.semantics != "weak")

    @property
    def acquires(self) -> bool:
        return self.kind == "R" and self.semantics in ("acquire", "acq_rel")

    @property
    def releases(self) -> bool:
        return self.kind == "W" and self.semantics in ("release", "acq_rel")

    @property
    def acquire_fence(self) -> bool:
        return self.kind == "F" and self.semantics in ("sc", "acq_rel", "acquire")

    @property
    def release_fence(self) -> bool:
        return self.kind == "F" and self.semantics in ("sc", "acq_rel", "release")


@dataclass(frozen=True, slots=True)
class Given:
    """An execution: what happened, who read from whom, and the orders that were chosen."""

    ops: dict[int, Op]
    po: Pairs
    rf: Pairs
    co: Pairs
    rmw: Pairs
    dep: Pairs
    sync_fence: Pairs
    syncbar: Pairs

    @property
    def same_location(self) -> set[Pair]:
        return related(self, lambda a, b: a.memory and b.memory and a.cell == b.cell)

    @property
    def fr(self) -> set[Pair]:
        """From each read to the writes that are coherence-after the one that it reads."""
        return {(r, after) for w, r in self.rf for before, after in self.co if before == w}


@dataclass(frozen=True, slots=True)
class Finding:
    """`broken` are the axioms that an execution breaks; `relations` some that the definition derives, by their names in cat."""

    broken: set[str]
    relations: dict[str, Pairs]


def qualifiers(instruction: Instruction) -> tuple[str, str | None]:
    """Semantics and scope as the manual gives them to an instruction, defaults included."""
    opcode, words = instruction.opcode, instruction.modifiers
    if opcode == "membar":
        return "sc", {"cta": "cta", "gl": "gpu", "sys": "sys"}[words[0]]
    if "volatile" in words or "mmio" in words:
        return "relaxed", "sys"
    semantics = next((w for w in words if w in _SEMANTICS), None)
    scope = next((w for w in words if w in _SCOPES), None)
    if opcode == "fence":
        return semantics or "acq_rel", scope
    if opcode in ("atom", "red", "suatom", "sured"):
        return semantics or "relaxed", scope or "gpu"
    return semantics or "weak", scope


def given(candidate: Candidate) -> Given:
    """What a candidate execution says, without what the engine derives from it."""
    program = candidate.program
    ops = dict(_operations(program, candidate.executed))
    base = candidate.evaluation.base

    def pairs(name: str) -> set[Pair]:
        rows = base[name]
        assert isinstance(rows, list)
        return {(i, j) for i, row in enumerate(rows) for j in bits(row)}

    events = program.events
    rmw = {
        (i, j)
        for i, a in ops.items()
        for j, b in ops.items()
        if a.kind == "R" and b.kind == "W" and events[i].effect is not None and events[i].effect is events[j].effect
    }
    po = {(i, j) for i, a in ops.items() for j, b in ops.items() if i < j and a.thread == b.thread and a.place}
    return Given(
        ops=ops,
        po=po,
        rf={(w, r) for r, ws in candidate.rf.items() for w in ws if r in ops},
        co=pairs("co"),
        rmw=rmw,
        dep=pairs("addr") | pairs("data") | pairs("ctrl") | rmw,
        sync_fence=pairs("sync_fence"),
        syncbar=pairs("syncbar"),
    )


def _operations(program: Program, executed: list[bool]) -> Iterable[tuple[int, Op]]:
    for e in program.events:
        if not executed[e.index]:
            continue
        address = (e.cell, e.mapping)
        if e.effect is None:
            yield e.index, Op(e.index, -1, None, "W", cell=e.cell, address=address)
            continue
        instruction, place = e.effect.instruction, program.threads[e.thread].place
        opcode, words = instruction.opcode, instruction.modifiers
        if opcode in ("bar", "barrier"):
            first = program.by_effect[e.thread][e.effect.index][0] is e
            yield e.index, Op(e.index, e.thread, place, "BA" if first else "BW")
        elif "proxy" in words:
            yield e.index, Op(e.index, e.thread, place, "PF", proxy=words[words.index("proxy") + 1])
        elif opcode in ("fence", "membar"):
            yield e.index, Op(e.index, e.thread, place, "F", *qualifiers(instruction))
        else:
            silent = opcode in ("red", "sured") or not e.effect.returns
            proxy = _PROXY_OF.get(opcode, "generic")
            semantics, scope = qualifiers(instruction)
            yield e.index, Op(e.index, e.thread, place, e.kind, semantics, scope, proxy, e.cell, address, silent)


# Relations.


def seq(*relations: Pairs) -> set[Pair]:
    """The composition."""
    result = set(relations[0])
    for relation in relations[1:]:
        after: dict[int, list[int]] = {}
        for a, b in relation:
            after.setdefault(a, []).append(b)
        result = {(a, c) for a, b in result for c in after.get(b, ())}
    return result


def plus(relation: Pairs) -> set[Pair]:
    """The transitive closure: from each element, everything that can be walked to."""
    after: dict[int, list[int]] = {}
    for a, b in relation:
        after.setdefault(a, []).append(b)
    result = set()
    for start in after:
        reached: set[int] = set()
        stack = list(after[start])
        while stack:
            x = stack.pop()
            if x not in reached:
                reached.add(x)
                stack += after.get(x, ())
        result |= {(start, x) for x in reached}
    return result


def cyclic(relation: Pairs) -> bool:
    return any(a == b for a, b in plus(relation))


def reflexive(relation: Pairs) -> bool:
    return any(a == b for a, b in relation)


def takes_in(scope: str | None, a: Placement, b: Placement) -> bool:
    """Whether the thread at b is in the scope of an operation of the thread at a."""
    if scope == "sys":
        return True
    if a.host or b.host:
        return a == b
    nested = {"cta": (a.cta == b.cta), "cluster": (a.cluster == b.cluster), "gpu": (a.gpu == b.gpu)}
    return scope is not None and nested[scope]


def same_block(a: Op, b: Op) -> bool:
    if a.place is None or b.place is None:
        return False
    return a.thread == b.thread or (not a.place.host and not b.place.host and a.place.cta == b.place.cta)


def strong_scopes(a: Op, b: Op) -> bool:
    """Each operation is strong and its scope takes in the other's thread."""
    if a.place is None or b.place is None or not (a.strong and b.strong):
        return False
    return takes_in(a.scope, a.place, b.place) and takes_in(b.scope, b.place, a.place)


def related(g: Given, condition: Callable[[Op, Op], bool]) -> set[Pair]:
    return {(i, j) for i, a in g.ops.items() for j, b in g.ops.items() if condition(a, b)}


def _coherence(g: Given, cause: Pairs, ms: Pairs) -> set[str]:
    """co is a strict order that has what causality demands and decides between all morally strong writes."""
    ops = g.ops
    broken = set()
    for i, j in cause:
        if ops[i].kind == ops[j].kind == "W" and ops[i].cell == ops[j].cell and (i, j) not in g.co:
            broken.add("coherence")
    for i, j in ms:
        a, b = ops[i], ops[j]
        if a.kind == b.kind == "W" and a.cell == b.cell and i != j and (i, j) not in g.co and (j, i) not in g.co:
            broken.add("coherence-total")
    return broken


# PTX 9.0: chapter 8 of the manual.


def ptx_9_0(g: Given) -> Finding:
    ops = g.ops

    # 8.7. Fences have no proxy and no location, so the second and third conditions are for memory operations.
    def morally_strong(a: Op, b: Op) -> bool:
        if a.index == b.index or a.place is None or b.place is None:
            return False
        if a.thread != b.thread and not strong_scopes(a, b):
            return False
        return not (a.memory and b.memory) or (a.proxy == b.proxy and a.address == b.address)

    ms = related(g, morally_strong)

    # 8.8. A pattern is the pair of its first and its last operation.
    release: set[Pair] = {(i, i) for i, a in ops.items() if a.releases}
    acquire: set[Pair] = {(i, i) for i, a in ops.items() if a.acquires}
    for i, j in g.po:
        a, b = ops[i], ops[j]
        same = a.memory and b.memory and a.address == b.address and a.proxy == b.proxy
        if b.kind == "W" and b.strong and ((a.releases and same) or a.release_fence):
            release.add((i, j))
        if a.kind == "R" and a.strong and not a.silent and ((b.acquires and same) or b.acquire_fence):
            acquire.add((i, j))

    # 8.9.2. W before Z before R: an atomic operation is written to by its read and read from by its write.
    obs = g.rf & ms
    while True:
        longer = obs | seq(obs, g.rmw, obs)
        if longer == obs:
            break
        obs = longer

    # 8.9.3 to 8.9.5
    sync = seq(release, obs, acquire) & ms
    sc = {(i, j) for i, j in g.sync_fence if (i, j) in ms}
    bars = {(i, j) for i, j in g.syncbar if same_block(ops[i], ops[j])}
    bc = plus(g.po | sync | sc | bars)
    ppbc = _by_domains(g, bc)
    from_init = {
        (i, j) for i, a in ops.items() for j, b in ops.items() if a.place is None and b.place and b.cell == a.cell
    }
    cause = ppbc | seq(obs, ppbc)
    found = {"ms": ms, "obs": obs, "sync": sync, "causality-base": bc, "ppbc": ppbc, "cause": cause}
    cause = cause | from_init

    # 8.10
    broken = _coherence(g, cause, ms)
    if reflexive(bc):
        broken.add("fence-sc")
    for r, w in g.rmw:
        for x in ops:
            if (r, x) in g.fr and (x, w) in g.co and (x, r) in ms:
                broken.add("atomicity")
    if cyclic(g.rf | g.dep):
        broken.add("no-thin-air")
    if any((r, w) in cause for w, r in g.rf) or any((w, r) in cause for r, w in g.fr):
        broken.add("causality")
    return Finding(broken, found)


Domain = tuple[str, tuple[int, int], int | None]


def _by_domains(g: Given, bc: Pairs) -> set[Pair]:
    """Proxy-preserved base causality: walks along base causality, and what each proxy fence on the way does to the domain in
    which the first access is visible. A domain is a proxy, a virtual address and, but for the generic proxy, a CTA.
    """

    def domain(a: Op) -> Domain:
        assert a.place is not None
        if a.proxy == "generic":
            return "generic", a.address, None
        return a.proxy, a.address, -1 - a.thread if a.place.host else a.place.cta

    after: dict[int, list[int]] = {}
    for i, j in bc:
        after.setdefault(i, []).append(j)
    addresses = {a.address for a in g.ops.values() if a.memory and a.place}

    def moves(fence: Op, d: Domain) -> list[Domain]:
        assert fence.place is not None
        proxy, address, cta = d
        if fence.proxy == "alias":
            return [("generic", v, None) for v in addresses if v[0] == address[0]] if proxy == "generic" else []
        here = -1 - fence.thread if fence.place.host else fence.place.cta
        if proxy == "generic" and fence.proxy != "generic":
            return [(fence.proxy, address, here)]
        if proxy == fence.proxy and cta == here:
            return [("generic", address, None)]
        return []

    found = set()
    for x, a in g.ops.items():
        if not a.memory or a.place is None:
            continue
        seen: set[tuple[int, Domain]] = set()
        stack: list[tuple[int, Domain]] = [(x, domain(a))]
        while stack:
            at, d = stack.pop()
            for y in after.get(at, ()):
                b = g.ops[y]
                if b.memory and domain(b) == d:
                    found.add((x, y))
                if b.kind == "PF":
                    for new in moves(b, d):
                        if (y, new) not in seen:
                            seen.add((y, new))
                            stack.append((y, new))
    return found


# PTX 7.5: the Alloy model of ISCA'22, its fences exempt from the same-proxy condition.


def ptx_7_5(g: Given) -> Finding:
    ops = g.ops

    # A weak operation has the scope of its own thread.
    def strong_r(a: Op, b: Op) -> bool:
        if a.index == b.index or a.place is None or b.place is None:
            return False
        if a.thread != b.thread and not strong_scopes(a, b):
            return False
        return not (a.memory and b.memory) or (a.proxy == b.proxy and a.address == b.address)

    strong = related(g, strong_r)
    same_address = related(g, lambda a, b: a.memory and b.memory and a.address == b.address)
    same_location = g.same_location
    itself = {(i, i) for i in ops}
    po_loc = g.po & same_address

    release = {
        (i, j)
        for i, j in po_loc | itself | g.po
        if ops[j].kind == "W" and (ops[i].release_fence or (ops[i].releases and (i, j) in po_loc | itself))
    }
    acquire = {
        (i, j)
        for i, j in po_loc | itself | g.po
        if ops[i].kind == "R" and (ops[j].acquire_fence or (ops[j].acquires and (i, j) in po_loc | itself))
    }
    observation = (g.rf & strong) | g.rmw
    sync = seq(release, plus(observation), acquire) & strong
    sc = {(i, j) for i, j in g.sync_fence if (i, j) in strong}
    bars = {(i, j) for i, j in g.syncbar if same_block(ops[i], ops[j])}
    cb = plus(g.po | sync | sc | bars)

    # The nine cases: no fence; a proxy fence for the source, for the destination, for both; each with an alias fence or
    # without.
    generic = {(i, i) for i, a in ops.items() if a.memory and a.proxy == "generic"}
    alias = {(i, i) for i, a in ops.items() if a.kind == "PF" and a.proxy == "alias"}
    to_fence = {(i, j) for i, j in cb if _works_on(ops[j], ops[i])}
    from_fence = {(i, j) for i, j in cb if _works_on(ops[i], ops[j])}
    same_proxy = {
        (i, j) for i, j in cb if ops[i].memory and ops[i].proxy == ops[j].proxy and same_block(ops[i], ops[j])
    }
    ppcb = same_address & (
        seq(generic, cb, generic)
        | same_proxy
        | seq(to_fence, cb, generic)
        | seq(generic, cb, from_fence)
        | seq(to_fence, cb, from_fence)
    ) | same_location & (
        seq(generic, cb, alias, cb, generic)
        | seq(to_fence, cb, alias, cb, generic)
        | seq(generic, cb, alias, cb, from_fence)
        | seq(to_fence, cb, alias, cb, from_fence)
    )
    cause = ppcb | seq(observation, ppcb)

    broken = _coherence(g, cause, strong)
    # The Alloy axiom relates fences by a relation of memory operations, so it says nothing. Over base causality it
    # forbids no more outcomes (turn the order around where it contradicts), and then it is the axiom that is meant.
    if any((j, i) in cb for i, j in sc):
        broken.add("fence-sc")
    if seq(g.fr & strong, g.co & strong) & g.rmw:
        broken.add("atomicity")
    if cyclic(g.rf | g.dep):
        broken.add("no-thin-air")
    if reflexive(cause) or any(reflexive(seq(com, cause)) for com in (g.rf, g.fr)):
        broken.add("causality")
    if reflexive(seq(g.co, cause)):
        broken.add("coherence")  # what this part of the causality axiom comes to
    return Finding(broken, {"causality-base": cb - g.po, "ppbc": ppcb - g.po})


def _works_on(fence: Op, access: Op) -> bool:
    """Whether a proxy fence works on an access: one through the proxy that it names, in its own CTA."""
    if fence.kind != "PF" or not access.memory or access.proxy == "generic":
        return False
    return fence.proxy == access.proxy and same_block(fence, access)


# PTX 6.0: the Alloy model of ASPLOS'19, without its part that takes a barrier for a fence.


def ptx_6_0(g: Given) -> Finding:
    ops = g.ops

    # No condition on locations: wherever it is used, the locations are the same already.
    def strong_r(a: Op, b: Op) -> bool:
        return a.place is not None and b.place is not None and (a.thread == b.thread or strong_scopes(a, b))

    strong = related(g, strong_r)
    same_location = g.same_location
    po_loc = g.po & same_location
    po_loc_or_same = po_loc | {(i, i) for i in ops}

    prefix = {(i, j) for i, j in po_loc_or_same if ops[i].releases and ops[j].kind == "W"}
    prefix |= {(i, j) for i, j in g.po if ops[i].release_fence and ops[j].kind == "W"}
    suffix = {(i, j) for i, j in po_loc_or_same if ops[i].kind == "R" and ops[j].acquires}
    suffix |= {(i, j) for i, j in g.po if ops[i].kind == "R" and ops[j].acquire_fence}
    observation = g.rf & strong
    while not seq(observation, g.rmw, observation) <= observation:
        observation |= seq(observation, g.rmw, observation)
    sync = seq(prefix, observation, suffix) & strong
    sc = {(i, j) for i, j in g.sync_fence if (i, j) in strong}
    bars = {(i, j) for i, j in g.syncbar if same_block(ops[i], ops[j])}
    po_or_same = g.po | {(i, i) for i in ops}
    cause_base = plus(seq(po_or_same, sync | sc | bars, po_or_same))
    cause = cause_base | seq(observation, po_loc | cause_base)

    broken = _coherence(g, cause, strong)
    if cyclic(g.rf | g.dep):
        broken.add("no-thin-air")
    if cyclic(((g.rf | g.co | g.fr) & strong) | po_loc):
        broken.add("sc-per-location")
    if seq(g.fr & strong, g.co & strong) & g.rmw:
        broken.add("atomicity")
    if reflexive(cause) or reflexive(seq(g.rf | g.fr, cause)):
        broken.add("causality")
    return Finding(broken, {"causality-base": cause_base - g.po, "cause": (cause & same_location) - g.po})


DEFINITIONS: dict[str, Callable[[Given], Finding]] = {
    "ptx-6.0": ptx_6_0,
    "ptx-7.5": ptx_7_5,
    "ptx-9.0": ptx_9_0,
}
