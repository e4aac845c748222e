"""SEEDS rows 000 and 004: everything composes with everything.

The Autodidax stress test to second order; and compositions drawn by hypothesis over programs
that work in place, compared with finite differences, loops and each other.
"""

import itertools

import numpy
import pytest
from hypothesis import given, settings, strategies as st

import lazynp as np
from lazynp import (
    checkpoint,
    cond,
    custom_jvp,
    grad,
    jacfwd,
    jacrev,
    jit,
    jvp,
    linearize,
    scan,
    value_and_grad,
    vjp,
    vmap,
)

X = np.array([0.31, -0.72, 1.24])


def deriv_jvp(f):
    return lambda x: jvp(f, (x,), (1.0,))[1]


def deriv_linearize(f):
    return lambda x: linearize(f, x)[1](1.0)


def deriv_jit_jvp(f):
    return jit(deriv_jvp(f))


def deriv_vjp(f):
    return lambda x: vjp(f, x)[1](1.0)[0]


def deriv_grad_jit(f):
    return grad(jit(f))


def deriv_jit_grad(f):
    return jit(grad(f))


DERIVATIVES = [
    grad,
    deriv_jvp,
    deriv_linearize,
    deriv_jit_jvp,
    deriv_vjp,
    deriv_grad_jit,
    deriv_jit_grad,
]


def autodidax(x):
    y = np.sin(x * 2.0) * 2.0
    z = -y + x
    return cond(z > 0, lambda y: np.cos(y) * y, lambda y: y, z)


def in_place(x):
    y = np.zeros(3)
    y[0] = x
    y[1:] += np.sin(x) * y[0]
    v = y[::-1]
    v[0] *= x
    y[y > 0.5] = x * x
    return y.sum()


@pytest.mark.parametrize("f", [autodidax, in_place], ids=["autodidax", "in_place"])
def test_stress_to_second_order(f) -> None:
    eps = 1e-4
    for x in (0.3, 2.0):
        first = (float(f(x + eps)) - float(f(x - eps))) / (2 * eps)
        second = (float(f(x + eps)) - 2 * float(f(x)) + float(f(x - eps))) / eps**2
        for a in DERIVATIVES:
            numpy.testing.assert_allclose(a(f)(x), first, rtol=1e-5, atol=1e-6)
        for a, b in itertools.product(DERIVATIVES, repeat=2) if x < 1 else ():
            numpy.testing.assert_allclose(a(b(f))(x), second, rtol=1e-4, atol=1e-4)


def test_values_through_every_pair() -> None:
    f = in_place
    want = [float(grad(f)(x)) for x in X]
    for g in (
        vmap(grad(f)), jit(vmap(grad(f))), vmap(jit(grad(f))), vmap(grad(jit(f))),
        grad(lambda xs: vmap(f)(xs).sum()), grad(lambda xs: jit(vmap(jit(f)))(xs).sum()),
        lambda xs: np.diagonal(jacfwd(vmap(f))(xs)), lambda xs: np.diagonal(jacrev(vmap(f))(xs)),
        lambda xs: value_and_grad(lambda xs: vmap(f)(xs).sum())(xs)[1],
        grad(lambda xs: scan(lambda c, x: (c + f(x), None), 0.0, xs)[0]),
        lambda xs: np.map(grad(f), xs),
    ):  # fmt: skip
        numpy.testing.assert_allclose(g(X), want, rtol=1e-12)


# -- a small language of programs ------------------------------------------------------------------


def s_slice(x):
    y = x.copy()
    y[1:] += np.sin(y[:-1])
    return y


def s_reverse_view(x):
    y = x * 1.5
    v = y[::-1]
    v[:2] *= x[1:]
    return y


def s_mask(x):
    y = np.cos(x)
    y[x > 0.1] = x[1] * 2
    return y


def s_argument(x):
    x *= 0.5
    x[0] -= x[1] ** 2
    return x


def s_matrix(x):
    m = np.zeros((3, 3))
    m[0] = x
    m.T[1] += x * x
    return m @ x


def s_gather(x):
    y = np.zeros(3)
    y[[2, 0]] = x[[0, 1]]
    return y * x[0]


def s_cond(x):
    return cond(x[0] > 0.2, lambda v: v * v[0], lambda v: np.sin(v), x)


def s_scan(x):
    log = np.zeros(3)

    def body(c, i):
        log[i] = c * x[i]
        return c + log[i], None

    scan(body, x[0], np.arange(3))
    return log


def s_jit(x):
    k = np.array([1.0, -1.0, 0.5])

    def h(a):
        a[1:] *= k[:2]
        return a[::-1] * k

    return x + jit(h)(x)


@custom_jvp
def s_custom(x):
    y = x * 1
    y[0] = np.sin(x[1]) * np.array([1.0, 2.0])[1]
    return y


@s_custom.defjvp
def _(primals, tangents):
    (x,), (dx,) = primals, tangents
    moved = dx * np.array([1.0, 1.0, 1.0])
    moved[0] = 2 * np.cos(x[1]) * dx[1]
    return s_custom(x), moved


def s_at(x):
    return x.at[np.array([0, 0, 5])].add(x[::-1], mode="drop")


STEPS = [
    s_slice, s_reverse_view, s_mask, s_argument, s_matrix, s_gather, s_cond, s_scan, s_jit,
    s_custom, s_at,
]  # fmt: skip


def t_jit(f):
    return jit(f)


def t_vmap(f):
    return lambda x: vmap(f)(np.stack([x, 2 * x]))[0]


def t_jvp(f):
    return lambda x: jvp(f, (x,), (np.array([1.0, 0.5, -0.3]),))[1]


def t_grad(f):
    return grad(lambda x: (f(x) * np.array([1.0, 2.0, 3.0])).sum())


def t_vjp(f):
    return lambda x: vjp(f, x)[1](np.array([1.0, -0.5, 2.0]))[0]


TRANSFORMS = [t_jit, t_vmap, t_jvp, t_grad, t_vjp, checkpoint]


# Where everything is compiled, an example takes seconds.
@settings(max_examples=8 if np.config.execution == "compiled" else 25, deadline=None)
@given(
    st.lists(st.sampled_from(STEPS), min_size=1, max_size=3),
    st.lists(st.sampled_from(TRANSFORMS), min_size=1, max_size=2),
)
def test_compositions(steps, transforms) -> None:
    def program(x):
        x = x.copy()
        for step in steps:
            x = step(x)
        return x

    f = program
    for t in transforms:
        f = t(f)
    g = jit(program)
    for t in transforms:
        g = t(g)
    np.check_grads(f, (X.copy(),), order=1, rtol=1e-4, atol=1e-4)
    numpy.testing.assert_allclose(f(X.copy()), g(X.copy()), rtol=1e-9, atol=1e-12)
    rows = numpy.stack([numpy.asarray(X), -numpy.asarray(X)])
    loop = numpy.stack([numpy.asarray(f(np.asarray(r))) for r in rows])
    numpy.testing.assert_allclose(vmap(f)(np.asarray(rows)), loop, rtol=1e-9, atol=1e-12)


def _imaginary_part(x):
    z = x + 1j * x
    z[1] = 2
    z.imag *= x
    return np.abs(z).sum()


def _real_part(x):
    z = x + 1j * x
    z.real[1:] = 2
    z.imag += 1 * x
    z.real -= x * 2
    return (np.abs(z) ** 2).sum()


@pytest.mark.parametrize("f", [_imaginary_part, _real_part])
def test_parts_of_complex_arrays_in_place(f) -> None:
    """More than once: what was met before takes another way."""
    x = np.array([1.0, 2.0, 3.0])
    want = numpy.asarray(jit(grad(f))(x))
    np.check_grads(f, (x,), order=1, rtol=1e-4, atol=1e-4)
    for _ in range(4):
        numpy.testing.assert_allclose(grad(f)(x), want, rtol=1e-14)
        numpy.testing.assert_allclose(np.jacfwd(f)(x), want, rtol=1e-14)
        numpy.testing.assert_allclose(np.jvp(f, (x,), (x,))[1], (want * x).sum(), rtol=1e-14)
        numpy.testing.assert_allclose(vmap(grad(f))(x[None])[0], want, rtol=1e-14)


class _Counter:
    def __init__(self) -> None:
        self.u, self.t, self.log = np.zeros(3), 0.0, {}

    def step(self, k) -> None:
        self.u[1:] += k
        self.t += k
        self.log["t"] = self.t * 2


def test_objects_made_in_a_mapped_function() -> None:
    """What they hold ends with them, under `jit` too."""

    def f(k):
        made = _Counter()
        made.step(k)
        made.step(k)
        return made.u.sum() * k + made.t + made.log["t"]

    k = np.array([1.0, 2.0])
    for g in (f, grad(f)):
        want = [float(g(v)) for v in (1.0, 2.0)]
        for h in (vmap(g), jit(vmap(g)), vmap(jit(g)), jit(vmap(jit(g)))):
            assert numpy.asarray(h(k)).tolist() == want
