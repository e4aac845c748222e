"""Loops that are staged in pieces, because rounds differ by their number: values against plain
Python, and how many loops and branches are staged.
"""

from __future__ import annotations

import itertools
from collections import Counter
from typing import Any

import numpy
import pytest

import lazynp as np
from lazynp import grad, jit, make_jaxpr, vmap
from lazynp._jaxpr import Jaxpr, jaxprs_in
from lazynp.transforms.control import _divided

N = 60


def first_and_last(x):
    y, n = x * 0.0, len(x)
    for k in range(n):
        if k == 0:
            y[k] = x[k] - x[k + 1]
        elif k == n - 1:
            y[k] = x[k] * 2.0
        else:
            y[k] = x[k - 1] - x[k] + 0.5 * y[k - 1]
    return y


def halves(x):
    y = x * 0.0
    for k in range(len(x)):
        y[k] = x[k] * 2.0 if k < 30 else x[k] - y[k - 30]
    return y


def from_a_place_on(x):
    s = x[0] * 0.0
    for k in range(len(x)):
        if 21 <= k:
            s = s + x[k]
        if not k > 39:
            s = s - 0.5 * x[k]
    return s


def all_but_one(x):
    for k in range(len(x)):
        if k != 5:
            x[k] = x[k] * 3.0
    return x


def between(x):
    s = 0.0
    for k in range(len(x)):
        if 12 < k <= 45:
            s = s + x[k]
        if k + 2 > 30 and x[k] > 0.5:
            s = s * 0.5
    return s


def backwards(x):
    y = x * 0.0
    for k in range(len(x) - 1, -1, -1):
        if k == len(x) - 1:
            y[k] = x[k]
        elif k >= 12:
            y[k] = x[k] + 0.5 * y[k + 1]
        else:
            y[k] = -x[k]
    return y


def in_steps(x):
    y = x * 0.0
    for k in range(1, 60, 3):
        if k < 31:
            y[k] = x[k]
        else:
            y[k] = -y[k - 3]
    for k in range(59, 0, -2):
        if k <= 29:
            y[k] += x[k] * 0.25
    return y


def enumerated(x):
    s = x[0] * 0.0
    for k, v in enumerate(x):
        if k > 0:
            s = s + v * x[k - 1]
        else:
            s = s - v
    return s


def nested(x):
    a = np.outer(x, x)
    for i in range(60):
        for j in range(60):
            if i == 0 or j == 0:
                a[i, j] = x[i]
            else:
                a[i, j] = a[i - 1, j] + 0.5 * a[i, j - 1]
    return a


def bound_in_the_first_round(x):
    for k in range(len(x)):
        if k == 0:
            total = x[k] * 1.0
        else:
            total = total * 0.5 + x[k]
    return total


def begun_by_none(x):
    before = None
    s = 0.0
    for k in range(len(x)):
        if k > 0:
            s = s + x[k] * before
        before = x[k]
    return s


def outside(x):
    """Tests that no round meets, or every one."""
    s = 0.0
    for k in range(len(x)):
        if k == 100 or k < 0 or k > len(x):
            s = s + x[k] * 1e9
        if k >= 0 and k != 50:
            s = s + x[k]
    return s


def raises(x):
    for k in range(len(x)):
        if k == 20:
            x[0] = 5.0
        if k == 100:
            raise ValueError("never")
        x[k] = x[k] + 1.0
    return x


# name: (loops that are staged, branches on traced values)
PROGRAMS = {
    first_and_last: (1, 0), halves: (2, 0), from_a_place_on: (3, 0), all_but_one: (1, 0),
    between: (3, 2), backwards: (2, 0), in_steps: (3, 0), enumerated: (1, 0), nested: (3, 0),
    bound_in_the_first_round: (1, 0), begun_by_none: (1, 0), outside: (2, 0), raises: (2, 0),
}  # fmt: skip


def plain(f: Any) -> Any:
    """The function on NumPy."""
    return type(f)(f.__code__, {**f.__globals__, "np": numpy})


def counts(jaxpr: Jaxpr) -> Counter[str]:
    found = Counter(e.primitive.name for e in jaxpr.eqns)
    for e in jaxpr.eqns:
        for inner in jaxprs_in(e.params):
            found.update(counts(inner))
    return found


def values() -> Any:
    return numpy.random.default_rng(3).random(N) + 0.25


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_values(f: Any) -> None:
    x, ours = values(), np.array(values())
    want, got = plain(f)(x), jit(f)(ours)
    assert numpy.asarray(got).dtype == numpy.asarray(want).dtype
    numpy.testing.assert_allclose(got, want, rtol=1e-13)
    numpy.testing.assert_allclose(ours, x, rtol=1e-13)


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_how_many_loops(f: Any) -> None:
    found = counts(make_jaxpr(jit(f))(np.array(values())))
    assert (found["scan"], found["cond"] + found["select"]) == PROGRAMS[f]


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_derivatives_and_batches(f: Any) -> None:
    def total(x):
        return jit(f)(x * 1.0).sum() if f is not nested else jit(f)(x * 1.0)[3:].sum()

    x, h = values(), 1e-6
    along = numpy.random.default_rng(4).standard_normal(N)

    def at(v: Any) -> float:
        return float(total(np.array(v)))

    slope = (at(x + h * along) - at(x - h * along)) / (2 * h)
    numpy.testing.assert_allclose(grad(total)(np.array(x)) @ along, slope, rtol=1e-5)
    batch = numpy.stack([x, x * 1.5, x[::-1]])
    want = [at(v) for v in batch]
    numpy.testing.assert_allclose(vmap(total)(np.array(batch)), want, rtol=1e-12)


@pytest.mark.parametrize("sign", ["<", "<=", ">", ">=", "==", "!="])
@pytest.mark.parametrize(
    "over", ["range(20)", "range(3, 19)", "range(19, 2, -1)", "range(0, 20, 4)"]
)
def test_every_comparison(sign: str, over: str, tmp_path: Any) -> None:
    """At every place, on either side, also with what is no round's number."""
    for place, turned in zip((-1, 0, 3, 8, 16, 19, 20), itertools.cycle((False, True))):
        test = f"{place} {sign} k + 1" if turned else f"k - 1 {sign} {place}"
        path = tmp_path / f"program_{place}_{turned}.py"
        path.write_text(
            "def f(x):\n"
            f"    for k in {over}:\n"
            f"        if {test}:\n"
            "            x[k] = x[k] * 2.0 + x[0]\n"
            "        else:\n"
            "            x[k] = -x[k]\n"
            "    return x\n"
        )
        scope: dict[str, Any] = {}
        exec(compile(path.read_text(), str(path), "exec"), scope)
        x = values()[:20]
        numpy.testing.assert_allclose(jit(scope["f"])(np.array(x)), scope["f"](x), rtol=1e-13)


def test_a_loop_that_may_end_early_stays_one() -> None:
    def f(x):
        for k in range(len(x)):
            if k == 3:
                x[k] = 9.0
            if x[k] < 0.3:
                break
        return x

    x = values()
    jitted = jit(f)
    numpy.testing.assert_allclose(jitted(np.array(x)), f(x.copy()))
    assert counts(make_jaxpr(jitted)(np.array(x)))["while"] == 1


def test_few_pieces() -> None:
    def f(x):
        for k in range(len(x)):
            if k == 5 or k == 10 or k == 15 or k == 20 or k == 25 or k == 30 or k == 35:
                x[k] = x[k] * 2.0
            if k == 6 or k == 12 or k == 18 or k == 24 or k == 30 or k == 36 or k == 42:
                x[k] = x[k] * 3.0
        return x

    x = values()
    numpy.testing.assert_allclose(jit(f)(np.array(x)), f(x.copy()))
    found = counts(make_jaxpr(jit(f))(np.array(x)))
    assert 1 <= found["scan"] <= _divided.PIECES and found["cond"] + found["select"] > 0


def test_an_exception_comes_from_its_piece() -> None:
    def f(x):
        for k in range(len(x)):
            if k == 15:
                raise ValueError(f"round {k}")
            x[k] = x[k] + 1.0
        return x

    with pytest.raises(ValueError, match="round 15"):
        jit(f)(np.array(values()))
