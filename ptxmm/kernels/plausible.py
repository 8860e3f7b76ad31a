"""A launch to begin with, of a kernel that nobody said a launch of: what the kernel says itself, and a guess for the rest.

Two CTAs are the fewest that have neighbours, and so are two threads of each. A kernel that never asks which thread of its
CTA executes it (a lock that somebody takes for the CTA) is launched with one: all threads do the same there, to the same
data, which few kernels mean. One that asks which thread, but not which CTA, and has no atomic operation on memory of all,
is of one CTA. A number may count anything, so it is that of the threads: then `if (i < n)` lets all of them in. A buffer
has room for each thread and number at once. One whose lanes exchange values is of a warp, and of two where there are
barriers of the CTA as well. An instance of a template that is of a number of whole warps is of so many threads: that is how
reductions have the size of their CTAs. One that is of 16, with a second dimension, is of 16 x 16, and numbers are those of
the threads of a row: matrices. Where the source launches the kernel with CTAs of a size that can be read, that is their
size, and so is the grid unless it has more threads than are quickly decided: then there are two CTAs in each of its
dimensions. A buffer that the source declares `const` is full of ones, since of zeros any order makes the same.
"""

from __future__ import annotations

from collections.abc import Mapping

from ptxcore.records import NamedTuple
from ptxmm.kernels.launch_sites import LaunchSite, launch_sites
from ptxmm.kernels.modules import PtxText, bare, body_of, exchanges, has_atomics, has_dynamic, meets_as_cta
from ptxmm.kernels.plain_names import base, numbers_in_name
from ptxmm.kernels.signature import own_sizes
from ptxmm.kernels.takes import KernelSignature, TakenParameter, source_text

CTAS, THREADS = 2, 2
#: What tells a thread which of its CTA it is.
_WHO = ("%tid", "%laneid", "%warpid")
#: What tells it which CTA of the grid.
_WHERE = ("%ctaid", "%clusterid", "%cluster_ctaid", "%cluster_ctarank")
#: What kernels do that are launched in clusters.
_IN_CLUSTERS = ("barrier.cluster", "mapa.", "%cluster_")
_DYNAMIC = 1024  # bytes
_BYTES = 8  # of dynamic shared memory for each thread, of CTAs whose size a template has
#: Sizes of CTAs that templates have, and sides of those that are squares.
_NAMED, _SIDES = range(32, 1025, 32), (8, 16, 32)
WARP = 32
#: So many elements for each thread at most.
_EACH = 4
#: Threads of a CTA, and of a whole grid that is taken as the source has it.
_MOST_OF_CTA, _MOST_THREADS = 1024, 4096
#: A number of the source counts at most so many things of each thread that is launched to begin with.
_OF_EACH_THREAD = 16
#: A number of fewer bits is rarely a count.
_COUNTS = frozenset(("u32", "s32", "b32", "u64", "s64", "b64"))


class Plausible(NamedTuple):
    """Dimensions of the grid and of a CTA, or one number; `own`: the kernel says itself how large its CTAs are;
    `dynamic_shared` in bytes, 0 for a module that has none; `lengths` are those of single buffers, by name, as far as they are
    others; `block_is_guessed`: nobody said how large CTAs are; `named`: it is a number that the kernel is an instance of;
    `row`: so many threads are those of a row, where numbers count these; `cluster`: so many CTAs are launched as one, where the
    kernel does what only clusters do and does not say how large they are (0: it does neither); `numbers` are single ones, by
    name, as far as they are others; `site`: the line of the source that launches CTAs of this size, 0 where none does, and
    `of_site`: whether the grid is that one's, too."""

    grid: int | list[int]
    block: int | list[int]
    own: bool
    dynamic_shared: int
    threads: int
    lengths: Mapping[str, int] = {}
    block_is_guessed: bool = True
    named: bool = False
    row: int = 0
    cluster: int = 0
    numbers: Mapping[str, int] = {}
    site: int = 0
    of_site: bool = False

    def sizes(self) -> list[tuple[str, int | list[int]]]:
        """Each size of a launch by its name."""
        return [("grid", self.grid), ("block", self.block)]

    def elements(self, name: str = "") -> int:
        """How many elements a buffer has; without a name, one of which nothing else is known."""
        return self.lengths.get(name, self.threads * min(self.threads, _EACH))

    def longer(self, lengths: Mapping[str, int]) -> Plausible:
        """The same with buffers of other lengths, by their names."""
        return self._replace(lengths={**self.lengths, **lengths})

    def counting(self, numbers: Mapping[str, int]) -> Plausible:
        """The same with other numbers, by their names, and buffers as long as at first."""
        return self._replace(numbers={**self.numbers, **numbers}, lengths={})

    def of_threads(self, threads: int) -> Plausible:
        """The same with CTAs of so many threads, and buffers and numbers for them."""
        return self._replace(
            block=threads, threads=self.threads // _count(self.block) * threads, lengths={}, named=False, row=0, site=0
        )

    @property
    def counts(self) -> int:
        """What a number is of which nothing else is known."""
        return self.row or self.threads

    def number(self, parameter: TakenParameter) -> int:
        """A number for a parameter that is one."""
        if not counts(parameter):
            return 1
        return self.numbers.get(parameter.name or parameter.formal.name, self.counts)

    def argument(self, parameter: TakenParameter) -> str:
        """An argument for a parameter, as `--arg` has it."""
        if parameter.pointee is not None:
            ones = "=1" if parameter.const else ""
            return f"{parameter.pointee}[{self.elements(parameter.name or parameter.formal.name)}]{ones}"
        return f"{{bytes = {parameter.formal.size}}}" if parameter.formal.elements else str(self.number(parameter))


def counts(parameter: TakenParameter) -> bool:
    """Whether a parameter is a number that may count something."""
    return parameter.pointee is None and not parameter.formal.elements and parameter.number_type in _COUNTS


def plausible(
    module: PtxText, taken: KernelSignature, grid: object = None, block: object = None, cluster: object = None
) -> Plausible:
    """The launch to begin with; what is given of it stays."""
    own, own_cluster = own_sizes(module.text, taken.entry)
    code = bare(module.text)
    several = THREADS if any(word in code for word in _WHO) else 1
    body = body_of(code, taken.entry)
    given = own_cluster or (cluster if isinstance(cluster, list) else [cluster] if isinstance(cluster, int) else [])
    in_clusters = CTAS if not given and grid is None and any(word in body for word in _IN_CLUSTERS) else 0
    ctas: int | list[int] = [CTAS * given[0], *given[1:]] if given else CTAS * max(in_clusters, 1)
    if several > 1 and exchanges(body):
        several = 2 * WARP if meets_as_cta(body) else WARP
    if (
        not (given or in_clusters)
        and several > 1
        and not any(word in code for word in _WHERE)
        and not has_atomics(module.text)
    ):
        ctas = 1
    numbers = numbers_in_name(taken.entry) if own is None and several > 1 else []
    squares = [n for n in numbers if n in _SIDES and "%tid.y" in body]
    named = next((n for n in numbers if n in _NAMED), squares[0] ** 2 if squares else 0)
    wide: int | list[int] = named or several if own is None else own[0] if len(own) == 1 else own
    if squares and named == squares[0] ** 2:
        wide = [squares[0]] * 2
    site = _launched(module, taken, named) if own is None else None
    if site is not None and site.block is not None:
        wide, named = _one_or_several(site.block), 0
        ctas = ctas if given or in_clusters or site.grid is None else _few(site.grid, _count(site.block))
    threads = _count(grid, _count(ctas)) * _count(block, _count(wide))
    dynamic = _DYNAMIC if has_dynamic(module.text) else 0
    dynamic = max(dynamic, dynamic and _BYTES * named)
    if dynamic and site is not None and site.dynamic_shared:
        dynamic = site.dynamic_shared
    return Plausible(
        ctas,
        wide,
        own is not None,
        dynamic,
        max(threads, 1),
        block_is_guessed=block is None and site is None,
        named=named > 0,
        cluster=in_clusters,
        row=_row(grid or ctas) * wide[0] if isinstance(wide, list) and block is None and (squares or site) else 0,
        site=0 if site is None or block is not None else site.line,
        of_site=site is not None and site.grid is not None and ctas == _one_or_several(site.grid),
        numbers={} if site is None else _numbers(taken, site, threads),
    )


def _numbers(taken: KernelSignature, site: LaunchSite, threads: int) -> dict[str, int]:
    """The numbers that the source gives, by the names of their parameters, but for those that count much more than threads."""
    given = zip(taken.parameters, site.arguments, strict=False)
    return {
        parameter.name or parameter.formal.name: number
        for parameter, number in given
        if number is not None and 0 < number <= _OF_EACH_THREAD * threads and counts(parameter)
    }


def _launched(module: PtxText, taken: KernelSignature, named: int) -> LaunchSite | None:
    """The first launch of the kernel whose CTAs have a size that can be read, in the file of its head, or in the one that was
    compiled. Where launches differ in that, each may be of another instance: the one of the size in the `named` number, if
    there is such a number."""
    if not module.source:
        return None
    texts = dict.fromkeys((taken.text, source_text(module.source)))
    sites = [site for text in texts for site in launch_sites(text, base(taken.entry)) if site.block is not None]
    sizes = [_count(site.block) for site in sites]
    wanted = named if named and len(set(sizes)) > 1 else next(iter(sizes), 0)
    return sites[sizes.index(wanted)] if wanted in sizes and wanted <= _MOST_OF_CTA else None


def _few(grid: list[int], threads: int) -> int | list[int]:
    """The grid, or one of two CTAs in each dimension where it has too many threads."""
    return _one_or_several(grid if _count(grid) * threads <= _MOST_THREADS else [min(n, CTAS) for n in grid])


def _one_or_several(sizes: list[int]) -> int | list[int]:
    return sizes[0] if len(sizes) == 1 else sizes


def _row(grid: object) -> int:
    """How many CTAs are beside each other."""
    return _count(grid[:1] if isinstance(grid, list) else grid)


def _count(dimensions: object, default: int = 1) -> int:
    """The product of dimensions as somebody gave them; what is none is refused elsewhere."""
    product = 1
    for number in dimensions if isinstance(dimensions, list) else [dimensions]:
        if not isinstance(number, int):
            return default
        product *= number
    return product
