"""Compares what this tool says of statements with what ptxas says, line by line.

    python tests/ptxcore/check/differential.py --probes [--section 9.7.1]...  against the recorded verdicts, with their gates
    python tests/ptxcore/check/differential.py --sweep [--section 9.7.1]...  every kind of operand in every place of every form
    python tests/ptxcore/check/differential.py --count 20000 --seed 1  against ptxas, on statements made from the declarations

Prints how often both agree and, grouped by instruction, direction and ptxas's words, where they do not.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))
sys.path.append(str(Path(__file__).resolve().parents[2] / "support"))  # where no pytest does it

import ptxas
from generate import Statement, statements, sweep
from our_verdicts import verdicts

PROBES = Path(__file__).resolve().parents[4] / "shared" / "spec" / "ptxas_forms.jsonl"
NEWEST = "sm_120"
_VERSIONS = """1.0 1.1 1.2 1.3 1.4 1.5 2.0 2.1 2.2 2.3 3.0 3.1 3.2 4.0 4.1 4.2 4.3 5.0 6.0 6.1 6.2 6.3 6.4 6.5 7.0 7.1
    7.2 7.3 7.4 7.5 7.6 7.7 7.8 8.0 8.1 8.2 8.3 8.4 8.5 8.6 8.7 8.8 9.0"""
_TARGETS = """sm_10 sm_11 sm_12 sm_13 sm_20 sm_30 sm_32 sm_35 sm_37 sm_50 sm_52 sm_53 sm_60 sm_61 sm_62 sm_70 sm_72 sm_75
    sm_80 sm_86 sm_87 sm_88 sm_89 sm_90 sm_100 sm_103 sm_110 sm_120 sm_121"""
VERSIONS = tuple(_VERSIONS.split())
TARGETS = tuple(_TARGETS.split())


class Question(NamedTuple):
    """A statement, where it is asked about, and what ptxas says (None: accepts it)."""

    line: str
    section: str
    version: str
    target: str
    said: str | None
    gate: bool = False  # asked about below what it needs, or exactly there


class Difference(NamedTuple):
    question: Question
    ours: str | None


def recorded(sections: Iterable[str] = (), path: Path = PROBES) -> Iterator[Question]:
    """The probes as questions: each where its verdict was recorded, and accepted ones at and below their gates."""
    wanted = tuple(sections)
    with path.open() as lines:
        for probe in map(json.loads, lines):
            section = probe.get("section")
            if section is None or (wanted and not any(f"{section}.".startswith(f"{w}.") for w in wanted)):
                continue
            yield from _questions(probe)


def _questions(probe: dict[str, Any]) -> Iterator[Question]:
    line, section = probe["line"], probe["section"]
    if not probe["accepted"]:
        at = re.search(r"\[at (\w+)\]", probe["error"])
        said = re.sub(r"^\S+\s*(?:fatal\s*)?:\s*| \[at .*", "", probe["error"])
        yield Question(line, section, "9.0", at[1] if at else NEWEST, said or "(crash)")
        found = re.match(r"version (\S+) / (\w+)", probe.get("accepted_at", ""))
        if found:
            yield Question(line, section, found[1], found[2], None, gate=True)
        return
    only = probe.get("only_targets")
    yield Question(line, section, "9.0", (only or probe.get("base_targets") or [NEWEST])[0], None)
    if only:
        yield Question(line, section, "9.0", only[-1], None, gate=True)
        for other in ("sm_90a", "sm_100a", "sm_103a", "sm_120a", "sm_121f", "sm_121"):
            if other not in only:
                yield Question(line, section, "9.0", other, f"not among {' '.join(only)}", gate=True)
    for version_key, target_key in (("min_version", "min_target"), ("min_version", "min_version_target"),
                                    ("min_version_a", "min_version_a_target")):  # fmt: skip
        least, target = probe.get(version_key), probe.get(target_key)
        if least is None or target is None:
            continue
        yield Question(line, section, least, target, None, gate=True)
        place = VERSIONS.index(least)
        if place and not _is_of_target(target, least):
            yield Question(line, section, VERSIONS[place - 1], target, f"needs PTX ISA {least}", gate=True)
    target = probe.get("min_target")
    if target in TARGETS and TARGETS.index(target):
        yield Question(line, section, "9.0", TARGETS[TARGETS.index(target) - 1], f"needs {target}", gate=True)


def _is_of_target(target: str, version: str) -> bool:
    """Whether the target itself came with this version, so that below it nothing can be asked."""
    from ptxcore.isa.targets import TARGETS as KNOWN

    return KNOWN.get(target) == version


def answer(questions: Iterable[Question]) -> list[Difference]:
    """Our answers to the questions, in their order."""
    asked = list(questions)
    batches: dict[tuple[str, str], list[int]] = defaultdict(list)
    for i, question in enumerate(asked):
        batches[question.version, question.target].append(i)
    ours: list[str | None] = [None] * len(asked)
    for (version, target), members in batches.items():
        for i, said in zip(
            members, verdicts([asked[i].line for i in members], version=version, target=target), strict=True
        ):
            ours[i] = said
    return [Difference(question, said) for question, said in zip(asked, ours, strict=True)]


def compare(made: Iterable[Statement]) -> list[Difference]:
    """What ptxas and we say of statements.

    Its front end does not say that 32-bit addresses of generic and global space are no longer compiled, so what we
    reject and it accepts is asked again with code generation.
    """
    batches: dict[tuple[str, str], list[Question]] = defaultdict(list)
    for s in made:
        batches[s.version, s.target].append(Question(s.line, s.section, s.version, s.target, None))
    answered = []
    for (version, target), batch in batches.items():
        lines = [question.line for question in batch]
        said = ptxas.accepts(lines, version=version, target=target)
        ours = verdicts(lines, version=version, target=target)
        again = [i for i in range(len(lines)) if said[i] is None and ours[i] is not None]
        for i, whole in zip(
            again, ptxas.accepts([lines[i] for i in again], version=version, target=target, whole=True), strict=True
        ):
            said[i] = whole
        answered += [
            Difference(question._replace(said=theirs), our)
            for question, theirs, our in zip(batch, said, ours, strict=True)
        ]
    return answered


def agrees(answered: Difference) -> bool:
    return (answered.question.said is None) == (answered.ours is None) and "our crash" not in (answered.ours or "")


def mnemonic(line: str) -> str:
    """What the statement does: its opcode, with the words that belong to the name of a family."""
    statement = re.sub(r"^(?:[\w$]+:\s*)?(?:\.branchtargets [^;]*;\s*)?(?:@!?\w+\s+)?", "", line)
    opcode = re.match(r"[\w.:]+", statement)
    words = opcode[0].split(".") if opcode else ["?"]
    families = (
        "cp",
        "mbarrier",
        "tcgen05",
        "wgmma",
        "wmma",
        "multimem",
        "tensormap",
        "clusterlaunchcontrol",
        "barrier",
    )
    return ".".join(words[: 3 if words[0] in ("cp",) else 2 if words[0] in families else 1])


def report(answered: list[Difference], examples: int = 3, groups: int = 60) -> None:
    """Prints the agreement of each section, then the groups of disagreement, the largest first."""
    for gate, title in ((False, "statements"), (True, "gates")):
        chosen = [a for a in answered if a.question.gate is gate]
        if not chosen:
            continue
        sections: dict[str, Counter[str]] = defaultdict(Counter)
        for a in chosen:
            column = "agree" if agrees(a) else "we reject" if a.ours else "we accept"
            sections[a.question.section][column] += 1
            sections["all"][column] += 1
        print(f"{title:14s} {'asked':>7s} {'agree':>7s} {'%':>7s} {'we reject':>10s} {'we accept':>10s}")
        for section in sorted(sections, key=_by_number):
            counted = sections[section]
            number = counted.total()
            print(f"{section:14s} {number:7d} {counted['agree']:7d} {100 * counted['agree'] / number:7.2f} "
                  f"{counted['we reject']:10d} {counted['we accept']:10d}")  # fmt: skip
        print()
        grouped: dict[tuple[str, str, str], list[Difference]] = defaultdict(list)
        for a in chosen:
            if not agrees(a):
                words = a.question.said if a.ours is None else a.ours
                grouped[
                    mnemonic(a.question.line), "we reject" if a.ours else "we accept", _general(words or "")
                ].append(a)
        for number, ((name, direction, words), members) in enumerate(sorted(grouped.items(), key=lambda g: -len(g[1]))):
            if number == groups:
                print(f"... and {len(grouped) - groups} more groups")
                break
            whose = "ptxas says" if direction == "we accept" else "we say"
            print(f"{len(members):5d}  {name}: {direction}; {whose}: {words}")
            for a in members[:examples]:
                where = f"  @ {a.question.version} {a.question.target}"
                print(f"         {a.question.line[:150]}{where if gate or a.question.target != NEWEST else ''}")
        print()


def _by_number(section: str) -> tuple[bool, list[int]]:
    return section == "all", [int(n) for n in section.split(".") if n.isdigit()]


def _general(message: str) -> str:
    return re.sub(r"\d+ operands?", "N operands", re.sub(r"'[^']*'", "'..'", message))


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--probes", action="store_true", help="ask the recorded probes")
    parser.add_argument("--sweep", action="store_true", help="try every kind of operand in every place of every form")
    parser.add_argument("--count", type=int, default=20000, help="how many statements to make (default 20000)")
    parser.add_argument("--seed", type=int, default=1, help="what is made depends on it (default 1)")
    parser.add_argument(
        "--section", action="append", default=[], help="only this section of the manual and those below"
    )
    parser.add_argument("--no-gates", action="store_true", help="leave the versions and targets out")
    parser.add_argument("--examples", type=int, default=3, help="examples for each group (default 3)")
    parser.add_argument("--groups", type=int, default=60, help="groups at most (default 60)")
    parser.add_argument("--grep", default="", help="only statements that this regular expression finds")
    chosen = parser.parse_args(arguments)
    if chosen.probes:
        answered = answer(q for q in recorded(chosen.section) if not (chosen.no_gates and q.gate))
    elif ptxas.executable() is None:
        parser.error(f"there is no ptxas {ptxas.RELEASE} here; pip install {ptxas.WHEEL}==13.0.88 brings it")
    else:
        answered = compare(
            sweep(chosen.seed, chosen.section)
            if chosen.sweep
            else statements(chosen.count, chosen.seed, chosen.section)
        )
    answered = [a for a in answered if re.search(chosen.grep, a.question.line)]
    report(answered, chosen.examples, chosen.groups)
    return 0 if all(map(agrees, answered)) else 1


if __name__ == "__main__":
    sys.exit(main())
