"""`vectorize`: Python's loop over elements; for traced arrays, all elements together."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from lazynp import transforms
from lazynp._array import Array
from lazynp._fronts import unbound
from lazynp._memo import Memo
from lazynp._values import knowable
from lazynp.functions._checks import traced
from lazynp.functions._host import to_device, to_host
from lazynp.functions._operands import as_array, cast
from lazynp.functions._placing import back
from lazynp.functions._rebound import transforming
from lazynp.functions._subclass import mapped_in_class
from lazynp.functions.creation import empty
from lazynp.functions.manipulation import broadcast_to, reshape, stack


class vectorize(np.vectorize):
    """See `numpy.vectorize`: Python's loop over elements.

    For traced arguments, the function is mapped as by `vmap` and must return numbers. If it reads
    values, it is called for each element; only derivatives have values (`jit` and `vmap` do not).
    """

    __module__ = "lazynp"  # where its repr and pickle find it

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        out: Any = super().__call__(*args, **kwargs)
        if out is self:
            return out
        return mapped_in_class(back(to_device(out), (args, kwargs)), (*args, *kwargs.values()))

    def _vectorize_call(self, func: Callable[..., Any], args: Sequence[Any]) -> Any:
        by_numpy: Callable[..., Any] = super()._vectorize_call  # type: ignore[misc]
        if not args:
            return by_numpy(func=func, args=args)
        if traced(*args):
            return self._mapped(func, args)
        try:
            return by_numpy(func=func, args=[to_host(a) for a in args])
        except TypeError:
            if not transforming():
                raise
        return self._mapped(func, args)  # the function has captured a traced array

    def _mapped(self, func: Callable[..., Any], args: Sequence[Any]) -> Any:
        dims: Any = self._in_and_out_core_dims  # type: ignore[attr-defined]
        ins, outs = dims or ([()] * len(args), None)
        if len(args) != len(ins):
            raise TypeError(
                f"wrong number of positional arguments: expected {len(ins)!r}, got {len(args)!r}"
            )
        arrays = [as_array(a) for a in args]
        shape, sizes = _dimensions(arrays, ins)
        count = math.prod(shape)
        if not count:
            return self._of_none(shape, sizes, outs)
        cores = [tuple([sizes[d] for d in core]) for core in ins]
        flat = [
            reshape(broadcast_to(a, (*shape, *core)), (count, *core))
            for a, core in zip(arrays, cores, strict=True)
        ]
        found = _all(func, flat, arrays, count)
        results = found if isinstance(found, tuple) else (found,)
        if outs is not None and len(results) != len(outs):
            raise ValueError(
                f"wrong number of outputs from pyfunc: expected {len(outs)!r}, got {len(results)!r}"
            )
        for result, core in zip(results, outs or [()] * len(results), strict=True):
            if _named(sizes, result.shape[1:], core):
                raise ValueError("setting an array element with a sequence.")
        made = [reshape(r, (*shape, *r.shape[1:])) for r in results]
        if self.otypes is not None:
            made = [cast(r, np.dtype(t)) for r, t in zip(made, self.otypes, strict=True)]  # type: ignore[arg-type]
        return tuple(made) if isinstance(found, tuple) else made[0]

    def _of_none(self, shape: Any, sizes: dict[str, int], outs: Any) -> Any:
        if self.otypes is None:
            raise ValueError("cannot call `vectorize` on size 0 inputs unless `otypes` is set")
        outs = outs or [()] * len(self.otypes)
        if any(d not in sizes for core in outs for d in core):
            raise ValueError(
                "cannot call `vectorize` with a signature including new output dimensions on size "
                "0 inputs"
            )
        shapes = [(*shape, *[sizes[d] for d in core]) for core in outs]
        made = [empty(s, np.dtype(t)) for s, t in zip(shapes, self.otypes, strict=True)]  # type: ignore[arg-type]
        return tuple(made) if len(made) > 1 else made[0]


_of_python: Memo[int, tuple[np.ufunc, Callable[..., Any]]] = Memo("frompyfunc", 1 << 10)


@unbound
def frompyfunc(func: Callable[..., Any], /, nin: int, nout: int, **kwargs: Any) -> np.ufunc:
    """See `numpy.frompyfunc`. Traced arguments are mapped as by `vectorize`, and the result's dtype
    is then a number's, not object.
    """
    made = np.frompyfunc(func, nin, nout, **kwargs)
    _of_python.put(id(made), (made, func))  # the entry keeps the identity taken
    return made


def python_function(function: np.ufunc) -> Callable[..., Any] | None:
    """What a ufunc made by `frompyfunc` is for traced arrays."""
    found = _of_python.get(id(function))
    return None if found is None else vectorize(found[1])


def _dimensions(
    arrays: Sequence[Array], ins: Sequence[tuple[str, ...]]
) -> tuple[tuple[int, ...], dict[str, int]]:
    """The shape of the loop, and the sizes of the named dimensions."""
    sizes: dict[str, int] = {}
    loops = [_named(sizes, a.shape, core) for a, core in zip(arrays, ins, strict=True)]
    return np.broadcast_shapes(*loops), sizes


def _named(sizes: dict[str, int], shape: tuple[int, ...], core: tuple[str, ...]) -> Any:
    """The dimensions before the named ones; adds the sizes of these to `sizes`."""
    first = len(shape) - len(core)
    if first < 0:
        raise ValueError(
            f"{len(shape)}-dimensional argument does not have enough dimensions for all core "
            f"dimensions {core!r}"
        )
    for name, size in zip(core, shape[first:], strict=True):
        if sizes.setdefault(name, size) != size:
            raise ValueError(
                f"inconsistent size for core dimension {name!r}: {size!r} vs {sizes[name]!r}"
            )
    return shape[:first]


def _all(func: Callable[..., Any], flat: list[Array], given: list[Array], count: int) -> Any:
    """Apply the function to all elements, on axis 0."""
    try:
        return transforms.vmap(func)(*flat)
    except TypeError:
        if not all(knowable(a._read()) for a in given):
            raise
    found = [func(*[a[i] for a in flat]) for i in range(count)]  # type: ignore[index]
    if not isinstance(found[0], tuple):
        return stack(found)
    return tuple([stack(parts) for parts in zip(*found, strict=True)])
