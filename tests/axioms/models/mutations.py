"""Small mistakes that a cat file could have: what the comparison with the definitions must be able to find."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from axioms import models

#: One mistake in so many is planted in every run, the others where CI asks for them (`-m mutation`).
_EVERY = 24


def planted(mistakes: Iterable[tuple[str, ...]]) -> list[Any]:
    """Parameters of a test of each mistake."""
    every = enumerate(mistakes)
    return [
        pytest.param(*m, marks=() if i % _EVERY == 0 else pytest.mark.mutation, id=f"{i}: {m[-1]}") for i, m in every
    ]


def text_of(model: str) -> str:
    return (Path(models.__file__).parent / f"{model}.cat").read_text(encoding="utf-8")


def mistake(text: str, right: str, wrong: str) -> str:
    """The text with a mistake in it."""
    assert right in text, f"the file has changed: {right}"
    return text.replace(right, wrong)


#: Which of the executions drawn tells of a mistake in the whole model that few of them tell of: these are asked first. Where it
#: does not any more, since others are drawn, the first that does is found again, and that takes minutes.
TOLD_BY = {
    "let proxy-sync =": 35939,
    "let before = cause | rmw; cause": 15177,
    "[oneway-acquire & P]; (causality-base & scta)": 5423,
    "(mixed & sr)": 2485,
    "acyclic rf | addr": 2422,
}

#: For each model: a piece of its file, and what a mistake would have made of it.
MUTATIONS: dict[str, tuple[tuple[str, str], ...]] = {
    "ptx-6.0": (
        ("(F & (SC | ACQ_REL | ACQ | REL))", "(F & (SC | ACQ_REL))"),
        ("[strong]; sr; [strong]", "[M & (RLX | ACQ | REL)]; sr; [strong]"),
        ("(M * M \\ loc)", "(M * M)"),
        ("let release-fence = F & (SC | ACQ_REL | REL)", "let release-fence = F & (ACQ_REL | REL)"),
        ("let release-fence = F & (SC | ACQ_REL | REL)", "let release-fence = F & (SC | ACQ_REL | REL | ACQ)"),
        ("let acquire-fence = F & (SC | ACQ_REL | ACQ)", "let acquire-fence = F & (ACQ_REL | ACQ)"),
        ("let acquire-fence = F & (SC | ACQ_REL | ACQ)", "let acquire-fence = F & (SC | ACQ_REL | ACQ | REL)"),
        ("let strong-read = R & strong", "let strong-read = (R & strong) \\ RED"),
        ("(rmw; obs-rf)*", "(rmw; obs-rf)?"),
        ("obs-rf; (rmw; obs-rf)*", "obs-rf"),
        ("(rmw; obs-rf)*", "(rmw; rf)*"),
        ("[W & REL]; (po-loc?; [strong-write])", "[W & REL]"),
        ("[W & REL]; (po-loc?; [strong-write])", "[W & REL]; (po?; [strong-write])"),
        ("([strong-read]; po-loc?; [R & ACQ])", "[R & ACQ]"),
        ("([strong-read]; po-loc?; [R & ACQ])", "([strong-read]; po?; [R & ACQ])"),
        ("let sync = ms & (release; obs; acquire)", "let sync = release; obs; acquire"),
        ("sync_fence & sr", "sync_fence"),
        ("syncbar & scta", "0"),
        ("obs; (causality-base | po-loc)", "obs; causality-base"),
        ("causality-base | obs; (causality-base | po-loc)", "causality-base"),
        ("empty ([W]; ms; [W]) & loc \\ (co | co^-1) as coherence-total", ""),
        ("irreflexive (sc; causality-base) as fence-sc", ""),
        ("((ms & fr); (ms & co))", "(fr; co)"),
        ("| rmw as no-thin-air", "as no-thin-air"),
        ("| ctrl", ""),
        ("acyclic (ms & (rf | co | fr)) | po-loc", "acyclic (rf | co | fr) | po-loc"),
        ("irreflexive (rf | fr); cause", "irreflexive rf; cause"),
        ("irreflexive (rf | fr); cause", "irreflexive fr; cause"),
    ),
    "ptx-7.5": (
        ("(F & (SC | ACQ_REL | ACQ | REL))", "(F & (SC | ACQ_REL))"),
        ("let complete-overlap = vloc & same-proxy", "let complete-overlap = vloc"),
        ("let complete-overlap = vloc & same-proxy", "let complete-overlap = loc & same-proxy"),
        ("let release-fence = F & (SC | ACQ_REL | REL)", "let release-fence = F & (ACQ_REL | REL)"),
        ("let acquire-fence = F & (SC | ACQ_REL | ACQ)", "let acquire-fence = F & (ACQ_REL | ACQ)"),
        ("let strong-read = R & strong", "let strong-read = (R & strong) \\ RED"),
        ("obs-rf; (rmw; obs-rf)*", "obs-rf"),
        ("(rmw; obs-rf)*", "(rmw; rf)*"),
        ("let obs-rf = ms & rf", "let obs-rf = rf"),
        ("[W & REL]; (po-same?; [strong-write])", "[W & REL]"),
        ("([strong-read]; po-same?; [R & ACQ])", "[R & ACQ]"),
        ("let sync = ms & (release; obs; acquire)", "let sync = release; obs; acquire"),
        ("sync_fence & sr", "sync_fence"),
        ("syncbar & scta", "0"),
        ("(po | sync | sc | bars)+", "po?; ((sync | sc | bars); po?)+"),
        ("[M & P]; (causality-base & scta); [F & P]", "[M & P]; causality-base; [F & P]"),
        ("[F & P]; (causality-base & scta); [M & P]", "[F & P]; causality-base; [M & P]"),
        ("| proxy-fence(SUR)", ""),
        ("| fence-proxy(CON)", ""),
        ("| fence-proxy(TEX)", ""),
        ("let same-address = vloc &", "let same-address = loc &"),
        ("let other-address = loc &", "let other-address = vloc &"),
        ("to-generic; causality-base?; [F & ALIAS]", "[M & GEN]; causality-base?; [F & ALIAS]"),
        ("[F & ALIAS]; causality-base?; from-generic", "[F & ALIAS]; causality-base?; [M & GEN]"),
        ("vloc & other-proxy & scta)", "vloc & other-proxy)"),
        ("vloc & other-proxy & scta)", "other-proxy & scta)"),
        ("let cause = ppbc | obs; ppbc", "let cause = ppbc"),
        ("let cause = ppbc | obs; ppbc", "let cause = ppbc | obs; causality-base"),
        ("empty ([W]; ms; [W]) & loc \\ (co | co^-1) as coherence-total", ""),
        ("irreflexive (sc; causality-base) as fence-sc", ""),
        ("((ms & fr); (ms & co))", "(fr; co)"),
        ("| rmw as no-thin-air", "as no-thin-air"),
        ("let po-same = po & vloc", "let po-same = po & loc"),
        ("let po-same = po & vloc", "let po-same = po & complete-overlap"),
        ("irreflexive (rf | fr)?; cause", "irreflexive rf; cause"),
        ("irreflexive (rf | fr)?; cause", "irreflexive fr; cause"),
    ),
    "ptx-9.0": (
        ("(F & (SC | ACQ_REL | ACQ | REL))", "(F & (SC | ACQ_REL))"),
        ("let complete-overlap = cov & same-proxy", "let complete-overlap = cov"),
        ("let complete-overlap = cov & same-proxy", "let complete-overlap = loc & same-proxy"),
        ("let strong-read = (R & strong) \\ silent", "let strong-read = R & strong"),
        ("let release-fences = F & (sc-fence | ACQ_REL | REL)", "let release-fences = F & (ACQ_REL | REL)"),
        (
            "let release-fences = F & (sc-fence | ACQ_REL | REL)",
            "let release-fences = F & (sc-fence | ACQ_REL | REL | ACQ)",
        ),
        ("let acquire-fences = F & (sc-fence | ACQ_REL | ACQ)", "let acquire-fences = F & (ACQ_REL | ACQ)"),
        (
            "let acquire-fences = F & (sc-fence | ACQ_REL | ACQ)",
            "let acquire-fences = F & (sc-fence | ACQ_REL | ACQ | REL)",
        ),
        ("let po-same = po & complete-overlap", "let po-same = po & vloc"),
        ("let po-same = po & complete-overlap", "let po-same = po & loc & same-proxy"),
        ("[W & REL]; (po-same?; [strong-write])", "[W & REL]"),
        ("[W & REL]; (po-same?; [strong-write])", "[W & REL]; (po-same?; [W])"),
        ("[R & ACQ] | ([strong-read]; po-same; [R & ACQ])", "[R & ACQ]"),
        ("[R & ACQ] | ([strong-read]; po-same; [R & ACQ])", "([strong-read]; po-same?; [R & ACQ])"),
        ("obs-rf; (rmw; obs-rf)*", "obs-rf"),
        ("(rmw; obs-rf)*", "(rmw; obs-rf)?"),
        ("(rmw; obs-rf)*", "(rmw; rf)*"),
        ("let obs-rf = ms & rf", "let obs-rf = rf"),
        ("let sync = ms & (release; obs; acquire)", "let sync = release; obs; acquire"),
        ("sync_fence & sr", "sync_fence"),
        ("syncbar & scta", "syncbar^-1 & scta"),
        ("syncbar & scta", "0"),
        ("[M & P]; (causality-base & scta); [fenced(P)]", "[M & P]; causality-base; [fenced(P)]"),
        ("[fenced(P)]; (onward & scta); [M & P]", "[fenced(P)]; onward; [M & P]"),
        ("let gone = leave(SUR) | leave(TEX)", "let gone = leave(TEX)"),
        ("| enter(CON)", ""),
        ("| enter(TEX)", ""),
        ("let same-address = vloc &", "let same-address = loc &"),
        ("let other-address = loc &", "let other-address = vloc &"),
        ("([M & GEN] | generic); [F & ALIAS]", "([M & GEN]; causality-base?); [F & ALIAS]"),
        ("renamed-over; links?); issue?; from-generic)", "renamed-over; links?); issue?; [M & GEN])"),
        ("other-proxy & (NONGEN * NONGEN) & scta)", "other-proxy & (NONGEN * NONGEN))"),
        ("(causality-base & vloc & other-proxy", "(causality-base & other-proxy"),
        ("let cause = ppbc | obs; ppbc", "let cause = ppbc"),
        ("let cause = ppbc | obs; ppbc", "let cause = ppbc | obs; causality-base"),
        ("empty ([W]; ms; [W]) & loc \\ (co | co^-1) as coherence-total", ""),
        ("irreflexive causality-base as fence-sc", "irreflexive sc; causality-base as fence-sc"),
        ("((ms & fr); (ms & co))", "(fr; co)"),
        ("| rmw as no-thin-air", "as no-thin-air"),
        ("irreflexive (rf | fr); cause", "irreflexive rf; cause"),
        ("irreflexive (rf | fr); cause", "irreflexive fr; cause"),
    ),
}

#: For the whole of ptx-9.0, compared with its second definition: what is in no older model.
WHOLE: tuple[tuple[str, str], ...] = (
    ("let complete-overlap = cov & same-proxy", "let complete-overlap = vloc & same-proxy"),
    ("(F & (SC | ACQ_REL | ACQ | REL)) | MA | MW", "(F & (SC | ACQ_REL | ACQ | REL)) | MA"),
    ("let arrive = [MA & REL] | [release-fence]; po; [MA]", "let arrive = [MA & REL]"),
    ("let arrive = [MA & REL] | [release-fence]; po; [MA]", "let arrive = [MA] | [release-fence]; po; [MA]"),
    ("let await = [MW & ACQ] | [MW]; po; [acquire-fence]", "let await = [MW & ACQ]"),
    ("let await = [MW & ACQ] | [MW]; po; [acquire-fence]", "let await = [MW] | [MW]; po; [acquire-fence]"),
    ("then [MA]; mbo; [MW] else mbrf", "then mbrf else [MA]; mbo; [MW]"),
    ("ms & (arrive; phase; await)", "(arrive; phase; await)"),
    # Fences that are about some operations only.
    ("[release-fences & RESTRICT]; (po & covers); [strong-write]", "[release-fences & RESTRICT]; po; [strong-write]"),
    ("[strong-read]; (po & covers^-1); [acquire-fences & RESTRICT]", "[strong-read]; po; [acquire-fences & RESTRICT]"),
    ("[release-fences & RESTRICT]; po; [MA]", "[release-fences & RESTRICT]; (po & covers); [MA]"),
    ("(await | await-some)) | ms", "await) | ms"),
    ("| ms & (arrive; phase; await-some)", ""),
    ("let from-here(r) = (r & covers^-1); [RESTRICT]; handed", "let from-here(r) = r; [RESTRICT]; handed"),
    ("[_ \\ RESTRICT] | (r & covers^-1); [RESTRICT]\n", "[_ \\ RESTRICT] | r; [RESTRICT]\n"),
    ("and over = good(from-here(along | id))", "and over = good(from-here(along))"),
    ("let rec along = start | over | over; links", "let rec along = start | over"),
    ("(onward & scta & covers); [M & P]", "(onward & scta); [M & P]"),
    ("let rec gone-over = good(from-here(gone | gone; start | gone-over; links?))", "let gone-over = 0"),
    (
        "let through-api = loc & (causality-base?; api; onward?)",
        "let through-api = vloc & (causality-base?; api; onward?)",
    ),
    ("let through-api = loc & (causality-base?; api; onward?)", "let through-api = 0"),
    # Asynchronous operations.
    ("| api | issue; [ASY & W & REL]; sync\n", "| api\n"),
    ("| api | issue; [ASY & W & REL]; sync\n", "| api | issue; sync\n"),
    ("let done = (completed | [ASY]; sync)+", "let done = completed+"),
    ("let start = links | done; links?", "let start = links | done"),
    ("let causality-base = along | along?; issue", "let causality-base = along"),
    ("let causality-base = along | along?; issue", "let causality-base = along | along?; issue; comp?"),
    ("| leave-async\nlet from-generic", "\nlet from-generic"),
    ("| enter-async |", "|"),
    # Proxy fences of one direction.
    ("let proxy-sync = ms &", "let proxy-sync ="),
    ("| ms & ([oneway-release]; po; [MA]; phase; [MW]; po; [oneway-acquire])", ""),
    ("[oneway-acquire & P]; (causality-base & scta & covers)", "[oneway-acquire & P]; (causality-base & scta)"),
    (
        "let turned(P) = [oneway-release & P]; (causality-base | proxy-sync)",
        "let turned(P) = [oneway-release & P]; causality-base",
    ),
    (
        "let turned(P) = [oneway-release & P]; (causality-base | proxy-sync)",
        "let turned(P) = [oneway-release & P]; proxy-sync",
    ),
    ("| oneway(ASYNC) | oneway(TMAP)", "| oneway(ASYNC)"),
    (
        "let release-fences = F & (sc-fence | ACQ_REL | REL) \\ ONEWAY",
        "let release-fences = F & (sc-fence | ACQ_REL | REL)",
    ),
    ("let both-ways = F \\ ONEWAY", "let both-ways = F"),
    # Bytes and atomicity.
    ("empty ([TORN]; fr) & (ms & rf)^-1 as single-copy", ""),
    ("empty ([TORN]; fr) & (ms & rf)^-1 as single-copy", "empty ([TORN]; fr) & rf^-1 as single-copy"),
    ("empty rmw & (fr; (unlike & co)) as atomicity", ""),
    ("empty unlike & (rf; rmw) \\ co as atomicity", ""),
    ("empty unlike \\ (co | co^-1) as atomicity", ""),
    ("((mixed | (vloc \\ same-proxy)) & sr)", "(mixed & sr)"),
    ("((mixed | (vloc \\ same-proxy)) & sr)", "((vloc \\ same-proxy) & sr)"),
    ("((mixed | (vloc \\ same-proxy)) & sr)", "(mixed | (vloc \\ same-proxy))"),
    ("acyclic rf | found | addr", "acyclic rf | addr"),
    ("irreflexive mbo; causality-base as mbarrier-order", ""),
    ("empty denied & causality-base as try-wait", ""),
    ("empty denied & causality-base as try-wait", "empty denied & start as try-wait"),
    # Races and misuse.
    ("let unordered = conflict \\ ms \\ (before | before^-1)", "let unordered = conflict \\ (before | before^-1)"),
    ("let unordered = conflict \\ ms \\ (before | before^-1)", "let unordered = conflict \\ ms \\ causality-base"),
    ("let before = cause | rmw; cause | cause; rmw^-1", "let before = cause"),
    ("let before = cause | rmw; cause | cause; rmw^-1", "let before = cause | rmw; cause"),
    ("let overwrite = (R \\ ASYNC) * (W & ASYNC)", "let overwrite = R * (W & ASYNC)"),
    ("let follows = causality-base & overwrite", "let follows = overwrite"),
    ("\\ (follows | follows^-1) \\ (RMW * RMW & sr) as async", "\\ (follows | follows^-1) as async"),
    ("\\ (follows | follows^-1) \\ (RMW * RMW & sr) as async", "\\ (RMW * RMW & sr) as async"),
    ("unordered & mixed \\ (ASY * _ | _ * ASY) as mixed-size", "unordered & mixed as mixed-size"),
    ("flag ~empty unordered & (alias | (loc \\ same-proxy)) as proxy", "flag ~empty unordered & alias as proxy"),
    (
        "flag ~empty unordered & (alias | (loc \\ same-proxy)) as proxy",
        "flag ~empty unordered & (loc \\ same-proxy) as proxy",
    ),
    ("flag ~empty again \\ causality-base as early", "flag ~empty again & causality-base as early"),
    ("([MBINIT]; mbo; [MB]) \\ causality-base as", "([MBINIT]; mbo; [MB]) \\ along as"),
    ("(proxy-fenced | init-fenced)) as initialisation", "proxy-fenced) as initialisation"),
    ("(proxy-fenced | init-fenced)) as initialisation", "init-fenced) as initialisation"),
    (
        "(causality-base & covers^-1); [fenced-some(ASYNC)]); causality-base",
        "causality-base; [fenced-some(ASYNC)]); causality-base",
    ),
    ("(po & covers^-1); [F & MBINIT]", "(po & covers^-1); [F & RESTRICT]"),
    ("let in-use = ([MBINIT \\ INVAL]; object) \\ causality-base^-1", "let in-use = [MBINIT \\ INVAL]; object"),
    ("in-use \\ (mbo; [INVAL]; causality-base) as overwritten", "in-use as overwritten"),
    ("let learnt = domain(comp+; ([CW] | mbrf))", "let learnt = domain(comp+; ([CW | KE] | mbrf))"),
    ("let learnt = domain(comp+; ([CW] | mbrf))", "let learnt = domain(comp+; [CW])"),
    ("else ASY & M & SHARED", "else ASY & M"),
    (
        "[FOREIGN \\ domain(over-before & owner)] as exited",
        "[FOREIGN & domain(owner) \\ domain(over-before & owner)] as exited",
    ),
    ("[FOREIGN \\ domain(over-before & owner)] as exited", "[FOREIGN] as exited"),
    ("let over-before = told?; causality-base | told", "let over-before = causality-base"),
    ("let told = comp*; mbrf", "let told = mbrf"),
)
