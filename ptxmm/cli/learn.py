"""`ptxmm learn`: the exercises of the tutorial."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from argparse import Namespace

    from ptxmm.cli.options import Commands
    from ptxmm.exercises import Exercise

_SOLVED, _NOT_YET, _BAD_INPUT, _UNDECIDED = range(4)
_WORST = (_BAD_INPUT, _NOT_YET, _UNDECIDED)
#: By what is known of a solution: the word for it, and the exit status.
_SAID = {True: ("solved", _SOLVED), False: ("not yet", _NOT_YET), None: ("open", _UNDECIDED)}


def add(commands: Commands) -> None:
    """The options of the command."""
    from ptxmm.cli.options import command

    learn = command(
        commands,
        "learn",
        "the exercises of the tutorial: list them, write them, look at solutions",
        "Lists the exercises of the tutorial (docs/tutorial). --write copies them into a folder, for you to edit. With files "
        "it says of each whether it is solved: the program is the one that was asked about, what it claims holds, and nothing "
        "in it is stronger than needed.",
        "0 solved; 1 not yet; 2 bad input or usage; 3 undecided",
        "ptxmm learn                                    the exercises",
        "ptxmm learn --write exercises                  a file for each",
        "ptxmm learn exercises/02-release-acquire.litmus",
    )
    learn.add_argument("paths", nargs="*", metavar="FILE.litmus|FILE.ptx", help="exercises that you have edited")
    learn.add_argument("--write", metavar="DIR", help="write the exercises there; none over a file that is there")


def learn(options: Namespace) -> int:
    """Runs the command; gives its exit status."""
    from ptxmm.exercises import EXERCISES

    if options.write is not None:
        return _written(options.write)
    if not options.paths:
        width = max(len(exercise.file) for exercise in EXERCISES)
        sys.stdout.write("".join(f"{e.file.ljust(width)}  {e.task}\n" for e in EXERCISES))
        return _SOLVED
    seen = {_look(path) for path in options.paths}
    return next((status for status in _WORST if status in seen), _SOLVED)


def _written(folder: str) -> int:
    from ptxmm.exercises import EXERCISES

    there = 0
    try:
        os.makedirs(folder, exist_ok=True)
    except OSError as error:
        return _refuse(f"{folder}: error: cannot write: {error.strerror or error}")
    for exercise in EXERCISES:
        path = os.path.join(folder, exercise.file)
        try:
            with open(path, "x", encoding="utf-8") as file:
                file.write(exercise.text)
        except FileExistsError:
            there += 1
        except OSError as error:
            return _refuse(f"{path}: error: cannot write: {error.strerror or error}")
    kept = f"; {there} were there and are as they were" if there else ""
    sys.stdout.write(f"{len(EXERCISES) - there} exercises are in {folder}{kept}\n")
    return _SOLVED


def _look(path: str) -> int:
    """Says what there is to say of a file; gives its exit status."""
    from axioms.program import UnsupportedProgram
    from ptxcore.diagnostics import InputError, nearest
    from ptxmm.exercises import EXERCISES, exercise_of
    from ptxmm.harmless import plain
    from ptxmm.learning import judged

    exercise = exercise_of(path)
    if exercise is None:
        hint = nearest(os.path.basename(path), [e.file for e in EXERCISES]) or "ptxmm learn lists the exercises"
        return _refuse(f"{plain(path)}: error: no exercise has this name\n    hint: {hint}")
    try:
        found = judged(exercise, path)
    except InputError as error:
        return _refuse(error.render())
    except UnsupportedProgram as error:
        return _refuse(f"{plain(path)}: error: {error}")
    except OSError as error:
        return _refuse(f"{plain(path)}: error: cannot read: {error.strerror or error}")
    word, status = _SAID[found.solved]
    lines = [f"{word}  {exercise.name}: {exercise.task}", *(f"    {line}" for line in found.lines)]
    if not found.solved:
        lines += [f"    {line}" for line in _further(exercise, path)]
    sys.stdout.write("\n".join(lines) + "\n")
    return status


def _further(exercise: Exercise, path: str) -> list[str]:
    return [f"hint: ptxmm explain {exercise.topic}; what happens: ptxmm check {path}"]


def _refuse(message: str) -> int:
    sys.stderr.write(message + "\n")
    return _BAD_INPUT
