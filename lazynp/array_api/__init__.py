"""The Python array API standard, version 2025.12: `x.__array_namespace__()`.

Where the standard and NumPy agree, functions are lazynp's own. Where they differ, `lazynp` follows
NumPy and this namespace follows the standard; docs/array-api.md lists each such case.
"""

import sys
from math import e, inf, nan, pi
from types import ModuleType

from numpy import isdtype

from lazynp.array_api import _versions, fft, linalg
from lazynp.array_api._dtypes import (
    bool,
    complex64,
    complex128,
    finfo,
    float32,
    float64,
    iinfo,
    int8,
    int16,
    int32,
    int64,
    uint8,
    uint16,
    uint32,
    uint64,
)
from lazynp.array_api._functions import (
    argsort,
    astype,
    clip,
    diff,
    expm1,
    floor_divide,
    sign,
    sort,
    std,
    take,
    tan,
    tanh,
    var,
)
from lazynp.array_api._info import __array_namespace_info__
from lazynp.functions.creation import (
    arange,
    asarray,
    empty,
    empty_like,
    eye,
    full,
    full_like,
    linspace,
    meshgrid,
    ones,
    ones_like,
    tril,
    triu,
    zeros,
    zeros_like,
)
from lazynp.functions.datatypes import (
    can_cast,
    result_type,
)
from lazynp.functions.indexing import (
    nonzero,
    take_along_axis,
    where,
)
from lazynp.functions.interchange import from_dlpack
from lazynp.functions.logic import (
    imag,
    real,
)
from lazynp.functions.manipulation import (
    broadcast_arrays,
    broadcast_shapes,
    broadcast_to,
    concat,
    expand_dims,
    flip,
    matrix_transpose,
    moveaxis,
    permute_dims,
    repeat,
    reshape,
    roll,
    squeeze,
    stack,
    tile,
    unstack,
)
from lazynp.functions.products import (
    matmul,
    tensordot,
    vecdot,
)
from lazynp.functions.reductions import (
    all,
    any,
    argmax,
    argmin,
    count_nonzero,
    cumulative_prod,
    cumulative_sum,
    max,
    mean,
    min,
    prod,
    sum,
)
from lazynp.functions.rounding import round
from lazynp.functions.sets import (
    isin,
    unique_all,
    unique_counts,
    unique_inverse,
    unique_values,
)
from lazynp.functions.sorting import searchsorted
from lazynp.functions.ufuncs import (
    abs,
    acos,
    acosh,
    add,
    asin,
    asinh,
    atan,
    atan2,
    atanh,
    bitwise_and,
    bitwise_invert,
    bitwise_left_shift,
    bitwise_or,
    bitwise_right_shift,
    bitwise_xor,
    ceil,
    conj,
    copysign,
    cos,
    cosh,
    divide,
    equal,
    exp,
    floor,
    greater,
    greater_equal,
    hypot,
    isfinite,
    isinf,
    isnan,
    less,
    less_equal,
    log,
    log1p,
    log2,
    log10,
    logaddexp,
    logical_and,
    logical_not,
    logical_or,
    logical_xor,
    maximum,
    minimum,
    multiply,
    negative,
    nextafter,
    not_equal,
    positive,
    pow,
    reciprocal,
    remainder,
    signbit,
    sin,
    sinh,
    sqrt,
    square,
    subtract,
    trunc,
)

__all__ = [
    "__array_api_version__", "__array_namespace_info__", "abs", "acos", "acosh", "add", "all",
    "any", "arange", "argmax", "argmin", "argsort", "asarray", "asin", "asinh", "astype",
    "atan", "atan2", "atanh", "bitwise_and", "bitwise_invert", "bitwise_left_shift",
    "bitwise_or", "bitwise_right_shift", "bitwise_xor", "bool", "broadcast_arrays",
    "broadcast_shapes", "broadcast_to", "can_cast", "ceil", "clip", "complex128", "complex64",
    "concat", "conj", "copysign", "cos", "cosh", "count_nonzero", "cumulative_prod",
    "cumulative_sum", "diff", "divide", "e", "empty", "empty_like", "equal", "exp",
    "expand_dims", "expm1", "eye", "fft", "finfo", "flip", "float32", "float64", "floor",
    "floor_divide", "from_dlpack", "full", "full_like", "greater", "greater_equal", "hypot",
    "iinfo", "imag", "inf", "int16", "int32", "int64", "int8", "isdtype", "isfinite", "isin",
    "isinf", "isnan", "less", "less_equal", "linalg", "linspace", "log", "log10", "log1p",
    "log2", "logaddexp", "logical_and", "logical_not", "logical_or", "logical_xor", "matmul",
    "matrix_transpose", "max", "maximum", "mean", "meshgrid", "min", "minimum", "moveaxis",
    "multiply", "nan", "negative", "newaxis", "nextafter", "nonzero", "not_equal", "ones",
    "ones_like", "permute_dims", "pi", "positive", "pow", "prod", "real", "reciprocal",
    "remainder", "repeat", "reshape", "result_type", "roll", "round", "searchsorted", "sign",
    "signbit", "sin", "sinh", "sort", "sqrt", "square", "squeeze", "stack", "std", "subtract",
    "sum", "take", "take_along_axis", "tan", "tanh", "tensordot", "tile", "tril", "triu",
    "trunc", "uint16", "uint32", "uint64", "uint8", "unique_all", "unique_counts",
    "unique_inverse", "unique_values", "unstack", "var", "vecdot", "where", "zeros",
    "zeros_like",
]  # fmt: skip

__array_api_version__ = "2025.12"
newaxis = None


def namespace_of_version(api_version: str | None) -> ModuleType:
    """What `Array.__array_namespace__` returns."""
    return _versions.of_version(sys.modules[__name__], api_version)
