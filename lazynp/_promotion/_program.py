"""A whole function as one program: traced more strictly than under `jit`.

What the function does to objects of Python's would happen only while it is traced, so nothing of
the kind passes. Results that are Python's numbers, or structure, are rebuilt at each call.
"""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import Any

import numpy as np

from lazynp._array import Array, NDArray, Scalar, write_lock
from lazynp._jaxpr import Jaxpr
from lazynp._promotion._guards import Guards
from lazynp._tree import register_pytree_node
from lazynp.functions.tools import materialize
from lazynp.transforms._jit import Jitted
from lazynp.transforms._stack import name_of
from lazynp.transforms.control import CannotStage, converted, session

UNROLLED = 200  # equations that unrolling a loop may add
EQUATIONS = 800  # of the whole program: more take too long to compile
ARRAY = object()  # in a template, the place of an array

_FIXED = (bool, int, float, complex, str, bytes, type(None), np.generic, np.dtype)


class _Fixed:
    """A result that is the same at each call."""

    def __init__(self, value: Any) -> None:
        self.value = value


class _Number:
    """A number of Python's that the program computes."""

    def __init__(self, value: Any, kind: type) -> None:
        self.value, self.kind = value, kind


class _Dict:
    """A dict in its own order; trees sort the keys."""

    def __init__(self, items: dict[Any, Any]) -> None:
        self.items = items


register_pytree_node(
    _Dict,
    lambda d: (tuple(d.items.values()), tuple(d.items)),
    lambda keys, values: dict(zip(keys, values, strict=True)),
)
register_pytree_node(_Fixed, lambda x: ((), _Same(x.value)), lambda same, _: same.value)
register_pytree_node(_Number, lambda x: ((x.value,), x.kind), lambda kind, parts: kind(*parts))


class _Same:
    """By identity, so that every object has a hash."""

    def __init__(self, value: Any) -> None:
        self.value = value


class Program:
    """The function for arguments like these. template: the arguments, with ARRAY for each array."""

    def __init__(self, plain: Callable[..., Any], template: tuple[Any, ...]) -> None:
        self.guards: Guards | None = None  # since it was traced
        self.functions: list[FunctionType] = []  # of the user's, that were traced
        self._plain, self._template = plain, template
        self._jitted = Jitted(_named(self._staged, name_of(plain)), (), (), loops="auto")

    def serves(self, arrays: list[Any]) -> bool:
        """Whether the trace still holds, and for these arguments."""
        traces = self._jitted._cache
        if len(traces) != 1 or self.guards is None or not self.guards.hold():
            return False
        valid = all(traced.valid() for traced in traces.values())
        return valid and not any(a is c for a in arrays for c in self._captured())

    def __call__(self, arrays: list[Any]) -> Any:
        """The results, computed: else they would be compiled together with what uses them. After an
        error nothing is written.
        """
        given = [x for x in arrays if isinstance(x, Array)]  # others are numbers
        before = [(x, x._node) for x in (*given, *self._captured())]
        try:
            out = self._jitted(*arrays)
            materialize((out, arrays))
            return out
        except BaseException:
            with write_lock:
                for x, node in before:
                    x._node = node
            raise

    def _captured(self) -> list[Array]:
        return [x for traced in self._jitted._cache.values() for x in traced.captured]

    def trace(self, arrays: list[Any]) -> int:
        """Trace it, and count its operations. Raises whatever forbids it."""
        operations = _count(self._jitted.trace(*arrays))
        if operations > EQUATIONS:
            raise CannotStage(f"more than {EQUATIONS} operations")
        if any(where == "captured" for t in self._jitted._cache.values() for where, _ in t.written):
            raise CannotStage("writes an array that is no argument")  # a trial would write it too
        return operations

    def _staged(self, *arrays: Any) -> Any:
        given = iter(arrays)
        args = [next(given) if x is ARRAY else x for x in self._template]
        with session.strictly(UNROLLED) as traced:
            function = converted(self._plain, True)
            if function is self._plain:
                raise CannotStage("its source is not available, or not supported")
            out = function(*args)
        self.functions = list(traced.values())
        self.guards = Guards(self.functions)
        return _described(out, set())


def _named(function: Callable[..., Any], name: str) -> Callable[..., Any]:
    def staged(*arrays: Any) -> Any:
        return function(*arrays)

    staged.__name__ = staged.__qualname__ = name
    return staged


def _count(jaxpr: Jaxpr) -> int:
    inner = (v for e in jaxpr.eqns for v in e.params.values() if isinstance(v, Jaxpr))
    return len(jaxpr.eqns) + sum(map(_count, inner))


def _described(out: Any, seen: set[int]) -> Any:
    """The results as a tree. seen: arrays among them; the same memory twice is refused."""
    if type(out) in (tuple, list):
        return type(out)([_described(x, seen) for x in out])
    if isinstance(out, tuple) and hasattr(out, "_fields"):
        return type(out)(*[_described(x, seen) for x in out])
    if type(out) is dict:
        return _Dict({k: _described(x, seen) for k, x in out.items()})
    if type(out) is NDArray:
        owner = id(out if out._base is None else out._owner())
        if owner in seen:
            raise CannotStage("two results share memory")
        seen.add(owner)
        return out
    if type(out) is Scalar:
        aval = out.aval
        kind = {"b": bool, "i": int, "f": float, "c": complex}.get(aval.dtype.kind)
        return _Number(out, kind) if aval.weak and kind is not None else out
    if isinstance(out, _FIXED):
        return _Fixed(out)
    raise CannotStage(f"returns a {type(out).__name__}")
