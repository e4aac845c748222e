"""Data-dependent errors inside custom rules, where branches are selected for each example."""

from __future__ import annotations

from typing import Any

import pytest

import lazynp as np
from lazynp import cond, custom_jvp, custom_vjp, grad, jit, jvp, scan, vmap, while_loop

X = np.arange(3.0)
ROWS = np.array([[1.0, 0.0], [7.0, 1.0]])  # of the second, no element of X has the number


def looked_up(a):
    return X[a.astype(int)].sum() * 0


def _custom(where: str, checked: bool) -> Any:
    """Sum; the rule reads X by its argument. checked: the function has a check of its own."""

    def total(a):
        return a.sum() + (X[(a * 0).astype(int)].sum() * 0 if checked else 0)

    if where == "jvp":
        f = custom_jvp(total)
        f.defjvp(lambda p, t: (f(*p), t[0].sum() + looked_up(p[0])))
        return f
    g = custom_vjp(total)
    g.defvjp(
        lambda a: (g(a) + (looked_up(a) if where == "fwd" else 0), a),
        lambda a, ct: (ct * np.ones(2) + (looked_up(a) if where == "bwd" else 0),),
    )
    return g


def _either(f: Any) -> Any:
    return lambda p, a: cond(p, f, lambda a: a[0], a)


# functions (which examples take the branch, rows) -> gradient
AROUND = {
    "grad of vmap": lambda f: lambda p, x: grad(lambda x: vmap(_either(f))(p, x).sum())(x),
    "vmap of grad": lambda f: lambda p, x: vmap(grad(_either(f), 1))(p, x),
    "of jit": lambda f: lambda p, x: grad(lambda x: vmap(_either(jit(f)))(p, x).sum())(x),
    "of cond": lambda f: (
        lambda p, x: grad(
            lambda x: vmap(_either(lambda a: cond(a[1] > -1, f, lambda a: a[1], a)))(p, x).sum()
        )(x)
    ),
    "cond of cond": lambda f: (
        lambda p, x: grad(
            lambda x: vmap(lambda q, p, a: cond(q, _either(f), lambda _, a: a[0], p, a))(
                np.array([True, True]), p, x
            ).sum()
        )(x)
    ),
    "other way round": lambda f: (
        lambda p, x: grad(
            lambda x: vmap(lambda q, p, a: cond(q, lambda _, a: a[0], _either(f), p, a))(
                ~p, np.array([True, True]), x
            ).sum()
        )(x)
    ),
    "grad of jit of vmap": lambda f: (
        lambda p, x: grad(jit(lambda x: vmap(_either(f))(p, x).sum()))(x)
    ),
}


@pytest.mark.parametrize("checked", [False, True], ids=["", "checked"])
@pytest.mark.parametrize("where", ["fwd", "bwd", "jvp"])
@pytest.mark.parametrize("around", AROUND)
def test_only_where_the_branch_is_taken(around: str, where: str, checked: bool) -> None:
    f = AROUND[around](_custom(where, checked))
    with np.config(execution="reference"):
        for call in (f, jit(f)):
            assert call(np.array([True, False]), ROWS).tolist() == [[1, 1], [1, 0]]
            with pytest.raises(IndexError, match="index 7 is out of bounds for axis 0 with size 3"):
                call(np.array([True, True]), ROWS)


@pytest.mark.parametrize("checked", [False, True], ids=["", "checked"])
def test_only_in_rounds_that_are_run(checked: bool) -> None:
    f = _custom("jvp", checked)

    def counted(n, a):
        step = lambda s: (s[0] + 1, s[1] + 0 * f(s[2]), s[2] + 1)  # noqa: E731
        return while_loop(lambda s: s[0] < n, step, (0, 0.0, a))[1]

    rows = np.array([[0.0, 0.0], [1.0, 1.0]])
    push = jit(lambda n: jvp(lambda x: vmap(counted)(n, x), (rows,), (rows,))[1])
    with np.config(execution="reference"):
        assert push(np.array([3, 2])).tolist() == [0, 0]  # X[3] in the round not run
        with pytest.raises(IndexError, match="index 3 is"):
            push(np.array([3, 3]))


def test_of_a_loop_in_a_branch_rules_check_nothing() -> None:
    f = _custom("jvp", False)
    looped = lambda a: scan(lambda c, _: (c + f(a), None), 0.0, None, length=1)[0]  # noqa: E731
    slope = grad(lambda x: vmap(_either(looped))(np.array([True, False]), x).sum())
    with np.config(execution="reference"):
        assert slope(ROWS).tolist() == [[1, 1], [1, 0]]
