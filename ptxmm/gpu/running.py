"""Launches of a test, again and again: with another seed each time, until enough were seen or time is up."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import field
from typing import Protocol

from litmus.test import Test
from ptxcore.records import dataclass
from ptxmm.gpu.conditions import compares_addresses
from ptxmm.gpu.contract import GpuModule
from ptxmm.gpu.layout import GpuLaunch, SeenStates, planned
from ptxmm.gpu.parameters import Parameters


class Machine(Protocol):
    """Where the launches of one module run: our own machine or a GPU. `name` and `driver` say which."""

    name: str
    driver: str

    def most_ctas(self, launch: GpuLaunch) -> int | None:
        """How many CTAs of a launch run at once; None: any number."""

    def run(self, launch: GpuLaunch, seed: int, addresses: dict[str, int]) -> SeenStates:
        """What a launch shows. Raises `ptxmm.gpu.simulator.NoEnd` where it goes wrong."""


@dataclass(frozen=True)
class Until:
    """When there are enough launches: after so many `launches`, or `seconds`; or once `enough` says so of what was seen."""

    launches: int | None = None
    seconds: float | None = None
    enough: Callable[[SeenStates], bool] = field(default=lambda seen: False)


def observe(
    made: GpuModule, machine: Machine, parameters: Parameters, until: Until, seed: int = 0
) -> tuple[SeenStates, int, float]:
    """What launches of a module show together, how many there were, and the seconds they took. Launch number n has the seed
    `seed + n`. There is at least one. Raises TooLarge, and `NoEnd` for one that goes wrong."""
    launch = planned(made, parameters)
    most = machine.most_ctas(launch)
    if most is not None:
        launch = planned(made, parameters, most)
    addresses = addresses_of(made.test)
    found, count, start = SeenStates(), 0, time.monotonic()
    while True:
        found.add(machine.run(launch, seed + count, addresses))
        count += 1
        spent = time.monotonic() - start
        if found.misplaced or until.enough(found) or (until.launches is not None and count >= until.launches):
            return found, count, spent
        if until.seconds is not None and spent >= until.seconds:
            return found, count, spent


def addresses_of(test: Test) -> dict[str, int]:
    """What the model calls the addresses of the locations in global memory; nothing where a test takes none."""
    from ptxmm.addresses import Addresses, takes_addresses

    if not takes_addresses(test) and not compares_addresses(test):
        return {}
    memory = Addresses(test, own_aliases=False)
    return {l.name: memory.address(l.name, None) for l in test.locations if l.space != "shared"}
