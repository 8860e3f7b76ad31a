"""Asynchronous stores and copies (PTX ISA 9.0, sections 9.7.9.12, 9.7.9.13 and 9.7.9.25); those of tensors have a file
of their own."""

from __future__ import annotations

from functools import partial

from ptxcore.isa.difference import Difference
from ptxcore.isa.form import Form, Use

HINT = "L2::cache_hint"
PREFETCH = "L2::64B L2::128B L2::256B"
MBARRIER = "mbarrier::complete_tx::bytes"
POLICY = "policy:u64 if=hint"

_st_async = partial(Form, section="9.7.9.12", version="8.1", target="sm_90", first="async")
_WORDS = "b32 b64 u32 u64 s32 s64 f32 f64"
_ALL = f"b8 b16 u8 u16 s8 s16 {_WORDS}"
_GLOBAL_GATE = "8.7 sm_100"


def _no_variable(how: Use) -> dict[str, str]:
    """The name of a shared variable is refused behind `.shared::cta` (measured)."""
    return {"a": "registers"} if how.words["space"] else {}


_STORES = (
    _st_async(
        "st.async{.sem}{.scope}{.space}{.completion}{.vec}.type [a], b:vec, [mbar]", sem="weak", scope="cluster",
        rules=("ptxas: !completion -> never", "ptxas: weak -> !scope", "v4 -> b32 u32 s32 f32"),
        space="shared::cluster", completion=MBARRIER, vec="v2 v4", type=_WORDS,
    ),
    _st_async(
        "st.async{.mmio}{.sem}{.scope}{.space}.type [a], b",
        rules=("release -> scope", "mmio -> release", "manual: !release -> never", "manual: mmio -> sys",
               "weak -> !scope"),
        needs={"release mmio space=global": _GLOBAL_GATE}, manual={"": _GLOBAL_GATE}, sem="release weak",
        scope="gpu sys", space="global", type=_ALL,
    ),
    # Measured beyond that: spaces and numbers of operands that ptxas does not hold apart.
    _st_async(
        "st.async{.sem}.space{.completion}{.vec}.type [a], b:vec, [mbar]", only="ptxas", sem="weak",
        rules=("v4 -> b32 u32 s32 f32",), needs={"shared::cta": "7.8"}, space="shared shared::cta", completion=MBARRIER,
        vec="v2 v4", type=_WORDS,
    ),
    _st_async(
        "st.async{.sem}{.scope}.space.type [a], b, [mbar]", only="ptxas",
        rules=("release -> scope", "weak -> !scope"), needs={"!completion": _GLOBAL_GATE},
        sem="release weak", scope="gpu sys", space="global", type=_WORDS,
    ),
    _st_async(
        "st.async{.sem}{.scope}{.space}{.completion}.type [a], b", only="ptxas", sem="weak", scope="cluster",
        rules=("weak -> !scope", "space=shared::cluster scope -> completion", "scope -> !space space=shared::cluster"),
        space="shared shared::cta shared::cluster", completion=MBARRIER, type=_ALL,
    ),
    *(
        Form(
            f"st.bulk{{.sem}}{{.space}} [a], size:{width} *8 0..16777216, value:imm 0..0", section="9.7.9.13",
            version=version, target="sm_100", first="bulk", layout=_no_variable, sem="weak",
            space="shared::cta",
        )
        for width, version in (("u64", "8.6"), ("u32 strict", "9.0"))
    ),
)  # fmt: skip

# Copies of 4 to 16 bytes.

_cp_async = partial(
    Form, section="9.7.9.25.3.1", version="7.0", target="sm_80", first="async", ordered="dst global",
    manual={"shared::cta": "7.8"},
)  # fmt: skip
_COPY_GATES = {"hint prefetch": "7.4"}
_NON_BULK = tuple(
    _cp_async(
        f"cp.async.{cop}.dst.global{{.hint}}{{.prefetch}} [d:shared], [a:global], size:imm {size}, {rest}, {POLICY}",
        needs={**_COPY_GATES, **needs}, dst="shared shared::cta", hint=HINT,
        prefetch=PREFETCH,
    )
    for cop, size in (("ca", "4..16 power_of_two"), ("cg", "16..16"))
    for rest, needs in (("source:u32 upto=size 0..16?", {}), ("{!}ignored", {"ca cg": "7.5"}))
)  # fmt: skip
_GROUPS = (
    Form("cp.async.commit_group", section="9.7.9.25.3.2", version="7.0", target="sm_80", first="async commit_group"),
    Form("cp.async.wait_group n:imm", section="9.7.9.25.3.3", version="7.0", target="sm_80", first="async wait_group"),
    Form("cp.async.wait_all", section="9.7.9.25.3.3", version="7.0", target="sm_80", first="async wait_all"),
)

# Copies of any size.

_SIZE = "size:u32 *16"
_hopper = partial(Form, version="8.0", target="sm_90")
_bulk = partial(_hopper, section="9.7.9.25.4.1", first="async bulk")
_reduce = partial(_hopper, section="9.7.9.25.4.2", first="reduce async bulk")
_BULK = (
    _bulk(
        f"cp.async.bulk.shared::cta.global.{MBARRIER}{{.hint}} [d:shared], [a:global], {_SIZE}, [mbar:shared], {POLICY}",
        version="8.6", ordered="shared::cta global", hint=HINT,
    ),
    _bulk(
        f"cp.async.bulk.shared::cluster.global.{MBARRIER}{{.multicast}}{{.hint}} [d:shared], [a:global], {_SIZE}, "
        f"[mbar:shared], mask:u16 if=multicast, {POLICY}",
        ordered="shared::cluster global", hint=HINT, multicast="multicast::cluster",
    ),
    _bulk(
        f"cp.async.bulk.shared::cluster.shared::cta.{MBARRIER} [d:shared], [a:shared], {_SIZE}, [mbar:shared]",
        ordered="shared::cluster shared::cta",
    ),
    _bulk(
        f"cp.async.bulk.global.shared::cta.bulk_group{{.hint}}{{.cp_mask}} [d:global], [a:shared], {_SIZE}, {POLICY}, "
        "mask:u16 if=cp_mask",
        ordered="global shared::cta", needs={"cp_mask": "8.6 sm_100"}, hint=HINT,
    ),
    _reduce(
        f"cp.reduce.async.bulk.shared::cluster.shared::cta.{MBARRIER}.op.type [d:shared], [a:shared], {_SIZE}, "
        "[mbar:shared]",
        ordered="shared::cluster shared::cta", op="and or xor add inc dec min max", type="b32 u32 s32 u64",
        rules=("and or xor -> b32", "add -> u32 s32 u64", "inc dec -> u32", "min max -> u32 s32"),
    ),
    _reduce(
        f"cp.reduce.async.bulk.global.shared::cta.bulk_group{{.hint}}.op{{.noftz}}.type [d:global], [a:shared], {_SIZE}, "
        f"{POLICY}",
        ordered="global shared::cta", op="and or xor add inc dec min max", hint=HINT,
        type="f16 bf16 b32 u32 s32 b64 u64 s64 f32 f64",
        rules=("and or xor -> b32 b64", "add -> u32 s32 u64 f32 f64 f16 bf16", "inc dec -> u32",
               "min max -> u32 s32 u64 s64 f16 bf16", "noftz -> add+f16 add+bf16", "add+f16 add+bf16 -> noftz"),
    ),
    _hopper(
        f"cp.async.bulk.prefetch.L2.global{{.hint}} [a:global], {_SIZE}, {POLICY}", section="9.7.9.25.4.3",
        first="async bulk prefetch", hint=HINT,
    ),
    _hopper("cp.async.bulk.commit_group", section="9.7.9.25.6.1", first="async bulk commit_group"),
    _hopper("cp.async.bulk.wait_group{.read} n:imm", section="9.7.9.25.6.2", first="async bulk wait_group"),
)  # fmt: skip

FORMS: tuple[Form, ...] = (*_STORES, *_NON_BULK, *_GROUPS, *_BULK)

DIFFERENCES = (
    Difference(
        "9.7.9.12",
        "needs the completion mechanism with `.shared::cluster` and with generic addresses",
        "lets it be left out",
    ),
    Difference("9.7.9.12", "takes `.cluster` only without `.weak`", "has a semantics and a scope side by side"),
    Difference(
        "9.7.9.12",
        "takes `st.async` to global memory without `.release`, `.mmio` with `.gpu`, and `.shared` or `.shared::cta` as "
        "the space; a barrier may be given or left out with them",
        "has `.release` with a scope, `.sys` only for `.mmio`, and the spaces `.shared::cluster` and `.global`",
    ),
    Difference(
        "9.7.9.13",
        "refuses the name of a variable behind `.shared::cta` on `st.bulk`, and a size in a `.b32` register",
        "has neither restriction",
    ),
    Difference(
        "9.7.9.25.3.1", "refuses a constant `src-size` above `cp-size`", "leaves the behaviour undefined", checked=False
    ),
    Difference("9.7.9.25.3.1", "knows `.shared::cta` on `cp.async` from PTX ISA 7.0 on", "asks for 7.8"),
)
