"""NumPy, lazy: `import lazynp as np`.

`from lazynp import *` gives NumPy's names and nothing else. What lazynp adds (`explain`,
`materialize`, `make_jaxpr`, `config`, `stats`, `writable`) is reached by attribute.
"""

import numpy as _numpy
from numpy import (
    False_ as False_,
)
from numpy import (
    ScalarType as ScalarType,
)
from numpy import (
    True_ as True_,
)
from numpy import (
    __array_namespace_info__ as __array_namespace_info__,
)
from numpy import (
    bool as bool,
)
from numpy import (
    bool_ as bool_,
)
from numpy import (
    busdaycalendar as busdaycalendar,
)
from numpy import (
    byte as byte,
)
from numpy import (
    bytes_ as bytes_,
)
from numpy import (
    cdouble as cdouble,
)
from numpy import (
    char as char,
)
from numpy import (
    character as character,
)
from numpy import (
    clongdouble as clongdouble,
)
from numpy import (
    complex64 as complex64,
)
from numpy import (
    complex128 as complex128,
)
from numpy import (
    complex256 as complex256,
)
from numpy import (
    complexfloating as complexfloating,
)
from numpy import (
    csingle as csingle,
)
from numpy import (
    datetime64 as datetime64,
)
from numpy import (
    datetime_data as datetime_data,
)
from numpy import (
    double as double,
)
from numpy import (
    dtype as dtype,
)
from numpy import (
    dtypes as dtypes,
)
from numpy import (
    e as e,
)
from numpy import (
    emath as emath,
)
from numpy import (
    errstate as errstate,
)
from numpy import (
    euler_gamma as euler_gamma,
)
from numpy import (
    exceptions as exceptions,
)
from numpy import (
    finfo as finfo,
)
from numpy import (
    flatiter as flatiter,
)
from numpy import (
    flexible as flexible,
)
from numpy import (
    float16 as float16,
)
from numpy import (
    float32 as float32,
)
from numpy import (
    float64 as float64,
)
from numpy import (
    float128 as float128,
)
from numpy import (
    floating as floating,
)
from numpy import (
    frompyfunc as frompyfunc,
)
from numpy import (
    generic as generic,
)
from numpy import (
    get_printoptions as get_printoptions,
)
from numpy import (
    getbufsize as getbufsize,
)
from numpy import (
    geterr as geterr,
)
from numpy import (
    geterrcall as geterrcall,
)
from numpy import (
    half as half,
)
from numpy import (
    iinfo as iinfo,
)
from numpy import (
    inexact as inexact,
)
from numpy import (
    inf as inf,
)
from numpy import (
    info as info,
)
from numpy import (
    int8 as int8,
)
from numpy import (
    int16 as int16,
)
from numpy import (
    int32 as int32,
)
from numpy import (
    int64 as int64,
)
from numpy import (
    int_ as int_,
)
from numpy import (
    intc as intc,
)
from numpy import (
    integer as integer,
)
from numpy import (
    intp as intp,
)
from numpy import (
    isdtype as isdtype,
)
from numpy import (
    issubdtype as issubdtype,
)
from numpy import (
    iterable as iterable,
)
from numpy import (
    lib as lib,
)
from numpy import (
    little_endian as little_endian,
)
from numpy import (
    long as long,
)
from numpy import (
    longdouble as longdouble,
)
from numpy import (
    longlong as longlong,
)
from numpy import (
    ma as ma,
)
from numpy import (
    memmap as memmap,
)
from numpy import (
    mintypecode as mintypecode,
)
from numpy import (
    nan as nan,
)
from numpy import (
    nested_iters as nested_iters,
)
from numpy import (
    newaxis as newaxis,
)
from numpy import (
    number as number,
)
from numpy import (
    object_ as object_,
)
from numpy import (
    pi as pi,
)
from numpy import (
    poly1d as poly1d,
)
from numpy import (
    polynomial as polynomial,
)
from numpy import (
    printoptions as printoptions,
)
from numpy import (
    promote_types as promote_types,
)
from numpy import (
    rec as rec,
)
from numpy import (
    recarray as recarray,
)
from numpy import (
    record as record,
)
from numpy import (
    sctypeDict as sctypeDict,
)
from numpy import (
    set_printoptions as set_printoptions,
)
from numpy import (
    setbufsize as setbufsize,
)
from numpy import (
    seterr as seterr,
)
from numpy import (
    seterrcall as seterrcall,
)
from numpy import (
    short as short,
)
from numpy import (
    signedinteger as signedinteger,
)
from numpy import (
    single as single,
)
from numpy import (
    str_ as str_,
)
from numpy import (
    strings as strings,
)
from numpy import (
    testing as testing,
)
from numpy import (
    timedelta64 as timedelta64,
)
from numpy import (
    typecodes as typecodes,
)
from numpy import (
    typename as typename,
)
from numpy import (
    typing as typing,
)
from numpy import (
    ubyte as ubyte,
)
from numpy import (
    uint as uint,
)
from numpy import (
    uint8 as uint8,
)
from numpy import (
    uint16 as uint16,
)
from numpy import (
    uint32 as uint32,
)
from numpy import (
    uint64 as uint64,
)
from numpy import (
    uintc as uintc,
)
from numpy import (
    uintp as uintp,
)
from numpy import (
    ulong as ulong,
)
from numpy import (
    ulonglong as ulonglong,
)
from numpy import (
    unsignedinteger as unsignedinteger,
)
from numpy import (
    ushort as ushort,
)
from numpy import (
    vectorize as vectorize,
)
from numpy import (
    void as void,
)

from lazynp import _methods as _methods
from lazynp import _protocols as _protocols
from lazynp import array_api as array_api
from lazynp import fft as fft
from lazynp import linalg as linalg
from lazynp import random as random
from lazynp._array import Array as Array
from lazynp._array import Array as ndarray
from lazynp._array import Scalar as Scalar
from lazynp._config import config as config
from lazynp.functions._ufunc import ufunc as ufunc
from lazynp.functions.creation import (
    arange as arange,
)
from lazynp.functions.creation import (
    array as array,
)
from lazynp.functions.creation import (
    asanyarray as asanyarray,
)
from lazynp.functions.creation import (
    asarray as asarray,
)
from lazynp.functions.creation import (
    asarray_chkfinite as asarray_chkfinite,
)
from lazynp.functions.creation import (
    ascontiguousarray as ascontiguousarray,
)
from lazynp.functions.creation import (
    asfortranarray as asfortranarray,
)
from lazynp.functions.creation import (
    broadcast as broadcast,
)
from lazynp.functions.creation import (
    c_ as c_,
)
from lazynp.functions.creation import (
    copy as copy,
)
from lazynp.functions.creation import (
    diag as diag,
)
from lazynp.functions.creation import (
    diag_indices as diag_indices,
)
from lazynp.functions.creation import (
    diag_indices_from as diag_indices_from,
)
from lazynp.functions.creation import (
    diagflat as diagflat,
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
    frombuffer as frombuffer,
)
from lazynp.functions.creation import (
    fromfunction as fromfunction,
)
from lazynp.functions.creation import (
    fromiter as fromiter,
)
from lazynp.functions.creation import (
    fromstring as fromstring,
)
from lazynp.functions.creation import (
    full as full,
)
from lazynp.functions.creation import (
    full_like as full_like,
)
from lazynp.functions.creation import (
    geomspace as geomspace,
)
from lazynp.functions.creation import (
    identity as identity,
)
from lazynp.functions.creation import (
    index_exp as index_exp,
)
from lazynp.functions.creation import (
    indices as indices,
)
from lazynp.functions.creation import (
    ix_ as ix_,
)
from lazynp.functions.creation import (
    linspace as linspace,
)
from lazynp.functions.creation import (
    logspace as logspace,
)
from lazynp.functions.creation import (
    mask_indices as mask_indices,
)
from lazynp.functions.creation import (
    meshgrid as meshgrid,
)
from lazynp.functions.creation import (
    mgrid as mgrid,
)
from lazynp.functions.creation import (
    ogrid as ogrid,
)
from lazynp.functions.creation import (
    ones as ones,
)
from lazynp.functions.creation import (
    ones_like as ones_like,
)
from lazynp.functions.creation import (
    r_ as r_,
)
from lazynp.functions.creation import (
    require as require,
)
from lazynp.functions.creation import (
    s_ as s_,
)
from lazynp.functions.creation import (
    tri as tri,
)
from lazynp.functions.creation import (
    tril as tril,
)
from lazynp.functions.creation import (
    tril_indices as tril_indices,
)
from lazynp.functions.creation import (
    tril_indices_from as tril_indices_from,
)
from lazynp.functions.creation import (
    triu as triu,
)
from lazynp.functions.creation import (
    triu_indices as triu_indices,
)
from lazynp.functions.creation import (
    triu_indices_from as triu_indices_from,
)
from lazynp.functions.creation import (
    vander as vander,
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
    common_type as common_type,
)
from lazynp.functions.datatypes import (
    isfortran as isfortran,
)
from lazynp.functions.datatypes import (
    may_share_memory as may_share_memory,
)
from lazynp.functions.datatypes import (
    min_scalar_type as min_scalar_type,
)
from lazynp.functions.datatypes import (
    result_type as result_type,
)
from lazynp.functions.datatypes import (
    shares_memory as shares_memory,
)
from lazynp.functions.differences import (
    angle as angle,
)
from lazynp.functions.differences import (
    diff as diff,
)
from lazynp.functions.differences import (
    ediff1d as ediff1d,
)
from lazynp.functions.differences import (
    fix as fix,
)
from lazynp.functions.differences import (
    gradient as gradient,
)
from lazynp.functions.differences import (
    i0 as i0,
)
from lazynp.functions.differences import (
    interp as interp,
)
from lazynp.functions.differences import (
    sinc as sinc,
)
from lazynp.functions.differences import (
    trapezoid as trapezoid,
)
from lazynp.functions.differences import (
    unwrap as unwrap,
)
from lazynp.functions.indexing import (
    apply_along_axis as apply_along_axis,
)
from lazynp.functions.indexing import (
    apply_over_axes as apply_over_axes,
)
from lazynp.functions.indexing import (
    argwhere as argwhere,
)
from lazynp.functions.indexing import (
    choose as choose,
)
from lazynp.functions.indexing import (
    compress as compress,
)
from lazynp.functions.indexing import (
    diagonal as diagonal,
)
from lazynp.functions.indexing import (
    extract as extract,
)
from lazynp.functions.indexing import (
    fill_diagonal as fill_diagonal,
)
from lazynp.functions.indexing import (
    flatnonzero as flatnonzero,
)
from lazynp.functions.indexing import (
    ndenumerate as ndenumerate,
)
from lazynp.functions.indexing import (
    ndindex as ndindex,
)
from lazynp.functions.indexing import (
    nditer as nditer,
)
from lazynp.functions.indexing import (
    nonzero as nonzero,
)
from lazynp.functions.indexing import (
    piecewise as piecewise,
)
from lazynp.functions.indexing import (
    place as place,
)
from lazynp.functions.indexing import (
    put as put,
)
from lazynp.functions.indexing import (
    put_along_axis as put_along_axis,
)
from lazynp.functions.indexing import (
    putmask as putmask,
)
from lazynp.functions.indexing import (
    ravel_multi_index as ravel_multi_index,
)
from lazynp.functions.indexing import (
    select as select,
)
from lazynp.functions.indexing import (
    take as take,
)
from lazynp.functions.indexing import (
    take_along_axis as take_along_axis,
)
from lazynp.functions.indexing import (
    trace as trace,
)
from lazynp.functions.indexing import (
    unravel_index as unravel_index,
)
from lazynp.functions.indexing import (
    where as where,
)
from lazynp.functions.interchange import from_dlpack as from_dlpack
from lazynp.functions.io import (
    array2string as array2string,
)
from lazynp.functions.io import (
    array_repr as array_repr,
)
from lazynp.functions.io import (
    array_str as array_str,
)
from lazynp.functions.io import (
    bartlett as bartlett,
)
from lazynp.functions.io import (
    base_repr as base_repr,
)
from lazynp.functions.io import (
    binary_repr as binary_repr,
)
from lazynp.functions.io import (
    blackman as blackman,
)
from lazynp.functions.io import (
    busday_count as busday_count,
)
from lazynp.functions.io import (
    busday_offset as busday_offset,
)
from lazynp.functions.io import (
    datetime_as_string as datetime_as_string,
)
from lazynp.functions.io import (
    format_float_positional as format_float_positional,
)
from lazynp.functions.io import (
    format_float_scientific as format_float_scientific,
)
from lazynp.functions.io import (
    fromfile as fromfile,
)
from lazynp.functions.io import (
    fromregex as fromregex,
)
from lazynp.functions.io import (
    genfromtxt as genfromtxt,
)
from lazynp.functions.io import (
    hamming as hamming,
)
from lazynp.functions.io import (
    hanning as hanning,
)
from lazynp.functions.io import (
    is_busday as is_busday,
)
from lazynp.functions.io import (
    isnat as isnat,
)
from lazynp.functions.io import (
    kaiser as kaiser,
)
from lazynp.functions.io import (
    load as load,
)
from lazynp.functions.io import (
    loadtxt as loadtxt,
)
from lazynp.functions.io import (
    packbits as packbits,
)
from lazynp.functions.io import (
    poly as poly,
)
from lazynp.functions.io import (
    polyadd as polyadd,
)
from lazynp.functions.io import (
    polyder as polyder,
)
from lazynp.functions.io import (
    polydiv as polydiv,
)
from lazynp.functions.io import (
    polyfit as polyfit,
)
from lazynp.functions.io import (
    polyint as polyint,
)
from lazynp.functions.io import (
    polymul as polymul,
)
from lazynp.functions.io import (
    polysub as polysub,
)
from lazynp.functions.io import (
    polyval as polyval,
)
from lazynp.functions.io import (
    roots as roots,
)
from lazynp.functions.io import (
    save as save,
)
from lazynp.functions.io import (
    savetxt as savetxt,
)
from lazynp.functions.io import (
    savez as savez,
)
from lazynp.functions.io import (
    savez_compressed as savez_compressed,
)
from lazynp.functions.io import (
    unpackbits as unpackbits,
)
from lazynp.functions.logic import (
    allclose as allclose,
)
from lazynp.functions.logic import (
    array_equal as array_equal,
)
from lazynp.functions.logic import (
    array_equiv as array_equiv,
)
from lazynp.functions.logic import (
    imag as imag,
)
from lazynp.functions.logic import (
    isclose as isclose,
)
from lazynp.functions.logic import (
    iscomplex as iscomplex,
)
from lazynp.functions.logic import (
    iscomplexobj as iscomplexobj,
)
from lazynp.functions.logic import (
    isneginf as isneginf,
)
from lazynp.functions.logic import (
    isposinf as isposinf,
)
from lazynp.functions.logic import (
    isreal as isreal,
)
from lazynp.functions.logic import (
    isrealobj as isrealobj,
)
from lazynp.functions.logic import (
    isscalar as isscalar,
)
from lazynp.functions.logic import (
    nan_to_num as nan_to_num,
)
from lazynp.functions.logic import (
    real as real,
)
from lazynp.functions.logic import (
    real_if_close as real_if_close,
)
from lazynp.functions.manipulation import (
    append as append,
)
from lazynp.functions.manipulation import (
    array_split as array_split,
)
from lazynp.functions.manipulation import (
    astype as astype,
)
from lazynp.functions.manipulation import (
    atleast_1d as atleast_1d,
)
from lazynp.functions.manipulation import (
    atleast_2d as atleast_2d,
)
from lazynp.functions.manipulation import (
    atleast_3d as atleast_3d,
)
from lazynp.functions.manipulation import (
    block as block,
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
    column_stack as column_stack,
)
from lazynp.functions.manipulation import (
    concat as concat,
)
from lazynp.functions.manipulation import (
    concatenate as concatenate,
)
from lazynp.functions.manipulation import (
    copyto as copyto,
)
from lazynp.functions.manipulation import (
    delete as delete,
)
from lazynp.functions.manipulation import (
    dsplit as dsplit,
)
from lazynp.functions.manipulation import (
    dstack as dstack,
)
from lazynp.functions.manipulation import (
    expand_dims as expand_dims,
)
from lazynp.functions.manipulation import (
    flip as flip,
)
from lazynp.functions.manipulation import (
    fliplr as fliplr,
)
from lazynp.functions.manipulation import (
    flipud as flipud,
)
from lazynp.functions.manipulation import (
    hsplit as hsplit,
)
from lazynp.functions.manipulation import (
    hstack as hstack,
)
from lazynp.functions.manipulation import (
    insert as insert,
)
from lazynp.functions.manipulation import (
    matrix_transpose as matrix_transpose,
)
from lazynp.functions.manipulation import (
    moveaxis as moveaxis,
)
from lazynp.functions.manipulation import (
    ndim as ndim,
)
from lazynp.functions.manipulation import (
    pad as pad,
)
from lazynp.functions.manipulation import (
    permute_dims as permute_dims,
)
from lazynp.functions.manipulation import (
    ravel as ravel,
)
from lazynp.functions.manipulation import (
    repeat as repeat,
)
from lazynp.functions.manipulation import (
    reshape as reshape,
)
from lazynp.functions.manipulation import (
    resize as resize,
)
from lazynp.functions.manipulation import (
    roll as roll,
)
from lazynp.functions.manipulation import (
    rollaxis as rollaxis,
)
from lazynp.functions.manipulation import (
    rot90 as rot90,
)
from lazynp.functions.manipulation import (
    row_stack as row_stack,
)
from lazynp.functions.manipulation import (
    shape as shape,
)
from lazynp.functions.manipulation import (
    size as size,
)
from lazynp.functions.manipulation import (
    split as split,
)
from lazynp.functions.manipulation import (
    squeeze as squeeze,
)
from lazynp.functions.manipulation import (
    stack as stack,
)
from lazynp.functions.manipulation import (
    swapaxes as swapaxes,
)
from lazynp.functions.manipulation import (
    tile as tile,
)
from lazynp.functions.manipulation import (
    transpose as transpose,
)
from lazynp.functions.manipulation import (
    trim_zeros as trim_zeros,
)
from lazynp.functions.manipulation import (
    unstack as unstack,
)
from lazynp.functions.manipulation import (
    vsplit as vsplit,
)
from lazynp.functions.manipulation import (
    vstack as vstack,
)
from lazynp.functions.nan_reductions import (
    nanargmax as nanargmax,
)
from lazynp.functions.nan_reductions import (
    nanargmin as nanargmin,
)
from lazynp.functions.nan_reductions import (
    nancumprod as nancumprod,
)
from lazynp.functions.nan_reductions import (
    nancumsum as nancumsum,
)
from lazynp.functions.nan_reductions import (
    nanmax as nanmax,
)
from lazynp.functions.nan_reductions import (
    nanmean as nanmean,
)
from lazynp.functions.nan_reductions import (
    nanmin as nanmin,
)
from lazynp.functions.nan_reductions import (
    nanprod as nanprod,
)
from lazynp.functions.nan_reductions import (
    nanstd as nanstd,
)
from lazynp.functions.nan_reductions import (
    nansum as nansum,
)
from lazynp.functions.nan_reductions import (
    nanvar as nanvar,
)
from lazynp.functions.products import (
    cross as cross,
)
from lazynp.functions.products import (
    dot as dot,
)
from lazynp.functions.products import (
    einsum as einsum,
)
from lazynp.functions.products import (
    einsum_path as einsum_path,
)
from lazynp.functions.products import (
    inner as inner,
)
from lazynp.functions.products import (
    kron as kron,
)
from lazynp.functions.products import (
    matmul as matmul,
)
from lazynp.functions.products import (
    matvec as matvec,
)
from lazynp.functions.products import (
    outer as outer,
)
from lazynp.functions.products import (
    tensordot as tensordot,
)
from lazynp.functions.products import (
    vdot as vdot,
)
from lazynp.functions.products import (
    vecdot as vecdot,
)
from lazynp.functions.products import (
    vecmat as vecmat,
)
from lazynp.functions.reductions import (
    all as all,
)
from lazynp.functions.reductions import (
    amax as amax,
)
from lazynp.functions.reductions import (
    amin as amin,
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
    around as around,
)
from lazynp.functions.reductions import (
    average as average,
)
from lazynp.functions.reductions import (
    clip as clip,
)
from lazynp.functions.reductions import (
    count_nonzero as count_nonzero,
)
from lazynp.functions.reductions import (
    cumprod as cumprod,
)
from lazynp.functions.reductions import (
    cumsum as cumsum,
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
    ptp as ptp,
)
from lazynp.functions.reductions import (
    round as round,
)
from lazynp.functions.reductions import (
    std as std,
)
from lazynp.functions.reductions import (
    sum as sum,
)
from lazynp.functions.reductions import (
    var as var,
)
from lazynp.functions.sets import (
    intersect1d as intersect1d,
)
from lazynp.functions.sets import (
    isin as isin,
)
from lazynp.functions.sets import (
    setdiff1d as setdiff1d,
)
from lazynp.functions.sets import (
    setxor1d as setxor1d,
)
from lazynp.functions.sets import (
    union1d as union1d,
)
from lazynp.functions.sets import (
    unique as unique,
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
    argpartition as argpartition,
)
from lazynp.functions.sorting import (
    argsort as argsort,
)
from lazynp.functions.sorting import (
    lexsort as lexsort,
)
from lazynp.functions.sorting import (
    partition as partition,
)
from lazynp.functions.sorting import (
    searchsorted as searchsorted,
)
from lazynp.functions.sorting import (
    sort as sort,
)
from lazynp.functions.sorting import (
    sort_complex as sort_complex,
)
from lazynp.functions.statistics import (
    bincount as bincount,
)
from lazynp.functions.statistics import (
    convolve as convolve,
)
from lazynp.functions.statistics import (
    corrcoef as corrcoef,
)
from lazynp.functions.statistics import (
    correlate as correlate,
)
from lazynp.functions.statistics import (
    cov as cov,
)
from lazynp.functions.statistics import (
    digitize as digitize,
)
from lazynp.functions.statistics import (
    histogram as histogram,
)
from lazynp.functions.statistics import (
    histogram2d as histogram2d,
)
from lazynp.functions.statistics import (
    histogram_bin_edges as histogram_bin_edges,
)
from lazynp.functions.statistics import (
    histogramdd as histogramdd,
)
from lazynp.functions.statistics import (
    median as median,
)
from lazynp.functions.statistics import (
    nanmedian as nanmedian,
)
from lazynp.functions.statistics import (
    nanpercentile as nanpercentile,
)
from lazynp.functions.statistics import (
    nanquantile as nanquantile,
)
from lazynp.functions.statistics import (
    percentile as percentile,
)
from lazynp.functions.statistics import (
    quantile as quantile,
)
from lazynp.functions.tools import (
    explain as explain,
)
from lazynp.functions.tools import (
    make_jaxpr as make_jaxpr,
)
from lazynp.functions.tools import (
    materialize_tree as materialize,
)
from lazynp.functions.tools import (
    stats as stats,
)
from lazynp.functions.tools import (
    writable as writable,
)
from lazynp.functions.ufuncs import (
    abs as abs,
)
from lazynp.functions.ufuncs import (
    absolute as absolute,
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
    arccos as arccos,
)
from lazynp.functions.ufuncs import (
    arccosh as arccosh,
)
from lazynp.functions.ufuncs import (
    arcsin as arcsin,
)
from lazynp.functions.ufuncs import (
    arcsinh as arcsinh,
)
from lazynp.functions.ufuncs import (
    arctan as arctan,
)
from lazynp.functions.ufuncs import (
    arctan2 as arctan2,
)
from lazynp.functions.ufuncs import (
    arctanh as arctanh,
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
    bitwise_count as bitwise_count,
)
from lazynp.functions.ufuncs import (
    bitwise_invert as bitwise_invert,
)
from lazynp.functions.ufuncs import (
    bitwise_left_shift as bitwise_left_shift,
)
from lazynp.functions.ufuncs import (
    bitwise_not as bitwise_not,
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
    cbrt as cbrt,
)
from lazynp.functions.ufuncs import (
    ceil as ceil,
)
from lazynp.functions.ufuncs import (
    conj as conj,
)
from lazynp.functions.ufuncs import (
    conjugate as conjugate,
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
    deg2rad as deg2rad,
)
from lazynp.functions.ufuncs import (
    degrees as degrees,
)
from lazynp.functions.ufuncs import (
    divide as divide,
)
from lazynp.functions.ufuncs import (
    divmod as divmod,
)
from lazynp.functions.ufuncs import (
    equal as equal,
)
from lazynp.functions.ufuncs import (
    exp as exp,
)
from lazynp.functions.ufuncs import (
    exp2 as exp2,
)
from lazynp.functions.ufuncs import (
    expm1 as expm1,
)
from lazynp.functions.ufuncs import (
    fabs as fabs,
)
from lazynp.functions.ufuncs import (
    float_power as float_power,
)
from lazynp.functions.ufuncs import (
    floor as floor,
)
from lazynp.functions.ufuncs import (
    floor_divide as floor_divide,
)
from lazynp.functions.ufuncs import (
    fmax as fmax,
)
from lazynp.functions.ufuncs import (
    fmin as fmin,
)
from lazynp.functions.ufuncs import (
    fmod as fmod,
)
from lazynp.functions.ufuncs import (
    frexp as frexp,
)
from lazynp.functions.ufuncs import (
    gcd as gcd,
)
from lazynp.functions.ufuncs import (
    greater as greater,
)
from lazynp.functions.ufuncs import (
    greater_equal as greater_equal,
)
from lazynp.functions.ufuncs import (
    heaviside as heaviside,
)
from lazynp.functions.ufuncs import (
    hypot as hypot,
)
from lazynp.functions.ufuncs import (
    invert as invert,
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
    lcm as lcm,
)
from lazynp.functions.ufuncs import (
    ldexp as ldexp,
)
from lazynp.functions.ufuncs import (
    left_shift as left_shift,
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
    logaddexp2 as logaddexp2,
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
    mod as mod,
)
from lazynp.functions.ufuncs import (
    modf as modf,
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
    power as power,
)
from lazynp.functions.ufuncs import (
    rad2deg as rad2deg,
)
from lazynp.functions.ufuncs import (
    radians as radians,
)
from lazynp.functions.ufuncs import (
    reciprocal as reciprocal,
)
from lazynp.functions.ufuncs import (
    remainder as remainder,
)
from lazynp.functions.ufuncs import (
    right_shift as right_shift,
)
from lazynp.functions.ufuncs import (
    rint as rint,
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
    spacing as spacing,
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
    true_divide as true_divide,
)
from lazynp.functions.ufuncs import (
    trunc as trunc,
)

__version__ = "0.1.0"
__array_api_version__ = _numpy.__array_api_version__

__all__ = [
    "False_",
    "ScalarType",
    "True_",
    "abs",
    "absolute",
    "acos",
    "acosh",
    "add",
    "all",
    "allclose",
    "amax",
    "amin",
    "angle",
    "any",
    "append",
    "apply_along_axis",
    "apply_over_axes",
    "arange",
    "arccos",
    "arccosh",
    "arcsin",
    "arcsinh",
    "arctan",
    "arctan2",
    "arctanh",
    "argmax",
    "argmin",
    "argpartition",
    "argsort",
    "argwhere",
    "around",
    "array",
    "array2string",
    "array_equal",
    "array_equiv",
    "array_repr",
    "array_split",
    "array_str",
    "asanyarray",
    "asarray",
    "asarray_chkfinite",
    "ascontiguousarray",
    "asfortranarray",
    "asin",
    "asinh",
    "astype",
    "atan",
    "atan2",
    "atanh",
    "atleast_1d",
    "atleast_2d",
    "atleast_3d",
    "average",
    "bartlett",
    "base_repr",
    "binary_repr",
    "bincount",
    "bitwise_and",
    "bitwise_count",
    "bitwise_invert",
    "bitwise_left_shift",
    "bitwise_not",
    "bitwise_or",
    "bitwise_right_shift",
    "bitwise_xor",
    "blackman",
    "block",
    "bool",
    "bool_",
    "broadcast",
    "broadcast_arrays",
    "broadcast_shapes",
    "broadcast_to",
    "busday_count",
    "busday_offset",
    "busdaycalendar",
    "byte",
    "bytes_",
    "c_",
    "can_cast",
    "cbrt",
    "cdouble",
    "ceil",
    "char",
    "character",
    "choose",
    "clip",
    "clongdouble",
    "column_stack",
    "common_type",
    "complex128",
    "complex256",
    "complex64",
    "complexfloating",
    "compress",
    "concat",
    "concatenate",
    "conj",
    "conjugate",
    "convolve",
    "copy",
    "copysign",
    "copyto",
    "corrcoef",
    "correlate",
    "cos",
    "cosh",
    "count_nonzero",
    "cov",
    "cross",
    "csingle",
    "cumprod",
    "cumsum",
    "cumulative_prod",
    "cumulative_sum",
    "datetime64",
    "datetime_as_string",
    "datetime_data",
    "deg2rad",
    "degrees",
    "delete",
    "diag",
    "diag_indices",
    "diag_indices_from",
    "diagflat",
    "diagonal",
    "diff",
    "digitize",
    "divide",
    "divmod",
    "dot",
    "double",
    "dsplit",
    "dstack",
    "dtype",
    "dtypes",
    "e",
    "ediff1d",
    "einsum",
    "einsum_path",
    "emath",
    "empty",
    "empty_like",
    "equal",
    "errstate",
    "euler_gamma",
    "exceptions",
    "exp",
    "exp2",
    "expand_dims",
    "expm1",
    "extract",
    "eye",
    "fabs",
    "fft",
    "fill_diagonal",
    "finfo",
    "fix",
    "flatiter",
    "flatnonzero",
    "flexible",
    "flip",
    "fliplr",
    "flipud",
    "float128",
    "float16",
    "float32",
    "float64",
    "float_power",
    "floating",
    "floor",
    "floor_divide",
    "fmax",
    "fmin",
    "fmod",
    "format_float_positional",
    "format_float_scientific",
    "frexp",
    "from_dlpack",
    "frombuffer",
    "fromfile",
    "fromfunction",
    "fromiter",
    "frompyfunc",
    "fromregex",
    "fromstring",
    "full",
    "full_like",
    "gcd",
    "generic",
    "genfromtxt",
    "geomspace",
    "get_printoptions",
    "getbufsize",
    "geterr",
    "geterrcall",
    "gradient",
    "greater",
    "greater_equal",
    "half",
    "hamming",
    "hanning",
    "heaviside",
    "histogram",
    "histogram2d",
    "histogram_bin_edges",
    "histogramdd",
    "hsplit",
    "hstack",
    "hypot",
    "i0",
    "identity",
    "iinfo",
    "imag",
    "index_exp",
    "indices",
    "inexact",
    "inf",
    "info",
    "inner",
    "insert",
    "int16",
    "int32",
    "int64",
    "int8",
    "int_",
    "intc",
    "integer",
    "interp",
    "intersect1d",
    "intp",
    "invert",
    "is_busday",
    "isclose",
    "iscomplex",
    "iscomplexobj",
    "isdtype",
    "isfinite",
    "isfortran",
    "isin",
    "isinf",
    "isnan",
    "isnat",
    "isneginf",
    "isposinf",
    "isreal",
    "isrealobj",
    "isscalar",
    "issubdtype",
    "iterable",
    "ix_",
    "kaiser",
    "kron",
    "lcm",
    "ldexp",
    "left_shift",
    "less",
    "less_equal",
    "lexsort",
    "lib",
    "linalg",
    "linspace",
    "little_endian",
    "load",
    "loadtxt",
    "log",
    "log10",
    "log1p",
    "log2",
    "logaddexp",
    "logaddexp2",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
    "logspace",
    "long",
    "longdouble",
    "longlong",
    "ma",
    "mask_indices",
    "matmul",
    "matrix_transpose",
    "matvec",
    "max",
    "maximum",
    "may_share_memory",
    "mean",
    "median",
    "memmap",
    "meshgrid",
    "mgrid",
    "min",
    "min_scalar_type",
    "minimum",
    "mintypecode",
    "mod",
    "modf",
    "moveaxis",
    "multiply",
    "nan",
    "nan_to_num",
    "nanargmax",
    "nanargmin",
    "nancumprod",
    "nancumsum",
    "nanmax",
    "nanmean",
    "nanmedian",
    "nanmin",
    "nanpercentile",
    "nanprod",
    "nanquantile",
    "nanstd",
    "nansum",
    "nanvar",
    "ndarray",
    "ndenumerate",
    "ndim",
    "ndindex",
    "nditer",
    "negative",
    "nested_iters",
    "newaxis",
    "nextafter",
    "nonzero",
    "not_equal",
    "number",
    "object_",
    "ogrid",
    "ones",
    "ones_like",
    "outer",
    "packbits",
    "pad",
    "partition",
    "percentile",
    "permute_dims",
    "pi",
    "piecewise",
    "place",
    "poly",
    "poly1d",
    "polyadd",
    "polyder",
    "polydiv",
    "polyfit",
    "polyint",
    "polymul",
    "polynomial",
    "polysub",
    "polyval",
    "positive",
    "pow",
    "power",
    "printoptions",
    "prod",
    "promote_types",
    "ptp",
    "put",
    "put_along_axis",
    "putmask",
    "quantile",
    "r_",
    "rad2deg",
    "radians",
    "random",
    "ravel",
    "ravel_multi_index",
    "real",
    "real_if_close",
    "rec",
    "recarray",
    "reciprocal",
    "record",
    "remainder",
    "repeat",
    "require",
    "reshape",
    "resize",
    "result_type",
    "right_shift",
    "rint",
    "roll",
    "rollaxis",
    "roots",
    "rot90",
    "round",
    "row_stack",
    "s_",
    "save",
    "savetxt",
    "savez",
    "savez_compressed",
    "sctypeDict",
    "searchsorted",
    "select",
    "set_printoptions",
    "setbufsize",
    "setdiff1d",
    "seterr",
    "seterrcall",
    "setxor1d",
    "shape",
    "shares_memory",
    "short",
    "sign",
    "signbit",
    "signedinteger",
    "sin",
    "sinc",
    "single",
    "sinh",
    "size",
    "sort",
    "sort_complex",
    "spacing",
    "split",
    "sqrt",
    "square",
    "squeeze",
    "stack",
    "std",
    "str_",
    "strings",
    "subtract",
    "sum",
    "swapaxes",
    "take",
    "take_along_axis",
    "tan",
    "tanh",
    "tensordot",
    "testing",
    "tile",
    "timedelta64",
    "trace",
    "transpose",
    "trapezoid",
    "tri",
    "tril",
    "tril_indices",
    "tril_indices_from",
    "trim_zeros",
    "triu",
    "triu_indices",
    "triu_indices_from",
    "true_divide",
    "trunc",
    "typecodes",
    "typename",
    "typing",
    "ubyte",
    "ufunc",
    "uint",
    "uint16",
    "uint32",
    "uint64",
    "uint8",
    "uintc",
    "uintp",
    "ulong",
    "ulonglong",
    "union1d",
    "unique",
    "unique_all",
    "unique_counts",
    "unique_inverse",
    "unique_values",
    "unpackbits",
    "unravel_index",
    "unsignedinteger",
    "unstack",
    "unwrap",
    "ushort",
    "vander",
    "var",
    "vdot",
    "vecdot",
    "vecmat",
    "vectorize",
    "void",
    "vsplit",
    "vstack",
    "where",
    "zeros",
    "zeros_like",
]
