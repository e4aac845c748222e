"""`linearize` and `vjp`: a function's results, and a linear function of tangents or cotangents.

The linear function is a tape, with the values that it reads. A layer above may run the first part
by a kept program, which computes the results and those values; `KeptTape` is then what the linear
functions of all its calls have in common.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from lazynp._array import Array, new_array
from lazynp._avals import Aval, aval_of
from lazynp._node import Node, aval_of_node
from lazynp._recorder import local
from lazynp._tree import flatten_up_to, tree_flatten, tree_unflatten
from lazynp.transforms._backward import Linearized
from lazynp.transforms._for_users import for_users
from lazynp.transforms._jit import Jitted
from lazynp.transforms._jvp import FLOAT0, is_zero, tangent_nodes, whole_tangents
from lazynp.transforms._linearize import linearize_nodes
from lazynp.transforms._recipes import as_called, with_recipe
from lazynp.transforms._stack import (
    Flat,
    argument_node,
    as_weak_as,
    check_leaf,
    coerced,
    name_of,
    node_of,
    result_handle,
    zeros,
)
from lazynp.transforms._tape import Entry

Arrays = list[Array | None]  # None: zero


def moving(nodes: Sequence[Node]) -> list[bool]:
    return [aval_of_node(n).dtype.kind in "fc" for n in nodes]


@for_users
def linearize(fun: Callable[..., Any], *primals: Any, has_aux: bool = False) -> tuple[Any, ...]:
    """`(f(*primals), the linear function of tangents)`; the primals are computed once."""
    if local.level or local.recorder.staging:
        return _split(fun, primals, has_aux, False)
    return _linearizing(fun, has_aux)(*primals)


@for_users
def vjp(fun: Callable[..., Any], *primals: Any, has_aux: bool = False) -> tuple[Any, ...]:
    """`(f(*primals), a function from cotangents of the result to cotangents of the arguments)`.

    The inner product is `sum(real(a * b))`, as in JAX, also for complex values. The cotangent of an
    integer argument has dtype float0.

    >>> import lazynp as np
    >>> value, pull = np.vjp(lambda x: x**2, np.array([1.0, 2.0]))
    >>> pull(np.ones(2))
    (array([2., 4.]),)
    """
    if local.level or local.recorder.staging:
        return _split(fun, primals, has_aux, True)
    return _pulling(fun, has_aux)(*primals)


def _linearizing(fun: Callable[..., Any], has_aux: bool) -> Callable[..., Any]:
    """`linearize` of this function, as a function that can be made again."""

    def split(*primals: Any) -> tuple[Any, ...]:
        return _split(fun, primals, has_aux, False)

    return with_recipe(split, _linearizing, fun, has_aux, values=None if has_aux else as_called)


def _pulling(fun: Callable[..., Any], has_aux: bool) -> Callable[..., Any]:
    """`vjp` of this function, as a function that can be made again."""

    def split(*primals: Any) -> tuple[Any, ...]:
        return _split(fun, primals, has_aux, True)

    return with_recipe(split, _pulling, fun, has_aux, values=None if has_aux else as_called)


_linearizing.__name__, _pulling.__name__ = "linearize", "vjp"  # the names that explanations tell


def _split(
    fun: Callable[..., Any], primals: tuple[Any, ...], has_aux: bool, backwards: bool
) -> tuple[Any, ...]:
    what = f"{'vjp' if backwards else 'linearize'} of {name_of(fun)}"
    leaves, structure = tree_flatten(primals)
    for x in leaves:
        check_leaf(x, what)
    nodes = [argument_node(x) for x in leaves]
    flat = Flat(fun, structure, has_aux=has_aux)
    outs, program, like = linearize_nodes(flat, leaves, nodes, moving(nodes), what)
    avals = list(map(aval_of_node, nodes)), list(map(aval_of_node, outs[: flat.count]))
    signature = _Backward if backwards else _Forward
    given = signature(*avals, structure, flat.tree, like[: flat.count], what)
    linear = LinearFunction(given, program)
    value = flat.rebuilt(outs, like)
    return (value, linear, flat.aux(outs, like)) if has_aux else (value, linear)


class LinearFunction:
    """What `linearize` and `vjp` return: a tape, and what users give to it and get from it."""

    def __init__(self, signature: Any, program: Any) -> None:
        """program: a Linearized or a `_Filled`."""
        self._signature, self._program = signature, program
        self.__name__ = signature.what

    def __call__(self, *args: Any) -> Any:
        return self._signature.leave(self._run(self._signature.enter(*args)))

    def _run(self, given: Arrays) -> Arrays:
        return run(self._program, self._signature, given)

    def of_ones(self) -> list[Any]:
        """Its results for ones: equal for equal functions."""
        ones = [
            None if z is None else coerced(1, z.aval) for z in map(_zero, self._signature.given)
        ]
        return [x for x in self._run(ones) if x is not None]

    def parts(self) -> tuple[KeptTape, list[Array]]:
        """What is common to such functions, and the values that this one reads."""
        residuals = self._program.residuals()
        return KeptTape(self._signature, self._program, residuals), list(map(new_array, residuals))


def run(program: Any, signature: Any, given: Arrays) -> Arrays:
    """Without what belongs to aux."""
    if isinstance(signature, _Forward):
        return program.forward(given)[: len(signature.found)]
    rest = len(program.out_avals) - len(given)
    return program.backward([*given, *[None] * rest])


def _zero(aval: Aval) -> Array | None:
    return zeros(aval) if aval.dtype.kind in "fc" else None


class KeptTape:
    """A tape with places for the values that it reads, of which it keeps none. `fill` makes the
    linear function for such values.
    """

    def __init__(self, signature: Any, program: Linearized, residuals: Sequence[Node]) -> None:
        self._signature = signature
        places = {id(n): i for i, n in enumerate(residuals)}
        self._entries = [
            (e, [places.get(id(a), a) if type(a) is list else a for a in e.operands])
            for e in program.tape
        ]
        self._inputs = list(program.inputs)
        self._outputs = [places.get(id(o), o) if type(o) is list else o for o in program.outputs]
        self._out_avals = list(program.out_avals)
        for tracer in self._inputs:
            if tracer is not None:
                trace: Any = tracer.trace
                trace.tape = []  # it holds the nodes of the call that was traced
        for e, _ in self._entries:
            e.operands = []
        self.run = Jitted(_of_values(self), (), (), compiled=True)

    def fill(self, values: list[Array]) -> LinearFunction:
        return LinearFunction(self._signature, _Filled(self, values))

    def linearized(self, values: Sequence[Array]) -> Linearized:
        nodes = [x._read() for x in values]

        def filled(a: Any) -> Any:
            return nodes[a] if type(a) is int else a

        tape = [
            Entry(e.primitive, list(map(filled, operands)), e.params, e.outs, e.where)
            for e, operands in self._entries
        ]
        return Linearized(tape, self._inputs, list(map(filled, self._outputs)), self._out_avals)

    def whole(self, given: Arrays) -> list[Array]:
        """What is given, without what has no derivative, and with zeros."""
        found = zip(given, map(_zero, self._signature.given), strict=True)
        return [z if x is None else x for x, z in found if z is not None]

    def spread(self, given: Sequence[Array], avals: Sequence[Aval]) -> Arrays:
        rest = iter(given)
        return [next(rest) if a.dtype.kind in "fc" else None for a in avals]


def _of_values(tape: KeptTape) -> Callable[..., Any]:
    def linear(values: list[Array], given: list[Array]) -> list[Array]:
        signature = tape._signature
        spread = tape.spread(given, signature.given)
        return _with_zeros(run(tape.linearized(values), signature, spread), signature.found)

    return linear


def _with_zeros(found: Arrays, avals: Sequence[Aval]) -> list[Array]:
    made = zip(found, map(_zero, avals), strict=True)
    return [z if x is None else x for x, z in made if z is not None]


class _Filled:
    """A kept tape with values, which runs as a Linearized does."""

    def __init__(self, tape: KeptTape, values: list[Array]) -> None:
        self._tape, self._values = tape, values
        self.out_avals = tape._signature.given

    def forward(self, given: Arrays) -> Arrays:
        found = self._tape.run(self._values, self._tape.whole(given))
        return self._tape.spread(found, self._tape._signature.found)

    backward = forward


# -- what users give and get -----------------------------------------------------------------------


class _Forward:
    """From tangents of the arguments to those of the results. given, found: their types."""

    def __init__(
        self, ins: list[Aval], outs: list[Aval], structure: Any, tree: Any, like: list[Any],
        what: str,
    ) -> None:  # fmt: skip
        self.given, self.found, self.like, self.what = ins, outs, like, what
        self._structure, self._tree = structure, tree

    def enter(self, *tangents: Any) -> Arrays:
        nodes = tangent_nodes(self.given, self._structure, tangents, self.what)
        return [None if t is None else new_array(t) for t in nodes]

    def leave(self, found: Arrays) -> Any:
        nodes = [None if t is None else t._read() for t in found]
        return whole_tangents(self._tree, self.found, nodes, self.like)


class _Backward:
    """From cotangents of the results to those of the arguments. given, found: their types."""

    def __init__(
        self, ins: list[Aval], outs: list[Aval], structure: Any, tree: Any, like: list[Any],
        what: str,
    ) -> None:  # fmt: skip
        self.given, self.found, self.what = outs, ins, what
        self._structure, self._tree = structure, tree

    def enter(self, ct: Any) -> Arrays:
        leaves = flatten_up_to(self._tree, ct, f"{self.what}: the cotangent")
        return [_cotangent(aval, x, self.what) for aval, x in zip(self.given, leaves, strict=True)]

    def leave(self, found: Arrays) -> Any:
        cts = [whole(aval, ct) for aval, ct in zip(self.found, found, strict=True)]
        return tree_unflatten(self._structure, cts)


def _cotangent(aval: Aval, ct: Any, what: str) -> Array | None:
    """Check a cotangent against its result, and return it in the form that the rules take."""
    if aval.dtype.kind not in "fc" or is_zero(ct):
        return None
    if type(ct) in (bool, int, float, complex):
        array = coerced(ct, aval_of((), aval.dtype))
    else:
        array = new_array(node_of(ct))
    if array.shape != aval.shape or array.dtype != aval.dtype:
        raise TypeError(f"{what}: a cotangent must be like its result, got {array.aval} for {aval}")
    return array


def whole(aval: Aval, ct: Array | None) -> Any:
    """The cotangent that users see: zeros for None, float0 for an integer argument."""
    if aval.dtype.kind not in "fc":
        return np.zeros(aval.shape, FLOAT0)
    return result_handle(as_weak_as((zeros(aval) if ct is None else ct)._read(), aval))
