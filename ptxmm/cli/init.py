"""`ptxmm init`."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from argparse import Namespace

_BAD_INPUT = 2


def init(options: Namespace) -> int:
    """Runs the command; gives its exit status: 0 the test is written, 2 bad input or usage."""
    from ptxcore.diagnostics import InputError
    from ptxmm.cli.kernel_options import asked
    from ptxmm.kernels.files import is_code
    from ptxmm.kernels.skeleton import GUESS, skeleton, write

    path, output = options.path, options.output or f"{os.path.splitext(options.path)[0]}.toml"
    if not is_code(path):
        return _refuse(f"{path}: error: a kernel is wanted here: FILE.cu or FILE.ptx")
    options.paths = [path]
    try:
        kernel = asked(options)
    except ValueError as error:
        return _refuse(f"ptxmm init: error: {error}")
    assert kernel is not None
    try:
        text = skeleton(kernel, "" if output == "-" else os.path.dirname(output))
        if output == "-":
            sys.stdout.write(text)
            return 0
        write(text, output, options.force)
    except InputError as error:
        return _refuse(error.render())
    except OSError as error:
        return _refuse(f"{output}: error: cannot write: {error.strerror or error}")
    left = text.count(GUESS) > 1  # the first line says what it means
    to_do = "say in it what is launched and checked, then" if left else "now"
    sys.stdout.write(f"{output}: {to_do}: ptxmm check {output}\n")
    return 0


def _refuse(message: str) -> int:
    sys.stderr.write(message + "\n")
    return _BAD_INPUT
