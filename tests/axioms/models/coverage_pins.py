"""What was found of each clause of ptx-9.0: tests that answer otherwise without it (see coverage_map.py), and what pins the others."""

# ruff: noqa: E501
from __future__ import annotations

PINNED: dict[str, tuple[str, ...]] = {
    "strong": (
        "alias+fence-on-reader",
        "b128+one-access",
    ),
    "same-proxy": (
        "atom+weak-store-between",
        "barrier+no-acquire-fence",
    ),
    "complete-overlap": (
        "bytes+halves-read-together",
        "coherence+strong-agree",
    ),
    "trusting": (
        "bulk+fence-before",
        "bulk+implicit-fence",
    ),
    "barrier-fence": ("P27d --bar-is-fence",),
    "at-barrier": ("P27d --bar-is-fence",),
    "ms": (
        "bulk+multicast-seen-at-cta-scope",
        "bulk+write-after-read-unfenced",
    ),
    "silent": (
        "red+acquire-fence",
        "sink+acquire-fence",
    ),
    "strong-write": (
        "cumulativity+ISA2",
        "fence.sc+acquires",
    ),
    "strong-read": (
        "fences+release+acquire",
        "mmio+fences",
    ),
    "sc-fence": (
        "fence.sc+releases",
        "P12",
    ),
    "release-fences": (
        "cluster+relaxed+fence",
        "restricted+shared",
    ),
    "acquire-fences": (
        "release-pattern+case2",
        "volatile+fences",
    ),
    "release-fence": (
        "M5",
        "P13",
    ),
    "acquire-fence": (
        "M8b",
        "P10",
    ),
    "po-same": (
        "P15",
        "acquire-pattern-case-2-by-an-atom",
    ),
    "release": (
        "observation+atom",
        "proxy+fence-of-another-cta",
    ),
    "acquire": (
        "proxy+fence-on-reader",
        "st.async+release",
    ),
    "arrive": (
        "bulk+write-after-read",
        "cluster+default",
    ),
    "await": (
        "cp.async+arrive-publishes-copies",
        "mbarrier+every-arrival",
    ),
    "obs-rf": (
        "races+atomic-operation-is-one",
        "M4",
    ),
    "obs": (
        "P04",
        "P09b",
    ),
    "phase": (
        "mbarrier+handoff",
        "mbarrier+remote",
    ),
    "sync": (
        "mbarrier+scope-too-narrow",
        "restricted+not-global",
    ),
    "sc": (
        "fence.sc+R",
        "M7",
    ),
    "bars": (
        "barrier+arrive",
        "barrier+two-ids",
    ),
    "release-some": ("restricted-acquire-relaxed-store-of-a-flag-shared-data",),
    "acquire-some": ("restricted-acquire-relaxed-store-of-a-flag-shared-data",),
    "arrive-some": (
        "Q13b",
        "Q13c",
    ),
    "await-some": (
        "Q13d",
        "Q13c",
    ),
    "sync-some": (
        "mbarrier-initialised-for-the-cluster-by-a-relaxed-arrival",
        "R13",
    ),
    "link": (
        "address+mapa-of-self",
        "barrier+warp",
    ),
    "links": (
        "bulk+left-to-the-end",
        "bulk+publishes-nothing-else",
    ),
    "completed": (
        "bulk+wait-read",
        "cp.async+generic",
    ),
    "done": (
        "cp.async-zero-fill",
        "wait-group-1-the-older",
    ),
    "start": (
        "cp.async+arrive-publishes-nothing-else",
        "discard+any-value",
    ),
    "handed": (
        "bulk+distributed-shared-memory",
        "restricted+shared",
    ),
    "from-here": (
        "Q13b",
        "Q13d",
    ),
    "good": (
        "mbarrier-initialised-for-the-cluster-by-a-relaxed-arrival",
        "R13",
    ),
    "good-for": ("restricted-release-hands-on-to-a-copy",),
    "along": (
        "init+before-everything",
        "mbarrier+earlier-phase",
    ),
    "over": (
        "bulk+distributed-shared-memory",
        "restricted+shared",
    ),
    "causality-base": (
        "mbarrier+false",
        "overlap+partial-in-thread",
    ),
    "toward": ("restricted-release-hands-on-to-a-copy",),
    "onward": (
        "P44b",
        "proxy-fence-of-the-right-space",
    ),
    "both-ways": (
        "Q12b",
        "Q12d",
    ),
    "fenced": (
        "bulk-group-wait-then-generic-read",
        "waited-bulk-store-published-by-a-release",
    ),
    "fenced-some": (
        "P33c",
        "Q12d",
    ),
    "leave": (
        "bulk-copy-over-a-generic-store-a-fence",
        "P33b",
    ),
    "enter": (
        "bulk-copy-over-what-its-thread-has-read-a-fence",
        "P35b",
    ),
    "leave-far": ("P35 --async-fence-any-cta",),
    "enter-far": ("P35 --async-fence-any-cta",),
    "leave-async": (
        "P34",
        "Q10",
    ),
    "enter-async": (
        "bulk+fence-of-proxies",
        "bulk+fence-before",
    ),
    "oneway-release": (
        "R13",
        "bulk+distributed-shared-memory",
    ),
    "oneway-acquire": (
        "R13",
        "bulk+distributed-shared-memory",
    ),
    "proxy-sync": (
        "R13",
        "bulk+distributed-shared-memory",
    ),
    "turned": (
        "R13",
        "bulk+distributed-shared-memory",
    ),
    "oneway": (
        "R13",
        "bulk+distributed-shared-memory",
    ),
    "gone": (
        "Q10d",
        "R03",
    ),
    "from-generic": (
        "M6",
        "P08",
    ),
    "gone-over": ("Q13d",),
    "generic": (
        "P11c",
        "P14",
    ),
    "renamed": (
        "P38b",
        "P38",
    ),
    "renamed-over": ("restricted-release-hands-on-a-renamed-write",),
    "same-address": (
        "P16",
        "P21",
    ),
    "other-address": (
        "alias-fence-in-a-third-thread",
        "alias-stores-with-the-fence-between",
    ),
    "other-proxy": (
        "surfaces-in-one-cta",
        "init+before-everything",
    ),
    "through-api": (
        "kernels+texture",
        "nc-behind-a-kernel-end",
    ),
    "write-after-read": ("P44 --war-ok",),
    "ppbc": (
        "grids+wait",
        "kernels+stream",
    ),
    "cause": (
        "P23c",
        "P26b",
    ),
    "coherence": (
        "P36",
        "P39b",
    ),
    "coherence-total": (
        "vector-atomic+each",
        "M1",
    ),
    "fence-sc": ("restricted+circle",),
    "single-copy": (
        "final+disagree",
        "tearing+narrow-scope",
    ),
    "atomicity": (
        "P18",
        "Q02",
    ),
    "unlike": (
        "Q03",
        "C40",
    ),
    "atomicity 2": (
        "atomics-of-two-proxies",
        "R02",
    ),
    "atomicity 3": (
        "Q03",
        "C40",
    ),
    "control": (
        "dependency+control",
        "P03",
    ),
    "no-thin-air": (
        "ctrl-reaches-behind-the-join",
        "LB+ctrl+ctrl",
    ),
    "causality": (
        "P27b",
        "P46",
    ),
    "mbarrier-order": (
        "P29e",
        "P29f",
    ),
    "conflict": (
        "barrier+no-release-fence",
        "cluster+in-between",
    ),
    "before": (
        "P26",
        "P26d",
    ),
    "unordered": (
        "cluster+relaxed",
        "coherence+weak-disagree",
    ),
    "overwrite": (
        "cp.reduce+atom",
        "P44",
    ),
    "follows": (
        "bulk-copy-over-what-its-thread-has-read",
        "bulk+write-after-read-unfenced",
    ),
    "async": (
        "wait-group-1-the-younger",
        "source-overwritten-while-in-flight",
    ),
    "war": (
        "cp.reduce+atom",
        "proxy+fence-of-another-cta",
    ),
    "mixed-size": (
        "P25c",
        "P42",
    ),
    "proxy": (
        "ms+alias-flag",
        "texture+no-fence",
    ),
    "data": (
        "fences+acquire-on-the-wrong-side",
        "grids+one-before-the-last",
    ),
    "early": ("barrier-arrival-twice-in-a-row",),
    "by-copy": (
        "Q12",
        "Q12e",
    ),
    "proxy-fenced": (
        "Q12b",
        "Q12d",
    ),
    "init-fence": (
        "Q12c",
        "Q13e",
    ),
    "init-over": (
        "R13",
        "bulk+distributed-shared-memory",
    ),
    "init-fenced": (
        "P34b",
        "R09",
    ),
    "initialisation 2": (
        "Q12f",
        "Q12",
    ),
    "in-use": ("overwritten",),
    "overwritten": ("overwritten",),
    "learnt": (
        "C40b",
        "source-overwritten-after-the-wait",
    ),
    "released": ("A24-stricter-reading-release",),
    "left-alone": (
        "K01",
        "K06",
    ),
    "unfinished": (
        "A24-alone-not-waited",
        "A24-followed-not-waited",
    ),
    "over-before": ("cluster_exit:fixed",),
    "exited": ("cluster_exit:buggy",),
    "freed": (
        "heap_handover:buggy",
        "heap_last_owner:buggy",
    ),
}

#: Clauses without which no test answers otherwise, and what tells of them. "second definition": an execution in which the model
#: without the clause and tests/axioms/models/whole_definition.py disagree is among the first thousands that are drawn.
COMPARED = ("atomicity 4", "found", "try-wait", "told", "initialisation")
UNPINNED = {
    **dict.fromkeys(COMPARED, "the [second definition](../tests/axioms/models/test_whole_definition.py)"),
    "unset": "[test_heap.py](../tests/kernels/test_heap.py): what is found there is tried with other contents",
}
