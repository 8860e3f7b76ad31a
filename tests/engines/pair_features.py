"""The features of the model that generated programs have in pairs."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import pair_asynchronous as background
import pair_statements as threads
from pair_side import Beat, Side


class Feature(NamedTuple):
    """`bond` is what its two threads have in common, `mark` is found in the text of every program that has the feature."""

    name: str
    beats: Callable[[Side], list[Beat]]
    mark: str
    bond: str = ""


FEATURES = (
    Feature("sizes", threads.sizes, r"\[x\+\d+\]"),
    Feature("vectors", threads.vectors, r"\.v[24]\.u32"),
    Feature("b128", threads.wide, r"\.b128"),
    Feature("scopes", threads.scopes, r"st\.(release|relaxed)\.\w+\.u32 \[f\]"),
    Feature("windows", threads.windows, r"mapa|cvta", "cluster"),
    Feature("aliases", threads.aliases, r"\[y\]"),
    Feature("CTA barriers", threads.cta_barriers, r"\b(bar|barrier)\.(cta\.)?(sync|arrive|red)", "cta"),
    Feature("warp barriers", threads.warp_barriers, r"bar\.warp\.sync", "warp"),
    Feature("collectives", threads.collectives, r"(shfl|redux|vote|match|elect)\.", "warp"),
    Feature("cluster barriers", threads.cluster_barriers, r"barrier\.cluster\.arrive", "cluster"),
    Feature("mbarrier objects", background.objects, r"mbarrier\.(test|try)_wait", "cta"),
    Feature("states of objects", background.own_objects, r"mbarrier\.arrive\.shared\.b64 %rd"),
    Feature("remote arrivals", background.remote_arrivals, r"mbarrier\.arrive[a-z.]*\.shared::cluster", "cluster"),
    Feature("copies in groups", background.copy_groups, r"cp\.async\.c[ag]"),
    Feature("copies with objects", background.copy_objects, r"cp\.async\.mbarrier\.arrive", "cta"),
    Feature("bulk copies with objects", background.bulk_objects, r"cp\.async\.bulk\.shared::cluster\.global", "cta"),
    Feature("bulk copies to clusters", background.bulk_clusters, r"::cluster\.(shared|global\S*multicast)", "cluster"),
    Feature("bulk copies in groups", background.bulk_groups, r"cp\.async\.bulk\.global\.shared"),
    Feature("bulk reductions", background.bulk_reductions, r"cp\.reduce\.async\.bulk"),
    Feature("asynchronous releases", background.async_releases, r"(st|red)\.async\.release"),
    Feature("asynchronous stores", background.async_stores, r"st\.async\.(weak\.)?shared", "cluster"),
    Feature("asynchronous reductions", background.async_reductions, r"red\.async\.relaxed", "cluster"),
    Feature("async fences", background.async_fences, r"fence\.proxy\.async"),
    Feature("tensormap fences", background.tensormap_fences, r"fence\.proxy\.tensormap"),
    Feature("texture loads", threads.texture_loads, r"ld\.global\.nc"),
    Feature("proxies of the short dialect", threads.short_proxies, r"(cold|tld|suld)\.", "short"),
    Feature("fences", threads.fences, r"(fence(\.(sc|acq_rel|acquire|release))?\.(cta|cluster|gpu|sys)|membar\.\w+);"),
    Feature("restricted fences", background.restricted_fences, r"sync_restrict|mbarrier_init", "cluster"),
    Feature("volatile and mmio", threads.volatiles, r"(ld|st)\.(volatile|mmio)"),
    Feature("constants", threads.constants, r"ldu|ld\.const"),
    Feature("discards", threads.discards, r"discard"),
    Feature("dependents", threads.dependents, r"griddepcontrol", "kernels"),
    Feature("kernels", threads.kernels, r"kernel k2", "kernels"),
    Feature("hosts", threads.hosts, r"@host", "host"),
    Feature("atomics", threads.atomics, r"(atom|red)\.[a-z_.]*(u32|b32)"),
    Feature("packed atomics", threads.packed_atomics, r"(atom|red)\.relaxed\.gpu\.global\.\S*(f32|f16x2|bf16x2)"),
    Feature("control", threads.control, r"setp|bra "),
    Feature("polls", threads.polls, r"@%p\d+ bra w"),
    Feature("addresses", threads.addresses, r"mad\.wide|\[q\]"),
)  # fmt: skip

__all__ = ["FEATURES", "Feature"]
