"""Kernels after public bug reports: each is repaired, and the repair costs no more than the fix that their authors made."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ptxmm.kernels.toml import read
from ptxmm.repair.costs import (
    CTA_BARRIER,
    EDIT,
    INIT_FENCE,
    PROXY_FENCE,
    WARP_BARRIER,
    access_cost,
    fence_cost,
)
from ptxmm.repair.finding import answered
from ptxmm.repair.subject_of import subject_of
from ptxmm.repair.subjects import How

MUSEUM = Path(__file__).resolve().parents[2] / "kernels" / "museum"
#: What the authors put in: `__threadfence()`, a fence of acquire and release, and what makes a relaxed access a release.
THREADFENCE, FENCE = EDIT + fence_cost("sc", "gpu"), EDIT + fence_cost("acq_rel", "gpu")
RELEASE = EDIT + access_cost("release", "gpu") - access_cost("relaxed", "gpu")
#: What each edit of the known fix costs: the difference of the two modules of the collection.
KNOWN = {
    "02-last-block-no-acquire": [THREADFENCE],
    "05-device-syncer-no-acquire": [FENCE],
    "08-lock-no-fences": [THREADFENCE, THREADFENCE],
    "09-lock-no-release-fence": [THREADFENCE],
    "14-lookback-flag-no-fence": [FENCE, FENCE],
    "16-lamport-counter-relaxed-red": [RELEASE],
    "22-caslock-block-scope": [
        EDIT + access_cost(order, "gpu") - access_cost(order, "cta") for order in ("acquire", "release")
    ],
    "24-ttaslock-rel2rx": [RELEASE],
    "25-xf-barrier-rel2rx": [RELEASE],
    "30-missing-syncwarp-reduction": [EDIT + WARP_BARRIER],
    "33-shared-reuse-without-barrier": [EDIT + CTA_BARRIER, EDIT + CTA_BARRIER],
    "35-tma-store-no-proxy-fence": [EDIT + PROXY_FENCE],
    "39-mbarrier-init-unfenced": [EDIT + INIT_FENCE],
    "42-cluster-barrier-relaxed": [EDIT + 2],
    "44-cp-async-no-wait": [EDIT + 4],
}


def test_each_buggy_kernel_of_the_museum_has_its_known_fix() -> None:
    assert set(KNOWN) == {path.stem for path in MUSEUM.glob("*.toml") if "buggy" in read(path).variants}


@pytest.mark.long
@pytest.mark.parametrize("name", KNOWN)
def test_a_repair_is_no_stronger_than_the_known_fix(name: str) -> None:
    path = MUSEUM / f"{name}.toml"
    ptx = next(v for v in read(path).document.tree["variant"] if v["name"] == "buggy")["ptx"]
    if not os.path.exists(MUSEUM / ptx):
        pytest.skip("the collection of kernels is not here")
    found = answered(subject_of(f"{path}:buggy", How()), "repair", every=False, most=None)
    repair = next(one for one in found.found if not one.wide)  # a barrier of the CTA stands before one of the warp
    assert repair.minimal and repair.cheapest and not found.undecided
    assert repair.cost <= sum(KNOWN[name])
    assert len(repair.changes) <= len(KNOWN[name]) or repair.cost < sum(KNOWN[name])
