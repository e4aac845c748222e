"""Small operations beside NumPy, one by one: `python benchmarks/small.py [--write]`.

Each form runs in a loop of its own, with NumPy and with lazynp in the same process; the figures are
CPU time, the best of many. `--write` writes docs/small.md. Figures from a busy machine are worth
little, but their ratios are good to a few tenths.
"""

from __future__ import annotations

import math
import sys
from datetime import date
from pathlib import Path
from time import process_time
from timeit import Timer
from typing import Any

import numpy

import lazynp

PAGE = Path(__file__).parent.parent / "docs" / "small.md"
HEAD = """\
# Small operations

Written by `python benchmarks/small.py --write` on {date}: microseconds of CPU time of
NumPy and of lazynp, in loops, and their ratio, the largest first. `x` and `y` have 10 elements, `v`
and `w` 3; `M` is a view of shape (4, 3), `E` has shape (3, 3); `s` and `t` are elements of `x`, `z`
is complex, `d0` has no axes; `numpy` is NumPy, `c` is one of its scalars.

"""
SETUP = """
items = [1.0, 2.0, 3.0]
x = np.linspace(0.1, 0.9, 10)
y = x + 1
v, w = np.array([1.0, 2.0, 3.0]), np.array([3.0, 2.0, 5.0])
M, E = np.arange(12.0).reshape(4, 3), np.eye(3) * 2.0
m, i = x > 0.5, np.array([1, 3, 5])
c, rng = numpy.float64(2.0), np.random.default_rng(0)
z, d0, names = v + 1j * w, np.array(2.5), np.array(["a", "b", "c"])
s, t = x[1], x[2]
for value in (s, t, y.sum(), M.sum(), E.sum(), w.sum(), i.sum()):
    float(value)
bool(m.any())
"""
FORMS = """
np.sin(0.5)
np.abs(-2.0)
np.floor(2.5)
np.hypot(3.0, 4.0)
np.array(3.0)
np.array([1, 2, 3])
np.array(items)
np.asarray(items)
np.asarray(x)
np.dot(items, items)
x.reshape(5, 2)
x.ravel()
x.flatten()
x.squeeze()
x[:, None]
M.T
M.T + M.T
M.swapaxes(0, 1)
np.transpose(M)
np.broadcast_to(v, (2, 3))
c * x
x * c
c + s
np.pi * x
x + y
x + 1
x - y
x / y
-x
abs(x)
x ** 2
x > 0
x == y
x.__iadd__(0.0)
m & m
~m
s == t
s < t
s + t
s * 2.0
min(s, t)
float(s)
int(s)
bool(s)
round(s, 2)
hash(s)
repr(s)
f"{s}"
f"{s:.3f}"
str(x)
np.isnan(s)
np.sqrt(s)
np.float64(2)
np.isscalar(s)
np.random.rand()
np.random.rand(3)
rng.normal()
rng.random(3)
np.apply_along_axis(np.sum, 1, M)
np.linalg.norm(v)
np.linalg.inv(E)
np.linalg.solve(E, v)
np.linalg.det(E)
np.cross(v, w)
np.dot(v, w)
v @ w
M @ v
E @ E
np.outer(v, w)
np.einsum("i,i->", v, w)
np.zeros(3)
np.ones((2, 3))
np.full(3, 2.0)
np.eye(3)
np.diag(v)
np.arange(5)
np.linspace(0, 1, 5)
np.zeros_like(x)
np.meshgrid(v, w)
np.where(m, x, y)
np.concatenate([x, y])
np.stack([x, y])
np.vstack([x, y])
np.hstack([x, y])
np.tile(x, 2)
np.repeat(x, 2)
np.roll(x, 1)
np.diff(x)
np.clip(x, 0, 1)
np.round(x, 2)
np.maximum(x, y)
np.sqrt(x)
np.exp(x)
np.isnan(x)
np.isclose(s, t)
np.allclose(x, y)
np.array_equal(x, y)
np.cumsum(x)
np.unique(x)
np.interp(0.5, x, y)
np.searchsorted(x, 0.5)
np.trapezoid(x)
np.sum(x)
np.any(m)
np.mean(x)
x.sum()
x.mean()
x.max()
x.std()
x.prod()
x.any()
x.all()
x.argmax()
x.argsort()
M.sum(axis=1)
M.mean(axis=0)
x.copy()
x.astype(float)
x.astype(int)
x.tolist()
x[1].item()
x.item(1)
x[1]
M[1, 2]
x[1:3]
x[i]
x[m]
x[2] = 1.0
x[1:3] = 1.0
len(x)
x.shape
x.dtype
[e for e in v]
np.asarray(x, dtype=float)
np.asarray((1.0, 2.0, 3.0))
np.array([s, t, 1.0])
np.array([[1.0, 0.0], [0.0, 1.0]])
np.array(range(5))
np.arange(0.0, 1.0, 0.25)
np.arange(3, dtype=float)
np.ascontiguousarray(x)
np.atleast_1d(3.0)
np.sin(items)
np.sum(items)
np.max((1.0, 2.0))
np.maximum(s, 0.0)
np.arctan2(s, t)
np.argmax(x)
np.argsort(x)
np.sort(x)
np.median(x)
np.percentile(x, 50)
np.polyfit(v, w, 1)
np.linalg.eigh(E)
np.linalg.svd(E)
np.linalg.norm(M, axis=1)
np.column_stack((x, y))
np.append(x, 1.0)
np.insert(v, 0, 1.0)
np.delete(v, 0)
np.pad(v, 1)
np.split(x, 2)
np.convolve(v, w)
np.bincount(i)
np.random.randint(0, 10)
rng.integers(0, 10, size=3)
rng.choice(x, 3)
rng.permutation(x)
rng.choice(3, p=[0.5, 0.25, 0.25])
np.testing.assert_allclose(x, x)
np.zeros((3, 3))
np.zeros_like(M)
np.full_like(x, 2.0)
x.sum(axis=0)
M.sum(axis=1, keepdims=True)
M.max(axis=1)
M.argmax(axis=1)
x.cumsum()
x.clip(0.2, 0.8)
x.dot(y)
x.round(2)
x.repeat(2)
x.nonzero()
x.sort()
x.fill(0.5)
np.copyto(x, y)
np.putmask(x, m, 0.5)
np.add(x, y, out=y)
x[-1]
x[::-1]
x[...]
M[1]
M[:, 0]
M[1:, 1:]
M[[0, 1]]
M[[0, 1], [1, 0]]
x[x > 0.5]
x[m] = 0.5
x[i] = 1.0
x[:] = y
M[:, 0] = 1.0
M[0] = v
0.5 in x
divmod(i, 2)
z.real
z.conj()
abs(z)
-s
abs(s)
not s
s + c
s ** 2
1.0 - s
s > 0.5
int(i[0])
float(x[1])
float(x.sum())
bool(x[0] > 0)
range(i[0])
isinstance(s, float)
isinstance(x, np.ndarray)
np.float64(2.0) * 3
x.dtype == np.float64
x.nbytes
x.strides
x.ndim
x.T
d0[()]
float(d0)
names == "a"
names[0]
list(x)
max(x)
sorted(v)
[a * b for a, b in zip(v, w)]
x - x.mean()
np.exp(x - x.max()) / np.exp(x - x.max()).sum()
numpy.sin(x)
numpy.add(x, y)
numpy.sum(x)
numpy.dot(v, w)
numpy.concatenate([x, y])
""".strip().splitlines()


def best(form: str, namespace: dict[str, Any]) -> float:
    """Microseconds of one round, the best of many, after the loop was met often enough."""
    timer, rounds = Timer(form, globals=namespace, timer=process_time), 1
    while timer.timeit(rounds) < 2e-4:
        rounds *= 2
    timer.timeit(max(rounds, 300))
    return min(timer.repeat(25, rounds)) / rounds * 1e6


def namespaces() -> list[dict[str, Any]]:
    """What the forms see, with NumPy and with lazynp as `np`."""
    sides: list[dict[str, Any]] = []
    for module in (numpy, lazynp):
        sides.append({"np": module, "numpy": numpy})
        exec(SETUP, sides[-1])
    return sides


def measured() -> list[tuple[float, float, float, str]]:
    """Ratio, NumPy's time, lazynp's and the form; the largest ratio first."""
    sides, rows = namespaces(), []
    for form in FORMS:
        theirs, ours = (best(form, side) for side in sides)
        rows.append((ours / theirs, theirs, ours, form))
    return sorted(rows, reverse=True)


def table(rows: list[tuple[float, float, float, str]]) -> str:
    mean = math.exp(sum(math.log(row[0]) for row in rows) / len(rows))
    above = sum(row[0] > 3 for row in rows)
    lines = [
        f"{len(rows)} forms; geometric mean {mean:.2f}, {above} above 3.", "",
        "| form | NumPy | lazynp | ratio |", "|---|---|---|---|",
    ]  # fmt: skip
    lines += [f"| `{form}` | {a:.2f} | {b:.2f} | {ratio:.1f} |" for ratio, a, b, form in rows]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    text = table(measured())
    print(text)
    if "--write" in sys.argv[1:]:
        PAGE.write_text(HEAD.format(date=date.today()) + text, encoding="utf-8")
