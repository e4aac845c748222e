"""Dispatch of the namespace's functions to objects that override them."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from types import BuiltinFunctionType, FunctionType
from typing import Any

import numpy as np

from lazynp._array import Array, NDArray, Scalar, array_of, new_array
from lazynp._fronts import in_front_too
from lazynp._overrides import (
    Overridden,
    catching,
    has_methods,
    overrides,
    passes_for,
    settled,
    takes_ufuncs,
)
from lazynp._tree import tree_flatten
from lazynp.functions._checks import traced
from lazynp.functions._foreign import by_numpy, elements, wrapped
from lazynp.functions._numpys_own import function_of
from lazynp.functions._subclass import (
    SIMPLE,
    Subclass,
    has_own_hooks,
    is_derived,
    of_class,
    stripped,
)

_DISPATCHER = type(np.sum)
_WRITING = {"copyto", "fill_diagonal", "place", "put", "put_along_axis", "putmask"}
# functions that have no method, or one that does something else; and those that keep their
# argument's class
_PLAIN = {"copy", "nonzero", "reshape", "resize", "transpose"}
_KEEPING = {
    "angle", "array_split", "atleast_1d", "atleast_2d", "atleast_3d", "average", "cholesky",
    "count_nonzero", "cumulative_prod", "cumulative_sum", "delete", "diag", "diagflat",
    "diagonal", "diff", "dsplit", "ediff1d", "empty_like", "expand_dims", "flip", "fliplr",
    "flipud", "full_like", "gradient", "hsplit", "i0", "insert", "inv", "isneginf",
    "isposinf", "isreal", "matrix_power", "matrix_transpose", "median", "moveaxis", "nan_to_num",
    "nancumprod", "nancumsum", "nanmax", "nanmean", "nanmedian", "nanmin", "nanpercentile",
    "nanprod", "nanquantile", "nanstd", "nansum", "nanvar", "ones_like", "packbits", "percentile",
    "permute_dims", "piecewise", "pinv", "ptp", "quantile", "real_if_close", "reshape", "roll",
    "rollaxis", "rot90", "setdiff1d", "split", "take_along_axis", "tile", "trace", "transpose",
    "trim_zeros", "unique", "unique_values", "unpackbits", "unstack", "vsplit", "zeros_like",
}  # fmt: skip
_ASKED_TO_KEEP = {"as_strided", "broadcast_arrays", "broadcast_to", "sliding_window_view"}
_REDUCING = {
    "average", "median", "nanmax", "nanmean", "nanmedian", "nanmin", "nanprod", "nanstd", "nansum",
    "nanvar", "ptp", "trapezoid",
}  # fmt: skip
# functions that keep the class of whichever argument has one
_KEEPING_ANY = {
    "geomspace", "isclose", "kron", "linspace", "logspace", "matmul", "polyadd",
    "polysub", "tensorsolve", "trapezoid",
}  # fmt: skip
_UFUNCS = {"fix"}  # what these give is a ufunc's, which asks the class
_METHODS = {"amax": "max", "amin": "min", "around": "round"}
# functions that use operands before they convert them
_COMPUTING_FIRST = {
    "fix", "geomspace", "linspace", "logspace", "may_share_memory", "shares_memory", "sinc",
}  # fmt: skip
# functions whose results `__array_wrap__` gets
_WRAPPED = {
    "all", "any", "argmax", "argmin", "argpartition", "argsort", "cholesky", "choose", "clip",
    "compress", "cumprod", "cumsum", "delete", "insert", "inv", "max", "min", "pinv", "prod",
    "ptp", "repeat", "reshape", "round", "searchsorted", "squeeze", "sum", "swapaxes", "take",
    "transpose",
}  # fmt: skip
_OF_UFUNCS = {"all", "any", "max", "min", "prod", "sum"}  # which tell it that they are scalars
_PARTS_KEEPING = {
    "eig": (1,), "eigh": (1,), "polydiv": (1,), "qr": (0, 1), "svd": (0, 2), "unique_all": (0, 1),
    "unique_counts": (0,), "unique_inverse": (0,),
}  # fmt: skip
_of_linalg: set[Any] = set()  # these take other axes than the methods of their names
# functions whose code in NumPy is about memory
_WITHOUT_UFUNCS = _WRITING | {"broadcast_arrays", "broadcast_to", "meshgrid"}
# functions whose code in NumPy asks for no values, so that it can be traced; or it is a method's
_ASKING_NO_VALUES = {
    "all", "amax", "amin", "any", "around", "average", "clip", "cumprod", "cumsum",
    "cumulative_prod", "cumulative_sum", "diff", "ediff1d", "gradient", "isclose", "kron", "max",
    "mean", "min", "nan_to_num", "nancumprod", "nancumsum", "nanprod", "nansum", "polyval", "prod",
    "ptp", "round", "std", "sum", "trapezoid", "var",
}  # fmt: skip
_ARRAY: Any = Array  # it has more methods than its declarations
_WRITTEN = ("dst", "a", "arr")  # the first arguments of functions that write


def make_overridable(namespace: dict[str, Any], reference: Any) -> None:
    """Let objects override the functions of a namespace that they may override in NumPy's.

    The function that the namespace imported goes on being what it calls, and gives it its name,
    signature and docstring: what an editor finds by the import is what runs.
    """
    made: dict[Any, Any] = {}
    for name in namespace["__all__"]:
        function, numpys = namespace.get(name), vars(reference).get(name)
        if type(numpys) is not _DISPATCHER or not isinstance(function, FunctionType):
            continue
        if vars(function).get("__wrapped__") is not numpys:  # not hosted
            named = vars(reference).get(function.__name__, numpys)
            if named.__name__ == numpys.__name__:  # not an alias, or one in NumPy too
                numpys = named
            if (function, numpys) not in made:
                made[function, numpys] = _overridable(function, numpys, namespace["__name__"])
            namespace[name] = made[function, numpys]


def _overridable(function: FunctionType, reference: Any, module: str) -> Any:
    computes_first = function.__name__ in _COMPUTING_FIRST
    # NumPy's functions in C call no methods of their arguments
    in_c = isinstance(reference._implementation, BuiltinFunctionType)

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        derived = _usual(args, kwargs)
        if derived is not None:
            return _by_class(function, derived, args, kwargs)
        try:
            if computes_first:
                _ask_each(args)
            return function(*args, **kwargs)
        except Overridden as e:
            operand = e.operand
        except Exception as error:  # perhaps of an object that was used before it was converted
            _name(error, function.__name__, reference.__name__)
            operand = next(_objects((*args, *kwargs.values())), None)
            if operand is None:
                raise
        if passes_for(operand, Array):
            return public(*_without_proxies(args), **_without_proxies(kwargs))
        if isinstance(operand, Array):
            return _of_derived(public, function, operand, args, kwargs)
        if has_methods(operand) and not overrides(operand):
            name = function.__name__
            of_ufunc = name in _OF_UFUNCS and takes_ufuncs(operand)
            has = of_ufunc or hasattr(operand, _METHODS.get(name, name))
            has = has and not (in_c and hasattr(operand, "__array__"))
            if not args or args[0] is not operand or not has:
                if not hasattr(operand, "__array__"):
                    return _as_any_object(function, args, kwargs)
                result = public(
                    *map(_converted, args), **{k: _converted(v) for k, v in kwargs.items()}
                )
                wraps = name in _WRAPPED and args and args[0] is operand
                if name in _OF_UFUNCS and result is kwargs.get("out"):
                    return result
                return wrapped(operand, result, name in _OF_UFUNCS) if wraps else result
        return _elsewhere(public, function, reference, args, kwargs)

    made: Any = call
    made.__module__, name = module, reference.__name__
    if name in _METHODS:  # NumPy's max and amax are two functions
        made.__name__ = made.__qualname__ = name
    if module == "lazynp.linalg":
        _of_linalg.add(function)
    made._implementation = functools.partial(_without_asking, function)  # NumPy's name for it
    made.__code__ = made.__code__.replace(co_name=made.__name__)  # for tracebacks and profiles
    catching.add(made.__code__)
    public = in_front_too(function, made, _is_bare(function.__name__))
    implementations[public] = implementations[made] = function
    return public


def _name(error: Exception, ours: str, numpys: str) -> None:
    """In Python's message about a call, the name that the call has in NumPy."""
    text = str(error)
    if ours != numpys and type(error) is TypeError and text.startswith(f"{ours}()"):
        error.args = (numpys + text.removeprefix(ours),)


def _usual(args: Any, kwargs: Any) -> Any:
    """The first array of the one derived class among the arguments, if it leaves functions to us
    and nothing else could take over; else None. To find out by trying takes ten times as long.
    In a list, it is the first one.
    """
    heads = [x[0] if type(x) in (list, tuple) and x else x for x in args]
    if not any([is_derived(type(x)) for x in heads if type(x) not in SIMPLE]):
        return None  # lists may be long
    found: Any = None
    for argument in (*args, *kwargs.values()):
        for x in argument if type(argument) in (list, tuple) else (argument,):
            kind = type(x)
            if kind in SIMPLE:
                continue
            if found is None and is_derived(kind):
                if type.__getattribute__(kind, "__array_function__") is not _function_of_derived:
                    return None
                found = x
            elif found is None or kind is not type(found):
                return None
    return found


def _without_asking(function: Any, *args: Any, **kwargs: Any) -> Any:
    """The function as it is for arrays of derived classes that do not override it."""
    derived = [v for v in tree_flatten((args, kwargs))[0] if isinstance(v, Subclass)]
    return _by_class(function, derived[0], args, kwargs) if derived else function(*args, **kwargs)


def _ask_each(operands: Any) -> None:
    for x in operands:
        if not isinstance(x, Array) and overrides(x):
            raise Overridden(x)


def _of_derived(public: Any, function: Any, x: Any, args: Any, kwargs: Any) -> Any:
    """Apply a function to an array of a class derived from ours, which may override it."""
    leaves = [v for v in tree_flatten((args, kwargs))[0] if overrides(v) and type(v) is not Scalar]
    leaves.sort(key=lambda v: type(v) is NDArray)  # ask the derived classes first
    kinds = list(dict.fromkeys(map(type, leaves)))
    refused = bool(leaves)
    for v in leaves:
        if type(v).__array_function__ in (_function_of_derived, _ARRAY.__array_function__):
            refused = False
            continue  # this class defers to the next
        done = v.__array_function__(public, kinds, args, kwargs)
        if done is not NotImplemented:
            return done
    if refused:
        raise TypeError(
            f"no implementation found for 'numpy.{function.__name__}' on types that implement "
            f"__array_function__: {kinds}"
        )
    return _by_class(function, x, args, kwargs)


def _function_of_derived(self: Any, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
    """The base implementation that an `__array_function__` may call."""
    ours = implementations.get(function)
    if ours is None:
        return _ARRAY.__array_function__(self, function, types, args, kwargs)
    return _by_class(ours, self, args, kwargs)


implementations: dict[Any, Any] = {}  # by public function
Subclass.__array_function__ = _function_of_derived  # type: ignore[attr-defined]


def _is_bare(name: str) -> bool:
    """Whether the results of this function never have a derived class: see `_by_class`."""
    if name in _METHODS or name in _PARTS_KEEPING or name in _LIKE_ANOTHER or name in _LIKE_EACH:
        return False
    if (
        name == "multi_dot"
        or name in _KEEPING | _KEEPING_ANY | _ASKED_TO_KEEP | _REDUCING | _UFUNCS
    ):
        return False
    return not hasattr(np.ndarray, name) or name in _PLAIN


def _by_class(function: Any, x: Any, args: Any, kwargs: Any) -> Any:
    """Apply a function to an array of a derived class: by its method of that name, else on its
    elements.
    """
    name: Any = _METHODS.get(function.__name__, function.__name__)
    own = _numpys_code(function, x, args, kwargs)
    if own is not None:
        return own(*args, **kwargs)
    if name == "compress" and len(args) > 1 and isinstance(args[1], Array):
        return args[1].compress(args[0], *args[2:], **kwargs)  # type: ignore[attr-defined]
    first = bool(args) and args[0] is x
    if first and hasattr(np.ndarray, name) and name not in _PLAIN and function not in _of_linalg:
        if name in ("sort", "partition"):  # the methods of these work in place
            copied = x.copy()
            getattr(copied, name)(*args[1:], **kwargs)
            return copied
        method = getattr(x, name)
        return method(*args[1:], **kwargs) if callable(method) else method
    if name in _UFUNCS:
        return function(*args, **kwargs)
    result = function(*_stripped(args), **_stripped(kwargs))
    made = _wrapped if function in _of_linalg and has_own_hooks(type(x)) else _of_class
    if name in _LIKE_ANOTHER or name in _LIKE_EACH:
        return _like_another(name, result, args, made)
    if name == "multi_dot" and args and is_derived(type(args[0][0])):
        return _of_class(result, args[0][0])
    if type(result) is Scalar and name in _REDUCING:
        result = new_array(result._read())
    if first and name in _PARTS_KEEPING and isinstance(result, tuple):
        kept = [made(r, x) if k in _PARTS_KEEPING[name] else r for k, r in enumerate(result)]
        return type(result)(kept) if type(result) is tuple else type(result)(*kept)
    keeps = name in _KEEPING or name in _ASKED_TO_KEEP and kwargs.get("subok")
    keeps = keeps and first and not (name == "diag" and x.ndim == 1) or name in _KEEPING_ANY
    return made(result, x) if keeps and kwargs.get("subok", True) else result


def _numpys_code(function: Any, x: Any, args: Any, kwargs: Any) -> Any:
    """NumPy's code, if the class has its own `__array_ufunc__` or `__array_wrap__`, which that code
    calls.
    """
    name = function.__name__
    if not has_own_hooks(type(x)) or function in _of_linalg or name in _WITHOUT_UFUNCS:
        return None
    if name not in _ASKING_NO_VALUES and traced(*args, *kwargs.values()):
        return None
    return function_of(getattr(np, name, None))


# functions whose results have the class of another argument than the first one
_LIKE_ANOTHER = {"apply_along_axis": 2, "extract": 1, "lstsq": 1, "polyval": 1, "solve": 1}
# of two, whether it is that of the second one: NumPy puts the longer one first, and multiplies by
# what has no axes
_LIKE_ONE_OF_TWO = {
    "correlate": lambda a, v: a < v,
    "dot": lambda a, b: not a,
    "inner": lambda a, b: not a,
}
_LIKE_ANOTHER |= dict.fromkeys(_LIKE_ONE_OF_TWO, 0)
_LIKE_EACH = {"atleast_1d", "atleast_2d", "atleast_3d", "ix_", "meshgrid"}


def _like_another(name: str, result: Any, args: Any, made: Callable[..., Any]) -> Any:
    if name in _LIKE_EACH:  # each result has the class of its argument
        results = result if type(result) in (list, tuple) else (result,)
        parts = zip(results, args, strict=True)
        done = [_of_class(r, x) if is_derived(type(x)) else r for r, x in parts]
        return done[0] if results is not result else type(result)(done)
    place = _LIKE_ANOTHER[name]
    if name in _LIKE_ONE_OF_TWO and len(args) > 1:
        place = int(_LIKE_ONE_OF_TWO[name](*map(np.shape, args[:2])))
    x = args[place] if len(args) > place else None
    if not is_derived(type(x)):
        return result
    if name == "lstsq":  # the singular values have none
        return (*[made(r, x) for r in result[:2]], *result[2:])
    return made(result, x)


def _wrapped(result: Any, x: Any) -> Any:
    """As functions of `linalg` call the class's own `__array_wrap__`."""
    return x.__array_wrap__(result) if type(result) is NDArray else result


def _of_class(result: Any, x: Any) -> Any:
    if type(result) in (list, tuple):
        return type(result)([_of_class(r, x) for r in result])
    return of_class(type(x), result, x) if type(result) is NDArray else result


def _as_any_object(function: Any, args: Any, kwargs: Any) -> Any:
    """Call it with an object that has methods, but not this one."""
    return function(*args, **kwargs)


settled |= {_by_class.__code__, _as_any_object.__code__}


def _stripped(tree: Any) -> Any:
    if type(tree) in (list, tuple):
        return type(tree)([_stripped(t) for t in tree])
    if type(tree) is dict:
        return {k: _stripped(v) for k, v in tree.items()}
    return stripped(tree)


def _without_proxies(tree: Any) -> Any:
    if type(tree) in (list, tuple):
        return type(tree)(map(_without_proxies, tree))
    if type(tree) is dict:
        return {k: _without_proxies(v) for k, v in tree.items()}
    return tree.__array__() if passes_for(tree, Array) else tree


def _converted(x: Any) -> Any:
    """Convert an object that has methods, but none for this function, to an array; also inside
    lists.
    """
    if type(x) in (list, tuple):
        return type(x)([_converted(i) for i in x])
    if not has_methods(x) or overrides(x):
        return x
    made = array_of(x)
    return made if isinstance(made, Array) else np.asarray(made)


def _elsewhere(public: Any, function: Any, reference: Any, args: Any, kwargs: Any) -> Any:
    """As with ufuncs, try NumPy's own function first: most such objects know no other."""
    written = next((x for x in (*args[:1], *map(kwargs.get, _WRITTEN)) if x is not None), None)
    if function.__name__ in _WRITING and isinstance(written, Array):
        # NumPy could not write into lazy arrays
        return function(*map(elements, args), **{k: elements(v) for k, v in kwargs.items()})
    objects = list(_objects((*args, *kwargs.values())))
    for x in objects:
        if hasattr(type(x), "_stands_for_traced"):  # NumPy's function would ask for values
            return x.__array_function__(public, (), args, kwargs)
    try:
        out = kwargs.get("out")
        options = kwargs if out is None or isinstance(out, tuple) else {**kwargs, "out": (out,)}
        return by_numpy(reference, args, options, single=options is not kwargs)
    except TypeError as error:
        if not objects or "no implementation found" not in str(error):
            raise
        refused = error
    types = list(dict.fromkeys(type(x) for x in objects))
    for x in objects:
        done = x.__array_function__(public, types, args, kwargs)
        if done is not NotImplemented:
            return done
    raise refused


_DEEPEST = 4  # lists in lists that are searched: one may hold itself


def _objects(arguments: Any, depth: int = 0) -> Iterator[Any]:
    """The objects with their own `__array_function__`, also inside lists of arguments."""
    for x in arguments:
        if isinstance(x, (list, tuple)) and depth < _DEEPEST:
            yield from _objects(x, depth + 1)
        elif not isinstance(x, Array) and overrides(x):
            yield x
