"""Generated rings of stages that a warpgroup multiplies and gives back, with mistakes planted at random: as programs of five or
six agents (producers, and the four warps), as kernels, and looked at in every order.

`explored` knows nothing of the code that decides launches. It takes each step of an agent and each completion in every order,
as the manual lets them come: a warp waits at a product for nobody, and a product is complete at any time after all four have
issued it (PTX ISA 9.0, sections 9.7.15 and 9.7.15.7.3); copies of a thread complete in any order, and an arrival of
`cp.async.mbarrier.arrive` behind those before it (section 9.7.13.15.15).
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any, NamedTuple

from ptxmm.kernels.test import KernelTest
from ptxmm.kernels.toml import KernelFile

WARPS, LANES, STAGES = 4, 32, 2
#: Bytes of a stage, in pieces of 16: A of 64 x 16 and B of 16 x 8.
_STAGE = 2304
#: Orders are looked at until there are so many states.
_STATES = 40_000


class Step(NamedTuple):
    """What an agent does: `what` with a stage (of `wait`: of the objects "full" or "empty"), and a number: a parity, a round,
    how many lanes of a warp arrive, how many groups may be pending."""

    what: str
    stage: int = 0
    number: int = 0
    object: str = ""


class Ring(NamedTuple):
    """`counts`: the arrivals that the objects expect."""

    rounds: int
    producers: list[list[Step]]
    warps: list[list[Step]]
    counts: dict[str, int]


#: What all warps execute alike.
_TOGETHER = ("multiply", "group")


def drawn(seed: int) -> Ring:
    choose = random.Random(seed)
    bulk, stages = choose.random() < 0.35, choose.choice((1, 2, 2))
    rounds = choose.choice((2, 3, 3, 4)) if stages == STAGES else choose.choice((2, 3))
    producers: list[list[Step]] = [[] for _ in range(1 if bulk else choose.choice((1, 2)))]
    warps: list[list[Step]] = [[] for _ in range(WARPS)]
    pending = choose.choice((0, 0, 1)) if stages == STAGES else 0
    style, giver = choose.choice(("one", "one", "one", "in turn", "each warp", "all")), choose.randrange(WARPS)
    for n in range(rounds):
        stage, parity = n % stages, n // stages & 1
        for producer in producers:
            producer += [Step("wait", stage, parity ^ 1, "empty")] * (n >= stages)
            producer += (
                [Step("expect", stage), Step("load", stage, n)]
                if bulk
                else [Step("copy", stage, n), Step("noinc", stage)]
            )
        over = [n - pending] * (n >= pending) + [n] * (pending and n == rounds - 1)
        left = 0 if n == rounds - 1 else pending
        for w, warp in enumerate(warps):
            warp += [
                Step("wait", stage, parity, "full"),
                Step("fence"),
                Step("multiply", stage, n),
                Step("group", 0, left),
            ]
            for k in over:
                gives = style in ("each warp", "all") or w == (giver if style == "one" else k % WARPS)
                warp += [Step("give", k % stages, LANES if style == "all" else 1)] * gives
    empty = {"each warp": WARPS, "all": WARPS * LANES}.get(style, 1)
    ring = Ring(rounds, producers, warps, {"full": len(producers), "empty": empty})
    for _ in range(choose.choice((0, 1, 1, 1, 2))):
        choose.choice(_MISTAKES)(choose, ring)
    return ring


def _one_of(choose: random.Random, agents: list[list[Step]], *whats: str) -> list[tuple[list[Step], int]]:
    """One of the places where such steps stand, if there are any."""
    found = _places(agents, *whats)
    return [choose.choice(found)] if found else []


def _places(agents: list[list[Step]], *whats: str) -> list[tuple[list[Step], int]]:
    return [(agent, i) for agent in agents for i, step in enumerate(agent) if step.what in whats]


def _early(choose: random.Random, ring: Ring) -> None:
    """A stage is given back before the group is waited for, or before the product."""
    for agent, i in _one_of(choose, ring.warps, "give"):
        agent.insert(max(0, i - choose.choice((1, 2, 3))), agent.pop(i))


def _late(choose: random.Random, ring: Ring) -> None:
    """A warp looks at a phase once more: behind the issue of the product, behind its end, or when the stage is given back."""
    for agent, i in _one_of(choose, ring.warps, "wait"):
        agent.insert(min(len(agent), i + choose.choice((3, 4, 5))), agent[i])


def _left_out(choose: random.Random, ring: Ring) -> None:
    for agent, i in _one_of(choose, [*ring.warps, *ring.producers], "wait", "give", "noinc", "expect"):
        agent.pop(i)


def _twice(choose: random.Random, ring: Ring) -> None:
    for agent, i in _one_of(choose, [*ring.warps, *ring.producers], "wait", "give", "noinc"):
        agent.insert(i, agent[i])


def _other_parity(choose: random.Random, ring: Ring) -> None:
    for agent, i in _one_of(choose, [*ring.warps, *ring.producers], "wait"):
        agent[i] = agent[i]._replace(number=agent[i].number ^ 1)


def _other_count(choose: random.Random, ring: Ring) -> None:
    name = choose.choice(("full", "empty"))
    ring.counts[name] = max(1, ring.counts[name] + choose.choice((-1, 1)))


def _other_pending(choose: random.Random, ring: Ring) -> None:
    n = choose.randrange(ring.rounds)
    for warp in ring.warps:
        _, i = _places([warp], "group")[n]
        warp[i] = warp[i]._replace(number=warp[i].number ^ 1)


def _other_stage(choose: random.Random, ring: Ring) -> None:
    for agent, i in _one_of(choose, ring.warps, "give"):
        agent[i] = agent[i]._replace(stage=agent[i].stage ^ 1)


def _out_of_order(choose: random.Random, ring: Ring) -> None:
    for producer, i in _one_of(choose, ring.producers, "wait", "expect", "load", "copy", "noinc"):
        step = producer.pop(i)
        producer.insert(choose.randrange(len(producer) + 1), step)


def _other_giver(choose: random.Random, ring: Ring) -> None:
    """Another warp gives a stage back, about where this one does."""
    for agent, i in _one_of(choose, ring.warps, "give"):
        other, step = choose.choice(ring.warps), agent.pop(i)
        other.insert(max(0, min(len(other), i + choose.choice((-1, 0, 0, 1)))), step)


_MISTAKES = (
    _early, _early, _late, _late, _left_out, _twice, _other_parity, _other_count, _other_pending, _other_stage, _out_of_order,
    _other_giver,
)  # fmt: skip


# As a kernel.

_TEXT = """.version 8.6
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 x, .param .u64 out)
{{
 .reg .pred %q, %w<4>; .reg .b32 %r<9>; .reg .b64 %rd<9>; .reg .f32 %f<4>;
 .shared .align 128 .b8 s[4608]; .shared .align 8 .b64 full[2]; .shared .align 8 .b64 empty[2];
 ld.param.u64 %rd1, [out]; ld.param.u64 %rd2, [x]; mov.u32 %r0, %tid.x;
 mov.f32 %f0, 0f00000000; mov.f32 %f1, %f0; mov.f32 %f2, %f0; mov.f32 %f3, %f0;
 shr.u32 %r1, %r0, 5; sub.u32 %r7, %r0, 128;
 setp.eq.u32 %w0, %r1, 0; setp.eq.u32 %w1, %r1, 1; setp.eq.u32 %w2, %r1, 2; setp.eq.u32 %w3, %r1, 3;
 setp.ne.u32 %q, %r0, 0; @%q bra READY;
 mbarrier.init.shared.b64 [full], {full}; mbarrier.init.shared.b64 [full+8], {full};
 mbarrier.init.shared.b64 [empty], {empty}; mbarrier.init.shared.b64 [empty+8], {empty};
 fence.mbarrier_init.release.cluster;
READY:
 bar.sync 0;
 setp.ge.u32 %q, %r0, 128; @%q bra PRODUCER;
 {consumers}
 wgmma.wait_group.sync.aligned 0;
 mul.wide.u32 %rd6, %r0, 16; add.u64 %rd1, %rd1, %rd6; st.global.v4.f32 [%rd1], {{%f0, %f1, %f2, %f3}};
 ret;
PRODUCER:
 {producers}
 ret;
}}
"""
_WAIT = "W{0}: mbarrier.try_wait.parity.shared.b64 %q, [{object}+{at}], {number}; @!%q bra W{0};"
_STEPS = {
    "wait": _WAIT,
    "fence": "fence.proxy.async;",
    "give": "setp.eq.u32 %q, %r0, {lane}; @%q mbarrier.arrive.shared.b64 _, [empty+{at}];",
    "expect": "mbarrier.arrive.expect_tx.shared.b64 _, [full+{at}], 2304;",
    "load": "add.u64 %rd8, %rd2, {from_}; "
    "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [s+{to}], [%rd8], 2304, [full+{at}];",
    "copy": "mov.u32 %r6, s; add.u32 %r6, %r6, {to}; mad.lo.u32 %r6, %r7, 16, %r6; mul.wide.u32 %rd8, %r7, 16; "
    "add.u64 %rd8, %rd8, %rd2; add.u64 %rd8, %rd8, {from_}; mov.u32 %r5, %r7;\n"
    "C{0}: cp.async.ca.shared.global [%r6], [%rd8], 16; add.u32 %r6, %r6, {step}; add.u64 %rd8, %rd8, {step}; "
    "add.u32 %r5, %r5, {producers}; setp.lt.u32 %q, %r5, 144; @%q bra C{0};",
    "noinc": "cp.async.mbarrier.arrive.noinc.shared::cta.b64 [full+{at}];",
    "group": "wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned {number};",
    "multiply": "mov.u32 %r3, s; add.u32 %r3, %r3, {to}; and.b32 %r3, %r3, 262143; shr.u32 %r3, %r3, 4; "
    "cvt.u64.u32 %rd4, %r3; or.b64 %rd4, %rd4, 0x1000080000; add.u64 %rd5, %rd4, 128;\n"
    "wgmma.fence.sync.aligned; wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 "
    "{{%f0, %f1, %f2, %f3}}, %rd4, %rd5, 1, 1, 1, 0, 0;",
}


def _written(ring: Ring) -> tuple[str, str]:
    """The code of the warps, and of the producers."""
    labels = iter(range(1000))
    count = len(ring.producers)

    def text(step: Step, warp: int = 0) -> str:
        found = _STEPS[step.what].format(
            next(labels), object=step.object, at=8 * step.stage, number=step.number, to=_STAGE * step.stage,
            from_=_STAGE * step.number, producers=count, step=16 * count, lane=LANES * warp + 5,
        )  # fmt: skip
        return found.split("; @%q ")[1] if step.what == "give" and step.number == LANES else found

    def alone(warp: int, steps: list[Step]) -> Iterator[str]:
        if steps:
            label = next(labels)
            yield f"@!%w{warp} bra B{label};"
            yield from (text(step, warp) for step in steps)
            yield f"B{label}:"

    lines: list[str] = []
    at = [0] * WARPS
    while True:
        for w, warp in enumerate(ring.warps):
            end = next((i for i in range(at[w], len(warp)) if warp[i].what in _TOGETHER), len(warp))
            lines += alone(w, warp[at[w] : end])
            at[w] = end
        if all(at[w] == len(warp) for w, warp in enumerate(ring.warps)):
            break
        lines.append(text(ring.warps[0][at[0]]))
        at = [i + 1 for i in at]
    of_producers: list[str] = []
    for i, producer in enumerate(ring.producers):
        of_producers += [
            f"setp.ne.u32 %q, %r7, {i}; @%q bra P{i};",
            *map(text, producer),
            "cp.async.wait_all;",
            f"P{i}:",
        ]
    return "\n ".join(lines), "\n ".join(of_producers)


def kernel(ring: Ring) -> KernelTest:
    """Four warps, and one of whose threads some are the producers. What is loaded in round n is its own digit of the sums."""
    consumers, producers = _written(ring)
    loaded = [number for n in range(ring.rounds) for number in (*[1.0] * 1024, *[8.0**n] * 128)]
    total = 16 * sum(8**n for n in range(ring.rounds))
    tree = {
        "ptx": "k.ptx", "entry": "k", "grid": 1, "block": 160,
        "params": {"x": {"type": "f16", "init": loaded, "align": 128}, "out": {"type": "f32", "elements": 512, "align": 128}},
        "check": {"forall": f"out[0] == {total} && out[200] == {total} && out[511] == {total}", "race_free": True,
                  "terminates": True},
    }  # fmt: skip
    text = _TEXT.format(consumers=consumers, producers=producers, **ring.counts)
    return KernelFile.of(tree, "k.toml", {"k.ptx": text}).test()


# In every order.


class _Object(NamedTuple):
    """`seen`: whether a wait has said that the phase before is over."""

    phase: int
    pending: int
    expects: int
    seen: bool


class _Product(NamedTuple):
    round: int
    stage: int
    issued: int
    done: bool


class _State(NamedTuple):
    """Where the agents are; the objects, "full" ones first; of each stage the round of what each producer wrote; products; and
    of each producer what is not complete, in order: "load", "told", "copy", "noinc"."""

    at: tuple[int, ...]
    objects: tuple[_Object, ...]
    memory: tuple[tuple[int, ...], ...]
    products: tuple[_Product, ...]
    begun: tuple[tuple[Step, ...], ...]


class _Wrong(Exception):
    pass


def explored(ring: Ring) -> str | None:
    """What is wrong in some order, empty where nothing is; None where there are too many orders."""
    count, agents = len(ring.producers), [*ring.producers, *ring.warps]
    objects = [_Object(0, ring.counts[name], 0, True) for name in ("full", "empty") for _ in range(STAGES)]
    first = _State((0,) * len(agents), tuple(objects), ((-1,) * count,) * STAGES, (), ((),) * count)
    seen, left = {first}, [first]
    orders = _Orders(ring, agents)
    try:
        while left:
            state = left.pop()
            found = [*orders.steps(state), *orders.completions(state)]
            if not found and any(at < len(agent) for at, agent in zip(state.at, agents, strict=True)):
                return "threads do not terminate"
            fresh = set(found) - seen
            seen |= fresh
            left += fresh
            if len(seen) > _STATES:
                return None
    except _Wrong as wrong:
        return str(wrong)
    return ""


def _with(values: tuple[Any, ...], at: int, value: object) -> tuple[Any, ...]:
    return (*values[:at], value, *values[at + 1 :])


class _Orders:
    """What may come next."""

    def __init__(self, ring: Ring, agents: list[list[Step]]) -> None:
        self.ring, self.agents = ring, agents
        self.count = len(ring.producers)

    def steps(self, state: _State) -> Iterator[_State]:
        for agent, code in enumerate(self.agents):
            if state.at[agent] < len(code):
                step = code[state.at[agent]]
                done = state._replace(at=_with(state.at, agent, state.at[agent] + 1))
                yield from getattr(self, "_" + step.what)(done, agent, step)

    def _fence(self, state: _State, agent: int, step: Step) -> Iterator[_State]:
        yield state

    def _wait(self, state: _State, agent: int, step: Step) -> Iterator[_State]:
        at = step.stage + (STAGES if step.object == "empty" else 0)
        found = state.objects[at]
        if (found.phase ^ step.number) & 1:
            yield state._replace(objects=_with(state.objects, at, found._replace(seen=True)))

    def _give(self, state: _State, agent: int, step: Step) -> Iterator[_State]:
        yield self._arrives(state, STAGES + step.stage, step.number)

    def _expect(self, state: _State, agent: int, step: Step) -> Iterator[_State]:
        yield self._arrives(state, step.stage, 1, 1)

    def _load(self, state: _State, agent: int, step: Step) -> Iterator[_State]:
        yield state._replace(begun=_with(state.begun, agent, (*state.begun[agent], step)))

    _copy = _noinc = _load

    def _multiply(self, state: _State, agent: int, step: Step) -> Iterator[_State]:
        warp = 1 << agent - self.count
        at = next((i for i, p in enumerate(state.products) if p.round == step.number), len(state.products))
        old = state.products[at] if at < len(state.products) else _Product(step.number, step.stage, 0, False)
        yield state._replace(products=_with(state.products, at, old._replace(issued=old.issued | warp)))

    def _group(self, state: _State, agent: int, step: Step) -> Iterator[_State]:
        mine = [p for p in state.products if p.issued >> agent - self.count & 1]
        if all(p.done for p in mine[: len(mine) - step.number]):
            yield state

    def _arrives(self, state: _State, at: int, arrivals: int, expects: int = 0) -> _State:
        found = state.objects[at]
        if not found.seen:
            raise _Wrong("an arrival in a phase before anybody has seen the end of the one before")
        if arrivals > found.pending:
            raise _Wrong("too many arrivals")
        return self._settles(
            state, at, found._replace(pending=found.pending - arrivals, expects=found.expects + expects)
        )

    def _settles(self, state: _State, at: int, found: _Object) -> _State:
        if not (found.pending or found.expects):
            found = _Object(found.phase + 1, self.ring.counts["full" if at < STAGES else "empty"], 0, False)
        return state._replace(objects=_with(state.objects, at, found))

    def completions(self, state: _State) -> Iterator[_State]:
        for i, product in enumerate(state.products):
            if product.issued == (1 << WARPS) - 1 and not product.done:
                if any(of_round != product.round for of_round in state.memory[product.stage]):
                    raise _Wrong("a product reads something else")
                yield state._replace(products=_with(state.products, i, product._replace(done=True)))
        for producer, begun in enumerate(state.begun):
            for i, step in enumerate(begun):
                after = state._replace(begun=_with(state.begun, producer, (*begun[:i], *begun[i + 1 :])))
                if step.what == "noinc":
                    if all(other.what != "copy" for other in begun[:i]):
                        yield self._arrives(after, step.stage, 1)
                elif step.what == "told":
                    found = state.objects[step.stage]
                    yield self._settles(after, step.stage, found._replace(expects=found.expects - 1))
                else:
                    written = _with(state.memory[step.stage], producer, step.number)
                    memory = _with(state.memory, step.stage, written)
                    told = (*begun[:i], step._replace(what="told"), *begun[i + 1 :])
                    begun_ = _with(state.begun, producer, told) if step.what == "load" else after.begun
                    yield after._replace(memory=memory, begun=begun_)
