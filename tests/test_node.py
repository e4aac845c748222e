"""Nodes and ops: interning, inference, bounds of Python ints, results of several, tracers."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy
import pytest

import lazynp as np
from lazynp import _memo, _node
from lazynp._avals import aval_of, traced_aval
from lazynp._node import (
    ARGS,
    OP,
    PROJECT,
    VALUE,
    Trace,
    Traced,
    Tracer,
    aval_of_node,
    escaped,
    has_effects,
    hosted,
    is_tracer,
    leaf,
    op_of,
    projection,
    tracer_node,
)
from lazynp._trace import check_bounds
from lazynp.primitives import elementwise, shaping
from tests.helpers import be_eager, fresh_start, pending

ADD, POWER = elementwise.add, elementwise.power


def aval(*shape: int, dtype: Any = "f8") -> Any:
    return aval_of(shape, numpy.dtype(dtype))


# -- ops -------------------------------------------------------------------------------------------


def test_equal_operations_are_one_op() -> None:
    first = op_of(ADD, {}, (aval(3), float))
    assert op_of(ADD, {}, (aval_of((3,), "f8"), float)) is first
    others = [
        op_of(elementwise.multiply, {}, (aval(3), float)),
        op_of(ADD, {}, (float, aval(3))),
        op_of(ADD, {}, (aval(3), int)),
        op_of(ADD, {}, (aval(4), float)),
        op_of(ADD, {}, (aval(3, dtype="f4"), float)),
    ]
    assert len({id(op) for op in (first, *others)}) == 6
    turned = [op_of(shaping.transpose, {"permutation": p}, (aval(2, 2),)) for p in [(0, 1), (1, 0)]]
    assert turned[0] is not turned[1]


def test_ops_in_use_are_kept_and_others_forgotten() -> None:
    """A sweep of the memo tables must not make a second op of one that nodes refer to."""
    op = op_of(ADD, {}, (aval(3, 17), aval(17)))
    unused = ADD, aval(4, 19), aval(19)
    op_of(ADD, {}, unused[1:])
    _memo.sweep()
    assert op_of(ADD, {}, (aval(3, 17), aval(17))) is op
    assert all(o.ins != unused[1:] for o in _node._ops.table.values())


OPERANDS: dict[str, Any] = {
    "array": numpy.ones((2, 3)), "row": numpy.ones(3), "column": numpy.ones((2, 1)),
    "single": numpy.ones(3, "f4"), "small ints": numpy.ones(3, "i1"), "ints": numpy.ones(3, "i8"),
    "unsigned": numpy.ones(3, "u8"), "bools": numpy.ones(3, "?"), "complex": numpy.ones(3, "c8"),
    "scalar": numpy.float32(1), "empty": numpy.ones((0, 3)),
    "bool": True, "int": 2, "float": 2.0, "complex number": 2j,
}  # fmt: skip


def _known(x: Any) -> Any:
    return aval_of(x.shape, x.dtype) if isinstance(x, (numpy.ndarray, numpy.generic)) else type(x)


@pytest.mark.parametrize("y", list(OPERANDS))
@pytest.mark.parametrize("x", [k for k, v in OPERANDS.items() if hasattr(v, "dtype")])
def test_results_are_inferred_as_numpys(x: str, y: str) -> None:
    a, b = OPERANDS[x], OPERANDS[y]
    for primitive, ufunc in ((ADD, numpy.add), (POWER, numpy.power)):
        try:
            want = ufunc(a, b)
        except ValueError as error:
            with pytest.raises(ValueError, match=re.escape(str(error).strip())):
                op_of(primitive, {}, (_known(a), _known(b)))
            continue
        op = op_of(primitive, {}, (_known(a), _known(b)))
        assert op.aval is aval_of(want.shape, want.dtype)
        assert op.scalar is (want.ndim == 0)
        numpy.testing.assert_array_equal(op.reference(a, b), want)
        # what a jaxpr casts and broadcasts the operands to: then they agree
        assert all(e.shape == want.shape for e in op.explicit)


def test_errors_are_raised_when_inferred() -> None:
    with pytest.raises(ValueError, match="could not be broadcast"):
        op_of(ADD, {}, (aval(3), aval(4)))
    with pytest.raises(TypeError, match="bitwise_and"):
        op_of(elementwise.bitwise_and, {}, (aval(3), aval(3)))
    with pytest.raises(ValueError, match="could not be broadcast"):  # and again: no op was kept
        op_of(ADD, {}, (aval(3), aval(4)))


@pytest.mark.parametrize(
    "dtype, operand, bounds",
    [
        ("i1", int, (-128, 127)),
        ("u2", int, (0, 65535)),
        ("i8", int, (-(1 << 63), (1 << 63) - 1)),
        ("f4", int, None),
        ("i1", float, None),
        ("i1", bool, None),
        ("?", int, (-(1 << 63), (1 << 63) - 1)),  # both become int64
    ],
)
def test_bounds(dtype: str, operand: type, bounds: Any) -> None:
    op = op_of(ADD, {}, (aval(3, dtype=dtype), operand))
    assert op.bounds == bounds
    if bounds is None:
        return
    for number in (*bounds, bounds[0] - 1, bounds[1] + 1):
        try:
            numpy.zeros(3, dtype) + number
        except OverflowError as error:
            with pytest.raises(OverflowError) as ours:
                check_bounds(op, (None, number))
            assert str(ours.value) == str(error) or "C long" in str(error)
        else:
            check_bounds(op, (None, number))


MANY = 1 << 14  # elements: more than is worth reusing


@pytest.mark.parametrize(
    "primitive, params, ins, expected",
    [
        # (free, host, scalar, reuses, direct)
        (ADD, {}, (aval(3), aval(3)), (False, False, False, (), True)),
        (ADD, {}, (aval(MANY), float), (False, False, False, (0,), False)),
        (ADD, {}, (float, aval(MANY)), (False, False, False, (1,), False)),
        (ADD, {}, (aval(MANY), aval(MANY)), (False, False, False, (0, 1), False)),
        (ADD, {}, (aval(1), aval(MANY)), (False, False, False, (1,), False)),  # one would not fit
        (ADD, {}, (aval(MANY, dtype="f4"), aval(MANY)), (False, False, False, (1,), False)),
        (ADD, {}, (aval(), aval()), (False, False, True, (), True)),
        (ADD, {}, (aval(3, dtype=">f8"), float), (False, True, False, (), True)),
        (ADD, {}, (aval(3, dtype="O"), int), (False, True, False, (), True)),
        (
            shaping.transpose,
            {"permutation": (1, 0)},
            (aval(2, 3),),
            (True, False, False, (), False),
        ),
    ],
)
def test_what_is_known_of_an_op(primitive: Any, params: Any, ins: Any, expected: Any) -> None:
    op = op_of(primitive, params, ins)
    assert (op.free, op.host, op.scalar, op.reuses, op.direct) == expected
    if op.host:
        assert op.gain == math.inf


def test_starts_of_slices_are_no_data() -> None:
    x = np.zeros((4, 5))
    x[1, 2:4] = 3.0
    node = x._node
    assert node[OP].primitive.name == "update_slice" and node[OP].first_start == 2
    assert node[ARGS][2:] == (1, 2)
    assert op_of(ADD, {}, (aval(3), aval(3))).first_start == 2  # an operand behind the last


def test_references_take_the_parameters() -> None:
    op = op_of(shaping.transpose, {"permutation": (1, 0)}, (aval(2, 3),))
    a = numpy.arange(6.0).reshape(2, 3)
    numpy.testing.assert_array_equal(op.reference(a), a.T)


def test_a_write_may_be_done_in_place() -> None:
    params = {"axes": (0,), "sizes": (2,), "strides": (1,), "shape": (2,)}
    op = op_of(shaping.update_slice, params, (aval(5), aval(2), int))
    assert op.reuses  # small as it is: a copy for each element of a loop would not do
    a = numpy.zeros(5)
    assert op.inplace(a, numpy.ones(2), 1) is a and a.tolist() == [0, 1, 1, 0, 0]
    b = numpy.zeros(5)
    assert op.reference(b, numpy.ones(2), 1).tolist() == a.tolist() and not b.any()


# -- nodes -----------------------------------------------------------------------------------------


def test_leaves() -> None:
    value = numpy.arange(3, dtype="i2")
    node = leaf(value)
    assert node[VALUE] is value and node[OP] is None
    assert aval_of_node(node) is aval(3, dtype="i2")
    op = op_of(ADD, {}, (aval(3, dtype="i2"), int))
    assert aval_of_node([op, (node, 1), None, None, 0]) is op.aval


# -- several results -------------------------------------------------------------------------------


def test_projections_are_interned() -> None:
    avals = (aval(2, 2), aval(2))
    first, second = projection(avals, 0), projection(avals, 1)
    assert projection(avals, 0) is first is not second
    assert first.aval is avals[0] and second.aval is avals[1]
    assert first.primitive is PROJECT and first.free and not first.direct
    assert first.reference(("a", "b")) == "a" and second.reference(("a", "b")) == "b"
    assert not first.scalar and projection((aval(), aval(3)), 0).scalar


def test_an_operation_with_two_results_is_three_nodes() -> None:
    fresh_start()
    be_eager(False)
    a = numpy.array([[2.0, 1.0], [1.0, 3.0]])
    q, r = np.linalg.qr(np.array(a))
    projections = [n for n in pending() if n[OP].primitive is PROJECT]
    assert len(projections) >= 2
    assert len({id(n[ARGS][0]) for n in projections[-2:]}) == 1  # of one node
    numpy.testing.assert_allclose(q @ r, a)


# -- tracers ---------------------------------------------------------------------------------------


def _tracer(what: str = "grad of f", code: Any = None, offset: int = 0) -> Tracer:
    tracer = Tracer()
    tracer.trace, tracer.aval, tracer.code, tracer.offset = Trace(what), aval(3), code, offset
    return tracer


def test_an_operation_on_a_tracer_is_not_the_graphs() -> None:
    node = tracer_node(_tracer())
    assert is_tracer(node) and not is_tracer(leaf(numpy.ones(3))) and not is_tracer(3.0)
    assert node[4] is traced_aval(aval(3)) and aval_of_node(node) is aval(3)
    for _ in range(2):  # it is remembered nowhere
        with pytest.raises(Traced):
            op_of(ADD, {}, (node[4], aval(3)))
    assert op_of(ADD, {}, (aval(3), aval(3))).aval is aval(3)


def test_a_tracer_shows_no_value() -> None:
    code = compile("\n\nf()\n", "user.py", "exec")
    offset = next(begin for begin, _, line in code.co_lines() if line == 3)
    tracer = _tracer("jit of f", code, offset)
    assert tracer.behind() is None and not tracer.known()
    for look in (tracer.seen, tracer.exact, tracer.__array__):
        with pytest.raises(TypeError, match=r"f64\[3\].*traced by jit of f, made at user.py:3,"):
            look()
    assert "made at" not in str(escaped(_tracer()))


# -- effects ---------------------------------------------------------------------------------------


def _program(f: Any) -> Any:
    """The primitive and the parameters of a staged call of a function."""
    (eqn,) = np.make_jaxpr(np.jit(f))(np.ones(3)).eqns
    return eqn.primitive, eqn.params


def test_who_calls_host_code() -> None:
    def pure(x: Any) -> Any:
        return x + 1.0

    def printing(x: Any) -> Any:
        np.debug_print("{}", x)
        return x + 1.0

    assert not hosted(ADD, {}) and not has_effects(ADD, {})
    for f, found in ((pure, False), (printing, True)):
        primitive, params = _program(f)
        assert primitive.kind == "call"
        assert hosted(primitive, params) is has_effects(primitive, params) is found
