"""Small tests with asynchronous copies, fences of proxies, kernels and hosts, generated: what the engines are compared on."""

from __future__ import annotations

from hypothesis import strategies as st

_PLACES = (("cta 0", "cta 0"), ("cta 0,cluster 0", "cta 1,cluster 0"), ("cta 0", "cta 1"))


@st.composite
def copies(draw: st.DrawFn) -> str:
    """One or two threads of a CTA that copy a word from global to shared memory, or 16 bytes the other way."""
    threads = draw(st.integers(1, 2))
    barrier = threads == 2 and draw(st.booleans())
    blocks = []
    for number in range(threads):
        writer = _Copies(draw)
        lines = [writer.line() for _ in range(draw(st.integers(1, 4 if threads == 1 else 3)))]
        if barrier:
            lines.insert(draw(st.integers(0, len(lines))), "bar.sync 0, 64;")
        blocks.append(f"P{number}@cta 0 {{ {' '.join(lines)} }}")
    memory = ".global .align 16 .u32 g[4] = {1, 2}; .shared .align 16 .u32 s[4] = {3};"
    tail = draw(st.sampled_from(("", "locations [g[0]; s[0];]\n")))
    return "\n".join(["PTX copies", f"{{ {memory} }}", *blocks, f"{tail}exists (true)", ""])


class _Copies:
    def __init__(self, draw: st.DrawFn) -> None:
        self.draw, self.made = draw, 0

    def line(self) -> str:
        kinds = ("store", "load", "load", "copy", "copy", "commit", "wait", "wait", "fence", "perhaps")
        return str(getattr(self, self.draw(st.sampled_from(kinds)))())

    def pick(self, *options: str) -> str:
        return self.draw(st.sampled_from(options))

    def store(self) -> str:
        return self.pick(
            "st.weak.u32 [g], 5;", "st.weak.u32 [g+4], 8;", "st.weak.shared.u32 [s], 6;", "st.relaxed.cta.u32 [g], 7;"
        )

    def load(self) -> str:
        self.made += 1
        return self.pick(f"ld.weak.u32 %r{self.made}, [g];", f"ld.weak.shared.u32 %r{self.made}, [s];")

    def copy(self) -> str:
        return self.pick(
            "cp.async.ca.shared.global [s], [g], 4;",
            "cp.async.ca.shared.global [s], [g+4], 4;",
            "cp.async.ca.shared.global [s], [g], 8;",
            "cp.async.bulk.global.shared::cta.bulk_group [g], [s], 16;",
            "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [g], [s], 16;",
        )

    def commit(self) -> str:
        return self.pick("cp.async.commit_group;", "cp.async.bulk.commit_group;")

    def wait(self) -> str:
        return self.pick(
            "cp.async.wait_all;",
            "cp.async.wait_group 0;",
            "cp.async.wait_group 1;",
            "cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;",
            "cp.async.bulk.wait_group.read 0;",
            "cp.async.bulk.wait_group 1;",
        )

    def perhaps(self) -> str:
        """Something that happens or not, as a load says."""
        self.made += 1
        line = self.draw(st.sampled_from((self.copy, self.commit, self.wait)))().split(";")[0]
        return f"ld.weak.u32 %r{self.made}, [g+4]; setp.eq.u32 %p{self.made}, %r{self.made}, 2; @%p{self.made} {line};"

    def fence(self) -> str:
        return self.pick(
            "fence.proxy.async;", "fence.proxy.async.global;", "fence.proxy.async.shared::cta;", "fence.acq_rel.cta;"
        )


@st.composite
def kernels(draw: st.DrawFn) -> str:
    """Two or three threads in kernels of one or two streams, and perhaps a host that launches them and waits."""
    count = draw(st.integers(1, 3))
    streams = [draw(st.sampled_from((0, 0, 1))) for _ in range(count)]
    declarations = ["x = 0;", "y = 0;", ".global .align 16 .u32 z[4];", ".shared .align 16 .u32 s[4] = {1};"]
    for number, stream in enumerate(streams):
        after = f" after k{draw(st.integers(0, number - 1))}" if number and draw(st.integers(0, 3)) == 0 else ""
        declarations.append(f"kernel k{number} = [P{number}] stream {stream}{after};")
    blocks = [f"P{number}@cta {number} {{ {_kernel(draw)} }}" for number in range(count)]
    if draw(st.booleans()):
        blocks.append(f"P{count}@host {{ {_host(draw, count, streams)} }}")
    return "\n".join(["PTX kernels", f"{{ {' '.join(declarations)} }}", *blocks, "exists (true)", ""])


def _kernel(draw: st.DrawFn) -> str:
    lines = []
    for made in range(1, draw(st.integers(2, 4))):
        location = draw(st.sampled_from("xy"))
        line = draw(
            st.sampled_from(
                (
                    f"st.weak.u32 [{location}], {made};",
                    f"ld.weak.u32 %r{made}, [{location}];",
                    f"ld.global.nc.u32 %r{made}, [{location}];",
                    f"ld.relaxed.sys.u32 %r{made}, [{location}];",
                    "griddepcontrol.wait;",
                    "griddepcontrol.launch_dependents;",
                    f"mov.u64 %rd{made}, {location}; st.async.release.gpu.global.u32 [%rd{made}], {made};",
                    "cp.async.bulk.global.shared::cta.bulk_group [z], [s], 16; cp.async.bulk.commit_group;",
                    f"cp.async.bulk.wait_group{'.read' * (made % 2)} 0;",
                    f"ld.weak.u32 %r{made}, [z];",
                )
            )
        )
        lines.append(line)
    return " ".join(lines)


def _host(draw: st.DrawFn, count: int, streams: list[int]) -> str:
    lines = []
    for number in range(count):
        if draw(st.booleans()):
            lines.append(f"launch k{number};")
        if draw(st.integers(0, 2)) == 0:
            lines.append(draw(st.sampled_from((f"sync k{number};", f"sync stream {streams[number]};"))))
        if draw(st.integers(0, 2)) == 0:
            lines.append(draw(st.sampled_from(("st.relaxed.sys.u32 [x], 9;", f"ld.relaxed.sys.u32 %r{number}, [y];"))))
    return " ".join(lines) or "st.relaxed.sys.u32 [x], 9;"


@st.composite
def proxies(draw: st.DrawFn) -> str:
    """Two threads that reach memory through several proxies, with fences between these."""
    blocks = []
    for number, place in enumerate(draw(st.sampled_from(_PLACES))):
        lines = []
        for made in range(1, draw(st.integers(2, 4))):
            lines.append(
                draw(
                    st.sampled_from(
                        (
                            f"st.weak.u32 [x], {made};",
                            f"ld.weak.u32 %r{made}, [x];",
                            f"ld.global.nc.u32 %r{made}, [x];",
                            f"ld.weak.u32 %r{made}, [a];",
                            "st.release.gpu.u32 [f], 1;",
                            f"ld.acquire.gpu.u32 %r{made}, [f];",
                            "fence.proxy.alias;",
                            "fence.proxy.async;",
                            "fence.proxy.tensormap::generic.release.gpu;",
                            "fence.proxy.tensormap::generic.acquire.gpu [x], 128;",
                            "fence.release.sync_restrict::shared::cta.cluster;",
                        )
                    )
                )
            )
        blocks.append(f"P{number}@{place} {{ {' '.join(lines)} }}")
    return "\n".join(["PTX proxies", "{ x = 0; f = 0; a @ generic aliases x; }", *blocks, "exists (true)", ""])


_PREPARED = "mbarrier.init.shared.b64 [m], 1;"
_MEMORY = ".global .align 16 .u32 g[4] = {1, 2}; .shared .align 16 .u32 d[4]; .shared .u64 m; f = 0;"


@st.composite
def bulk(draw: st.DrawFn) -> str:
    """An mbarrier object that one thread initialises, and copies that it tells of to the threads of one or two CTAs."""
    place = draw(st.sampled_from(("cta 0", "cta 0", "cta 1,cluster 0")))
    first = _PREPARED + draw(st.sampled_from(("", "fence.proxy.async;", "fence.mbarrier_init.release.cluster;")))
    first += "mbarrier.arrive.expect_tx.shared.b64 _, [m], 16;" if draw(st.booleans()) else ""
    meet = "bar.sync 0, 64;" if place == "cta 0" else "barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;"
    blocks = []
    for number, beginning in enumerate((first, "")):
        lines = [draw(_bulk_line(made)) for made in range(1, draw(st.integers(2, 4)))]
        where = "cta 0,cluster 0" if number == 0 and "cluster" in place else "cta 0" if number == 0 else place
        blocks.append(f"P{number}@{where} {{ .reg .pred p; {beginning} {meet} {' '.join(lines)} }}")
    return "\n".join(["PTX bulk", f"{{ {_MEMORY} }}", *blocks, "exists (true)", ""])


@st.composite
def _bulk_line(draw: st.DrawFn, made: int) -> str:
    semantics = draw(st.sampled_from(("", ".acquire.cluster", ".relaxed.cta")))
    return draw(
        st.sampled_from(
            (
                f"st.weak.u32 [g], {made};",
                f"ld.weak.u32 %r{made}, [g];",
                f"ld.weak.shared.u32 %r{made}, [d];",
                "st.release.gpu.u32 [f], 1;",
                f"ld.acquire.gpu.u32 %r{made}, [f];",
                "fence.proxy.async;",
                "fence.proxy.async.global;",
                "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [d], [g], 16, [m];",
                "mbarrier.arrive.expect_tx.shared.b64 _, [m], 16;",
                "cp.async.ca.shared.global [d], [g], 4; cp.async.mbarrier.arrive.noinc.shared.b64 [m];",
                f"w{made}: mbarrier.try_wait.parity{semantics}.shared::cta.b64 p, [m], 0; @!p bra w{made};",
            )
        )
    )
