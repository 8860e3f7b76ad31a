"""mcompare7 as the oracle of `compare`: the same tests and states differ between two logs."""

from __future__ import annotations

from pathlib import Path

import pytest

import ptxmm
from ptxmm.cli.main import main
from ptxmm.comparing.comparison import Comparison

#: What mcompare7 7.56 tells of the logs that are made below: `+` the second has this state alone, `-` the first, `==` neither.
MCOMPARE = """\
2+2W+rel.gpu+po-rmw: +1:r0=0 x=2 y=2, -1:r0=0 x=1 y=1
2+2W+rel.gpus: +x=2 y=2
MP+po-rmw+acq.gpu: +0:r0=0 1:r0=1 1:r1=0
MP+rel.gpu+acq.gpu: ==
MP+rel.gpu+rmw-po: +1:r0=1 1:r1=0 y=2, -1:r0=0 1:r1=1 y=2
R+po-rmw+po: +0:r0=0 1:r0=0 y=2, -0:r0=0 1:r0=1 y=1
R+rel.gpu+po: +1:r0=0 y=2
RWC+acq.gpu+po: +1:r0=1 1:r1=0 2:r0=0
S+rel.gpu+acq.gpu-rmw: -1:r0=0 1:r1=0 x=1
S+rel.gpu+rmw-rel.gpu: +1:r0=1 x=2 y=2, -1:r0=0 x=1 y=2
SB: +0:r0=0 1:r0=0
WRR+2W+acq.gpu+rel.gpu: +1:r0=2 1:r1=0 x=2
"""
#: Without atomicity: it allows what PTX forbids, too.
SC = 'include "cos.cat"\nacyclic po | rf | fr | co as sc\n'
EDGES = "PodWW.rel.gpu,PodRR.acq.gpu,PodWR,Rfe,Fre,Coe,Rmw"


def told(test: Comparison) -> str:
    """The states of one side alone, as in `MCOMPARE`."""
    states = [("-", state) for d in test.differences for state in d.lost]
    states += [("+", state) for d in test.differences for state in d.won]
    texts = [sign + " ".join(f"{name}={value}" for name, value in sorted(state.items())) for sign, state in states]
    return ", ".join(sorted(texts)) or "=="


def test_two_logs_differ_as_mcompare_says(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Both over logs and over the tests themselves."""
    sc, tests = tmp_path / "sc.cat", tmp_path / "tests"
    sc.write_text(SC, encoding="utf-8")
    main(["generate", "--edges", EDGES, "--size", "3..5", "--threads", "3", "-o", str(tests)])
    models, logs = [str(sc), "ptx-9.0"], []
    for number, model in enumerate(models):
        capsys.readouterr()
        main(["check", str(tests), "--model", model, "--format", "herd"])
        logs.append(str(tmp_path / f"{number}.log"))
        Path(logs[-1]).write_text(capsys.readouterr().out, encoding="utf-8")
    expected = dict(line.split(": ") for line in MCOMPARE.splitlines())
    assert len(expected) == 12 and sum(row.count("-1:") + row.count("-0:") for row in expected.values()) == 5
    for asked, paths in ((logs, []), (models, [str(tests)])):
        found = {test.name: told(test) for test in ptxmm.compare(asked, paths)}
        assert found == expected
