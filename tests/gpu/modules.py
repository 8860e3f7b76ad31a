"""Modules of many kernels: probes chosen for the forms of the table, put together by what version and target they need."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import driver
from gpu import probes
from gpu.left_out import is_whole, nowhere
from gpu.probes import Probe, Unfit

from ptxcore.check.module import read_and_check
from ptxcore.isa.form import Form, Use
from ptxcore.isa.targets import TARGETS, missing, target, version

#: Older modules for forms that are gone since.
OLDER = (("6.3", "sm_60"), ("3.1", "sm_20"), ("3.1", "sm_13"))


@dataclass(frozen=True)
class Machine:
    """What modules are made for: an architecture, and the newest PTX version that its driver takes."""

    arch: str = "sm_90"
    version: str = "9.0"

    def places(self) -> Iterator[tuple[str, str]]:
        """Versions and targets that it takes, the best first."""
        known = [name for name, since in TARGETS.items() if version(since) <= version(self.version)]
        plain = [name for name in known if name[-1].isdigit() and _number(name) <= _number(self.arch)]
        newest = max(plain, key=_number)  # a later GPU runs what is made for an earlier one
        for name in (newest, f"{self.arch}f", f"{self.arch}a"):
            if name in known:
                yield self.version, name
        for old, name in OLDER:
            if version(old) <= version(self.version) and _number(name) <= _number(self.arch):
                yield old, name


def _number(name: str) -> int:
    found = target(name)
    assert found is not None, f"{name} is no architecture"
    return found.number


def place_for(use: Use, machine: Machine) -> tuple[str, str]:
    """Version and target of a module that may have a use. Raises Unfit, with what is missing."""
    wanted = ""
    for its_version, its_target in machine.places():
        have = version(its_version), target(its_target)
        lacking = next((why for _, gate in use.gates() if (why := missing(gate, *have))), None)
        if lacking is None and not (use.form.until and missing(use.form.until, *have) is None):
            return its_version, its_target
        wanted = wanted or lacking or f"is gone since {use.form.until}"
    raise Unfit(wanted or f"PTX ISA {machine.version} does not know {machine.arch}")


@dataclass
class Plan:
    """What is to run. `left_out` has for each form that has no kernel the reason; `partly` reasons for single choices."""

    groups: dict[tuple[str, str], list[Probe]] = field(default_factory=dict)
    left_out: dict[Form, str] = field(default_factory=dict)
    partly: dict[Form, list[str]] = field(default_factory=dict)

    def probes(self) -> list[Probe]:
        return [probe for group in self.groups.values() for probe in group]


def plan(forms: Iterable[Form], machine: Machine, *, most: int, seed: object) -> Plan:
    """Kernels for forms: at most `most` of each, over its modifiers, types, and what its operands choose."""
    made = Plan()
    number = 0
    for form in forms:
        reason = nowhere(form)
        if reason:
            made.left_out[form] = reason
            continue
        if is_whole(form):
            made.left_out[form] = "is compared by whole kernels: pytest tests/gpu/test_whole.py"
            continue
        chance = random.Random(f"{form.section} {form.syntax} {seed}")
        reasons: list[str] = []
        found = 0
        for use in _choices(form, chance, most):
            try:
                where = place_for(use, machine)
                probe = probes.build(use, chance)
            except (Unfit, ValueError) as error:  # ValueError: inputs that nothing says how to draw
                reasons.append(str(error))
                continue
            probe.name = f"k{number}"
            number += 1
            found += 1
            made.groups.setdefault(where, []).append(probe)
        if not found:
            made.left_out[form] = reasons[0] if reasons else "its rules allow no choice of modifiers"
        elif reasons:
            made.partly[form] = sorted(set(reasons))
    return made


#: A form whose operands choose (selectors, negation, what may be left out) has this many kernels at least, if it may.
_FEWEST = 12


def _choices(form: Form, chance: random.Random, most: int) -> list[Use]:
    """Uses of a form; several times the same where its operands may differ too."""
    found = driver.uses(form, chance, most)
    parameters = form.pattern.parameters
    varies = any(
        p.selector or p.optional or p.negatable or p.flags & {"loose", "imm", "negative"} or p.role == "memory"
        for p in parameters
    )
    if varies and found:
        found = found * max(1, min(_FEWEST, most) // len(found))
    return found


def text(where: tuple[str, str], chosen: Sequence[Probe]) -> str:
    """A module with the kernels of some probes."""
    header = f".version {where[0]}\n.target {where[1]}\n.address_size 64\n"
    return header + "".join(probe.writer.text(probe.name) for probe in chosen)


def batches(group: Sequence[Probe], size: int) -> Iterator[list[Probe]]:
    for start in range(0, len(group), size):
        yield list(group[start : start + size])


def faults(where: tuple[str, str], chosen: Sequence[Probe]) -> dict[str, str]:
    """What the checker finds wrong, by the probe's name; nothing, unless these files or the table are wrong."""
    if not _messages(where, chosen):
        return {}
    return {probe.name: found[0] for probe in chosen if (found := _messages(where, [probe]))}


def _messages(where: tuple[str, str], chosen: Sequence[Probe]) -> list[str]:
    _, found = read_and_check(text(where, chosen))
    return [f"line {error.span.line}: {error.message}" for error in found if error.severity == "error"]
