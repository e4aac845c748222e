"""What a function gives for arrays of a class derived from ours: which results have the class."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from lazynp._array import Array, NDArray, Scalar, from_host, new_array
from lazynp._overrides import settled
from lazynp._tree import tree_flatten
from lazynp.functions._checks import traced
from lazynp.functions._numpys_own import function_of
from lazynp.functions._subclass import (
    Subclass,
    has_own_hooks,
    is_derived,
    joined_in_class,
    of_class,
    priority,
    stripped,
)

WRITING = {"copyto", "fill_diagonal", "place", "put", "put_along_axis", "putmask"}
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
# functions that keep it if `subok` says so: the place of that argument; 9: by name only
_ASKED_TO_KEEP = {"as_strided": 3, "broadcast_to": 2, "copy": 2, "sliding_window_view": 9}
_REDUCING = {
    "average", "median", "nanmax", "nanmean", "nanmedian", "nanmin", "nanprod", "nanstd", "nansum",
    "nanvar", "ptp", "trapezoid",
}  # fmt: skip
# functions that keep the class of whichever argument has one
_KEEPING_ANY = {
    "average", "clip", "geomspace", "isclose", "kron", "linspace", "logspace", "matmul", "polyadd",
    "polysub", "tensorsolve", "trapezoid", "vecdot",
}  # fmt: skip
# functions that NumPy writes over `concatenate`: their results have the class of most priority
JOINING = {
    "append", "block", "column_stack", "concatenate", "dstack", "hstack", "intersect1d", "resize",
    "row_stack", "setxor1d", "stack", "union1d", "vstack",
}  # fmt: skip
# functions that NumPy runs, and that take an array as it is
SHOWING = {
    "array2string", "array_repr", "array_str", "save", "savetxt", "savez", "savez_compressed",
}  # fmt: skip
_UFUNCS = {"fix"}  # what these give is a ufunc's, which asks the class
METHODS = {"amax": "max", "amin": "min", "around": "round"}
_PARTS_KEEPING = {
    "eig": (1,), "eigh": (1,), "polydiv": (1,), "qr": (0, 1), "svd": (0, 2), "unique_all": (0, 1),
    "unique_counts": (0,), "unique_inverse": (0,),
}  # fmt: skip
of_linalg: set[Any] = set()  # these take other axes than the methods of their names
# functions whose code in NumPy is about memory, or calls C or masked arrays, not ufuncs
_WITHOUT_UFUNCS = WRITING | {
    "block", "broadcast_arrays", "broadcast_to", "convolve", "correlate", "einsum", "interp",
    "meshgrid",
}  # fmt: skip
# functions whose code in NumPy asks for no values, so that it can be traced; or it is a method's
_ASKING_NO_VALUES = {
    "all", "amax", "amin", "any", "around", "average", "clip", "cumprod", "cumsum",
    "cumulative_prod", "cumulative_sum", "diff", "ediff1d", "gradient", "isclose", "kron", "max",
    "mean", "min", "nan_to_num", "nancumprod", "nancumsum", "nanprod", "nansum", "polyval", "prod",
    "ptp", "round", "std", "sum", "trapezoid", "var",
}  # fmt: skip


def asks(kind: Any) -> bool:
    """Whether a derived class has its own `__array_function__`."""
    own = type.__getattribute__(kind, "__array_function__") if is_derived(kind) else None
    return own is not None and own is not Subclass.__array_function__


def is_bare(name: str) -> bool:
    """Whether the results of this function never have a derived class, but one with a priority of
    its own: see `by_class`.
    """
    if name in METHODS or name in _PARTS_KEEPING or name in _LIKE_ANOTHER or name in _LIKE_EACH:
        return False
    if name == "copy":  # unless `subok` is given, which the front sees
        return True
    kinds = _KEEPING | _KEEPING_ANY | _ASKED_TO_KEEP.keys() | _REDUCING | _UFUNCS
    if name == "multi_dot" or name in kinds:
        return False
    return not hasattr(np.ndarray, name) or name in _PLAIN


def by_class(function: Any, x: Any, args: Any, kwargs: Any) -> Any:
    """Apply a function to an array of a derived class: by its method of that name, else on its
    elements.
    """
    name: Any = METHODS.get(function.__name__, function.__name__)
    if name in SHOWING:
        return function(*args, **kwargs)
    own = _numpys_code(function, x, args, kwargs)
    if own is not None:
        done = own(*args, **kwargs)
        # of NumPy's code over C or masked arrays
        return _of_class(new_array(from_host(done)), x) if type(done) is np.ndarray else done
    if name == "compress" and len(args) > 1 and isinstance(args[1], Array):
        return args[1].compress(args[0], *args[2:], **kwargs)  # type: ignore[attr-defined]
    first = bool(args) and args[0] is x
    by_method = hasattr(np.ndarray, name) and name not in _PLAIN and name not in _LIKE_ONE_OF_TWO
    if first and by_method and function not in of_linalg:
        if name in ("sort", "partition"):  # the methods of these work in place
            return _in_place_of_copy(name, x, *args[1:], **kwargs)
        method = getattr(x, name)
        return method(*args[1:], **kwargs) if callable(method) else method
    if name in _UFUNCS:
        return function(*args, **kwargs)
    result = function(*_stripped(args), **_stripped(kwargs))
    if name == "block":
        return _block(result, *args, **kwargs)
    if name in JOINING:
        done = result is kwargs.get("out")
        return result if done else joined_in_class(result, tree_flatten(args)[0])
    made = _wrapped if function in of_linalg and has_own_hooks(type(x)) else _of_class
    if name in _LIKE_ANOTHER or name in _LIKE_EACH:
        return _like_another(name, result, args, made)
    if name == "broadcast_arrays" and kwargs.get("subok"):
        return _like_each(result, args)
    if name == "multi_dot":
        most = max(args[0], key=priority)
        return _of_class(result, most) if is_derived(type(most)) else result
    if name == "unique" and type(result) is tuple:  # the places have the class too, not the counts
        places = kwargs.get("return_index", len(args) > 1 and args[1])
        kept = 2 if places else 1
        return (*[made(r, x) for r in result[:kept]], *result[kept:])
    if type(result) is Scalar and name in _REDUCING:
        result = new_array(result._read())
    if first and name in _PARTS_KEEPING and isinstance(result, tuple):
        kept = [made(r, x) if k in _PARTS_KEEPING[name] else r for k, r in enumerate(result)]
        return type(result)(kept) if type(result) is tuple else type(result)(*kept)
    place = _ASKED_TO_KEEP.get(name, 9)
    asked = name in _ASKED_TO_KEEP and (kwargs.get("subok") or any(args[place : place + 1]))
    keeps = name in _KEEPING or asked
    keeps = keeps and first and not (name == "diag" and x.ndim == 1) or name in _KEEPING_ANY
    return made(result, x) if keeps and kwargs.get("subok", True) else result


def _numpys_code(function: Any, x: Any, args: Any, kwargs: Any) -> Any:
    """NumPy's code, if the class has its own `__array_ufunc__`, `__array_wrap__` or
    `__array_function__`, which that code calls.
    """
    name = function.__name__
    if not has_own_hooks(type(x)) and not asks(type(x)) or name in _WITHOUT_UFUNCS:
        return None
    if name not in _ASKING_NO_VALUES and traced(*args, *kwargs.values()):
        return None
    if function not in of_linalg:
        return function_of(getattr(np, name, None))
    code: Any = getattr(getattr(np.linalg, name), "_implementation", None)
    if not asks(type(x)) or _IN_C.intersection(code.__code__.co_names):
        return None
    return function_of(code)


# what those functions of `linalg` name that call no others, or one that is the same function here
_IN_C = {"_core_matrix_transpose", "_makearray", "_umath_linalg"}


def _in_place_of_copy(name: str, x: Any, *args: Any, **kwargs: Any) -> Any:
    place = 0 if name == "sort" else 1
    flat = "axis" in kwargs and kwargs["axis"] is None
    if flat or len(args) > place and args[place] is None:  # which the methods do not take
        x, args, kwargs = x.flatten(), args[:place] + args[place + 1 :], {**kwargs, "axis": -1}
    else:
        x = x.copy()
    getattr(x, name)(*args, **kwargs)
    return x


# elements times levels of lists: of more, NumPy's `block` stores the parts
_LARGEST_JOINED = 2 * 512 * 512


def _block(result: Any, arrays: Any) -> Any:
    if type(arrays) is not list:
        return _of_class(result, arrays)
    parts, levels = arrays, 0
    while type(parts) is list:
        parts, levels = parts[0], levels + 1
    large = levels * result.size > _LARGEST_JOINED
    return result if large else joined_in_class(result, tree_flatten(arrays)[0])


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
    if name in _LIKE_EACH:
        return _like_each(result, args)
    place = _LIKE_ANOTHER[name]
    if name in _LIKE_ONE_OF_TWO and len(args) > 1:
        place = int(_LIKE_ONE_OF_TWO[name](*map(_shape, args[:2])))
        if priority(args[1 - place]) > priority(args[place]):
            place = 1 - place
    x = args[place] if len(args) > place else None
    if not is_derived(type(x)):
        return result
    if name == "lstsq":  # the singular values have none
        return (*[made(r, x) for r in result[:2]], *result[2:])
    return made(result, x)


def _shape(x: Any) -> Any:
    return x.shape if isinstance(x, Array) else np.shape(x)


def _like_each(result: Any, args: Any) -> Any:
    """Each result in the class of its argument."""
    results = result if type(result) in (list, tuple) else (result,)
    parts = zip(results, args, strict=True)
    done = [_of_class(r, x) if is_derived(type(x)) else r for r, x in parts]
    return done[0] if results is not result else type(result)(done)


def _wrapped(result: Any, x: Any) -> Any:
    """As functions of `linalg` call the class's own `__array_wrap__`."""
    return x.__array_wrap__(result) if type(result) is NDArray else result


def _of_class(result: Any, x: Any) -> Any:
    if type(result) in (list, tuple):
        return type(result)([_of_class(r, x) for r in result])
    return of_class(type(x), result, x) if type(result) is NDArray else result


def _stripped(tree: Any) -> Any:
    if type(tree) in (list, tuple):
        return type(tree)([_stripped(t) for t in tree])
    if type(tree) is dict:
        return {k: _stripped(v) for k, v in tree.items()}
    return stripped(tree)


settled |= {by_class.__code__}
