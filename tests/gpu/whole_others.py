"""Whole kernels that other tests launch, and compare with references of their own in NumPy."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from itertools import chain
from random import Random
from typing import Any

import numpy as np
import reference
import tensor_memory_cases
import test_images
import test_tensor_boxes
import test_tensormap_replace
from gpu import left_out, recorded
from gpu.modules import Unfit
from gpu.whole import Pointer, Whole
from gpu.whole_images import must_be_makeable
from images import WORDS_OUT, Case
from tensor_cases import case as box_case

import ptxmm
from ptxcore.machine.run.launch import load
from ptxmm.running import launch

#: For each file its tests, with parameters that are fixed.
SOURCES: dict[str, dict[str, dict[str, Any]]] = {
    "test_wgmma": {"products_are_what_numpy_computes": {}},
    "test_tensor_memory": {"loads": {}, "stores": {}, "products": {"enabled": 1}},
    "test_tensor_products": {
        "small_types": {}, "halves_in_tensor_memory": {}, "saturated_and_disabled_lanes": {}, "scaled": {}, "stationary": {},
        "lanes_and_a_scale_of_the_input": {},
        "copies": {}, "shift": {},
    },
    "test_tensor_pairs": {
        "products_of_pairs": {}, "small_types_and_lanes_of_pairs": {}, "scales_of_pairs": {}, "copies_of_pairs": {},
        "shift_of_pairs": {},
    },
    "test_tensor_other_forms": {
        "loads_that_reduce": {}, "halves_that_reduce": {"same": True}, "scale_of_the_input": {}, "shift_of_a": {},
        "zero_columns": {}, "stationary_with_a_in_tensor_memory": {"same": True}, "copies_that_decompress": {},
    },
    "test_tensor_boxes": {"boxes_are_loaded_as_the_reference_says": {}},
    "test_tensor_reductions": {
        "reductions_are_those_of_numpy": {}, "reductions_in_columns_are_those_of_numpy": {},
        "a_multicast_goes_to_the_ctas_of_its_mask_which_learn_of_it": {}, "a_multicast_to_pairs_tells_the_even_ctas": {},
    },
    "test_tensor_layouts": {
        "interleaved_tensors_are_slices_of_channels": {}, "elements_of_less_than_a_byte_are_packed": {},
        "a_prefetch_changes_nothing": {},
    },
    "test_copies": {
        "groups_are_waited_for_in_order": {}, "moves_and_vectors": {}, "short_copies": {},
        "copies_that_a_barrier_object_learns_of": {}, "copies_in_bulk_groups": {},
        "a_copy_to_several_ctas_of_a_cluster": {}, "shared_memory_is_cleared_in_bulk": {},
    },
    "test_synchronization": {
        "barrier_objects_hand_items_over": {}, "a_state_waits_for_its_phase": {}, "copies_arrive_at_a_barrier_object": {},
    },
    "test_clusters": {
        "a_cluster_meets_at_its_barrier_again_and_again": {},
        "what_is_reduced_asynchronously_signals_the_barrier_object_beside_it": {},
        "threads_arrive_at_the_barrier_object_of_another_cta": {}, "an_address_knows_its_space": {},
    },
}  # fmt: skip


#: Sections of textures and surfaces; so many rounds of draws are looked through for images that CUDA makes.
_IMAGES, _SEEDS = ("9.7.10.", "9.7.11."), 6


def of_tests() -> Iterator[Whole]:
    """What those tests launch; where the manual leaves the order of a sum open, on numbers for which it does not matter."""
    with recorded.exact_sums("test_wgmma", "test_tensor_products", "test_tensor_pairs", "test_tensor_other_forms"):
        for module, tests in SOURCES.items():
            for name, fixed in tests.items():
                yield from recorded.of_test(module, f"test_{name}", **fixed)


def of_boxes() -> Iterator[Whole]:
    """Boxes that are stored, of those that do not lie out of bounds."""
    for mode in test_tensor_boxes.STORES:
        for number in range(4):
            one = box_case(number, mode, stores=True)
            tensor = test_tensor_boxes.bytes_of(f"t{number}", one.tensor)
            expected = tensor.copy()
            shared = test_tensor_boxes.bytes_of(f"s{number}", test_tensor_boxes.ROOM)
            test_tensor_boxes.store_reference(one.map, expected, mode, one.at, shared, one.start)
            if not np.array_equal(expected, tensor):
                yield recorded.recorded(f"box {number}, {mode}", partial(test_tensor_boxes.stores, number, mode))


def _launched(text: str, threads: int, given: list[Any], **how: Any) -> None:
    launch(load(text, "k.ptx"), "k", (1,), (threads,), given, **how)


def of_images() -> Iterator[Whole]:
    """Textures and surfaces: of random lookups and accesses those that have a form which none before had, and whose images
    CUDA makes."""
    left = {form for form in reference.all_forms() if form.section.startswith(_IMAGES) and left_out.is_whole(form)}
    drawn = (test_images.every(Random(seed), cuda=True) for seed in range(3, 3 + _SEEDS))
    for number, case in enumerate(chain.from_iterable(drawn)):
        new = left & test_images.forms(case)
        if new and _tells(case) and _is_makeable(case):
            left -= new
            out = np.zeros((len(case.expected), WORDS_OUT), np.uint32)
            given = case.arguments(out)
            call = partial(_launched, case.text, len(case.expected), given, references=case.references)
            yield recorded.recorded(f"image {number}", call)
        if not left:
            return


def _is_makeable(case: Case) -> bool:
    """Whether CUDA makes the images of a case, and hardware reads them as the manual says to the bit. It binds no samplers:
    those that a module has can be asked what they are."""
    if "samplerref" in case.text and "txq" not in case.text:
        return False
    try:
        for given in (case.references or {"t": case.image}).values():
            must_be_makeable(given.image)
    except Unfit:
        return False
    return True


def _tells(case: Case) -> bool:
    """Whether something comes out of a case that depends on its image; what is left open is not stored then."""
    changed = any(a.tobytes() != b.tobytes() for a, b in zip(case.after, case.wanted_after, strict=True))
    return changed or any(row[n] for n in test_images.settled(case) for row in case.expected)


def of_maps() -> Iterator[Whole]:
    """A tensor map of the host that the kernel changes field by field, and copies by; what it looks like then is nobody's
    business. Targets differ in which fields there are."""
    zeros = "mov.u32 %r3, 0;"
    from_host = "mov.b64 %rd5, map; cvt.u64.u32 %rd6, %r2; add.u64 %rd5, %rd5, %rd6; ld.param.u32 %r3, [%rd5];"
    assert zeros in test_tensormap_replace.HEAD
    for target in ("sm_90a", "sm_100a", "sm_103a"):
        tensor, scratch, out = (
            np.arange(64, dtype=np.uint32).reshape(8, 8),
            np.zeros(128, np.uint8),
            np.zeros(16, np.uint32),
        )
        fields = test_tensormap_replace.made(test_tensormap_replace.MAP, 7)
        if target == "sm_90a":
            fields = "\n".join(line for line in fields.splitlines() if "swizzle_atomicity" not in line)
        head = test_tensormap_replace.HEAD.replace("sm_100a", target).replace(zeros, from_host)
        text = f"{head}{fields}\n{test_tensormap_replace.TAIL}{test_tensormap_replace.COPY}\nret;\n}}\n"
        given = [tensor, scratch, out, ptxmm.TensorMap(tensor, box=(8, 1))]
        call = partial(_launched, text, 32, given)
        made = recorded.recorded(f"a map that is changed, {target}", call)
        (changed,) = [a.buffer for a in made.given[1:2] if isinstance(a, Pointer)]
        yield replace(made, opaque=frozenset((changed,)))


def of_permits() -> Iterator[Whole]:
    """A CTA that asks for no more Tensor Memory."""
    relinquish = "setp.ge.u32 %p1, %t, 32; @%p1 bra R; tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned; R:"
    cells = np.random.default_rng(16).integers(0, 1 << 32, (128, 8), np.uint32)
    text = tensor_memory_cases.module(relinquish, filled=8, back=8)
    call = partial(tensor_memory_cases.run, text, np.zeros(tensor_memory_cases.SHARED, np.uint8), cells, 1024)
    yield recorded.recorded("permits that are given back", call)


def probes() -> Iterator[Whole]:
    yield from of_tests()
    yield from of_boxes()
    yield from of_images()
    yield from of_maps()
    yield from of_permits()
