"""Generated kernels of one CTA or a cluster of two, in which copies, mbarrier objects of both CTAs, the barrier of the cluster
and fences of proxies come together: pipelines that are right, with mistakes planted at random."""

from __future__ import annotations

import random
import re
from collections.abc import Callable

from ptxmm.kernels.test import KernelTest
from ptxmm.kernels.toml import KernelFile

_HEAD = """.version 8.6
.target sm_90
.address_size 64
.visible .entry k(.param .u64 x)
.explicitcluster .reqnctapercluster {ctas}
{{
 .reg .pred %p<4>; .reg .b32 %r<12>; .reg .b64 %rd<9>; .reg .b16 %h<2>;
 .shared .align 16 .b8 s[64]; .shared .align 8 .b64 m[2];
 ld.param.u64 %rd1, [x]; mov.u32 %r2, %tid.x; mov.u32 %r1, %cluster_ctarank; mov.u32 %r3, 0; setp.eq.u32 %p1, %r2, 0;
 xor.b32 %r5, %r1, {other}; mov.u32 %r6, s; mapa.shared::cluster.u32 %r7, %r6, %r5;
 mov.u32 %r8, m; mapa.shared::cluster.u32 %r9, %r8, %r5; mad.lo.u32 %r10, %r1, {block}, %r2;
"""
_OUT = 32
#: The places `{at}` of shared memory are 16 bytes each; objects are `m+0` and `m+8`, here and (`peer`) in the other CTA.
_T = {
    "expect": "mbarrier.arrive.expect_tx.release.cta.shared.b64 _, [m+{o}], {bytes};",
    "arrive": "mbarrier.arrive.release.cta.shared.b64 _, [m+{o}];",
    "remote": "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r9+{o}];",
    "remote_expect": "mbarrier.arrive.expect_tx.release.cluster.shared::cluster.b64 _, [%r9+{o}], {bytes};",
    "wait": "W{{label}}: mbarrier.try_wait.parity.acquire.{scope}.shared.b64 %p2, [m+{o}], {parity}; @!%p2 bra W{{label}};",
    "load": "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [s+{at}], [%rd1+{from}], 16, [m+{o}];",
    "load_there": "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r7+{at}], [%rd1+{from}], 16, [%r9+{o}];",
    "load_both": "mov.u16 %h1, 3; cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster "
    "[s+{at}], [%rd1+{from}], 16, [m+{o}], %h1;",
    "send": "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%r7+{at}], [s+{from}], 16, [%r9+{o}];",
    "st_async": "st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [%r7+{at}], 3, [%r9+{o}];",
    "small": "cp.async.ca.shared.global [s+{at}], [%rd1+{from}], 16;",
    "small_arrive": "cp.async.mbarrier.arrive.noinc.shared.b64 [m+{o}];",
    "store": "cp.async.bulk.global.shared::cta.bulk_group [%rd1+{to}], [s+{at}], 16;",
    "bulk_commit": "cp.async.bulk.commit_group;",
    "bulk_wait": "cp.async.bulk.wait_group{read} 0;",
    "commit": "cp.async.commit_group;",
    "group": "cp.async.wait_group {n};",
    "write": "st.shared.u32 [s+{at}], {value};",
    "write4": "st.shared.v4.u32 [s+{at}], {{{value}, {value}, {value}, {value}}};",
    "write_there": "st.shared::cluster.u32 [%r7+{at}], {value};",
    "read": "ld.shared.u32 %r4, [s+{at}]; mad.lo.u32 %r3, %r3, 5, %r4;",
    "read_there": "ld.shared::cluster.u32 %r4, [%r7+{at}]; mad.lo.u32 %r3, %r3, 5, %r4;",
    "read_global": "ld.global.u32 %r4, [%rd1+{at}]; mad.lo.u32 %r3, %r3, 5, %r4;",
    "proxy": "fence.proxy.async{space};",
    "inits": "fence.mbarrier_init.release.cluster;",
    "fence": "fence.{sem}.{scope};",
    "bar": "barrier.sync 0;",
    "cluster": "barrier.cluster.arrive.{sem}; barrier.cluster.wait.acquire;",
    "cluster_arrive": "barrier.cluster.arrive.{sem};",
    "cluster_wait": "barrier.cluster.wait.acquire;",
    "put": "st.global.u32 [%rd1+{from}], {value};",
    "flag": "st.{sem}.{scope}.global.u32 [%rd1+{flag}], 1;",
    "count": "red.{sem}.{scope}.global.add.u32 [%rd1+{flag}], 1;",
    "await": "F{{label}}: ld.{sem}.{scope}.global.u32 %r4, [%rd1+{flag}]; setp.eq.u32 %p2, %r4, 0; @%p2 bra F{{label}};",
    "passed": "ld.{sem}.{scope}.global.u32 %r4, [%rd1+{flag}]; setp.eq.u32 %p2, %r4, 0; "
    "@%p2 bra E{{label}}; {then} E{{label}}:",
    "last": "atom.{sem}.{scope}.global.add.u32 %r4, [%rd1+{flag}], 1; setp.ne.u32 %p2, %r4, {n}; "
    "@%p2 bra E{{label}}; {then} E{{label}}:",
    "last_there": "atom.{sem}.cluster.shared::cluster.add.u32 %r4, [%r7+60], 1; setp.ne.u32 %p2, %r4, {n}; "
    "@%p2 bra E{{label}}; {then} E{{label}}:",
    "flag_there": "st.{sem}.cluster.shared::cluster.u32 [%r7+60], 1;",
    "await_here": "F{{label}}: ld.{sem}.cluster.shared.u32 %r4, [s+60]; setp.eq.u32 %p2, %r4, 0; @%p2 bra F{{label}};",
}
_DEFAULTS = {
    "o": 0, "bytes": 16, "scope": "cta", "parity": 0, "at": 0, "from": 0, "to": 64, "read": "", "n": 0, "value": 7,
    "space": "", "sem": "acq_rel",
}  # fmt: skip


def _s(what: str, **how: object) -> str:
    if what.startswith("cluster"):
        how.setdefault("sem", "release")
    return _T[what].format(**{**_DEFAULTS, **how})


#: The counts of the two objects, and what each thread of each CTA does.
_Made = tuple[tuple[int, int], list[list[list[str]]]]


def _empty(ctas: int, block: int) -> list[list[list[str]]]:
    return [[[] for _ in range(block)] for _ in range(ctas)]


def _fed(choose: random.Random, ctas: int, block: int) -> _Made:
    """The first thread of the first CTA fills the memory of all, and again when all have arrived at its second object."""
    programs = _empty(ctas, block)
    first = programs[0][0]
    both = ctas == 2 and choose.random() < 0.4
    scope = "cluster" if ctas == 2 else choose.choice(("cta", "cluster"))
    fenced = choose.random() < 0.7
    for i in range(choose.choice((1, 2, 2))):
        if i:
            first.append(_s("wait", o=8, parity=(i - 1) & 1, scope=scope))
            first += [_s("proxy")] * (choose.random() < 0.8)
        for cta in programs:
            cta[0].append(_s("expect"))
        if ctas == 2 and not both and choose.random() < 0.5:  # who sends also tells how much there is to come
            programs[1][0].pop()
            first.append(_s("remote_expect"))
        first += [_s("load_both", **{"from": 16 * i})] if both else [
            _s("load", **{"from": 16 * i}), *[_s("load_there", **{"from": 16 * i})] * (ctas - 1)
        ]  # fmt: skip
        for c, cta in enumerate(programs):
            for t, program in enumerate(cta):
                program += [_s("wait", parity=i & 1), *[_s("read", at=4 * t)] * (choose.random() < 0.9)]
                program += [_s("proxy")] * fenced
                program.append(_s("remote" if c else "arrive", o=8))
    return (1, ctas * block), programs


def _sent(choose: random.Random, ctas: int, block: int) -> _Made:
    """Each first thread writes, and sends that to the other CTA, by a copy or by stores."""
    programs = _empty(ctas, block)
    how = choose.choice(("send", "send", "st_async", "write_there"))
    for cta in programs:
        first = cta[0]
        first += [_s("expect", bytes={"send": 16, "st_async": 4}.get(how, 0))] if how != "write_there" else []
        first += [_s("write4", value=choose.randint(1, 9)), _s("proxy")] if how == "send" else []
        first += [_s(how, at=32, **{"from": 0})] if ctas == 2 else [_s("load", at=32)]
        first += [_s("remote")] if how == "write_there" and ctas == 2 else []
        for program in cta:
            program += [_s("wait", scope="cluster"), _s("read", at=32)]
        if choose.random() < 0.4:
            first += [_s("write", at=0)]
    return (1, 1), programs


def _small(choose: random.Random, ctas: int, block: int) -> _Made:
    """Each thread copies a part by `cp.async`, twice; what is there is told by an object, or by groups and barriers."""
    programs = _empty(ctas, block)
    by_object = choose.random() < 0.6
    for i in range(choose.choice((1, 2))):
        for cta in programs:
            for t, program in enumerate(cta):
                if i:
                    program += [_s("arrive", o=8), _s("wait", o=8)] if by_object else [_s("bar")]
                program.append(_s("small", at=16 * t, **{"from": 16 * choose.randint(0, 1)}))
                program += [_s("small_arrive"), _s("wait", parity=i)] if by_object else [
                    _s("commit"), _s("group"), _s("bar")
                ]  # fmt: skip
                program.append(_s("read", at=16 * choose.randrange(block)))
    return (block, block), programs


def _through(choose: random.Random, ctas: int, block: int) -> _Made:
    """A load, what comes of it written beside it, and a store of that; then the same memory again."""
    programs = _empty(ctas, block)
    for c, cta in enumerate(programs):
        first = cta[0]
        first += [_s("expect"), _s("load", **{"from": 16 * c})]
        for t, program in enumerate(cta):
            program += [_s("wait"), _s("read", at=0), _s("write", at=16 + 4 * t, value=5), _s("proxy"), _s("bar")]
        first += [_s("store", at=16, to=64 + 16 * c), _s("bulk_commit")]
        first.append(_s("bulk_wait", read=choose.choice(("", ".read"))))
        if choose.random() < 0.6:
            for program in cta:
                program.append(_s("bar"))
            cta[-1].append(_s("write", at=16, value=9))
        first += [_s("read_global", at=64 + 16 * c)] * (".read" not in first[-1] and choose.random() < 0.5)
    return (1, 1), programs


_FREE = (
    "expect", "arrive", "wait", "load", "small", "small_arrive", "store", "bulk_commit", "bulk_wait", "commit", "group",
    "write", "read", "proxy", "fence", "bar", "cluster", "cluster_arrive", "cluster_wait", "inits",
)  # fmt: skip
_ACROSS = ("remote", "remote_expect", "load_there", "load_both", "send", "st_async", "write_there", "read_there")


def _any(choose: random.Random, ctas: int) -> str:
    what = choose.choice(_FREE + _ACROSS * (ctas - 1))
    how: dict[str, object] = {
        "o": choose.choice((0, 0, 8)),
        "parity": choose.randint(0, 1),
        "at": choose.choice((0, 0, 16, 32)),
    }
    how["scope"] = choose.choice(("cta", "cluster"))
    how["space"] = choose.choice(("", ".shared::cta", ".global", ".shared::cluster"))
    how["from"] = choose.choice((0, 16))
    return _s(what, **how)


#: What no module may say.
_REFUSED = r"async\.ca.*32;|async\.wait_group\.read"


def _mistaken(choose: random.Random, ctas: int, programs: list[list[str]]) -> None:
    program = choose.choice([p for p in programs if p])
    i, other = choose.randrange(len(program)), choose.choice([p for p in programs if p])
    swaps = (
        (r"parity(.*), 0;", r"parity\1, 1;"), ("acquire.c", "relaxed.c"), ("release", "relaxed"),
        (".cta.shared", ".cluster.shared"),
        (r"fence.proxy.async\S*;", "fence.proxy.async.global;"), (r"fence.proxy.async\S*;", "fence.proxy.async.shared::cta;"),
        (r"wait_group 0", "wait_group.read 0"), (r", 16, \[", ", 32, ["), (r"\], 16;", "], 32;"), (r"m\+0", "m+8"),
        (r"s\+0\]", "s+16]"), (r"r9\+0", "r9+8"), (r"multicast::cluster(.*)3;", r"multicast::cluster\g<1>1;"),
        ("%h1, 3", "%h1, 2"),
        ("%h1, 3", "%h1, 1"),
    )  # fmt: skip

    def changed(s: str) -> list[str]:
        found = [new for old, by in swaps if (new := re.sub(old, by, s)) != s and not re.search(_REFUSED, new)]
        return [choose.choice(found)] if found else [s]

    def swapped(s: str) -> list[str]:
        j = choose.randrange(len(program))
        program[i], program[j] = program[j], program[i]
        return [program[i]]

    changes: list[Callable[[str], list[str]]] = [
        lambda s: [], changed, lambda s: [s, _any(choose, ctas)], lambda s: [choose.choice(other)], lambda s: [s, s], swapped,
    ]  # fmt: skip
    program[i : i + 1] = choose.choices(changes, (5, 6, 4, 2, 1, 2))[0](program[i])


def _handed_over(choose: random.Random, ctas: int, programs: list[list[str]]) -> None:
    """Somebody waits for a flag, or looks whether it is up, that somebody else raises: what comes before that, or is to."""
    flag, (one, other) = 96 + 4 * choose.randint(0, 1), choose.sample(range(len(programs)), 2)
    scope = choose.choice(("gpu", "gpu", "cta"))
    strong = choose.random() < 0.6
    raised = choose.choice(("flag", "flag", "count"))
    sc = "fence.sc.gpu;"
    giving = [
        *[_s("put", **{"from": choose.choice((0, 16))})] * (choose.random() < 0.5),
        *[sc] * (choose.random() < 0.3),
        _s(raised, flag=flag, scope=scope, sem="release" if strong else "relaxed"),
    ]
    sem = "acquire" if strong or choose.random() < 0.3 else "relaxed"
    taking = [_s("await", flag=flag, scope="gpu", sem=sem), *[sc] * (choose.random() < 0.3)]
    if choose.random() < 0.4:
        then = _s(choose.choice(("read_global", "put")), at=0)
        taking = [_s("passed", flag=flag, scope="gpu", sem=sem, then=then)]
    elif ctas == 2 and choose.random() < 0.3:
        giving[-1], taking[0] = _s("flag_there", sem="release"), _s("await_here", sem=sem)
    taking += [_s("proxy")] * (choose.random() < 0.5)
    for number, statements in ((one, giving), (other, taking)):
        at = choose.randint(0, len(programs[number]))
        programs[number][at:at] = statements


def _counted(choose: random.Random, programs: list[list[str]]) -> None:
    """Some threads count themselves, and the last one reads, writes or goes on to wait for what all have done before."""
    some = choose.sample(range(len(programs)), choose.randint(2, len(programs)))
    where, sem = choose.choice(("last", "last", "last_there")), choose.choice((*["acq_rel"] * 6, "relaxed"))
    for number in some if where == "last" or len(programs) == 2 else ():
        other = 108 + 4 * choose.choice(some)
        then = choose.choice(
            (_s("read_global", at=other), _s("put", **{"from": other}), _s("read"), "add.u32 %r3, %r3, 1;")
        )
        then = _s("proxy") * (choose.random() < 0.2) + then
        counts = _s(where, flag=104, scope="gpu", sem=sem, n=len(some) - 1, then=then)
        at = choose.randint(0, len(programs[number]))
        before = [_s("put", **{"from": 108 + 4 * number, "value": number})] * (choose.random() < 0.6)
        programs[number][at:at] = [*before, counts]


def kernel(seed: int, *, flags: bool = False, counts: bool = False) -> KernelTest:
    """Threads of one or two CTAs that copy, arrive and wait in each other's memory; `flags`: and hand over by flags; `counts`:
    and do something where they are the last ones to count themselves."""
    choose = random.Random(seed)
    ctas, block = choose.choice(((1, 2), (1, 2), (2, 1), (2, 1), (2, 2)))
    expected, programs = choose.choice((_fed, _fed, _sent, _small, _through))(choose, ctas, block)
    flat = [program for cta in programs for program in cta]
    for _ in range(choose.choice((0, 0, 0, 1) if counts else (0, 1, 1, 1, 2, 3))):
        _mistaken(choose, ctas, flat)
    if flags:
        _handed_over(choose, ctas, flat)
    if counts:
        _counted(choose, flat)
    begin = [f"@%p1 mbarrier.init.shared.b64 [m+{8 * o}], {count};" for o, count in enumerate(expected)]
    if choose.random() < 0.5 or any("[s+60]" in line for program in flat for line in program):
        begin = [*(f"@%p1 st.shared.v4.u32 [s+{16 * i}], {{0, 0, 0, 0}};" for i in range(4)), *begin]
    if choose.random() < 0.8:
        begin += ["@%p1 " + _T["inits"], _s("cluster") if ctas == 2 else _s("bar"), "fence.proxy.async;"]
    else:
        begin.append(choose.choice(("@%p1 " + _T["inits"], "fence.proxy.async;", "fence.proxy.async;", "")))
        begin.append(_s("cluster", sem=choose.choice(("release", "relaxed"))) if ctas == 2 else _s("bar"))
        begin = begin[: len(begin) - (choose.random() < 0.1)]
    lines = [*begin, *(f"setp.eq.u32 %p3, %r10, {t}; @%p3 bra C{t};" for t in range(len(flat)))]
    label = 0
    ends = _s("cluster") if ctas == 2 and choose.random() < 0.85 else ""
    for t, statements in enumerate(flat):
        lines.append(f"C{t}:")
        for statement in statements:
            label += 1
            lines.append(statement.replace("{label}", str(label)))
        lines.append("bra END;")
    end = (
        f"END: {ends} mul.wide.u32 %rd2, %r10, 4; add.u64 %rd2, %rd2, %rd1; st.global.u32 [%rd2+{4 * _OUT}], %r3; ret;"
    )
    head = _HEAD.format(ctas=ctas, other=ctas - 1, block=block)
    text = "\n ".join(
        [head if ctas == 2 else head.replace(".explicitcluster .reqnctapercluster 1\n", ""), *lines, end, "}"]
    )
    tree = {
        "ptx": "k.ptx", "entry": "k", "grid": ctas, "block": block, **({"cluster": 2} if ctas == 2 else {}),
        "params": {"x": {"type": "u32", "elements": 48, "init": [*range(1, 17), 0]}},
        "check": {"forall": " && ".join(f"x[{_OUT + t}] < {choose.choice((1000, 1000, 5))}" for t in range(ctas * block)),
                  "race_free": True, "terminates": True},
    }  # fmt: skip
    return KernelFile.of(tree, "k.toml", {"k.ptx": text}).test()
