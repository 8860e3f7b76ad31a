"""CTAs that change places: runs of which none is another one with its CTAs in other places stand for as much as all of them."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from itertools import permutations

import pytest
from agreement import note
from by_runs import by_runs
from campaigns import lengths, share
from test_open_operations import _HEAD, _OUT, _Writer

from axioms.dynamic.several.plan import Bytes, Script
from axioms.dynamic.several.symmetry import Symmetry
from ptxmm.kernels.changing import ChangingCtas, NotAlike
from ptxmm.kernels.runs import Runs
from ptxmm.kernels.several import FinalStates, run_several
from ptxmm.kernels.test import KernelTest
from ptxmm.kernels.toml import KernelFile

#: Bytes at which each CTA has words of its own, and their number.
_OWN, _EACH = 512, 4


class _Knowing(_Writer):
    """CTAs that know their numbers: what comes of that may decide something, or not."""

    def part(self) -> None:
        self.choose.choice((super().part, super().part, self.own, self.tell, self.decide, self.meet))()

    def _inside(self) -> None:
        """What is done at a position, or with a lock: data, and what hangs on the number of the CTA."""
        for _ in range(self.choose.randint(1, 3)):
            self.choose.choice((self.data, self.own, self.note, *[self.decide] * (self.labels < 5)))()

    def note(self) -> None:
        """Data of all is what somebody has."""
        what = self.choose.choice(("%r1", "%r11", "%r5", "3"))
        self.lines.append(f"st.global.u32 [%rd1], {what};")

    def _mine(self) -> str:
        self.lines.append(f"mul.wide.u32 %rd3, %r1, {4 * _EACH}; add.u64 %rd3, %rd3, %rd1;")
        return f"[%rd3+{_OWN + 4 * self.choose.randint(0, _EACH - 1)}]"

    def own(self) -> None:
        what = self.choose.choice(("%r1", "%r3", "7", "%r5", "%r6"))
        place = self._mine()
        self.lines.append(self.choose.choice((f"st.global.u32 {place}, {what};", f"ld.global.u32 %r11, {place};")))

    def tell(self) -> None:
        what = self.choose.choice(("%r1", "%r11", "%r3"))
        place = self._mine() if self.choose.random() < 0.4 else self._place()
        self.lines.append(
            self.choose.choice(
                (
                    f"st.global.u32 [%rd1], {what};",
                    f"red.relaxed.gpu.global.add.u32 {place}, {what};",
                    f"atom.acq_rel.gpu.global.exch.b32 %r5, {place}, {what};",
                    f"add.u32 %r3, %r3, {what};",
                    f"st.relaxed.gpu.global.u32 {place}, {what};",
                )
            )
        )

    def decide(self) -> None:
        """Some data is looked at, and the thread goes on here or there."""
        end = self._label()
        what = self.choose.choice(("%r3", "%r11", "%r1", "%r2"))
        self.lines.append(f"setp.gt.u32 %p2, {what}, {self.choose.randint(0, 2)}; @%p2 bra {end};")
        self._inside()
        self.lines.append(f"{end}:")

    def meet(self) -> None:
        what = self.choose.choice(("%r1", "%r3", "%r11", "5"))
        self.lines.append(f"st.shared.u32 [s], {what}; bar.sync 0; ld.shared.u32 %r11, [s]; bar.sync 0;")


def _kernel(seed: int) -> KernelTest:
    choose = random.Random(seed)
    grid = choose.choice((2, 2, 3))
    writer = _Knowing(choose)
    for _ in range(choose.randint(1, 3)):
        writer.part()
    out = "mul.wide.u32 %rd2, %r1, 4; add.u64 %rd2, %rd2, %rd1;"
    head = _HEAD.replace(".reg .pred", ".shared .align 4 .b8 s[4]; .reg .pred").replace(
        "mov.u32 %r3, 0;", "mov.u32 %r3, 0; mov.u32 %r5, 0; mov.u32 %r6, 0; mov.u32 %r11, 0;"
    )
    text = "\n ".join([head, *writer.lines, out, f"st.global.u32 [%rd2+{_OUT}], %r3; ret;", "}"])
    wanted = [f"x[{i}] < 9" for i in (0, 1, 16, 17, *(_OUT // 4 + t for t in range(grid)), _OWN // 4)]
    tree = {
        "ptx": "k.ptx", "entry": "k", "grid": grid, "block": 1,
        "params": {"x": {"type": "u32", "elements": 192, "init": [0] * (_OWN // 4) + [1, 0, 3, 2, 5] * 4}},
        "check": {"forall": " && ".join(wanted), "race_free": True, "terminates": True},
    }  # fmt: skip
    return KernelFile.of(tree, "k.toml", {"k.ptx": text}).test()


def _compare(seeds: range) -> Counter[str]:
    """What all runs show, and those of which none is another one in other places."""
    found: Counter[str] = Counter()
    for seed in seeds:
        test = _kernel(seed)
        every = run_several(Runs(test, watched=True), lambda _: False, 150)
        places = Runs(test, watched=True)
        try:
            some = run_several(places, lambda _: False, 150, ChangingCtas(places))
        except NotAlike:
            found["not alike"] += 1
            continue
        if not (isinstance(every, FinalStates) or isinstance(some, FinalStates)):
            found[type(every).__name__ if type(every) is type(some) else "open"] += 1
            continue
        if not isinstance(every, FinalStates) and every.open.what == "runs":  # type: ignore[union-attr]
            found["too many"] += 1
            continue
        assert isinstance(every, FinalStates) and isinstance(some, FinalStates), (seed, every, some)
        kept = [
            {tuple(sorted((k, v) for k, v in state.items() if k not in some.differing)) for state in one.states}
            for one in (every, some)
        ]
        assert kept[0] == kept[1] and some.runs <= every.runs and some.beyond <= every.beyond, seed
        found["fewer" if some.runs < every.runs else "as many"] += 1
    passed = Counter({what: found[what] for what in ("not alike", "too many")})
    note(found.total() - passed.total(), passed)
    return found


@pytest.mark.long
@pytest.mark.compares(0.3)
@pytest.mark.parametrize("seeds", lengths(range(60), range(100)))
def test_few_runs_show_what_all_show(seeds: range) -> None:
    found = _compare(seeds)
    assert min(found[what] for what in ("fewer", "as many", "not alike")) >= len(seeds) / 30


@pytest.mark.campaign
@pytest.mark.compares(0.3)
def test_few_runs_show_what_very_many_show() -> None:
    _compare(range(1000, 1000 + share(6000)))


_OTHER = "st.global.u32 [%rd1], 2; bra BEHIND; HERE: st.global.u32 [%rd1], 1; BEHIND:"
_LEFT = "add.u64 %rd3, %rd3, %rd1; ld.global.u32 %r6, [%rd1+64]; st.global.u32 [%rd1], %r6; st.global.u32 [%rd3+64], 5;"
#: With a lock CTAs do what hangs on their numbers, so that it matters who comes last.
_LEAKS = {
    "branch": f"setp.eq.u32 %p1, %r1, 0; @%p1 bra HERE; {_OTHER}",
    "guard": "setp.eq.u32 %p1, %r1, 0; st.global.u32 [%rd1], 2; @%p1 st.global.u32 [%rd1], 1;",
    "selection": "setp.eq.u32 %p1, %r1, 0; selp.u32 %r5, 1, 2, %p1; st.global.u32 [%rd1], %r5;",
    "data": "add.u32 %r5, %r1, 1; st.global.u32 [%rd1], %r5;",
    "own contents": "mul.wide.u32 %rd3, %r1, 4; add.u64 %rd3, %rd3, %rd1; ld.global.u32 %r5, [%rd3+512];"
    f"setp.eq.u32 %p1, %r5, 1; @%p1 bra HERE; {_OTHER}",
    "shared memory": f"st.shared.u32 [s], %r1; ld.shared.u32 %r5, [s]; setp.eq.u32 %p1, %r5, 0; @%p1 bra HERE; {_OTHER}",
    "stack": "mul.wide.u32 %rd3, %r1, 4; mov.u64 %rd2, l; add.u64 %rd3, %rd3, %rd2; st.local.u32 [l], 3;"
    "st.local.u32 [%rd3], 4;"
    f"ld.local.u32 %r5, [l]; setp.eq.u32 %p1, %r5, 4; @%p1 bra HERE; {_OTHER}",
    "place of all": f"mul.wide.u32 %rd3, %r1, 4; {_LEFT}",
    "no step": f"and.b32 %r5, %r1, 1; mul.wide.u32 %rd3, %r5, 4; {_LEFT}",
    "a product": f"mul.lo.u32 %r5, %r1, %r1; mul.wide.u32 %rd3, %r5, 4; {_LEFT}",
    "two steps": "mul.wide.u32 %rd3, %r1, 4; add.u64 %rd2, %rd3, %rd1; add.u64 %rd3, %rd3, %rd3; add.u64 %rd3, %rd3, %rd1;"
    "st.global.u32 [%rd2+512], %r7; ld.global.u32 %r5, [%rd3+512]; st.global.u32 [%rd1], %r5;",
    "a window of two": "mul.wide.u32 %rd3, %r1, 4; add.u64 %rd3, %rd3, %rd1; ld.global.u32 %r5, [%rd3+512];"
    "add.u32 %r5, %r5, 1;"
    "st.global.u32 [%rd3+512], %r5; st.global.u32 [%rd3+516], %r5; ld.global.u32 %r5, [%rd3+512]; st.global.u32 [%rd1], %r5;",
    "an operation": "add.u32 %r5, %r1, 1; atom.relaxed.gpu.global.exch.b32 %r6, [%rd1+68], %r5; st.global.u32 [%rd1], %r5;",
    "a shuffle": f"shfl.sync.idx.b32 %r5, %r1, 0, 0, 1; setp.eq.u32 %p1, %r5, 0; @%p1 bra HERE; {_OTHER}",
}


def _leaking(what: str) -> KernelTest:
    lock = "TRY: atom.acquire.gpu.global.cas.b32 %r8, [%rd1+80], 0, 1; setp.ne.u32 %p2, %r8, 0; @%p2 bra TRY;"
    head = _HEAD.replace(".reg .pred", ".shared .align 4 .b8 s[4]; .local .align 4 .b8 l[64]; .reg .pred")
    text = "\n ".join([head, "mov.u32 %r7, 9;", lock, what, "st.release.gpu.global.u32 [%rd1+80], 0; ret;", "}"])
    tree = {
        "ptx": "k.ptx", "entry": "k", "grid": 2, "block": 1,
        "params": {"x": {"type": "u32", "elements": 192, "init": [0] * (_OWN // 4) + [1, 0, 3, 2, 5] * 4}},
        "check": {"exists": "x[0] == 77", "race_free": True},
    }  # fmt: skip
    return KernelFile.of(tree, "k.toml", {"k.ptx": text}).test()


@pytest.mark.parametrize("leak", _LEAKS)
def test_what_hangs_on_the_number_of_a_cta_is_seen(leak: str) -> None:
    test = _leaking(_LEAKS[leak])
    every = run_several(Runs(test, watched=True), lambda _: False)
    assert isinstance(every, FinalStates) and len(every.states) > 1, "it matters who comes last"
    runs = Runs(test, watched=True)
    try:
        some = run_several(runs, lambda _: False, places=ChangingCtas(runs))
    except NotAlike:
        return
    assert isinstance(some, FinalStates) and some.differing == {"x[0]"}


_LOCKED = """.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 x, .param .u64 lock, .param .u64 y)
{
 .reg .pred %p<6>; .reg .b32 %r<16>; .reg .b64 %rd<12>;
 ld.param.u64 %rd1, [x]; ld.param.u64 %rd4, [lock]; ld.param.u64 %rd5, [y];
 mov.u32 %r1, %ctaid.x; mov.u32 %r2, %tid.x; mov.u32 %r4, %ntid.x; mov.u32 %r9, 0; setp.ne.u32 %p1, %r2, 0;
 mad.lo.u32 %r5, %r1, %r4, %r2; mul.wide.u32 %rd6, %r5, 4; add.u64 %rd5, %rd5, %rd6; ld.global.u32 %r6, [%rd5];
ROUND: @%p1 bra MET;
TRY: atom.ACQUIRE.gpu.global.cas.b32 %r7, [%rd4], 0, 1; setp.ne.u32 %p2, %r7, 0; @%p2 bra TRY;
 ld.global.u32 %r8, [%rd1]; add.u32 %r8, %r8, WHAT; st.global.u32 [%rd1], %r8;
 atom.release.gpu.global.exch.b32 %r7, [%rd4], 0;
MET: bar.sync 0; add.u32 %r9, %r9, 1; setp.lt.u32 %p3, %r9, ROUNDS; @%p3 bra ROUND;
 st.global.u32 [%rd5], %r9; ret;
}"""


def _locked(grid: int, block: int, rounds: int = 1, acquire: str = "acquire", what: str = "1") -> KernelTest:
    words = {"ACQUIRE": acquire, "WHAT": what, "ROUNDS": str(rounds)}
    text = _LOCKED
    for word, meant in words.items():
        text = text.replace(word, meant)
    tree = {
        "ptx": "k.ptx", "entry": "k", "grid": grid, "block": block,
        "params": {
            "x": {"type": "u32", "elements": 1}, "lock": {"type": "u32", "elements": 1},
            "y": {"type": "u32", "elements": grid * block},
        },
        "check": {"forall": f"x[0] == {grid * rounds}", "race_free": True, "terminates": True},
    }  # fmt: skip
    return KernelFile.of(tree, "k.toml", {"k.ptx": text}).test()


@pytest.mark.parametrize(("grid", "rounds", "runs"), [(9, 1, 1), (3, 2, 15)])
def test_a_lock_of_many_ctas_is_decided_by_the_orders_that_are_not_alike(grid: int, rounds: int, runs: int) -> None:
    """(grid * rounds)! / rounds! ** grid orders, of which grid! are alike."""
    test = _locked(grid, 32, rounds)
    found = run_several(some := Runs(test, watched=True), lambda _: False, places=ChangingCtas(some))
    assert isinstance(found, FinalStates) and (found.runs, found.states) == (runs, [{"x[0]": grid * rounds}])
    assert not found.differing


def test_a_check_of_what_may_differ_is_left_open_and_others_are_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    from ptxmm.kernels import bugs, whole

    monkeypatch.setattr(bugs, "_HUNTING", 0.5)
    monkeypatch.setattr(whole, "_FEW", 2)
    monkeypatch.setattr(whole, "decide_by_sections", lambda *_: False)  # which knows what these come to
    every: list[int] = []
    monkeypatch.setattr(whole, "run_several", _few(whole.run_several, every))
    _, found = by_runs(_locked(5, 32, what="%r6"))
    assert found.verdict == "no"  # zeros are added
    test = _locked(5, 32, what="%r5")
    wanted = sum(32 * cta for cta in range(5))
    checks = [check for check in test.checks if check.expression is None]
    assert len(checks) == 2 and wanted
    _, found = by_runs(_exact(test, wanted))
    assert [check.holds for check in found.checks] == [None, True, True] and "x[0] may differ" in (found.error or "")


def _exact(test: KernelTest, wanted: int, more: str = "") -> KernelTest:
    tree = {
        "ptx": "k.ptx", "entry": "k", "grid": 5, "block": 32,
        "params": {
            "x": {"type": "u32", "elements": 1}, "lock": {"type": "u32", "elements": 1}, "y": {"type": "u32", "elements": 160},
        },
        "check": {"forall": f"x[0] == {wanted}{more}", "race_free": True, "terminates": True},
    }  # fmt: skip
    return KernelFile.of(tree, "k.toml", {"k.ptx": test.launches[0].text}).test()


def _few(run: Callable[..., object], every: list[int]) -> Callable[..., object]:
    """Without places, only few runs."""

    def some(runs: Runs, broken: object, most: int = 3, places: object = None, **more: object) -> object:
        every.append(most)
        return run(runs, broken, 400 if places else 3, places, **more)

    return some


def test_what_all_ctas_leave_in_places_of_their_own_does_not_change() -> None:
    test = _exact(_locked(5, 32), 5, " && y[0] == 1 && y[159] == 1")
    found = run_several(runs := Runs(test, watched=True), lambda _: False, places=ChangingCtas(runs))
    assert isinstance(found, FinalStates) and (found.runs, found.differing) == (1, frozenset())
    first = (
        _locked(5, 32)
        .launches[0]
        .text.replace("%r7, 0; @%p2 bra TRY;", "%r7, 0; @%p2 bra TRY; ld.global.u32 %r9, [%rd1];")
    )
    test = _exact(replace(test, launches=(replace(test.launches[0], text=first),)), 5, " && y[0] == 1")
    found = run_several(runs := Runs(test, watched=True), lambda _: False, places=ChangingCtas(runs))
    assert isinstance(found, FinalStates) and found.differing == {"y[0]"}


def test_places_that_only_some_write_differ_where_they_differed_at_first() -> None:
    """Who is the first writes what the other one has."""
    own = "mul.wide.u32 %rd3, %r1, 4; add.u64 %rd3, %rd3, %rd1;"
    body = f"{own} atom.relaxed.gpu.global.add.u32 %r5, [%rd1+80], 1; setp.ne.u32 %p2, %r5, 0; @%p2 bra OUT;"
    text = "\n ".join([_HEAD, body, "st.global.u32 [%rd3+512], 5;", "OUT: ret;", "}"])
    for first, differ in (([7, 5], {"x[128]"}), ([5, 7], {"x[128]"}), ([5, 5], set())):
        tree = {
            "ptx": "k.ptx", "entry": "k", "grid": 2, "block": 1,
            "params": {"x": {"type": "u32", "elements": 192, "init": [0] * 128 + first}},
            "check": {"exists": "x[128] == 9"},
        }  # fmt: skip
        runs = Runs(KernelFile.of(tree, "k.toml", {"k.ptx": text}).test(), watched=True)
        found = run_several(runs, lambda _: False, places=ChangingCtas(runs))
        assert isinstance(found, FinalStates) and found.differing == differ, first


def test_a_race_is_found_in_whatever_place() -> None:
    _, found = by_runs(_locked(9, 32, acquire="relaxed"))
    assert found.verdict == "no" and found.races


def test_keys_are_the_same_for_scripts_in_other_places_and_for_no_others() -> None:
    draw, size = random.Random(0), 2
    symmetry, spots = Symmetry(size), [Bytes(0, -1, 4 * i, 4) for i in range(2)]

    def script() -> Script:
        names = [(0, t, n) for t in range(6) for n in range(2)]
        draw.shuffle(names)
        first, second = names[:2], names[2 : 2 + draw.randint(0, 2)]
        return Script(
            {spots[0]: tuple(first), spots[1]: tuple(second)}, {names[5]: 0, names[6]: draw.randint(0, 1)},
            {(spots[0], 1): {2: names[7]}}, {names[8]: 1},
        )  # fmt: skip

    def moved(one: Script, to: tuple[int, ...]) -> Script:
        def at(name: tuple[int, int, int]) -> tuple[int, int, int]:
            return name[0], to[name[1] // size] * size + name[1] % size, name[2]

        return Script(
            {where: tuple(map(at, order)) for where, order in one.orders.items()},
            {at(name): n for name, n in one.sources.items()},
            {where: {p: at(name) for p, name in of.items()} for where, of in one.takers.items()},
            {at(name): n for name, n in one.awaits.items()},
        )

    some = [script() for _ in range(40)]
    for one in some:
        images = {moved(one, to).key() for to in permutations(range(3))}
        assert {symmetry.key(moved(one, to)) for to in permutations(range(3))} == {symmetry.key(one)}
        assert all((symmetry.key(one) == symmetry.key(other)) == (other.key() in images) for other in some)
