"""What axe-core says of a page."""

from __future__ import annotations

from importlib import resources
from typing import Any

import pytest

#: What axe-core calls serious.
_BAD = {"serious", "critical"}


def violations(page: Any) -> list[str]:
    """What axe-core says of the page as it stands, where it is serious; and that it looked. Skips the test where there is no
    axe-core."""
    pytest.importorskip("axe_playwright_python", reason="no axe-playwright-python, which carries axe-core")
    script = (resources.files("axe_playwright_python") / "axe.min.js").read_text(encoding="utf-8")
    page.evaluate("() => document.getAnimations().forEach(animation => animation.finish())")
    page.evaluate(script)  # through the debugger: the policy of the page may let no script in
    found = page.evaluate("() => axe.run(document, { resultTypes: ['violations'], preload: false })")
    assert len(found["passes"]) > 15
    return [
        f"{one['id']}: {one['help']}: {node['target']} {node['failureSummary']}"
        for one in found["violations"]
        if one["impact"] in _BAD
        for node in one["nodes"]
    ]
