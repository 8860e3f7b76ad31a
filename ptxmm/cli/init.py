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
    from ptxmm.kernels.files import is_code
    from ptxmm.kernels.skeleton import skeleton, write

    path, output = options.path, options.output or f"{os.path.splitext(options.path)[0]}.toml"
    if not is_code(path):
        return _refuse(f"{path}: error: a kernel is wanted here: FILE.cu or FILE.ptx")
    try:
        text = skeleton(path, options.entry, "" if output == "-" else os.path.dirname(output))
        if output == "-":
            sys.stdout.write(text)
            return 0
        write(text, output, options.force)
    except InputError as error:
        return _refuse(error.render())
    except OSError as error:
        return _refuse(f"{output}: error: cannot write: {error.strerror or error}")
    sys.stdout.write(f"{output}: say in it what is launched and checked, then: ptxmm check {output}\n")
    return 0


def _refuse(message: str) -> int:
    sys.stderr.write(message + "\n")
    return _BAD_INPUT
