"""Where the threads of a test stand: `P0@cta 0,gpu 0` and `scopes:` trees, made into places with unique numbers.

What a test leaves out: a thread has a warp and a CTA of its own, a CTA has a cluster of its own, and all are on GPU 0.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import count

from litmus.formats.source import LitmusSource
from ptxcore.diagnostics import Span
from ptxcore.places import LEVELS, Placement

#: For each thread of a scope tree the groups that it is in, by level, and where it stands.
Tree = tuple[dict[str, dict[str, int]], dict[str, Span]]
#: The numbers that a test gives for a thread's levels; `host` alone for a thread of the host program.
PlacementLevels = Mapping[str, int]

_NAMES = (*LEVELS, "host")
#: The levels of a scope tree, widest first.
TREE_LEVELS = ("sys", "gpu", "cluster", "cta", "warp")
_OURS = {level: level for level in TREE_LEVELS}
_LEVEL = re.compile(r"\s*+([A-Za-z_]\w*+)\s*+(\d{1,9}+(?!\w))?", re.ASCII)
_TREE_TOKEN = re.compile(r"\s*+(?:([()])|([A-Za-z_]\w*+)|(\S))", re.ASCII)
_CLASSIC = re.compile(r"\s*+cta (\d{1,9}), ?gpu (\d{1,9})\s*+\Z", re.ASCII)


def read_levels(source: LitmusSource, start: int, end: int) -> dict[str, int]:
    """The levels that stand after a thread's `@`."""
    text = source.text
    classic = _CLASSIC.match(text, start, end)
    if classic:
        return {"cta": int(classic[1]), "gpu": int(classic[2])}
    levels: dict[str, int] = {}
    at = start
    while True:
        found = _LEVEL.match(text, at, end)
        if found is None:
            message = "expected a level and its number, as in 'cta 0,gpu 0'"
            raise source.error(at, end, message, "the levels are warp, cta, cluster, gpu; or host alone")
        level, number = found[1], found[2]
        if level not in _NAMES:
            hint = source.suggest(level, _NAMES) or "the levels are warp, cta, cluster, gpu; or host alone"
            raise source.error(*found.span(1), f"unknown level '{level}'", hint)
        if level in levels:
            raise source.error(*found.span(1), f"{level} is given twice")
        if level == "host":
            if number is not None or levels or text[found.end() : end].strip():
                raise source.error(*found.span(1), "host stands alone: a host thread is on no GPU and has no number")
            return {"host": 0}
        if number is None:
            raise source.error(*found.span(1), f"{level} needs a number, as in '{level} 0'")
        levels[level] = int(number)
        at = found.end()
        blank = text[at:end].lstrip()
        at = end - len(blank)
        if not blank:
            break
        if blank[0] != ",":
            raise source.error(at, end, "levels are separated by ','", "as in 'cta 0,gpu 0'")
        at += 1
    if "warp" in levels and "cta" not in levels:
        message = "a warp is part of a CTA: give its cta too"
        raise source.error(start, end, message, f"as in 'warp {levels['warp']},cta 0'")
    return levels


def read_tree(
    source: LitmusSource,
    start: int,
    levels: Mapping[str, str] = _OURS,
    numbers: Mapping[str, Iterator[int]] | None = None,
) -> tuple[dict[str, dict[str, int]], dict[str, Span], int]:
    """The tree after `scopes:`: for each thread the groups it is in, by level; where it stands; and the end's offset.

    Groups at each level are numbered in the order of their opening parentheses. `levels` are the words for levels, the widest
    first, with what they mean; `numbers` those that are left of each level.
    """
    order = list(dict.fromkeys(levels.values()))
    numbers = numbers or {level: count() for level in order}
    path: list[tuple[str, int]] = []
    groups: dict[str, dict[str, int]] = {}
    spans: dict[str, Span] = {}
    text, at = source.text, start
    while True:
        token = _TREE_TOKEN.match(text, at)
        if token is None or token[3]:
            blank = len(text) - len(text[start:].lstrip()) if token is None else 0
            place = token.span(3) if token else (min(blank, len(text) - 1), len(text))
            message = "unexpected character in the scope tree" if token else "the scope tree is not closed"
            raise source.error(*place, message, "a tree is '(LEVEL tree...)' or a thread")
        at = token.end()
        if token[1] == "(":
            level = _TREE_TOKEN.match(text, at)
            if level is None or level[2] not in levels:
                word = level[2] if level and level[2] else ""
                hint = source.suggest(word, levels) or f"the levels are {', '.join(levels)}"
                place = (level.start(level.lastindex or 0), level.end()) if level else token.span(1)
                raise source.error(*place, f"unknown level '{word}'" if word else "a level is missing", hint)
            meant = levels[level[2]]
            if path and order.index(meant) <= order.index(path[-1][0]):
                message = f"a {level[2]} does not lie inside a {path[-1][0]}"
                raise source.error(*level.span(2), message, f"from wide to narrow: {', '.join(order)}")
            path.append((meant, next(numbers[meant])))
            at = level.end()
        elif token[1] == ")":
            if not path:
                raise source.error(*token.span(1), "')' without '('")
            path.pop()
        else:
            name = token[2]
            if not re.fullmatch(r"P[0-9]{1,9}", name):
                raise source.error(*token.span(2), f"'{name[:40]}' is no thread", "threads are P0, P1, ...")
            if name in groups:
                raise source.error(*token.span(2), f"{name} stands twice in the scope tree")
            groups[name] = dict(path)
            spans[name] = source.span(*token.span(2))
        if not path:
            return groups, spans, at


def merge_tree(
    source: LitmusSource,
    given: dict[str, dict[str, int]],
    tree: Mapping[str, Mapping[str, int]],
    spans: Mapping[str, Span],
) -> None:
    """Complete the levels in `given`, by thread, with those of the scope tree. A contradiction becomes a finding."""
    for name in tree:
        if name not in given:
            source.note_at(spans[name], f"the test has no thread {name}")
        elif "host" in given[name]:
            source.note_at(spans[name], f"{name} is a host thread and has no place in the scope tree")
    missing = [name for name in given if name not in tree and "host" not in given[name]]
    if missing and spans:
        last = max(spans.values())
        source.note_at(last, f"the scope tree leaves out {', '.join(missing[:8])}")
    if source.findings:
        return
    wider: tuple[str, ...] = ()
    for level in TREE_LEVELS[1:]:
        # Within one tree group all threads that the header numbers have one number there, and no other group has it.
        number_of: dict[int, tuple[int, ...]] = {}
        group_of: dict[tuple[int, ...], int] = {}
        for name, groups in tree.items():
            if level not in groups or level not in given[name]:
                continue
            number = (*(given[name].get(above, -1) for above in wider), given[name][level])
            group = groups[level]
            if number_of.setdefault(group, number) != number or group_of.setdefault(number, group) != group:
                message = f"the scope tree contradicts the {level} that the header gives for {name}"
                source.note_at(spans[name], message, "leave one of the two out")
                return
        used = {levels[level] for levels in given.values() if level in levels}
        fresh = (n for n in count() if n not in used)
        numbers = {group: number[-1] for group, number in number_of.items()}
        for name, groups in tree.items():
            if level in groups and level not in given[name]:
                group = groups[level]
                if group not in numbers:
                    numbers[group] = next(fresh)
                given[name][level] = numbers[group]
        wider = (*wider, level)


def places(given: Sequence[PlacementLevels]) -> list[Placement]:
    """The place of each thread. Numbers stay as given where they are unique in the test; others are new ones.

    Raises `ValueError` when a CTA is said to be in a cluster by one of its threads and in none by another.
    """
    if not any(map(len, given)):
        return [Placement(i, i, i, 0) for i in range(len(given))]
    on_gpu = [levels for levels in given if "host" not in levels]
    gpus = [levels.get("gpu", 0) for levels in on_gpu]
    with_cluster = {(g, levels.get("cta")) for g, levels in zip(gpus, on_gpu, strict=True) if "cluster" in levels}
    for gpu, levels in zip(gpus, on_gpu, strict=True):
        if "cta" in levels and "cluster" not in levels and (gpu, levels["cta"]) in with_cluster:
            raise ValueError(f"cta {levels['cta']} is in a cluster for one of its threads and in none for another")
    count_ = range(len(on_gpu))
    # A group's key is its parents' key and its own number; what is not given is alone in its parent.
    cta_keys = [
        (gpus[i], on_gpu[i].get("cluster"), on_gpu[i].get("cta"), i if "cta" not in on_gpu[i] else None) for i in count_
    ]
    cluster_keys = [
        (gpus[i], on_gpu[i]["cluster"], None) if "cluster" in on_gpu[i] else (gpus[i], None, cta_keys[i])
        for i in count_
    ]
    warp_keys = [(cta_keys[i], on_gpu[i].get("warp"), i if "warp" not in on_gpu[i] else None) for i in count_]
    clusters = _numbers(cluster_keys, [levels.get("cluster") for levels in on_gpu])
    ctas = _numbers(cta_keys, [levels.get("cta") for levels in on_gpu])
    warps = _numbers(warp_keys, [levels.get("warp") for levels in on_gpu])
    result: list[Placement] = []
    position, hosts = iter(count_), count(1)
    for levels in given:
        if "host" in levels:
            alone = -next(hosts)
            result.append(Placement(alone, alone, alone, alone, True))
        else:
            i = next(position)
            result.append(Placement(warps[i], ctas[i], clusters[i], gpus[i]))
    return result


def _numbers(keys: Sequence[object], wanted: Sequence[int | None]) -> list[int]:
    """A number for each key, equal exactly for equal keys: the wanted one while it is free, else a new one."""
    taken = {number for number in wanted if number is not None}
    fresh = (n for n in count() if n not in taken)
    owner: dict[int, object] = {}
    number_of: dict[object, int] = {}
    for key, number in zip(keys, wanted, strict=True):
        if key not in number_of:
            if number is None or number in owner:
                number = next(fresh)
            owner[number] = key
            number_of[key] = number
    return [number_of[key] for key in keys]
