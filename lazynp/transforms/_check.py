"""`check_grads`: compare derivatives with finite differences and with each other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from lazynp._array import Array, from_host, new_array
from lazynp._flush import host_value
from lazynp._node import Node, aval_of_node
from lazynp._tree import flatten_up_to, tree_flatten, tree_unflatten
from lazynp.transforms._jvp import jvp
from lazynp.transforms._pulls import vjp
from lazynp.transforms._stack import node_of

NDArray = np.ndarray[Any, Any]


def check_grads(
    f: Callable[..., Any],
    args: Sequence[Any],
    order: int = 1,
    modes: Sequence[str] = ("fwd", "rev"),
    atol: float | None = None,
    rtol: float | None = None,
    eps: float | None = None,
) -> None:
    """Raise AssertionError unless derivatives up to `order` agree with central differences.

    Each mode is checked on its own, so check a function with a custom_vjp rule by modes=["rev"].
    Each order checks the derivative of what the order below it checked. Default tolerances and
    steps suit the least exact dtype among the arguments.
    """
    if not isinstance(args, (tuple, list)):
        raise TypeError(
            f"check_grads: args must be a tuple or list of arguments, got {type(args).__name__}"
        )
    args = tuple(args)
    modes = (modes,) if isinstance(modes, str) else modes
    single = any(x.dtype in ("f4", "c8", "f2") for x in _values(args))
    default = 6e-3 if single else 1e-5
    eps = eps or (1e-3 if single else 1e-5)
    tolerance = {"atol": atol or default, "rtol": rtol or default}
    rng = np.random.default_rng(0)
    for mode in modes:
        if mode == "fwd":
            _check_jvp(f, args, rng, tolerance, eps)
        elif mode == "rev":
            _check_vjp(f, args, rng, tolerance, eps)
        else:
            raise ValueError(f"check_grads: modes are 'fwd' and 'rev', got {mode!r}")
    if order > 1:
        for mode in modes:
            derivative = _pushed(f, args, rng) if mode == "fwd" else _pulled(f)
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
    moves = flatten_up_to(structure, direction, "check_grads")
    shifted = [
        x if t is None else new_array(from_host(np.asarray(v + step * np.asarray(t))))
        for x, v, t in zip(leaves, _values(args), moves, strict=True)
    ]
    return tree_unflatten(structure, shifted)


def _difference(function: Any, args: Any, direction: Any, eps: float) -> list[NDArray | None]:
    """The central difference of each result; None for results that are not real or complex
    numbers.
    """
    high = _values(function(*_moved(args, direction, eps)))
    low = _values(function(*_moved(args, direction, -eps)))
    return [
        (h - lo) / (2 * eps) if h.dtype.kind in "fc" else None
        for h, lo in zip(high, low, strict=True)
    ]


def _check_jvp(function: Any, args: Any, rng: Any, tolerance: Any, eps: float) -> None:
    direction = _directions(args, rng)
    _, got = jvp(function, args, direction)
    wanted = _difference(function, args, direction, eps)
    for g, w in zip(tree_flatten(got)[0], wanted, strict=True):
        if w is not None:
            value = np.asarray(host_value(node_of(g)))
            np.testing.assert_allclose(value, w, **tolerance, err_msg="jvp")


def _check_vjp(function: Any, args: Any, rng: Any, tolerance: Any, eps: float) -> None:
    """Compare two inner products: of the returned cotangents with a direction, and of the given
    cotangents with the difference along that direction.
    """
    direction = _directions(args, rng)
    out_dot = _difference(function, args, direction, eps)
    out, backward = vjp(function, *args)
    cts = tree_unflatten(
        tree_flatten(out)[1], [_like(rng, node_of(x)) for x in tree_flatten(out)[0]]
    )
    found = backward(cts)
    moves = flatten_up_to(tree_flatten(args)[1], direction, "check_grads")
    left = sum(_inner(a, b) for a, b in zip(_values(cts), out_dot, strict=True) if b is not None)
    right = sum(
        _inner(np.asarray(host_value(node_of(g))), np.asarray(t))
        for g, t in zip(tree_flatten(found)[0], moves, strict=True)
        if t is not None
    )
    np.testing.assert_allclose(right, left, **tolerance, err_msg="vjp")


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
