"""Launches to begin with, as they are typed on a command line."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from ptxcore.records import NamedTuple
from ptxmm.kernels.plausible import Plausible
from ptxmm.kernels.takes import KernelSignature, TakenParameter


class ProposedLaunch(NamedTuple):
    """A kernel by the name that tells it from others of its file, and the launch of it to begin with."""

    name: str
    taken: KernelSignature
    guess: Plausible


def not_given(taken: KernelSignature, given: Sequence[int]) -> list[tuple[int, TakenParameter]]:
    """The parameters of other numbers than those `given`, with theirs."""
    return [(number, parameter) for number, parameter in enumerate(taken.parameters) if number not in given]


def rest_typed(keys: Mapping[str, Any], taken: KernelSignature, given: Sequence[int], guess: Plausible) -> str:
    """The options of a launch that are missing beside `keys` and the arguments `given`."""
    said = _of_the_launch(keys, guess)
    for number, parameter in not_given(taken, given):
        said.append(_argument(parameter.name or f"arg{number}", guess.argument(parameter)))
    return " ".join(said)


def together_typed(keys: Mapping[str, Any], several: Sequence[ProposedLaunch], given: Collection[str]) -> str:
    """The options of these launches, one after the other in one stream. What one of them writes and another one only reads is
    one buffer by its name, as the one that writes it has it."""
    widest = max((launch.guess for launch in several), key=lambda guess: guess.threads)
    arguments: dict[str, str] = {}
    for launch in several:
        for parameter in launch.taken.parameters:
            name = parameter.name or parameter.formal.name
            if name not in given and (name not in arguments or not parameter.const):
                arguments[name] = widest.argument(parameter)
    said = [*_of_the_launch(keys, widest), *(_argument(name, value) for name, value in arguments.items())]
    return " ".join([*said, *(f"--launch {shlex.quote(launch.name)}" for launch in several)])


def _of_the_launch(keys: Mapping[str, Any], guess: Plausible) -> list[str]:
    said = [f"--{name} {sizes_typed(value)}" for name, value in guess.sizes() if name not in keys]
    further = (("cluster", guess.cluster), ("dynamic-shared", guess.dynamic_shared))
    return said + [f"--{name} {value}" for name, value in further if value and name.replace("-", "_") not in keys]


def _argument(name: str, value: str) -> str:
    return f"--arg {shlex.quote(f'{name}={value}')}"


def sizes_typed(value: int | list[int]) -> str:
    """One size, or one of each dimension."""
    return ",".join(map(str, value if isinstance(value, list) else [value]))
