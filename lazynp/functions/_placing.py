"""`device=` of the functions that make arrays, and the default device."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

from lazynp._array import Array
from lazynp._avals import on_device
from lazynp._config import config
from lazynp._devices import default
from lazynp._fronts import in_front_too
from lazynp._node import Node, aval_of_node
from lazynp._placed import USED, place_of
from lazynp._recorder import elsewhere, staged
from lazynp._strides import copied_order, in_order
from lazynp._tree import tree_flatten, tree_map
from lazynp.primitives.placing import (
    NOWHERE,
    Target,
    note_default,
    placed_behind,
    put,
    put_node,
    target_of,
    where,
)

F = TypeVar("F", bound=Callable[..., Any])


def placing(function: F) -> F:
    """Decorate a function that makes an array: `device=` says where."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        if USED or "device" in kwargs:
            return placed(function, args, kwargs)
        return function(*args, **kwargs)

    return in_front_too(function, call)


def placed(
    function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], like: bool = False
) -> Any:
    """The array that the function makes: on the device asked for, else on the default device.

    like: of an array elsewhere, it is made where that is.
    """
    given = dict(kwargs)
    device = given.pop("device", None)
    target = None if device is None else target_of(device, what=function.__name__)
    out = function(*args, **given)
    if target is None and like and args and isinstance(args[0], Array):
        target = _like(args[0], out)
    return made(out, target, function.__name__)


def _like(x: Array, out: Any) -> Target:
    """Where an array like x is made: split like it, if it has the same shape. Behind a block, or
    one of many examples, lies an array of another shape, whose parts are not the block's.
    """
    placed = placed_behind(x)
    if placed is None or placed.place.mesh is None or {out.shape, placed.aval.shape} != {x.shape}:
        return Target(*where(x))
    return Target(placed.place, placed.committed, placed.sharding())


def beside(tree: Any, *xs: Any) -> Any:
    """New arrays of host data, where these arrays are that decided them."""
    return back(tree, xs) if USED else tree


def back(tree: Any, args: Any) -> Any:
    """Results that NumPy computed, where the arguments are; else on the default device."""
    for x in tree_flatten(args)[0]:
        if isinstance(x, Array):
            target = Target(*where(x))
            if target != NOWHERE:
                return _mapped(tree, target)
    return _mapped(tree, None) if ELSEWHERE else tree


def _mapped(tree: Any, target: Target | None) -> Any:
    return tree_map(lambda out: made(out, target), tree)


def made(out: Any, target: Target | None, what: str = "device_put") -> Any:
    """The new array, where it belongs. what: for errors, what the user has called."""
    if not isinstance(out, Array) or not on_device(out.dtype):
        return out
    if target is None:
        if Target(*where(out)) != NOWHERE:  # made of an array elsewhere
            return out
        target = Target(place_of(default()), committed=False)
    return out if target == Target(*where(out)) else put_in_order(out, target, what)


def put_in_order(x: Array, target: Target, what: str = "device_put") -> Array:
    """A new array with this value and memory order, there."""
    return in_order(put(x, target, what=what), copied_order(x))


ELSEWHERE: list[Any] = []  # one entry while new arrays are made on another device


class _Elsewhere:
    """Stands among the staged functions, so that no front in C makes an array."""


def _put_there(node: Node) -> Node:
    """A value of NumPy's, where new arrays are made."""
    if not on_device(aval_of_node(node).dtype):
        return node
    return put_node(node, Target(place_of(default()), committed=False))


def _changed() -> None:
    if (config.device != "cpu") != bool(ELSEWHERE):
        if ELSEWHERE:
            staged.remove(ELSEWHERE.pop())
            elsewhere.clear()
        else:
            USED.append(True)
            ELSEWHERE.append(_Elsewhere())
            staged.append(ELSEWHERE[0])
            elsewhere.append(_put_there)
            note_default()


config.observers.append(_changed)
_changed()
