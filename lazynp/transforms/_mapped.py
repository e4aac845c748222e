"""vmap: first the function as it is, then, if it asks for a value that differs, what `jit` makes of
it: there, branches and loops of Python's are part of the program. (shard_map does the same.)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from lazynp._recorder import local
from lazynp.transforms._jit import jit
from lazynp.transforms._recipes import with_recipe
from lazynp.transforms._stack import DISABLED, check_callable, name_of
from lazynp.transforms._vmap import Wording, mapping


def vmap(
    fun: Callable[..., Any],
    in_axes: Any = 0,
    out_axes: Any = 0,
    axis_name: Any = None,
    axis_size: int | None = None,
    spmd_axis_name: Any = None,
) -> Callable[..., Any]:
    """Map the function over axes of its arguments.

    in_axes: an int, None (the same for all examples), or a tree of these that is a prefix of the
    arguments; keyword arguments are mapped over axis 0. out_axes: the same for the results.
    spmd_axis_name: the axis of a mesh (or a tuple of them) that splits the examples in constraints
    on shardings inside.

    Where a branch or a loop of Python's asks for a value that is another for each example, the
    function begins again, traced as `jit` traces it: then both branches run, and each example takes
    what is its own.

    ValueError if mapped axes differ in size; writes to arguments are those of each example.

    >>> import lazynp as np
    >>> np.vmap(np.dot, in_axes=(0, None))(np.eye(2), np.array([3.0, 4.0]))
    array([3., 4.])
    """
    check_callable("vmap", fun)
    wording = Wording(f"vmap of {name_of(fun)}")
    options = in_axes, out_axes, axis_name, axis_size
    plain = mapping(wording, fun, *options, spmd_axis_name)

    def mapped(*args: Any, **kwargs: Any) -> Any:
        def call(function: Callable[..., Any]) -> Any:
            same = function is fun
            made = plain if same else mapping(wording, function, *options, spmd_axis_name)
            return made(*args, **kwargs)

        return or_traced(call, fun, wording)

    return with_recipe(mapped, vmap, fun, *options, spmd_axis_name)


def or_traced(
    call: Callable[[Callable[..., Any]], Any], fun: Callable[..., Any], wording: Wording
) -> Any:
    """`call(fun)`, or if that asks for a value that differs, `call` of what `jit` makes of it."""
    try:
        return call(fun)
    except TypeError as error:
        if getattr(error, "wording", None) is not wording or DISABLED or local.recorder.staging:
            raise
        first = error
    try:
        return call(jit(fun))
    except TypeError as second:  # it cannot be traced so; other errors are the function's own
        raise first from second
