"""What a wait needs that another path computes: the address of a stage, the parity of its phase."""

from __future__ import annotations

from pathlib import Path

import pytest
from test_repair_numbers import HEAD, written

from ptxcore.syntax.tree import Instruction
from ptxmm.repair.kernel_sites import bodies
from ptxmm.repair.recomputed import KnownRegisters
from ptxmm.repair.sites import edited
from ptxmm.repair.waits import missing_waits

#: Thread 0 fills two stages in turn, twice, and waits for each until it was read; thread 1 reads, and does not wait. Each
#: computes where the objects of a stage are.
RING = """	.shared .align 8 .b8 full[16];
	.shared .align 8 .b8 free[16];
	.reg .b32 %a<8>; .reg .b32 %t<5>; .reg .b32 %stage; .reg .b32 %phase; .reg .b32 %turn; .reg .b32 %n;
	@%p1 bra MADE;
	mbarrier.init.shared.b64 [full], 1; mbarrier.init.shared.b64 [full+8], 1;
	mbarrier.init.shared.b64 [free], 1; mbarrier.init.shared.b64 [free+8], 1;
MADE:
	bar.sync 0;
	mov.u32 %stage, 0; mov.u32 %phase, 0; mov.u32 %n, 0;
ROUND:
	@%p1 bra READER;
	shl.b32 %a1, %stage, 3;
	mov.u32 %a2, full;
	add.u32 %a3, %a2, %a1;
	mov.u32 %a4, free;
	add.u32 %a5, %a4, %a1;
	xor.b32 %turn, %phase, 1;
EMPTY:
	mbarrier.try_wait.parity.shared.b64 %p2, [%a5], %turn;
	@!%p2 bra EMPTY;
	shl.b32 %t1, %stage, 2; mov.u32 %t2, tile; add.u32 %t2, %t2, %t1;
	st.shared.u32 [%t2], %n;
	mbarrier.arrive.shared.b64 _, [%a3];
	bra NEXT;
READER:
	shl.b32 %a6, %stage, 3;
	mov.u32 %a7, free;
	add.u32 %a7, %a7, %a6;
	shl.b32 %t3, %stage, 2; mov.u32 %t4, tile; add.u32 %t4, %t4, %t3;
	ld.shared.u32 %r4, [%t4];
	mbarrier.arrive.shared.b64 _, [%a7];
NEXT:
	xor.b32 %stage, %stage, 1;
	add.u32 %n, %n, 1;
	setp.eq.u32 %p2, %stage, 0;
	@%p2 xor.b32 %phase, %phase, 1;
	setp.lt.u32 %p2, %n, 3;
	@%p2 bra ROUND;
	ret;
}
"""


def _body() -> tuple[KnownRegisters, dict[str, int]]:
    text = HEAD.replace("COUNT", "1") + RING
    ((_, body),) = bodies(text, {"k"})
    places = {s.name: i for i, s in reversed([*enumerate(body)]) if isinstance(s, Instruction)}
    return KnownRegisters(body), places


def test_a_register_is_known_where_every_way_comes_by_what_writes_it() -> None:
    known, places = _body()
    reads, fills = places["ld.shared.u32"], places["st.shared.u32"]
    assert all(known.known(name, reads) for name in ("%stage", "%a6", "%a7", ""))
    assert not any(known.known(name, reads) for name in ("%a1", "%a3", "%turn", "%nowhere"))
    assert known.known("%a3", fills) and not known.known("%a6", fills)


def test_what_another_path_computes_is_computed_of_what_is_known_here() -> None:
    known, places = _body()
    address = known.computed("%a3", places["ld.shared.u32"])
    assert address is not None
    assert address.statements == ("mov.u32 again0, full", "shl.b32 again1, %stage, 3", "add.u32 again2, again0, again1")
    assert (address.operand, address.widths) == ("again2", (32, 32, 32))
    turn = known.computed("%turn", places["ld.shared.u32"], 3)
    assert turn is not None and turn.statements == ("xor.b32 again3, %phase, 1",)


def test_the_opposite_of_a_parity_that_was_turned_is_the_one_before() -> None:
    known, places = _body()
    assert known.computed("%turn", places["ld.shared.u32"], inverted=True) == ((), "%phase", ())
    other = known.computed("%phase", places["ld.shared.u32"], inverted=True)
    assert other is not None and other.statements == ("xor.b32 again0, %phase, 1",)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("shl.b32 %a1, %stage, 3", "ld.shared.u32 %a1, [bar]"),  # it may have another value by now
        ("shl.b32 %a1, %stage, 3", "@%p2 shl.b32 %a1, %stage, 3"),
        ("add.u32 %a3, %a2, %a1", "mov.u32 %a3, full; add.u32 %a3, %a2, %a1"),  # written twice
    ],
)
def test_what_is_not_computed_of_numbers_alone_is_none(old: str, new: str) -> None:
    assert old in RING
    ((_, body),) = bodies(HEAD.replace("COUNT", "1") + RING.replace(old, new), {"k"})
    at = next(i for i, s in enumerate(body) if isinstance(s, Instruction) and "%r4" in s.text)
    assert KnownRegisters(body).computed("%a3", at) is None


def test_what_is_awaited_elsewhere_is_not_computed_anew() -> None:
    ((_, body),) = bodies(HEAD.replace("COUNT", "1") + RING, {"k"})
    known = KnownRegisters(body)
    at = next(i for i, s in enumerate(body) if isinstance(s, Instruction) and "%r4" in s.text)
    found = [(wait.unawaited, wait.at(known, at)) for wait in missing_waits(body)]
    assert all(unawaited for unawaited, made in found if made is not None and made.before)
    assert any(made is not None and made.before for _, made in found)


def test_the_ring_holds_with_a_wait_whose_address_is_computed_anew(tmp_path: Path) -> None:
    subject = written(tmp_path, HEAD + RING, COUNT=1)
    anew = {
        option.words: edited(subject.text, option.edits)
        for site in subject.sites("repair", True) for option in site.options if "again" in option.words
    }  # fmt: skip
    right = next(words for words in anew if "%phase (again: computed here as elsewhere)" in words)
    text = anew[right]
    assert "mov.u32 again0, full; shl.b32 again1, %stage, 3; add.u32 again2, again0, again1; again:" in text
    assert subject.judge(subject.text).holds is False and subject.judge(text).holds is True


#: The producer and the consumer count their turns each in a loop of its own, from 0 on; %m from 1 on.
OWN_LOOPS = """	.shared .align 8 .b8 full[16];
	.reg .b32 %a<8>; .reg .b32 %n; .reg .b32 %k; .reg .b32 %m; .reg .b32 %turn;
	@%p1 bra READER;
	mov.u32 %n, 0;
FILL:
	and.b32 %a1, %n, 1; shl.b32 %a2, %a1, 3; mov.u32 %a3, full; add.u32 %a4, %a3, %a2;
	shr.u32 %a5, %n, 1; not.b32 %a6, %a5; and.b32 %turn, %a6, 1;
	mbarrier.arrive.shared.b64 _, [%a4];
	add.s32 %n, %n, 1; setp.lt.u32 %p2, %n, 3; @%p2 bra FILL;
	ret;
READER:
	mov.u32 %k, 0; mov.u32 %m, 1;
READ:
	ld.shared.u32 %r4, [tile];
	add.s32 %m, %m, 1; add.s32 %k, %k, 1; setp.lt.u32 %p2, %k, 3; @%p2 bra READ;
	ret;
}
"""


def test_what_counts_the_turns_elsewhere_is_what_counts_them_here() -> None:
    ((_, body),) = bodies(HEAD + OWN_LOOPS, {"k"})
    known = KnownRegisters(body)
    reads = next(i for i, s in enumerate(body) if isinstance(s, Instruction) and s.text.startswith("ld.shared"))
    fills = next(i for i, s in enumerate(body) if isinstance(s, Instruction) and "arrive" in s.modifiers)
    assert known.counted_alike("%n", reads) == "%k" and known.counted_alike("%m", reads) is None
    assert known.counted_alike("%k", fills) == "%n" and known.counted_alike("%a1", reads) is None
    address, parity, other = (
        known.computed(*of) for of in (("%a4", reads), ("%turn", reads), ("%turn", reads, 0, True))
    )
    assert address is not None and "and.b32 again1, %k, 1" in address.statements
    assert parity is not None and other is not None
    assert [s.split()[0] for s in parity.statements] == ["shr.u32", "not.b32", "and.b32"]
    assert [s.split()[0] for s in other.statements] == ["shr.u32", "and.b32"]
