"""Where to flush a loop that never needs a value: at the instruction to which its code returns.

A cut site once used attracts the next flush, so that each iteration of a loop yields the same
program. The search for a site happens when an operation begins, never inside one, and when no
half-made result is on Python's stack.
"""

from __future__ import annotations

import sys
from types import CodeType, FrameType
from typing import Any

from lazynp._config import config
from lazynp._entries import CODE, OFFSET, OP, Node, at
from lazynp._positions import ends_statement_between, instruction, next_instruction

EARLY = 16  # pending nodes before the search for recurrence
LARGE = 1 << 16  # bytes: one iteration over arrays of this size is worth a program
_FORMS = 2  # programs that a site may have before it flushes at every visit
_WINDOW = 64
_MOST = 1 << 12  # places kept


class Site:
    """An instruction where a loop is flushed.

    For small arrays, batch several iterations into one program, unless iterations differ: every
    combination would then need its own program.
    """

    __slots__ = ("code", "minimum", "forms")

    def __init__(self, code: CodeType, minimum: int) -> None:
        self.code, self.minimum = code, minimum
        self.forms: list[Any] = []  # kept alive, so that no new form is mistaken for an old one

    def saw(self, form: Any) -> None:
        if form in self.forms:
            return
        if len(self.forms) <= _FORMS:
            self.forms.append(form)
        if len(self.forms) > _FORMS:
            self.minimum = 1


class Gap:
    """The number of operations between a flush at one place and the next flush.

    With fewer than `least` pending, skip the search for a site; below `most`, consider only known
    sites.
    """

    __slots__ = ("least", "most", "recent", "count", "visits")

    def __init__(self) -> None:
        self.least = self.most = self.count = self.visits = 0
        self.recent = sys.maxsize

    def saw(self, length: int, asked: bool) -> None:
        """asked: a needed value caused the flush; a site may never come."""
        self.most = max(self.most, length)
        self.visits += 1
        if asked:
            if not self.count:
                self.least = self.most
            return
        self.least = min(self.least, length) if self.count else length
        self.recent = min(self.recent, length)
        self.count += 1
        if self.count % _WINDOW == 0:  # a short gap need not stay short
            self.least, self.recent = self.recent, sys.maxsize


def key_of(op: Any, code: CodeType | None, offset: int) -> Any:
    """An operation at a position: its instruction, because a frame may report the inline cache
    behind that.
    """
    return op, id(code), 0 if code is None else instruction(code, offset)


class Gathered:
    """Several rounds of a loop are being recorded, to run together (`_rounds`).

    It begins when the same plan has run twice for no value, or when eager operations have cost as
    much as a program of rounds might. head: the first operation of a flush by that plan.
    """

    __slots__ = ("plan", "head", "count", "limit", "spent", "first_look")

    def __init__(self, plan: Any = None, head: Any = None, count: int = 1, spent: float = 0.0):
        self.plan, self.head, self.count, self.spent = plan, head, count, spent
        self.limit = 2 * config.max_pending
        # Recording operations of new shapes costs ten times as much as recording known ones.
        self.first_look = _LOOK if plan is None else 0
        if plan is not None:
            # microseconds an operation, by whoever runs them
            each = plan.costs[plan.tier == "compiled"] / count
            self.limit = max(min(self.limit, int(_GATHERED / each)), 4 * count)

    def part(self, nodes: list[Node]) -> int:
        """The number of operations up to the next round; 0 in the last."""
        for i in range(self.count, len(nodes)):
            if key_of(nodes[i][OP], nodes[i][CODE], nodes[i][OFFSET]) == self.head:
                return i
        return 0

    def varies(self, nodes: list[Node]) -> bool:
        """At the first look: whether shapes vary from round to round. Then each operation is new at
        its place, and the rounds will not repeat.
        """
        self.first_look = 0
        ops: dict[tuple[int, Any], list[int]] = {}
        for n in nodes:
            ops.setdefault((id(n[CODE]), n[OFFSET]), []).append(id(n[OP]))
        often = [found for found in ops.values() if len(found) >= _VISITS]
        return 2 * sum(len(set(found)) == len(found) for found in often) > len(often)

    def missed(self) -> None:
        """There were no rounds to run: wait for twice as many runs until the next attempt."""
        if self.plan is not None:
            self.plan.repeated = -self.plan.runs


_LOOK = 256  # operations before the first look
_VISITS = 24  # of a place: inner loops may have as many rounds that differ, and repeat as a whole
_REPEATED = 2  # runs of one plan that show a loop
_MISSES = 5  # beyond these, further ones count no more
# microseconds an operation: with less, recording rounds that NumPy runs costs more than a program
# will gain
PROMISING = 2.0
_GATHERED = 50000.0  # microseconds: rounds that run together take no longer


class CutSites:
    """The sites of one thread, and the gaps between its flushes."""

    __slots__ = ("sites", "codes", "gaps", "origin", "idle", "looked", "gathered", "misses")

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        self.sites: dict[tuple[int, int], Site] = {}  # by id of code, and offset
        self.codes: set[int] = set()  # of the sites
        self.gaps: dict[Any, Gap] = {}  # by the place of a flush: the gap until the next
        self.origin: Any = None  # the place of the last flush
        self.idle = EARLY  # operations before the first search, after a flush at an unknown place
        self.looked = 0  # the number of pending nodes at the last search
        self.gathered: Any = None
        self.misses = 0  # attempts in a row that found no rounds

    def gathers(self, plan: Any, count: int, eager: bool) -> bool:
        """A flush for no value has run. Whether the next rounds are to run together.

        eager: amid operations that run eagerly, which would be recorded too. Where that was in vain
        for other plans, this one must come more often.
        """
        reference, compiled, _ = plan.costs
        if 4 * count > config.max_pending:
            return False
        if plan.tier != "compiled" and reference - compiled <= PROMISING * count:
            return False
        plan.repeated += 1
        return plan.repeated >= (_REPEATED << self.misses if eager else _REPEATED)

    def rounds_found(self, found: bool) -> None:
        """What came of gathering."""
        self.misses = 0 if found else min(self.misses + 1, _MISSES)

    def limit_from(self, origin: Any) -> int:
        """From how many operations on to search for the next site, after a flush here."""
        self.looked, self.origin = 0, origin
        gap = self.gaps.get(origin)
        if gap is None:
            return self.idle
        least = gap.least - 1 if gap.count else gap.least
        return max(min(least, config.max_pending), 1)  # that setting may have been larger

    def limit_after(self, count: int, asked: bool, origin: Any) -> int:
        """After a flush of `count` operations here: from how many operations on to search for the
        next site?

        One less than the gap: the search detects a just-entered composed function by comparing with
        the previous operation. At least 1: with nothing pending there is nothing to flush.
        """
        gap = self.gaps.get(self.origin)
        if gap is None and count:
            if len(self.gaps) >= _MOST:
                self.gaps.clear()
            gap = self.gaps[self.origin] = Gap()
        if gap is not None:
            gap.saw(count, asked)
        return self.limit_from(origin)

    def visits(self) -> int:
        gap = self.gaps.get(self.origin)
        return 0 if gap is None else gap.visits

    def expects(self, count: int) -> bool:
        """Whether the next flush may still come at a known site."""
        gap = self.gaps.get(self.origin)
        return gap is not None and count <= min(gap.most, config.max_pending - 1)

    def reason_to_cut(
        self, pending: list[Node], frame: FrameType, due: bool
    ) -> tuple[Any, Site | None]:
        """Why to flush where an operation begins, and at which site; None for no flush."""
        count, code = len(pending), frame.f_code
        expected = self.expects(count) and not due
        if expected and id(code) not in self.codes:
            return None, None
        offset = instruction(code, frame.f_lasti)
        site = self.sites.get((id(code), offset))
        if due:
            return "the end of a large slice assignment, or of recording small operations", site
        if site is not None:
            if count < site.minimum:
                if not _any_large(pending):
                    return None, None
                site.minimum = self.idle = 1
            return (code, offset), site
        if expected:
            return None, None
        if count >= config.max_pending:
            return f"{count} operations pending", None
        if count >= EARLY and self._comes_round(pending, code, offset):
            if count < 4 * EARLY and self._has_site(pending):
                return None, None  # this loop has a site already, to which it will return
            return (code, offset), self._new_site(pending, code, offset)
        return None, None

    def saw(self, site: Site, form: Any) -> bool:
        """A flush at a site has run. Returns whether flushes will come more often from now on."""
        before = site.minimum
        site.saw(form)
        if site.minimum < before:  # the gaps were measured with the other minimum
            self.gaps.clear()
            self.idle = 1
        return self.origin not in self.gaps

    def _new_site(self, pending: list[Node], code: CodeType, offset: int) -> Site:
        if len(self.sites) >= _MOST:
            self.reset()
        site = self.sites[id(code), offset] = Site(code, 1 if _any_large(pending) else EARLY)
        self.codes.add(id(code))
        self.idle = min(self.idle, site.minimum)
        return site

    def _comes_round(self, pending: list[Node], code: CodeType, offset: int) -> bool:
        count = len(pending)
        if count > 4 * EARLY and count < self.looked + EARLY:
            # a long program without loops: a search costs as much as the program is long
            return False
        if not _begins_statement(pending, code, offset):
            return False
        self.looked = count
        end = next_instruction(code, offset)
        for n in pending:  # no generator: a signal that comes while one is closed is lost
            if n[CODE] is code and offset <= n[OFFSET] < end:
                return True
        return False

    def _has_site(self, pending: list[Node]) -> bool:
        codes = {id(site.code) for site in self.sites.values()}
        for n in pending:
            code = n[CODE]
            if id(code) in codes and (id(code), instruction(code, n[OFFSET])) in self.sites:
                return True
        return False


def _begins_statement(pending: list[Node], code: CodeType, offset: int) -> bool:
    """Whether this is a statement's first operation, so that no half-made result is waiting."""
    last = at(pending, -1)
    if last is None:  # a destructor, run since the caller counted them, asked for a value
        return True
    if last[CODE] is not code or last[OFFSET] >= offset or len(pending) >= 16 * EARLY:
        return True
    return ends_statement_between(code, last[OFFSET], offset)


def _any_large(pending: list[Node]) -> bool:
    for node in pending:
        aval = node[OP].aval
        if type(aval) is not tuple and aval.nbytes >= LARGE:
            return True
    return False
