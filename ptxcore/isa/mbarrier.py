"""Barrier objects in shared memory: `mbarrier` and `cp.async.mbarrier.arrive` (PTX ISA 9.0, section 9.7.13.15).

The object is 64 bits that the manual leaves opaque. Here they are, from bit 0 on:

    20  pending        arrivals that the current phase waits for
    20  expected       arrivals that each phase waits for
    21  transactions   the tx-count, in two's complement
     2  phase          the number of the current phase, modulo 4
     1  valid          1 from `init` to `inval`

An operation is one read-modify-write of the whole, and the state that an arrival returns is the object as it was before.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from typing import TYPE_CHECKING

from ptxcore.isa.difference import Difference
from ptxcore.isa.form import Form, Use
from ptxcore.isa.matching import Misfit, match
from ptxcore.records import NamedTuple
from ptxcore.values.terms import Value, add, concat, conj, eq, extract, ite, ne, signed, slt, sub, ule, ult, zext

if TYPE_CHECKING:
    from ptxcore.isa.thread import Thread

_COUNT_BITS, _TX_BITS, _PHASE_BITS = 20, 21, 2
#: The largest arrival count and tx-count; the smallest tx-count is its opposite.
LARGEST = (1 << _COUNT_BITS) - 1
#: Wide enough for sums of a tx-count and an operand of 32 bits.
_WIDE = 34


class Contents(NamedTuple):
    """What an object keeps track of (section 9.7.13.15.2)."""

    pending: Value
    expected: Value
    transactions: Value
    phase: Value
    valid: Value


#: The bits of each field, from the lowest on.
_WIDTHS = (_COUNT_BITS, _COUNT_BITS, _TX_BITS, _PHASE_BITS, 1)
#: Of each field its lowest bit, and as many bits as it is wide.
_FIELDS = tuple((sum(_WIDTHS[:n]), (1 << width) - 1) for n, width in enumerate(_WIDTHS))


def contents(state: Value) -> Contents:
    """The fields of an object."""
    if type(state) is int:  # in each turn of each run that waits
        return Contents(*(state >> low & mask for low, mask in _FIELDS))
    found = []
    low = 0
    for width in _WIDTHS:
        found.append(extract(state, low + width - 1, low))
        low += width
    return Contents(*found)


def packed(fields: Contents) -> Value:
    """The object that has these fields."""
    result, low = fields.pending, _COUNT_BITS
    for field, width in zip(fields[1:], _WIDTHS[1:], strict=True):
        result = concat(field, result, width, low)
        low += width
    return result


def initial(count: Value) -> Value:
    """An object in its phase 0, which expects `count` arrivals (32 bits)."""
    arrivals = extract(count, _COUNT_BITS - 1, 0)
    return packed(Contents(arrivals, arrivals, 0, 0, 1))


def _completed(now: Contents) -> Value:
    """The next phase where nothing is pending any more (section 9.7.13.15.6)."""
    complete = conj(eq(now.pending, 0), eq(now.transactions, 0))
    return packed(
        now._replace(
            pending=ite(complete, now.expected, now.pending, _COUNT_BITS),
            phase=ite(complete, add(now.phase, 1, _PHASE_BITS), now.phase, _PHASE_BITS),
        )
    )


def after_expect_tx(state: Value, count: Value) -> Value:
    """tx-count += count (section 9.7.13.15.5.1)"""
    now = contents(state)
    more = extract(count, _TX_BITS - 1, 0)
    return packed(now._replace(transactions=add(now.transactions, more, _TX_BITS)))


def after_complete_tx(state: Value, count: Value) -> Value:
    """tx-count -= count, and the next phase where that was all (section 9.7.13.15.5.2)"""
    now = contents(state)
    fewer = extract(count, _TX_BITS - 1, 0)
    return _completed(now._replace(transactions=sub(now.transactions, fewer, _TX_BITS)))


def after_arrival(state: Value, count: Value = 1, *, dropped: bool = False) -> Value:
    """pending -= count, and the next phase where that was all (section 9.7.13.15.7). Who drops out is not expected any
    more either."""
    now = contents(state)
    fewer = extract(count, _COUNT_BITS - 1, 0)
    if dropped:
        now = now._replace(expected=sub(now.expected, fewer, _COUNT_BITS))
    return _completed(now._replace(pending=sub(now.pending, fewer, _COUNT_BITS)))


# What must hold, lest the behaviour be undefined.


def outstanding(transactions: Value) -> Value:
    """The tx-count as the number of bytes that are still to come; of a number, less than 0 where there were more."""
    return signed(transactions, _TX_BITS) if type(transactions) is int else _total(transactions)


def _total(transactions: Value) -> Value:
    """The tx-count, as a signed number of many bits."""
    wide = zext(transactions, _WIDE)
    return ite(extract(transactions, _TX_BITS - 1, _TX_BITS - 1), sub(wide, 1 << _TX_BITS, _WIDE), wide, _WIDE)


def _require_valid(thread: Thread, state: Value) -> None:
    thread.require(contents(state).valid, "bad-mbarrier", "no valid mbarrier object is at this address")


def _require_count(thread: Thread, count: Value) -> None:
    in_range = conj(ult(0, count, 32), ule(count, LARGEST, 32))
    thread.require(in_range, "bad-mbarrier", f"a count of arrivals goes from 1 to {LARGEST}")


def _require_transactions(thread: Thread, total: Value) -> None:
    in_range = conj(slt(-(1 << _COUNT_BITS) % (1 << _WIDE), total, _WIDE), slt(total, 1 << _COUNT_BITS, _WIDE))
    thread.require(in_range, "bad-mbarrier", f"the tx-count of an mbarrier object goes from -{LARGEST} to {LARGEST}")


def _change(kind: str, how: Use, thread: Thread, addr: Value, after: Callable[[Value], Value]) -> Value:
    """One step of a valid object; gives it as it was before."""
    old = thread.modify(kind, how, addr, lambda state: (after(state), 1))
    _require_valid(thread, old)
    return old


def _state(how: Use, thread: Thread, addr: Value) -> Value:
    """A valid object, for somebody who waits."""
    now = thread.modify("wait", how, addr, lambda state: (state, 0))
    _require_valid(thread, now)
    return now


# The instructions.


def init(how: Use, thread: Thread, addr: Value, count: Value) -> None:
    """Phase 0; expected = pending = count; tx-count = 0"""
    _require_count(thread, count)
    thread.modify("init", how, addr, lambda state: (initial(count), 1))


def inval(how: Use, thread: Thread, addr: Value) -> None:
    """The object is none any more."""
    _change("inval", how, thread, addr, lambda state: 0)


def expect_tx(how: Use, thread: Thread, addr: Value, count: Value) -> None:
    """tx-count += count"""
    old = _change("expect_tx", how, thread, addr, lambda state: after_expect_tx(state, count))
    _require_transactions(thread, add(_total(contents(old).transactions), zext(count, _WIDE), _WIDE))


def complete_tx(how: Use, thread: Thread, addr: Value, count: Value) -> None:
    """tx-count -= count, as if that many bytes had arrived"""
    old = _change("complete_tx", how, thread, addr, lambda state: after_complete_tx(state, count))
    _require_transactions(thread, sub(_total(contents(old).transactions), zext(count, _WIDE), _WIDE))


def arrive(how: Use, thread: Thread, addr: Value, count: Value = 1) -> Value:
    """state = [addr]; pending -= count, with `arrive_drop` expected -= count too. `.noComplete` must not complete the
    phase."""
    what, dropped = _arriving(how)
    old = _change(what, how, thread, addr, lambda state: after_arrival(state, count, dropped=dropped))
    _require_count(thread, count)
    now = contents(old)
    thread.require(
        ule(count, zext(now.pending, 32), 32), "bad-mbarrier", "more arrivals than the mbarrier object waits for"
    )
    if how.words["noComplete"]:
        same = eq(contents(after_arrival(old, count, dropped=dropped)).phase, now.phase)
        thread.require(same, "bad-mbarrier", "an arrival with .noComplete completes the phase")
    return old


def _arriving(how: Use) -> tuple[str, bool]:
    """The kind of an arrival, and whether who arrives drops out."""
    dropped = bool(how.words["arrive_drop"])
    return "arrive_drop" if dropped else "arrive", dropped


def arrive_expect_tx(how: Use, thread: Thread, addr: Value, count: Value) -> Value:
    """state = [addr]; tx-count += count; pending -= 1, with `arrive_drop` expected -= 1 too"""
    what, dropped = _arriving(how)
    old = _change(what, how, thread, addr, lambda state: after_arrival(after_expect_tx(state, count), dropped=dropped))
    now = contents(old)
    _require_transactions(thread, add(_total(now.transactions), zext(count, _WIDE), _WIDE))
    thread.require(ne(now.pending, 0), "bad-mbarrier", "more arrivals than the mbarrier object waits for")
    return old


def arrive_after_copies(how: Use, thread: Thread, addr: Value) -> None:
    """pending -= 1 when the thread's copies by `cp.async` so far are complete; pending += 1 before, without `.noinc`"""
    if not how.words["noinc"]:
        old = _change("increment", how, thread, addr, _one_more)
        thread.require(
            ne(contents(old).pending, LARGEST),
            "bad-mbarrier",
            f"an mbarrier object waits for at most {LARGEST} arrivals",
        )

    thread.after_copies(how, lambda: signal_arrival(how, thread, addr))


def signal_arrival(how: Use, thread: Thread, addr: Value) -> None:
    """pending -= 1: something that the thread has begun is complete."""
    old = _change("arrive", how, thread, addr, after_arrival)
    thread.require(ne(contents(old).pending, 0), "bad-mbarrier", "more arrivals than the mbarrier object waits for")


def _one_more(state: Value) -> Value:
    now = contents(state)
    return packed(now._replace(pending=add(now.pending, 1, _COUNT_BITS)))


def test_wait(how: Use, thread: Thread, addr: Value, state: Value) -> Value:
    """waitComplete = the phase that the state was returned in is over. It is the current phase or the one before."""
    now = _state(how, thread, addr)
    since = sub(contents(now).phase, contents(state).phase, _PHASE_BITS)
    thread.require(
        conj(contents(state).valid, ult(since, 2, _PHASE_BITS)),
        "bad-mbarrier",
        "the state is not of the current phase of this mbarrier object, nor of the one before",
    )
    return ne(since, 0)


def test_wait_parity(how: Use, thread: Thread, addr: Value, parity: Value) -> Value:
    """waitComplete = the phase of that parity, which is the current phase or the one before, is over"""
    now = _state(how, thread, addr)
    thread.require(ule(parity, 1, 32), "bad-mbarrier", "a parity is 0 or 1")
    return ne(extract(contents(now).phase, 0, 0), extract(parity, 0, 0))


def try_wait(how: Use, thread: Thread, addr: Value, state: Value, hint: Value | None = None) -> Value:
    """As test_wait; the thread may sleep before it says no, for about as many nanoseconds as the hint says, and then say no
    although the phase has ended meanwhile; not where it certainly was over before, which is for a memory model to say"""
    complete = test_wait(how, thread, addr, state)
    return thread.pause(how, complete)


def try_wait_parity(how: Use, thread: Thread, addr: Value, parity: Value, hint: Value | None = None) -> Value:
    """As test_wait.parity; see try_wait"""
    complete = test_wait_parity(how, thread, addr, parity)
    return thread.pause(how, complete)


def pending_count(how: Use, state: Value) -> Value:
    """count = the pending arrivals before the arrival that returned the state"""
    return zext(contents(state).pending, 32)


def signal(thread: Thread, mbar: Value, count: Value) -> None:
    """What the completion of an asynchronous operation on `count` bytes does to its object: `complete_tx`, releasing in
    the cluster."""
    complete_tx(_completion(), thread, mbar, count)


@cache
def _completion() -> Use:
    form = next(form for form in FORMS if form.run is complete_tx)
    found = match((form,), "mbarrier", ("complete_tx", "shared::cluster", "b64"))
    assert not isinstance(found, Misfit)
    use = found[0]
    use.sem, use.scope = "release", "cluster"
    return use


_OWN = "shared shared::cta"
_ANY = f"{_OWN} shared::cluster"
_NEEDS = {"shared::cta": "7.8", "shared::cluster": "8.0 sm_90"}
_SYNC_NEEDS = {**_NEEDS, "sem scope": "8.0", "relaxed": "8.6 sm_90", "cluster": "8.0 sm_90"}
_ADDRESS = "[addr:mbarrier]"
_COUNT = "count:u32 1..9223372036854775807"
#: In ptxas the two go together; the manual lets either be left out.
_TOGETHER = ("ptxas:sem -> scope", "ptxas:scope -> sem")
#: The manual asks nothing of the target for .relaxed.
_MANUAL = {"relaxed": "8.6"}

_mbarrier = partial(Form, kind="effect", version="7.0", target="sm_80", needs=_NEEDS)
_init = partial(_mbarrier, space=_OWN)
_transactions = partial(
    _mbarrier,
    version="8.0",
    target="sm_90",
    sem="relaxed",
    scope="cta cluster",
    space=_ANY,
    rules=_TOGETHER,
    absent={"sem": "relaxed", "scope": "cta"},
)


def _arrivals(what: str, section: str, sink: str) -> tuple[Form, ...]:
    """The forms of `.arrive` and `.arrive_drop`; `sink` is the version from which on the result may be dropped.

    The state of an object in another block of the cluster is not to be had: `_` must stand for it."""
    arriving = partial(
        _mbarrier,
        run=arrive,
        section=section,
        sem="release relaxed",
        scope="cta cluster",
        needs=_SYNC_NEEDS,
        manual=_MANUAL,
        rules=_TOGETHER,
        absent={"sem": "release", "scope": "cta"},
        first=what,
    )
    counted = partial(arriving, version="7.8", target="sm_90")
    expecting = partial(arriving, run=arrive_expect_tx, version="8.0", target="sm_90", first=f"{what} expect_tx")
    incomplete = partial(
        arriving,
        sem="release",
        scope="cta",
        space=_OWN,
        needs={**_NEEDS, "sem scope": "8.0"},
        manual={},
    )
    line = f"mbarrier.{what}{{.sem}}{{.scope}}{{.space}}.b64"
    expect = f"mbarrier.{what}.expect_tx{{.sem}}{{.scope}}{{.space}}.b64"
    no_complete = f"mbarrier.{what}.noComplete{{.sem}}{{.scope}}{{.space}}.b64"
    return (
        arriving(f"{line} d:u64, {_ADDRESS}", space=_OWN),
        arriving(f"{line} _:out dropped, {_ADDRESS}", space=_ANY, version=sink),
        counted(f"{line} d:u64 sink, {_ADDRESS}, {_COUNT}", space=_OWN),
        counted(f"{line} _:out dropped, {_ADDRESS}, {_COUNT}", space=_ANY),
        expecting(f"{expect} d:u64 sink, {_ADDRESS}, txCount:u32", space=_OWN),
        expecting(f"{expect} _:out dropped, {_ADDRESS}, txCount:u32", space=_ANY),
        incomplete(f"{no_complete} d:u64, {_ADDRESS}, {_COUNT}"),
        incomplete(f"{no_complete} _:out dropped, {_ADDRESS}, {_COUNT}", version=sink),
    )


def _waits(what: str, version: str, target: str, parity: str, hint: str) -> tuple[Form, ...]:
    """The forms of `.test_wait` and `.try_wait`; `parity` is the version that brought that form."""
    wait = partial(
        _mbarrier,
        section="9.7.13.15.16",
        target=target,
        sem="acquire relaxed",
        scope="cta cluster",
        space=_OWN,
        needs=_SYNC_NEEDS,
        manual=_MANUAL,
        rules=_TOGETHER,
        absent={"sem": "acquire", "scope": "cta"},
    )
    plain, by_parity = (test_wait, test_wait_parity) if what == "test_wait" else (try_wait, try_wait_parity)
    rest = f"{{.sem}}{{.scope}}{{.space}}.b64 p, {_ADDRESS}"
    return (
        wait(f"mbarrier.{what}{rest}, state:u64{hint}", plain, version=version, first=what),
        wait(
            f"mbarrier.{what}.parity{rest}, phaseParity:u32 0..1{hint}",
            by_parity,
            version=parity,
            first=f"{what} parity",
        ),
    )


FORMS = (
    _init(f"mbarrier.init{{.space}}.b64 {_ADDRESS}, count:u32", init, section="9.7.13.15.9", first="init"),
    _init(f"mbarrier.inval{{.space}}.b64 {_ADDRESS}", inval, section="9.7.13.15.10", first="inval"),
    _transactions(f"mbarrier.expect_tx{{.sem}}{{.scope}}{{.space}}.b64 {_ADDRESS}, txCount:u32", expect_tx,
                  section="9.7.13.15.11", first="expect_tx"),
    _transactions(f"mbarrier.complete_tx{{.sem}}{{.scope}}{{.space}}.b64 {_ADDRESS}, txCount:u32", complete_tx,
                  section="9.7.13.15.12", first="complete_tx"),
    *_arrivals("arrive", "9.7.13.15.13", "7.1"),
    *_arrivals("arrive_drop", "9.7.13.15.14", "7.0"),
    _init("cp.async.mbarrier.arrive{.noinc}{.space}.b64 [addr:narrow]", arrive_after_copies, section="9.7.13.15.15",
          first="async mbarrier arrive", given={"sem": "release", "scope": "cta"}),
    *_waits("test_wait", "7.0", "sm_80", "7.1", ""),
    *_waits("try_wait", "7.8", "sm_90", "7.8", ", suspendTimeHint?:u32"),
    Form("mbarrier.pending_count.b64 d:u32, state:u64", pending_count, section="9.7.13.15.17", version="7.0",
         target="sm_80", first="pending_count"),
)  # fmt: skip

DIFFERENCES = (
    Difference(
        "9.7.13.15",
        "A semantics needs a scope and a scope a semantics, in every operation of `mbarrier` that has them.",
        "Either may be left out; then arrivals release, waits acquire, and the scope is `.cta`.",
    ),
    Difference(
        "9.7.13.15",
        "`.relaxed` needs sm_90 in `mbarrier.arrive`, `.arrive_drop`, `.test_wait` and `.try_wait`.",
        "`.relaxed` needs PTX ISA 8.6 alone.",
    ),
    Difference(
        "9.7.13.15.14",
        "The modifiers of `mbarrier.arrive_drop.expect_tx` stand in any order.",
        "The space stands before semantics and scope there, unlike everywhere else.",
    ),
    Difference(
        "9.7.13.15.13",
        "A constant count is positive and has no upper bound; `mbarrier.init` takes any.",
        "Counts go from 1 to 2^20 - 1.",
    ),
    Difference(
        "9.7.13.15.13",
        "The count of an arrival may be a vector of any length. The checker refuses vectors.",
        "It has 32 bits.",
        checked=False,
    ),
)
