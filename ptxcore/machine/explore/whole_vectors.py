"""Strong accesses to vectors as one access each: a reading of section 8.2.4, which by its letter makes each element one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ptxcore.isa.form import Use

#: Stands among the special registers of threads that access vectors so.
WHOLE_VECTORS = "whole vectors"
#: Bits of the largest such vector.
_MOST = 128


def is_whole(special: Mapping[str, int], how: Use, parts: Sequence[object]) -> bool:
    """Whether a load or store of elements is one access. `parts`: what each is stored from or goes to, None being nothing."""
    strong = how.sem not in ("", "weak")
    return WHOLE_VECTORS in special and strong and None not in parts and len(parts) * how.width <= _MOST
