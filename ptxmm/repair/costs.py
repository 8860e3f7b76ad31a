"""What orders, fences and barriers cost on hardware, as numbers that are compared and mean nothing else (docs/repair.md).

A change costs what it adds, and `EDIT` for each statement that is touched.
"""

from __future__ import annotations

from ptxcore.places import SCOPES

#: An access or a fence by its order, in the narrowest scope.
ORDERS = {"": 0, "weak": 0, "relaxed": 1, "acquire": 2, "release": 3, "acq_rel": 4, "sc": 5}
#: What every strong access costs beyond that, in any scope. A weak one may stay in a register, is combined with its neighbours
#: and is served by the first level of cache; and for one access that hands data over, many touch them. So it is more than two
#: fences at `sys`: data stay plain wherever what hands them over can order them.
STRONG = 40
#: A fence beyond what an access of that order costs: it waits for all that came before, of every location.
FENCES = {"acquire": 2, "release": 2, "acq_rel": 2, "sc": 6}
#: How many times as much in a wider scope: the first level of cache is left behind at `gpu`, the GPU itself at `sys`.
SCALES = dict(zip(SCOPES, (1, 2, 3, 6), strict=True))
#: Barriers, by what they hold up.
WARP_BARRIER, CTA_BARRIER, CLUSTER_BARRIER, GRID_BARRIER = 2, 8, 16, 32
#: A wait for copies; for no more than that their source was read; and one for an mbarrier.
COPY_WAIT, READ_WAIT, MBARRIER_WAIT = 4, 3, 4
#: A wait for the launch before: for as long as that takes.
LAUNCH_WAIT = 16
#: A fence between proxies: for accesses to every location. That of initial mbarriers waits for these alone.
PROXY_FENCE, INIT_FENCE = 9, 3
#: Another number of arrivals, bytes or threads, another parity: nothing on hardware, but a guess at what is meant.
NUMBER = 1
#: What hands something over comes later: nothing on hardware, but that others wait longer.
MOVE = 1
#: What stands in a loop is executed again and again.
IN_A_LOOP = 1
#: Each statement that is touched.
EDIT = 2


def access_cost(order: str, scope: str) -> int:
    """What an access costs; a weak one nothing. `scope` is empty where it has none."""
    return ORDERS[order] * SCALES.get(scope, 1) + STRONG * (order not in ("", "weak"))


def fence_cost(order: str, scope: str) -> int:
    """What a fence costs."""
    return (ORDERS[order] + FENCES[order]) * SCALES[scope]
