"""How likely a violation would have been seen: by how often the mutants of a test show what the test forbids."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import field
from typing import Any

from litmus.test import Test
from ptxcore.diagnostics import InputError
from ptxcore.records import NamedTuple, dataclass
from ptxmm.gpu.conditions import holds
from ptxmm.gpu.contract import GpuModule
from ptxmm.gpu.layout import SeenStates
from ptxmm.gpu.mutants import Mutant, mutants
from ptxmm.gpu.parameters import Parameters
from ptxmm.gpu.running import Machine, Until, addresses_of, observe
from ptxmm.gpu.simulator import NoEnd
from ptxmm.weakened import forbids

#: How sure the lower bound of a rate is, in standard deviations (one side, 95 of 100).
_SURE = 1.6449
#: What a mutant may take of the time: the test itself gets the rest.
_SHARE = 0.5


#: Why there is none.
LACKS = {
    "allowed": "the model allows the outcome",
    "undecided": "it is not decided whether the outcome is forbidden",
    "no-mutant": "no mutant of it is allowed the outcome",
    "none-shown": "no mutant showed the outcome, so that nothing can be said",
}


class Rate(NamedTuple):
    """A mutant, how many of how many instances showed the outcome, and the `least` rate that this is evidence for."""

    mutant: Mutant
    seen: int
    instances: int
    least: float


@dataclass
class Confidence:
    """How likely it was to see a violation of a test in so many `instances`: `reached`, of one that shows as often as the
    rarest of the mutants that were seen. None where no mutant was seen, or the test forbids nothing: `lack` is one of `LACKS`.
    `wanted` is what was asked for."""

    test: Test
    wanted: float
    rates: list[Rate] = field(default_factory=list)
    instances: int = 0
    violations: int = 0
    lack: str = ""
    left_out: list[str] = field(default_factory=list)

    @property
    def shown(self) -> list[Rate]:
        """The mutants that were seen."""
        return [rate for rate in self.rates if rate.seen]

    @property
    def reached(self) -> float | None:
        shown = self.shown
        return min(chance(rate.least, self.instances) for rate in shown) if shown else None

    @property
    def good(self) -> bool:
        """Whether it is as high as was asked for; 0 asks for none."""
        return not self.wanted or (self.reached is not None and self.reached >= self.wanted)


def chance(rate: float, instances: int) -> float:
    """How likely something shows at least once."""
    return -math.expm1(instances * math.log1p(-rate)) if rate < 1 else 1.0


def needed(rate: float, wanted: float) -> int:
    """How many instances make it so likely."""
    return 1 if rate >= 1 else math.ceil(math.log1p(-wanted) / math.log1p(-rate))


def least(seen: int, instances: int) -> float:
    """A rate that the true one is above, in 95 of 100 cases: the lower end of Wilson's interval."""
    if not seen:
        return 0.0
    share, z = seen / instances, _SURE
    middle = share + z * z / (2 * instances)
    spread = z * math.sqrt(share * (1 - share) / instances + z * z / (4 * instances * instances))
    return max(0.0, (middle - spread) / (1 + z * z / instances))


def confident(
    test: Test, made: Callable[[Test], GpuModule], machine: Callable[[GpuModule], Machine], parameters: Parameters, model: str,
    wanted: float, budget: float, *, seed: int = 0, timeout: float | None = 60.0, launches: int | None = None,
    ran: SeenStates | None = None,
) -> Confidence:  # fmt: skip
    """Runs the mutants of a test, then the test as often as their rates ask for; `budget`: seconds for all of it, of which
    mutants take at most half; `launches`: at most so many of each. `ran`: what the test has shown already, behind which it is
    not run again. Raises what `observe` raises of the test; a mutant that goes wrong is left out."""
    found = Confidence(test, wanted)
    answer = forbids(test, model, timeout)
    if not answer:
        found.lack = "allowed" if answer is False else "undecided"
        return found
    chosen = list(mutants(test, model, timeout))
    if not chosen:
        found.lack = "no-mutant"
        return found
    seconds = budget * _SHARE / len(chosen)
    for mutant in chosen:
        try:
            of = made(mutant.test)
            seen, _, _ = observe(of, machine(of), parameters, Until(launches, seconds), seed)
        except InputError:
            found.left_out.append(f"{mutant.what}, which cannot be placed")
            continue
        except NoEnd as error:
            found.left_out.append(f"{mutant.what}, which went wrong: {error}")
            continue
        count = seen.states.total()
        shows = _satisfying(of, seen, mutant.test)
        found.rates.append(Rate(mutant, shows, count, least(shows, count)))
    if not found.shown:
        found.lack = "none-shown"
    most = max((needed(rate.least, wanted) for rate in found.shown), default=1)
    of = made(test)
    if ran is None:
        until = Until(launches, budget * (1 - _SHARE), lambda seen: seen.states.total() >= most)
        ran, _, _ = observe(of, machine(of), parameters, until, seed)
    found.instances = ran.states.total()
    found.violations = _satisfying(of, ran, chosen[0].test)
    return found


def _satisfying(of: GpuModule, seen: SeenStates, test: Test) -> int:
    """How many instances showed what the condition of a test says."""
    widths = {v.label: (v.width, v.signed) for v in of.values}
    labels, addresses = [v.label for v in of.values], addresses_of(of.test)
    return sum(
        count
        for values, count in seen.states.items()
        if holds(test.condition.proposition, dict(zip(labels, values, strict=True)), widths, addresses)
    )


def lines(found: Confidence) -> list[str]:
    """What a report says of it."""
    told = [
        f"Mutant seen {rate.seen} of {rate.instances}: {rate.mutant.what} ({rate.mutant.kind})" for rate in found.rates
    ]
    told += [f"Mutant left out: {what}" for what in found.left_out]
    if found.violations and found.wanted:
        told.append(
            f"FORBIDDEN, and seen in {found.violations} of {found.instances} instances that were run for the confidence"
        )
    if found.reached is None and not found.wanted:
        return [*told, f"Mutants: {LACKS[found.lack]}"]
    if found.reached is None:
        return [*told, f"Confidence: none: {LACKS[found.lack]}"]
    unseen = len(found.rates) - len(found.shown)
    rest = f"; of the {unseen} that were not seen nothing is said" if unseen else ""
    return [
        *told,
        f"Confidence: {found.reached:.6g} in {found.instances} instances, of a violation as frequent as the rarest of "
        f"{len(found.shown)} mutants that were seen{rest}",
    ]


def document(found: Confidence) -> dict[str, Any]:
    """The same as data."""
    return {
        "wanted": found.wanted,
        "reached": found.reached,
        "instances": found.instances,
        "violations": found.violations,
        "lack": found.lack,
        "left_out": found.left_out,
        "mutants": [
            {"what": r.mutant.what, "kind": r.mutant.kind, "seen": r.seen, "instances": r.instances, "least": r.least}
            for r in found.rates
        ],
    }
