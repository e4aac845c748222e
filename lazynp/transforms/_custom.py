"""custom_jvp and custom_vjp: arguments by name, trees, checks of what rules return."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from lazynp._array import Array, Scalar, new_array, new_scalar
from lazynp._avals import Aval
from lazynp._dataclass import dataclass
from lazynp._node import aval_of_node
from lazynp._tree import (
    LEAF,
    Structure,
    flatten_up_to,
    show,
    tree_flatten,
    tree_map,
    tree_unflatten,
)
from lazynp.transforms._custom_calls import Call, dispatch
from lazynp.transforms._jvp import FLOAT0, is_zero
from lazynp.transforms._stack import (
    argument_node,
    check_leaf,
    handle_like,
    name_of,
    node_of,
    result_handle,
    zeros,
)
from lazynp.transforms._vmap import under_names


class _Custom:
    """Common to both: arguments by position, non-differentiable arguments kept apart."""

    def __init__(
        self, fun: Callable[..., Any], nondiff_argnums: Any = (), nondiff_argnames: Any = ()
    ) -> None:
        functools.update_wrapper(self, fun)
        self.fun = fun
        self._name = name_of(fun)
        numbers = (nondiff_argnums,) if isinstance(nondiff_argnums, int) else nondiff_argnums
        names = (nondiff_argnames,) if isinstance(nondiff_argnames, str) else nondiff_argnames
        self._nondiff = tuple(sorted({*numbers, *(self._place(n) for n in names)}))

    def _place(self, name: str) -> int:
        known = list(inspect.signature(self.fun).parameters)
        if name not in known:
            raise ValueError(f"{self._name}: nondiff_argnames: {name!r} is not a parameter")
        return known.index(name)

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else functools.partial(self, instance)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        args = self._positional(args, kwargs)
        nondiff = [args[i] for i in self._nondiff]
        diff = tuple(x for i, x in enumerate(args) if i not in self._nondiff)
        leaves, structure = tree_flatten(diff)
        for x in leaves:
            check_leaf(x, f"{self._name} with a custom rule")
        call = _TreeCall(self, args, nondiff, structure, leaves)
        outs = dispatch(call.flat(), [argument_node(x) for x in leaves])
        return tree_unflatten(call.tree, [result_handle(n, None) for n in outs])

    def _positional(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
        """Convert arguments by name, and defaults, to positional arguments."""
        try:
            signature = inspect.signature(self.fun)
        except (TypeError, ValueError):
            if kwargs:
                raise TypeError(f"{self._name}: arguments by name need a signature") from None
            return args
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()
        if bound.kwargs:
            raise TypeError(
                f"{self._name}: keyword-only arguments {sorted(bound.kwargs)} cannot be passed to "
                "a function with a custom rule"
            )
        return bound.args

    def rules(self, call: _TreeCall) -> dict[str, Any]:
        raise NotImplementedError


class _TreeCall:
    """One call: converts between flat arrays and the user's trees."""

    def __init__(
        self, custom: _Custom, args: Any, nondiff: list[Any], structure: Structure, leaves: Any
    ) -> None:
        self.custom, self.count, self.nondiff = custom, len(args), nondiff
        self.structure = structure
        # keep no handles: they must be gone when the transformation around this call ends
        self.avals = [aval_of_node(node_of(x)) for x in leaves]
        self.kinds = [type(handle_like(x, node_of(x))) for x in leaves]
        self.name = custom._name
        self.tree: Any = None  # of the result

    def flat(self) -> Call:
        return Call(self.name, self.function, **self.custom.rules(self))

    def handles(self, xs: Sequence[Array]) -> list[Array]:
        """Handles for the leaves of the differentiable arguments."""
        return [_handle(k, a) for k, a in zip(self.kinds, xs, strict=True)]

    def arguments(self, handles: Sequence[Array]) -> tuple[Any, ...]:
        """The differentiable arguments."""
        return tree_unflatten(self.structure, handles)

    def called(self, function: Callable[..., Any], xs: Sequence[Array]) -> Any:
        """Call `function` with all arguments, in their order."""
        handles = self.handles(xs)
        diff = iter(self.arguments(handles))
        fixed = dict(zip(self.custom._nondiff, self.nondiff, strict=True))
        out = function(*[fixed[i] if i in fixed else next(diff) for i in range(self.count)])
        self.check_unwritten(handles, xs)
        return out

    def check_unwritten(self, handles: Sequence[Array], xs: Sequence[Array]) -> None:
        """Refuse writes to arguments: they would not reach the caller."""
        for i, (handle, x) in enumerate(zip(handles, xs, strict=True)):
            if handle._read() is not x._read():
                raise TypeError(
                    f"{self.name}, which has a custom rule, writes leaf {i} of its arguments, "
                    f"{x.aval}, in place; write a copy of it"
                )

    def function(self, xs: Sequence[Array]) -> list[Array]:
        return self.flattened(self.called(self.custom.fun, xs))

    def flattened(self, out: Any) -> list[Array]:
        leaves, self.tree = tree_flatten(out)
        for x in leaves:
            check_leaf(x, f"the result of {self.name}")
        return [new_array(node_of(x)) for x in leaves]

    def like(self, tree: Any, structure: Structure, avals: Sequence[Aval], what: str) -> list[Any]:
        """Check tangents or cotangents that a rule returned: None for zero, else of these types."""
        found = flatten_up_to(structure, tree, what)
        return [_checked(x, a, what) for x, a in zip(found, avals, strict=True)]


def _checked(x: Any, aval: Aval, what: str) -> Array | None:
    if is_zero(x) or aval.dtype.kind not in "fc":
        return None
    if isinstance(x, (tuple, list, dict)):
        raise TypeError(f"{what}: a tree like * is required, got {x!r}")
    array = new_array(node_of(x))
    if array.shape != aval.shape or (array.dtype != aval.dtype and type(x) is not float):
        raise TypeError(f"{what}: a value of {aval} is required, got {array.aval}")
    return array


def _handle(kind: type, x: Array) -> Array:
    return (new_scalar if kind is Scalar else new_array)(x._read())


def _tangent(array: Array | None, aval: Aval, kind: type) -> Any:
    if aval.dtype.kind not in "fc":
        return np.zeros(aval.shape, FLOAT0)
    return _handle(kind, zeros(aval) if array is None else array)


class custom_jvp(_Custom):
    """A function with a forward rule: `f.defjvp(rule)`. It must not write its arguments.

    `rule(primals, tangents) -> (out, tangent of out)`.

    Arguments in nondiff_argnums come first: `rule(*nondiff, primals, tangents)`.
    """

    _rule: Callable[..., Any] | None = None

    def defjvp(self, jvp: Callable[..., Any], symbolic_zeros: bool = False) -> Callable[..., Any]:
        """symbolic_zeros: no effect; zero tangents are arrays of zeros."""
        self._rule = jvp
        return jvp

    def defjvps(self, *jvps: Callable[..., Any] | None) -> None:
        """Set a rule for each argument, `(tangent, out, *primals) -> tangent`, or None for zero."""

        def rule(primals: Any, tangents: Any) -> Any:
            out = self(*primals)
            terms = [
                j(t, out, *primals) for j, t in zip(jvps, tangents, strict=True) if j is not None
            ]
            if not terms:
                return out, zeros(aval_of_node(node_of(out)))
            total = terms[0]
            for term in terms[1:]:
                total = total + term
            return out, total

        self.defjvp(rule)

    def rules(self, call: _TreeCall) -> dict[str, Any]:
        rule = self._rule
        if rule is None:
            raise AttributeError(f"no JVP rule is given for custom_jvp {call.name}: use defjvp")
        what = f"the JVP rule of {call.name}"

        def jvp(primals: Any, tangents: Any) -> Any:
            dots = tree_unflatten(
                call.structure,
                [_tangent(t, a, k) for t, a, k in zip(tangents, call.avals, call.kinds)],
            )
            handles = call.handles(primals)
            pair = rule(*call.nondiff, call.arguments(handles), dots)
            call.check_unwritten(handles, primals)
            if not isinstance(pair, (tuple, list)) or len(pair) != 2:
                raise TypeError(f"{what} must return a pair (out, tangent), got {pair!r}")
            outs = call.flattened(pair[0])
            moved = call.like(pair[1], call.tree, [o.aval for o in outs], f"{what}: the tangent")
            return outs, moved

        return {"jvp": jvp, "sees": [rule, *call.nondiff]}


@dataclass
class Primal:
    """An argument of a forward rule that uses symbolic zeros."""

    value: Any
    perturbed: bool


def _of_primals(fwd: Callable[..., Any]) -> Callable[..., Any]:
    def primal(x: Any) -> Primal:
        return Primal(x, aval_of_node(node_of(x)).dtype.kind in "fc")

    @functools.wraps(fwd)
    def wrapped(*args: Any) -> Any:
        return fwd(*[x if _is_static(x) else tree_map(primal, x) for x in args])

    return wrapped


def _is_static(x: Any) -> bool:
    """Whether x is not a tree of arrays: a non-differentiable argument of another kind."""
    return not all(isinstance(leaf, Array) for leaf in tree_flatten(x)[0])


class custom_vjp(_Custom):
    """A function with a reverse rule: `f.defvjp(fwd, bwd)`. It must not write its arguments.

    `fwd(*args) -> (out, residuals)`; `bwd(*nondiff, residuals, ct) -> a cotangent for each
    differentiable argument`, None for zero.
    """

    _fwd: Callable[..., Any] | None = None
    _bwd: Callable[..., Any] | None = None

    def defvjp(
        self, fwd: Callable[..., Any], bwd: Callable[..., Any], symbolic_zeros: bool = False
    ) -> None:
        """symbolic_zeros: for each leaf, fwd gets an object with the `value` and a flag
        `perturbed`, which says whether the leaf may be differentiated. Zero cotangents are arrays
        of zeros.
        """
        self._fwd, self._bwd = _of_primals(fwd) if symbolic_zeros else fwd, bwd

    def rules(self, call: _TreeCall) -> dict[str, Any]:
        fwd, bwd = self._fwd, self._bwd
        if fwd is None or bwd is None:
            raise AttributeError(f"no VJP rule is given for custom_vjp {call.name}: use defvjp")
        residual_tree: list[Any] = []

        def forward(primals: Any) -> Any:
            pair = call.called(fwd, primals)
            if not isinstance(pair, (tuple, list)) or len(pair) != 2:
                raise TypeError(
                    f"the forward rule of {call.name} must return a pair (out, residuals), "
                    f"got {pair!r}"
                )
            outs = call.flattened(pair[0])
            leaves, structure = tree_flatten(pair[1])
            fixed = [None if _is_array(x) else x for x in leaves]
            residual_tree[:] = [structure, fixed, list(map(_is_array, leaves))]
            return outs, [new_array(node_of(x)) for x in leaves if _is_array(x)]

        def backward(residuals: Any, cts: Any) -> Any:
            structure, fixed, is_array = residual_tree
            rest = iter(residuals)
            leaves = [
                result_handle(next(rest)._read(), None) if a else x
                for x, a in zip(fixed, is_array, strict=True)
            ]
            ct = tree_unflatten(call.tree, [result_handle(c._read(), None) for c in cts])
            found = bwd(*call.nondiff, tree_unflatten(structure, leaves), ct)
            return _cotangents(call, found)

        return {"fwd": forward, "bwd": under_names(backward), "sees": [fwd, bwd, *call.nondiff]}


def _is_array(x: Any) -> bool:
    return isinstance(x, (Array, np.ndarray, np.generic, bool, int, float, complex))


def _cotangents(call: _TreeCall, found: Any) -> list[Any]:
    what = f"the backward rule of {call.name}"
    children = call.structure[2]
    if not isinstance(found, (tuple, list)):
        raise TypeError(
            f"{what} must return a tuple with a cotangent for each of {len(children)} arguments, "
            f"got {type(found).__name__}"
        )
    if len(found) != len(children):
        raise TypeError(
            f"{what} must return a cotangent for each of {len(children)} arguments, "
            f"got {len(found)}: {show(call.structure)} is the structure"
        )
    leaves = iter(call.avals)
    cts: list[Any] = []
    for ct, child in zip(found, children, strict=True):
        avals = [next(leaves) for _ in range(_count(child))]
        if ct is None and child is not LEAF:
            cts += [None] * len(avals)
        else:
            cts += call.like(ct, child, avals, f"{what}: the cotangent")
    return cts


def _count(structure: Structure) -> int:
    return 1 if structure is LEAF else sum(map(_count, structure[2]))
