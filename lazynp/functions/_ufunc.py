"""Ufuncs: elementwise functions as objects, with NumPy's calling conventions."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

import numpy as np

from lazynp import _errstate
from lazynp._array import Array, NDArray, Scalar, as_operand, new_array
from lazynp._avals import Aval
from lazynp._config import config
from lazynp._extents import broadcast_shapes
from lazynp._flush import host_value
from lazynp._fronts import BUILT, in_front
from lazynp._node import is_tracer, leaf
from lazynp._primitive import Primitive
from lazynp._quiet import aloud, told_result
from lazynp._recorder import known, local, staged
from lazynp._strides import in_common_order, out_of_order
from lazynp._ufunc_loops import resolve_dtypes
from lazynp._values import watched
from lazynp.functions._arguments import (
    by_either_name,
    check_options,
    dtype_of_no_array,
    mask_argument,
    result_order,
)
from lazynp.functions._foreign import by_numpy, elements, elsewhere, overridden
from lazynp.functions._host import host_call, is_hosts, to_device, write_on_host
from lazynp.functions._operands import (
    as_array,
    broadcast,
    broadcast_with,
    cast,
    check_shapes,
    check_writeable,
    numpys,
    operand_of,
    plain,
    store,
)
from lazynp.functions._operator_cases import (
    COMPARES,
    OPERATORS,
    by_python,
    compared,
    defers,
    included,
    is_for_matrices,
    power_of_one,
    repeated,
    yielded,
)
from lazynp.functions._recording import (
    NUMBERS,
    apply,
    binary,
    of_numbers,
    powers_first,
    unary,
)
from lazynp.functions._reduce import to_loop
from lazynp.functions._releases import LEFT_OUT
from lazynp.functions._scalars import AVALS
from lazynp.functions._selected import Selection
from lazynp.functions._stores import write_into
from lazynp.functions._subclass import derived_first
from lazynp.functions._ufunc_methods import Methods, selected, with_options
from lazynp.primitives import elementwise, shaping

# for `out`: None is different, because it accepts uninitialised elements where `where` is false
_NOT_GIVEN: Any = object()
_THIRD = (  # NumPy's words
    "Passing more than 2 positional arguments to np.maximum and np.minimum is deprecated. If you "
    "meant to use the third argument as an output, use the `out` keyword argument instead. If you "
    "hoped to work with more than 2 inputs, combine them into a single array and get the extrema "
    "for the relevant axis."
)
OutputCastingError: Any = np._core._exceptions._UFuncOutputCastingError  # type: ignore[attr-defined]


class ufunc(Methods):
    """An elementwise function with NumPy's ufunc interface.

    Differs from `numpy.ufunc`: results are lazy, and `subok` has no effect. Where `where` is false
    and no `out` is given, the result is zero (NumPy leaves it uninitialised).
    """

    __slots__ = (  # `__dict__` holds the docstring, and fronts of methods
        "__name__", "_numpy", "_call", "_apply", "_fast", "nin", "nout", "__weakref__", "__dict__",
    )  # fmt: skip

    def __init__(
        self,
        reference: np.ufunc,
        implementation: Primitive | Callable[..., Any],
        fast: Primitive | None = None,
    ) -> None:
        self.__name__, self.__module__ = reference.__name__, "lazynp"  # so that pickle finds it
        self.__qualname__ = reference.__name__
        self.__doc__ = reference.__doc__
        self._numpy, self.nin, self.nout = reference, reference.nin, reference.nout
        self._apply = _composed(self, implementation)
        self._call = any_other = derived_first(self, self._of_any)
        if fast is None and isinstance(implementation, Primitive):
            fast = implementation
        if fast is not None and self.nin <= 2:
            make: Any = unary if self.nin == 1 else binary
            # one level below `__call__`, which is not a frame in C
            self._call = make(fast, any_other, reference, depth=2 - BUILT, numbers=True)
        elif self.nin <= 2:
            self._call = of_numbers(reference, any_other)
        self._fast = fast
        self._put_fronts()

    nargs = property(lambda self: self.nin + self.nout)
    ntypes = property(lambda self: self._numpy.ntypes)
    types = property(lambda self: self._numpy.types)
    identity = property(lambda self: self._numpy.identity)
    signature = property(lambda self: self._numpy.signature)
    __signature__ = property(lambda self: self._numpy.__signature__)

    def _of_any(self, *xs: Any) -> Any:
        """Of numbers that are not lazy, NumPy's own number: it is there, and it is a float where
        one is needed. Staged functions record them too, and `debug_nans` looks at each operation.
        """
        if all([type(x) in NUMBERS for x in xs]) and not staged and not config.debug_nans:
            if watched():
                result = _errstate.checked(self._numpy, *xs)
            else:
                result = told_result(local.recorder.quiet, self._numpy, *xs)
            if type(result) in AVALS or type(result) is tuple:
                return result
        if any([type(x) is Scalar and x.dtype.kind == "b" for x in xs]):
            xs = tuple(map(numpys, xs))  # of bools, Python makes ints
        return numpys(self._apply(*xs))

    def operator(self, *, reflected: bool = False, depth: int = 1) -> Callable[..., Any]:
        """The method of `Array` for this function's operator; `depth` as in `binary`."""
        if self.nin == 1:
            single = self._as_operator
            return unary(self._fast, single, self._numpy, depth=depth) if self._fast else single

        compare, product = COMPARES.get(self.__name__), self.__name__ == "multiply"

        def slow(x: Any, y: Any) -> Any:
            if type(x) is Selection or type(y) is Selection:
                return self._apply(x, y)
            if is_for_matrices(self.__name__, x, y):
                return host_call(OPERATORS[self.__name__], x, y)
            if defers(x) or defers(y):
                return yielded(self.__name__, x, y)
            if product and (many := repeated(x, y)) is not None:
                return many
            if (found := by_python(self.__name__, x, y)) is not None:
                return found[0]
            if compare is None:
                return self._as_operator(x, y)
            return compared(compare, self._as_operator, x, y)

        if self._fast is not None:
            return binary(self._fast, slow, self._numpy, swap=reflected, depth=depth)
        other = (lambda x, y: slow(y, x)) if reflected else slow
        return powers_first(other, reflected) if self.__name__ == "power" else other

    def _as_operator(self, *xs: Any) -> Any:
        """Like `_apply`; where errors matter, by the operator, which may call other kernels."""
        values = _strictly(*xs)
        if values is None:
            if self.__name__ == "power" and (single := power_of_one(*xs)) is not None:
                return single(xs[0])
            return self._apply(*xs)
        function = OPERATORS.get(self.__name__, self._numpy)
        return to_device(_errstate.checked(function, *values))

    def in_place(self) -> Callable[..., Any]:
        """The implementation of `Array`'s method for this function's in-place operator."""

        def slow(x: Any, y: Any) -> Any:
            if type(x) is NDArray and (is_hosts(x) or is_hosts(y)) and not overridden(y):
                self._into_by_numpy((x, y), (x,), {})
                return x
            return as_array(self._apply(x, elements(y)))  # the result of a Series, for example

        return binary(self._fast, slow, self._numpy, depth=2) if self._fast else slow

    def check_in_place(self, x: Array, y: Any) -> None:
        """Raise what NumPy raises of `x op= y`: it looks at dtypes, then shapes, then values."""
        y = as_array(y) if isinstance(y, (list, tuple)) else y
        self._check_dtypes((x, y), (x,), "same_kind")
        check_shapes([x.shape, np.shape(y)], [x.shape])

    def _into(self, *values: Any) -> Any:
        return self._numpy(*values[:-1], out=values[-1])

    def __repr__(self) -> str:
        return f"<ufunc '{self.__name__}'>"

    def __reduce__(self) -> str:
        return self.__name__

    # NumPy calls `__array_ufunc__` with its own ufunc, and classes look that up in tables of ours
    def __eq__(self, other: object) -> bool:
        return self is other or other is self._numpy

    def __hash__(self) -> int:
        return hash(self._numpy)

    def resolve_dtypes(
        self, dtypes: Any, *, signature: Any = None, casting: Any = None, reduction: bool = False
    ) -> tuple[np.dtype[Any], ...]:
        """See `numpy.ufunc.resolve_dtypes`."""
        return resolve_dtypes(
            self._numpy, dtypes, signature=signature, casting=casting, reduction=reduction
        )

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if not kwargs and len(args) == self.nin:
            return self._call(*args)
        if len(kwargs) == 1 and len(args) == self.nin and self.nout == 1:
            out = kwargs.get("out", self)
            if out is None:
                return numpys(self._apply(*args))
            out = out[0] if type(out) is tuple and len(out) == 1 else out
            if type(out) is NDArray and write_into(out, args, self._into):
                return out
        done = with_options(self._numpy, args, kwargs)
        if done is not None:
            return done
        outs = args[self.nin :] or kwargs.get("out")
        outs = outs if type(outs) is tuple else (outs,)
        known = self.nin <= len(args) <= self.nargs and kwargs.keys() <= _OPTIONS
        if known and overridden(*args[: self.nin], *outs):
            told = {k: v for k, v in kwargs.items() if k != "out"}  # what the call names
            if any([o is not None and o is not Ellipsis for o in outs]):
                told["out"] = self._outs(args[self.nin :], kwargs.get("out", _NOT_GIVEN))
            return elsewhere(self, "__call__", args[: self.nin], told)
        return self._with_options(*args, **kwargs)

    def _with_options(
        self,
        *args: Any,
        out: Any = _NOT_GIVEN,
        where: Any = True,
        casting: Any = "same_kind",
        order: Any = "K",
        dtype: Any = None,
        subok: bool = True,
        signature: Any = None,
        sig: Any = None,
        **unknown: Any,
    ) -> Any:
        signature = self._checked(args, signature, sig, dtype, unknown)
        check_options(casting, order, subok)
        options = {"where": where, "casting": casting, "dtype": dtype, "signature": signature}
        if out is Ellipsis:  # like None, but never returns a scalar
            return _each(plain, self(*args, out=(None,) * self.nout, **options))
        outs = self._outs(args[self.nin :], out)
        inputs = args[: self.nin]
        if dtype is not None and np.dtype(dtype).kind == "O":
            return self._by_operators(inputs, outs, options, out is not _NOT_GIVEN)
        if where is not True:
            where = options["where"] = mask_argument(where)
            inputs = included(self._numpy, inputs, where)
            if out is _NOT_GIVEN and all(o is None for o in outs):
                warnings.warn(LEFT_OUT, UserWarning, stacklevel=3)
        into = [o for o in outs if o is not None]
        for o in into:
            check_writeable(o)
        numbers = not into and where is True and all([type(x) in NUMBERS for x in inputs])
        if numbers or into and any(map(is_hosts, (*inputs, *into))):
            return self._into_by_numpy(inputs, outs if into else (None,) * self.nout, options)
        given = inputs
        if dtype is not None or signature is not None:
            inputs = self._cast_inputs(inputs, dtype, signature, casting)
        inputs = tuple([as_array(x) if isinstance(x, (list, tuple)) else x for x in inputs])
        if casting != "same_kind" and dtype is None and signature is None:
            self._check_dtypes(inputs, outs, casting)
        try:
            check_shapes(
                [getattr(x, "shape", ()) for x in inputs],
                [o.shape for o in outs if o is not None],
                [] if where is True else [where.shape],
            )
        except ValueError:
            self._check_dtypes(inputs, outs, casting)  # NumPy checks these first
            raise
        values = _strictly(*inputs)
        if values is not None:
            del options["signature"]
            return self._by_numpy(values, outs, options, signature)
        if where is not True and (done := selected(self, inputs, outs, order, options)) is not None:
            return done
        try:
            results = self._apply(*inputs)
        except (ValueError, OverflowError):
            self._check_dtypes(inputs, outs, casting)
            raise
        if not isinstance(results, tuple):
            results = (results,)
        if self.nout > 1:
            results = broadcast_with(results, outs)
        done = tuple(
            self._deliver(r, o, where, casting) for r, o in zip(results, outs, strict=True)
        )
        if order not in ("K", None):
            each = zip(done, outs)
            done = tuple([result_order(r, order, given) if o is None else r for r, o in each])
        elif out_of_order(*given):
            each = zip(done, outs)
            done = tuple([in_common_order(r, *given) if o is None else r for r, o in each])
        return done[0] if self.nout == 1 else done

    def _by_numpy(self, values: Any, outs: Any, options: dict[str, Any], signature: Any) -> Any:
        """Run the whole call on host values, where a floating-point error must be noticed."""
        if options["where"] is not True:
            options["where"] = host_value(options["where"]._read())
        if signature is not None:
            options = {k: v for k, v in options.items() if k != "dtype"} | {"signature": signature}
        with ExitStack() as stack:
            memory = tuple(
                [stack.enter_context(write_on_host(o)) if isinstance(o, Array) else o for o in outs]
            )
            if all(o is None for o in outs) and options["where"] is not True:
                memory = self._zeros(values, **options)
            results = _errstate.checked(self._numpy, *values, out=memory, **options)
        if not isinstance(results, tuple):
            results = (results,)
        done = tuple(to_device(r) if o is None else o for r, o in zip(results, outs, strict=True))
        return done[0] if self.nout == 1 else done

    def _into_by_numpy(self, inputs: Any, outs: Any, options: dict[str, Any]) -> Any:
        """Run the whole call for host dtypes, and for numbers. NumPy checks casts before it
        computes, and takes `out` into account when it picks the loop.
        """
        told = {k: v for k, v in options.items() if v is not _DEFAULTS[k]} | {"out": outs}

        def call(*values: Any, **kwargs: Any) -> Any:
            if watched():
                return _errstate.checked(self._numpy, *values, **kwargs)
            return aloud(self._numpy, list(values), **kwargs)

        return by_numpy(call, inputs, told)

    def _zeros(self, values: Any, where: Any, **options: Any) -> tuple[Any, ...]:
        """The values where `where` is false and no `out` is given."""
        ins = [getattr(v, "dtype", type(v)) for v in values]
        ins = [np.dtype(bool) if k is bool else k for k in ins]
        dtype = options.pop("dtype", None)
        if dtype is not None:
            options["signature"] = (None,) * self.nin + (np.dtype(dtype),) * self.nout
        dtypes = resolve_dtypes(self._numpy, (*ins, *(None,) * self.nout), **options)
        shape = broadcast_shapes(*map(np.shape, values), np.shape(where))
        return tuple([np.zeros(shape, d) for d in dtypes[self.nin :]])

    def _check_dtypes(self, inputs: tuple[Any, ...], outs: tuple[Any, ...], casting: Any) -> None:
        def empty(x: Any) -> Any:
            kind = known(as_operand(x))
            return np.empty(0, kind.dtype) if isinstance(kind, Aval) else x

        ins = [empty(x) for x in inputs]
        given = tuple([None if o is None else np.empty(0, o.dtype) for o in outs])
        if not any(isinstance(x, np.ndarray) for x in (*ins, *given)):
            ins = [np.empty(0, np.asarray(x).dtype) for x in ins]
        self._numpy(*ins, out=given, casting=casting)

    def _checked(self, args: Any, signature: Any, sig: Any, dtype: Any, unknown: Any) -> Any:
        """The signature, by either of its names. Raises TypeError as NumPy does."""
        if not self.nin <= len(args) <= self.nargs:
            raise TypeError(
                f"{self.__name__}() takes from {self.nin} to {self.nargs} positional arguments "
                f"but {len(args)} {'was' if len(args) == 1 else 'were'} given"
            )
        for name in unknown:
            raise TypeError(f"{self.__name__}() got an unexpected keyword argument {name!r}")
        signature = by_either_name(signature, sig)
        if signature is not None and dtype is not None:
            raise TypeError("cannot specify both 'signature' and 'dtype'")
        if isinstance(dtype, Array):
            dtype_of_no_array(dtype)
        return signature

    def _by_operators(self, inputs: Any, outs: Any, options: Any, told_out: bool) -> Any:
        """Let NumPy call Python's operators."""
        told = {k: v for k, v in options.items() if v is not _DEFAULTS[k]}
        if told_out and self.nout == 1 or any(o is not None for o in outs):
            told["out"] = outs
        return by_numpy(self._numpy, inputs, told)

    def _outs(self, positional: tuple[Any, ...], out: Any) -> tuple[Any, ...]:
        if positional:
            if out is not _NOT_GIVEN:
                raise TypeError("cannot specify 'out' as both a positional and keyword argument")
            if self.__name__ in ("maximum", "minimum"):
                warnings.warn(_THIRD, DeprecationWarning, stacklevel=4)
            out = positional + (None,) * (self.nout - len(positional))
        if out is _NOT_GIVEN or out is None and self.nout == 1:
            return (None,) * self.nout
        if not isinstance(out, tuple):
            if self.nout > 1:
                raise TypeError("'out' must be a tuple of arrays")
            out = (out,)
        if len(out) != self.nout:
            raise ValueError("The 'out' tuple must have exactly one entry per ufunc output")
        return out

    def _cast_inputs(
        self, inputs: tuple[Any, ...], dtype: Any, signature: Any, casting: Any
    ) -> tuple[Any, ...]:
        """Cast the inputs to the dtypes of the loop selected by `dtype` or `signature`."""
        operands = [as_operand(x) for x in inputs]
        ins = [k.dtype if isinstance(k, Aval) else k for k in map(known, operands)]
        ins = [np.dtype(bool) if k is bool else k for k in ins]
        if signature is None:
            signature = (None,) * self.nin + (np.dtype(dtype),) * self.nout
        known_as = (*ins, *(None,) * self.nout)
        dtypes = resolve_dtypes(self._numpy, known_as, signature=signature, casting=casting)

        def converted(o: Any, d: np.dtype[Any]) -> Array:
            if type(o) is list:
                return to_loop(new_array(o), d)
            fits = type(o) is int and d.kind in "iu"  # or it is an OverflowError
            value = np.asarray(o, d if fits else None)
            return to_loop(new_array(leaf(value if value.dtype == object else value[()])), d)

        return tuple([converted(o, d) for o, d in zip(operands, dtypes, strict=False)])

    def _deliver(self, result: Any, out: Any, where: Any, casting: Any) -> Any:
        """Store the result in `out` where `where` is true."""
        if where is not True:
            mask = where
            array = as_array(result)
            if out is not None:
                self._check_cast(array, out, casting)
                array = cast(array, out.dtype)
            shape = broadcast_shapes(array.shape, mask.shape, () if out is None else out.shape)
            zero = shaping.full(0, shape=(), dtype=array.dtype)
            otherwise = zero if out is None else plain(out)
            result = apply(elementwise.select, broadcast(plain(mask), shape), array, otherwise)
        if out is None:
            return result
        self._check_cast(as_array(result), out, casting)
        return store(result, out, casting)

    def _check_cast(self, result: Array, out: Array, casting: Any) -> None:
        if not np.can_cast(result.dtype, out.dtype, casting):
            raise OutputCastingError(self._numpy, casting, result.dtype, out.dtype, 0)


ufunc.__call__ = in_front("called", ufunc.__call__, function=ufunc)  # type: ignore[method-assign]


def _strictly(*inputs: Any) -> list[Any] | None:
    """The host values, if the user's error state requires NumPy's own kernels."""
    if not watched():
        return None
    operands = [operand_of(x) for x in inputs]
    if any(is_tracer(o) for o in operands):
        return None
    return [host_value(o) if type(o) is list else o for o in operands]


def _composed(function: ufunc, implementation: Any) -> Callable[..., Any]:
    """The implementation of the function for any operands that NumPy accepts."""
    reference = function._numpy
    primitive = implementation if isinstance(implementation, Primitive) else None

    def composed(*xs: Any) -> Any:
        for x in xs:
            if type(x) is Selection:
                return x.apply(function, xs)
        if overridden(*xs):
            return elsewhere(function, "__call__", xs, {})
        values = _strictly(*xs)
        if values is not None:
            return to_device(_errstate.checked(reference, *values))
        if len(xs) == 1 and type(xs[0]) is int and not -(1 << 63) <= xs[0] < 1 << 63:
            xs = (as_array(xs[0]),)
        if primitive is not None:
            return apply(primitive, *xs)
        out = implementation(*xs)
        return in_common_order(out, *xs) if out_of_order(*xs) else out

    return composed


_OPTIONS = {"out", "where", "casting", "order", "dtype", "subok", "signature", "sig"}
_DEFAULTS = {"where": True, "casting": "same_kind", "dtype": None, "signature": None}


def _each(function: Callable[[Any], Any], results: Any) -> Any:
    return tuple(map(function, results)) if isinstance(results, tuple) else function(results)
