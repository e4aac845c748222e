"""Cut sites: how far apart cuts are, which programs a site has, why to cut here. No clocks."""

from __future__ import annotations

import dis
import sys
from collections.abc import Iterator
from types import CodeType, FrameType
from typing import Any

import numpy
import pytest

import lazynp as np
from lazynp import _cutsites
from lazynp._cutsites import EARLY, LARGE, CutSites, Gap, Site
from lazynp._node import Node, leaf, op_of
from lazynp.primitives import elementwise

HERE = compile("f()\n", "here.py", "exec")


# -- gaps ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "seen, least, most, count",
    [
        ([], 0, 0, 0),
        ([(5, False)], 5, 5, 1),
        ([(5, False), (3, False), (9, False)], 3, 9, 3),
        # cuts for a value: a site may never come, so all that was seen is waited for
        ([(5, True)], 5, 5, 0),
        ([(5, True), (8, True), (2, True)], 8, 8, 0),
        # once there is a site, it alone says how long a round is
        ([(9, True), (4, False)], 4, 9, 1),
        ([(4, False), (2, True)], 4, 4, 1),
        ([(4, False), (9, True)], 4, 9, 1),
    ],
)
def test_gaps(seen: list[tuple[int, bool]], least: int, most: int, count: int) -> None:
    gap = Gap()
    for length, asked in seen:
        gap.saw(length, asked)
    assert (gap.least, gap.most, gap.count, gap.visits) == (least, most, count, len(seen))


def test_what_was_short_once_need_not_stay_so() -> None:
    gap = Gap()
    gap.saw(2, False)
    for _ in range(_cutsites._WINDOW - 1):
        gap.saw(7, False)
    assert gap.least == 2
    for _ in range(_cutsites._WINDOW):
        gap.saw(7, False)
    assert gap.least == 7


# -- sites -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "forms, minimum",
    [("", EARLY), ("a", EARLY), ("ababab", EARLY), ("abc", 1), ("abac", 1), ("aaaa", EARLY)],
)
def test_sites_of_many_forms_are_cut_at_every_visit(forms: str, minimum: int) -> None:
    objects: dict[str, Any] = {}
    site = Site(HERE, EARLY)
    for f in forms:
        site.saw(objects.setdefault(f, object()))
    assert site.minimum == minimum
    assert len(site.forms) == len(set(forms))


def test_sites_keep_few_forms() -> None:
    site = Site(HERE, EARLY)
    for _ in range(100):
        site.saw(object())
    assert len(site.forms) == _cutsites._FORMS + 1


# -- limits ----------------------------------------------------------------------------------------


def _limits(cuts: list[tuple[int, bool, Any]]) -> list[int]:
    sites = CutSites()
    return [sites.limit_after(*cut) for cut in cuts]


A, B = ("a", 0), ("b", 0)


@pytest.mark.parametrize(
    "cuts, limits",
    [
        # nothing is known of what comes after a place met for the first time
        ([(7, True, A)], [EARLY]),
        # cut for values: the next is as far away as the longest of them
        ([(7, True, A), (5, True, A), (6, True, A)], [EARLY, 5, 6]),
        # cut at a site: looked for one early
        ([(7, False, A), (5, False, A), (6, False, A)], [EARLY, 4, 4]),
        ([(7, False, A), (1, False, A)], [EARLY, 1]),  # but never with nothing pending
        # each place has a gap of its own
        ([(7, False, A), (5, False, B), (3, False, A), (5, False, B)], [EARLY, EARLY, 4, 2]),
        # what is cut with nothing pending is no round
        ([(0, True, A), (0, True, A)], [EARLY, EARLY]),
    ],
)
def test_limits(cuts: list[tuple[int, bool, Any]], limits: list[int]) -> None:
    assert _limits(cuts) == limits


def test_visits_are_of_the_place_of_the_last_cut() -> None:
    sites = CutSites()
    assert sites.visits() == 0
    for visits in range(4):
        sites.limit_after(5, True, A)
        assert sites.visits() == visits
    sites.limit_after(5, True, B)
    assert sites.visits() == 0


def test_a_cut_at_a_known_site_is_expected() -> None:
    sites = CutSites()
    assert not sites.expects(0)
    sites.limit_after(5, False, A)
    sites.limit_after(9, False, A)
    assert [sites.expects(n) for n in (0, 9, 10)] == [True, True, False]
    with np.config(max_pending=6):
        assert [sites.expects(n) for n in (5, 6)] == [True, False]


def test_places_remembered_are_bounded() -> None:
    sites = CutSites()
    for k in range(3 * _cutsites._MOST):
        sites.limit_after(5, True, ("place", k))
        assert len(sites.gaps) <= _cutsites._MOST
    sites = CutSites()
    codes = [compile("f()", f"{k}.py", "exec") for k in range(5)]
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(_cutsites, "_MOST", 3)
        for code in codes:
            sites._new_site([], code, 0)
            assert len(sites.sites) <= 3
            assert sites.codes == {id(s.code) for s in sites.sites.values()}


# -- reasons to cut --------------------------------------------------------------------------------
# A loop of two statements, stopped at the operations it would do.

LOOP = """
def loop(n):
    for _ in range(n):
        a = operation(1)
        b = operation(2) + \\
            operation(3)
"""


class Stopped:
    """Code of the user's, with the frame that it has at each call of `operation`."""

    def __init__(self, rounds: int) -> None:
        self.frames: list[tuple[FrameType, int]] = []
        scope: dict[str, Any] = {}
        exec(compile(LOOP, "loop.py", "exec"), scope)
        scope["operation"] = self._operation
        self.code: CodeType = scope["loop"].__code__
        self.offsets = [i.offset for i in dis.get_instructions(self.code) if i.opname == "CALL"][1:]
        self.results: list[Any] = []
        self._rounds = scope["loop"]
        self._count = rounds

    def run(self, at: Any) -> None:
        self._at = at
        self._rounds(self._count)

    def _operation(self, which: int) -> int:
        self._at(which, sys._getframe(1))
        return 0


def pending_node(code: CodeType, offset: int, count: int = 3) -> Node:
    x = leaf(numpy.zeros(count))
    return [op_of(elementwise.add, {}, (x[4], float)), (x, 1.0), None, code, offset]


def cuts_of_loop(
    sites: CutSites, rounds: int, size: int = 3, before: int = 0
) -> list[tuple[int, int, Any, Any]]:
    """(operations so far, which operation it is, reason, site) of the cuts in a loop.

    before: the number of operations that were recorded elsewhere, and still are pending.
    """
    stopped, found = Stopped(rounds), []
    pending = [pending_node(HERE, 0) for _ in range(before)]

    def at(which: int, frame: FrameType) -> None:
        reason = site = None
        if pending:
            reason, site = sites.reason_to_cut(pending, frame, False)
        if reason is not None:
            found.append((len(pending), which, reason, site))
            sites.limit_after(len(pending), False, (id(reason[0]), reason[1]))
            pending.clear()
        pending.append(pending_node(frame.f_code, frame.f_lasti, size))

    stopped.run(at)
    return found


@pytest.mark.parametrize("before", [0, 1, 2])  # so the first look is at each of the operations
def test_a_loop_is_cut_where_it_comes_round(before: int) -> None:
    cuts = cuts_of_loop(CutSites(), 40, before=before)
    assert cuts
    for count, which, reason, site in cuts:
        assert count >= EARLY and which != 3  # operation 3 has half of a statement before it
        assert type(reason) is tuple and site is not None
    assert len({(id(r[0]), r[1]) for _, _, r, _ in cuts}) == 1  # always at one instruction
    rounds = [count for count, _, _, _ in cuts[1:]]
    assert len(set(rounds)) == 1 and rounds[0] % 3 == 0  # whole rounds, as many each time


def test_a_loop_over_large_arrays_is_cut_at_every_round() -> None:
    cuts = cuts_of_loop(CutSites(), 40, LARGE // 8)
    assert [count for count, _, _, _ in cuts[1:]] == [3] * len(cuts[1:])


def test_straight_code_is_cut_at_the_most_that_may_be_pending() -> None:
    frame = sys._getframe()
    other = [pending_node(HERE, 0) for _ in range(20)]
    assert CutSites().reason_to_cut(other, frame, False) == (None, None)
    with np.config(max_pending=20):
        assert CutSites().reason_to_cut(other, frame, False) == ("20 operations pending", None)


def test_what_is_due_is_cut_anywhere() -> None:
    reason, site = CutSites().reason_to_cut([pending_node(HERE, 0)], sys._getframe(), True)
    assert reason is not None and "large slice assignment" in reason and site is None


def test_a_site_waits_for_its_minimum() -> None:
    sites = CutSites()
    stopped = Stopped(1)
    found = []

    def at(which: int, frame: FrameType) -> None:
        if which == 1:
            site = sites._new_site([pending_node(HERE, 0)], frame.f_code, stopped.offsets[0])
            for count in (1, EARLY - 1, EARLY):
                nodes = [pending_node(HERE, 0) for _ in range(count)]
                found.append(sites.reason_to_cut(nodes, frame, False)[1] is site)
            large = [pending_node(HERE, 0, LARGE // 8)]
            found.append(sites.reason_to_cut(large, frame, False)[1] is site)
            found.append(site.minimum)

    stopped.run(at)
    assert found == [False, False, True, True, 1]


def test_more_forms_than_expected_are_learnt_from() -> None:
    sites = CutSites()
    site = sites._new_site([], HERE, 0)
    assert site.minimum == EARLY
    sites.limit_after(5, False, A)
    sites.limit_after(5, False, A)
    assert not sites.saw(site, "first") and sites.idle == EARLY
    assert not sites.saw(site, "second")
    assert sites.saw(site, "third")  # cuts will come more often: what was learnt is void
    assert sites.idle == 1 and sites.gaps == {}
    sites.reset()
    assert (sites.idle, sites.sites, sites.codes, sites.origin) == (EARLY, {}, set(), None)


def test_a_long_program_is_looked_through_now_and_then(monkeypatch: pytest.MonkeyPatch) -> None:
    """A look costs as much as the program is long: they come further apart."""
    looks: list[int] = []
    real = _cutsites.next_instruction

    def counting(code: CodeType, offset: int) -> int:
        looks.append(1)
        return real(code, offset)

    monkeypatch.setattr(_cutsites, "next_instruction", counting)
    sites, pending, frame = CutSites(), [], sys._getframe()
    for _ in range(400):
        if pending:
            assert sites.reason_to_cut(pending, frame, False) == (None, None)
        pending.append(pending_node(HERE, 0))
    assert len(looks) <= 3 * EARLY + 400 // EARLY + 2


@pytest.fixture(autouse=True)
def _most_pending() -> Iterator[None]:
    with np.config(max_pending=512):
        yield


def test_a_destructor_may_empty_the_list_while_a_site_is_looked_for() -> None:
    """It asked for a value after `reason_to_cut` had counted the pending operations."""
    code = test_a_destructor_may_empty_the_list_while_a_site_is_looked_for.__code__

    class Emptied(list[Any]):
        def __len__(self) -> int:
            return 1000

    assert _cutsites._begins_statement(Emptied(), code, 0)
    assert not CutSites()._comes_round(Emptied(), code, 0)


# -- rounds that are recorded to run together ------------------------------------------------------


class _Plan:
    costs, tier, runs = (1e3, 1.0, 0), "compiled", 0

    def __init__(self) -> None:
        self.repeated = 0


def _attempts(sites: CutSites, eager: bool) -> int:
    """The runs of a new plan until rounds of it are recorded."""
    plan = _Plan()
    return next(n for n in range(1, 1000) if sites.gathers(plan, 3, eager))


def test_amid_eager_operations_attempts_that_find_no_rounds_become_rare() -> None:
    sites = CutSites()
    assert [_attempts(sites, False), _attempts(sites, True)] == [2, 2]
    for runs in (4, 8, 16, 32, 64, 64):
        sites.rounds_found(False)
        assert [_attempts(sites, False), _attempts(sites, True)] == [2, runs]
    sites.rounds_found(True)
    assert _attempts(sites, True) == 2
