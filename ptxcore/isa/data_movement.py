"""Data movement (PTX ISA 9.0, section 9.7.9)."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from ptxcore.isa.form import Form, Use

if TYPE_CHECKING:
    from ptxcore.isa.thread import Thread
    from ptxcore.values.terms import Value


def ld(how: Use, thread: Thread, a: Value) -> Value:
    """d = [a]"""
    return thread.load(how, a)


def st(how: Use, thread: Thread, a: Value, b: Value) -> None:
    """[a] = b"""
    thread.store(how, a, b)


def mov(how: Use, a: Value) -> Value:
    """d = a, or the address of the variable a"""
    return a


MEMORY_TYPES = tuple(f"{kind}{bits}" for kind in "bus" for bits in (8, 16, 32, 64))

_SHARED = "shared shared::cta shared::cluster"
_L1 = "L1::evict_normal L1::evict_unchanged L1::evict_first L1::evict_last L1::no_allocate"
_L2 = "L2::evict_normal L2::evict_first L2::evict_last"
_PREFETCH = "L2::64B L2::128B L2::256B"
_TYPES = (*MEMORY_TYPES, "f32", "f64")
_STRONG_SYS = {"sem": "relaxed", "scope": "sys"}
_TEXTURE = {"proxy": "texture"}

_load = partial(Form, run=ld, kind="effect", section="9.7.9.8", type=_TYPES)
_store = partial(Form, run=st, kind="effect", section="9.7.9.11", type=_TYPES)

FORMS: tuple[Form, ...] = (
    Form("mov.type d, a:address", mov, section="9.7.9.3",
         type="pred b16 b32 b64 u16 u32 u64 s16 s32 s64 f32 f64"),
    _load("ld{.sem}{.space}{.cop}{.prefetch}.type d:loose, [a]", sem="weak", space=f"const global {_SHARED}",
          cop="ca cg cs lu cv", prefetch=_PREFETCH),
    _load("ld{.sem}{.space}{.L1}{.L2}{.prefetch}.type d:loose, [a]", version="7.4", target="sm_70", sem="weak",
          space=f"const global {_SHARED}", L1=_L1, L2=_L2, prefetch=_PREFETCH, rules=("!L1+!L2 -> never",)),
    _load("ld.volatile{.space}{.prefetch}.type d:loose, [a]", version="1.1", given=_STRONG_SYS,
          space=f"global {_SHARED}", prefetch=_PREFETCH),
    _load("ld.sem.scope{.space}{.L1}{.L2}{.prefetch}.type d:loose, [a]", version="6.0", target="sm_70",
          sem="relaxed acquire", scope="cta cluster gpu sys", space=f"global {_SHARED}", L1=_L1, L2=_L2,
          prefetch=_PREFETCH),
    _load("ld.mmio.sem.scope{.space}.type d:loose, [a]", version="8.2", target="sm_70", sem="relaxed", scope="sys",
          space="global"),
    _load("ld.space.nc{.cop}{.prefetch}.type d:loose, [a]", version="3.1", target="sm_32", given=_TEXTURE,
          section="9.7.9.9", space="global", cop="ca cg cs", prefetch=_PREFETCH),
    _load("ld.space.nc{.L1}{.L2}{.prefetch}.type d:loose, [a]", version="7.4", target="sm_70", given=_TEXTURE,
          section="9.7.9.9", space="global", L1=_L1, L2=_L2, prefetch=_PREFETCH, rules=("!L1+!L2 -> never",)),
    _store("st{.sem}{.space}{.cop}.type [a], b:loose", sem="weak", space=f"global {_SHARED}", cop="wb cg cs wt"),
    _store("st{.sem}{.space}{.L1}{.L2}.type [a], b:loose", version="7.4", target="sm_70", sem="weak",
           space=f"global {_SHARED}", L1=_L1, L2=_L2, rules=("!L1+!L2 -> never",)),
    _store("st.volatile{.space}.type [a], b:loose", version="1.1", given=_STRONG_SYS, space=f"global {_SHARED}"),
    _store("st.sem.scope{.space}{.L1}{.L2}.type [a], b:loose", version="6.0", target="sm_70", sem="relaxed release",
           scope="cta cluster gpu sys", space=f"global {_SHARED}", L1=_L1, L2=_L2),
    _store("st.mmio.sem.scope{.space}.type [a], b:loose", version="8.2", target="sm_70", sem="relaxed", scope="sys",
           space="global"),
)  # fmt: skip
