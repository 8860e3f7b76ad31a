"""Fences: `membar` and `fence` of threads, of operations and of proxies (PTX ISA 9.0, section 9.7.13.4)."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from ptxcore.isa.difference import Difference
from ptxcore.isa.effect_kinds import FENCE, PROXY_FENCE
from ptxcore.isa.form import Form, Use
from ptxcore.places import SCOPES

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ptxcore.isa.thread import Thread
    from ptxcore.syntax.tree import Instruction
    from ptxcore.values.terms import Value


def fence(how: Use, thread: Thread) -> None:
    """Orders this thread's accesses before it against those behind it, in its scope. Where it is of some operations only
    (`.mbarrier_init`, `.sync_restrict`), it says so."""
    only = how.words["operation"] or _restriction(how)
    thread.effect(FENCE, how, semantics=how.sem, scope=_LEVELS.get(how.scope or "", how.scope), restrict=only)


def _restriction(how: Use) -> str:
    """The space that a fence with `.sync_restrict` is about."""
    return how.words["restrict"].removeprefix("sync_restrict::")


def proxy_fence(how: Use, thread: Thread) -> None:
    """Orders accesses through the generic proxy against those through the one that the fence names, both ways."""
    thread.effect(PROXY_FENCE, how, proxy=_proxies(how), restrict=_restriction(how))


def _proxies(how: Use) -> str:
    """What a fence of proxies names: them, and a space where it is of one only."""
    return ".".join(filter(None, (how.words["between"], how.words["of"])))


def one_way_fence(how: Use, thread: Thread, address: Value | None = None, size: Value | None = None) -> None:
    """Orders accesses through one proxy before those through another, in the scope of the fence and as an acquire or a
    release. One that acquires may name the memory that it is about: an address and 128 bytes."""
    thread.effect(
        PROXY_FENCE, how, semantics=how.sem, scope=how.scope, proxy=_proxies(how), restrict=_restriction(how),
        address=0 if address is None else address, size=size,
    )  # fmt: skip


#: `membar` names its levels otherwise than scopes.
_LEVELS = {"gl": "gpu"}
#: What has a scope that is not chosen.
_FIXED = {"volatile", "mmio", "mbarrier_init", "sync_restrict"}


def scopes_of(instruction: Instruction) -> Mapping[str, str]:
    """How an instruction may write the scopes that it may have; none where nobody chooses its scope."""
    if instruction.opcode == "membar":
        return {"cta": "cta", "gpu": "gl"}
    words = {modifier.partition("::")[0] for modifier in instruction.modifiers}
    chosen = instruction.opcode != "barrier" and words.isdisjoint(_FIXED)
    return {scope: scope for scope in SCOPES} if chosen else {}


_TO_CTA, _TO_CLUSTER = "sync_restrict::shared::cta", "sync_restrict::shared::cluster"
_RESTRICTS = f"{_TO_CTA} {_TO_CLUSTER}"
_OF = "global shared::cta shared::cluster"
#: ptxas takes `.sync_restrict` where the manual's syntax has none.
_BEYOND = ("manual:restrict -> never",)

_fence = partial(Form, kind="effect", section="9.7.13.4")
_restricted = partial(_fence, run=fence, version="8.6", target="sm_90", scope="cluster")
_proxy = partial(_fence, first="proxy", version="8.0", target="sm_90")
_one_way = partial(_proxy, run=one_way_fence, version="8.3", scope=SCOPES, between="tensormap::generic")
_async = partial(
    _proxy, run=one_way_fence, version="8.6", scope="cluster", between="async::generic", of=f"shared {_OF}",
    rules=("manual:of -> never",),
)  # fmt: skip
_ALSO = {"restrict": "8.6 sm_90"}

FORMS = (
    # Of the thread.
    _fence("fence{.sem}.scope", fence, version="6.0", target="sm_70", sem="sc acq_rel acquire release", scope=SCOPES,
           absent={"sem": "acq_rel"}, needs={"cluster": "7.8 sm_90"}, manual={"acquire release": "8.6 sm_90"}),
    _fence("membar.scope", fence, version="1.4", scope="cta gl sys", given={"sem": "sc"}, needs={"sys": "2.0 sm_20"}),
    # Of some operations, one way.
    _restricted("fence.sem.restrict.scope", sem="acquire", restrict=_TO_CLUSTER),
    _restricted("fence.sem.restrict.scope", sem="release", restrict=_TO_CTA),
    _fence("fence.operation{.restrict}.sem.scope", fence, version="8.0", target="sm_90", operation="mbarrier_init",
           sem="release", scope="cluster", restrict=_RESTRICTS, needs=_ALSO, rules=_BEYOND),
    # Between proxies, both ways.
    _proxy("fence.proxy.between{.restrict}", proxy_fence, version="7.5", target="sm_70", between="alias",
           restrict=_RESTRICTS, needs=_ALSO, rules=_BEYOND),
    _proxy("fence.proxy.between{.of}{.restrict}", proxy_fence, between="async", of=_OF,
           restrict=_RESTRICTS, needs=_ALSO, rules=_BEYOND),
    _proxy("membar.proxy.between", proxy_fence, version="7.5", target="sm_60", between="alias"),
    _proxy("membar.proxy.between{.of}", proxy_fence, between="async", of=_OF, only="manual"),
    # Between proxies, one way.
    _one_way("fence.proxy.between{.of}.sem.scope{.restrict}", sem="release", of=f"shared {_OF}",
             restrict=_RESTRICTS, needs=_ALSO, rules=(*_BEYOND, "manual:of -> never")),
    _one_way("fence.proxy.between.sem.scope [addr:any], size:u32 imm 128..128", sem="acquire"),
    _async("fence.proxy.between{.of}.sem.restrict.scope", sem="acquire", restrict=_TO_CLUSTER),
    _async("fence.proxy.between{.of}.sem.restrict.scope", sem="release", restrict=_TO_CTA),
)  # fmt: skip

DIFFERENCES = (
    Difference(
        "9.7.13.4",
        "`fence.acquire` and `fence.release` are known from PTX ISA 6.0 and sm_70 on, as other fences are.",
        "They came with PTX ISA 8.6 and sm_90.",
    ),
    Difference(
        "9.7.13.4",
        "`membar.proxy.async` is refused, with a state space and without.",
        "`membar.proxy` is `fence.proxy` by another name, for every kind of proxy.",
    ),
    Difference(
        "9.7.13.4",
        "A `.sync_restrict` modifier of either kind may be added to `fence.mbarrier_init.release.cluster`, "
        "`fence.proxy.alias`, `fence.proxy.async` and `fence.proxy.tensormap::generic.release`.",
        "These have none.",
    ),
    Difference(
        "9.7.13.4",
        "A state space may be added to the fences between proxies that work one way and have no address.",
        "Only `fence.proxy.async` has one.",
    ),
    Difference(
        "9.7.13.4",
        "Nothing is asked of the address of `fence.proxy.tensormap::generic.acquire`: any variable or "
        "register will do.",
        "It is a generic address of global memory.",
    ),
)
