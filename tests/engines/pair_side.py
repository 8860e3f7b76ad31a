"""The threads of a generated program as one of its features sees them: two of them are its own, and all read and write the same
few locations, x in global memory, s in shared memory, a flag f.

A beat has the statements of each thread that has some there. Beats of a feature stay in their order, and between them those of
another feature may come: in the same order for all threads, so that barriers of both never wait for each other.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from generated import Writer
from hypothesis import strategies as st

Beat = dict[int, str]


@dataclass(slots=True)
class Side:
    """One feature of a program: its two threads among all of them, and what it may call its own."""

    draw: st.DrawFn
    number: int
    first: int
    second: int
    writers: list[Writer]
    cta: list[int]
    cluster: list[int]
    declarations: dict[str, str]

    @property
    def object(self) -> str:
        """Its mbarrier object."""
        return "mn"[self.number]

    @property
    def barrier(self) -> str:
        return self.pick(str(self.number), str(self.number), "0")

    def pick(self, *options: str) -> str:
        return self.draw(st.sampled_from(options))

    def declare(self, *names: str) -> None:
        for name in names:
            self.declarations[name] = MEMORY[name]

    def fresh(self, thread: int, bank: str = "r", observed: bool = True) -> str:
        return self.writers[thread].fresh(bank, keep=bank == "r" and observed)

    def label(self, thread: int) -> str:
        return f"w{thread}_{self.fresh(thread, 'p')[2:]}"

    def written(self, thread: int, step: Callable[[Writer], None]) -> str:
        """What the thread's writer writes in a step."""
        lines = self.writers[thread].lines
        before = len(lines)
        step(self.writers[thread])
        code = " ".join(lines[before:])
        del lines[before:]
        return code

    # What most features need beside what they are about.

    def store(self, thread: int, location: str = "x") -> str:
        self.declare(location)
        space = ".shared" if location == "s" else ""
        semantics = self.pick("weak", "weak", "relaxed.gpu")
        return f"st.{semantics}{space}.u32 [{location}], {self.pick('1', '2')};"

    def load(self, thread: int, location: str = "x") -> str:
        self.declare(location)
        space = ".shared" if location == "s" else ""
        return f"ld.{self.pick('weak', 'weak', 'relaxed.gpu')}{space}.u32 {self.fresh(thread)}, [{location}];"

    def access(self, thread: int, location: str = "x") -> str:
        return self.load(thread, location) if self.draw(st.booleans()) else self.store(thread, location)

    def meeting(self) -> Beat:
        """A barrier of the two threads, which stand in a CTA or in a cluster."""
        if self.cta[self.first] == self.cta[self.second]:
            return dict.fromkeys(self.of_cta, f"bar.sync 1{self.number};")
        return dict.fromkeys(self.of_cluster, "barrier.cluster.arrive; barrier.cluster.wait;")

    @property
    def of_cta(self) -> list[int]:
        return [t for t in range(len(self.writers)) if self.cta[t] == self.cta[self.first]]

    @property
    def of_cluster(self) -> list[int]:
        return [t for t in range(len(self.writers)) if self.cluster[t] == self.cluster[self.first]]

    def rank(self, thread: int) -> int:
        return self.cta[thread]

    def remote(self, thread: int, location: str, owner: int) -> tuple[str, str]:
        """The address that a location has in the CTA of another thread: how to compute it, and its register."""
        a, b = (self.writers[thread].fresh("r", keep=False) for _ in "ab")
        self.declare(location)
        return f"mov.u32 {a}, {location}; mapa.shared::cluster.u32 {b}, {a}, {self.rank(owner)};", b

    def waiting(self, thread: int, scope: str = "", polling: bool = False) -> str:
        """A wait for the first phase of the object: until it is over, or a look whether it is."""
        p = self.fresh(thread, "p")
        if polling or not self.draw(st.booleans()):
            w = self.label(thread)
            return f"{w}: mbarrier.try_wait.parity{scope}.shared::cta.b64 {p}, [{self.object}], 0; @!{p} bra {w};"
        r = self.fresh(thread)
        wait = self.pick("test_wait", "try_wait")
        return f"mbarrier.{wait}.parity{scope}.shared::cta.b64 {p}, [{self.object}], 0; selp.u32 {r}, 1, 0, {p};"


#: How each location is declared.
MEMORY = {
    "x": ".global .align 16 .u32 x[4];",
    "f": ".global .u32 f = 0;",
    "s": ".shared .align 16 .u32 s[4] = {1};",
    "w": ".global .align 16 .u64 w[2];",
    "v": ".global .align 128 .u8 v[128];",
    "t": ".global .align 128 .u32 t[32];",
    "m": ".shared .u64 m;",
    "n": ".shared .u64 n;",
    "y": "y @ generic aliases x;",
    "c": ".const .u32 c = 3;",
    "q": "q = &x;",
    "k": "k @ {proxy} aliases x;",
}


def shuffled(side: Side, *beats: Beat) -> list[Beat]:
    return side.draw(st.permutations(beats))


__all__ = ["MEMORY", "Beat", "Side", "shuffled"]
