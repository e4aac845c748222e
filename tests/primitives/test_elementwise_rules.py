"""Promotion, jvp, transpose and batch rules of the elementwise rows."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from lazynp._array import Array, as_operand, new_array
from lazynp._avals import SCALAR_DTYPES, aval_of
from lazynp._flush import host_value
from lazynp._primitive import Missing, Undefined
from lazynp.primitives import elementwise, shaping
from tests.primitives.elementwise_values import DTYPES

ROWS = elementwise.ROWS
F8, C16 = np.dtype("f8"), np.dtype("c16")
assert shaping  # provides the engine's casts and broadcasts


def lazy(value: Any) -> Array:
    return new_array(as_operand(np.asarray(value)))


def host(x: Any) -> Any:
    return np.asarray(host_value(x._read()) if isinstance(x, Array) else x)


# -- points of each function's domain --------------------------------------------------------------

DOMAINS = {"arccosh": (1.2, 3.0), "log": (0.5, 3.0), "polygamma": (1.0, 3.0), "zeta": (2.0, 3.0)}
SECOND = {"polygamma": (0.5, 3.0), "remainder": (0.7, 0.75), "fmod": (0.7, 0.75)}
PARAMS: dict[str, dict[str, Any]] = {"convert": {"dtype": F8}, "integer_power": {"exponent": 3}}
INTEGERS = {"ldexp": 1}  # the operand that is an integer
FIXED = {("polygamma", 0), ("heaviside", 0), ("zeta", 0), ("gammainc_slope", 0)}


def _operands(name: str, dtype: np.dtype[Any], seed: int = 0) -> list[Any]:
    """Three points for each operand."""
    rng = np.random.default_rng(seed)
    low, high = DOMAINS.get(name, (0.2, 0.9))
    x = rng.uniform(low, high, 3)
    low, high = SECOND.get(name, (1.1, 2.0))
    y = rng.uniform(low, high, 3)
    if dtype.kind == "c":
        x, y = x + 0.3j * rng.normal(size=3), y + 0.3j * rng.normal(size=3)
    if name == "clip":
        return [np.array([0.2, 0.5, 0.9], dtype), np.full(3, 0.3, dtype), np.full(3, 0.7, dtype)]
    if name == "select":
        return [np.array([True, False, True]), x, y]
    if name == "ldexp":
        return [x, np.array([1, -2, 3])]
    if name == "polygamma":
        return [np.array([0.0, 1.0, 2.0]), y]
    count = 1 if name in PARAMS else _arity(name)
    return [x, y][:count]


def _arity(name: str) -> int:
    ufunc = ROWS[name].ufunc
    if ufunc is not None:
        return ufunc.nin
    return 1 if name in ("real", "imag", "convert", "integer_power") else 2


def _accepts(name: str, dtype: np.dtype[Any]) -> bool:
    if name == "complex_":
        return dtype == F8
    ufunc = ROWS[name].ufunc
    if ufunc is None:
        return name != "convert" or dtype == F8
    if name == "ldexp":
        return dtype == F8
    try:
        return ufunc.resolve_dtypes((*[dtype] * ufunc.nin, *[None] * ufunc.nout))[0] == dtype
    except TypeError:
        return False


def _cases(rule: str) -> list[Any]:
    return [
        pytest.param(name, dtype, id=f"{name}-{dtype.str[1:]}")
        for name, row in ROWS.items()
        for dtype in (F8, C16)
        if not isinstance(getattr(row.primitive, rule), Missing) and _accepts(name, dtype)
    ]


# -- jvp -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name, dtype", _cases("jvp"))
def test_jvp_is_the_finite_difference(name: str, dtype: np.dtype[Any]) -> None:
    prim, params = ROWS[name].primitive, PARAMS.get(name, {})
    operands = _operands(name, dtype)
    rng = np.random.default_rng(1)
    moving = [i for i, x in enumerate(operands) if x.dtype.kind in "fc" and (name, i) not in FIXED]
    directions: list[Any] = []
    for x in operands:
        g = rng.normal(size=3)
        directions.append(g + 1j * rng.normal(size=3) if x.dtype.kind == "c" else g)
    for chosen in [[i] for i in moving] + [moving]:
        tangents = [lazy(directions[i]) if i in chosen else None for i in range(len(operands))]
        out, tangent = prim.jvp([lazy(x) for x in operands], tangents, **params)
        h = 1e-6
        ahead, behind = (
            prim.reference(
                *[x + s * h * directions[i] if i in chosen else x for i, x in enumerate(operands)],
                **params,
            )
            for s in (1, -1)
        )
        want = (ahead - behind) / (2 * h)
        np.testing.assert_allclose(host(out), prim.reference(*operands, **params), rtol=1e-12)
        got = np.zeros(3) if tangent is None else host(tangent)
        assert tangent is None or tangent.aval is out.aval
        np.testing.assert_allclose(got, want, rtol=2e-6, atol=2e-7)


@pytest.mark.parametrize("char", ["e", "f"])
@pytest.mark.parametrize("name", ROWS)
def test_tangents_have_the_dtype_of_results(name: str, char: str) -> None:
    dtype = np.dtype(char)
    if not _accepts(name, dtype) or isinstance(ROWS[name].primitive.jvp, Missing):
        pytest.skip("takes no such operands, or has no derivative")
    prim, params = ROWS[name].primitive, PARAMS.get(name, {})
    values = [x if x.dtype.kind in "bi" else x.astype(dtype) for x in _operands(name, dtype)]
    moves = [x.dtype.kind == "f" and (name, i) not in FIXED for i, x in enumerate(values)]
    for xs in (values, [x[0] for x in values]):
        dots = [np.ones_like(x) if m else None for x, m in zip(xs, moves, strict=True)]
        out, dot = prim.jvp(
            [lazy(x) for x in xs], [None if t is None else lazy(t) for t in dots], **params
        )
        assert dot is None or out.dtype.kind != "f" or dot.aval is out.aval


def test_jvp_without_tangents_is_zero() -> None:
    x = lazy([1.0, 2.0])
    assert elementwise.add.jvp([x, x], [None, None])[1] is None
    assert elementwise.convert.jvp([x], [x], dtype=np.dtype("i4"))[1] is None
    n = lazy([1, 2])
    assert elementwise.multiply.jvp([n, n], [None, None])[1] is None


@pytest.mark.parametrize("name", ["maximum", "minimum", "fmax", "fmin"])
def test_ties_share_the_tangent(name: str) -> None:
    x, y = np.array([1.0, 2.0, np.nan, 1.0]), np.array([1.0, 1.0, 1.0, np.nan])
    one = lazy(np.ones(4))
    _, gx = ROWS[name].primitive.jvp([lazy(x), lazy(y)], [one, None])
    _, gy = ROWS[name].primitive.jvp([lazy(x), lazy(y)], [None, one])
    first = {"maximum": [0.5, 1, 1, 0], "minimum": [0.5, 0, 1, 0]}
    want = first.get(name, [0.5, float(name == "fmax"), 0, 1])
    np.testing.assert_array_equal(host(gx), want)
    np.testing.assert_array_equal(host(gy), 1 - np.array(want))


def test_power_at_its_edges() -> None:
    x, y = lazy([0.0, 0.0, 2.0]), lazy([0.0, 2.0, 0.0])
    one = lazy(np.ones(3))
    _, gx = elementwise.power.jvp([x, y], [one, None])
    _, gy = elementwise.power.jvp([x, y], [None, one])
    np.testing.assert_array_equal(host(gx), [0.0, 0.0, 0.0])
    np.testing.assert_allclose(host(gy), [0.0, 0.0, np.log(2.0)])


@pytest.mark.parametrize(
    ("name", "places"),
    [("arcsin", [1.7, -1.7]), ("arccos", [1.7, -1.7]), ("arcsinh", [1.7, -1.7]),
     ("arccosh", [0.3, -1.7]), ("sqrt", [-1.7])],
)  # fmt: skip
@pytest.mark.parametrize("side", [0.0, -0.0])
def test_both_sides_of_branch_cuts(name: str, places: list[float], side: float) -> None:
    """Along its cut, the function is continuous on each side."""
    turned = name == "arcsinh"  # its cut lies on the imaginary axis

    def along(h: float) -> Any:
        return np.array([complex(side, x + h) if turned else complex(x + h, side) for x in places])

    z, h, plain = along(0.0), 1e-6, getattr(np, name)
    direction = np.full(z.shape, 1j if turned else 1.0, complex)
    _, got = ROWS[name].primitive.jvp([lazy(z)], [lazy(direction)])
    want = (plain(along(h)) - plain(along(-h))) / (2 * h)
    np.testing.assert_allclose(host(got), want, rtol=1e-6)


# -- transpose -------------------------------------------------------------------------------------


def _inner(a: Any, b: Any) -> float:
    return float(np.sum(np.real(a * b)))


@pytest.mark.parametrize("name, dtype", _cases("transpose"))
def test_transpose_keeps_the_inner_product(name: str, dtype: np.dtype[Any]) -> None:
    prim, params = ROWS[name].primitive, PARAMS.get(name, {})
    operands = _operands(name, dtype)
    value = prim.reference(*operands, **params)
    rng = np.random.default_rng(3)
    ct = rng.normal(size=3)
    ct = ct + 1j * rng.normal(size=3) if value.dtype.kind == "c" else ct
    linear = {"divide": [0], "xdivy": [0], "ldexp": [0], "select": [1, 2], "integer_power": []}
    for i in linear.get(name, range(len(operands))):
        known: list[Any] = [lazy(x) for x in operands]
        known[i] = Undefined(aval_of((3,), operands[i].dtype))
        result = prim.transpose(lazy(ct), *known, **params)
        assert [r is not None for r in result] == [j == i for j in range(len(operands))] or (
            name == "imag" and dtype == F8
        )
        zeroed = [np.zeros(3, x.dtype) if _additive(name) else x for x in operands]
        zeroed[i] = operands[i]
        if name == "select":
            zeroed[0] = operands[0]
        mapped = prim.reference(*zeroed, **params)
        back = 0.0 if result[i] is None else host(result[i])
        assert result[i] is None or result[i].aval is known[i].aval
        np.testing.assert_allclose(_inner(mapped, ct), _inner(operands[i], back), rtol=1e-12)


def _additive(name: str) -> bool:
    """Linear in all operands together, rather than in one at a time."""
    return name in ("add", "subtract", "select", "complex_")


# -- batch -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [n for n in ROWS if n not in ("polygamma",)])
def test_batch_is_a_loop(name: str) -> None:
    prim, params = ROWS[name].primitive, PARAMS.get(name, {})
    dtype = F8 if _accepts(name, F8) else np.dtype("i8")
    many = [_operands(name, F8, seed) for seed in range(4)]
    if dtype.kind == "i":
        many = [[(10 * x).astype(dtype) for x in xs] for xs in many]
    for batched in itertools.product([True, False], repeat=len(many[0])):
        if not any(batched):
            continue
        operands = [
            np.stack([xs[i] for xs in many]) if is_batched else many[0][i]
            for i, is_batched in enumerate(batched)
        ]
        out = prim.batch(4, batched, *[lazy(x) for x in operands], **params)
        want = np.stack(
            [
                prim.reference(
                    *[x[k] if is_batched else x for x, is_batched in zip(operands, batched)],
                    **params,
                )
                for k in range(4)
            ]
        )
        assert out.dtype == want.dtype
        np.testing.assert_allclose(host(out), want, rtol=1e-12)


# -- promotion -------------------------------------------------------------------------------------

SCALARS = {bool: True, int: 1, float: 1.0, complex: 1j}


@pytest.mark.parametrize(
    "name", [n for n, r in ROWS.items() if r.ufunc and r.ufunc is getattr(np, n, None)]
)
def test_promotion_is_numpys(name: str) -> None:
    """Operands and results, for arrays and Python scalars; or the error."""
    row = ROWS[name]
    known = [*DTYPES, *SCALARS]
    for kinds in itertools.product(known, repeat=row.ufunc.nin):
        if all(k in SCALARS for k in kinds):
            continue
        ins = [aval_of((2,), k) if isinstance(k, np.dtype) else k for k in kinds]
        args = [np.ones(2, k) if isinstance(k, np.dtype) else SCALARS[k] for k in kinds]
        try:
            with np.errstate(all="ignore"):
                want = row.ufunc(*args)
        except TypeError as error:
            with pytest.raises(TypeError) as caught:
                row.primitive.explicit(ins, {})
            assert type(caught.value) is type(error) and str(caught.value) == str(error)
            continue
        avals = row.primitive.explicit(ins, {})
        assert row.primitive.abstract(*avals) is aval_of((2,), want.dtype), kinds


def test_select_promotes_as_result_type() -> None:
    for x, y in itertools.product([*DTYPES, *SCALARS], repeat=2):
        ins = [aval_of((), t) if isinstance(t, np.dtype) else t for t in (x, y)]
        values = [t if isinstance(t, np.dtype) else SCALARS[t] for t in (x, y)]
        values = [v if not isinstance(v, bool) else SCALAR_DTYPES[bool] for v in values]
        avals = elementwise.select.explicit([aval_of((3, 1), "?"), *ins], {})
        want = np.result_type(*values)
        assert [a.dtype for a in avals] == [np.dtype("?"), want, want]
        assert {a.shape for a in avals} == {(3, 1)}


def test_shapes_that_do_not_broadcast() -> None:
    with pytest.raises(ValueError) as caught:
        elementwise.add.explicit([aval_of((3,), "f8"), aval_of((2, 4), "f8")], {})
    with pytest.raises(ValueError) as numpys:
        np.add(np.zeros(3), np.zeros((2, 4)))
    assert str(caught.value) == str(numpys.value)


def test_weak_avals_promote_as_python_scalars() -> None:
    weak = aval_of((), "f8", weak=True)
    x, y = elementwise.multiply.explicit([weak, aval_of((2,), "f4")], {})
    assert x is y is aval_of((2,), "f4")
    assert elementwise.add.explicit([weak, weak], {}) == (weak, weak)
