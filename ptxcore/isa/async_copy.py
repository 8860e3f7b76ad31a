"""Asynchronous stores and copies (PTX ISA 9.0, sections 9.7.9.12, 9.7.9.13 and 9.7.9.25); those of tensors have a file
of their own."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from ptxcore.isa.atomics import combined
from ptxcore.isa.difference import Difference
from ptxcore.isa.form import Form, Use
from ptxcore.isa.mbarrier import signal
from ptxcore.values.floats import flush
from ptxcore.values.terms import Value, bit_and, eq, extract, ite, sub, ule

if TYPE_CHECKING:
    from ptxcore.isa.thread import Thread

HINT = "L2::cache_hint"
PREFETCH = "L2::64B L2::128B L2::256B"
MBARRIER = "mbarrier::complete_tx::bytes"
POLICY = "policy:u64 own if=hint"


def st_async(how: Use, thread: Thread, a: Value, b: Any, mbar: Value | None = None) -> None:
    """[a] = b, at any later time. To shared memory, the barrier object [mbar] then learns that the bytes of b are complete:
    `.mbarrier::complete_tx::bytes` is what a weak store has where it names nothing."""
    elements = len(b) if isinstance(b, tuple) else 1
    signalled = mbar if how.sem != "release" and how.space != "global" else None

    def perform() -> None:
        thread.store(how, a, b)
        if signalled is not None:
            signal(thread, signalled, elements * how.width // 8)

    thread.defer(how, perform)


def st_bulk(how: Use, thread: Thread, a: Value, size: Value, value: Value) -> None:
    """size bytes from a on = 0"""
    _require_aligned(thread, a, 8)
    thread.require(eq(extract(size, 2, 0), 0), "bad-size", "a size of st.bulk is a multiple of 8")
    thread.clear(how, a, size)


def _require_aligned(thread: Thread, address: Value, size: Value) -> None:
    aligned = eq(bit_and(address, sub(size, 1, 64), 64), 0)
    thread.require(aligned, "misaligned", f"the address of an asynchronous copy is no multiple of {size}")


def cp_async(
    how: Use, thread: Thread, d: Value, a: Value, size: Value, source: Value | None = None, policy: Value | None = None
) -> None:
    """size bytes from d on = source bytes from a on (all of them where source is left out), then zeros; at any later time,
    or when the thread waits for its group"""
    copied = size if source is None else source
    thread.require(ule(copied, size, 32), "bad-size", "the source of cp.async is longer than the copy")
    _copy_some(how, thread, d, a, size, copied)


def cp_async_ignoring(
    how: Use, thread: Thread, d: Value, a: Value, size: Value, ignored: Value, policy: Value | None = None
) -> None:
    """As cp_async, but all zeros where `ignored` is true."""
    _copy_some(how, thread, d, a, size, ite(ignored, 0, size, 32))


def _copy_some(how: Use, thread: Thread, d: Value, a: Value, size: Value, copied: Value) -> None:
    _require_aligned(thread, d, size)
    _require_aligned(thread, a, size)
    thread.copy(how, d, a, copied, fill=sub(size, copied, 32))


def commit_group(how: Use, thread: Thread) -> None:
    """The copies so far that are in no group become one."""
    thread.commit(how)


def wait_group(how: Use, thread: Thread, n: Value) -> None:
    """Waits until all groups but the last n are complete; with `.read`, until all copies in them have read."""
    thread.wait(how, n)


def wait_all(how: Use, thread: Thread) -> None:
    """As commit_group, then wait_group 0"""
    thread.commit(how)
    thread.wait(how, 0)


def _require_bulk(thread: Thread, d: Value, a: Value, size: Value) -> None:
    _require_aligned(thread, d, 16)
    _require_aligned(thread, a, 16)
    thread.require(eq(extract(size, 3, 0), 0), "bad-size", "the size of a bulk copy is a multiple of 16")


def cp_async_bulk(how: Use, thread: Thread, d: Value, a: Value, size: Value, mbar: Value, *more: Value) -> None:
    """size bytes from d on = those from a on, at any later time; then the barrier object [mbar] learns of them. With
    `.multicast::cluster`, in each CTA of the cluster whose bit is set in the mask, at the same places in its shared
    memory. `more`: the mask, a cache policy."""
    _require_bulk(thread, d, a, size)
    if not how.words["multicast"]:
        thread.copy(how, d, a, size, after=lambda: signal(thread, mbar, size))
        return
    for rank in thread.ranks(how):
        there, barrier = thread.map_address(how, d, rank), thread.map_address(how, mbar, rank)
        thread.copy(how, there, a, size, when=extract(more[0], rank, rank), after=_signalling(thread, barrier, size))


def _signalling(thread: Thread, mbar: Value, size: Value) -> Callable[[], None]:
    return lambda: signal(thread, mbar, size)


def cp_async_bulk_group(how: Use, thread: Thread, d: Value, a: Value, size: Value, *more: Value) -> None:
    """size bytes from d on = those from a on, at any later time, or when the thread waits for its group. With `.cp_mask`,
    of each 16 bytes only those whose bits are set in the mask. `more`: a cache policy, the mask."""
    _require_bulk(thread, d, a, size)
    thread.copy(how, d, a, size, selected=more[-1] if how.words["cp_mask"] else 0xFFFF)


def cp_reduce(how: Use, thread: Thread, d: Value, a: Value, size: Value, mbar: Value) -> None:
    """Each element of size bytes from d on = operation(itself, that from a on), at any later time; then the barrier object
    [mbar] learns of the bytes"""
    _require_bulk(thread, d, a, size)
    thread.copy(how, d, a, size, combine=partial(_reduced, how), after=lambda: signal(thread, mbar, size))


def cp_reduce_group(how: Use, thread: Thread, d: Value, a: Value, size: Value, policy: Value | None = None) -> None:
    """As cp_reduce, or when the thread waits for its group"""
    _require_bulk(thread, d, a, size)
    thread.copy(how, d, a, size, combine=partial(_reduced, how))


def _reduced(how: Use, old: Value, new: Value) -> Value:
    """operation(old, new); `.add.f32` flushes subnormal sources and results (section 9.7.9.25.4.2)"""
    if how.type != "f32":
        return combined(how, old, new)
    return flush("f32", combined(how, flush("f32", old), flush("f32", new)))


_st_async = partial(Form, run=st_async, kind="effect", section="9.7.9.12", version="8.1", target="sm_90", first="async")
_WORDS = "b32 b64 u32 u64 s32 s64 f32 f64"
_ALL = f"b8 b16 u8 u16 s8 s16 {_WORDS}"
_GLOBAL_GATE = "8.7 sm_100"


def _no_variable(how: Use) -> dict[str, str]:
    """The name of a shared variable is refused behind `.shared::cta` (measured)."""
    return {"a": "registers"} if how.words["space"] else {}


_STORES = (
    _st_async(
        "st.async{.sem}{.scope}{.space}{.completion}{.vec}.type [a:narrow], b:vec, [mbar:narrow]", sem="weak", scope="cluster",
        rules=("ptxas: !completion -> never", "ptxas: weak -> !scope", "v4 -> b32 u32 s32 f32"),
        space="shared::cluster", completion=MBARRIER, vec="v2 v4", type=_WORDS,
    ),
    _st_async(
        "st.async{.mmio}{.sem}{.scope}{.space}.type [a:narrow], b",
        rules=("release -> scope", "mmio -> release", "manual: !release -> never", "manual: mmio -> sys",
               "weak -> !scope"),
        needs={"release mmio space=global": _GLOBAL_GATE}, manual={"": _GLOBAL_GATE}, sem="release weak",
        scope="gpu sys", space="global", type=_ALL,
    ),
    # Measured beyond that: spaces and numbers of operands that ptxas does not hold apart.
    _st_async(
        "st.async{.sem}.space{.completion}{.vec}.type [a:narrow], b:vec, [mbar:narrow]", only="ptxas", sem="weak",
        rules=("v4 -> b32 u32 s32 f32",), needs={"shared::cta": "7.8"}, space="shared shared::cta", completion=MBARRIER,
        vec="v2 v4", type=_WORDS,
    ),
    _st_async(
        "st.async{.sem}{.scope}.space.type [a:narrow], b, [mbar:narrow]", only="ptxas",
        rules=("release -> scope", "weak -> !scope"), needs={"!completion": _GLOBAL_GATE},
        sem="release weak", scope="gpu sys", space="global", type=_WORDS,
    ),
    _st_async(
        "st.async{.sem}{.scope}{.space}{.completion}.type [a:narrow], b", only="ptxas", sem="weak", scope="cluster",
        rules=("weak -> !scope", "space=shared::cluster scope -> completion", "scope -> !space space=shared::cluster"),
        space="shared shared::cta shared::cluster", completion=MBARRIER, type=_ALL,
    ),
    *(
        Form(
            f"st.bulk{{.sem}}{{.space}} [a:narrow], size:{width} *8 0..16777216, value:imm 0..0", st_bulk, kind="effect",
            section="9.7.9.13",
            version=version, target="sm_100", first="bulk", layout=_no_variable, sem="weak",
            space="shared::cta",
        )
        for width, version in (("u64", "8.6"), ("u32 strict", "9.0"))
    ),
)  # fmt: skip

# Copies of 4 to 16 bytes.

_cp_async = partial(
    Form, kind="effect", section="9.7.9.25.3.1", version="7.0", target="sm_80", first="async",
    ordered="dst global",
    manual={"shared::cta": "7.8"},
)  # fmt: skip
_COPY_GATES = {"hint prefetch": "7.4"}
_NON_BULK = tuple(
    _cp_async(
        f"cp.async.{cop}.dst.global{{.hint}}{{.prefetch}} [d:shared], [a:global narrow], size:imm {size}, {rest}, {POLICY}",
        run,
        needs={**_COPY_GATES, **needs}, dst="shared shared::cta", hint=HINT,
        prefetch=PREFETCH,
    )
    for cop, size in (("ca", "4..16 power_of_two"), ("cg", "16..16"))
    for rest, run, needs in (
        ("source:u32 upto=size 0..16?", cp_async, {}),
        ("{!}ignored", cp_async_ignoring, {"ca cg": "7.5"}),
    )
)  # fmt: skip
_group = partial(Form, kind="effect", version="7.0", target="sm_80")
_GROUPS = (
    _group("cp.async.commit_group", commit_group, section="9.7.9.25.3.2", first="async commit_group"),
    _group("cp.async.wait_group n:imm", wait_group, section="9.7.9.25.3.3", first="async wait_group"),
    _group("cp.async.wait_all", wait_all, section="9.7.9.25.3.3", first="async wait_all"),
)

# Copies of any size.

_SIZE = "size:u32 own *16"
_hopper = partial(Form, kind="effect", version="8.0", target="sm_90")
_bulk = partial(_hopper, run=cp_async_bulk, section="9.7.9.25.4.1", first="async bulk")
_reduce = partial(_hopper, run=cp_reduce, section="9.7.9.25.4.2", first="reduce async bulk")
_BULK = (
    _bulk(
        f"cp.async.bulk.shared::cta.global.{MBARRIER}{{.hint}} [d:shared], [a:global narrow], {_SIZE}, [mbar:shared], {POLICY}",
        version="8.6", ordered="shared::cta global", hint=HINT,
    ),
    _bulk(
        f"cp.async.bulk.shared::cluster.global.{MBARRIER}{{.multicast}}{{.hint}} [d:shared], [a:global narrow], {_SIZE}, "
        f"[mbar:shared], mask:u16 if=multicast, {POLICY}",
        ordered="shared::cluster global", hint=HINT, multicast="multicast::cluster",
    ),
    _bulk(
        f"cp.async.bulk.shared::cluster.shared::cta.{MBARRIER} [d:shared], [a:shared], {_SIZE}, [mbar:shared]",
        ordered="shared::cluster shared::cta",
    ),
    _bulk(
        f"cp.async.bulk.global.shared::cta.bulk_group{{.hint}}{{.cp_mask}} [d:global narrow], [a:shared], {_SIZE}, {POLICY}, "
        "mask:u16 if=cp_mask",
        run=cp_async_bulk_group, ordered="global shared::cta", needs={"cp_mask": "8.6 sm_100"}, hint=HINT,
    ),
    _reduce(
        f"cp.reduce.async.bulk.shared::cluster.shared::cta.{MBARRIER}.op.type [d:shared], [a:shared], {_SIZE}, "
        "[mbar:shared]",
        ordered="shared::cluster shared::cta", op="and or xor add inc dec min max", type="b32 u32 s32 u64",
        rules=("and or xor -> b32", "add -> u32 s32 u64", "inc dec -> u32", "min max -> u32 s32"),
    ),
    _reduce(
        "cp.reduce.async.bulk.global.shared::cta.bulk_group{.hint}.op{.noftz}.type [d:global narrow], [a:shared], "
        f"{_SIZE}, {POLICY}",
        run=cp_reduce_group, ordered="global shared::cta", op="and or xor add inc dec min max", hint=HINT,
        type="f16 bf16 b32 u32 s32 b64 u64 s64 f32 f64",
        rules=("and or xor -> b32 b64", "add -> u32 s32 u64 f32 f64 f16 bf16", "inc dec -> u32",
               "min max -> u32 s32 u64 s64 f16 bf16", "noftz -> add+f16 add+bf16", "add+f16 add+bf16 -> noftz"),
    ),
    _hopper(
        f"cp.async.bulk.prefetch.L2.global{{.hint}} [a:global narrow], {_SIZE}, {POLICY}", section="9.7.9.25.4.3",
        kind="nothing", first="async bulk prefetch", hint=HINT,
    ),
    _hopper("cp.async.bulk.commit_group", commit_group, section="9.7.9.25.6.1", first="async bulk commit_group"),
    _hopper("cp.async.bulk.wait_group{.read} n:imm", wait_group, section="9.7.9.25.6.2", first="async bulk wait_group"),
)  # fmt: skip

FORMS: tuple[Form, ...] = (*_STORES, *_NON_BULK, *_GROUPS, *_BULK)

DIFFERENCES = (
    Difference(
        "9.7.9.12",
        "`st.async` to `.shared::cluster` and generic addresses needs its completion mechanism.",
        "The completion mechanism may be left out.",
    ),
    Difference(
        "9.7.9.12",
        "`st.async` takes `.cluster` only without `.weak`.",
        "A semantics and a scope stand side by side.",
    ),
    Difference(
        "9.7.9.12",
        "`st.async` goes to global memory without `.release`, too, takes `.mmio` with `.gpu`, and has "
        "`.shared` and `.shared::cta` as spaces; a barrier may be given or left out with them.",
        "Stores to `.global` have `.release` and a scope, `.mmio` goes with `.sys`, and the spaces are "
        "`.shared::cluster` and `.global`.",
    ),
    Difference(
        "9.7.9.12",
        "No code is made of a weak `st.async` without a barrier, and with a barrier and `.global` ptxas breaks off without a "
        "word while it makes code. The checker takes both. Without `.mbarrier::complete_tx::bytes`, the barrier of a weak "
        "store is signalled all the same, by the code, too.",
        "Weak stores have a barrier and go to shared memory; `.mbarrier::complete_tx::bytes` is their default.",
        checked=False,
    ),
    Difference(
        "9.7.9.12",
        "The value of `st.async` without `.v2` or `.v4` may be a vector of 1, 2 or 4 elements. The checker "
        "refuses vectors there.",
        "It is a single value.",
        checked=False,
    ),
    Difference(
        "9.7.9.13",
        "`st.bulk.shared::cta` takes no name of a variable, and `st.bulk` no size in a `.b32` register.",
        "Neither is excluded.",
    ),
    Difference(
        "9.7.9.25.3.1",
        "A constant `src-size` above `cp-size` is refused. So it is by the checker, in both modes.",
        "The behaviour is undefined.",
        checked=False,
    ),
    Difference(
        "9.7.9.25.3.1",
        "`.shared::cta` on `cp.async` is known from PTX ISA 7.0 on.",
        "It came with PTX ISA 7.8.",
    ),
    Difference(
        "9.7.9.25.4.1",
        "`cp.async.bulk` to shared memory takes a mask of 16 bits or a cache policy of 64 in the place of the "
        "barrier, and the tensor copies take any register there. The checker asks for the barrier.",
        "The barrier is there.",
        checked=False,
    ),
    Difference(
        "5.1.4",
        "Asynchronous copies, stores and reductions, `tensormap.replace` and `prefetch.tensormap` take "
        "addresses of 32 bits in global and generic space, which other instructions do not. The checker takes "
        "them in both modes.",
        "They are the addresses of a module with `.address_size 32`.",
        checked=False,
    ),
)
