"""The structure of a cut: its key, what is dead, what is referred to from outside, likeness."""

from __future__ import annotations

from typing import Any

import numpy
import pytest
from hypothesis import given, strategies as st

import lazynp as np
from lazynp import _graph
from lazynp._form import Likeness, depth_first, drop_dead, outside_of, place_of, scan
from lazynp._fronts import BUILT
from lazynp._node import ARGS, VALUE, Node, leaf, op_of
from lazynp._ownership import counts
from lazynp._recorder import known
from lazynp.primitives import elementwise

ADD, MULTIPLY = elementwise.add, elementwise.multiply


def data(count: int = 3) -> Node:
    return leaf(numpy.arange(float(count)))


def host_scalar(value: float) -> Node:
    return leaf(numpy.float64(value))


def node(primitive: Any, *operands: Any) -> Node:
    """Pending, and in no list."""
    return [op_of(primitive, {}, tuple([known(o) for o in operands])), operands, None, None, 0]


# -- scan ------------------------------------------------------------------------------------------


def test_key_leaves_and_slots() -> None:
    x, y, s = data(), data(), host_scalar(4.0)
    a = node(ADD, x, y)
    b = node(MULTIPLY, a, 2.0)
    c = node(MULTIPLY, b, s)
    d = node(ADD, c, x)
    found = scan([a, b, c, d], c)
    assert found is not None
    key, leaves, slots = found
    # a leaf is counted down from -1, a node is its place, a 0-d host value None, a number no item
    assert key == [a[0], ~0, ~1, b[0], 0, c[0], 1, None, d[0], 2, ~0, 2]
    assert [n is m for n, m in zip(leaves, (x, y), strict=True)] == [True, True]
    assert slots == [2.0, 4.0]


@pytest.mark.parametrize("asked, where", [(None, -1), (0, 0), (1, 1)])
def test_key_ends_with_the_place_of_what_is_asked_for(asked: int | None, where: int) -> None:
    a = node(ADD, data(), 1.0)
    nodes = [a, node(ADD, a, 1.0)]
    found = scan(nodes, None if asked is None else nodes[asked])
    assert found is not None and found[0][-1] == where


def test_values_of_slots_are_in_no_key() -> None:
    def key(number: float, value: float) -> Any:
        a = node(ADD, data(), number)
        found = scan([a, node(ADD, a, host_scalar(value))], None)
        assert found is not None
        return found[0]

    assert key(1.0, 2.0) == key(3.0, 4.0)


def test_wiring_is_in_the_key() -> None:
    x, y = data(), data()
    same, others = scan([node(ADD, x, x)], None), scan([node(ADD, x, y)], None)
    assert same is not None and others is not None
    assert same[0] != others[0] and len(same[1]) == 1 and len(others[1]) == 2


def test_what_is_no_whole_program_has_no_key() -> None:
    a = node(ADD, data(), 1.0)
    b = node(ADD, a, 1.0)
    assert scan([b], None) is None  # a pending operand is missing
    assert scan([b, a], None) is None  # and comes too late
    assert scan([a], b) is None  # what is asked for is missing
    assert scan([a, b], b) is not None
    a[VALUE] = numpy.zeros(3)
    assert scan([a, b], b) is None  # one has a value
    assert scan([b], b) is not None  # now it is a leaf


# -- drop_dead -------------------------------------------------------------------------------------


def test_chains_that_nobody_refers_to_are_dropped() -> None:
    x = data()
    kept = node(ADD, x, 1.0)
    nodes = [kept, node(ADD, x, 2.0)]
    nodes.append(node(ADD, nodes[1], kept))  # the last one read the one before
    assert drop_dead(nodes, None)
    assert len(nodes) == 1 and nodes[0] is kept


def test_operands_of_what_lives_live() -> None:
    nodes = [node(ADD, data(), 1.0)]
    top = node(ADD, nodes[0], 2.0)
    nodes.append(top)
    assert not drop_dead(nodes, None) and len(nodes) == 2
    assert top[ARGS][0] is nodes[0]


def test_what_is_asked_for_is_not_dead() -> None:
    nodes = [node(ADD, data(), 1.0), node(ADD, data(), 2.0)]
    assert drop_dead(nodes, nodes[1])
    assert len(nodes) == 1 and nodes[0][ARGS][1] == 2.0


# -- outside_of ------------------------------------------------------------------------------------


def _outside(nodes: list[Node], leaves: list[Node]) -> tuple[list[bool], list[bool]]:
    return outside_of(nodes, leaves, counts(nodes), counts(leaves))


def test_outside_is_who_refers_less_who_uses() -> None:
    nodes, leaves = [], [data(), data()]
    nodes.append(node(ADD, leaves[0], leaves[0]))
    nodes.append(node(ADD, nodes[0], leaves[1]))
    nodes.append(node(MULTIPLY, nodes[0], nodes[1]))
    assert _outside(nodes, leaves) == ([False] * 3, [False] * 2)
    held = nodes[1], leaves[0]
    assert _outside(nodes, leaves) == ([False, True, False], [True, False])
    del held
    elsewhere = node(ADD, nodes[0], 1.0)  # a node of another cut
    assert _outside(nodes, leaves) == ([True, False, False], [False, False])
    del elsewhere


# -- depth_first, place_of -------------------------------------------------------------------------


def test_depth_first_puts_operands_first() -> None:
    x = data()
    a = node(ADD, x, 1.0)
    b, c = node(ADD, a, 2.0), node(MULTIPLY, a, 3.0)
    top = node(ADD, c, b)
    order: list[Node] = []
    known_before = {id(b)}
    depth_first(top, known_before, order)
    assert [[a, c, top].index(n) for n in order] == [0, 1, 2]  # what has a value is no part of it


def test_depth_first_of_a_deep_chain() -> None:
    top = node(ADD, data(), 1.0)
    for _ in range(5000):
        top = node(ADD, top, 1.0)
    order: list[Node] = []
    depth_first(top, set(), order)
    assert len(order) == 5001 and order[-1] is top


def test_place_of() -> None:
    nodes = [node(ADD, data(), 1.0)]
    assert place_of([]) is None
    before = place_of(nodes)
    assert before == place_of(list(nodes))
    nodes[0][4] = 8  # another instruction
    assert place_of(nodes) != before
    assert place_of([*nodes, nodes[0]]) != place_of(nodes)


# -- Likeness --------------------------------------------------------------------------------------


def program(
    x: Node, y: Node, number: Any, value: Node, second: Any = ADD, wired: bool = True
) -> list[Node]:
    a = node(ADD, x, y)
    b = node(second, a, number)
    return [a, b, node(MULTIPLY, b if wired else a, value)]


def _likeness(nodes: list[Node], asked: Node | None = None) -> Likeness[str]:
    found = scan(nodes, asked)
    assert found is not None
    key, leaves, _ = found
    return Likeness(nodes, leaves, key[-1], counts(nodes), counts(leaves), "plan")


MET = program(data(), data(), 2.0, host_scalar(3.0))
OTHERS: dict[str, list[Node]] = {
    "another op": program(data(), data(), 2.0, host_scalar(3.0), second=MULTIPLY),
    "another shape": program(data(4), data(4), 2.0, host_scalar(3.0)),
    "another wiring": program(data(), data(), 2.0, host_scalar(3.0), wired=False),
    "another kind of number": program(data(), data(), 2, host_scalar(3.0)),
    "shorter": program(data(), data(), 2.0, host_scalar(3.0))[:2],
}


@pytest.mark.parametrize("name", list(OTHERS))
def test_other_forms_are_not_like(name: str) -> None:
    assert _likeness(MET).compare(OTHERS[name], None) is None


def test_a_form_that_came_before() -> None:
    x, y, s = data(), data(), host_scalar(7.0)
    found = _likeness(MET).compare(program(x, y, 5.0, s), None)
    assert found is not None
    leaves, slots = found
    assert leaves[0] is x and leaves[1] is y and slots == [5.0, 7.0]


def test_what_is_asked_for_is_part_of_it() -> None:
    nodes = program(data(), data(), 2.0, host_scalar(3.0))
    for at in range(3):
        like = _likeness(MET, MET[at])
        assert [like.compare(nodes, n) is not None for n in nodes] == [k == at for k in range(3)]
        assert like.compare(nodes, None) is None
    assert _likeness(MET).compare(nodes, nodes[0]) is None


def test_an_operand_that_is_pending_or_a_scalar_is_no_leaf() -> None:
    like = _likeness([node(ADD, data(), data())])
    pending = node(ADD, data(), 1.0)
    assert like.compare([node(ADD, data(), pending)], None) is None
    shaped = node(ADD, data(), data())
    shaped[ARGS][1][VALUE] = numpy.float64(1.0)
    assert like.compare([shaped], None) is None


def test_a_scalar_that_became_an_array_is_no_slot() -> None:
    s = host_scalar(3.0)
    nodes = program(data(), data(), 2.0, s)
    s[VALUE] = numpy.zeros(())  # as a buffer would be: not on the host
    assert _likeness(MET).compare(nodes, None) is None


# -- scan and Likeness agree -----------------------------------------------------------------------


@st.composite
def programs(draw: st.DrawFn) -> list[Node]:
    """One to four nodes on two leaves, numbers and 0-d values."""
    x, y = data(), data()
    nodes: list[Node] = []
    for _ in range(draw(st.integers(1, 4))):
        earlier = st.sampled_from([x, y, *nodes])
        second = st.one_of(earlier, st.floats(0, 1), st.builds(host_scalar, st.floats(0, 1)))
        nodes.append(node(draw(st.sampled_from([ADD, MULTIPLY])), draw(earlier), draw(second)))
    return nodes


@given(programs(), programs(), st.integers(-1, 3), st.integers(-1, 3))
def test_alike_is_the_same_key(p: list[Node], q: list[Node], i: int, j: int) -> None:
    """Likeness knows a program by less than its key; with equal leaves the two agree."""
    asked_p = p[i] if 0 <= i < len(p) else None
    asked_q = q[j] if 0 <= j < len(q) else None
    first, second = scan(p, asked_p), scan(q, asked_q)
    assert first is not None and second is not None
    found = _likeness(p, asked_p).compare(q, asked_q)
    if first[0] == second[0]:
        assert found is not None
    if found is not None:
        assert [n[VALUE] is m[VALUE] for n, m in zip(found[0], second[1])] and found[1] == second[2]
        # Two leaves that were different may be one now; nothing else may differ.
        if len(second[1]) == len(first[1]):
            assert first[0] == second[0]


@pytest.mark.skipif(not BUILT, reason="compares C with the Python that defines it")
@given(programs(), programs())
def test_c_matches_what_python_matches(p: list[Node], q: list[Node]) -> None:
    """`_graph._matched` in C, and `compare` with the same counts in Python."""
    like = _likeness(p)
    operands = like.compare(q, None)
    same = operands is not None and counts(q) == like.counts
    same = same and counts(operands[0]) == like.leaf_counts
    del operands
    assert (_graph._matched(like, q, None) is not None) is same


def test_one_place_of_the_code_spells_its_key_out_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The rounds of a loop that look alike need no key."""
    calls = []

    def counting(*args: Any) -> Any:
        calls.append(1)
        return scan(*args)

    monkeypatch.setattr(_graph, "scan", counting)
    with np.config(execution="compiled"):
        x = np.ones(3)
        spelt = []
        for k in range(8):
            x = x * 0.5 + float(k)
            np.materialize(x)
            spelt.append(len(calls))
    assert spelt[-1] == spelt[3]
    assert spelt[-1] > 0
