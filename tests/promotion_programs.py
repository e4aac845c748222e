"""Functions for test_promotion.py: those that a program may run, and those that it may not."""

from __future__ import annotations

import math
import random
import time
import types
from collections import namedtuple
from typing import Any

import numpy

import lazynp as np

SCALE = 0.5
WEIGHTS = np.array([1.0, 2.0, 3.0, 4.0])
SHIFTS = (1, 2, 3)
TOTALS = np.zeros(2)
NUMPYS = numpy.ones(4)
LOG: list[Any] = []
SETTINGS = types.SimpleNamespace(gain=2.0)
COUNT = 0
Pair = namedtuple("Pair", "low high")


class Physics:
    gain = 0.25


class Constants(Physics):
    pass


class Meta(type):
    @property
    def gain(cls):
        return 0.5


class Computing(metaclass=Meta):
    pass


computing: Any = types.ModuleType("computing")
computing.__getattr__ = lambda name: 0.5


# -- functions that a program may run ----------------------------------------------------------


def sweep(u, steps):
    for _ in range(steps):
        for i in range(1, len(u) - 1):
            u[i] = SCALE * (u[i - 1] + u[i + 1])
    return u


T, size = [], {"no": "array"}  # what a program reads of arrays by these names is something else


def reads_attributes_of_arrays(x):
    for i in range(len(x)):
        x[i] = x.T[i] * 0.5 + x.size
    return x


def stencil(u, steps):
    v = u.copy()
    for _ in range(steps):
        v[1:-1] = 0.25 * u[:-2] + 0.5 * u[1:-1] + 0.25 * u[2:]
        u, v = v, u
    return u


def history(x, steps):
    y, states, energies = x * 1.0, [x * 2], []
    for k in range(steps):
        y = y - 0.1 * y**3
        states.append(y)
        energies.append(float((y**2).sum()) + k)
    return np.array(states), np.array(energies), energies[:2], len(states)


def numbers_of_python(x):
    """The ints exceed 64 bits."""
    seed, total = 12345, 0.0
    for _ in range(300):
        seed = (6364136223846793005 * seed + 1442695040888963407) % 2**64
        total += seed / 2**64
    return x * total


def known_arrays(x):
    a, weights, log = np.ones(4) / 4, np.linspace(0.5, 1, 16).reshape(4, 4), 0.0
    for w in np.arange(400) % 4:
        a = (a @ weights) * weights[:, w]
        c = a.sum()
        a /= c
        log += np.log(c)
    return x * log


def lists(x, steps):
    y, states, energies, pairs, few = x * 1.0, [x * 2], [], [], []
    for k in range(steps):
        y = y - 0.1 * y**3
        states.append(y)
        energies.append(float((y**2).sum()) + k)
        pairs.append((k, y.sum(), y > 0))
    for k in range(12):
        few.append(x * k)
    return {"states": states, "energies": energies}, pairs, states[3], few[:3], few[5], energies[-1]


def total(x):
    found = 0.0
    for v in x:
        if v > 0:
            found += v
    return found


def first_above(x, limit):
    for i in range(len(x)):
        if x[i] > limit:
            return i
    return -1


def count_steps(x):
    k = 0
    y = x.copy()
    while y.max() > 0.1 and k < 100:
        y *= SCALE
        k += 1
    return y, k


def helper(x, k):
    return x * k + WEIGHTS


def calls_helper(x, n):
    out = np.zeros_like(x)
    for k in range(n):
        out += helper(x, k)
    return out


def weighted(x):
    for _ in range(12):
        x = x * WEIGHTS / WEIGHTS.sum()
    return {"x": x, "pair": Pair(x.min(), x.max()), "n": len(x), "name": "weighted", "none": None}


def in_place(x):
    for i in range(20):
        x[i % len(x)] += math.sqrt(i)


def many_kinds(x, flag, k, name, shape):
    out = np.ones(shape)
    for _ in range(k):
        out = out + (x.sum() if flag else x.prod()) + len(name)
    return out, [x > 0, x.astype(np.int32)], flag


def view_of_argument(x):
    for i in range(10):
        x[i % 4] += 1
    return x[1:3]


def comprehension(x):
    parts = [x * s for s in SHIFTS]
    for _ in range(20):
        parts[0] = parts[0] * 0.9 + parts[1]
    return np.stack(parts)


def class_constants(x):
    for _ in range(20):
        x = x * Constants.gain + 1
    return x


def scalars(x):
    a, b = x[0], x[1]
    for _ in range(30):
        a, b = b, 0.5 * (a + b)
    return a, float(b), int(b > 0), a > b


def twice_the_same(x):
    for _ in range(20):
        x = x * 0.5
    return x, x


def reads_an_object(x):
    for _ in range(20):
        x = x * SETTINGS.gain
    return x


def joined_tests(x):
    """Of `and` and `or`, a test needs the truth alone, so operands may be of any class."""
    found, label = np.zeros(len(x), dtype=np.int64), 0
    for i in range(len(x)):
        if i and x[i - 1] and not (x[i] > 0 or i % 3):
            found[i] = found[i - 1]
        elif x[i] or 0.5 and not (i and x[i - 1]):
            label += 1
            found[i] = label
        found[i] += 7 if i and x[i] else 3
    while label and x[0] and found[0] < 20:
        found[0] += 5
    return found, label


def draws_from_a_seed(x):
    rng = np.random.default_rng(3)
    s, order = rng.random(len(x)), rng.permutation(len(x))
    for i in range(40):
        s[i % len(x)] += x[order[i % len(x)]] * 0.5
    old = np.random.RandomState(5)
    other = np.random.Generator(np.random.PCG64(old.randint(99)))
    return s + other.normal(size=len(x)), old.rand(), rng.integers(9)


def makes_a_generator_in_each_round(x):
    for k in range(300):
        rng = np.random.default_rng(seed=(5, 7))
        x = 0.5 * x + rng.normal(0, 1, x.shape) * k + rng.random()
    return x


def seeds_numpys_generator(x):
    np.random.seed(11)
    s = np.random.normal(0, 1, len(x)) + np.random.randint(9)
    for k in range(40):
        s[k % len(x)] += x[k % len(x)] * 0.5
    return s, np.random.rand()


PROGRAMS: list[tuple[Any, tuple[Any, ...]]] = [
    (seeds_numpys_generator, ("vector",)),
    (draws_from_a_seed, ("vector",)), (makes_a_generator_in_each_round, ("vector",)),
    (joined_tests, ("integers",)), (joined_tests, ("vector",)),
    (reads_attributes_of_arrays, ("vector",)), (sweep, ("vector", 3)), (stencil, ("vector", 20)),
    (total, ("vector",)),
    (first_above, ("vector", 0.5)), (first_above, ("vector", 100.0)), (count_steps, ("vector",)),
    (calls_helper, ("four", 10)), (weighted, ("four",)), (in_place, ("vector",)),
    (many_kinds, ("four", True, 12, "name", (3, 4))), (many_kinds, ("four", False, 9, "", (0, 4))),
    (view_of_argument, ("vector",)), (comprehension, ("four",)), (class_constants, ("four",)),
    (scalars, ("four",)), (sweep, ("floats", 2)), (in_place, ("complex",)), (total, ("empty",)),
    (stencil, ("matrix", 9)), (total, ("integers",)), (twice_the_same, ("four",)),
    (reads_an_object, ("four",)), (history, ("vector", 300)),
    (lists, ("vector", 300)), (lists, ("four", 20)), (numbers_of_python, ("four",)),
    (known_arrays, ("four",)),
]  # fmt: skip


# -- functions that stay with Python -----------------------------------------------------------


def prints(x):
    for _ in range(20):
        x = x * 0.5
        print(end="")
    return x


def appends_outside(x):
    for i in range(20):
        LOG.append(i)
        x = x * 0.5
    return x


def draws(x):
    for _ in range(20):
        x = x + random.random()
    return x


def draws_of_numpy(x):
    for _ in range(20):
        x = x + np.random.rand()
    return x


def draws_of_generator(x):
    rng = np.random.default_rng()
    for _ in range(20):
        x = x + rng.normal()
    return x


def draws_in_a_loop(x):
    rng = np.random.default_rng(1)
    for _ in range(300):
        x = x * 0.9 + rng.normal()
    return x


def draws_before_it_seeds(x):
    y = np.random.rand()
    np.random.seed(1)
    for _ in range(20):
        x = x * 0.9 + y
    return x + np.random.rand()


def seeds_in_each_round(x):
    for k in range(300):
        np.random.seed(5)
        x = 0.5 * x + np.random.rand(len(x)) * k
    return x


def seeds_in_a_branch(x):
    if x[0] > 5:
        np.random.seed(2)
    for _ in range(20):
        x = x * 0.9
    return x, 0


def seeds_by_the_clock(x):
    np.random.seed()
    for _ in range(20):
        x = x * 0.9
    return x


def gives_a_generator_back(x):
    rng = np.random.default_rng(1)
    for _ in range(20):
        x = x * 0.9
    return x + rng.random(), rng


def draws_much(x):
    rng = np.random.default_rng(1)
    return x + rng.random((5_000_000, 1)).sum()


def asks_the_clock(x):
    for _ in range(20):
        x = x + time.perf_counter()
    return x


def counts_globally(x):
    global COUNT
    for _ in range(20):
        COUNT += 1
        x = x * 0.5
    return x


def reads_a_computed_attribute(x):
    for _ in range(20):
        x = x * computing.gain
    return x


def reads_a_class_with_a_metaclass(x):
    for _ in range(20):
        x = x * Computing.gain
    return x


def sets_an_attribute(x):
    for i in range(20):
        SETTINGS.last = i
        x = x * 0.5
    return x


def reads_a_list(x):
    for _ in range(20):
        x = x * len(LOG)
    return x


def gives_a_list_back(x):
    for _ in range(20):
        x = x * 0.5
    return x, LOG


def reshapes_its_argument(x):
    for _ in range(20):
        x += 1
    x.shape = (2, -1)


def freezes_its_argument(x):
    for _ in range(20):
        x += 1
    x.setflags(write=False)


def shared_results(x):
    for _ in range(20):
        x = x * 0.5
    return x, x[1:]


def returns_a_function(x):
    for _ in range(20):
        x = x * 0.5
    return lambda: x


def returns_an_object(x):
    for _ in range(20):
        x = x * 0.5
    return types.SimpleNamespace(x=x)


def imports(x):
    import operator  # noqa: PLC0415

    for _ in range(20):
        x = operator.mul(x, 0.5)
    return x


def reads_an_array_of_numpys(x):
    for _ in range(20):
        x = x * NUMPYS
    return x


def reads_an_attribute_of_a_function(x):
    for _ in range(20):
        x = x * reads_an_array_of_numpys.scale
    return x


def sets_errstate(x):
    with np.errstate(divide="raise"):
        for _ in range(20):
            x = x * 0.5
    return x


def writes_a_global_array(x):
    for _ in range(20):
        TOTALS[0] += x[0]
    return x + 1


def formats(x):
    text = ""
    for _ in range(20):
        x = x * 0.5
        text += f"{x[0]:.2f} "
    return text


def strange_types(x):
    """A bool of Python's here, a bool of NumPy's there."""
    found = False
    for i in range(len(x)):
        if x[i] > 1e9:
            found = x[i] > 0
    return found


REFUSED = [
    prints, appends_outside, draws, draws_of_numpy, draws_of_generator, asks_the_clock,
    draws_in_a_loop, draws_before_it_seeds, seeds_by_the_clock, seeds_in_each_round,
    seeds_in_a_branch, gives_a_generator_back, draws_much,
    counts_globally, sets_an_attribute, gives_a_list_back, reshapes_its_argument,
    freezes_its_argument, shared_results, returns_a_function, returns_an_object,
    imports, sets_errstate, formats, reads_an_array_of_numpys,
    writes_a_global_array, reads_a_computed_attribute, reads_a_class_with_a_metaclass,
]  # fmt: skip
