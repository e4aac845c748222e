"""Slices whose bounds are read from arrays: a host's program runs their places one by one."""

from __future__ import annotations

from types import FunctionType
from typing import Any

import numpy
import pytest
from hypothesis import given, settings, strategies as st

import lazynp as np
from lazynp import grad, jit, make_jaxpr, vmap
from lazynp._interpreter import eval_reference
from lazynp._jaxpr import Jaxpr, jaxprs_in
from lazynp.lowering._emit import module_text
from lazynp.transforms._stretches import on_host, with_stretches

WIDE = 200  # elements: windows of so many are held, and a few are computed


# -- programs over rows of a ragged array ----------------------------------------------------------


def sums(at: Any, x: Any, c: Any) -> Any:
    out = np.zeros(len(at) - 1, x.dtype)
    for i in range(len(at) - 1):
        out[i] = x[at[i] : at[i + 1]].sum()
    return out


def products(at: Any, x: Any, c: Any) -> Any:
    out = np.ones(len(at) - 1)
    for i in range(len(at) - 1):
        out[i] = (0.5 + x[at[i] : at[i + 1]]).prod()
    return out


def extremes(at: Any, x: Any, c: Any) -> Any:
    out = np.zeros((len(at) - 1, 2), x.dtype)
    for i in range(len(at) - 1):
        row = x[at[i] : at[i + 1]]
        if len(row):
            out[i, 0], out[i, 1] = row.max(), row.min()
    return out


def means(at: Any, x: Any, c: Any) -> Any:
    out = np.zeros(len(at) - 1)
    for i in range(len(at) - 1):
        row = x[at[i] : at[i + 1]]
        out[i] = row.mean() if len(row) > 0 else -1.0
    return out


def asked(at: Any, x: Any, c: Any) -> Any:
    out = np.zeros((len(at) - 1, 2), bool)
    for i in range(len(at) - 1):
        row = x[at[i] : at[i + 1]]
        out[i, 0], out[i, 1] = (row > 3).any(), (row < 9).all()
    return out


def dots(at: Any, x: Any, c: Any) -> Any:
    out = np.zeros(len(at) - 1)
    for i in range(len(at) - 1):
        begin, end = at[i], at[i + 1]
        out[i] = np.dot(1.0 * x[begin:end], numpy_like(x)[begin:end])
    return out


def gathered(at: Any, x: Any, c: Any) -> Any:
    """A sparse matrix times a vector."""
    y = c[:7] * 1.0
    out = np.zeros(len(at) - 1)
    for i in range(len(at) - 1):
        row = slice(at[i], at[i + 1])
        out[i] = (1.0 * x[row]) @ y[c[row]]
    return out


def rows_of_matrix(at: Any, x: Any, c: Any) -> Any:
    m = np.stack([1.0 * x, 2.0 * x, 3.0 * x])
    out = np.zeros(len(at) - 1)
    for i in range(len(at) - 1):
        out[i] = (m[i % 3, at[i] : at[i + 1]] ** 2).sum()
    return out


def columns_of_matrix(at: Any, x: Any, c: Any) -> Any:
    m = np.stack([1.0 * x, 2.0 * x, 3.0 * x], axis=1)
    out = np.zeros(len(at) - 1)
    for i in range(len(at) - 1):
        out[i] = m[at[i] : at[i + 1], i % 3].sum()
    return out


def written(at: Any, x: Any, c: Any) -> Any:
    out = np.zeros(len(x))
    for i in range(len(at) - 1):
        row = x[at[i] : at[i + 1]]
        out[at[i] : at[i + 1]] = row * 2.0 - row.sum()
    return out


def written_again(at: Any, x: Any, c: Any) -> Any:
    """Each store adds to what the ones before have left."""
    out = np.zeros(len(x))
    for i in range(len(at) - 1):
        out[at[i] : at[i + 1]] += i + 1.0
        out[at[i] : at[i + 1]] = out[at[i] : at[i + 1]] * out[at[i] : at[i + 1]]
    return out


def taken_from_itself(at: Any, x: Any, c: Any) -> Any:
    """What is written is read at other places: as it was before."""
    out = 1.0 * x
    for i in range(len(at) - 1):
        row = slice(at[i], at[i + 1])
        out[row] = out[c[row]] + 1.0
    return out


def open_ends(at: Any, x: Any, c: Any) -> Any:
    out = np.zeros((len(at) - 1, 2))
    for i in range(len(at) - 1):
        out[i, 0], out[i, 1] = x[at[i] :].sum(), x[: at[i]].sum()
    return out


def places(at: Any, x: Any, c: Any) -> Any:
    out = np.zeros((len(at) - 1, 2), int)
    for i in range(len(at) - 1):
        if at[i] < at[i + 1]:
            row = x[at[i] : at[i + 1]]
            out[i, 0], out[i, 1] = row.argmax(), np.argmin(row)
    return out


def spreads(at: Any, x: Any, c: Any) -> Any:
    """Slices within a branch, between bounds that are read before it."""
    out = np.zeros((len(at) - 1, 3))
    for i in range(len(at) - 1):
        begin, end = at[i], at[i + 1]
        if end - begin > 1:
            row = 1.0 * x[begin:end]
            out[i] = row.var(), np.std(row, ddof=1), ((row - row.mean()) ** 2).sum()
    return out


def added_at_places(at: Any, x: Any, c: Any) -> Any:
    """Places that come twice count once: all are read before one is written."""
    out = np.zeros(9, x.dtype)
    for i in range(len(at) - 1):
        begin, end = at[i], at[i + 1]
        out[c[begin:end]] += x[begin:end]
        out[c[begin:end] - 7] *= 2
    return out


def stored_at_places(at: Any, x: Any, c: Any) -> Any:
    """The last one counts of places that come twice."""
    out = np.zeros(9, x.dtype)
    for i in range(len(at) - 1):
        out[c[at[i] : at[i + 1]] + 1] = x[at[i] : at[i + 1]]
        out[c[at[i] : at[i + 1]]] = 1
    return out


def places_written_at_places(at: Any, x: Any, c: Any) -> Any:
    out = c.copy()
    for i in range(len(at) - 1):
        out[out[at[i] : at[i + 1]]] = c[at[i] : at[i + 1]] % 5
    return out


def rows_at_places(at: Any, x: Any, c: Any) -> Any:
    out = np.zeros((9, 3))
    for i in range(len(at) - 1):
        out[c[at[i] : at[i + 1]]] += x[i] + x[:3]
        out[c[at[i] : at[i + 1]], 1] -= x[at[i] : at[i + 1]]
        out[2, c[at[i] : at[i + 1]] % 3] = 4
    return out


def running(at: Any, x: Any, c: Any) -> Any:
    out = x.copy()
    for i in range(len(at) - 1):
        begin, end = at[i], at[i + 1]
        out[begin:end] = np.cumsum(x[begin:end]) + np.cumsum(np.cumsum(x[begin:end]) * 2)
    return out


def running_reduced(at: Any, x: Any, c: Any) -> Any:
    out = np.zeros((len(at) - 1, 4))
    for i in range(len(at) - 1):
        row = x[at[i] : at[i + 1]]
        out[i, 0] = np.cumsum(row - 3.0).sum() + np.cumprod(row * 0.25).sum()
        out[i, 1] = np.cumsum(row - 3.0) @ row
        if at[i] < at[i + 1]:
            out[i, 2] = np.cumsum(row - 3.0).max() + np.cumprod(row - 3.0).min()
            out[i, 3] = np.cumsum(row - 3.0).argmax()
    return out


def numpy_like(x: Any) -> Any:
    return x * 1.0


PROGRAMS = [
    sums, products, extremes, means, asked, dots, gathered, rows_of_matrix, columns_of_matrix,
    written, written_again, taken_from_itself, open_ends, places, spreads,
    added_at_places, stored_at_places, places_written_at_places, rows_at_places,
    running, running_reduced,
]  # fmt: skip


def ragged(seed: int, dtype: Any = "f8", rows: int = 25) -> tuple[Any, Any, Any]:
    """Bounds of rows, some of them empty, and a longer array; small integers, which add up to the
    same in any order.
    """
    rng = numpy.random.default_rng(seed)
    at = numpy.concatenate(([0], numpy.cumsum(rng.integers(0, 8, rows))))
    return at, rng.integers(1, 9, WIDE).astype(dtype), rng.integers(0, 7, WIDE)


def ours(xs: Any) -> list[Any]:
    return [np.array(x) for x in xs]


def by_numpy(program: Any, xs: Any) -> Any:
    return FunctionType(program.__code__, globals() | {"np": numpy})(*xs)


@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "i4", "u1", "c16"])
@pytest.mark.parametrize("program", PROGRAMS)
def test_as_in_python(program: Any, dtype: str) -> None:
    if dtype == "c16" and program not in (sums, written_again):
        return  # these compare, or write real numbers
    given_ = ragged(3, dtype)
    want = by_numpy(program, given_)
    got = numpy.asarray(jit(program, loops="stage")(*ours(given_)))
    assert got.dtype == want.dtype
    numpy.testing.assert_allclose(got, want, rtol=1e-6 if dtype == "f4" else 1e-13)


ANY_BOUNDS = {
    "sums", "means", "asked", "gathered", "written", "written_again", "taken_from_itself",
    "open_ends", "added_at_places", "stored_at_places", "places_written_at_places",
    "running",
}  # fmt: skip


@settings(deadline=None, max_examples=60)
@given(
    st.lists(st.integers(-WIDE - 3, WIDE + 3), min_size=2, max_size=9),
    st.sampled_from(
        [
            sums,
            means,
            asked,
            gathered,
            written,
            written_again,
            taken_from_itself,
            open_ends,
            added_at_places,
            stored_at_places,
            places_written_at_places,
        ]
    ),
)
def test_bounds_of_any_kind(at: list[int], program: Any) -> None:
    """From the end, behind the end, the wrong way round."""
    _, x, c = ragged(1)
    places = numpy.array(at)
    want = by_numpy(program, (places, x, c))
    got = numpy.asarray(_staged(program)(*ours((places, x, c))))
    numpy.testing.assert_array_equal(got, want)


_made: dict[Any, Any] = {}


def _staged(program: Any) -> Any:
    return _made.setdefault(program, jit(program, loops="stage"))


# -- what is computed ------------------------------------------------------------------------------


def rounds(program: Any) -> list[Jaxpr]:
    """The bodies of its loops, as a host's program holds them."""
    found: list[Jaxpr] = []

    def look(jaxpr: Jaxpr) -> None:
        for eqn in jaxpr.eqns:
            if eqn.primitive.name in ("scan", "while"):
                found.append(list(jaxprs_in(eqn.params))[-1])
            for inner in jaxprs_in(eqn.params):
                look(inner)

    look(on_host(make_jaxpr(jit(program, loops="stage"))(*ours(ragged(0)))))
    return found


@pytest.mark.parametrize(
    "program", [p for p in PROGRAMS if p not in (dots, rows_at_places)], ids=lambda p: p.__name__
)
def test_no_round_computes_a_whole_window(program: Any) -> None:
    """What is as long as the window is an array that is read or written."""
    bodies = rounds(program)
    assert bodies
    for body in bodies:
        made = [(e.primitive.name, v.aval.shape) for e in body.eqns for v in e.outputs]
        long = [name for name, shape in made if WIDE in shape]
        assert set(long) <= {"over_stretch", "cond"}, long
        assert "over_stretch" in str(body)


def test_slices_that_the_loop_counts_stay_windows() -> None:
    """A window of these is hardly longer than what it holds, and vectors take it at once."""

    def prefixes(at: Any, x: Any, c: Any) -> Any:
        out = np.zeros(len(x))
        for i in range(len(x)):
            out[i] = x[:i].sum()
        return out

    assert all("over_stretch" not in str(body) for body in rounds(prefixes))


@pytest.mark.parametrize("program", PROGRAMS)
def test_both_forms_of_a_round_compute_the_same(program: Any) -> None:
    jaxpr = make_jaxpr(jit(program, loops="stage"))(*ours(ragged(5)))
    values = ragged(5)
    with numpy.errstate(all="ignore"):
        want = eval_reference(jaxpr, values)
        got = eval_reference(on_host(jaxpr), values)
    for g, w in zip(got, want, strict=True):
        numpy.testing.assert_allclose(g, w, rtol=1e-13)


def test_a_program_for_another_platform_stays_as_it_is() -> None:
    jaxpr = make_jaxpr(jit(sums, loops="stage"))(*ours(ragged(0)))
    assert module_text(jaxpr).count("stablehlo.while") == 2
    assert module_text(jaxpr, platform="cuda").count("stablehlo.while") == 1


def test_jaxprs_without_stretches_are_themselves() -> None:
    jaxpr = make_jaxpr(lambda x: x + 1.0)(np.ones(WIDE))
    assert with_stretches(jaxpr) is jaxpr and on_host(jaxpr) is jaxpr


# -- with the rest of the library ------------------------------------------------------------------


def test_derivatives() -> None:
    at, x, c = ours(ragged(2))

    def loss(x: Any) -> Any:
        return (gathered(at, x, c) ** 2).sum() + written(at, x, c)[5:150].sum()

    want = grad(loss)(x)
    got = grad(jit(loss, loops="stage"))(x)
    numpy.testing.assert_allclose(numpy.asarray(got), numpy.asarray(want), rtol=1e-12)


@pytest.mark.parametrize("program", [added_at_places, stored_at_places, rows_at_places])
def test_derivatives_and_examples_of_stores_at_places(program: Any) -> None:
    many = [ragged(s) for s in range(3)]
    at, x, c = (np.array(numpy.stack(z)) for z in zip(*many, strict=True))
    got = vmap(jit(program, loops="stage"))(at, x, c)
    want = [by_numpy(program, one) for one in many]
    numpy.testing.assert_allclose(numpy.asarray(got), numpy.stack(want), rtol=1e-13)
    one, direction = many[0], numpy.random.default_rng(4).normal(size=WIDE)
    slopes = grad(lambda x: (jit(program, loops="stage")(at[0], x, c[0]) ** 2).sum())(x[0])
    up, down = [(by_numpy(program, (one[0], one[1] + s * direction, one[2])) ** 2).sum()
                for s in (1e-4, -1e-4)]  # fmt: skip
    numpy.testing.assert_allclose(slopes @ direction, (up - down) / 2e-4, rtol=1e-5)


def test_examples_with_rows_of_their_own() -> None:
    many = [ragged(s) for s in range(3)]
    at, x, c = (np.array(numpy.stack(z)) for z in zip(*many, strict=True))
    got = vmap(jit(gathered, loops="stage"))(at, x, c)
    want = [by_numpy(gathered, one) for one in many]
    numpy.testing.assert_allclose(numpy.asarray(got), numpy.stack(want), rtol=1e-13)


def test_a_place_outside_is_an_error_and_named() -> None:
    at, x, c = ragged(2)
    c[at[-1] + 1] = 99  # behind the last row: nobody reads it
    jit(gathered, loops="stage")(*ours((at, x, c))).sum().item()
    c[at[4]] = 99
    with pytest.raises(IndexError, match="index 99 is out of bounds for axis 0 with size 7"):
        jit(gathered, loops="stage")(*ours((at, x, c))).sum().item()


def test_places_must_be_integers() -> None:
    def wrong(at: Any, x: Any, c: Any) -> Any:
        out = np.zeros(len(at) - 1)
        for i in range(len(at) - 1):
            out[i] = c[x[at[i] : at[i + 1]]].sum()
        return out

    with pytest.raises(IndexError, match="arrays used as indices must be of integer"):
        jit(wrong)(*ours(ragged(2)))


def test_the_largest_of_nothing_is_an_error() -> None:
    def largest(at: Any, x: Any, c: Any) -> Any:
        out = np.zeros(len(at) - 1)
        for i in range(len(at) - 1):
            out[i] = x[at[i] : at[i + 1]].max()
        return out

    at, x, c = ragged(2)
    with pytest.raises(ValueError, match="zero-size array to reduction operation maximum"):
        jit(largest, loops="stage")(*ours((at, x, c))).sum().item()
    full = numpy.arange(0, WIDE, 8)
    want = numpy.maximum.reduceat(x, full[:-1])
    got = jit(largest, loops="stage")(*ours((full, x, c)))
    numpy.testing.assert_array_equal(numpy.asarray(got), want)


def test_the_first_nan_is_where_the_extremes_are() -> None:
    rng = numpy.random.default_rng(8)
    at = numpy.arange(0, WIDE, 5)
    x = rng.integers(0, 4, WIDE).astype(float)
    x[rng.random(WIDE) < 0.2] = numpy.nan
    x[rng.random(WIDE) < 0.2] = -numpy.inf
    want = by_numpy(places, (at, x, x))
    got = jit(places, loops="stage")(*ours((at, x, x)))
    numpy.testing.assert_array_equal(numpy.asarray(got), want)


@pytest.mark.parametrize("dtype", ["f2", "f4"])
def test_sums_of_many_small_numbers(dtype: str) -> None:
    """NumPy adds in pairs; one after the other, in the same dtype, most of them would be lost."""
    count = 60_000 if dtype == "f2" else 2_000_000
    x = numpy.full(count, 0.5, dtype)
    x[0] = 2000.0 if dtype == "f2" else 2e7
    at = numpy.array([0, count, count])
    (got, _) = numpy.asarray(_staged(sums)(*ours((at, x, at))))
    assert abs(float(got) - x.astype("f8").sum()) <= 4 * numpy.spacing(got)


def test_a_stretch_that_is_all_of_the_window() -> None:
    """The number outside is none of its elements."""
    x = numpy.full(WIDE, 300.0)
    at = numpy.array([0, WIDE, WIDE])
    got = jit(extremes, loops="stage")(*ours((at, x, numpy.zeros(WIDE, int))))
    assert numpy.asarray(got).tolist() == [[300.0, 300.0], [0.0, 0.0]]
