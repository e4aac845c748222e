"""The Python array API standard, version 2025.12: `x.__array_namespace__()`.

Functions are lazynp's own wherever the standard and NumPy agree. Where they do not, NumPy's
behaviour is in `lazynp` and the standard's here; docs/array-api.md lists each such case.
"""

import sys
from math import e as e
from math import inf as inf
from math import nan as nan
from math import pi as pi

from numpy import isdtype as isdtype

from lazynp.array_api import _versions
from lazynp.array_api import fft as fft
from lazynp.array_api import linalg as linalg
from lazynp.array_api._dtypes import (
    bool as bool,
)
from lazynp.array_api._dtypes import (
    complex64 as complex64,
)
from lazynp.array_api._dtypes import (
    complex128 as complex128,
)
from lazynp.array_api._dtypes import (
    finfo as finfo,
)
from lazynp.array_api._dtypes import (
    float32 as float32,
)
from lazynp.array_api._dtypes import (
    float64 as float64,
)
from lazynp.array_api._dtypes import (
    iinfo as iinfo,
)
from lazynp.array_api._dtypes import (
    int8 as int8,
)
from lazynp.array_api._dtypes import (
    int16 as int16,
)
from lazynp.array_api._dtypes import (
    int32 as int32,
)
from lazynp.array_api._dtypes import (
    int64 as int64,
)
from lazynp.array_api._dtypes import (
    uint8 as uint8,
)
from lazynp.array_api._dtypes import (
    uint16 as uint16,
)
from lazynp.array_api._dtypes import (
    uint32 as uint32,
)
from lazynp.array_api._dtypes import (
    uint64 as uint64,
)
from lazynp.array_api._functions import (
    argsort as argsort,
)
from lazynp.array_api._functions import (
    clip as clip,
)
from lazynp.array_api._functions import (
    diff as diff,
)
from lazynp.array_api._functions import (
    floor_divide as floor_divide,
)
from lazynp.array_api._functions import (
    sort as sort,
)
from lazynp.array_api._functions import (
    std as std,
)
from lazynp.array_api._functions import (
    take as take,
)
from lazynp.array_api._functions import (
    var as var,
)
from lazynp.array_api._info import (
    __array_namespace_info__ as __array_namespace_info__,
)
from lazynp.functions.creation import (
    arange as arange,
)
from lazynp.functions.creation import (
    asarray as asarray,
)
from lazynp.functions.creation import (
    empty as empty,
)
from lazynp.functions.creation import (
    empty_like as empty_like,
)
from lazynp.functions.creation import (
    eye as eye,
)
from lazynp.functions.creation import (
    full as full,
)
from lazynp.functions.creation import (
    full_like as full_like,
)
from lazynp.functions.creation import (
    linspace as linspace,
)
from lazynp.functions.creation import (
    meshgrid as meshgrid,
)
from lazynp.functions.creation import (
    ones as ones,
)
from lazynp.functions.creation import (
    ones_like as ones_like,
)
from lazynp.functions.creation import (
    tril as tril,
)
from lazynp.functions.creation import (
    triu as triu,
)
from lazynp.functions.creation import (
    zeros as zeros,
)
from lazynp.functions.creation import (
    zeros_like as zeros_like,
)
from lazynp.functions.datatypes import (
    can_cast as can_cast,
)
from lazynp.functions.datatypes import (
    result_type as result_type,
)
from lazynp.functions.indexing import (
    nonzero as nonzero,
)
from lazynp.functions.indexing import (
    take_along_axis as take_along_axis,
)
from lazynp.functions.indexing import (
    where as where,
)
from lazynp.functions.interchange import (
    from_dlpack as from_dlpack,
)
from lazynp.functions.logic import (
    imag as imag,
)
from lazynp.functions.logic import (
    real as real,
)
from lazynp.functions.manipulation import (
    astype as astype,
)
from lazynp.functions.manipulation import (
    broadcast_arrays as broadcast_arrays,
)
from lazynp.functions.manipulation import (
    broadcast_shapes as broadcast_shapes,
)
from lazynp.functions.manipulation import (
    broadcast_to as broadcast_to,
)
from lazynp.functions.manipulation import (
    concat as concat,
)
from lazynp.functions.manipulation import (
    expand_dims as expand_dims,
)
from lazynp.functions.manipulation import (
    flip as flip,
)
from lazynp.functions.manipulation import (
    matrix_transpose as matrix_transpose,
)
from lazynp.functions.manipulation import (
    moveaxis as moveaxis,
)
from lazynp.functions.manipulation import (
    permute_dims as permute_dims,
)
from lazynp.functions.manipulation import (
    repeat as repeat,
)
from lazynp.functions.manipulation import (
    reshape as reshape,
)
from lazynp.functions.manipulation import (
    roll as roll,
)
from lazynp.functions.manipulation import (
    squeeze as squeeze,
)
from lazynp.functions.manipulation import (
    stack as stack,
)
from lazynp.functions.manipulation import (
    tile as tile,
)
from lazynp.functions.manipulation import (
    unstack as unstack,
)
from lazynp.functions.products import (
    matmul as matmul,
)
from lazynp.functions.products import (
    tensordot as tensordot,
)
from lazynp.functions.products import (
    vecdot as vecdot,
)
from lazynp.functions.reductions import (
    all as all,
)
from lazynp.functions.reductions import (
    any as any,
)
from lazynp.functions.reductions import (
    argmax as argmax,
)
from lazynp.functions.reductions import (
    argmin as argmin,
)
from lazynp.functions.reductions import (
    count_nonzero as count_nonzero,
)
from lazynp.functions.reductions import (
    cumulative_prod as cumulative_prod,
)
from lazynp.functions.reductions import (
    cumulative_sum as cumulative_sum,
)
from lazynp.functions.reductions import (
    max as max,
)
from lazynp.functions.reductions import (
    mean as mean,
)
from lazynp.functions.reductions import (
    min as min,
)
from lazynp.functions.reductions import (
    prod as prod,
)
from lazynp.functions.reductions import (
    round as round,
)
from lazynp.functions.reductions import (
    sum as sum,
)
from lazynp.functions.sets import (
    isin as isin,
)
from lazynp.functions.sets import (
    unique_all as unique_all,
)
from lazynp.functions.sets import (
    unique_counts as unique_counts,
)
from lazynp.functions.sets import (
    unique_inverse as unique_inverse,
)
from lazynp.functions.sets import (
    unique_values as unique_values,
)
from lazynp.functions.sorting import (
    searchsorted as searchsorted,
)
from lazynp.functions.ufuncs import (
    abs as abs,
)
from lazynp.functions.ufuncs import (
    acos as acos,
)
from lazynp.functions.ufuncs import (
    acosh as acosh,
)
from lazynp.functions.ufuncs import (
    add as add,
)
from lazynp.functions.ufuncs import (
    asin as asin,
)
from lazynp.functions.ufuncs import (
    asinh as asinh,
)
from lazynp.functions.ufuncs import (
    atan as atan,
)
from lazynp.functions.ufuncs import (
    atan2 as atan2,
)
from lazynp.functions.ufuncs import (
    atanh as atanh,
)
from lazynp.functions.ufuncs import (
    bitwise_and as bitwise_and,
)
from lazynp.functions.ufuncs import (
    bitwise_invert as bitwise_invert,
)
from lazynp.functions.ufuncs import (
    bitwise_left_shift as bitwise_left_shift,
)
from lazynp.functions.ufuncs import (
    bitwise_or as bitwise_or,
)
from lazynp.functions.ufuncs import (
    bitwise_right_shift as bitwise_right_shift,
)
from lazynp.functions.ufuncs import (
    bitwise_xor as bitwise_xor,
)
from lazynp.functions.ufuncs import (
    ceil as ceil,
)
from lazynp.functions.ufuncs import (
    conj as conj,
)
from lazynp.functions.ufuncs import (
    copysign as copysign,
)
from lazynp.functions.ufuncs import (
    cos as cos,
)
from lazynp.functions.ufuncs import (
    cosh as cosh,
)
from lazynp.functions.ufuncs import (
    divide as divide,
)
from lazynp.functions.ufuncs import (
    equal as equal,
)
from lazynp.functions.ufuncs import (
    exp as exp,
)
from lazynp.functions.ufuncs import (
    expm1 as expm1,
)
from lazynp.functions.ufuncs import (
    floor as floor,
)
from lazynp.functions.ufuncs import (
    greater as greater,
)
from lazynp.functions.ufuncs import (
    greater_equal as greater_equal,
)
from lazynp.functions.ufuncs import (
    hypot as hypot,
)
from lazynp.functions.ufuncs import (
    isfinite as isfinite,
)
from lazynp.functions.ufuncs import (
    isinf as isinf,
)
from lazynp.functions.ufuncs import (
    isnan as isnan,
)
from lazynp.functions.ufuncs import (
    less as less,
)
from lazynp.functions.ufuncs import (
    less_equal as less_equal,
)
from lazynp.functions.ufuncs import (
    log as log,
)
from lazynp.functions.ufuncs import (
    log1p as log1p,
)
from lazynp.functions.ufuncs import (
    log2 as log2,
)
from lazynp.functions.ufuncs import (
    log10 as log10,
)
from lazynp.functions.ufuncs import (
    logaddexp as logaddexp,
)
from lazynp.functions.ufuncs import (
    logical_and as logical_and,
)
from lazynp.functions.ufuncs import (
    logical_not as logical_not,
)
from lazynp.functions.ufuncs import (
    logical_or as logical_or,
)
from lazynp.functions.ufuncs import (
    logical_xor as logical_xor,
)
from lazynp.functions.ufuncs import (
    maximum as maximum,
)
from lazynp.functions.ufuncs import (
    minimum as minimum,
)
from lazynp.functions.ufuncs import (
    multiply as multiply,
)
from lazynp.functions.ufuncs import (
    negative as negative,
)
from lazynp.functions.ufuncs import (
    nextafter as nextafter,
)
from lazynp.functions.ufuncs import (
    not_equal as not_equal,
)
from lazynp.functions.ufuncs import (
    positive as positive,
)
from lazynp.functions.ufuncs import (
    pow as pow,
)
from lazynp.functions.ufuncs import (
    reciprocal as reciprocal,
)
from lazynp.functions.ufuncs import (
    remainder as remainder,
)
from lazynp.functions.ufuncs import (
    sign as sign,
)
from lazynp.functions.ufuncs import (
    signbit as signbit,
)
from lazynp.functions.ufuncs import (
    sin as sin,
)
from lazynp.functions.ufuncs import (
    sinh as sinh,
)
from lazynp.functions.ufuncs import (
    sqrt as sqrt,
)
from lazynp.functions.ufuncs import (
    square as square,
)
from lazynp.functions.ufuncs import (
    subtract as subtract,
)
from lazynp.functions.ufuncs import (
    tan as tan,
)
from lazynp.functions.ufuncs import (
    tanh as tanh,
)
from lazynp.functions.ufuncs import (
    trunc as trunc,
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
    "iinfo", "imag", "inf", "int16", "int32", "int64", "int8", "isdtype", "isfinite", "isin", "isinf",
    "isnan", "less", "less_equal", "linalg", "linspace", "log", "log10", "log1p", "log2",
    "logaddexp", "logical_and", "logical_not", "logical_or", "logical_xor", "matmul",
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

_versions.attach(sys.modules[__name__])
