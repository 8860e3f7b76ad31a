"""Launches as they are typed on a command line, and as a kernel test has them."""

from __future__ import annotations

from dataclasses import replace

from ptxmm.kernels.test import KernelTest

#: Arguments as they are typed, as a TOML file has them, and what claims are.
SAME = [
    (["--grid", "2", "--block", "1,2", "--arg", "x=u32[2]", "--arg", "n=4", "--forall", "x[0] == 4"],
     'grid = 2\nblock = [1, 2]\nparams.x = {type = "u32", elements = 2}\nparams.n = {type = "u32", value = 4}\n'
     'check.forall = "x[0] == 4"'),
    (["--grid", "1", "--block", "1", "--arg", "1=-1", "--arg", "0={type = 's16', init = [1, -2]}"],
     'grid = 1\nblock = 1\nparams.arg0 = {type = "s16", init = [1, -2]}\nparams.arg1 = {type = "s32", value = -1}\n'
     "check.race_free = true\ncheck.terminates = true\ncheck.no_trap = true"),
    (["--grid", "2", "--block", "1", "--arg", "p=&b[1]", "--arg", "n=0x10", "--memory", "b=u32[3]", "--exists", "b[1] == n",
      "--never", "b[0] == 1", "--never", "b[2] == 1", "--check", "terminates", "--expect", "no|hangs",
      "--dynamic-shared", "64"],
     'grid = 2\nblock = 1\nexpect = "no|hangs"\ndynamic_shared = 64\nparams.p = {value = "&b[1]"}\n'
     'params.n = {type = "u32", value = 16}\nmemory.b = {type = "u32", elements = 3}\n'
     'check.exists = "b[1] == n"\ncheck.never = ["b[0] == 1", "b[2] == 1"]\ncheck.terminates = true'),
    (["--grid", "1", "--block", "1", "--arg", "p=u32[3]=any", "--arg", "n=1", "--memory", "b=s16[70]=-2", "--check", "no_trap"],
     'grid = 1\nblock = 1\nparams.p = {type = "u32", elements = 3, init = "any"}\nparams.n = {type = "u32", value = 1}\n'
     'memory.b = {type = "s16", elements = 70, init = -2}\ncheck.no_trap = true'),
]  # fmt: skip


def typed(words: list[str]) -> KernelTest:
    """The test that a command line asks for."""
    from ptxmm.cli.kernel_options import asked
    from ptxmm.cli.options import parser

    options = parser("check").parse_args(["check", "k.ptx", *words])
    found = asked(options)
    assert found is not None
    return found.test()


def bare(test: KernelTest) -> KernelTest:
    """A test without its names."""
    return replace(test, path="", variant="")
