"""cond, switch, while_loop, fori_loop, scan, map: values, every rule, writes inside."""

import numpy
import pytest

import lazynp as np
from lazynp import check_grads, cond, fori_loop, grad, jit, jvp, scan, switch, vmap, while_loop

X = np.array([0.3, -0.7, 1.2])


def branchy(x):
    return cond(x.sum() > 1, lambda y: np.sin(y) * 2, lambda y: y[::-1] ** 2, x)


@pytest.mark.parametrize("x", [X, 2 * X], ids=["false", "true"])
def test_cond(x) -> None:
    want = numpy.sin(x) * 2 if x.sum() > 1 else numpy.asarray(x)[::-1] ** 2
    numpy.testing.assert_allclose(branchy(x), want)
    numpy.testing.assert_allclose(jit(branchy)(x), want)
    check_grads(branchy, (x,), order=2)
    check_grads(jit(branchy), (x,), order=1)


def test_cond_batched() -> None:
    rows = np.stack([X, 2 * X])
    want = numpy.stack([numpy.asarray(branchy(X)), numpy.asarray(branchy(2 * X))])
    numpy.testing.assert_allclose(vmap(branchy)(rows), want)
    g = grad(lambda x: branchy(x).sum())
    want = numpy.stack([numpy.asarray(g(X)), numpy.asarray(g(2 * X))])
    numpy.testing.assert_allclose(vmap(g)(rows), want)
    ran = []

    def noted(y):
        np.debug_callback(ran.append, 1)
        return y

    vmap(lambda x, p: cond(p, lambda y: y, noted, x), (0, None))(rows, True)
    assert not ran


def test_cond_captures_and_writes() -> None:
    a, k = np.zeros(3), np.array([2.0, 3.0])

    def f(x):
        def then():
            a[0] = x
            return x * k[0]

        def otherwise():
            a[1:] = 2 * x
            return x * k[1]

        return cond(x > 1, then, otherwise)

    assert float(f(2.0)) == 4.0
    numpy.testing.assert_array_equal(a, [2, 0, 0])
    assert float(jit(f)(0.5)) == 1.5
    numpy.testing.assert_array_equal(a, [2, 1, 1])
    assert float(grad(f)(2.0)) == 2.0 and float(grad(f)(0.5)) == 3.0
    numpy.testing.assert_array_equal(a, [2, 1, 1])


def test_cond_errors() -> None:
    with pytest.raises(TypeError, match=r"trees of one structure, got .\*,. and \*"):
        cond(True, lambda: 1.0, lambda: (1.0,))
    with pytest.raises(TypeError, match=r"leaf 0 is f64\[\] and i64\[\]"):
        cond(True, lambda: 1, lambda: 1.0)
    with pytest.raises(TypeError, match="must be a scalar"):
        cond(np.array([True]), lambda: 1, lambda: 1)


def test_switch() -> None:
    fs = [lambda x: x, lambda x: x**2, lambda x: np.sin(x)]
    for i in range(-1, 4):
        f = fs[min(max(i, 0), 2)]
        assert float(switch(i, fs, 2.0)) == float(f(2.0))
        numpy.testing.assert_allclose(grad(lambda x, i=i: switch(i, fs, x))(2.0), grad(f)(2.0))
    got = vmap(lambda i, x: switch(i, fs, x))(np.arange(3), np.full(3, 2.0))
    numpy.testing.assert_allclose(got, [2, 4, numpy.sin(2.0)])


def power(x, n):
    return while_loop(lambda s: s[0] < n, lambda s: (s[0] + 1, s[1] * x), (0, x * 0 + 1))[1]


def test_while_loop() -> None:
    assert float(power(2.0, 5)) == 32.0
    assert float(jvp(lambda x: power(x, 5), (2.0,), (1.0,))[1]) == 80.0
    numpy.testing.assert_array_equal(vmap(power, (None, 0))(2.0, np.array([1, 3, 5])), [2, 8, 32])
    numpy.testing.assert_array_equal(vmap(power, (0, None))(np.array([1.0, 2.0]), 3), [1, 8])
    _, dots = jvp(lambda x: vmap(power, (None, 0))(x, np.array([1, 3])), (2.0,), (1.0,))
    numpy.testing.assert_array_equal(dots, [1, 12])
    assert float(jit(power)(2.0, 3)) == 8
    assert float(grad(power)(2.0, 5)) == 80.0
    with pytest.raises(TypeError, match="result of the body"):
        while_loop(lambda s: s < 3, lambda s: s + 1.0, np.array(0))
    with pytest.raises(TypeError, match="one bool"):
        while_loop(lambda s: s, lambda s: s + 1, 0)


def test_loops_write_captured_arrays() -> None:
    buffer, total = np.zeros(4), np.zeros(())

    def body(i, c):
        buffer[i] = c
        total[...] += c
        return c * 2

    assert float(fori_loop(0, 4, body, 1.0)) == 16.0
    numpy.testing.assert_array_equal(buffer, [1, 2, 4, 8])
    assert float(total) == 15.0
    assert float(jit(lambda n: fori_loop(0, n, body, 1.0))(2)) == 4.0
    numpy.testing.assert_array_equal(buffer, [1, 2, 4, 8])
    assert float(total) == 18.0


def scanned(c, xs):
    def body(c, x):
        y = np.sin(c * x) + c
        return y, y * c

    return scan(body, c, xs)


def unrolled(c, xs):
    ys = []
    for i in range(xs.shape[0]):
        y = np.sin(c * xs[i]) + c
        ys.append(y * c)
        c = y
    return c, np.stack(ys)


@pytest.mark.parametrize("transformed", [lambda f: f, jit], ids=["", "jit"])
def test_scan(transformed) -> None:
    f = transformed(scanned)
    for got, want in zip(f(0.3, X), unrolled(0.3, X), strict=True):
        numpy.testing.assert_allclose(got, want)
    check_grads(f, (0.3, X), order=2)
    total = lambda g: lambda c, xs: g(c, xs)[0] + g(c, xs)[1].sum()  # noqa: E731
    want = vmap(grad(total(unrolled), (0, 1)), (0, None))(np.array([0.1, 0.3]), X)
    got = vmap(grad(total(f), (0, 1)), (0, None))(np.array([0.1, 0.3]), X)
    for g, w in zip(got, want, strict=True):
        numpy.testing.assert_allclose(g, w)


def test_scan_forms() -> None:
    carry, ys = scan(lambda c, x: (c + x, {"y": c}), 0.0, X, reverse=True)
    numpy.testing.assert_allclose(carry, X.sum())
    numpy.testing.assert_allclose(ys["y"], numpy.cumsum(numpy.asarray(X)[::-1])[::-1] - X)
    carry, ys = scan(lambda c, _: (c * 2, None), 1, length=5)
    assert int(carry) == 32 and ys is None
    numpy.testing.assert_allclose(np.map(lambda x: x**2, X), numpy.asarray(X) ** 2)
    with pytest.raises(ValueError, match="length is required"):
        scan(lambda c, x: (c, x), 0.0)
    with pytest.raises(ValueError, match="must agree"):
        scan(lambda c, x: (c, x), 0.0, (X, np.ones(2)))
    with pytest.raises(TypeError, match="a pair"):
        scan(lambda c, x: c, 0.0, X)
    with pytest.raises(TypeError, match="carry that the body returns"):
        scan(lambda c, x: (np.stack([c, c]), x), np.float64(0), X)


def in_place_steps(x):
    u, log = np.zeros(5), np.zeros((4, 5))
    u[1:4] = x

    def body(c, i):
        u[1:-1] += 0.2 * (u[2:] - 2 * u[1:-1] + u[:-2])
        log[i] = u
        return c + u[2], None

    c, _ = scan(body, 0.0, np.arange(4))
    return (log * log).sum() + c


def test_scan_writes_captured_arrays() -> None:
    def loop(x):
        u, log, c = np.zeros(5), np.zeros((4, 5)), 0.0
        u[1:4] = x
        for i in range(4):
            u[1:-1] += 0.2 * (u[2:] - 2 * u[1:-1] + u[:-2])
            log[i] = u
            c = c + u[2]
        return (log * log).sum() + c

    numpy.testing.assert_allclose(in_place_steps(X), loop(X))
    numpy.testing.assert_allclose(grad(in_place_steps)(X), grad(loop)(X))
    numpy.testing.assert_allclose(jit(grad(in_place_steps))(X), grad(loop)(X))
    numpy.testing.assert_allclose(
        vmap(grad(in_place_steps))(np.stack([X, -X])), vmap(grad(loop))(np.stack([X, -X]))
    )


def test_control_flow_within_control_flow() -> None:
    def f(x):
        def body(c, i):
            c = cond(i % 2 == 0, lambda c: np.sin(c), lambda c: c * x, c)
            return fori_loop(0, 2, lambda j, c: c + x * j, c), None

        return scan(body, x, np.arange(4))[0]

    check_grads(f, (0.7,), order=2)
    check_grads(jit(f), (0.7,), order=1)
    numpy.testing.assert_allclose(vmap(f)(X), [float(f(x)) for x in X])


def test_checkpointed_scan_of_in_place_steps() -> None:
    def run(step, x):
        u = np.zeros(6)
        u[1:4] = x

        def body(u, _):
            u = step(u)
            return u, (u * u).sum()

        return scan(body, u, length=5)[1].sum()

    def step(u):
        u[1:-1] += 0.2 * (u[2:] - 2 * u[1:-1] + u[:-2])
        v = u[::2]
        v[0] = np.sin(v[1])
        return u

    plain = grad(lambda x: run(step, x))
    saved = grad(lambda x: run(np.checkpoint(step), x))
    numpy.testing.assert_allclose(saved(X), plain(X))
    numpy.testing.assert_allclose(jit(saved)(X), plain(X))
    text = str(np.make_jaxpr(saved)(X))
    assert "checkpoint" in text


def test_a_long_scan_is_one_program() -> None:
    f = jit(grad(lambda x: scan(lambda c, _: (np.sin(c) * x, None), x, length=2000)[0]))
    f(0.9)
    before = np.stats().compiles
    f(0.8), f(0.7)
    assert np.stats().compiles <= before + 1


def test_only_what_changes_is_kept_for_reverse_mode() -> None:
    """Not the constants that are spread out to multiply arrays by: one residual, the carry's."""

    def step(u, _):
        u = u.copy()
        u[1:-1] = u[1:-1] + 0.1 * (u[2:] - 2.0 * u[1:-1] + u[:-2]) - u[1:-1] ** 3 / 3.0
        return u, None

    def loss(u):
        return (np.scan(step, u, None, length=5)[0] ** 2).sum()

    u = np.array(numpy.linspace(0.0, 1.0, 6))
    text = str(np.make_jaxpr(np.grad(loss))(u))
    (forward,) = [line for line in text.splitlines() if "reverse=False" in line]
    heads = [line for line in text.splitlines() if "= scan[" in line]
    assert forward and heads[0].split(" = ")[0].count(":f64[5,") == 1
    d = 1e-6
    e = numpy.eye(6)
    differences = [float(loss(u + d * k) - loss(u - d * k)) / (2 * d) for k in e]
    numpy.testing.assert_allclose(np.grad(loss)(u), differences, rtol=1e-6)


def _chosen(i, x):
    return np.switch(i, [lambda x: x, lambda x: x**2, lambda x: np.log(x)], x)


def test_a_branch_not_chosen_gives_no_nan() -> None:
    """log(0), which no example chooses, does not affect the derivative."""
    places, x = np.arange(3), np.array([0.0, 0.0, 4.0])
    total = lambda x: vmap(_chosen)(places, x).sum()  # noqa: E731
    for f in (grad(total), jit(grad(total)), lambda x: vmap(grad(_chosen, 1))(places, x)):
        assert f(x).tolist() == [1, 0, 0.25]
    assert np.hessian(total)(x).diagonal().tolist() == [0, 2, -0.0625]
    assert grad(lambda s: vmap(lambda i: _chosen(i, s))(places[:2]).sum())(0.0) == 1.0
    square = lambda x: vmap(vmap(_chosen))(np.array([[0, 2], [1, 2]]), x).sum()  # noqa: E731
    assert grad(square)(np.array([[0.0, 2.0], [0.0, 4.0]])).tolist() == [[1, 0.5], [0, 0.25]]
    halves = lambda x: vmap(lambda i, x: np.switch(i, [lambda x: x, lambda x: x / 2], x))(  # noqa: E731
        np.array([0, 1, 1]), x
    )
    assert np.linear_transpose(halves, x)(np.ones(3))[0].tolist() == [1, 0.5, 0.5]
