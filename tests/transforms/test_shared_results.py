"""Results of `jit` that show the memory of other results do so after a call, as in Python."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
import pytest

import lazynp as np


def whole_and_parts(x: Any) -> Any:
    y = x * 2
    return y, y[1:], y.T


def two_parts(x: Any) -> Any:
    y = x * 2
    return y[1:], y[:-1]


def in_containers(x: Any) -> Any:
    y = x * 2
    return {"a": y[::2], "b": [y[1:3], y]}


def the_same_part_twice(x: Any) -> Any:
    v = (x * 2)[1:]
    return v, v, v[1:]


def one_part(x: Any) -> Any:
    v = (x * 2)[1:]
    return v, v


def written_inside(x: Any) -> Any:
    y = x * 2
    v = y[1:]
    v[0] = 5
    return v, y


def rows(x: Any) -> Any:
    y = (x * 2)[:4].reshape(2, 2)
    return y[0], y[1], y.ravel(), y[:, None, 1]


def of_two_arrays(x: Any) -> Any:
    y, z = x * 2, x + 1
    return z[1:], y[:2], z, y[2:], y[1:][::-1]


def complex_parts(x: Any) -> Any:
    z = x + 2j
    return z.real, z.imag, z


def of_the_argument(x: Any) -> Any:
    y = x[1:] * 1
    return x[:2], y, y[1:], x


def part_before_the_same_array_twice(x: Any) -> Any:
    y = x * 2
    return y[1:], y, y, y[:2]


def put_into_a_list(x: Any) -> Any:
    y = x * 2
    found: list[Any] = []
    found.append(y[1:])
    found.append(y)
    return found


PROGRAMS: list[Callable[[Any], Any]] = [
    whole_and_parts, two_parts, in_containers, the_same_part_twice, one_part, written_inside, rows,
    of_two_arrays, complex_parts, of_the_argument, put_into_a_list,
    part_before_the_same_array_twice,
]  # fmt: skip


def flat(out: Any) -> list[Any]:
    if isinstance(out, dict):
        out = list(out.values())
    return [x for part in out for x in flat(part)] if isinstance(out, (list, tuple)) else [out]


def after_writes(out: Any) -> list[Any]:
    """What each array holds once all of them have been written, one after the other."""
    arrays = flat(out)
    for k, x in enumerate(arrays):
        x[...] = x + 10 * (k + 1)
        x[:1] *= 3
    return [numpy.asarray(x).tolist() for x in arrays]


@pytest.mark.parametrize("execution", ["adaptive", "compiled", "reference"])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_results_share_memory(program: Callable[[Any], Any], execution: Any) -> None:
    with np.config(execution=execution):
        compiled = np.jit(program)
        for n in (5, 4, 4, 5):
            got, want = compiled(np.arange(n) + 0.5), program(numpy.arange(n) + 0.5)
            assert after_writes(got) == after_writes(want)


@pytest.mark.parametrize("program", [whole_and_parts, two_parts, in_containers, one_part])
def test_with_sizes(program: Callable[[Any], Any]) -> None:
    compiled = np.jit(program, abstracted_axes={0: "n"})
    for n in (5, 4, 7):
        got, want = compiled(np.arange(n) + 0.5), program(numpy.arange(n) + 0.5)
        assert after_writes(got) == after_writes(want)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_derivatives_and_examples(program: Callable[[Any], Any]) -> None:
    def total(run: Any) -> Callable[[Any], Any]:
        return lambda x: sum((k + 1) * abs(v).sum() for k, v in enumerate(flat(run(x))))

    x = np.arange(5) + 0.5
    compiled = np.jit(program)
    want = np.grad(total(program))(x)
    for f in (np.grad(total(compiled)), np.jit(np.grad(total(compiled)))):
        numpy.testing.assert_allclose(f(x), want, rtol=1e-14)
    many = np.stack([x, 2 * x])
    want = flat(np.vmap(program)(many))
    for f in (np.vmap(compiled), np.jit(np.vmap(program)), np.jit(np.vmap(compiled))):
        for got, wanted in zip(flat(f(many)), want, strict=True):
            numpy.testing.assert_allclose(got, wanted)


REVERSED: dict[str, Callable[[Any, Any], Any]] = {
    "to the first": lambda y, k: (y, y[0::-1]),
    "two steps": lambda y, k: (y, y[0::-2]),
    "rows": lambda y, k: (y.reshape(-1, 1), y.reshape(-1, 1)[0::-1, :0:-1]),
    "from a size": lambda y, k: (y, y[k.shape[0] :: -1]),
    "of a view": lambda y, k: (y, y[::2][0::-1]),
    "that ends within": lambda y, k: (y, y[1:0:-1]),
}


@pytest.mark.parametrize("program", REVERSED.values(), ids=list(REVERSED))
def test_reversed_parts_of_unknown_length(program: Callable[[Any, Any], Any]) -> None:
    compiled = np.jit(lambda x, k: program(x * 1, k), abstracted_axes=({0: "n"}, {0: "k"}))
    for n in (4, 0, 1, 2, 3):
        for k in (0, 1, 2):
            x, counted = numpy.arange(n) + 1.0, numpy.zeros(k)
            want = program(x * 1, counted)
            whole, part = compiled(x, counted)
            assert numpy.asarray(whole).tolist() == want[0].tolist()
            assert numpy.asarray(part).tolist() == want[1].tolist()
            assert part.shape == want[1].shape
            whole, part = compiled(x, counted)
            part *= 2
            want[1][...] *= 2
            assert numpy.asarray(part).tolist() == want[1].tolist()


FROM_SIZES: dict[str, Callable[[Any], tuple[Any, ...]]] = {
    "reversed": lambda x: (x * 1, (x * 1)[::-1]),
    "beside": lambda x: (lambda y: (y, y[::-1], y[:0:-1]))(x * 1),
    "halves": lambda x: (lambda y: (y, y[x.shape[0] // 2 :], y[: x.shape[0] // 2]))(x * 1),
    "of the argument": lambda x: (x[::-1], x[x.shape[0] // 2 :], x[1:]),
    "of views": lambda x: (lambda y: (y[::-1], y[::-1][1:], y.reshape(1, -1)[:, ::-1]))(x * 1),
    "selected": lambda x: (lambda y: (y, y[::-1]))(x[x > 1] * 1),
}


@pytest.mark.parametrize("program", FROM_SIZES.values(), ids=list(FROM_SIZES))
def test_parts_that_begin_at_a_size_share_memory(program: Callable[[Any], Any]) -> None:
    compiled = np.jit(program, abstracted_axes={0: "n"})
    for n in (5, 4, 2, 3, 1):
        for k in range(len(program(numpy.zeros(n)))):
            x, theirs = np.arange(n) + 1.0, numpy.arange(n) + 1.0
            got, want = compiled(x), program(theirs)
            got[k][...] = 9
            want[k][...] = 9
            for a, b in zip((*got, x), (*want, theirs), strict=True):
                assert numpy.asarray(a).tolist() == b.tolist()


@pytest.mark.parametrize("turned", [False, True])
def test_a_view_that_is_given_back_is_the_one_that_was_given(turned: bool) -> None:
    def f(x, y):
        x[1] += y[0]
        return x, [y, x], x + 1

    compiled = np.jit(f)
    for k in range(4):
        a = np.arange(8.0) + k
        v, w = (a[::-1][k % 2 :], a[::2]) if turned else (a[1:], a[k % 3 :][:3])
        b = numpy.arange(8.0) + k
        s, t = (b[::-1][k % 2 :], b[::2]) if turned else (b[1:], b[k % 3 :][:3])
        got, want = compiled(v, w), f(s, t)
        assert got[0] is v and got[1][0] is w and got[1][1] is v
        numpy.testing.assert_array_equal(numpy.asarray(a), b)
        numpy.testing.assert_array_equal(numpy.asarray(got[2]), want[2])
