"""Calls of a kind that was taken apart before, matched against what that has found.

To take a call apart (`_calls`) costs more than a small program. It describes the call: what stands
where. A later call is compared with this description, part by part, and gives the operands on the
way. What does not match, or could not be compared so, is taken apart as before.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import FunctionType
from typing import Any

import numpy as np

from lazynp._array import NDArray, Scalar, from_host, new_array, new_scalar
from lazynp._avals import SCALAR_DTYPES
from lazynp._node import leaf
from lazynp._promotion._copies import computed
from lazynp._promotion._given import LARGE, Given
from lazynp._promotion._template import Spec
from lazynp._signals import let_through
from lazynp.transforms._recipes import Recipe, recipe_of
from lazynp.transforms.control import plain_of

MISSED = object()  # the call must be taken apart

_OWN = {".promoted"}  # of the dict of a function


class _Unlike(Exception):
    """The call is of another kind."""


def known_call(given: Given, program: Any) -> KnownCall | None:
    """Calls like this one; None if some part of it cannot be compared, or given to steps."""
    specs = [*given.args, *(spec for _, _, _, spec in given.closure)]
    plain = [x for x in given.leaves if isinstance(x, (NDArray, Scalar))]
    if given.objects or given.compact or not all(map(_is_known, specs)):
        return None
    if any(x._base is not None or x._flags or x._order is not None for x in plain):
        return None
    return KnownCall(given, program)


def _is_known(spec: Spec) -> bool:
    kind = spec[0]
    if kind in ("leaf", "fixed", "number"):
        return True
    return kind in _RULES and all(map(_is_known, _parts(spec)))


def _parts(spec: Spec) -> Any:
    return spec[_FIRST[spec[0]] :]


_FIRST = {"tuple": 2, "list": 3, "dict": 3, "partial": 1, "made": 4, "function": 5}


class KnownCall:
    """Calls that a program serves. program: a `DerivedProgram`."""

    __slots__ = ("_given", "_leaves", "_order", "_program")

    def __init__(self, given: Given, program: Any) -> None:
        self._given, self._program = given.template, program
        self._leaves = [(type(x), getattr(x, "aval", None)) for x in given.leaves]
        places = range(len(given.leaves))
        are = [type(x) is NDArray for x in given.leaves]
        self._order = [*(i for i in places if are[i]), *(i for i in places if not are[i])]

    def call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The result, or `MISSED`."""
        given = self._given
        if len(args) + len(kwargs) != len(given.args) or tuple(kwargs) != given.names:
            return MISSED
        match = _Match(given.fixed, self._leaves)
        try:
            for x, spec in zip((*args, *kwargs.values()), given.args):
                match.enter(x, spec)
            for _, name, place, spec in given.closure:
                match.enter(given.fixed[place].get(name, MISSED), spec)
        except _Unlike:
            return MISSED
        except Exception as error:  # of strange objects, when they are looked at
            let_through(error)
            return MISSED
        program = self._program
        if not program.serves(match.given, []):
            return MISSED
        if program.steps is not None:
            return program.result([match.operands[i] for i in self._order])
        leaves = [_leaf(x) for x in match.given]
        try:
            computed(leaves)
            return program(leaves, leaves, [])[0]
        except Exception as error:  # nothing was written
            let_through(error)
            return MISSED


def _leaf(x: Any) -> Any:
    """What a compiled program takes."""
    if type(x) is np.ndarray:
        return new_array(from_host(x))
    return new_scalar(leaf(x)) if isinstance(x, np.generic) and type(x) is not Scalar else x


class _Match:
    """A call, compared with a description. leaves: their types. operands: what the steps get for
    what is given.
    """

    __slots__ = ("fixed", "leaves", "given", "operands", "_containers")

    def __init__(self, fixed: list[Any], leaves: list[tuple[type, Any]]) -> None:
        self.fixed, self.leaves = fixed, leaves
        self.given: list[Any] = [None] * len(leaves)
        self.operands: list[Any] = [None] * len(leaves)
        self._containers: dict[int, Any] = {}  # lists and dicts, by their numbers

    def enter(self, x: Any, spec: Spec) -> None:
        """Raises `_Unlike`."""
        kind = spec[0]
        if kind == "leaf":
            self._leaf(x, spec)
        elif kind == "fixed":
            self._fixed(x, spec)
        elif kind == "number":
            i = spec[1]
            if type(x) is not spec[2] or type(x) is int and abs(x) >= LARGE:
                raise _Unlike
            if self.given[i] is not None and self.given[i] is not x:
                raise _Unlike
            self.given[i] = x
            self.operands[i] = SCALAR_DTYPES[type(x)].type(x)
        else:
            _RULES[kind](self, x, spec)

    def _fixed(self, x: Any, spec: Spec) -> None:
        if len(spec) == 3:
            same = x is spec[1]
        else:
            same = x is self.fixed[spec[3]] or type(x) is spec[1] and repr(x) == spec[2]
        if not same:
            raise _Unlike

    def _leaf(self, x: Any, spec: Spec) -> None:
        i, t = spec[1], type(x)
        before = self.given[i]
        if before is x:
            return
        if before is not None or any([x is y for y in self.given]):  # what shares memory, does so
            raise _Unlike
        self.given[i] = x
        kind, aval = self.leaves[i]
        if len(spec) == 2:
            if t is not kind or x._base is not None or x._flags or x._order is not None:
                raise _Unlike
            if x.aval != aval:
                raise _Unlike
            self.operands[i] = x._node
            return
        if t is not spec[2] or x.dtype != aval.dtype or x.shape != aval.shape:
            raise _Unlike
        if t is np.ndarray:
            flags = x.flags
            if not (flags.c_contiguous and flags.writeable and flags.aligned):
                raise _Unlike
            x = x if x.ndim else x[()]
        self.operands[i] = x

    def tuple(self, x: Any, spec: Spec) -> None:
        if type(x) is not spec[1] or len(x) != len(spec) - 2:
            raise _Unlike
        for y, part in zip(x, spec[2:]):
            self.enter(y, part)

    def list(self, x: Any, spec: Spec) -> None:
        if type(x) is not list or len(x) != len(spec) - 3:
            raise _Unlike
        for y, part in () if self._is_known(x, spec[1]) else zip(x, spec[3:]):
            self.enter(y, part)

    def dict(self, x: Any, spec: Spec) -> None:
        if type(x) is not dict or tuple(x) != spec[2]:
            raise _Unlike
        for y, part in () if self._is_known(x, spec[1]) else zip(x.values(), spec[3:]):
            self.enter(y, part)

    def _is_known(self, x: Any, number: int) -> bool:
        """Whether this list or dict was compared before. A function may ask which of them are one,
        so those of one number must be one, and others not.
        """
        known = self._containers.get(number, MISSED)
        if known is MISSED:
            if any([x is y for y in self._containers.values()]):
                raise _Unlike
            self._containers[number] = x
            return False
        if known is not x:
            raise _Unlike
        return True

    def partial(self, x: Any, spec: Spec) -> None:
        if type(x) is not functools.partial:
            raise _Unlike
        self.enter((x.func, x.args, x.keywords), spec[1])

    def made(self, x: Any, spec: Spec) -> None:
        if type(x) is not Recipe:
            x = recipe_of(x)
        if x is None or x.maker is not spec[1] or x.options != spec[2] or x.moving != spec[3]:
            raise _Unlike
        self.enter(x.function, spec[4])

    def function(self, x: Any, spec: Spec) -> None:
        _, code, scope, (_, _, names), _, *parts = spec
        plain = plain_of(x) if type(x) is FunctionType and recipe_of(x) is None else None
        if plain is None or plain.__code__ is not code or id(plain.__globals__) != scope:
            raise _Unlike
        values = [cell.cell_contents for cell in plain.__closure__ or ()]
        values += plain.__defaults__ or ()
        named = plain.__kwdefaults__ or {}
        values += named.values()
        if len(values) != len(parts) or tuple(named) != names or x.__dict__.keys() - _OWN:
            raise _Unlike
        for y, part in zip(values, parts):
            self.enter(y, part)


_RULES: dict[str, Callable[[_Match, Any, Spec], None]] = {
    "tuple": _Match.tuple, "list": _Match.list, "dict": _Match.dict, "partial": _Match.partial,
    "made": _Match.made, "function": _Match.function,
}  # fmt: skip
