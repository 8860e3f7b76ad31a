"""`ptxmm explain`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from argparse import Namespace


def explain(options: Namespace) -> int:
    """Runs the command; gives its exit status: 0, or 2 for what is no topic."""
    from ptxcore.diagnostics import nearest
    from ptxmm.topics import names, text_of, title_of

    known = names()
    if options.topic is None:
        width = max(map(len, known))
        sys.stdout.write("".join(f"{name.ljust(width)}  {title_of(name)}\n" for name in known))
        return 0
    topic = options.topic.lower().replace("_", "-")
    if topic not in known:
        hint = nearest(topic, known) or "ptxmm explain lists the topics"
        sys.stderr.write(f"ptxmm explain: error: no topic '{options.topic}'\n    hint: {hint}\n")
        return 2
    sys.stdout.write(text_of(topic))
    return 0
