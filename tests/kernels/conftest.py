"""Tests of kernel tests find what the tests share. The collections of kernels run as the tests beside them say."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
collect_ignore_glob = ["*.toml"]
