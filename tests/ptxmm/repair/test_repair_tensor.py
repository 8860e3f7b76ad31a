"""What is missing around operations of tensor cores: waits and fences that are put in where the threads are together."""

from __future__ import annotations

from ptxcore.syntax.tree import Instruction
from ptxmm.repair.building import Lines, Place
from ptxmm.repair.guided import guided
from ptxmm.repair.judgement import Judgement
from ptxmm.repair.kernel_sites import accepted, bodies, errors
from ptxmm.repair.layout import Layout
from ptxmm.repair.sites import EditSite, Vector, edited
from ptxmm.repair.tensor_sites import by_async_proxy, tensor_sites, works
from ptxmm.repair.waits import places_of_waits

STORES = """.version 9.0
.target sm_100a
.address_size 64
.visible .entry k()
{
	.reg .b32 %r<9>;
	.shared .align 8 .b64 done;
	tcgen05.st.sync.aligned.32x32b.x1.b32 [%r1], {%r2};
	{ tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r3}, [%r1]; }
	tcgen05.wait::ld.sync.aligned;
	bar.sync 0;
	tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [done];
	wgmma.commit_group.sync.aligned;
	ret;
}
"""


def sites_of(text: str) -> list[EditSite]:
    """What may be missing around the operations of a kernel."""
    ((_, body),) = bodies(text, {"k"})
    return list(tensor_sites(body, Place("k", ("cta",), ("cta",)), Layout(Lines(text), table=False)))


def put(text: str, site: EditSite) -> list[str]:
    """The lines of a text with a site's change that are not in it, each with the one before it."""
    new = edited(text, site.options[-1].edits).split("\n")
    old = text.split("\n")
    return [f"{new[n - 1].strip()} {line.strip()}".strip() for n, line in enumerate(new) if line not in old]


def test_waits_stand_directly_behind_what_a_warp_executes_together_and_fences_around_it() -> None:
    found = [line for site in sites_of(STORES) for line in put(STORES, site)]
    store, load = (
        "tcgen05.st.sync.aligned.32x32b.x1.b32 [%r1], {%r2};",
        "tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r3}, [%r1];",
    )
    assert f"{store} tcgen05.wait::st.sync.aligned;" in found
    assert f"{store} {{ {load} tcgen05.wait::ld.sync.aligned; }}" in found
    assert "tcgen05.wait::ld.sync.aligned; tcgen05.fence::before_thread_sync;" in found
    assert "bar.sync 0; tcgen05.fence::after_thread_sync;" in found
    assert "wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;" in found
    assert not any(line.startswith("bar.sync 0; tcgen05.wait") for line in found)


def test_nothing_is_put_in_behind_what_only_some_threads_execute() -> None:
    guarded = STORES.replace("\ttcgen05.st", "\t@%p1 tcgen05.st").replace(".reg .b32", ".reg .pred %p<2>;\n\t.reg .b32")
    assert not any("wait::st" in site.options[-1].words for site in sites_of(guarded))
    assert any("wait::st" in site.options[-1].words for site in sites_of(STORES))


def test_an_mbarrier_may_be_waited_for_before_an_operation_of_tensor_cores() -> None:
    ((_, body),) = bodies(STORES, {"k"})
    places = [body[i] for i in places_of_waits(body)]
    named = [s.name.split(".")[1] for s in places if isinstance(s, Instruction) and works(s)]
    assert named == ["st", "ld", "commit"]


def test_what_the_reason_names_is_tried_first_and_what_it_names_next_besides() -> None:
    """Two statements are missing; the reason names one, and where that is there, the other one."""
    text = STORES.replace("\ttcgen05.wait::ld.sync.aligned;\n", "")
    sites = accepted(text, sites_of(text), errors(text))
    lines = frozenset({8})
    tried: list[Vector] = []

    def judge(vector: Vector, patient: bool = False) -> Judgement:
        tried.append(vector)
        there = {words.split(" ")[0] for s, o in zip(sites, vector, strict=True) if (words := s.options[o].words)}
        needed = ("tcgen05.wait::st.sync.aligned", "tcgen05.wait::ld.sync.aligned")
        lacking = next((name for name in needed if name not in there), None)
        reason = f"{lacking.removesuffix('.sync.aligned')} is missing behind the first one" if lacking else ""
        return Judgement(lacking is None, lacking is not None, reason=reason, clues=lines)

    nothing = (0,) * len(sites)
    vector = next(guided(text, sites, judge, judge(nothing), lambda _: frozenset()), None)
    assert vector is not None and sum(map(bool, vector)) == 2 and len(tried) == 3


def test_products_access_memory_in_the_asynchronous_proxy_as_bulk_copies_do() -> None:
    ((_, body),) = bodies(STORES, {"k"})
    found = [s.opcode for s in body if isinstance(s, Instruction) and by_async_proxy(s)]
    assert set(found) == {"tcgen05", "wgmma"}


#: An unrolled loop: each product reads what other threads have written.
UNROLLED = """.version 8.6
.target sm_90a
.address_size 64
.visible .entry k()
{
	.reg .b32 %r<9>;
	.reg .b64 %rd<4>;
	.reg .f32 %f<9>;
	.shared .align 8 .b64 full;
"""
_PRODUCT = """	st.shared.u32 [%r1], %r2;
	wgmma.fence.sync.aligned;
	wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f1, %f2, %f3, %f4}, %rd1, %rd2, 1, 1, 1, 0, 0;
	wgmma.commit_group.sync.aligned;
	wgmma.wait_group.sync.aligned 0;
	mbarrier.arrive.shared.b64 _, [full];
"""
UNROLLED += "".join(_PRODUCT + f"\tadd.u32 %r{n}, %r{n}, 1;\n" * n for n in range(3, 6)) + "\tret;\n}\n"


def test_products_read_behind_a_fence_between_proxies_and_a_wait() -> None:
    """Both stand before `wgmma.fence`, which orders what comes before it with the product."""
    ((_, body),) = bodies(UNROLLED, {"k"})
    fences = [put(UNROLLED, site)[-1] for site in sites_of(UNROLLED) if "proxy" in site.options[-1].words]
    assert fences == ["st.shared.u32 [%r1], %r2; fence.proxy.async;"] * 3
    places = [body[i].name for i in places_of_waits(body) if isinstance(body[i], Instruction)]
    assert places.count("wgmma.fence.sync.aligned") == 3
    assert not any("mma_async" in place for place in places)


def test_what_ended_one_fault_of_several_is_followed_whatever_it_costs_by_then() -> None:
    """One mistake at several places: each fence shows the next race; meanwhile nothing else is tried that costs less."""
    sites = accepted(UNROLLED, sites_of(UNROLLED), errors(UNROLLED))
    products = [n for n, line in enumerate(UNROLLED.split("\n"), 1) if "mma_async" in line]
    tried: list[int] = []

    def judge(vector: Vector, patient: bool = False) -> Judgement:
        tried.append(sum(map(bool, vector)))
        there = {s.line for s, o in zip(sites, vector, strict=True) if o and "proxy" in s.options[o].words}
        left = [line for line in products if line - 1 not in there]
        added = sum(line < left[0] for line in there) if left else 0
        clues = frozenset({left[0] + added, left[0] + added - 2} if left else ())
        return Judgement(not left, bool(left), reason="", clues=clues)

    vector = next(guided(UNROLLED, sites, judge, judge((0,) * len(sites)), lambda _: frozenset({"full"})), None)
    assert vector is not None and sum(map(bool, vector)) == 3
    assert tried.index(3) - tried.index(2) == 1
