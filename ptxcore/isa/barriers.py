"""Barriers of threads: `bar`, `barrier`, `bar.warp.sync`, `barrier.cluster` (PTX ISA 9.0, sections 9.7.13.1 to 9.7.13.3)."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING

from ptxcore.isa.difference import Difference
from ptxcore.isa.form import Form, Use
from ptxcore.values.terms import Value

if TYPE_CHECKING:
    from ptxcore.isa.thread import Thread


def bar_sync(how: Use, thread: Thread, a: Value, b: Value | None = None) -> None:
    """Arrives at barrier a, and waits for b threads, or all."""
    thread.barrier("sync", how, identity=a, count=b)


def bar_arrive(how: Use, thread: Thread, a: Value, b: Value) -> None:
    """Arrives at barrier a of b threads, without waiting."""
    thread.barrier("arrive", how, identity=a, count=b)


def bar_red(how: Use, thread: Thread, a: Value, b: Value | None, c: Value) -> Value:
    """As sync; d = how many (.popc), whether all (.and), whether any (.or) of the threads had c."""
    result = thread.barrier("red", how, identity=a, count=b, operator=how.op, operand=c)
    assert result is not None
    return result


def warp_sync(how: Use, lanes: Mapping[int, tuple[Value, ...]]) -> dict[int, None]:
    """Waits until all threads of the member mask are here; that they all came is all there is to it."""
    return dict.fromkeys(lanes)


def cluster_arrive(how: Use, thread: Thread) -> None:
    """Arrives at the barrier of the cluster, without waiting."""
    thread.barrier("arrive", how, identity=None, count=None, level="cluster")


def cluster_wait(how: Use, thread: Thread) -> None:
    """Waits until all threads of the cluster, but those that have ended, have arrived."""
    thread.barrier("wait", how, identity=None, count=None, level="cluster")


_NUMBER = "a:u32 own barrier 0..15"
_THREADS = "u32 own threads *32"

_bar = partial(Form, kind="effect", section="9.7.13.1", needs={"cta": "7.8 sm_20"}, manual={"cta": "7.8"})

#: `bar` is `barrier.aligned`.
_ALIGNED = {"aligned": "aligned"}


def _barriers(mnemonic: str, aligned: str, version: str, target: str) -> tuple[Form, ...]:
    given = _ALIGNED if mnemonic == "bar" else {}
    bar = partial(_bar, version=version, target=target, given=given)
    # ptxas takes a register and a count in the oldest bar.sync; other barriers had them from their first version on.
    sync = _bar if mnemonic == "bar" else bar
    return (
        sync(f"{mnemonic}{{.cta}}.sync{aligned} {_NUMBER}, b?:{_THREADS}", bar_sync, first="cta", repeats="sync",
             given=given, manual={"cta": "7.8", "": f"{version} {target}"}),
        bar(f"{mnemonic}{{.cta}}.arrive{aligned} {_NUMBER}, b:{_THREADS} nonzero", bar_arrive, first="cta arrive"),
        bar(f"{mnemonic}{{.cta}}.red.op{aligned}.u32 d, {_NUMBER}, b?:{_THREADS}, {{!}}c", bar_red, op="popc",
            first="cta red"),
        bar(f"{mnemonic}{{.cta}}.red.op{aligned}.pred p, {_NUMBER}, b?:{_THREADS}, {{!}}c", bar_red, op="and or",
            first="cta red"),
    )  # fmt: skip


_warp = partial(Form, kind="warp", section="9.7.13.2", version="6.0", target="sm_30", mask="membermask")
_cluster = partial(Form, kind="effect", section="9.7.13.3", version="7.8", target="sm_90", needs={"sem": "8.0"})

FORMS = (
    _bar(f"bar{{.cta}}.sync {_NUMBER} imm", bar_sync, first="cta", repeats="sync", given=_ALIGNED,
         only="manual"),
    *_barriers("bar", "", "2.0", "sm_20"),
    _bar(f"bar.sync.mode {_NUMBER}, b?:{_THREADS}", bar_sync, version="6.0", target="sm_30", repeats="sync",
         mode="all any", given=_ALIGNED, only="ptxas"),
    *_barriers("barrier", "{.aligned}", "6.0", "sm_30"),
    _warp("bar.warp.sync membermask:u32", warp_sync, first="warp sync", repeats="sync"),
    _cluster("barrier.cluster.arrive{.sem}{.aligned}", cluster_arrive, sem="release relaxed", first="cluster arrive",
             absent={"sem": "release"}),
    _cluster("barrier.cluster.wait{.sem}{.aligned}", cluster_wait, sem="acquire", first="cluster wait",
             absent={"sem": "acquire"}),
)  # fmt: skip

DIFFERENCES = (
    Difference(
        "9.7.13.1",
        "`bar.sync` takes a register and a number of threads on every target.",
        "Both came with PTX ISA 2.0 and sm_20; before, there is a constant barrier alone.",
    ),
    Difference(
        "9.7.13.1",
        "`.all` and `.any` may be added to `bar.sync`, and mean nothing.",
        "There are no such modifiers.",
    ),
    Difference(
        "9.7.13.1",
        "`bar.cta` needs sm_20 as well as PTX ISA 7.8.",
        "`.cta` needs PTX ISA 7.8.",
    ),
    Difference(
        "9.7.13.1",
        "The result of `bar.red.and` and `bar.red.or` may be a `.f16x2` register. The checker refuses it.",
        "It is a predicate.",
        checked=False,
    ),
)
