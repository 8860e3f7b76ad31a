"""Tests of kernel tests find what the tests share. The kernel tests of the museum run as `test_museum` says."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
collect_ignore_glob = ["museum/*"]
