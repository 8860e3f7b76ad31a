"""Random launches of two CTAs of two threads that take a lock together, and wait for flags of each other before, in and behind
their sections; some may wait for each other for good, as not all orders of the sections show."""

from __future__ import annotations

from random import Random

from ptxmm.kernels.test import KernelTest
from ptxmm.kernels.toml import KernelFile

_HEAD = """.version 8.6
.target sm_90
.address_size 64
.visible .entry k(.param .u64 x)
{
 .reg .pred %p<8>; .reg .b32 %r<16>; .reg .b64 %rd<8>;
 ld.param.u64 %rd1, [x]; mov.u32 %r1, %ctaid.x; mov.u32 %r2, %tid.x; shl.b32 %r1, %r1, 1; add.u32 %r1, %r1, %r2;
"""
#: Bytes from the lock: one that is free at 0, one that is free at 1; the flags of each CTA; what the lock guards.
_LOCK, _FLAGS, _GUARDED = 0, 16, 48


class _Part:
    """What the two threads of a CTA do."""

    def __init__(self, random: Random, cta: int, *, waits: bool) -> None:
        self.random, self.cta, self.texts, self._labels, self._waits = random, cta, ["", ""], 0, waits

    def by(self, thread: int, text: str) -> None:
        self.texts[thread] += f" {text}\n"

    def meet(self) -> None:
        for thread in (0, 1):
            self.by(thread, "barrier.sync 0;")

    def label(self) -> str:
        self._labels += 1
        return f"L{self.cta}_{self._labels}"

    def signal(self) -> None:
        """Tells the other CTA something, by a flag that has been raised so often."""
        thread = self.random.randrange(2)
        order = self.random.choice((".release", ".relaxed"))
        at = _FLAGS + 4 * (2 * self.cta + self.random.randrange(2))
        self.by(thread, f"red{order}.gpu.global.add.u32 [%rd1+{at}], 1;")

    def wait(self) -> None:
        """Waits for a flag of the other CTA."""
        thread, here = self.random.randrange(2), self.label()
        order = self.random.choice((".acquire", ".relaxed"))
        at = _FLAGS + 4 * (2 * (1 - self.cta) + self.random.randrange(2))
        self.by(
            thread,
            f"{here}: ld{order}.gpu.global.u32 %r5, [%rd1+{at}]; setp.eq.u32 %p1, %r5, 0; @%p1 bra {here};",
        )

    def maybe(self, chance: float = 0.4) -> None:
        for what in self.random.sample((self.signal, self.wait), 2):
            if self.random.random() < chance and (self._waits or what == self.signal):
                what()

    def heard(self, other: _Part) -> list[str]:
        """What the threads do, without waits for flags that nobody raises."""
        raised = {
            line.split("+")[1].split("]")[0] for text in other.texts for line in text.splitlines() if " red" in line
        }
        lines = [
            [line for line in text.splitlines() if "setp.eq" not in line or line.split("+")[1].split("]")[0] in raised]
            for text in self.texts
        ]
        return ["\n".join(of) + "\n" for of in lines]

    def section(self, *, counts: bool) -> None:
        """A section of a lock that both threads are in; `counts`: of a semaphore that begins with one."""
        random, here = self.random, self.label()
        free, taken = (1, 0) if counts else (0, 1)
        take = f"{here}: atom.acquire.gpu.global.cas.b32 %r5, [%rd1+{_LOCK}], {free}, {taken};"
        self.by(0, f"{take} setp.ne.u32 %p1, %r5, {free}; @%p1 bra {here};")
        if random.random() < 0.2:
            self.maybe()
        self.meet()
        worker = random.randrange(2)
        self.by(
            worker, f"ld.global.u32 %r6, [%rd1+{_GUARDED}]; add.u32 %r6, %r6, 1; st.global.u32 [%rd1+{_GUARDED}], %r6;"
        )
        if random.random() < 0.2:
            self.signal()
        self.meet()
        give = (
            f"red.release.gpu.global.add.u32 [%rd1+{_LOCK}], 1;"
            if counts
            else f"st.release.gpu.global.u32 [%rd1+{_LOCK}], 0;"
        )
        self.by(0, give)


def made(seed: int) -> KernelTest:
    """Each CTA has a section or two."""
    random = Random(seed)
    counts = random.random() < 0.5
    both = random.random() < 0.3
    first = random.randrange(2)
    parts = [_Part(random, cta, waits=both or cta == first) for cta in (0, 1)]
    for part in parts:
        for _ in range(random.choice((1, 1, 1, 2))):
            part.maybe()
            part.section(counts=counts)
        part.maybe()
    sections = sum(text.count("cas") for part in parts for text in part.texts)
    bodies = parts[0].heard(parts[1]) + parts[1].heard(parts[0])
    return launch(bodies, f"x[{_GUARDED // 4}] == {sections}", free=int(counts))


def launch(bodies: list[str], forall: str, *, free: int) -> KernelTest:
    """CTAs of two threads; `free`: what stands at the lock first."""
    number = len(bodies)
    text = _HEAD + "".join(f" setp.eq.u32 %p0, %r1, {n}; @%p0 bra T{n};\n" for n in range(number)) + " ret;\n"
    text += "".join(f"T{n}:\n{body} ret;\n" for n, body in enumerate(bodies)) + "}\n"
    check = {"forall": forall, "race_free": True, "terminates": True}
    params = {"x": {"type": "u32", "elements": 16, "init": [free] + [0] * 15}}
    tree = {"ptx": "k.ptx", "entry": "k", "grid": number // 2, "block": 2, "params": params, "check": check}
    return KernelFile.of(tree, "k.toml", {"k.ptx": text}).test()
