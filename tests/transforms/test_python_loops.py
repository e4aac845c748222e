"""Python's loops and branches under `jit`: values, dtypes, arguments, exceptions, derivatives."""

from __future__ import annotations

import copy
import inspect
from pathlib import Path
from typing import Any

import numpy
import pytest

import lazynp as np
from tests.helpers import loaded

FILE = Path(__file__).with_name("loop_kernels.py")
PLAIN, OURS = loaded(FILE, "plain_kernels", numpy), loaded(FILE, "our_kernels", np)
NAMES = [n for n, f in vars(PLAIN).items() if inspect.isfunction(f) and n[0] != "_"]


def arguments(name: str) -> list[tuple[Any, ...]]:
    parameters = list(inspect.signature(getattr(PLAIN, name)).parameters)
    if name in PLAIN.PAIRS:
        return [(12, 18), (7, 0), (35, 21)]
    if name in PLAIN.INTEGERS:
        return [(1,), (6,), (7,)]
    if "[" in inspect.getsource(getattr(PLAIN, name)) or name in VECTOR:
        size = 3 if name in PLAIN.SMALL[:3] else 4 if name in PLAIN.SMALL else None
        return [(numpy.array(v[:size]),) for v in PLAIN.VECTORS]
    return [(x,) for x in PLAIN.SCALARS if parameters]


VECTOR = {
    "total_of_elements", "reversed_array", "enumerated", "enumerated_from", "if_in_loop",
    "counting", "continued", "bound_inside", "becomes_array", "swapped", "swapped_arguments",
    "rebound_arrays", "augmented_arrays", "rows_of_matrix", "rows_written", "nested_while",
    "helper_in_loop", "closure", "late_closure", "lambda_called", "methods", "zipped",
    "zipped_uneven", "enumerated_zip", "asserting",
    "two_names_in_turn", "view_of_the_row_before", "left_early",
}  # fmt: skip


# either branch's dtype in Python, the common one under jit
JOINED = {"joined_types", "and_of_numbers", "minimum_of_scalars", "conditional_expression"}


def same(got: Any, want: Any, joined: bool = False) -> None:
    """Values, dtypes, shapes."""
    if isinstance(want, tuple):
        assert isinstance(got, tuple) and len(got) == len(want)
        for g, w in zip(got, want, strict=True):
            same(g, w, joined)
        return
    got, want = numpy.asarray(got), numpy.asarray(want)
    assert got.shape == want.shape
    assert got.dtype == want.dtype or joined
    numpy.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("name", NAMES)
def test_as_python_runs_it(name: str) -> None:
    jitted = np.jit(getattr(OURS, name))
    for args in arguments(name):
        ours, theirs = copy.deepcopy(args), copy.deepcopy(args)
        want = getattr(PLAIN, name)(*theirs)
        same(jitted(*ours), want, name in JOINED)
        for x, y in zip(ours, theirs, strict=True):
            same(x, y)


# -- transformations -------------------------------------------------------------------------------

POINT = numpy.array([0.31, 1.72, -2.43, 2.57, 0.54, 1.15, -0.86, 3.17, -1.28, 0.09, 1.65, 3.71])
DIFFERENTIABLE = [n for n in NAMES if n not in {*PLAIN.PAIRS, *PLAIN.INTEGERS}]


def point(name: str) -> Any:
    given = arguments(name)[0][0]
    return POINT[: given.size] if isinstance(given, numpy.ndarray) else 0.37


def summed(namespace: Any, out: Any) -> Any:
    parts = out if isinstance(out, tuple) else (out,)
    return sum([(namespace.asarray(p).real * 1.0).sum() for p in parts])


def slopes(name: str, x: Any) -> Any:
    """Central differences."""
    f, h = getattr(PLAIN, name), 1e-6
    steps = numpy.eye(x.size) * h if isinstance(x, numpy.ndarray) else [h]
    found = [
        (summed(numpy, f(x + d)) - summed(numpy, f(x - d))) / (2 * h) for d in map(_plain, steps)
    ]
    return numpy.array(found).reshape(numpy.shape(x))


def _plain(step: Any) -> Any:
    return step if numpy.ndim(step) else float(step)


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_gradients(name: str) -> None:
    x = point(name)
    jitted = np.jit(getattr(OURS, name))
    gradient = np.grad(lambda y: summed(np, jitted(y * 1.0)))
    got = gradient(np.array(x) if isinstance(x, numpy.ndarray) else x)
    want = slopes(name, x)
    numpy.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)
    _, got = np.jvp(lambda y: summed(np, jitted(y * 1.0)), (x,), (numpy.ones_like(x),))
    numpy.testing.assert_allclose(got, want.sum(), rtol=1e-5, atol=1e-6)


BATCHED = [
    "if_else", "elif_chain", "return_in_nested_if", "and_or_not", "chained", "branch_writes",
    "branch_augments", "view_in_branch", "guarded_index", "total", "prefix_sums", "triangular",
    "if_in_loop", "largest", "broken_or_else", "continued", "returned_from_nest", "broken_inner",
    "bound_inside", "swapped", "appended", "newton", "while_broken", "while_else", "nested_while",
    "collatz", "gcd", "helper_in_loop", "closure", "edit_distance", "mandelbrot", "bubble_sort",
    "run_lengths", "binary_search",
]  # fmt: skip


@pytest.mark.parametrize("name", BATCHED)
def test_batches(name: str) -> None:
    """Of a function under jit, and under jit."""
    f, given = getattr(OURS, name), arguments(name)
    columns = [numpy.array(c) for c in zip(*given, strict=True)]
    each = [getattr(PLAIN, name)(*copy.deepcopy(args)) for args in given]
    want = each[0]
    if isinstance(want, tuple):
        stacked: Any = tuple(numpy.stack(parts) for parts in zip(*each, strict=True))
    else:
        stacked = numpy.stack(each)
    for batched in (np.vmap(np.jit(f)), np.jit(np.vmap(f))):
        got = batched(*map(np.array, columns))
        same(got, stacked, joined=True)


@pytest.mark.parametrize("name", ["elif_chain", "triangular", "recurrence", "swapped", "closure"])
def test_transformations_inside(name: str) -> None:
    """`jit(grad(f))`, and grad inside a function under jit."""
    x, f = point(name), getattr(OURS, name)
    want = slopes(name, x)
    of_sum = lambda y: summed(np, f(y * 1.0))  # noqa: E731
    given = np.array(x) if isinstance(x, numpy.ndarray) else x
    numpy.testing.assert_allclose(np.jit(np.grad(of_sum))(given), want, rtol=1e-5, atol=1e-6)

    @np.jit
    def inside(y):
        return np.grad(lambda z: summed(np, f(z * 1.0)))(y)

    numpy.testing.assert_allclose(inside(given), want, rtol=1e-5, atol=1e-6)


def power_by_halves(x: Any, n: int) -> Any:
    """It calls itself, through a global name."""
    if n == 0:
        return x * 0 + 1
    half = power_by_halves(x, n // 2)
    return half * half * (x if n % 2 else 1)


class Nested:
    def total(self, items: Any, scale: Any) -> Any:
        out = scale * 0
        for item in items:
            out = out + (self.total(item, scale) if isinstance(item, list) else item * scale)
        return out


def test_functions_that_call_themselves() -> None:
    for n in (0, 1, 5, 12):
        assert np.jit(lambda x, n=n: power_by_halves(x, n))(1.5) == 1.5**n
        assert np.jit(power_by_halves, static_argnums=1)(np.array(1.5), n) == 1.5**n
    assert np.jit(lambda s: Nested().total([1, [2, [3], 4]], s))(2.0) == 20.0

    def local(x: Any, n: int) -> Any:
        return x if n == 0 else local(x * 2.0, n - 1)

    assert np.jit(lambda x: local(x, 3))(1.0) == 8.0


ROWS = numpy.random.default_rng(0).normal(size=(1000, 2))
PLACES = numpy.random.default_rng(0).integers(0, 3, 1000)


def over_numbers(x: Any) -> Any:
    s = x[0] * 1.0
    for y in ROWS[:, 0]:
        s = np.sin(s) * y + x[1]
    return s


def over_rows_and_places(x: Any) -> Any:
    s, kept = x[:2] * 1.0, []
    for k, (row, place) in enumerate(zip(ROWS, PLACES, strict=True)):
        s = np.tanh(s * row) + x[place] + 0.01 * k
        kept.append(s[0])
    return s.sum() + np.array(kept).sum()


def until_one(x: Any) -> Any:
    s = x[0] * 1.0
    for row in ROWS:
        if row[0] > 1.2:
            break
        s = s * row[0] + x[1] if row[1] > 0 else s - row[1]
    return s


@pytest.mark.parametrize("f", [over_numbers, over_rows_and_places, until_one])
def test_over_arrays_of_numpy(f: Any) -> None:
    """Many rounds are one loop: unrolled, they would be too many operations."""
    x = np.array([0.3, -0.2, 0.7])
    with np.config(execution="reference"):  # where each operation is a program, it takes long
        value, slope = numpy.asarray(f(x)), numpy.asarray(np.grad(f)(x))
    same(np.jit(f)(x), value)
    same(np.jit(np.grad(f))(x), slope)


def test_over_arrays_of_numpy_that_are_written() -> None:
    """Then Python unrolls the loop."""

    def total(x: Any) -> Any:
        rows, s, count = ROWS[:100].copy(), x[0] * 1.0, 0
        for row, place in zip(rows, PLACES[:100], strict=True):
            row *= 2
            count += int(place)
            s = s * 0.9 + row[0]
        return s + rows.sum() + numpy.zeros(count).size

    x = np.array([0.3])
    same(np.jit(total)(x), total(x))


def with_keywords(x: Any) -> Any:
    s = x[0] * 1.0
    for u, v in zip(ROWS[:, 0], ROWS[:, 1], strict=True):
        s = np.sin(s + u) * v
    for k, u in enumerate(np.asarray(ROWS[:, 0]), start=2):
        s = np.cos(s + k) * u + x[1]
    return s


def test_keywords_of_zip_and_enumerate() -> None:
    x = np.array([0.3, -0.2])
    same(np.jit(with_keywords)(x), with_keywords(x))
    same(np.jit(np.grad(with_keywords))(x), np.grad(with_keywords)(x))


def test_zip_that_is_strict() -> None:
    def total(x: Any, y: Any) -> Any:
        s = 0.0
        for u, v in zip(x, y, strict=True):
            s = s + u * v
        return s

    x = np.arange(20.0)
    same(np.jit(total)(x, x), total(x, x))
    for n in (0, 3, 19, 21):
        with pytest.raises(ValueError, match=r"zip\(\) argument 2 is (shorter|longer) than"):
            np.jit(total)(x, np.arange(float(n)))
