"""The verdicts that pin the clauses of the models, as a table.

Each pin is a program with one outcome that a model allows or forbids. Programs are written thread by thread, `//`
between the threads and `;` between instructions; the outcome is a proposition of the litmus format. A place is the
(gpu, cluster, cta) of a thread, each number unique over the whole system. A verdict is `allow`, `forbid`, or `n/a`
where the model has no such feature.
"""

from __future__ import annotations

from dataclasses import dataclass

Place = tuple[int, int, int]  # gpu, cluster, cta
MODELS = ("ptx-6.0", "ptx-7.5", "ptx-9.0")

# Where the threads of a pin are.
ALONE: tuple[Place, ...] = ((0, 0, 0),)
SAME_CTA: tuple[Place, ...] = ((0, 0, 0), (0, 0, 0))
SAME_CLUSTER: tuple[Place, ...] = ((0, 0, 0), (0, 0, 1))
OTHER_CLUSTER: tuple[Place, ...] = ((0, 0, 0), (0, 1, 2))
OTHER_GPU: tuple[Place, ...] = ((0, 0, 0), (1, 2, 3))
THREE: tuple[Place, ...] = ((0, 0, 0), (0, 0, 1), (0, 1, 2))


@dataclass(frozen=True, slots=True)
class Pin:
    """One outcome of one program and what each model says of it."""

    name: str
    about: str
    places: tuple[Place, ...]
    program: str
    outcome: str
    ptx_9_0: str
    ptx_6_0: str
    ptx_7_5: str
    aliases: tuple[tuple[str, str], ...] = ()

    def verdict(self, model: str) -> str:
        """`allow`, `forbid` or `n/a` under a model that ships."""
        return {"ptx-6.0": self.ptx_6_0, "ptx-7.5": self.ptx_7_5, "ptx-9.0": self.ptx_9_0}[model]

    def litmus(self) -> str:
        """The pin as a litmus test whose `exists` asks for the outcome."""
        threads = self.program.split(" // ")
        if len(threads) != len(self.places):
            raise ValueError(f"{self.name}: {len(threads)} threads, {len(self.places)} places")
        variables = sorted(name for name in ("x", "y", "f", "g") if f"[{name}]" in self.program)
        aliases = dict(self.aliases)
        declarations = [f"{name} = 0;" for name in variables if name not in aliases]
        declarations += [f"{alias} @ generic aliases {location};" for alias, location in self.aliases]
        blocks = [
            f"P{number}@cta {cta},cluster {cluster},gpu {gpu} {{ {code}; }}"
            for number, ((gpu, cluster, cta), code) in enumerate(zip(self.places, threads, strict=True))
        ]
        head = [f"PTX {self.name}", f'"{self.about}"', f"{{ {' '.join(declarations)} }}"]
        return "\n".join([*head, *blocks, f"exists ({self.outcome})", ""])


_A, _F, _NA = "allow", "forbid", "n/a"

# fmt: off
PINS: tuple[Pin, ...] = (
    Pin("M1", "atomicity 1: two increments of .sys scope lose nothing", SAME_CLUSTER,
        "atom.relaxed.sys.inc.u32 %r0, [x], 0xffffffff // atom.relaxed.sys.inc.u32 %r0, [x], 0xffffffff",
        "x != 2", _F, _F, _F),
    Pin("M2", "atomicity 2: scopes too narrow for each other", SAME_CLUSTER,
        "atom.relaxed.cta.inc.u32 %r0, [x], 0xffffffff // atom.relaxed.gpu.inc.u32 %r0, [x], 0xffffffff",
        "x = 1", _A, _A, _A),
    Pin("M3", "load buffering with data dependencies", SAME_CLUSTER,
        "ld.weak.u32 %r0, [x]; st.weak.u32 [y], %r0 // ld.weak.u32 %r1, [y]; st.weak.u32 [x], %r1",
        r"x != 0 \/ y != 0", _F, _F, _F),
    Pin("M4", "CoRR, relaxed.sys", SAME_CLUSTER,
        "st.relaxed.sys.u32 [x], 1 // ld.relaxed.sys.u32 %r0, [x]; ld.relaxed.sys.u32 %r1, [x]",
        r"1:%r0 = 1 /\ 1:%r1 = 0", _F, _F, _F),
    Pin("M5", "message passing with fence.sys", OTHER_GPU,
        "st.weak.u32 [x], 1; fence.sys; st.relaxed.sys.u32 [f], 1 // "
        "ld.relaxed.sys.u32 %r0, [f]; fence.sys; ld.weak.u32 %r1, [x]",
        r"1:%r0 = 1 /\ 1:%r1 = 0", _F, _F, _F),
    Pin("M6", "CoWR through an alias, with an alias fence", ALONE,
        "st.weak.u32 [x], 1; fence.proxy.alias; ld.weak.u32 %r1, [y]",
        "0:%r1 = 0", _F, _NA, _F, aliases=(("y", "x"),)),
    Pin("M6b", "CoWR through an alias, without a fence", ALONE,
        "st.weak.u32 [x], 1; ld.weak.u32 %r1, [y]",
        "0:%r1 = 0", _A, _NA, _A, aliases=(("y", "x"),)),
    Pin("M7", "store buffering with fence.sc.sys", OTHER_GPU,
        "st.weak.u32 [x], 1; fence.sc.sys; ld.weak.u32 %r0, [y] // "
        "st.weak.u32 [y], 1; fence.sc.sys; ld.weak.u32 %r1, [x]",
        r"0:%r0 = 0 /\ 1:%r1 = 0", _F, _F, _F),
    Pin("M7b", "store buffering with fence.acq_rel.sys", OTHER_GPU,
        "st.weak.u32 [x], 1; fence.acq_rel.sys; ld.weak.u32 %r0, [y] // "
        "st.weak.u32 [y], 1; fence.acq_rel.sys; ld.weak.u32 %r1, [x]",
        r"0:%r0 = 0 /\ 1:%r1 = 0", _A, _A, _A),
    Pin("M8", "a reduction forms no acquire pattern since 9.0", SAME_CLUSTER,
        "st.weak.u32 [x], 42; st.release.gpu.u32 [f], 1 // "
        "red.relaxed.sys.add.u32 [f], 1; fence.acquire.gpu; ld.weak.u32 %r1, [x]",
        r"1:%r1 = 0 /\ f = 2", _A, _F, _F),
    Pin("M8b", "an atom in place of the reduction does", SAME_CLUSTER,
        "st.weak.u32 [x], 42; st.release.gpu.u32 [f], 1 // "
        "atom.relaxed.sys.add.u32 %r0, [f], 1; fence.acquire.gpu; ld.weak.u32 %r1, [x]",
        r"1:%r1 = 0 /\ 1:%r0 = 1", _F, _F, _F),
    Pin("P01", "load buffering, relaxed, no dependency", SAME_CLUSTER,
        "ld.relaxed.gpu.u32 %r0, [x]; st.relaxed.gpu.u32 [y], 1 // "
        "ld.relaxed.gpu.u32 %r1, [y]; st.relaxed.gpu.u32 [x], 1",
        r"0:%r0 = 1 /\ 1:%r1 = 1", _A, _A, _A),
    Pin("P02", "load buffering, a data dependency on one side", SAME_CLUSTER,
        "ld.relaxed.gpu.u32 %r0, [x]; st.relaxed.gpu.u32 [y], %r0 // "
        "ld.relaxed.gpu.u32 %r1, [y]; st.relaxed.gpu.u32 [x], 1",
        r"0:%r0 = 1 /\ 1:%r1 = 1", _A, _A, _A),
    Pin("P04", "load buffering, acquire and release", SAME_CLUSTER,
        "ld.acquire.gpu.u32 %r0, [x]; st.release.gpu.u32 [y], 1 // "
        "ld.acquire.gpu.u32 %r1, [y]; st.release.gpu.u32 [x], 1",
        r"0:%r0 = 1 /\ 1:%r1 = 1", _F, _F, _F),
    Pin("P05", "CoRR, two weak reads of a relaxed store", SAME_CLUSTER,
        "st.relaxed.gpu.u32 [x], 1 // ld.weak.u32 %r0, [x]; ld.weak.u32 %r1, [x]",
        r"1:%r0 = 1 /\ 1:%r1 = 0", _A, _A, _A),
    Pin("P07", "CoRR, weak then relaxed", SAME_CLUSTER,
        "st.relaxed.gpu.u32 [x], 1 // ld.weak.u32 %r0, [x]; ld.relaxed.gpu.u32 %r1, [x]",
        r"1:%r0 = 1 /\ 1:%r1 = 0", _A, _A, _A),
    Pin("P08", "CoWW, weak, in one thread", ALONE,
        "st.weak.u32 [x], 1; st.weak.u32 [x], 2",
        "x = 1", _F, _F, _F),
    Pin("P09b", "two observers cannot disagree on two relaxed stores", ((0, 0, 0), (0, 0, 1), (0, 1, 2), (1, 2, 3)),
        "st.relaxed.sys.u32 [x], 1 // st.relaxed.sys.u32 [x], 2 // "
        "ld.acquire.sys.u32 %r0, [x]; ld.acquire.sys.u32 %r1, [x] // "
        "ld.acquire.sys.u32 %r2, [x]; ld.acquire.sys.u32 %r3, [x]",
        r"2:%r0 = 1 /\ 2:%r1 = 2 /\ 3:%r2 = 2 /\ 3:%r3 = 1", _F, _F, _F),
    Pin("P10", "release pattern, case 2", SAME_CLUSTER,
        "st.weak.u32 [y], 1; st.release.sys.u32 [x], 1; st.relaxed.sys.u32 [x], 2 // "
        "ld.relaxed.sys.u32 %r1, [x]; fence.acq_rel.sys; ld.weak.u32 %r3, [y]",
        r"1:%r1 = 2 /\ 1:%r3 = 0", _F, _F, _F),
    Pin("P10c", "release pattern, case 2, but the trailing store is weak", SAME_CLUSTER,
        "st.weak.u32 [y], 1; st.release.sys.u32 [x], 1; st.weak.u32 [x], 2 // "
        "ld.acquire.sys.u32 %r1, [x]; ld.weak.u32 %r3, [y]",
        r"1:%r1 = 2 /\ 1:%r3 = 0", _A, _A, _A),
    Pin("P11", "the fence is too narrow", SAME_CLUSTER,
        "st.weak.u32 [x], 1; fence.acq_rel.cta; st.relaxed.gpu.u32 [f], 1 // "
        "ld.acquire.gpu.u32 %r0, [f]; ld.weak.u32 %r1, [x]",
        r"1:%r0 = 1 /\ 1:%r1 = 0", _A, _A, _A),
    Pin("P11c", "different scopes, each inclusive", SAME_CTA,
        "st.weak.u32 [x], 1; st.release.cta.u32 [f], 1 // ld.acquire.sys.u32 %r0, [f]; ld.weak.u32 %r1, [x]",
        r"1:%r0 = 1 /\ 1:%r1 = 0", _F, _F, _F),
    Pin("P12", "fence.sc is a release fence", SAME_CLUSTER,
        "st.weak.u32 [x], 1; fence.sc.gpu; st.relaxed.gpu.u32 [f], 1 // "
        "ld.acquire.gpu.u32 %r0, [f]; ld.weak.u32 %r1, [x]",
        r"1:%r0 = 1 /\ 1:%r1 = 0", _F, _F, _F),
    Pin("P13", "one-sided fences on their own sides", SAME_CLUSTER,
        "st.weak.u32 [x], 1; fence.release.gpu; st.relaxed.gpu.u32 [f], 1 // "
        "ld.relaxed.gpu.u32 %r0, [f]; fence.acquire.gpu; ld.weak.u32 %r1, [x]",
        r"1:%r0 = 1 /\ 1:%r1 = 0", _F, _F, _F),
    Pin("P13b", "an acquire fence on the writer's side", SAME_CLUSTER,
        "st.weak.u32 [x], 1; fence.acquire.gpu; st.relaxed.gpu.u32 [f], 1 // "
        "ld.relaxed.gpu.u32 %r0, [f]; fence.acquire.gpu; ld.weak.u32 %r1, [x]",
        r"1:%r0 = 1 /\ 1:%r1 = 0", _A, _A, _A),
    Pin("P14", "observation through the atom of a third thread", THREE,
        "st.weak.u32 [x], 1; st.release.gpu.u32 [f], 1 // atom.relaxed.gpu.add.u32 %r9, [f], 1 // "
        "ld.acquire.gpu.u32 %r0, [f]; ld.weak.u32 %r1, [x]",
        r"2:%r0 = 2 /\ 2:%r1 = 0 /\ 1:%r9 = 1", _F, _F, _F),
    Pin("P14b", "the same, but the atom is not morally strong", THREE,
        "st.weak.u32 [x], 1; st.release.gpu.u32 [f], 1 // atom.relaxed.cta.add.u32 %r9, [f], 1 // "
        "ld.acquire.gpu.u32 %r0, [f]; ld.weak.u32 %r1, [x]",
        r"2:%r0 = 2 /\ 2:%r1 = 0 /\ 1:%r9 = 1", _A, _A, _A),
    Pin("P14d", "a load and a store in place of the atom break the chain", THREE,
        "st.weak.u32 [x], 1; st.release.gpu.u32 [f], 1 // "
        "ld.relaxed.gpu.u32 %r9, [f]; add.u32 %r8, %r9, 1; st.relaxed.gpu.u32 [f], %r8 // "
        "ld.acquire.gpu.u32 %r0, [f]; ld.weak.u32 %r1, [x]",
        r"2:%r0 = 2 /\ 2:%r1 = 0 /\ 1:%r9 = 1", _A, _A, _A),
    Pin("P15", "acquire pattern, case 2", THREE,
        "st.weak.u32 [x], 1; st.release.gpu.u32 [f], 1 // st.relaxed.gpu.u32 [f], 2 // "
        "ld.relaxed.gpu.u32 %r0, [f]; ld.acquire.gpu.u32 %r2, [f]; ld.weak.u32 %r1, [x]",
        r"2:%r0 = 1 /\ 2:%r2 = 2 /\ 2:%r1 = 0", _F, _F, _F),
    Pin("P16", "ISA2: cumulativity over different scopes", ((0, 0, 0), (0, 0, 0), (0, 0, 1)),
        "st.weak.u32 [x], 42; st.release.cta.u32 [f], 1 // "
        "ld.acquire.cta.u32 %r0, [f]; st.release.gpu.u32 [g], 1 // "
        "ld.acquire.gpu.u32 %r1, [g]; ld.weak.u32 %r2, [x]",
        r"1:%r0 = 1 /\ 2:%r1 = 1 /\ 2:%r2 = 0", _F, _F, _F),
    Pin("P17", "IRIW with acquires: not multi-copy atomic", ((0, 0, 0), (0, 0, 1), (0, 1, 2), (0, 0, 0)),
        "st.relaxed.gpu.u32 [x], 1 // ld.acquire.gpu.u32 %r0, [x]; ld.acquire.gpu.u32 %r1, [y] // "
        "st.relaxed.gpu.u32 [y], 1 // ld.acquire.gpu.u32 %r2, [y]; ld.acquire.gpu.u32 %r3, [x]",
        r"1:%r0 = 1 /\ 1:%r1 = 0 /\ 3:%r2 = 1 /\ 3:%r3 = 0", _A, _A, _A),
    Pin("P18", "store buffering with acq_rel atoms only", SAME_CLUSTER,
        "atom.acq_rel.gpu.add.u32 %r1, [x], 1; atom.acq_rel.gpu.add.u32 %r2, [y], 1 // "
        "atom.acq_rel.gpu.add.u32 %r3, [y], 1; atom.acq_rel.gpu.add.u32 %r4, [x], 1",
        r"0:%r2 = 0 /\ 1:%r4 = 0", _F, _F, _F),
    Pin("P18b", "store buffering with acq_rel atoms in one thread", SAME_CLUSTER,
        "atom.acq_rel.gpu.add.u32 %r1, [x], 1; atom.acq_rel.gpu.add.u32 %r2, [y], 1 // "
        "st.relaxed.gpu.u32 [y], 1; ld.relaxed.gpu.u32 %r3, [x]",
        r"0:%r2 = 0 /\ 1:%r3 = 0", _A, _A, _A),
    Pin("P19b", "a store lost under an atom is still seen by its own thread", SAME_CLUSTER,
        "atom.relaxed.gpu.add.u32 %r0, [x], 1 // st.weak.u32 [x], 5; ld.weak.u32 %r1, [x]",
        r"0:%r0 = 0 /\ x = 1 /\ 1:%r1 = 5", _A, _A, _A),
    Pin("P19c", "an atom against a weak store: the store may be lost", SAME_CLUSTER,
        "atom.relaxed.gpu.add.u32 %r0, [x], 1 // st.weak.u32 [x], 5",
        r"0:%r0 = 0 /\ x = 1", _A, _A, _A),
    Pin("P20", "the default scope of an atom is .gpu", OTHER_GPU,
        "st.weak.u32 [x], 1; atom.release.add.u32 %r9, [f], 1 // "
        "atom.acquire.add.u32 %r0, [f], 1; ld.weak.u32 %r1, [x]",
        r"1:%r0 = 1 /\ 1:%r1 = 0", _A, _A, _A),
    Pin("P21", "scope .cluster inside a cluster", SAME_CLUSTER,
        "st.weak.u32 [x], 1; st.release.cluster.u32 [f], 1 // ld.acquire.cluster.u32 %r0, [f]; ld.weak.u32 %r1, [x]",
        r"1:%r0 = 1 /\ 1:%r1 = 0", _F, _F, _F),
    Pin("P21b", "scope .cluster between clusters", OTHER_CLUSTER,
        "st.weak.u32 [x], 1; st.release.cluster.u32 [f], 1 // ld.acquire.cluster.u32 %r0, [f]; ld.weak.u32 %r1, [x]",
        r"1:%r0 = 1 /\ 1:%r1 = 0", _A, _A, _A),
    Pin("P22b", "volatile alone orders nothing", OTHER_GPU,
        "st.volatile.u32 [x], 1; st.volatile.u32 [f], 1 // ld.volatile.u32 %r0, [f]; ld.volatile.u32 %r1, [x]",
        r"1:%r0 = 1 /\ 1:%r1 = 0", _A, _A, _A),
    Pin("P22c", "a weak read before a volatile one is no observation", SAME_CLUSTER,
        "st.weak.u32 [x], 1; st.volatile.u32 [x], 2 // ld.weak.u32 %r0, [x]; ld.volatile.u32 %r1, [x]",
        r"1:%r0 = 2 /\ 1:%r1 != 2", _A, _A, _A),
    Pin("P23b", "fence.sc of scopes too narrow for each other", SAME_CLUSTER,
        "st.weak.u32 [x], 1; fence.sc.gpu; ld.weak.u32 %r0, [y] // "
        "st.weak.u32 [y], 1; fence.sc.cta; ld.weak.u32 %r1, [x]",
        r"0:%r0 = 0 /\ 1:%r1 = 0", _A, _A, _A),
    Pin("P23c", "fence.sc of different scopes in one CTA", SAME_CTA,
        "st.weak.u32 [x], 1; fence.sc.sys; ld.weak.u32 %r0, [y] // "
        "st.weak.u32 [y], 1; fence.sc.cta; ld.weak.u32 %r1, [x]",
        r"0:%r0 = 0 /\ 1:%r1 = 0", _F, _F, _F),
    Pin("P26b", "bar.arrive synchronizes with bar.sync", SAME_CTA,
        "st.weak.u32 [x], 1; bar.arrive 0, 64 // bar.sync 0, 64; ld.weak.u32 %r1, [x]",
        "1:%r1 = 0", _F, _F, _F),
    Pin("P26c", "nothing flows into the arriving thread", SAME_CTA,
        "bar.arrive 0, 64; ld.weak.u32 %r1, [x] // st.weak.u32 [x], 1; bar.sync 0, 64",
        "0:%r1 = 0", _A, _A, _A),
    Pin("P26f", "barriers are per CTA", SAME_CLUSTER,
        "st.weak.u32 [x], 1; bar.sync 0 // bar.sync 0; ld.weak.u32 %r1, [x]",
        "1:%r1 = 0", _A, _A, _A),
    Pin("P27b", "a barrier, then a release: cumulative", ((0, 0, 0), (0, 0, 0), (0, 0, 1)),
        "st.weak.u32 [x], 1; bar.sync 0 // bar.sync 0; st.release.gpu.u32 [f], 1 // "
        "ld.acquire.gpu.u32 %r0, [f]; ld.weak.u32 %r1, [x]",
        r"2:%r0 = 1 /\ 2:%r1 = 0", _F, _F, _F),
    Pin("P27c", "a barrier is no acquire fence", ((0, 0, 0), (0, 0, 0), (0, 0, 0)),
        "st.weak.u32 [x], 1; st.release.cta.u32 [y], 1 // "
        "ld.relaxed.cta.u32 %r0, [y]; bar.sync 1, 64; ld.weak.u32 %r1, [x] // bar.sync 1, 64",
        r"1:%r0 = 1 /\ 1:%r1 = 0", _A, _A, _A),
    Pin("P36", "CoRW: a strong read, then a weak store", SAME_CLUSTER,
        "st.relaxed.gpu.u32 [x], 1 // ld.relaxed.gpu.u32 %r0, [x]; st.weak.u32 [x], 2",
        r"1:%r0 = 1 /\ x = 1", _F, _F, _F),
    Pin("P37", "a failing compare-and-swap writes nothing", SAME_CLUSTER,
        "atom.relaxed.gpu.cas.b32 %r0, [x], 7, 8 // ld.weak.u32 %r1, [x]",
        r"0:%r0 = 0 /\ 1:%r1 = 0", _A, _A, _A),
    Pin("P38b", "an alias fence on the reader's side suffices", SAME_CLUSTER,
        "st.weak.u32 [x], 1; st.release.gpu.u32 [f], 1 // "
        "ld.acquire.gpu.u32 %r0, [f]; fence.proxy.alias; ld.weak.u32 %r1, [y]",
        r"1:%r0 = 1 /\ 1:%r1 = 0", _F, _NA, _F, aliases=(("y", "x"),)),
    Pin("P38c", "a flag read through an alias observes nothing", SAME_CLUSTER,
        "st.weak.u32 [x], 1; st.release.gpu.u32 [f], 1 // ld.acquire.gpu.u32 %r0, [g]; ld.weak.u32 %r1, [x]",
        r"1:%r0 = 1 /\ 1:%r1 = 0", _A, _NA, _A, aliases=(("g", "f"),)),
    Pin("P39", "2+2W, relaxed", SAME_CLUSTER,
        "st.relaxed.gpu.u32 [x], 1; st.relaxed.gpu.u32 [y], 2 // "
        "st.relaxed.gpu.u32 [y], 1; st.relaxed.gpu.u32 [x], 2",
        r"x = 1 /\ y = 1", _A, _A, _A),
    Pin("P39b", "2+2W with fence.sc", SAME_CLUSTER,
        "st.relaxed.gpu.u32 [x], 1; fence.sc.gpu; st.relaxed.gpu.u32 [y], 2 // "
        "st.relaxed.gpu.u32 [y], 1; fence.sc.gpu; st.relaxed.gpu.u32 [x], 2",
        r"x = 1 /\ y = 1", _F, _F, _F),
    Pin("P41", "an atom with a bit bucket is a reduction", SAME_CLUSTER,
        "st.weak.u32 [x], 42; st.release.gpu.u32 [f], 1 // "
        "atom.relaxed.sys.add.u32 _, [f], 1; fence.acquire.gpu; ld.weak.u32 %r1, [x]",
        r"1:%r1 = 0 /\ f = 2", _A, _F, _F),
    Pin("P46", "R with fence.sc: coherence order against fence order", SAME_CLUSTER,
        "st.relaxed.gpu.u32 [x], 1; fence.sc.gpu; st.relaxed.gpu.u32 [y], 1 // "
        "st.relaxed.gpu.u32 [y], 2; fence.sc.gpu; ld.relaxed.gpu.u32 %r1, [x]",
        r"y = 2 /\ 1:%r1 = 0", _F, _F, _F),
    Pin("P49", "WRC, relaxed first hop", THREE,
        "st.relaxed.gpu.u32 [x], 1 // ld.relaxed.gpu.u32 %r0, [x]; st.release.gpu.u32 [y], 1 // "
        "ld.acquire.gpu.u32 %r1, [y]; ld.relaxed.gpu.u32 %r2, [x]",
        r"1:%r0 = 1 /\ 2:%r1 = 1 /\ 2:%r2 = 0", _F, _F, _F),
    Pin("P49b", "WRC, weak first hop", THREE,
        "st.relaxed.gpu.u32 [x], 1 // ld.weak.u32 %r0, [x]; st.release.gpu.u32 [y], 1 // "
        "ld.acquire.gpu.u32 %r1, [y]; ld.relaxed.gpu.u32 %r2, [x]",
        r"1:%r0 = 1 /\ 2:%r1 = 1 /\ 2:%r2 = 0", _A, _A, _A),
)
# fmt: on
