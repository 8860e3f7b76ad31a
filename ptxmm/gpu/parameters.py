"""What a launch of a litmus test may vary, each with its default and what it does.

After "Foundations of Empirical Memory Consistency Testing" (OOPSLA 2020) and "MC Mutants" (ASPLOS 2023): which values show most
hangs on the chip, so that a tuner looks for them (`ptxmm.gpu.tuning`). No value changes what a test is: where its threads are,
what they execute, and which memory is whose.
"""

from __future__ import annotations

import json
from dataclasses import asdict, field, fields
from random import Random
from typing import Any

from ptxcore.records import dataclass


def _one(default: int, least: int, most: int, what: str, *tried: int) -> Any:
    """A parameter: its default, its bounds, what it does, and the values that a tuner tries."""
    return field(default=default, metadata={"least": least, "most": most, "what": what, "tried": tried or (default,)})


class BadParameter(ValueError):
    """A parameter that there is not, or a value that it cannot have."""


@dataclass(frozen=True, slots=True)
class Parameters:
    """How a test is launched. `metadata` of each field has its bounds, what it does, and what a tuner tries."""

    instances: int = _one(
        4096, 1, 1 << 22, "instances of the test in a launch, at least", 256, 1024, 4096, 16384, 65536
    )
    per_cta: int = _one(
        32,
        1,
        1024,
        "instances that share a CTA, at most; 1 where threads meet at barriers or know their lanes",
        1,
        8,
        32,
        64,
        256,
    )
    stride: int = _one(
        256, 4, 1 << 20, "bytes from a location of one instance to that of the next", 4, 16, 64, 128, 256, 1024
    )
    together: int = _one(
        0, 0, 1, "1: the locations of an instance lie side by side; 0: each location has its own array", 0, 1
    )
    shuffle: int = _one(1, 0, 1, "1: which CTA, thread and memory an instance has is drawn for each launch", 0, 1)
    rotate: int = _one(
        1, 0, 1, "1: the threads of an instance have different lanes in their CTAs, drawn for each launch", 0, 1
    )
    polls: int = _one(
        4096, 1, 1 << 30, "how often a thread looks for the others of its instance before this is given up"
    )
    jitter: int = _one(
        0, 0, 1 << 20, "turns that a thread waits behind the start, at most, drawn for each", 0, 8, 64, 512
    )
    preload: int = _one(0, 0, 256, "of 256 threads so many prefetch what they are going to access", 0, 64, 128, 256)
    stress_ctas: int = _one(0, 0, 1 << 16, "CTAs that access memory of their own meanwhile", 0, 16, 64, 256, 1024)
    stress_turns: int = _one(128, 0, 1 << 24, "accesses of each of their threads", 16, 128, 1024)
    pre_stress: int = _one(
        0,
        0,
        1 << 20,
        "accesses of that memory by a thread of a test before it starts, at most, drawn for each",
        0,
        4,
        16,
        64,
    )
    stress_pattern: int = _one(
        0, 0, 3, "pairs of such accesses: 0 store store, 1 store load, 2 load store, 3 load load", 0, 1, 2, 3
    )
    stress_lines: int = _one(64, 1, 1 << 16, "places that are accessed so", 1, 2, 16, 64, 1024)
    stress_stride: int = _one(256, 4, 1 << 16, "bytes from each to the next", 64, 128, 256, 1024)

    def __post_init__(self) -> None:
        for f in fields(self):
            value = getattr(self, f.name)
            if type(value) is not int or not f.metadata["least"] <= value <= f.metadata["most"]:
                raise BadParameter(f"{f.name} is {f.metadata['least']} to {f.metadata['most']}, not {value!r}")
        for name in ("stride", "stress_stride"):
            if getattr(self, name) % 4:
                raise BadParameter(f"{name} is a multiple of 4, not {getattr(self, name)}")

    def json(self) -> str:
        """As text, which `read` reads."""
        return json.dumps(asdict(self), indent=1)

    def drawn(self, random: Random) -> Parameters:
        """Others, each of the values that a tuner tries, but for the number of instances; where there are few, as on our own
        machine, of the values that take little work."""
        few = self.instances < _FEW
        drawn = {}
        for f in fields(self):
            tried = f.metadata["tried"]
            light = [v for v in tried if v <= _LIGHT] if few and f.name not in _FREE else tried
            drawn[f.name] = random.choice(light or tried[:1])
        return Parameters(**(drawn | {"instances": self.instances, "polls": self.polls}))


#: Fewer instances than a GPU has; what is light work then; and what is no work.
_FEW, _LIGHT, _FREE = 256, 8, ("stride", "stress_stride", "preload")
#: On our own machine: what takes it about as long as deciding the test.
SIMULATED = Parameters(instances=8, per_cta=4, polls=400, jitter=3, stress_turns=8, stress_lines=4)


def known() -> dict[str, str]:
    """What each parameter does, by its name."""
    return {f.name: f.metadata["what"] for f in fields(Parameters)}


def read(text: str, base: Parameters | None = None) -> Parameters:
    """Parameters from JSON, or from `NAME=VALUE` with commas or blanks between; `base` has those that are not named. Raises
    BadParameter."""
    given: dict[str, Any] = {}
    if text.lstrip().startswith("{"):
        try:
            given = json.loads(text)
        except ValueError as error:
            raise BadParameter(f"this is no JSON: {error}") from None
    else:
        for word in text.replace(",", " ").split():
            name, equals, value = word.partition("=")
            if not equals or not value.isdecimal() or len(value) > 12:
                raise BadParameter(f"write NAME=NUMBER, not '{word}'")
            given[name] = int(value)
    return _changed(base or Parameters(), given)


def _changed(base: Parameters, given: dict[str, Any]) -> Parameters:
    from ptxcore.diagnostics import nearest

    for name in given:
        if name not in known():
            hint = nearest(name, known())
            raise BadParameter(f"there is no parameter '{name}'; {hint or 'there are ' + ', '.join(known())}")
    return Parameters(**(asdict(base) | given))
