"""Small kernels with given inputs and outputs (`tests/kernels/small`), run from Python and from the command line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ptxmm
from ptxmm.cli.main import main

SMALL = Path(__file__).parents[1] / "kernels" / "small"
CASES = json.loads((SMALL / "cases.json").read_text())
#: Round-robin, and a random schedule.
SEEDS = (None, 7)


def made(argument: dict[str, Any]) -> Any:
    """An argument as Python gives it: an array, a number in a format of its own, the bytes of a structure, a number."""
    if "in" in argument:
        return np.array(argument["in"], argument["type"])
    if "bytes" in argument:
        return bytes.fromhex(argument["bytes"])
    return np.dtype(argument["type"]).type(argument["value"]) if "type" in argument else argument["value"]


def is_written(argument: dict[str, Any]) -> bool:
    """Whether it can be given on the command line."""
    return "in" in argument or argument.get("value") is not None


def assert_results(case: dict[str, Any], arrays: list[Any]) -> None:
    for argument, got in zip(case["args"], arrays, strict=True):
        if "in" in argument:
            wanted = np.array(argument.get("out", argument["in"]), argument["type"])
            np.testing.assert_array_equal(got, wanted)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_outputs_are_as_given(case: dict[str, Any]) -> None:
    for seed in SEEDS:
        arguments = [made(argument) for argument in case["args"]]
        done = ptxmm.run(
            SMALL / f"{case['name']}.ptx", "k", tuple(case["grid"]), tuple(case["block"]), arguments,
            cluster=case.get("cluster"), dynamic_shared=case.get("dynamic_shared", 0), seed=seed, limit=1_000_000,
        )  # fmt: skip
        assert_results(case, arguments)
        assert done.printed == case.get("printed", "")


@pytest.mark.parametrize(
    "case", [c for c in CASES if all(is_written(a) for a in c["args"])][::5], ids=lambda c: c["name"]
)
def test_the_command_line_gives_the_same(
    case: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["run", str(SMALL / f"{case['name']}.ptx"), "--entry", "k"]
    command += ["--grid", ",".join(map(str, case["grid"])), "--block", ",".join(map(str, case["block"]))]
    if "cluster" in case:
        command += ["--cluster", ",".join(map(str, case["cluster"]))]
    command += ["--dynamic-shared", str(case.get("dynamic_shared", 0))]
    for i, argument in enumerate(case["args"]):
        if "in" in argument:
            np.save(tmp_path / f"{i}.npy", made(argument))
            command += ["--arg", f"{i}={tmp_path / f'{i}.npy'}", "--out", f"{i}={tmp_path / f'out{i}.npy'}"]
        else:
            command += ["--arg", f"{i}={argument['value']}"]
    assert main(command) == 0
    results = [np.load(tmp_path / f"out{i}.npy") if "in" in a else None for i, a in enumerate(case["args"])]
    assert_results(case, results)
    assert capsys.readouterr().out == case.get("printed", "")
