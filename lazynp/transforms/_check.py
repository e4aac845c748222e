"""`check_grads`: derivatives against finite differences, and against each other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from lazynp._array import Array, from_host, new_array
from lazynp._node import Node, aval_of_node
from lazynp._trace import host_value
from lazynp._tree import tree_flatten, tree_unflatten
from lazynp.transforms._grad import vjp
from lazynp.transforms._jvp import jvp
from lazynp.transforms._stack import node_of

NDArray = np.ndarray[Any, Any]


def check_grads(
    function: Callable[..., Any],
    args: Sequence[Any],
    order: int = 1,
    modes: Sequence[str] = ("fwd", "rev"),
    atol: float | None = None,
    rtol: float | None = None,
    eps: float | None = None,
) -> None:
    """Raise AssertionError unless derivatives up to `order` agree with central differences.

    The inner product of `vjp` with `jvp` is checked too; each order checks the derivative of
    what the order below it checked.
    """
    tolerance = {"atol": atol or 1e-5, "rtol": rtol or 1e-5}
    args = tuple(args)
    rng = np.random.default_rng(0)
    for mode in modes:
        if mode == "fwd":
            _check_jvp(function, args, rng, tolerance, eps or 1e-5)
        elif mode == "rev":
            _check_vjp(function, args, rng, tolerance)
        else:
            raise ValueError(f"check_grads: modes are 'fwd' and 'rev', got {mode!r}")
    if order > 1:
        for mode in modes:
            derivative = _pushed(function, args, rng) if mode == "fwd" else _pulled(function)
            check_grads(derivative, args, order - 1, modes, atol, rtol, eps)


def _values(tree: Any) -> list[NDArray]:
    return [np.asarray(host_value(node_of(x))) for x in tree_flatten(tree)[0]]


def _like(rng: np.random.Generator, node: Node) -> Array:
    aval = aval_of_node(node)
    draw = rng.normal(size=aval.shape)
    if aval.dtype.kind == "c":
        draw = draw + 1j * rng.normal(size=aval.shape)
    return new_array(from_host(np.asarray(draw, aval.dtype)))


def _directions(args: Any, rng: np.random.Generator) -> Any:
    leaves, structure = tree_flatten(args)
    nodes = [node_of(x) for x in leaves]
    moves = [_like(rng, n) if aval_of_node(n).dtype.kind in "fc" else None for n in nodes]
    return tree_unflatten(structure, moves)


def _moved(args: Any, direction: Any, step: float) -> Any:
    leaves, structure = tree_flatten(args)
    moves, _ = tree_flatten(direction, is_leaf=lambda x: x is None)
    shifted = [
        x if t is None else new_array(from_host(np.asarray(v + step * np.asarray(t))))
        for x, v, t in zip(leaves, _values(args), moves, strict=True)
    ]
    return tree_unflatten(structure, shifted)


def _check_jvp(function: Any, args: Any, rng: Any, tolerance: Any, eps: float) -> None:
    direction = _directions(args, rng)
    _, got = jvp(function, args, direction)
    high = _values(function(*_moved(args, direction, eps)))
    low = _values(function(*_moved(args, direction, -eps)))
    for g, h, lo in zip(_values(got), high, low, strict=True):
        if h.dtype.kind in "fc":
            np.testing.assert_allclose(g, (h - lo) / (2 * eps), **tolerance, err_msg="jvp")


def _check_vjp(function: Any, args: Any, rng: Any, tolerance: Any) -> None:
    direction = _directions(args, rng)
    _, out_dot = jvp(function, args, direction)
    out, backward = vjp(function, *args)
    cts = tree_unflatten(
        tree_flatten(out)[1], [_like(rng, node_of(x)) for x in tree_flatten(out)[0]]
    )
    found = backward(cts)
    moves, _ = tree_flatten(direction, is_leaf=lambda x: x is None)
    left = sum(_inner(a, b) for a, b in zip(_values(cts), _values(out_dot), strict=True))
    right = sum(
        _inner(np.asarray(host_value(node_of(g))), np.asarray(t))
        for g, t in zip(tree_flatten(found)[0], moves, strict=True)
        if t is not None
    )
    np.testing.assert_allclose(right, left, **tolerance, err_msg="vjp against jvp")


def _inner(a: NDArray, b: NDArray) -> float:
    return float(np.sum(a * b).real)


def _pushed(function: Any, args: Any, rng: Any) -> Callable[..., Any]:
    direction = _directions(args, rng)
    return lambda *xs: jvp(function, xs, direction)[1]


def _pulled(function: Any) -> Callable[..., Any]:
    def pulled(*xs: Any) -> Any:
        out, backward = vjp(function, *xs)
        rng = np.random.default_rng(1)
        leaves, structure = tree_flatten(out)
        return backward(tree_unflatten(structure, [_like(rng, node_of(x)) for x in leaves]))

    return pulled
