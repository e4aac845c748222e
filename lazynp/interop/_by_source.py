"""SciPy's functions that only compose NumPy's: their own source, run on lazynp.

A function is copied, with all functions of its module, into a scope where numpy is lazynp. So
SciPy's module stays as it is, for other threads too. What a function asks for as it runs, as in
`if x.min() <= 0`, has a value under grad, jvp and jacfwd, and none under jit and vmap: some of
these functions work there, and some do not.
"""

from __future__ import annotations

import functools
import inspect
import sys
import types
from collections.abc import Callable
from typing import Any

import lazynp as np
from lazynp.functions.functional import counterpart
from lazynp.interop import math as traced_math
from lazynp.interop._calls import is_traced, only, refuse

Function = Callable[..., Any]

# module -> the functions
PLAIN = {
    "scipy.integrate": "newton_cotes",
    "scipy.interpolate": "pchip_interpolate",
    "scipy.linalg": "diagsvd",
    "scipy.ndimage": "sum sum_labels mean maximum minimum variance standard_deviation median "
    "labeled_comprehension extrema",
    "scipy.optimize": "rosen rosen_der rosen_hess rosen_hess_prod",
    "scipy.signal": "freqs deconvolve hilbert2 wiener istft lombscargle gausspulse chirp sawtooth "
    "square zpk2tf cont2discrete vectorstrength envelope group_delay tf2zpk "
    "bilinear firwin butter cheby1 cheby2 ellip bessel iirfilter iirpeak iirnotch",
    "scipy.spatial": "distance_matrix procrustes geometric_slerp",
    "scipy.spatial.distance": "jensenshannon",
    "scipy.sparse.csgraph": "laplacian",
}
# of scipy.stats: what they are asked for besides stands in a decorator
SAMPLES = (
    "wasserstein_distance bartlett boxcox yeojohnson energy_distance gzscore levene kstat kstatvar "
    "differential_entropy circmean circvar circstd directional_stats combine_pvalues lmoment "
    "scoreatpercentile tmin tmax ttest_ind ttest_rel ttest_1samp chisquare power_divergence "
    "describe theilslopes pmean gstd tstd tvar tsem sigmaclip alexandergovern brunnermunzel "
    "expectile obrientransform jarque_bera skewtest kurtosistest normaltest f_oneway "
    "boxcox_llf yeojohnson_llf"
)


def _namespace(*arrays: Any, **options: Any) -> Any:
    return np


def _number(x: Any) -> Any:
    """`float`, where its argument may be traced."""
    return np.asarray(x) if is_traced(x) else float(x)


def _array(x: Any, dtype: Any = None, **options: Any) -> Any:
    return np.asarray(x, dtype)


class _Extra:
    """array_api_extra, whose `at` would write numbers."""

    def __init__(self, extra: Any) -> None:
        self._extra = extra

    def at(self, x: Any, *index: Any) -> Any:
        return self._extra.at(np.asarray(x), *index)

    @staticmethod
    def apply_where(
        where: Any, args: Any, first: Function, second: Any = None, *, fill_value: Any = None,
        **options: Any,
    ) -> Any:  # fmt: skip
        args = args if type(args) is tuple else (args,)
        return np.where(where, first(*args), fill_value if second is None else second(*args))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._extra, name)


# helpers of SciPy's that many of its modules import
_INSTEAD = {
    "array_namespace": lambda _: _namespace, "is_numpy": lambda _: lambda xp: True,
    "_asarray": lambda _: _array, "xpx": _Extra, "math": lambda _: traced_math,
    "np_compat": lambda _: np,
}  # fmt: skip
# functions that get no traced argument, and are more than compositions
_KEPT = {"scipy.signal._filter_design": ("besselap",)}
_OF_MODULES = {
    "scipy.signal._waveforms": {"float": _number},
    "scipy.signal._filter_design": {"float": _number},
}


@functools.cache
def _scope(home: str) -> dict[str, Any]:
    """The globals of a module, with lazynp for numpy and copies of the functions."""
    plain = vars(sys.modules[home])
    scope: dict[str, Any] = {}
    kept = _KEPT.get(home, ())
    for name, value in plain.items():
        found = counterpart(value)
        if found is None and isinstance(value, types.FunctionType) and name not in kept:
            inner: Any = inspect.unwrap(value) if name.startswith("_") else value
            found = _in_scope(inner, scope) if inner.__globals__ is plain else None
        scope[name] = value if found is None else found
    for name, value in plain.items():
        if type(value) is dict and value and all(map(_has_functions, value.values())):
            scope[name] = {k: [scope.get(f.__name__, f) for f in v] for k, v in value.items()}
    scope.update({k: make(plain[k]) for k, make in _INSTEAD.items() if k in plain})
    scope.update(_OF_MODULES.get(home, {}))
    return scope


def _has_functions(x: Any) -> bool:
    return type(x) is list and all([isinstance(f, types.FunctionType) for f in x])


def _in_scope(function: Any, scope: dict[str, Any]) -> Function:
    found = types.FunctionType(
        function.__code__, scope, function.__name__, function.__defaults__, function.__closure__
    )
    found.__kwdefaults__ = function.__kwdefaults__
    return found


def _copied(original: Function) -> Function:
    inner: Any = inspect.unwrap(original)
    return _in_scope(inner, _scope(inner.__module__))


def plain(original: Function) -> Function:
    """SciPy's function, on lazynp."""
    return lambda *args, **kwargs: _copied(original)(*args, **kwargs)


def of_samples(original: Function) -> Function:
    """The same of scipy.stats. Where a decorator takes samples of several axes apart, one axis is
    required, or axis=, if the function within knows it.
    """
    name = original.__name__
    apart = "keepdims" in inspect.signature(original).parameters

    def ours(
        *args: Any, nan_policy: Any = "propagate", keepdims: Any = False, **kwargs: Any
    ) -> Any:
        only(name, nan_policy=(nan_policy, "propagate"), keepdims=(keepdims, False))
        function = _copied(original)
        if apart and any(getattr(x, "ndim", 0) > 1 for x in (*args, *kwargs.values())):
            given = inspect.signature(function).bind(*args, **kwargs)
            given.apply_defaults()
            if given.arguments.get("axis") is None:
                refuse(name, "samples of several axes without axis=, an integer")
        return function(*args, **kwargs)

    return ours


def _rows(names: str, kind: Function) -> dict[str, Function]:
    return dict.fromkeys(names.split(), kind)


def functions() -> dict[str, dict[str, Function]]:
    """Module -> name -> what makes ours of SciPy's."""
    rows = [(place, names, plain) for place, names in PLAIN.items()]
    rows.append(("scipy.stats", SAMPLES, of_samples))
    return {place: _rows(names, kind) for place, names, kind in rows}
