"""Random programs on arrays of some kilobytes to some hundred: for a test, and on request.

Below 4096 bytes the lowering treats arrays in other ways than above: what is held for several
readers, written in place, or read by columns. These programs mix what does so: stencils and rows
written in place, products, factorisations, Fourier transforms, moves, sorts and selections.
`python -m tests.large_programs COUNT SEED` compares many.
"""

from __future__ import annotations

import argparse
import random
import sys
from typing import Any

import numpy

import lazynp as np

_SIDES = [31, 33, 40, 48, 64, 65]
_ONE = "{p} / {n} + 3 * np.eye({n})"  # well-conditioned
# each gives a matrix of n x n, from others (p, q) and a vector (v)
_MATRICES = [
    "np.tanh({p} + {q})", "{p} * {q} - 0.5 * {p}", "{p}.T + 0.1 * {q}", "np.tanh({p} @ {q} / 6)",
    "np.tanh({p}.T @ {q} / 6)", "np.roll({p}, {k}, axis={a})", "{p}[::-1]", "{p}[:, ::-1]",
    "np.where({p} > 0.1, {q}, np.sin({p}))", "np.cumsum({p}, axis={a}) / {n}",
    "np.sort({p}, axis={a})", "np.tril({p}, {k})", "np.tanh(np.outer({v}, {v}))",
    "np.diag({v}) + {p}", "{p} * {v}[:, None]", "np.pad({p}[1:-1, 1:-1], 1)", "{p}[picks]",
    "{p}[:, picks]", "stencil({p})", "written({p}, {q})", "columns({p}, {v})",
    "np.fft.ifft2(np.fft.fft2({p}) * 0.9).real", "np.abs(np.fft.fft({p}, axis={a})) / {n}",
    "np.concatenate([{p}[{k} + 5 :], {q}[: {k} + 5]])", "np.einsum('ij,kj->ki', {p}, {q}) / {n}",
    "factor({p})", "np.linalg.solve(factor({p}), {q})", "np.linalg.solve(factor({p}).T, {q})",
    f"np.linalg.inv({_ONE})", f"np.linalg.solve(({_ONE}).T, {{q}}.T)",
    "{p}.ravel(order='F').reshape({n}, {n})", "np.swapaxes({p}, 0, 1).copy()",
]  # fmt: skip
_VECTORS = [
    f"np.linalg.solve({_ONE}, {{v}})", "{p} @ {v} / {n}", "{p}.sum(axis={a}) / {n}",
    "{p}.std(axis={a})", "np.diag({p})", "{p}[{k} + 3]", "{p}[:, {k} + 3]", "np.log1p({v} ** 2)",
    "np.log(np.diag(factor({p})))", "np.convolve({v}, kernel, mode='same')",
]  # fmt: skip
_HELPERS = """
def stencil(u):
    u = u.copy()
    for _ in range(3):
        u[1:-1, 1:-1] = 0.25 * (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2])
    return u

def written(u, w):
    u = u.copy()
    u[3:20, 2:9] += w[1:18, 4:11]
    u[:, 0] = w[0]
    u[w > 1.0] *= 0.5
    return u

def columns(u, v):
    u = u.copy()
    for i in range(0, 9, 2):
        u[:, i] = u[:, i + 1] * v[i] - u[:, i]
        u[i:, i] -= v[i:]
    return u

def factor(a):
    n = len(a)
    return np.linalg.cholesky(np.tanh(a) @ np.tanh(a).T / n + 2 * np.eye(n))
"""


def program(seed: int) -> tuple[int, str]:
    """The side of its matrices, and its source: `f(A, B, v)` gives a number, a matrix, a vector."""
    draw = random.Random(seed)
    n = draw.choice(_SIDES)
    matrices, vectors, lines = ["A", "B"], ["v"], []
    for i in range(draw.randint(4, 14)):
        kinds, made = (_MATRICES, matrices) if draw.random() < 0.75 else (_VECTORS, vectors)
        p, q = draw.choice(matrices[-4:]), draw.choice(matrices[-4:])
        form = draw.choice(kinds).format(
            p=p, q=q, v=draw.choice(vectors[-3:]), n=n, k=draw.randint(-3, 5), a=draw.randint(0, 1)
        )
        lines.append(f"x{i} = {form}")
        made.append(f"x{i}")
    m, w = matrices[-1], vectors[-1]
    lines.append(f"return np.sum({m} * weights) + np.sum({w} ** 2), {m}, {w}")
    return n, _HELPERS + "\ndef f(A, B, v):\n" + "".join(f"    {line}\n" for line in lines)


def function_of(module: Any, seed: int) -> tuple[Any, list[Any]]:
    """The function over a namespace, and arguments for it."""
    n, source = program(seed)
    rng = numpy.random.default_rng(seed)
    scope = {"np": module, "picks": rng.permutation(n), "weights": rng.normal(size=(n, n)),
             "kernel": numpy.array([0.2, 0.5, 0.3])}  # fmt: skip
    exec(source, scope)
    return scope["f"], [rng.normal(size=(n, n)), rng.normal(size=(n, n)), rng.normal(size=n)]


def mismatch(seed: int) -> str:
    """How the compiled program, or its compiled gradient, differs from NumPy's; "" if neither."""
    plain, args = function_of(numpy, seed)
    f, _ = function_of(np, seed)
    gradient = np.grad(lambda *args: f(*args)[0], argnums=(0, 1, 2))

    def ours(function: Any, policy: str) -> list[Any]:
        with np.config(execution=policy):
            return [numpy.asarray(x) for x in function(*map(np.array, args))]

    pairs = {
        "values": (plain(*args), ours(np.jit(f), "compiled")),
        "gradients": (ours(gradient, "reference"), ours(np.jit(gradient), "compiled")),
    }
    for what, (want, got) in pairs.items():
        for k, (x, y) in enumerate(zip(want, got, strict=True)):
            bound = 1e-8 * max(numpy.abs(x).max(), 1e-6)
            if x.shape != y.shape or not (numpy.abs(x - y) <= bound).all():
                return f"{what}: result {k} differs by {numpy.abs(x - y).max()}, of {bound * 1e8}"
    return ""


def main() -> int:
    parser = argparse.ArgumentParser(description="Random programs on large arrays, compared.")
    parser.add_argument("count", type=int)
    parser.add_argument("seed", type=int)
    given = parser.parse_args()
    found = 0
    for seed in range(given.seed, given.seed + given.count):
        told = mismatch(seed)
        if told:
            found += 1
            print(f"\n== seed {seed}: {told}", program(seed)[1], sep="\n", flush=True)
    print(f"{given.count} programs from seed {given.seed}: {found} differ")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
