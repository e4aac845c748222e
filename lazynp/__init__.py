"""NumPy, lazy: `import lazynp as np`.

`from lazynp import *` gives NumPy's names and nothing else. What lazynp adds (`explain`,
`materialize`, `grad`, `vmap`, `jit`, `config`, `stats`, ...) is reached by attribute.

`from .x import name as name` is an export to type checkers and editors. `_unchanged` has NumPy's
own types and constants, `_routines` its functions but for the ufuncs, which are here.
"""

from importlib import import_module as _import_module
from typing import TYPE_CHECKING as _TYPE_CHECKING

from lazynp import _supported as _supported  # isort: skip  # before all that relies on it
from lazynp._collector import set_aside as _set_aside  # isort: skip  # the collector waits from here

import numpy as _numpy
from numpy import ndarray as ndarray

from lazynp import (
    _methods as _methods,
    _promotion as _promotion,
    _protocols as _protocols,
    dtypes as dtypes,
    emath as emath,
    exceptions as exceptions,
    fft as fft,
    lib as lib,
    linalg as linalg,
    transforms as transforms,
    tree as tree,
)
from lazynp._array import (
    Array as Array,
    NDArray as _NDArray,
    Scalar as Scalar,
)
from lazynp._config import config as config
from lazynp._devices import Device as Device, devices as devices
from lazynp._errors import DeviceError as DeviceError, DistributedError as DistributedError
from lazynp._errstate import (
    errstate as errstate,
    seterr as seterr,
)
from lazynp._fronts import fastpath as _fastpath
from lazynp._processes import process_count as process_count, process_index as process_index
from lazynp._routines import *  # noqa: F403
from lazynp._script import (
    install as install,
    load_ipython_extension as load_ipython_extension,
    uninstall as uninstall,
    unload_ipython_extension as unload_ipython_extension,
)
from lazynp._shardings import (
    Mesh as Mesh,
    NamedSharding as NamedSharding,
    PartitionSpec as PartitionSpec,
    Sharding as Sharding,
    SingleDeviceSharding as SingleDeviceSharding,
    make_mesh as make_mesh,
    set_mesh as set_mesh,
)
from lazynp._unchanged import *  # noqa: F403
from lazynp._version import __version__ as __lazynp_version__  # noqa: F401
from lazynp.functions._casts import bind_in as _bind_dtypes_in
from lazynp.functions._dispatch import make_overridable as _make_overridable
from lazynp.functions._json import hook as _hook_json
from lazynp.functions._numba import hook as _hook_numba
from lazynp.functions._numpys_classes import hook as _hook_classes
from lazynp.functions._packages import hook as _hook_packages
from lazynp.functions._pandas import hook as _hook_pandas
from lazynp.functions._superlu import hook as _hook_superlu
from lazynp.functions._ufunc import ufunc as ufunc
from lazynp.functions.assembled import (
    make_array_from_callback as make_array_from_callback,
    make_array_from_process_local_data as make_array_from_process_local_data,
)
from lazynp.functions.functional import (
    adopt as adopt,
    associative_scan as associative_scan,
)
from lazynp.functions.placement import (
    __array_namespace_info__ as __array_namespace_info__,
    default_device as default_device,
    device_count as device_count,
    device_get as device_get,
    device_put as device_put,
    local_device_count as local_device_count,
    local_devices as local_devices,
    with_sharding_constraint as with_sharding_constraint,
)
from lazynp.functions.profiling import profile as profile
from lazynp.functions.tools import (
    explain as explain,
    materialize as materialize,
    stats as stats,
    writable as writable,
)
from lazynp.functions.ufuncs import (
    abs as abs,
    absolute as absolute,
    acos as acos,
    acosh as acosh,
    add as add,
    arccos as arccos,
    arccosh as arccosh,
    arcsin as arcsin,
    arcsinh as arcsinh,
    arctan as arctan,
    arctan2 as arctan2,
    arctanh as arctanh,
    asin as asin,
    asinh as asinh,
    atan as atan,
    atan2 as atan2,
    atanh as atanh,
    bitwise_and as bitwise_and,
    bitwise_count as bitwise_count,
    bitwise_invert as bitwise_invert,
    bitwise_left_shift as bitwise_left_shift,
    bitwise_not as bitwise_not,
    bitwise_or as bitwise_or,
    bitwise_right_shift as bitwise_right_shift,
    bitwise_xor as bitwise_xor,
    cbrt as cbrt,
    ceil as ceil,
    conj as conj,
    conjugate as conjugate,
    copysign as copysign,
    cos as cos,
    cosh as cosh,
    deg2rad as deg2rad,
    degrees as degrees,
    divide as divide,
    divmod as divmod,
    equal as equal,
    exp as exp,
    exp2 as exp2,
    expm1 as expm1,
    fabs as fabs,
    float_power as float_power,
    floor as floor,
    floor_divide as floor_divide,
    fmax as fmax,
    fmin as fmin,
    fmod as fmod,
    frexp as frexp,
    gcd as gcd,
    greater as greater,
    greater_equal as greater_equal,
    heaviside as heaviside,
    hypot as hypot,
    invert as invert,
    isfinite as isfinite,
    isinf as isinf,
    isnan as isnan,
    isnat as isnat,
    lcm as lcm,
    ldexp as ldexp,
    left_shift as left_shift,
    less as less,
    less_equal as less_equal,
    log as log,
    log1p as log1p,
    log2 as log2,
    log10 as log10,
    logaddexp as logaddexp,
    logaddexp2 as logaddexp2,
    logical_and as logical_and,
    logical_not as logical_not,
    logical_or as logical_or,
    logical_xor as logical_xor,
    maximum as maximum,
    minimum as minimum,
    mod as mod,
    modf as modf,
    multiply as multiply,
    negative as negative,
    nextafter as nextafter,
    not_equal as not_equal,
    positive as positive,
    pow as pow,
    power as power,
    rad2deg as rad2deg,
    radians as radians,
    reciprocal as reciprocal,
    remainder as remainder,
    right_shift as right_shift,
    rint as rint,
    sign as sign,
    signbit as signbit,
    sin as sin,
    sinh as sinh,
    spacing as spacing,
    sqrt as sqrt,
    square as square,
    subtract as subtract,
    tan as tan,
    tanh as tanh,
    true_divide as true_divide,
    trunc as trunc,
)

if _TYPE_CHECKING:  # what is loaded when it is asked for: see `__getattr__`
    from lazynp import (
        array_api as array_api,
        char as char,
        ctypeslib as ctypeslib,
        distributed as distributed,
        ma as ma,
        pallas as pallas,
        polynomial as polynomial,
        random as random,
        rec as rec,
        special as special,
        strings as strings,
        testing as testing,
        typing as typing,
    )
    from lazynp.transforms import (
        ShapeDtype as ShapeDtype,
        all_gather as all_gather,
        all_to_all as all_to_all,
        axis_index as axis_index,
        axis_size as axis_size,
        check_grads as check_grads,
        checkpoint as checkpoint,
        cond as cond,
        custom_jvp as custom_jvp,
        custom_vjp as custom_vjp,
        debug_callback as debug_callback,
        debug_nans as debug_nans,
        debug_print as debug_print,
        disable_jit as disable_jit,
        eval_jaxpr as eval_jaxpr,
        eval_shape as eval_shape,
        fori_loop as fori_loop,
        grad as grad,
        hessian as hessian,
        hvp as hvp,
        jac_sparse as jac_sparse,
        jacfwd as jacfwd,
        jacrev as jacrev,
        jit as jit,
        jvp as jvp,
        linear_transpose as linear_transpose,
        linearize as linearize,
        make_jaxpr as make_jaxpr,
        map as map,
        pmax as pmax,
        pmean as pmean,
        pmin as pmin,
        ppermute as ppermute,
        psum as psum,
        psum_scatter as psum_scatter,
        pure_callback as pure_callback,
        scan as scan,
        shard_map as shard_map,
        stop_gradient as stop_gradient,
        switch as switch,
        value_and_grad as value_and_grad,
        vjp as vjp,
        vmap as vmap,
        while_loop as while_loop,
    )

# Type checkers see NumPy's class, which lazy arrays pass for: annotations give it type arguments.
globals()["ndarray"] = _NDArray
block_until_ready = materialize  # JAX's name

# these names belong to the transformations too, but depend on higher layers
transforms.adopt, transforms.tree = adopt, tree
transforms.associative_scan, transforms.block_until_ready = associative_scan, block_until_ready


_MODULES = frozenset({
    "array_api", "char", "ctypeslib", "distributed", "ma", "pallas", "polynomial", "random", "rec",
    "special", "strings", "testing", "typing",
})  # fmt: skip

_TRANSFORMS = frozenset(transforms.__all__) - {"DBIdx", "InDBIdx", "OutDBIdx", *globals()}
transforms.when_loaded.append(
    lambda names: globals().update({name: names[name] for name in _TRANSFORMS})
)


def __getattr__(name):
    """Modules and transformations that are loaded when they are asked for, here or by NumPy
    (`f2py`), and NumPy's private names."""
    if name in _MODULES or name == "matlib":  # which `dir` leaves out, as that of NumPy
        return _import_module(f"lazynp.{name}")
    if name in _TRANSFORMS:
        return getattr(transforms, name)
    try:
        return getattr(_numpy, name)
    except AttributeError as error:  # NumPy's message for removed names says what to use
        raise AttributeError(str(error).replace("module 'numpy'", "module 'lazynp'")) from None


__version__ = _numpy.__version__  # NumPy's version, because programs use it for feature checks
__array_api_version__ = _numpy.__array_api_version__

# A name that this version of NumPy has and lazynp has not is NumPy's: see `__getattr__`.
__all__: list[str] = []
__all__ += _numpy.__all__

if not hasattr(_numpy, "row_stack"):  # as since NumPy 2.5
    del globals()["row_stack"]

_make_overridable(globals(), _numpy)
_hook_json()
_hook_pandas()
_hook_packages()
_hook_numba()
_hook_superlu()
_hook_classes(_numpy.matrix, _numpy.memmap, _numpy.recarray)

_bind_dtypes_in(globals())


def __dir__():
    return sorted({*globals(), *_MODULES, *_TRANSFORMS})


_set_aside(getattr(_fastpath, "track_again", None), getattr(_fastpath, "before_full", None))
