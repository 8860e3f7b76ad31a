"""What was seen as a row in the database of a campaign: the machine stands where the model does."""

from __future__ import annotations

import contextlib
import datetime
import json
from collections.abc import Callable, Iterator
from dataclasses import asdict

from ptxmm.campaigns.database import Database, ResultRow
from ptxmm.campaigns.identity import CampaignQuestion, hash_of, version
from ptxmm.gpu.judging import JudgedRuns
from ptxmm.gpu.parameters import Parameters
from ptxmm.result import KINDS, observation_of


def question(name: str, driver: str, parameters: Parameters, model: str) -> CampaignQuestion:
    """What is asked of a machine: by its name and driver, with these parameters; and the model that says what is forbidden."""
    words = [f"{name}={value}" for name, value in asdict(parameters).items() if value != asdict(Parameters())[name]]
    return CampaignQuestion(
        f"{name}{f' ({driver})' if driver else ''}", (("model", model),), " ".join(["gpu", *words]), version()
    )


def verdict(judged: JudgedRuns) -> str:
    """What runs say of the condition: they prove that something happens, and never that it does not."""
    quantifier = judged.test.condition.quantifier
    if not judged.seen.states:
        return "undecided"
    if quantifier == "exists":
        return "ok" if judged.held else "undecided"
    return "bounded" if judged.held else "no"


def _told(judged: JudgedRuns) -> str | None:
    """What is to be told beside the verdict."""
    if count := len(judged.forbidden):
        return f"{count} state{'s' * (count != 1)} seen that {judged.model} forbids"
    if judged.meaningless:
        return f"no meaning under {judged.model}, so that nothing is forbidden: {judged.meaningless}"
    if verdict(judged) not in ("bounded", "undecided"):
        return None
    if not judged.seen.states:
        return "no instance counted"
    return f"{'holds' if judged.held else 'never seen'} in {judged.positive + judged.negative:,} instances, which is no proof"


def row(judged: JudgedRuns, asked: CampaignQuestion, text: str, seconds: float) -> ResultRow:
    """The row of a test, whose file has this text. `positive` and `negative` count instances, and `error` tells of states that
    the model forbids, and what a verdict rests on that is none."""
    return ResultRow(
        test_hash=hash_of(text), question=asked.identity, name=judged.test.name, path=judged.test.identity, test=text,
        model=asked.model, options=asked.options, version=asked.version, verdict=verdict(judged),
        kind=KINDS[judged.test.condition.quantifier], observation=observation_of(judged.positive, judged.negative),
        states=json.dumps([r.state for r in judged.rows]), positive=judged.positive, negative=judged.negative, whole=0,
        timeout=None, error=_told(judged), outcome=None,
        seal="", seconds=round(seconds, 6),
        decided=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
    ).sealed()  # fmt: skip


@contextlib.contextmanager
def storing(path: str, command: str, asked: CampaignQuestion) -> Iterator[Callable[[ResultRow], None]]:
    """Writes the rows of a command into a database, each when it is given, where `ptxmm campaign --report` finds them; what
    was given stays, whatever ends the command. Raises `ptxmm.campaigns.database.DatabaseError`."""
    count = 0
    with Database(path, writes=True) as database:
        database.begin(command, [asked])

        def add(one: ResultRow) -> None:
            nonlocal count
            database.add([one], [(count, one.path, one.test_hash, "")])
            count += 1

        yield add
        database.end(count)
