"""Transformations: interpreters for the primitives that the graph records.

They take a third of the time of an import, and many scripts use none. So they are loaded by the
first use of a name, and `lazynp._promotion` with them, which follows their calls.
"""

import os
import time
from collections.abc import Callable
from importlib import import_module
from threading import get_ident
from types import CodeType
from typing import TYPE_CHECKING, Any

from lazynp import _unit
from lazynp._collector import set_aside_too

if TYPE_CHECKING:
    from lazynp.transforms._all import (
        DBIdx,
        InDBIdx,
        Jitted as Jitted,
        OutDBIdx,
        ShapeDtype,
        all_gather,
        all_to_all,
        axis_index,
        axis_size,
        check_grads,
        checkpoint,
        cond,
        custom_jvp,
        custom_vjp,
        debug_callback,
        debug_nans,
        debug_print,
        disable_jit,
        eval_jaxpr,
        eval_shape,
        fori_loop,
        front_of as front_of,
        grad,
        hessian,
        hvp,
        jac_sparse,
        jacfwd,
        jacrev,
        jit,
        jvp,
        linear_transpose,
        linearize,
        make_jaxpr,
        map,
        plain_of as plain_of,
        pmax,
        pmean,
        pmin,
        ppermute,
        psum,
        psum_scatter,
        pure_callback,
        recipe_of as recipe_of,
        scan,
        shard_map,
        stop_gradient,
        switch,
        value_and_grad,
        vjp,
        vmap,
        while_loop,
    )

# what higher layers fill, for when the transformations are loaded
wrappers: set[CodeType] = set()  # code of functions of lazynp's that only call the user's
window_makers: list[Any] = []
when_loaded: list[Callable[[dict[str, Any]], object]] = []  # called with the names

__all__ = [
    "DBIdx",
    "InDBIdx",
    "OutDBIdx",
    "ShapeDtype",
    "all_gather",
    "all_to_all",
    "axis_index",
    "axis_size",
    "check_grads",
    "checkpoint",
    "cond",
    "custom_jvp",
    "custom_vjp",
    "debug_callback",
    "debug_nans",
    "debug_print",
    "disable_jit",
    "eval_jaxpr",
    "eval_shape",
    "fori_loop",
    "grad",
    "hessian",
    "hvp",
    "jac_sparse",
    "jacfwd",
    "jacrev",
    "jit",
    "jvp",
    "linear_transpose",
    "linearize",
    "make_jaxpr",
    "map",
    "pmax",
    "pmean",
    "pmin",
    "ppermute",
    "psum",
    "psum_scatter",
    "shard_map",
    "pure_callback",
    "scan",
    "stop_gradient",
    "switch",
    "value_and_grad",
    "vjp",
    "vmap",
    "while_loop",
]

# the namespace assigns these, because they depend on higher layers
adopt: Any
associative_scan: Any
block_until_ready: Any
tree: Any
__all__ += ["adopt", "associative_scan", "block_until_ready", "tree"]

_MORE = ("Jitted", "front_of", "plain_of", "recipe_of")  # for explanations


_loading: set[int] = set()  # the threads that load them
_PATIENCE = 10.0  # seconds that a fork waits for these threads


def _before_fork() -> None:
    """What another thread is importing while the process forks, the child could never import."""
    end = time.monotonic() + _PATIENCE
    while _loading - {get_ident()} and time.monotonic() < end:
        time.sleep(0.001)


os.register_at_fork(before=_before_fork)


def load() -> None:
    """Load all of them, if they are not."""
    if "jit" in globals():
        return
    _loading.add(get_ident())
    try:
        with set_aside_too():
            everything = import_module("lazynp.transforms._all")
            names = [n for n in (*__all__, *_MORE) if hasattr(everything, n)]
            found = {n: getattr(everything, n) for n in names}
            for tell in when_loaded:  # they load more
                tell(found)
        globals().update(found)
    finally:
        _loading.discard(get_ident())


def __getattr__(name: str) -> Any:
    if name in __all__ or name in _MORE:
        load()
        if name in globals():
            return globals()[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


_unit.loaders.append(load)
