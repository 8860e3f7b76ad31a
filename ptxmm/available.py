"""What the machine has for this process."""

from __future__ import annotations

import os


def processors() -> int:
    """How many processors there are for this process: so many workers decide where nobody says how many shall."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
