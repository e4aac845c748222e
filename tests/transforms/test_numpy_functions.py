"""NumPy's functions under jvp, vmap, vjp and jit: against differences, loops and each other."""

import re
from pathlib import Path
from typing import Any

import numpy
import pytest

import lazynp as np
from lazynp import jit, jvp, vjp, vmap
from lazynp._protocols import find

X = numpy.array([0.3, 0.7, 1.23, 0.45])
V = numpy.array([1.0, -0.5, 2.0, 0.7])


def called(name):
    return lambda x: getattr(np, name)(x)


def in_place(function):
    """A function that changes a copy of its argument."""

    def f(x):
        y = x * 1
        function(y, x)
        return y

    return f


NAMES = """sin cos exp log sqrt tanh arctan cbrt exp2 log1p expm1 square abs sign floor rint cumsum
cumprod sort argsort sum prod mean std var min max median diff flip ravel trapezoid sinc unwrap ptp
nansum nanmean nanmax nancumsum diag atleast_2d arcsinh i0 nan_to_num any all argmax isnan gradient
ediff1d copy ones_like real imag deg2rad signbit reciprocal negative average""".split()
FUNCTIONS = {name: called(name) for name in NAMES} | {
    "clip": lambda x: np.clip(x, 0.4, 1),
    "where": lambda x: np.where(x > 0.5, x, -x),
    "power": lambda x: x**3 + x**2.5 + 2.0**x + np.power(x, np.array([1, 2, 3, 0])),
    "joining": lambda x: np.concatenate([x, np.stack([x, x])[1], np.append(x, x[0])]),
    "products": lambda x: np.outer(x, x) @ x + np.dot(x, x) + np.einsum("i,j->i", x, x),
    "matrices": lambda x: np.kron(x, x).reshape(4, 4).T + np.tril(x.reshape(2, 2)).sum(),
    "moving": lambda x: np.roll(np.tile(np.repeat(np.pad(x, 1), 2), 2), 3),
    "taking": lambda x: np.take(x, [0, 2]) + np.take_along_axis(x, np.argsort(x), 0)[:2],
    "interp": lambda x: np.interp(x, np.arange(3.0), np.array([0.0, 10.0, 15.0])),
    "convolve": lambda x: np.convolve(x, np.ones(2)) + np.correlate(x, x),
    "quantile": lambda x: np.quantile(x, [0.1, 0.5]) + np.percentile(x, 30),
    "making": lambda x: np.array([x[0], x[1] * 2]) + np.full(2, x[0]) + np.linspace(0, x[0], 2),
    "iteration": lambda x: sum(v * v for v in x) + x[-1],
    "remainders": lambda x: x % 0.4 + x // 0.4 + np.divmod(x, 0.33)[1] + np.fmod(x, 0.4),
    "complex": lambda x: np.abs(np.exp(1j * x) * x),
    "out": lambda x: np.add(x, 1, out=np.zeros(4)) + np.add(x, 1, where=x > 0.5, out=np.ones(4)),
    "ufunc methods": lambda x: np.add.reduceat(x, [0, 2]).sum() + np.multiply.accumulate(x),
    "bincount": lambda x: np.bincount(np.array([0, 1, 1, 2]), x),
    "masked sum": lambda x: np.sum(x, where=x > 0.5) * x,
    "comparisons": lambda x: np.allclose(x, x) & np.isclose(x, 1.23) & np.array_equal(x, x),
    "insert": lambda x: np.delete(np.insert(x, 1, x[0]), 2),
    "cov": lambda x: np.cov(x.reshape(2, 2)) * np.linalg.norm(x),
    "fill_diagonal": in_place(lambda y, x: np.fill_diagonal(y.reshape(2, 2), x[0] * x[1])),
    "put": in_place(lambda y, x: np.put(y, [0, 1], x[2:] ** 2)),
    "copyto": in_place(lambda y, x: np.copyto(y[1:], x[:-1] * 2, where=x[1:] > 0.4)),
    "copyto of a scalar": in_place(lambda y, x: np.copyto(y[1:], (x * x).sum(), where=x[1:] > 0.4)),
    "putmask": in_place(lambda y, x: np.putmask(y, x > 0.5, x * x)),
    "set shape": in_place(lambda y, x: setattr(y, "shape", (2, 2))),
    "flat": in_place(lambda y, x: y.flat.__setitem__(1, x[0] * y.flat[2])),
    "sort in place": in_place(lambda y, x: y[::-1].sort()),
    "real view": lambda x: (lambda z: (z.real.__setitem__(0, x[1]), z.real + z.imag)[1])(x * 1j),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_function(name) -> None:
    f, h = FUNCTIONS[name], 1e-6
    value = numpy.asarray(f(np.array(X)))
    out, dot = jvp(f, (np.array(X),), (np.array(V),))
    numpy.testing.assert_array_equal(out, value)
    if value.dtype.kind == "f":
        high, low = numpy.asarray(f(np.array(X + h * V))), numpy.asarray(f(np.array(X - h * V)))
        numpy.testing.assert_allclose(dot, (high - low) / (2 * h), rtol=1e-5, atol=1e-5)
        (ct,) = vjp(f, np.array(X))[1](np.ones_like(out))
        numpy.testing.assert_allclose((ct * V).sum(), dot.sum(), rtol=1e-10, atol=1e-12)
    numpy.testing.assert_allclose(jit(f)(np.array(X)), value, rtol=1e-12)
    rows = numpy.asarray(vmap(f)(np.stack([X, 2 * X])))
    numpy.testing.assert_allclose(rows[0], value, rtol=1e-12)
    numpy.testing.assert_allclose(rows[1], f(np.array(2 * X)), rtol=1e-12)


def test_what_looks_at_data_sees_primals() -> None:
    def f(x):
        return (
            x[np.flatnonzero(x > 0.5)].sum() + x[np.nonzero(x)[0][0]] + len(np.argwhere(x)) * x[0]
        )

    _, dot = jvp(f, (np.array(X),), (np.ones(4),))
    assert float(dot) == 7.0


@pytest.mark.parametrize("name", NAMES)
def test_numpys_own_are_ours_on_traced_arrays(name: str) -> None:
    """Code that says `import numpy` itself."""
    theirs, ours = getattr(numpy, name), getattr(np, name)
    with np.config(execution="reference"):
        x, direction = np.array(X), np.array(V)
        got, want = (jvp(lambda x, f=f: f(x * 1.0), (x,), (direction,)) for f in (theirs, ours))
        for a, b in zip(got, want, strict=True):
            if b.dtype.kind == "V":  # float0: there is no tangent
                assert a.dtype == b.dtype and a.shape == b.shape
            else:
                numpy.testing.assert_allclose(a, b, rtol=1e-12)
        numpy.testing.assert_allclose(jit(lambda x: theirs(x))(x), ours(x), rtol=1e-12)
        rows = np.stack([x, 2 * x, x])
        numpy.testing.assert_allclose(vmap(lambda x: theirs(x))(rows)[0], ours(x), rtol=1e-12)


def test_every_function_of_ours_is_found_by_numpys_protocol() -> None:
    """The functions that NumPy dispatches to arrays; files, dates and text stay on the host."""
    host = """array2string array_repr array_str busday_count busday_offset datetime_as_string
    is_busday save savetxt savez savez_compressed""".split()
    page = (Path(__file__).parents[2] / "docs" / "coverage.md").read_text()
    native = page.split("\n## numpy\n")[1].split("\n## ")[0]
    lines = [x for x in native.splitlines() if x.startswith("- native")]
    for name in re.findall(r"`(\w+)`", " ".join(lines)):
        function: Any = getattr(numpy, name, None)
        if hasattr(function, "_implementation") and name not in host:
            assert find(function.__name__) is not None, name
