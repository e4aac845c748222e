"""Functions of which only values are wanted: what they close over is taken without its tangents.

An operation on a value with a tangent costs ten to two hundred times as much as one on a value.
SciPy's searches and integrations call the user's function many times for values alone.
"""

from __future__ import annotations

import functools
from types import CellType, FunctionType
from typing import Any

import lazynp as np
from lazynp._array import Array
from lazynp.interop._calls import is_traced
from lazynp.transforms.control import plain_of

_DEEP = 8  # functions within functions


def on_values(x: Any, depth: int = 0) -> Any:
    """The same function, with values in place of the traced arrays that it closes over. It is the
    function itself if there are none, or where they are in other objects: these may be changed.
    """
    if isinstance(x, Array):
        return np.stop_gradient(x) if is_traced(x) else x
    if type(x) is tuple:
        return _together(x, depth)
    if depth > _DEEP:
        return x
    if type(x) is functools.partial:
        inner, args = on_values(x.func, depth + 1), _together(x.args, depth)
        named = {name: on_values(v, depth + 1) for name, v in x.keywords.items()}
        same = inner is x.func and args is x.args and _alike(named, x.keywords)
        return x if same else functools.partial(inner, *args, **named)
    return _function(x, depth) if type(x) is FunctionType else x


def _together(xs: tuple[Any, ...], depth: int) -> tuple[Any, ...]:
    made = [on_values(x, depth + 1) for x in xs]
    return xs if all(a is b for a, b in zip(made, xs, strict=True)) else tuple(made)


def _alike(first: dict[str, Any], second: dict[str, Any]) -> bool:
    return all(first[name] is second[name] for name in second)


def _function(x: FunctionType, depth: int) -> FunctionType:
    function = plain_of(x)
    cells = tuple([_cell(c, depth) for c in function.__closure__ or ()])
    defaults = function.__defaults__ and _together(function.__defaults__, depth)
    named = function.__kwdefaults__ or {}
    stopped = {name: on_values(v, depth + 1) for name, v in named.items()}
    same = all(a is b for a, b in zip(cells, function.__closure__ or (), strict=True))
    if same and defaults is function.__defaults__ and _alike(stopped, named):
        return x
    code, scope = function.__code__, function.__globals__
    made = FunctionType(code, scope, function.__name__, defaults, cells or None)
    made.__kwdefaults__ = stopped or None
    made.__dict__.update(function.__dict__)
    return made


def _cell(cell: CellType, depth: int) -> CellType:
    try:
        before = cell.cell_contents
    except ValueError:  # not bound yet
        return cell
    after = on_values(before, depth + 1)
    return cell if after is before else CellType(after)
