"""No answer of a test hangs on how fast the machine is, or on how many processors it has.

Reasons and proofs have some seconds, for people wait for them. A machine with other work does less in them, and a test that
asks for what they say would be red for time. Who decides several tests takes a worker for each processor; within a test one is
enough: others compute on the others, and a copy of a process that has run many tests costs more than it saves. What `--jobs`
says holds.
"""

from __future__ import annotations

from axioms.explain import forbidding
from axioms.sat import proving
from ptxmm import available


def endless() -> None:
    """From now on they have as long as for whoever asks for reasons: that is as good as no limit."""
    forbidding._SECONDS = forbidding.MOST_SECONDS
    proving._PATIENCE = 1000 * int(forbidding.MOST_SECONDS)


def alone() -> None:
    """From now on there is one processor for each command within this process."""
    available.processors = _one


def _one() -> int:
    return 1
