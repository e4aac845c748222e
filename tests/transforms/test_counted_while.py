"""`while k < n: ...; k += 1` under `jit`: values, what k is afterwards, how often it is traced."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
import pytest

import lazynp as np


def up(x: Any) -> Any:
    k = 0
    while k < len(x):
        x[k] = x[k - 1] * 0.5 + k
        k += 1
    return x, k


def up_by_three(x: Any) -> Any:
    k = 2
    while k <= x.shape[0] - 2:
        x[k] += x[k - 1]
        k += 3
    return x.sum() + k


def down(x: Any) -> Any:
    k = x.size - 2
    while k >= 0:
        x[k] -= 0.5 * x[k + 1]
        k -= 1
    return x, k


def nested(x: Any) -> Any:
    i, total = 0, 0.0
    while i < len(x) - 1:
        j = i + 1
        while j < len(x):
            if x[j] < x[i]:
                x[i], x[j] = x[j], x[i]
            j += 1
        total += x[i] * j
        i += 1
    return x, total, i


def ended_early(x: Any) -> Any:
    k, found = 0, -1
    while k < len(x):
        if x[k] > 3:
            found = k
            break
        x[k] += 1
        k += 1
    return x, found, k


def returns_inside(x: Any) -> Any:
    k = 1
    while k < len(x):
        if x[k] > 3.0:
            return x[k] * k
        x[0] += x[k]
        k += 1
    return x[0]


def passes_over(x: Any) -> Any:
    k, total = 0, 0.0
    while k < 12:
        k += 1
        if x[k % 3] > 1:
            continue
        total += k * x[0]
    return total


def changes_the_bound(x: Any) -> Any:
    k, n, total = 0, 12, x[0]
    while k < n:
        total = total + x[k % 4]
        n -= 1
        k += 1
    return total, k, n


def grows_a_list(x: Any) -> Any:
    queue, k = [x[0]], 0
    while k < len(queue):
        if k < 5:
            queue.append(queue[-1] + x[k])
        k += 1
    return queue[-1], k


def changes_its_counter(x: Any) -> Any:
    k, total = 0, 0.0
    while k < 20:
        total += x[k % 4]
        if k == 5:
            k = 11
        k += 1
    return total, k


def by_a_float(x: Any) -> Any:
    t, total = 0.0, 0.0
    while t < 10:
        total += x[0] * t
        t += 1
    return total, t


def to_a_float(x: Any) -> Any:
    k, total = 0, 0.0
    while k < 9.5 * 1:
        total += x[0] * k
        k += 1
    return total, k


def to_a_value(x: Any) -> Any:
    k, n = 0, 12
    m = (x > 1).sum()
    total = 0.0
    while k < m:
        total += x[k]
        k += 1
    return total, k, n


def bound_by_an_inner_loop(x: Any) -> Any:
    k, n, total = 0, 12, 0.0
    while k < n:
        total += x[k % 4]
        for n in range(9 + k // 4, 10):
            total -= 0.5 * n
        k += 1
    return total, k, n


def stepped_in_two_ways(x: Any) -> Any:
    k, total = 0, 0.0
    while k < 30:
        total += x[k % 4]
        if k % 7 == 3:
            k += 2
        k += 1
    return total, k


def no_round(x: Any) -> Any:
    k = 7
    while k < 5:
        x[0] = 9
        k += 1
    return x, k


def otherwise(x: Any) -> Any:
    k = 0
    while k < 11:
        x[k % 3] += k
        k += 1
    else:
        x[1] = -k
    return x, k


def shapes_follow(x: Any) -> Any:
    k, total = 0, 0.0
    while k < 15:
        total += x[k % 4]
        k += 1
    return np.zeros(k)[:2] + total if type(x) is np.ndarray else numpy.zeros(k)[:2] + total


PROGRAMS: list[Callable[[Any], Any]] = [
    up, up_by_three, down, nested, ended_early, returns_inside, passes_over, changes_the_bound,
    grows_a_list, changes_its_counter, by_a_float, to_a_float, to_a_value,
    bound_by_an_inner_loop, stepped_in_two_ways, no_round, otherwise,
    shapes_follow,
]  # fmt: skip
VALUES = [numpy.linspace(0, 5, 16), numpy.linspace(4, -1, 13), numpy.sin(numpy.arange(11.0)) * 2]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_as_in_python(program: Callable[[Any], Any]) -> None:
    compiled = np.jit(program)
    for values in VALUES:
        ours, theirs = np.array(values), values.copy()
        got, want = compiled(ours), program(theirs)
        if not isinstance(want, tuple):
            got, want = (got,), (want,)
        for a, b in zip(got, want, strict=True):
            numpy.testing.assert_allclose(numpy.asarray(a), b, rtol=1e-14)
        numpy.testing.assert_allclose(numpy.asarray(ours), theirs, rtol=1e-14)


@pytest.mark.parametrize("program", [up, up_by_three, down, otherwise, shapes_follow])
def test_gradients(program: Callable[[Any], Any]) -> None:
    def total(x: Any) -> Any:
        out = program(x.copy())
        out = out if isinstance(out, tuple) else (out,)
        return sum(np.sum(abs(v) * 1.5) for v in out)

    x = np.array(VALUES[0])
    numpy.testing.assert_allclose(np.jit(np.grad(total))(x), np.grad(total)(x), rtol=1e-12)


def test_a_long_loop_is_staged_once() -> None:
    def plain(x: Any) -> Any:
        k = 0
        while k < 500:
            x[k % len(x)] += np.sin(x[k % 3])
            k += 1
        return x

    compiled = np.jit(plain)
    got = compiled(np.ones(10))
    numpy.testing.assert_allclose(got, plain(np.ones(10)), rtol=1e-14)
    equations = len(compiled.lower(np.ones(10)).jaxpr.eqns)
    assert equations < 20


def of_floats(x: Any) -> Any:
    t, dt, y = 0.0, 0.05, x * 1.0
    while t <= 1.0:
        y[1:] = y[1:] - dt * y[:-1] * t
        t += dt
    return y, t


def of_floats_downwards(x: Any) -> Any:
    t, n, total = 1, 0, 0.0
    while t > 0:
        if t > 0.5:
            total = total * 0.5 + x[n % 3] * t
        n += 1
        t -= 0.03
    return total, t, n


def of_floats_that_ends(x: Any) -> Any:
    t, total = 0.0, 0.0
    while t < 9:
        total += x[1] * x[1] + t
        if total > 60:
            break
        t += 0.25
    else:
        total = -total
    return total, t


def by_another_number(x: Any) -> Any:
    k, step, total = 1, 3, 0.0
    while k < 50:
        total = total * 0.9 + x[k % 5]
        k += step
    return total, k


def without_a_round(x: Any) -> Any:
    t = 2.0
    while t < 1.0:
        x = x + 1
        t += 0.1
    return x, t


def by_what_changes(x: Any) -> Any:
    t, dt, total = 0.0, 0.1, 0.0
    while t < 3:
        total = total + dt * x[2]
        if dt < 0.2:
            dt *= 1.01
        t += dt
    return total, t


ADDED_UP = [of_floats, of_floats_downwards, by_another_number, without_a_round]


@pytest.mark.parametrize(
    "program", [*ADDED_UP, of_floats_that_ends, by_what_changes], ids=lambda p: p.__name__
)
def test_numbers_that_are_added_up(program: Callable[[Any], Any]) -> None:
    compiled = np.jit(program)
    for values in VALUES:
        want = program(values.copy())
        for ours, numpys in zip(compiled(np.array(values)), want, strict=True):
            numpy.testing.assert_allclose(ours, numpys, rtol=1e-13)


@pytest.mark.parametrize("program", ADDED_UP, ids=lambda p: p.__name__)
def test_gradients_of_such_loops(program: Callable[[Any], Any]) -> None:
    def total(x: Any) -> Any:
        return np.sum(program(x.copy())[0])

    x = np.array(VALUES[0])
    numpy.testing.assert_allclose(np.jit(np.grad(total))(x), np.grad(total)(x), rtol=1e-12)


def test_such_loops_are_staged_once() -> None:
    compiled = np.jit(of_floats)
    assert len(compiled.lower(np.ones(10)).jaxpr.eqns) < 10
    assert "unrolled" not in str(np.explain(compiled))


def _down(k: Any, x: Any) -> Any:
    while k >= 1:
        k -= 3
    return k * 1


def _up_to_an_array(k: Any, x: Any) -> Any:
    i = 0
    while i < k:
        i += 1
    return i


def _grown(k: Any, x: Any) -> Any:
    i = 0
    while x[i] > 0.1:
        k *= 2
        i += 1
    return k * 1


def _some_rounds(k: Any, x: Any) -> Any:
    for i in range(x.astype(int).sum()):
        k += i
    return k * 1


def _until(k: Any, x: Any) -> Any:
    for i in range(20):
        if x[i % 4] < 0.2:
            break
        k -= i
    return k * 1


def _bound_anew(k: Any, x: Any) -> Any:
    while k >= 1:
        k = k - 3
    k -= 1
    return k * 1


ARGUMENTS = [_down, _up_to_an_array, _grown, _some_rounds, _until, _bound_anew]


@pytest.mark.parametrize("f", ARGUMENTS)
@pytest.mark.parametrize("start", [7, 7.5])
def test_arrays_without_axes_are_written(f: Any, start: Any) -> None:
    x = numpy.array([1.5, 1.25, 3.0, 0.0])
    theirs, ours = numpy.array(start), np.array(start)
    want = f(theirs, x)
    got = np.jit(f)(ours, x)
    assert (float(got), got.dtype) == (float(want), numpy.asarray(want).dtype)
    assert (float(ours), ours.dtype) == (float(theirs), theirs.dtype)
