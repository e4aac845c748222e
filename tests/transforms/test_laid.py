"""How results of jitted functions lie in memory: strides and flags are those that NumPy gives."""

from __future__ import annotations

from typing import Any

import numpy
import pytest

import lazynp as np
from tests.promoting import front, promoting

RNG = numpy.random.default_rng(5)
C = RNG.normal(size=(4, 3))
F = numpy.asfortranarray(RNG.normal(size=(4, 3)))
TURNED = RNG.normal(size=(3, 4, 5)).transpose(2, 0, 1)


def halved(np, x, n):
    for _ in range(n):
        x = x * 0.5
    return x


def settled(np, x, n):
    while abs(x).max() > 0.01:
        x = x / 2 + x.T[0, 0] * 0.1 - x[0, 0] * 0.1
    return x


def turned_once(np, x, n):
    y = np.zeros(x.T.shape)
    for _ in range(n):
        y = x.T * 2
    return y


def two(np, x, n):
    v = np.zeros_like(x)
    for i in range(n):
        v = v + x * i
        x = x - 0.1 * v
    return x, v, v.T


def chosen(np, x, n):
    if x.sum() > 1e6:
        y = x * 2
    else:
        y = x - 1
    return y + 1


def given_early(np, x, n):
    if x.max() > 1e6:
        return x * 2
    return x - 1


def set_inside(np, x, n):
    y = np.zeros(x.shape, order="F")
    for i in range(n):
        y[i % 3] = x[i % 3]
    return y


KERNELS: dict[str, Any] = {
    "added": lambda np, x, n: x + n,
    "turned": lambda np, x, n: x.T + 1,
    "given": lambda np, x, n: (x, x + 1, {"t": x.T * 2.0}),
    "copied": lambda np, x, n: [x.copy("K"), x.copy("F"), x.copy(), np.array(x.T)],
    "like": lambda np, x, n: np.zeros_like(x),
    "made": lambda np, x, n: np.zeros((4, 3), order="F") + x.sum(),
    "converted": lambda np, x, n: (x.astype("f"), np.asfortranarray(x), x.astype(int, order="C")),
    "with another": lambda np, x, n: x + np.ones(x.shape),
    "selected": lambda np, x, n: np.where(x > 0.5, x, 0),
    "joined": lambda np, x, n: np.stack([x, x]),
    "summed": lambda np, x, n: (x.sum(0), x.sum(0, keepdims=True), np.cumsum(x, 0)),
    "in_bools": lambda np, x, n: (x > 0, np.isnan(x)),
    "read_only": lambda np, x, n: fixed(x * 2),
} | {f.__name__: f for f in (
    halved, settled, turned_once, two, chosen, given_early, set_inside,
)}  # fmt: skip


def fixed(x):
    x.flags.writeable = False
    return x


def described(tree: Any) -> Any:
    if isinstance(tree, (tuple, list)):
        return [described(t) for t in tree]
    if isinstance(tree, dict):
        return {k: described(t) for k, t in tree.items()}
    f = tree.flags
    return tree.shape, tree.strides, f.c_contiguous, f.f_contiguous, f.writeable


def equal(a: Any, b: Any) -> None:
    if isinstance(a, (tuple, list)):
        for x, y in zip(a, b, strict=True):
            equal(x, y)
    elif isinstance(a, dict):
        for k in a:
            equal(a[k], b[k])
    else:
        numpy.testing.assert_allclose(numpy.asarray(a), b, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("given", [C, F, TURNED], ids=["C", "F", "turned"])
@pytest.mark.parametrize("name", list(KERNELS))
def test_results_lie_as_numpys(name: str, given: Any) -> None:
    kernel = KERNELS[name]
    if name in ("settled", "made", "turned_once", "set_inside") and given.ndim > 2:
        given = given[:4, :, 0].copy("K")
    jitted = np.jit(lambda x, n: kernel(np, x, n), static_argnums=1)
    x = np.array(given, order="K")
    assert x.strides == given.strides
    for _ in range(3):  # the later calls are recorded at once
        wanted = kernel(numpy, given, 12)
        found = jitted(x, 12)
        assert described(found) == described(wanted)
        equal(found, wanted)


@pytest.mark.parametrize("name", ["halved", "two"])
def test_rounds_that_the_call_counts(name: str) -> None:
    kernel = KERNELS[name]
    jitted = np.jit(lambda x, n: kernel(np, x, n))
    for n in (0, 1, 12, 13):
        assert described(jitted(np.array(F, order="K"), n)) == described(kernel(numpy, F, n))


def test_arrays_of_numpys_as_arguments() -> None:
    jitted = np.jit(lambda x: (x + 1, x.T * 2))
    assert described(jitted(F)) == described((F + 1, F.T * 2))


def test_a_result_is_an_operand_of_what_comes_later() -> None:
    found = np.jit(lambda x: x + 1)(np.array(F, order="K"))
    assert (found * 2).strides == (F * 2).strides
    numpy.testing.assert_array_equal(numpy.asarray(found.ravel("K")), (F + 1).ravel("K"))
    found[1, 2] = 7
    assert found.T.flags.c_contiguous and found[1, 2] == 7


def test_the_jitted_function_within_another() -> None:
    inner = np.jit(lambda x: x + 1)
    inline = np.jit(lambda x: x.copy("K"), inline=True)
    outer = np.jit(lambda x: (inner(x) * 2, inline(x), x))
    x = np.array(F, order="K")
    for _ in range(3):
        a, b, c = outer(x)
        assert a.strides == b.strides == c.strides == F.strides and c is x and b is not x


def test_where_values_decide_the_order_it_is_cs() -> None:
    def either(x):
        if x[0, 0] > 1e6:
            return x * 2
        return x.copy("C")

    assert np.jit(either)(np.array(F, order="K")).flags.c_contiguous


def smoothed(x, n):
    y = np.zeros_like(x)
    for _ in range(n):
        for i in range(1, x.shape[0] - 1):
            y[i] = x[i - 1] + x[i + 1]
        x = x * 0.5
    return y, x.T + 1, x


@pytest.mark.own_policy
def test_hot_functions_whose_results_are_in_fortran_order() -> None:
    with promoting():
        hot = front(smoothed)
        for seed in range(4):
            x = numpy.asfortranarray(numpy.random.default_rng(seed).normal(size=(7, 5)))
            found = smoothed(np.array(x, order="K"), 9)
            wanted = hot.plain(np.array(x, order="K"), 9)
            assert described(found) == described(wanted)
            equal(found, [numpy.asarray(w) for w in wanted])
        assert hot.programs == 1, hot.explained()


def turned_inside(x, n):
    y = np.zeros(x.shape)
    while x.sum() < n:
        y = x.T * 2
        x = x + 1
    return y.sum()


@pytest.mark.own_policy
def test_a_hot_function_may_turn_arrays_that_it_does_not_give_back() -> None:
    with promoting():
        hot = front(turned_inside)
        for k in range(5):
            x = np.arange(9.0).reshape(3, 3) + k
            assert float(turned_inside(x, 99)) == float(hot.plain(x, 99))
        assert hot.programs == 1, hot.explained()


def turned_by_values(x):
    y = x
    if x[0, 0] > 0:
        y = np.zeros(x.shape, order="F")
    return y * 2


@pytest.mark.own_policy
def test_a_hot_function_whose_values_decide_the_order_stays_with_python() -> None:
    with promoting():
        hot = front(turned_by_values)
        for k in range(5):
            x = np.ones((4, 3)) * (-1) ** k
            assert turned_by_values(x).flags.f_contiguous == (k % 2 == 0)
        assert hot.programs == 0
