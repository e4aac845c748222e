"""Data-dependent errors in traced functions: the call raises them."""

import numpy
import pytest

import lazynp as np
from lazynp import (
    checkpoint,
    cond,
    custom_jvp,
    custom_vjp,
    debug_callback,
    fori_loop,
    grad,
    jit,
    jvp,
    make_jaxpr,
    scan,
    switch,
    vmap,
    while_loop,
)
from lazynp.transforms import (
    _call,
    _checkpoint,
    _checks,
    _cond,
    _custom_calls,
    _loops,
    _scan,
)

X = np.arange(5.0)
K = np.array([[2, 3], [4, 5]])
GOOD = [[2.0, 1.0], [1.0, 3.0]]
FAR = [[1.0, 7.0], [0.0, 9.0]]
NAN = [[1.0, numpy.nan], [0.0, 1.0]]


def whole(a):
    return a.astype(int)


def stored(a):
    y = np.zeros(5) + 0 * a.sum()
    y[whole(a)] = a
    return y.sum()


# a function of (2, 2) floats, data that make an error, the error
OPERATIONS = {
    "cholesky": (
        lambda a: np.linalg.cholesky(a).sum(), [[1.0, 2.0], [2.0, 1.0]],
        numpy.linalg.LinAlgError, "Matrix is not positive definite",
    ),
    "inv": (
        lambda a: np.linalg.inv(a).sum(), [[1.0, 2.0], [1.0, 2.0]],
        numpy.linalg.LinAlgError, "Singular matrix",
    ),
    "solve": (
        lambda a: np.linalg.solve(a, a + 1).sum(), [[0.0, 0.0], [0.0, 0.0]],
        numpy.linalg.LinAlgError, "Singular matrix",
    ),
    "eigvals": (
        lambda a: np.linalg.eigvals(a).real.sum(), NAN,
        numpy.linalg.LinAlgError, "Array must not contain infs or NaNs",
    ),
    "svd": (
        lambda a: np.linalg.svd(a)[1].sum(), NAN,
        numpy.linalg.LinAlgError, "SVD did not converge",
    ),
    "read": (
        lambda a: (X[whole(a)] * a).sum(), FAR,
        IndexError, "index 7 is out of bounds for axis 0 with size 5",
    ),
    "read one": (
        lambda a: X[whole(a[0, 0])] * a.sum(), [[-6.0, 1.0], [1.0, 1.0]],
        IndexError, "index -6 is out of bounds for axis 0 with size 5",
    ),
    "write": (stored, FAR, IndexError, "index 7 is out of bounds for axis 0 with size 5"),
    "power": (
        lambda a: (K ** whole(a)).sum() * a.sum(), [[2.0, 3.0], [-1.0, 2.0]],
        ValueError, "Integers to negative integer powers are not allowed.",
    ),
}  # fmt: skip


def pair(a):
    return np.stack([np.array(GOOD), a])


def step(f):
    return lambda c, x: (c + f(x), None)


def counted(f, a, n):
    """n times f(a), by a loop of unknown length."""
    return while_loop(lambda s: s[0] < s[2], lambda s: (s[0] + 1, s[1] + f(a), s[2]), (0, 0.0, n))


def custom(f):
    g = custom_jvp(f)
    g.defjvp(lambda primals, tangents: (g(*primals), tangents[0].sum()))
    return g


def custom_reverse(f):
    g = custom_vjp(f)
    g.defvjp(lambda a: (f(a), a), lambda a, ct: (ct * a + 0 * f(a),))
    return g


def either(p, f, a):
    return cond(p, f, lambda a: a[0, 0], a)


# contexts that call f on a, all of which compute f(a)
CONTEXTS = {
    "jit": lambda f: jit(f),
    "jit of jit": lambda f: jit(lambda a: jit(f)(a) + 1),
    "unread": lambda f: jit(lambda a: (jit(f)(a), a)[1]),
    "jit of grad": lambda f: jit(grad(f)),
    "grad of jit": lambda f: grad(jit(f)),
    "jvp": lambda f: lambda a: jvp(jit(f), (a,), (a,)),
    "vmap": lambda f: lambda a: jit(vmap(f))(pair(a)),
    "vmap of jit": lambda f: lambda a: vmap(jit(f))(pair(a)),
    "vmap of grad": lambda f: lambda a: jit(vmap(grad(f)))(pair(a)),
    "cond": lambda f: jit(lambda a: either(a[0, 0] < 1e9, f, a)),
    "lazy cond": lambda f: lambda a: either(True, f, a),
    "mapped cond": lambda f: (
        lambda a: jit(vmap(lambda p, a: either(p, f, a)))(np.array([False, True]), pair(a))
    ),
    "switch": lambda f: jit(lambda a: switch(1, [lambda a: a[0, 0], f], a)),
    "scan": lambda f: lambda a: jit(lambda xs: scan(step(f), 0.0, xs)[0])(pair(a)),
    "grad of scan": lambda f: lambda a: jit(grad(lambda xs: scan(step(f), 0.0, xs)[0]))(pair(a)),
    "mapped scan": lambda f: (
        lambda a: jit(vmap(lambda xs: scan(step(f), 0.0, xs)[0]))(
            np.stack([pair(np.array(GOOD)), pair(a)])
        )
    ),
    "while": lambda f: lambda a: jit(lambda a, n: counted(f, a, n)[1])(a, 2),
    "mapped while": lambda f: (
        lambda a: jit(vmap(lambda a, n: counted(f, a, n)[1]))(pair(a), np.array([3, 1]))
    ),
    "checkpoint": lambda f: jit(grad(checkpoint(f))),
    "dots": lambda f: jit(grad(checkpoint(f, policy="dots"))),
    "custom_jvp": lambda f: jit(grad(custom(f))),
    "custom_vjp": lambda f: jit(grad(custom_reverse(f))),
    "mapped custom": lambda f: (
        lambda a: jit(vmap(grad(lambda p, a: either(p, custom(f), a), argnums=1)))(
            np.array([False, True]), pair(a)
        )
    ),
}

# contexts in which f(a) is not computed
MASKED = {
    "cond": lambda f: jit(lambda a: either(a[0, 0] > 1e9, f, a)),
    "mapped cond": lambda f: (
        lambda a: jit(vmap(lambda p, a: either(p, f, a)))(np.array([True, False]), pair(a))
    ),
    "grad of mapped cond": lambda f: (
        lambda a: jit(vmap(grad(lambda p, a: either(p, f, a), argnums=1)))(
            np.array([True, False]), pair(a)
        )
    ),
    "grad of mapped rule": lambda f: (
        lambda a: jit(
            grad(
                lambda a: vmap(lambda p, a: either(p, custom_reverse(f), a))(
                    np.array([True, False]), pair(a)
                ).sum()
            )
        )(a)
    ),
    "while": lambda f: lambda a: jit(lambda a, n: counted(f, a, n)[1])(a, 0),
    "mapped while": lambda f: (
        lambda a: jit(vmap(lambda a, n: counted(f, a, n)[1]))(pair(a), np.array([2, 0]))
    ),
    "steps": lambda f: (
        lambda a: jit(lambda xs: scan(lambda c, x: (c + either(x[1], f, x[0]), None), 0.0, xs)[0])(
            (pair(a), np.array([True, False]))
        )
    ),
    "no steps": lambda f: jit(lambda a: scan(step(f), 0.0, pair(a)[:0])[0]),
}


FEW = ["jit", "jit of grad", "mapped cond", "grad of scan"]


@pytest.mark.parametrize(
    "operation, context",
    [
        *[(o, c) for o in ("cholesky", "read", "power") for c in CONTEXTS],
        *[(o, c) for o in OPERATIONS if o not in ("cholesky", "read", "power") for c in FEW],
    ],
)
def test_the_error_is_raised_at_the_call(operation, context) -> None:
    f, bad, kind, message = OPERATIONS[operation]
    call = CONTEXTS[context](f)
    call(np.array(GOOD))
    with pytest.raises(kind) as caught:
        call(np.array(bad))
    assert str(caught.value) == message
    (note,) = caught.value.__notes__
    assert note.startswith("in a traced function, recorded at ") and __file__ in note


@pytest.mark.parametrize("context", MASKED)
@pytest.mark.parametrize("operation", ["eigvals", "write", "power"])
def test_what_is_not_computed_raises_nothing(operation, context) -> None:
    f, bad, _, _ = OPERATIONS[operation]
    got = MASKED[context](f)(np.array(bad))
    assert numpy.isfinite(got).all() or operation == "eigvals"


@pytest.mark.parametrize("execution", ["compiled", "reference"])
def test_both_ways_of_running(execution) -> None:
    with np.config(execution=execution):
        for name in ("cholesky", "read one", "power"):
            f, bad, kind, message = OPERATIONS[name]
            mapped = CONTEXTS["mapped while"](f)
            mapped(np.array(GOOD))
            with pytest.raises(kind, match=message):
                mapped(np.array(bad))
            MASKED["mapped while"](f)(np.array(bad))


def test_as_numpy_in_a_function_that_is_not_traced() -> None:
    for f, bad, kind, message in OPERATIONS.values():
        for call in (f, grad(f), lambda a, f=f: vmap(f)(pair(a))):
            with pytest.raises(kind, match=message):
                call(np.array(bad))


def test_the_first_error_in_the_order_of_the_program() -> None:
    @jit
    def f(a, i):
        b = X[i].sum()  # the first
        return np.linalg.inv(a).sum() + b + X[i + 1].sum()

    good = np.array(GOOD)
    with pytest.raises(IndexError, match="index 9 is"):
        f(good * 0, np.array([1, 9, 8]))
    with pytest.raises(numpy.linalg.LinAlgError, match="Singular"):
        f(good * 0, np.array([1, 4]))
    with pytest.raises(IndexError, match="index 5 is"):
        f(good, np.array([1, 4]))

    def body(i, total):
        return total + X[i * 2] + K[i - 1, 0]

    with pytest.raises(IndexError, match="index 6 is out of bounds for axis 0 with size 5"):
        jit(lambda n: fori_loop(0, n, body, 0.0))(9)


def test_what_was_written_is_rolled_back() -> None:
    captured = np.zeros(3)

    @jit
    def f(x, i):
        x[0] = 9
        captured[1] += 1
        x[i] = 5
        return x * 2

    x = np.ones(3)
    view = x[1:]
    for argument in (x, view):
        with pytest.raises(IndexError, match="index 7"):
            f(argument, np.array([0, 7]))
    with pytest.raises(IndexError, match="index 7"):
        jit(lambda x, i: f(x, i), donate_argnums=0)(x, np.array([0, 7]))
    assert x.tolist() == [1, 1, 1] and captured.tolist() == [0, 0, 0]
    assert f(x, np.array([2])).tolist() == [18, 2, 10]
    assert x.tolist() == [9, 1, 5] and captured.tolist() == [0, 1, 0] and view.tolist() == [1, 5]


def test_a_loop_ends_at_an_error() -> None:
    """Else this one would have no end: NaN does not compare."""

    @jit
    def f(a):
        return while_loop(
            lambda a: ~(np.abs(a).sum() < 1e-3), lambda a: np.linalg.cholesky(a) * 1e-3, a
        )

    assert f(np.eye(2))[0, 0] < 1e-3
    with pytest.raises(numpy.linalg.LinAlgError, match="positive definite"):
        f(-np.eye(2))


def test_a_condition_is_looked_at_too() -> None:
    @jit
    def f(x, stop):
        return while_loop(lambda i: x[i] < stop, lambda i: i + 1, 0)

    assert int(f(X, 3.0)) == 3
    with pytest.raises(IndexError, match="index 5 is out of bounds for axis 0 with size 5"):
        f(X, 10.0)
    with pytest.raises(IndexError, match="out of bounds for axis 0 with size 0"):
        f(X[:0], 1.0)
    mapped = jit(vmap(f, in_axes=(None, 0)))
    assert mapped(X, np.array([2.0, 4.0])).tolist() == [2, 4]
    with pytest.raises(IndexError, match="index 5 is"):
        mapped(X, np.array([2.0, 9.0]))


@pytest.mark.parametrize(
    "f, arguments, kind, message",
    [
        (lambda i: np.choose(i, [X, X + 1]), ([0, 1, 2, 0, 0],), ValueError, "in choice array"),
        (lambda i: np.unravel_index(i, (2, 3)), ([1, 9],), ValueError, "index 9 is out of"),
        (lambda i: np.ravel_multi_index((i, i), (2, 3)), ([0, -1],), ValueError, "invalid entry"),
        (lambda w: np.average(X, weights=w), (numpy.zeros(5),), ZeroDivisionError, "sum to zero"),
        (lambda a: np.nanargmax(a, 0), ([[1, numpy.nan]] * 2,), ValueError, "All-NaN slice"),
        (lambda a: np.geomspace(a, 3, 4), (0.0,), ValueError, "cannot include zero"),
        (lambda s: np.searchsorted(X, 2, sorter=s), ([0, 1, 2, 3, 5],), ValueError, "out of range"),
        (lambda i: np.take(X, i), ([1, 5],), IndexError, "index 5 is"),
        (lambda i: np.take_along_axis(X, i, 0), ([1, -6],), IndexError, "index -6 is"),
        (lambda i: np.add.at(X.copy(), i, 1), ([1, 5],), IndexError, "index 5 is"),
        (lambda i: X[None, :][:, i], ([1, 5],), IndexError, "index 5 is out of bounds for axis 1"),
        (lambda i: K[i, i], ([0, 1, -3],), IndexError, "index -3 is out of bounds for axis 0"),
        (lambda i: X[i], (numpy.array([2, 200], "u1"),), IndexError, "index 200 is"),
    ],
)
def test_functions_that_look_at_their_data(f, arguments, kind, message) -> None:
    for call in (f, jit(f)):
        with pytest.raises(kind, match=message):
            call(*map(np.array, arguments))


def test_the_same_results_as_without_jit() -> None:
    rng = numpy.random.default_rng(3)
    for i in (rng.integers(-5, 5, (3, 2)), rng.integers(0, 5, 4).astype("u1"), numpy.int8(-5)):
        i = np.array(i)
        numpy.testing.assert_array_equal(jit(lambda i: X[i])(i), X[i])
    i = np.array(rng.integers(0, 6, 4))
    for f in (lambda i: np.unravel_index(i, (2, 3)), lambda i: np.choose(i % 2, [i, -i]) ** i):
        numpy.testing.assert_array_equal(jit(f)(i), f(i))
    assert jit(vmap(lambda i: X[i]))(np.zeros((0,), int)).shape == (0,)


def test_what_needs_no_check_has_none() -> None:
    def checks(f, *arguments):
        return _checks.has_checks(make_jaxpr(f)(*arguments))

    assert not checks(lambda a: np.linalg.qr(a)[1] ** 2 + a[0, np.array([0, 1])] + a[::-1], K * 1.0)
    assert not checks(lambda a, i: np.take(a, i, mode="clip"), X, K)
    assert not checks(lambda a: a**3, K)
    assert checks(lambda a, i: a[i], X, K)
    assert checks(lambda a, i: cond(True, lambda: a[i], lambda: a[i]), X, K)


def test_every_call_can_be_discharged() -> None:
    rooms = (_call, _checkpoint, _cond, _custom_calls, _loops, _scan)
    calls = [p for room in rooms for p in vars(room).values() if getattr(p, "kind", "") == "call"]
    assert len(calls) >= 7
    without = [p.name for p in calls if p.discharge is None]
    assert without == ["custom_linear"]  # it is on tapes, in no program


def test_beside_what_only_numpy_computes() -> None:
    seen = []

    @jit
    def f(x, i):
        debug_callback(seen.append, x)
        return x[i]

    assert f(X, 2) == 2.0
    with pytest.raises(IndexError, match="index 9 is"):
        f(X, 9)
    assert len(seen) == 2
