"""Each native NumPy function with traced arguments: under jit, vmap, jvp and vjp."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy
import pytest

import lazynp
from lazynp import jit, jvp, vjp, vmap
from tests.transforms.every_function import EXPRESSIONS, REFUSED, SIZED, STATEMENTS, VALUES

RNG = numpy.random.default_rng(0)
HELPERS = {"lambda_x": lambda x: x * x.sum(), "lambda_ij": lambda i, j: i + j}
# evaluated at a step, the edge of a bin, a singular value of zero, an eigenvector
NO_DIFFERENCES = re.compile(
    "histogram|round\\(v,1|spacing|nextafter|cond|pinv\\(r|qr|svd|matrix_rank|eig\\(|np.poly\\(s|'c16'|nuc"
)


def _function(expression: str) -> tuple[Callable[..., Any], list[str]]:
    """`f(module, *values)`, and the names of the values. A statement changes x, and x results."""
    names = [n.id for n in ast.walk(ast.parse(expression)) if isinstance(n, ast.Name)]
    if expression in STATEMENTS:
        names, expression = ["v", *names], f"(lambda x: ({expression}, x)[1])(v * 1)"
    names = [n for n in dict.fromkeys(names) if n in VALUES]
    return eval(f"lambda np, {', '.join(names)}: {expression}", dict(HELPERS)), names


def _leaves(x: Any) -> list[numpy.ndarray]:
    if isinstance(x, (tuple, list)):
        return [leaf for part in x for leaf in _leaves(part)]
    return [numpy.asarray(x)]


def _same(got: Any, want: Any) -> None:
    for x, y in zip(_leaves(got), _leaves(want), strict=True):
        assert x.shape == y.shape
        numpy.testing.assert_allclose(x, y, rtol=1e-9, atol=1e-12)


def _check_mapped(f: Callable[..., Any], values: list[Any], want: Any) -> None:
    """All arguments mapped, then each alone."""
    rows = [numpy.stack([x, x]) for x in values]
    n = len(values)
    for axes in {(0,) * n, *(tuple(None if i != k else 0 for i in range(n)) for k in range(n))}:
        args = [x if a is None else r for x, r, a in zip(values, rows, axes, strict=True)]
        _same([x[1] for x in _leaves(vmap(f, axes)(*map(lazynp.array, args)))], want)


def _check_derivatives(expression: str, function: Any, values: list[Any], want: Any) -> None:
    moving = [k for k, x in enumerate(values) if x.dtype.kind == "f"]
    dots = [RNG.normal(size=values[k].shape) for k in moving]

    def at(module: Any, *moved: Any) -> list[Any]:
        args = [x if module is numpy else lazynp.array(x) for x in values]
        for k, x in zip(moving, moved, strict=True):
            args[k] = x
        out = function(module, *args)
        flat = list(out) if isinstance(out, (tuple, list)) else [out]
        return [x for x in flat if x.dtype.kind in "fc"]

    primals = [lazynp.array(values[k]) for k in moving]
    outs, tangents = jvp(
        lambda *xs: at(lazynp, *xs), tuple(primals), tuple(map(lazynp.array, dots))
    )
    _same(outs, [x for x in _leaves(want) if x.dtype.kind in "fc"])
    if not NO_DIFFERENCES.search(expression):
        h = 1e-6
        ends = [
            at(numpy, *(values[k] + s * h * d for k, d in zip(moving, dots, strict=True)))
            for s in (1, -1)
        ]
        for dot, high, low in zip(_leaves(tangents), *map(_leaves, ends), strict=True):
            numpy.testing.assert_allclose(dot, (high - low) / (2 * h), rtol=2e-4, atol=1e-5)
    cts = [RNG.normal(size=x.shape).astype(x.dtype) for x in _leaves(outs)]
    back = vjp(lambda *xs: at(lazynp, *xs), *primals)[1](list(map(lazynp.array, cts)))
    found = sum((numpy.asarray(g) * d).sum() for g, d in zip(back, dots, strict=True))
    wanted = sum((c * t).sum() for c, t in zip(cts, _leaves(tangents), strict=True))
    numpy.testing.assert_allclose(found, wanted.real, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("expression", [*dict.fromkeys(EXPRESSIONS), *STATEMENTS])
def test_traced(expression: str) -> None:
    function, names = _function(expression)
    values = [VALUES[n] for n in names]
    want = function(numpy, *values)
    f = lambda *args: function(lazynp, *args)  # noqa: E731
    with lazynp.config(execution="reference"):
        _same(jit(f)(*map(lazynp.array, values)), want)
        _check_mapped(f, values, want)
        results = _leaves(want)
        if any(x.dtype.kind in "fc" for x in results) and any(x.dtype.kind == "f" for x in values):
            _check_derivatives(expression, function, values, want)


@pytest.mark.parametrize("expression", SIZED)
def test_sizes_given(expression: str) -> None:
    function, names = _function(expression)
    numpys, _ = _function(SIZED[expression])
    values = [VALUES[n] for n in names]
    want = eval(SIZED[expression], {"np": numpy, **VALUES})
    f = lambda *args: function(lazynp, *args)  # noqa: E731
    with lazynp.config(execution="reference"):
        _same(f(*map(lazynp.array, values)), want)
        _same(jit(f)(*map(lazynp.array, values)), want)
        _check_mapped(f, values, want)


SIZES_OF_CALLS = {"np.arange(k)"}  # under jit, k is known at each call: see test_dimensions
SIZED_UNDER_JIT = [  # by what the data decide: see test_decided_sizes
    "np.delete(v, two)", "np.roots(p)",
    "np.nonzero(c)", "np.where(c)", "np.flatnonzero(c)", "np.argwhere(c)", "np.unique(v)",
    "np.unique_counts(v)", "np.unique_all(v)", "np.intersect1d(i, j)", "np.setdiff1d(i, j)",
    "np.setxor1d(i, j)", "np.union1d(i, j)", "np.repeat(v, j)", "np.extract(c, v)",
    "np.compress(c, v)", "v[c]", "np.bincount(j)", "np.trim_zeros(v)",
]  # fmt: skip
BY_ALL_EXAMPLES = {"np.emath.sqrt(v)"}  # under vmap all decide together


@pytest.mark.parametrize(
    ("expression", "transformed"),
    [
        (e, t)
        for e in REFUSED
        for t, others in (("jit", {*SIZES_OF_CALLS, *SIZED_UNDER_JIT}), ("vmap", BY_ALL_EXAMPLES))
        if e not in others
    ],
)
def test_what_the_data_decide(expression: str, transformed: str) -> None:
    """The error names the value, the line, and the remedy."""
    function, names = _function(expression)
    f = lambda *args: function(lazynp, *args)  # noqa: E731
    values = [VALUES[n] for n in names]
    if transformed == "vmap":
        f, values = vmap(f), [numpy.stack([x, x]) for x in values]
    with pytest.raises(
        TypeError,
        match=rf"the value of \w+\[(?s:.*)<string>:1 asks(?s:.*){REFUSED[expression]}",
    ):
        (jit(f) if transformed == "jit" else f)(*map(lazynp.array, values))


@pytest.mark.parametrize("expression", SIZED_UNDER_JIT)
def test_what_the_data_decide_is_a_size_under_jit(expression: str) -> None:
    function, names = _function(expression)
    values = [VALUES[n] for n in names]
    f = jit(lambda *args: function(lazynp, *args))
    _same(f(*map(lazynp.array, values)), function(numpy, *values))


def test_every_native_function_is_here() -> None:
    """Those of docs/coverage.md."""
    page = (Path(__file__).parents[2] / "docs" / "coverage.md").read_text()
    text = " ".join([*EXPRESSIONS, *STATEMENTS, *SIZED, *REFUSED])
    for room, prefix in (("numpy", ""), ("linalg", "linalg."), ("fft", "fft.")):
        part = page.split(f"\n## {room}\n")[1].split("\n## ")[0]
        lines = [x for x in part.splitlines() if x.startswith("- native")]
        names = re.findall(r"`(\w+)`", " ".join(lines))
        missing = [n for n in names if not re.search(rf"np\.{prefix}{n}\b", text)]
        assert set(missing) <= WITHOUT_ARRAYS, room


# they make arrays of numbers, or have their own tests
WITHOUT_ARRAYS = {
    "empty", "from_dlpack", "ones", "zeros", "row_stack", "unique_all", "unique_inverse",
    "unique_values",
    "polydiv", "eigh", "svd",
}  # fmt: skip
