"""Type promotion: the standard's tables, for functions, operators and scalars."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from array_api_tests.operators import BINARY, OPERATORS, REFLECTED, scalar_of, symbol
from array_api_tests.support import (
    COMPLEX,
    FLOATS,
    INTEGERS,
    SIGNED,
    UNSIGNED,
    check,
    dtype,
    make,
    xp,
)  # fmt: skip


def promoted(one: str, other: str) -> str | None:
    """By the standard's tables; None where promotion is unspecified."""
    if one == other:
        return one
    for kind in (SIGNED, UNSIGNED, FLOATS, COMPLEX):
        if one in kind and other in kind:
            return max(one, other, key=kind.index)
    if one in COMPLEX and other in FLOATS or one in FLOATS and other in COMPLEX:
        wide = "64" in (one + other).replace("complex64", "").replace("complex128", "float64")
        return "complex128" if wide else "complex64"
    if one in UNSIGNED and other in SIGNED:
        one, other = other, one
    if one in SIGNED and other in UNSIGNED and other != "uint64":
        bits = max(int(one[3:]), 2 * int(other[4:]))
        return f"int{bits}"
    return None


NAMES = (*INTEGERS, *FLOATS, *COMPLEX)
MIXED = [(a, b, promoted(a, b)) for a in NAMES for b in NAMES if promoted(a, b)]
TABLE = [(a, b, c) for a, b, c in MIXED if c is not None]


def _pair(one: str, other: str) -> tuple[Any, Any]:
    return make(np.ones(2, one)), make(np.ones(2, other))


@pytest.mark.parametrize("one, other, wanted", TABLE)
def test_table(one: str, other: str, wanted: str) -> None:
    x, y = _pair(one, other)
    assert xp.result_type(x, y) == dtype(wanted)
    assert xp.result_type(x.dtype, y.dtype) == dtype(wanted)
    assert xp.concat([x, y]).dtype == dtype(wanted)
    assert xp.stack([x, y]).dtype == dtype(wanted)
    assert xp.where(make([True, False]), x, y).dtype == dtype(wanted)


@pytest.mark.parametrize("function", BINARY)
def test_functions(function: str) -> None:
    f = BINARY[function]
    for one, other, wanted in TABLE:
        if not {one, other, wanted} <= set(f.dtypes) or function == "nextafter" and one != other:
            continue
        # nothing keeps the result, so its values are never computed
        found = getattr(xp, function)(*_pair(one, other)).dtype
        assert found == dtype(f.out(wanted)), (one, other)


@pytest.mark.parametrize("one, other, wanted", TABLE)
def test_values(one: str, other: str, wanted: str) -> None:
    """Operands are converted; their bits are not reinterpreted."""
    x, y = np.asarray([0, 1, 100], one), np.asarray([5, 0, 27], other)
    check(xp.add(make(x), make(y)), (x.astype(wanted) + y.astype(wanted)))
    if wanted not in COMPLEX:
        check(make(x) < make(y), x.astype(wanted) < y.astype(wanted))


@pytest.mark.parametrize("operator", OPERATORS)
def test_operators(operator: str) -> None:
    f, apply = BINARY[OPERATORS[operator]], symbol(operator)
    for one, other, wanted in TABLE:
        if {one, other, wanted} <= set(f.dtypes):
            assert apply(*_pair(one, other)).dtype == dtype(f.out(wanted)), (one, other)


@pytest.mark.parametrize("operator", OPERATORS)
def test_scalars(operator: str) -> None:
    """ "the result must have the dtype of the array", on either side."""
    f, apply = BINARY[OPERATORS[operator]], symbol(operator)
    for name in f.dtypes:
        x = make(np.ones(2, name))
        scalars = [scalar_of(name, 1)]
        if name in FLOATS + COMPLEX:
            scalars = [1, 1.0, scalar_of(name, 1)]
        for scalar in scalars:
            assert apply(x, scalar).dtype == dtype(f.out(name)), (name, scalar)
            assert apply(scalar, x).dtype == dtype(f.out(name)), (scalar, name)


@pytest.mark.parametrize("operator", ["__add__", "__mul__", "__sub__", "__truediv__"])
def test_complex_scalars(operator: str) -> None:
    """2024.12: a complex scalar with a real floating array gives the complex dtype."""
    for name, wanted in (("float32", "complex64"), ("float64", "complex128")):
        x = make(np.ones(2, name))
        assert symbol(operator)(x, 1j).dtype == dtype(wanted)
        assert symbol(operator)(1j, x).dtype == dtype(wanted)


def test_zero_dimensions_promote_alike() -> None:
    """ "type promotion must not depend on the value or the rank" of the operands."""
    x = xp.asarray(1, dtype=xp.int64)
    y = make(np.ones(3, "int8"))
    assert (x + y).dtype == xp.int64
    a = xp.asarray(1.0, dtype=xp.float64)
    assert (a * make(np.ones(3, "float32"))).dtype == xp.float64


def test_reflected_operators_exist() -> None:
    x = make(np.ones(2, "int32"))
    for operator in REFLECTED:
        assert hasattr(x, f"__r{operator.strip('_')}__")


@pytest.mark.parametrize("function", ["sum", "prod", "cumulative_sum", "cumulative_prod"])
@pytest.mark.parametrize("name", NAMES)
def test_accumulations(function: str, name: str) -> None:
    """Narrow integers become the default integer dtype of their kind; other dtypes stay."""
    x = make(np.ones(2, name))
    wanted = "int64" if name in SIGNED else "uint64" if name in UNSIGNED else name
    assert getattr(xp, function)(x).dtype == dtype(wanted)
    assert getattr(xp, function)(x, dtype=x.dtype).dtype == x.dtype
