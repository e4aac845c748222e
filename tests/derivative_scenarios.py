"""Calls of derivatives in a row, as users make them: each scenario gives the list of its results.

Programs may run what `COMPILED` asks for again and again, and must leave `IN_PYTHON` to Python.
Between two calls the data, shapes, branches, closures, attributes and global names change.
"""

from __future__ import annotations

import functools
import random
import sys
import time
import types
from typing import Any

import numpy
import scipy.optimize

import lazynp as np

LOG: list[Any] = []
COUNT = 0
TOTALS = np.zeros(3)
GAIN = 2.0
BATCH = np.ones((9, 6))
TABLE = numpy.ones((9, 6))
STATE = types.SimpleNamespace(rate=1.0, table=numpy.ones(3))
THIS = sys.modules[__name__]
WEIGHTS = np.arange(1.0, 7.0)


def data(k: int, *shape: int) -> Any:
    return np.asarray(numpy.random.default_rng(k).normal(size=shape))


# -- what programs may run -------------------------------------------------------------------------


def fit(w: Any, x: Any, y: Any) -> Any:
    return ((np.tanh(x @ w) - y) ** 2).mean() + 0.1 * (w * w).sum()


def descends() -> Any:
    w, g = data(0, 6), np.grad(fit)
    for k in range(7):
        w = w - 0.1 * g(w, data(1, 9, 6), data(2, 9))
        yield w, k


def descends_in_place() -> Any:
    w, g = data(0, 6), np.grad(fit)
    x, y = data(1, 9, 6), data(2, 9)
    for k in range(7):
        w -= 0.1 * g(w, x, y)
        x[k] *= 0.5
        yield w.copy()


def batches_in_closures() -> Any:
    w = data(0, 6)
    for k in range(7):
        x, y = data(k, 9, 6), data(k + 9, 9)
        value, g = np.value_and_grad(lambda w: fit(w, x, y))(w)  # noqa: B023
        w = w - 0.1 * g
        yield value, w


def batches_of_numpy() -> Any:
    w = numpy.ones(6)
    for k in range(7):
        x, y = numpy.asarray(data(k, 9, 6)), numpy.asarray(data(k + 9, 9))
        g = np.grad(lambda w, s: s * fit(w, x, y))(w, numpy.float64(k))  # noqa: B023
        w = w - 0.1 * numpy.asarray(g)
        yield g


def two_names_of_one_code() -> Any:
    def of(scale: float) -> Any:
        return np.grad(lambda x: (np.sin(x) * scale).sum())

    for k in range(6):
        yield of(1.0 + k % 2)(data(k, 4)), of(0.5)(data(k, 4))


def trees() -> Any:
    def loss(p: Any, x: Any) -> Any:
        for w, b in p["layers"]:
            x = np.tanh(x @ w + b)
        return (x * x).sum() * p["scale"]

    g = np.grad(loss)
    for k in range(6):
        layers = [(data(k, 4, 4), data(k + 1, 4)), (data(k + 2, 4, 3), data(k + 3, 3))]
        yield g({"layers": layers, "scale": data(k, 1)[0]}, data(9, 5, 4))


def named_trees() -> Any:
    class P(types.SimpleNamespace):
        pass

    import collections  # noqa: PLC0415

    pair = collections.namedtuple("pair", "a b")
    g = np.grad(lambda p: (p.a * p.b).sum() + (p.a**3).sum())
    for k in range(6):
        yield tuple(g(pair(data(k, 4), data(k + 1, 4))))


def branches() -> Any:
    def f(x: Any) -> Any:
        if x.sum() > 0:
            return (x**2).sum()
        if x[0] > 0:
            return x[0] * 3.0 + x.sum()
        return np.exp(-x).sum()

    g = np.grad(f)
    for k in range(12):
        yield g(data(k, 3))


def loops_in_place() -> Any:
    def f(x: Any, steps: int) -> Any:
        u = x.copy()
        for _ in range(steps):
            u[1:-1] = 0.25 * (u[2:] + u[:-2]) + 0.5 * u[1:-1]
        return (u * u).sum()

    g = np.value_and_grad(f)
    for k in range(8):
        yield g(data(k, 12), 20)


def sizes_that_vary() -> Any:
    def f(x: Any, n: int) -> Any:
        total = 0.0
        for i in range(n):
            total = total + x[i] * x[i + 1]
        return total

    g = np.grad(f)
    for k in (3, 4, 5, 6, 5, 3, 3, 4, 5, 6, 5, 3):
        yield g(data(k, 9), k)


def shapes_that_alternate() -> Any:
    g = np.grad(lambda x: (np.sin(x) ** 2).sum())
    for k in range(9):
        yield g(data(k, 3 + k % 3, 1 + k % 2))


def numbers() -> Any:
    g = np.grad(lambda x, s: np.sqrt(x) / x + x**s)
    for k in range(1, 9):
        yield g(0.5 * k, 2.0), g(float(k), 1.0 + k), g(numpy.float64(k), 2.0)


def numbers_where_python_would_raise() -> Any:
    g = np.grad(lambda x: 1.0 / x)
    for x in (1.0, 2.0, 0.0, 3.0):
        with np.errstate(all="ignore"):
            yield g(x)


def complex_values() -> Any:
    g = np.grad(lambda z: abs(z * z - 1j).sum())
    h = np.grad(lambda z: (z**3).sum(), holomorphic=True)
    for k in range(6):
        z = data(k, 4) + 1j * data(k + 1, 4)
        yield g(z), h(z)


def float32() -> Any:
    g = np.value_and_grad(lambda x: (np.sin(x) * x).sum())
    for k in range(6):
        yield g(data(k, 8).astype(np.float32))


def auxiliary() -> Any:
    def f(x: Any, n: int) -> Any:
        y = np.cos(x)
        return (y * y).sum(), {"y": y, "n": n, "name": "cos", "first": x[0]}

    g = np.value_and_grad(f, has_aux=True)
    for k in range(6):
        yield g(data(k, 4), 7)


def several_arguments() -> Any:
    g = np.grad(lambda a, b, *, c=1.0: (a * b).sum() * c, argnums=(0, 1))
    for k in range(6):
        yield g(data(k, 3), data(k + 1, 3), c=data(k, 1)[0])


def one_array_twice() -> Any:
    g = np.grad(lambda a, b: (a * b * b).sum(), argnums=(0, 1))
    for k in range(6):
        x = data(k, 3)
        yield g(x, x), g(x, x + 1)


def views_and_orders() -> Any:
    g = np.grad(lambda a: (a[1:] * a[:-1]).sum())
    for k in range(6):
        x = data(k, 6, 6)
        fixed = x.copy()
        fixed.flags.writeable = False
        yield g(x[k % 2 :: 2]), g(x.T), g(x[::-1]), g(fixed), g(x[2])


def partials_and_defaults() -> Any:
    def f(x: Any, w: Any, s: Any = 2.0, *, t: Any = WEIGHTS) -> Any:
        return (x * w * s + t).sum() ** 2

    for k in range(6):
        yield np.grad(functools.partial(f, w=data(k, 6), s=3.0))(data(k + 1, 6))
        yield np.grad(f)(data(k, 6), data(k + 1, 6))


def second_derivatives() -> Any:
    def f(x: Any) -> Any:
        return (np.sin(x) * x[::-1]).sum() ** 2

    for k in range(6):
        x = data(k, 4)
        yield np.hessian(f)(x), np.grad(lambda x: np.grad(f)(x).sum())(x)


def jacobians() -> Any:
    def f(x: Any) -> Any:
        return np.stack([x.sum() * x, np.exp(x)])

    for k in range(6):
        yield np.jacfwd(f)(data(k, 4)), np.jacrev(f)(data(k, 4))


def pushes() -> Any:
    """`jvp` by itself, with the types of calls that it takes."""
    c = data(3, 4)

    def f(x: Any, s: Any) -> Any:
        u = x * s
        u[1:] += np.sin(u[:-1])
        return {"sum": u.sum(), "all": u * c}

    for k in range(6):
        x, v = data(k, 4), data(k + 1, 4)
        yield np.jvp(f, (x, 2.0), (v, 1.0)), np.jvp(f, [x, 1.0 + k], [v, None])
        yield np.jvp(lambda x: (f(x, k), x[0]), (x,), (v,), has_aux=True)  # noqa: B023
        yield np.jvp(lambda p: p["a"] * p["b"][0], ({"a": x, "b": [v]},), ({"a": v, "b": [x]},))


def pushes_of_numbers() -> Any:
    for k in range(8):
        yield np.jvp(lambda x, s: np.sqrt(x) / x + x**s, (1.0 + k, 2.0), (1.0, 0.5 * k))
        yield np.jvp(lambda x: 1.0 / x + x, (numpy.float64(1 + k),), (1.0,))


def numbers_that_stay_pythons() -> Any:
    """A number without a tangent is Python's: it divides, and becomes an int8, as Python's do."""
    small = np.ones(3, np.int8)

    def f(x: Any, n: int, s: float) -> Any:
        return (x * x).sum() * (1.0 / s) + (small * n).sum()

    for k in (1, 2, 3, 4, 5, 6, 7, 300, 8, 0, 2):
        try:
            yield np.jvp(f, (data(0, 3), k, 0.5 * k), (data(1, 3), None, None))
        except ArithmeticError as error:
            yield str(error)


def linear_functions() -> Any:
    """Of `vjp` and `linearize`: called twice, and after what they were made of has changed."""
    w, scale = numpy.ones(4), np.ones(4)

    def f(x: Any, s: Any) -> Any:
        u = x * s * w * scale * WEIGHTS[:4]
        u[1:] += np.sin(u[:-1])
        return {"sum": u.sum(), "all": [u * u, u.astype(np.float32)]}

    for k in range(6):
        x, v, s = data(k, 4), data(k + 1, 4), 1.0 + k
        out, pull = np.vjp(f, x, s)
        same, push = np.linearize(f, x, s)
        ct = {"sum": 2.0, "all": [v, np.ones(4, np.float32)]}
        x *= 3.0
        w[k % 4] = scale[k % 3] = k
        WEIGHTS[0] = k
        yield out, pull(ct), pull(same), push(v, 1.0), push(x, 0.5)
    WEIGHTS[0] = 1.0


def linear_functions_with_auxiliary() -> Any:
    def f(x: Any, n: Any) -> Any:
        y = np.cumsum(x) * n
        return (y.sum(), n, 7), {"y": y, "name": "f"}

    for k in range(6):
        x, n = data(k, 4), np.array(k)
        out, pull, aux = np.vjp(f, x, n, has_aux=True)
        same, push, more = np.linearize(f, x, n, has_aux=True)
        by_x, by_n = pull((2.0, None, None))
        yield out, aux, by_x, by_n.tolist() == b"", same, more, push(x, None)[0]


def linear_functions_transformed() -> Any:
    def f(x: Any) -> Any:
        return np.tanh(x[1:]) * x[:-1]

    for k in range(6):
        out, pull = np.vjp(f, data(k, 4))
        _, push = np.linearize(f, data(k, 4))
        yield np.vmap(pull)(np.eye(3)), np.vmap(push)(np.eye(4)), np.jit(pull)(out)
        yield np.grad(lambda v: (pull(v)[0] ** 2).sum())(out)  # noqa: B023


def linear_functions_of_loops() -> Any:
    def f(x: Any, a: Any) -> Any:
        u = x * 1.0
        for i in range(40):
            u[1:-1] = 0.25 * (u[2:] + u[:-2]) + a * np.sin(u[1:-1])
            if u[i % 6] > 0:
                u *= 0.9
        return u

    for k in range(6):
        x, v = data(k, 7), data(k + 1, 7)
        _, pull = np.vjp(f, x, 0.5)
        _, push = np.linearize(f, x, 0.5)
        yield pull(v), push(v, 1.0)


def singular_slopes() -> Any:
    """Zero times infinity is zero, also for cotangents that only a program knows to be zero."""
    x = np.array([0.0, 4.0])
    for k in range(6):
        (y, z), pull = np.vjp(lambda x: (np.sqrt(x), x @ x * k), x)  # noqa: B023
        yield y, pull((np.array([0.0, 1.0]), z)), pull((np.zeros(2), 0.0))


def products_with_hessians() -> Any:
    x, y = data(1, 9, 6), data(2, 9)
    for k in range(6):
        w, v = data(k, 6), data(k + 1, 6)
        yield np.jvp(np.grad(lambda w: fit(w, x, y)), (w,), (v,))
        yield np.hvp(fit, (w, x, y), (v, x, y)), np.hvp(lambda w: fit(w, x, y), (w,), (v,))


def mapped() -> Any:
    g = np.vmap(np.grad(fit), in_axes=(0, None, None))
    for k in range(6):
        yield g(data(k, 5, 6), data(1, 9, 6), data(2, 9))


class Model:
    factor = 1.0

    def __init__(self) -> None:
        self.x, self.y, self.rate, self.name = data(1, 9, 6), data(2, 9), 0.5, "model"
        self.history: list[Any] = []

    def loss(self, w: Any) -> Any:
        return fit(w, self.x, self.y) * self.rate

    def fitted(self, steps: int) -> Any:
        w = data(0, 6)
        for k in range(steps):
            g = np.grad(self.loss)(w)
            w = w - g
            self.history.append(w)
            self.rate *= 0.9
            if k == 4:
                self.x = self.x[:5] * 2.0
                self.y = self.y[:5]
            yield w


def methods() -> Any:
    yield from Model().fitted(9)


class Callable_:
    def __init__(self, a: float) -> None:
        self.a = a

    def __call__(self, x: Any) -> Any:
        return (x**2).sum() * self.a


def callable_objects() -> Any:
    f = Callable_(1.0)
    for k in range(6):
        f.a = 1.0 + k
        yield np.grad(f)(data(k, 3))


def errors_at_some_values() -> Any:
    def f(x: Any) -> Any:
        if x[0] > 1.0:
            raise ValueError("too large")
        return (x * x).sum()

    g = np.grad(f)
    for k in range(14):
        try:
            yield g(data(k, 2))
        except ValueError as error:
            yield str(error)


def searches() -> Any:
    def f(x: Any) -> Any:
        return (100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum()

    found = scipy.optimize.minimize(f, numpy.zeros(4), jac=np.grad(f), method="BFGS")
    yield bool(abs(found.x - 1).max() < 1e-4)
    both = scipy.optimize.minimize(np.value_and_grad(f), numpy.zeros(4), jac=True)
    yield bool(abs(both.x - 1).max() < 1e-4)


def global_arrays_written() -> Any:
    g = np.grad(lambda x: (x * WEIGHTS).sum() ** 2)
    before = WEIGHTS.copy()
    for k in range(6):
        WEIGHTS[k] = -WEIGHTS[k]
        yield g(data(k, 6))
    WEIGHTS[:] = before


def gained(x: Any) -> Any:
    return x * GAIN


def globals_bound_anew() -> Any:
    """In a script, batches and rates are global names."""
    global BATCH, GAIN
    before = BATCH, GAIN

    def f(w: Any) -> Any:
        inner = lambda v: v * GAIN + BATCH[0, 0]  # noqa: E731
        return fit(w, BATCH, gained(BATCH[:, 0])) + inner(w).sum()

    for k in range(9):
        BATCH = data(k, 9, 6) if k % 4 else BATCH
        GAIN = 1.0 + 0.25 * (k % 5)
        yield np.grad(f)(data(k, 6)), np.hessian(f)(data(k, 6))
    BATCH, GAIN = before


def globals_of_other_types() -> Any:
    global GAIN
    before = GAIN
    values = 1.0, 2.0, 3.0, data(0, 1)[0], 2, True, numpy.ones(3), np.ones(3), np.ones((2, 1)), 4.0
    for k, value in enumerate(values):
        GAIN = value
        yield np.grad(lambda x: gained(x).sum() ** 2)(data(k, 3))
    GAIN = before


def global_arrays_of_numpy() -> Any:
    """Written in place and bound anew."""
    global TABLE
    before = TABLE.copy()
    f = lambda w: fit(w, TABLE, TABLE[:, 1])  # noqa: E731
    for k in range(8):
        TABLE[k] = k
        if k == 4:
            TABLE = TABLE * 0.5
        yield np.grad(f)(data(k, 6))
    TABLE = before


def attributes_of_functions() -> Any:
    f = lambda x: (gained(x) * gained.scale).sum()  # noqa: E731
    for k in range(6):
        gained.scale = 1.0 + k  # type: ignore[attr-defined]
        yield np.grad(f)(data(k, 3))
    del gained.scale  # type: ignore[attr-defined]


def attributes_of_global_objects() -> Any:
    f = lambda x: (x * STATE.rate).sum() * GAIN  # noqa: E731
    for k in range(6):
        STATE.rate = 1.0 + k
        yield np.grad(f)(data(k, 3))
    STATE.rate = 1.0


def attributes_of_classes() -> Any:
    f = lambda x: (x * Model.factor).sum()  # noqa: E731
    for k in range(6):
        Model.factor = 1.0 + k
        yield np.grad(f)(data(k, 3))
    Model.factor = 1.0


def arrays_of_numpy_in_objects() -> Any:
    """NumPy writes them in place."""
    held = types.SimpleNamespace(a=numpy.ones(3))
    f = lambda x: (x * STATE.table).sum()  # noqa: E731
    g = lambda x: (x * held.a).sum()  # noqa: E731
    for k in range(6):
        STATE.table[:] = held.a[:] = k
        yield np.grad(f)(data(k, 3)), np.grad(g)(data(k, 3))


def results_written() -> Any:
    """What a program gives back is nobody else's."""
    g = np.value_and_grad(lambda x: 0.5 * (x * x).sum())
    x = data(0, 4)
    for _ in range(6):
        _, slope = g(x)
        slope += 1.0
        yield slope, x
        x[0] += 1.0


def wrapped() -> Any:
    slope = np.grad(lambda x: (x**3).sum())

    @functools.wraps(slope)
    def clipped(x: Any) -> Any:
        return np.clip(slope(x), -1.0, 1.0)

    for k in range(6):
        yield np.jacrev(clipped)(data(k, 3)), clipped(data(k, 3))


def reads_a_global_list() -> Any:
    def f(x: Any) -> Any:
        return (x * len(LOG)).sum()

    for k in range(5):
        LOG.append(k)
        yield np.grad(f)(data(k, 3))
    LOG.clear()


def ignores_errors() -> Any:
    def f(x: Any) -> Any:
        with np.errstate(divide="ignore"):
            return (x / x).sum()

    yield from _slopes(f)


COMPILED = [
    ignores_errors,
    reads_a_global_list,
    descends, descends_in_place, batches_in_closures, batches_of_numpy, two_names_of_one_code,
    trees, named_trees, branches, loops_in_place, sizes_that_vary, shapes_that_alternate, numbers,
    complex_values, float32, auxiliary, several_arguments, one_array_twice, views_and_orders,
    partials_and_defaults, second_derivatives, jacobians, mapped, methods, callable_objects,
    errors_at_some_values, searches, global_arrays_written, globals_bound_anew,
    globals_of_other_types, global_arrays_of_numpy, arrays_of_numpy_in_objects, results_written,
    wrapped, numbers_where_python_would_raise, pushes, pushes_of_numbers,
    numbers_that_stay_pythons, linear_functions, linear_functions_with_auxiliary,
    linear_functions_transformed, linear_functions_of_loops, singular_slopes,
    products_with_hessians,
]  # fmt: skip


# -- what Python could notice ----------------------------------------------------------------------


def prints() -> Any:
    def f(x: Any) -> Any:
        print("called")
        return (x * x).sum()

    yield from _slopes(f)


def _slopes(f: Any) -> Any:
    g = np.grad(f)
    for k in range(5):
        yield g(data(k, 3)), np.jvp(f, (data(k, 3),), (data(k + 1, 3),))
        yield np.vjp(f, data(k, 3))[1](1.0), np.linearize(f, data(k, 3))[1](data(k, 3))


def appends() -> Any:
    seen: list[Any] = []

    def f(x: Any) -> Any:
        seen.append(len(seen))
        return (x * x).sum()

    yield from _slopes(f)
    yield seen


def counts() -> Any:
    count = 0

    def f(x: Any) -> Any:
        nonlocal count
        count += 1
        return (x * x).sum()

    yield from _slopes(f)
    yield count


def counts_in_an_attribute() -> Any:
    class Counting:
        calls = 0

        def f(self, x: Any) -> Any:
            self.calls += 1
            return (x * x).sum()

    found = Counting()
    for k in range(5):
        yield np.grad(found.f)(data(k, 3)), found.calls


def counts_globally() -> Any:
    def f(x: Any) -> Any:
        global COUNT
        COUNT += 1
        return (x * x).sum()

    before = COUNT
    yield from _slopes(f)
    yield COUNT - before


def sets_an_item() -> Any:
    last = {"x": 0}

    def f(x: Any) -> Any:
        last["x"] += 1
        return (x * x).sum()

    yield from _slopes(f)
    yield last


def writes_its_argument() -> Any:
    def f(x: Any) -> Any:
        x[0] = 2.0 * x[1]
        return (x * x).sum()

    g = np.grad(f)
    for k in range(5):
        x = data(k, 3)
        yield g(x), x


def writes_another_argument() -> Any:
    def f(x: Any, y: Any) -> Any:
        y += 1.0
        return (x * y).sum()

    g, y, z = np.grad(f), np.zeros(3), numpy.zeros(3)
    for k in range(5):
        yield g(data(k, 3), y), y, g(data(k, 3), z), z.tolist()


def writes_a_captured_array() -> Any:
    kept = np.zeros(3)

    def f(x: Any) -> Any:
        kept[1] += 1.0
        return (x * x * kept).sum()

    yield from _slopes(f)
    yield kept


def writes_a_global_array() -> Any:
    def f(x: Any) -> Any:
        TOTALS[0] += 1.0
        return (x * x * TOTALS).sum()

    TOTALS[:] = 0
    yield from _slopes(f)
    yield TOTALS.copy()


def reads_names_of_a_module() -> Any:
    """They are attributes as well, so they are no inputs."""
    global GAIN
    before = GAIN
    f = lambda x: (x * x).sum() * THIS.GAIN * GAIN  # noqa: E731
    for k in range(6):
        GAIN = 1.0 + k
        yield np.grad(f)(data(k, 3))
    GAIN = before


def reads_names_by_a_property() -> Any:
    global GAIN
    before = GAIN

    class Rate:
        @property
        def now(self) -> Any:
            return GAIN * 2.0

    rate = Rate()
    f = lambda x: (x * x).sum() * rate.now * GAIN  # noqa: E731
    for k in range(6):
        GAIN = 1.0 + k
        yield np.grad(f)(data(k, 3))
    GAIN = before


def draws() -> Any:
    def f(x: Any) -> Any:
        return (x * random.random()).sum()

    random.seed(1)
    yield from _slopes(f)


def draws_of_numpy() -> Any:
    def f(x: Any) -> Any:
        return (x * np.random.rand(3)).sum()

    np.random.seed(1)
    yield from _slopes(f)


def draws_of_a_generator() -> Any:
    rng, other = np.random.default_rng(1), numpy.random.default_rng(1)

    def f(x: Any) -> Any:
        return (x * rng.normal() * other.normal()).sum()

    yield from _slopes(f)


def asks_the_clock() -> Any:
    def f(x: Any) -> Any:
        return (x * (time.perf_counter() > 0)).sum()

    yield from _slopes(f)


def sets_errstate() -> Any:
    def f(x: Any) -> Any:
        with np.errstate(divide="warn"):
            return (x / x).sum()

    yield from _slopes(f)


def keeps_an_array() -> Any:
    kept: list[Any] = [None]

    def f(x: Any) -> Any:
        y = x * 2.0
        kept[0] = np.stop_gradient(y)
        return (y * y).sum()

    g = np.grad(f)
    for k in range(5):
        yield g(data(k, 3)), kept[0]


def gives_an_object() -> Any:
    def f(x: Any) -> Any:
        return (x * x).sum(), {1, 2}

    g = np.grad(f, has_aux=True)
    for k in range(5):
        yield g(data(k, 3))


def exhausts_an_iterator() -> Any:
    scales = iter(range(100))

    def f(x: Any) -> Any:
        return (x * next(scales)).sum()

    yield from _slopes(f)


# the first calls may be programs, until the names change
UNTIL_CHANGED = [
    attributes_of_functions,
    attributes_of_global_objects,
    attributes_of_classes,
    reads_names_of_a_module,
    reads_names_by_a_property,
]

IN_PYTHON = [
    prints, appends, counts, counts_in_an_attribute, counts_globally, sets_an_item,
    writes_its_argument, writes_another_argument, writes_a_captured_array, writes_a_global_array,
    draws, draws_of_numpy, draws_of_a_generator, asks_the_clock,
    sets_errstate, keeps_an_array, gives_an_object, exhausts_an_iterator,
]  # fmt: skip
