"""einsum: NumPy parses and plans; lazynp contracts pair by pair."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from lazynp import _views
from lazynp._array import Array, NDArray
from lazynp._avals import Aval
from lazynp._errstate import quiet
from lazynp._extents import any_sized, named, stand_in
from lazynp._memo import cached
from lazynp._steps import Diagonal
from lazynp.functions._arguments import dtype_of_no_array, fortran, order_argument
from lazynp.functions._contract import arranged, contract, summed
from lazynp.functions._eager import by_numpy
from lazynp.functions._host import host_into, needs_host
from lazynp.functions._operands import as_array, cast, plain, scalar_if_0d, store

_KEYWORDS = ("dtype", "order", "casting")

_Labels = tuple[str, ...]


def _shown(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A sum of nothing, which is a view and costs no plan; else None."""
    if len(args) != 2 or kwargs or type(args[0]) is not str or type(args[1]) is not NDArray:
        return None
    terms = _in_another_order(args[0])
    if terms is None or not _fits(args[1].shape, terms[0]):
        return None
    return _contracted([(args[1], terms[0])], terms[1])


@cached(1024)
def _in_another_order(form: str) -> tuple[_Labels, _Labels] | None:
    """The labels of the operand and of the result, if each label is in both; else None."""
    inputs, arrow, output = form.replace(" ", "").partition("->")
    if not (inputs + output).isascii() or not inputs.isalpha():
        return None
    output = output if arrow else "".join(sorted(inputs))
    if set(inputs) != set(output) or len(set(output)) < len(output):
        return None
    return tuple(inputs), tuple(output)


def _fits(shape: tuple[Any, ...], labels: _Labels) -> bool:
    if len(shape) != len(labels):
        return False
    return len(set(labels)) == len(labels) or len({*zip(labels, shape)}) == len(set(labels))


@by_numpy(np.einsum, first=_shown)
@quiet()
def einsum(*operands: Any, out: Any = None, optimize: Any = False, **kwargs: Any) -> Any:
    """See `numpy.einsum`. More than two operands are always contracted pair by pair, in the order
    given by `optimize`, by default `"greedy"`. Of the values of `order`, only "F" has an effect.
    The result is a view where NumPy's is one.
    """
    if len(operands) == 1 and not isinstance(operands[0], str):
        raise ValueError("must provide at least an operand and a subscripts list to einsum")
    for name in kwargs:
        if name not in _KEYWORDS:
            raise TypeError(f"einsum() got an unexpected keyword argument {name!r}")
    if out is not None and not isinstance(out, (Array, np.ndarray)):
        raise TypeError("keyword parameter out must be an array for einsum")
    arrays, form = _arrays(operands)
    alone = len(arrays) == 1 and out is None  # a view then has any dtype
    if needs_host(*arrays) and not (alone and _sums_nothing(_plan(form, arrays, optimize))):
        kwargs["optimize"] = optimize
        return host_into(np.einsum, *_arguments(form, arrays), out=out, **kwargs)
    order = order_argument(kwargs.get("order", "K"))
    if "casting" in kwargs:
        np.can_cast("?", "?", kwargs["casting"])  # raises for what is no rule
    np.dtype(kwargs.get("dtype"))  # or no dtype
    plan = _plan(form, arrays, optimize)
    view = out is None and _sums_nothing(plan)  # then NumPy ignores the dtype
    results = arrays if view else [cast(a, _dtype(arrays, out, kwargs)) for a in arrays]
    for positions, inputs, output in plan:
        terms = [(results.pop(i), labels) for i, labels in zip(positions, inputs, strict=True)]
        results.append(_contracted(terms, output))
    (result,) = results
    if order == "F" and not view:
        fortran(result)
    if out is not None and out.shape != result.shape:
        _refuse(form, arrays, out, kwargs)
    return store(scalar_if_0d(result), out, kwargs.get("casting", "safe"))


def einsum_path(*operands: Any, optimize: Any = "greedy", einsum_call: bool = False) -> Any:
    """See `numpy.einsum_path`. Uses only the shapes of the operands."""
    arrays, form = _arrays(operands)
    return np.einsum_path(*_arguments(form, map(_dummy, arrays)), optimize=optimize)


def _refuse(form: Any, arrays: list[Array], out: Any, kwargs: dict[str, Any]) -> None:
    """Raise NumPy's error for an `out` of another shape."""
    empty = np.empty(stand_in(out.shape), out.dtype)
    np.einsum(*_arguments(form, map(_dummy, arrays)), out=empty, **kwargs)
    raise ValueError(f"einsum: out has another shape than the result: {out.shape}")


def _sums_nothing(plan: _Steps) -> bool:
    """Whether the sum is one operand's elements, in another order."""
    (_, inputs, output), *more = plan
    return not more and len(inputs) == 1 and set(inputs[0]) == set(output)


# -- parsing the arguments -------------------------------------------------------------------------

_Steps = list[tuple[tuple[int, ...], list[_Labels], _Labels]]


def _dummy(array: Array | Aval) -> np.ndarray[Any, Any]:
    return np.broadcast_to(np.zeros((), array.dtype), stand_in(array.shape))


def _arrays(operands: tuple[Any, ...]) -> tuple[list[Array], Any]:
    """Separate the arrays from the rest of the arguments: a string, or lists of labels."""
    if not operands:
        raise ValueError(
            "must specify the einstein sum subscripts string and at least one operand, or at "
            "least one operand and its corresponding subscripts list"
        )
    if isinstance(operands[0], str):
        return [as_array(x) for x in operands[1:]], operands[0]
    lists = operands[1::2]
    arrays = [as_array(x) for x in operands[: 2 * len(lists) : 2]]
    output = tuple(operands[-1]) if len(operands) % 2 else None
    return arrays, (tuple(tuple(labels) for labels in lists), output)


def _arguments(form: Any, arrays: Iterable[Any]) -> list[Any]:
    """The arguments of `einsum`, with these arrays inserted."""
    if isinstance(form, str):
        return [form, *arrays]
    lists, output = form
    pairs = [x for pair in zip(arrays, map(list, lists), strict=True) for x in pair]
    return pairs if output is None else [*pairs, list(output)]


def _plan(form: Any, arrays: list[Array], optimize: Any) -> _Steps:
    if optimize is False:
        optimize = "greedy"
    elif isinstance(optimize, list):
        optimize = tuple(optimize)
    avals = tuple([a.aval for a in arrays])
    try:
        return _steps(form, avals, optimize)
    except TypeError:  # not hashable, or NumPy's own error
        return _steps.__wrapped__(form, avals, optimize)
    except ValueError as error:
        raise named(error, [a.shape for a in avals]) if any_sized(*avals) else error from None


@cached(1024)
def _steps(form: Any, avals: tuple[Aval, ...], optimize: Any) -> _Steps:
    """The contractions in order: positions, labels of these operands, remaining labels."""
    arguments = _arguments(form, map(_dummy, avals))
    _check(arguments)
    planner: Any = np.einsum_path
    _, steps = planner(*arguments, optimize=optimize, einsum_call=True)
    plan = []
    for positions, subscripts, *_ in steps:
        inputs, output = subscripts.split("->")
        plan.append((positions, [tuple(term) for term in inputs.split(",")], tuple(output)))
    return plan


def _check(arguments: list[Any]) -> None:
    """Raise NumPy's own errors. NumPy checks during setup, so sizes of 1 and 0 can stand for all
    others.
    """
    shrunk = []
    for x in arguments:
        if isinstance(x, np.ndarray):  # keep unequal sizes unequal
            shape = tuple(n if n < 2 else 2 + _rank(n, arguments) for n in x.shape)
            shrunk.append(np.broadcast_to(np.zeros((), x.dtype), shape))
        else:
            shrunk.append(x)
    if sum(x.ndim for x in shrunk if isinstance(x, np.ndarray)) <= 12:
        try:
            np.einsum(*shrunk)
        except ValueError:
            np.einsum(*arguments)  # again, with the true sizes, for the message
            raise


def _rank(n: int, arguments: list[Any]) -> int:
    """The rank of this size among all sizes above 1."""
    arrays = [x for x in arguments if isinstance(x, np.ndarray)]
    return sorted({m for x in arrays for m in x.shape if m > 1}).index(n)


def _dtype(arrays: list[Array], out: Any, kwargs: dict[str, Any]) -> np.dtype[Any]:
    """The dtype of the sum, checked by the casting rule against the operands' and out's."""
    casting = kwargs.get("casting", "safe")
    dtype = kwargs.get("dtype")
    if dtype is None:
        avals = [a.dtype for a in arrays]
        if isinstance(out, Array) and np.can_cast(np.result_type(*avals), out.dtype, casting):
            avals.append(out.dtype)
        return np.result_type(*avals)
    dtype = dtype_of_no_array(dtype)
    for k, a in enumerate(arrays):
        if not np.can_cast(a.dtype, dtype, casting):
            raise TypeError(
                f"Iterator operand {k} dtype could not be cast from {a.dtype!r} to {dtype!r} "
                f"according to the rule {casting!r}"
            )
    return dtype


# -- terms -----------------------------------------------------------------------------------------

_Term = tuple[Array, _Labels]


def _contracted(terms: list[_Term], out: _Labels) -> Array:
    if len(terms) == 1:
        x, labels = _diagonal(*terms[0])
        shown = x is not terms[0][0] and labels == out  # a diagonal: a view already
        return x if shown else _alone(x, labels, out)
    terms = [_diagonal(x, labels) for x, labels in terms]
    while len(terms) > 2:
        (x, xs), (y, ys) = terms.pop(0), terms.pop(0)
        needed = {*out, *(label for _, labels in terms for label in labels)}
        kept = tuple(label for label in dict.fromkeys(xs + ys) if label in needed)
        terms.insert(0, (contract(x, xs, y, ys, kept), kept))
    (x, xs), (y, ys) = terms
    return contract(x, xs, y, ys, out)


def _diagonal(x: Array, labels: _Labels) -> _Term:
    """A view of the elements whose indices agree where labels do."""
    for label in labels:
        while labels.count(label) > 1:
            i = labels.index(label)
            j = labels.index(label, i + 1)
            others = [k for k in range(x.ndim) if k not in (i, j)]
            if others:
                x = _views.transpose(x, [*others, i, j])
            x = _views.view(x, Diagonal(0))
            labels = (*(labels[k] for k in others), label)
    return x, labels


def _alone(x: Array, labels: _Labels, out: _Labels) -> Array:
    """Evaluate one operand: a view, if nothing is summed."""
    if len(labels) == len(out):
        return _views.transpose(x, tuple(map(labels.index, out)))
    total, left = summed(plain(x), labels, out)
    return arranged(total, left, out)
