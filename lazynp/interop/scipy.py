"""SciPy's functions of traced arrays: which of ours stands for which of SciPy's, and the hook.

`hook` replaces names of SciPy's modules by functions that look at their arguments. If a
transformation traces one, ours is called; else SciPy's own, as before. So only calls change that
were errors. SciPy is never imported here: modules that load later are hooked when they have loaded.
"""

from __future__ import annotations

import difflib
import functools
import sys
import threading
from collections.abc import Callable, Sequence
from types import FunctionType
from typing import Any

from lazynp._recorder import local
from lazynp.functions import functional
from lazynp.functions._loaded import forget, when_loaded
from lazynp.interop import (
    _active_sets as active_sets,
    _by_source as by_source,
    _curves as curves,
    _distances as distances,
    _factors as factors,
    _filters as filters,
    _forms as forms,
    _fourier as fourier,
    _grids as grids,
    _integrals as integrals,
    _linalg as linalg,
    _linalg_more as linalg_more,
    _linear as linear,
    _matrix_functions as matrix,
    _moments as moments,
    _piecewise as piecewise,
    _quadrature as quadrature,
    _rotations as rotations,
    _samples as samples,
    _searches as searches,
    _signals as signals,
    _sparse_systems as sparse,
    _special as special,
    _special_more as special_more,
    _spectra as spectra,
    _splines as splines,
    _stats as stats,
    _summaries as summaries,
    _vectors as vectors,
    _warps as warps,
)
from lazynp.interop._calls import any_traced

Function = Callable[..., Any]


def _named(room: Any, names: str) -> dict[str, Function]:
    return {name: getattr(room, name) for name in names.split()}


# module -> name -> ours, called with the same arguments
FUNCTIONS: dict[str, dict[str, Function]] = {
    "scipy.linalg": _named(
        linalg,
        "inv pinv solve lstsq solve_triangular solve_toeplitz cholesky cho_factor cho_solve lu "
        "lu_factor lu_solve qr svd svdvals eigh eigvalsh eig eigvals det norm toeplitz circulant "
        "hankel block_diag",
    )
    | _named(
        linalg_more,
        "solve_discrete_lyapunov solve_continuous_are solve_discrete_are expm_frechet "
        "fractional_matrix_power polar orthogonal_procrustes pinvh eigh_tridiagonal "
        "eigvalsh_tridiagonal solveh_banded solve_circulant matmul_toeplitz convolution_matrix "
        "companion leslie khatri_rao fiedler",
    )
    | _named(factors, "rq cholesky_banded cho_solve_banded signm")
    | _named(forms, "schur hessenberg ldl null_space orth funm")
    | {name: forms.without(name, instead) for name, instead in forms.WITHOUT.items()}
    | _named(matrix, "solve_banded solve_sylvester solve_continuous_lyapunov")
    | {
        name: matrix.matrix_function(name)
        for name in "expm logm sqrtm sinm cosm tanm sinhm coshm tanhm".split()
    },
    "scipy.special": _named(
        special, "logsumexp softmax log_softmax factorial multigammaln comb perm"
    )
    | special_more.FUNCTIONS,
    "scipy.integrate": _named(
        quadrature, "trapezoid simpson cumulative_trapezoid cumulative_simpson"
    ),
    "scipy.ndimage": _named(
        filters,
        "convolve correlate convolve1d correlate1d gaussian_filter gaussian_filter1d "
        "uniform_filter uniform_filter1d laplace sobel prewitt map_coordinates gaussian_laplace "
        "gaussian_gradient_magnitude",
    )
    | _named(linear, "rank_filter percentile_filter")
    | {n: linear.order_filter(n) for n in ("minimum_filter", "maximum_filter", "median_filter")},
    "scipy.signal": _named(
        signals,
        "convolve correlate fftconvolve oaconvolve convolve2d correlate2d lfilter sosfilt freqz",
    )
    | _named(spectra, "welch periodogram csd coherence stft spectrogram")
    | {"medfilt": linear.median_of_odd, "medfilt2d": linear.median_of_odd},
    "scipy.interpolate": {n: curves.fitted(n) for n in ("make_interp_spline", "make_lsq_spline")}
    | {
        "splev": curves.splev,
        "splrep": piecewise.splrep,
        "make_smoothing_spline": piecewise.smoothing,
        "interpn": grids.interpn,
    },
    "scipy.spatial.distance": _named(distances, "cdist pdist squareform")
    | {
        name: distances.between(name)
        for name in "euclidean sqeuclidean cityblock chebyshev minkowski cosine correlation "
        "canberra braycurtis seuclidean mahalanobis".split()
    },
    "scipy.stats": _named(
        summaries, "zscore zmap gmean hmean moment skew kurtosis sem variation entropy"
    )
    | _named(
        samples,
        "iqr median_abs_deviation trim_mean pearsonr spearmanr kendalltau linregress",
    ),
    "scipy.sparse": {n: sparse.diagonals(n) for n in ("diags", "diags_array", "spdiags")}
    | {n: sparse.blocks(n) for n in ("bmat", "block_array", "vstack", "hstack", "block_diag")}
    | {"kron": sparse.kron},
    "scipy.sparse.linalg": _named(sparse, "spsolve factorized splu"),
    "scipy.fft": {
        name: fourier.transform(name) for name in "fft ifft rfft irfft hfft ihfft".split()
    }
    | {
        name: fourier.transform_of_many(name)
        for name in "fft2 ifft2 rfft2 irfft2 fftn ifftn rfftn irfftn".split()
    }
    | {name: fourier.cosine(name) for name in "dct idct dst idst".split()}
    | {name: fourier.cosine_of_many(name) for name in "dctn idctn dstn idstn".split()},
}

# module -> name -> what makes ours of SciPy's: it is linear in an argument, along an axis or not
LINEAR: dict[str, dict[str, Function]] = {
    "scipy.signal": {
        name: functools.partial(linear.along_axis, argument=argument)
        for argument, names in (
            (
                "x",
                "savgol_filter filtfilt sosfiltfilt hilbert resample resample_poly decimate "
                "upfirdn czt",
            ),
            ("data", "detrend"),
        )
        for name in names.split()
    },
    "scipy.ndimage": {n: warps.warp(n) for n in ("shift", "zoom", "rotate", "affine_transform")}
    | {"spline_filter": linear.of_whole}
    | {"spline_filter1d": functools.partial(linear.along_axis, argument="input")},
    "scipy.integrate": {"romb": functools.partial(linear.along_axis, argument="y")},
    "scipy.interpolate": {"griddata": functools.partial(linear.of_whole, argument="values")},
}

# class -> method -> ours; NotImplemented means SciPy's
_CONTINUOUS = "scipy.stats._distn_infrastructure:rv_continuous"
_DISCRETE = "scipy.stats._distn_infrastructure:rv_discrete"
METHODS: dict[str, dict[str, Function]] = {
    _CONTINUOUS: {n: stats.density(n) for n in ("pdf", "logpdf")}
    | {n: stats.cumulative(n) for n in ("cdf", "logcdf", "sf", "logsf")}
    | {n: stats.quantile(n) for n in ("ppf", "isf")}
    | {n: moments.moment_of(n) for n in ("mean", "var", "std", "entropy")}
    | {"median": moments.median},
    _DISCRETE: {n: stats.density(n, True) for n in ("pmf", "logpmf")}
    | {n: stats.cumulative(n, True) for n in ("cdf", "logcdf", "sf", "logsf")}
    | {n: moments.moment_of(n, True) for n in ("mean", "var", "std")},
    "scipy.stats._distn_infrastructure:rv_frozen": {"__init__": stats.frozen},
    "scipy.stats._multivariate:multivariate_normal_gen": {
        "logpdf": stats.normal_of_vectors(True),
        "pdf": stats.normal_of_vectors(False),
        "cdf": stats.cumulative_of_vectors(False),
        "logcdf": stats.cumulative_of_vectors(True),
        "__call__": stats.frozen_normal,
    },
    "scipy.stats._multivariate:multivariate_normal_frozen": {
        "logpdf": stats.density_of_frozen(True),
        "pdf": stats.density_of_frozen(False),
        "cdf": stats.cumulative_of_frozen(False),
        "logcdf": stats.cumulative_of_frozen(True),
    },
    "scipy.stats._multivariate:dirichlet_gen": {
        "logpdf": stats.log_dirichlet,
        "pdf": stats.dirichlet_density,
        "__call__": vectors.frozen(functools.partial(stats.log_dirichlet, None)),
    },
    "scipy.stats._multivariate:multinomial_gen": {
        "logpmf": stats.log_multinomial,
        "pmf": stats.multinomial_mass,
        "__call__": vectors.frozen(functools.partial(stats.log_multinomial, None)),
    },
    "scipy.interpolate._cubic:CubicSpline": {"__init__": splines.cubic},
    "scipy.interpolate._cubic:PchipInterpolator": {"__init__": grids.pchip},
    "scipy.interpolate._cubic:CubicHermiteSpline": {"__init__": piecewise.hermite},
    "scipy.interpolate._cubic:Akima1DInterpolator": {"__init__": piecewise.akima},
    "scipy.interpolate._interpolate:_PPolyBase": {"__init__": piecewise.made},
    "scipy.interpolate._interpolate:PPoly": {"__init__": piecewise.made},
    "scipy.interpolate._rgi:RegularGridInterpolator": {"__init__": grids.regular_grid},
    "scipy.interpolate._interpolate:interp1d": {"__init__": splines.interp1d},
    "scipy.interpolate._bsplines:BSpline": {"__init__": curves.spline},
    "scipy.interpolate._rbfinterp:RBFInterpolator": {"__init__": curves.radial},
    "scipy.interpolate._fitpack2:UnivariateSpline": {"__init__": piecewise.univariate},
    "scipy.interpolate._fitpack2:InterpolatedUnivariateSpline": {
        "__init__": piecewise.interpolating
    },
    "scipy.interpolate._fitpack2:_BivariateSplineBase": {"__call__": curves.bivariate_at},
    "scipy.interpolate._fitpack2:BivariateSpline": {"ev": curves.bivariate_ev},
    "scipy.stats._kde:gaussian_kde": {"__init__": samples.density_estimate},
    "scipy.spatial.transform._rotation:Rotation": {"apply": rotations.applies},
    "scipy.sparse._base:_spbase": {
        "_matmul_dispatch": sparse.product,
        "_rmatmul_dispatch": sparse.product_from_the_left,
        "multiply": sparse.scaled,
    },
    "scipy.sparse._coo:_coo_base": {
        "_matmul_dispatch": sparse.product,
        "_rmatmul_dispatch": sparse.product_from_the_left,
        "__init__": sparse.made,
    },
    "scipy.sparse._compressed:_cs_matrix": {"__init__": sparse.made, "multiply": sparse.scaled},
    "scipy.sparse._dia:_dia_base": {"__init__": sparse.made},
}
METHODS |= vectors.methods()
# asked at every call: what they need may be in the object, or in what a function closes over
ALWAYS: dict[str, dict[str, Function]] = {
    "scipy.interpolate._interpolate:interp1d": {"__call__": splines.interp1d_at},
    "scipy.interpolate._interpolate:_PPolyBase": {"__call__": splines.piecewise},
    "scipy.interpolate._interpolate:PPoly": {
        "__call__": splines.piecewise,
        "derivative": piecewise.derivative,
        "antiderivative": piecewise.antiderivative,
        "integrate": piecewise.integral,
    },
    "scipy.interpolate._fitpack2:UnivariateSpline": {
        "__call__": piecewise.univariate_at,
        "integral": piecewise.univariate_integral,
        "derivative": piecewise.univariate_derived("derivative"),
        "antiderivative": piecewise.univariate_derived("antiderivative"),
    }
    | {n: piecewise.univariate_untraced(n) for n in ("derivatives", "roots", "get_coeffs")},
    "scipy.interpolate._rgi:RegularGridInterpolator": {"__call__": grids.regular_grid_at},
    "scipy.interpolate._rbfinterp:RBFInterpolator": {"__call__": curves.radial_at},
    "scipy.interpolate._bsplines:BSpline": {
        "__call__": curves.spline_at,
        "integrate": curves.integral,
        "derivative": curves.derived("derivative"),
        "antiderivative": curves.derived("antiderivative"),
    },
    "scipy.stats._kde:gaussian_kde": {
        **dict.fromkeys(("evaluate", "pdf", "__call__"), samples.density_at),
        "logpdf": samples.log_density_at,
        "integrate_box_1d": samples.between,
    }
    | {
        n: samples.unavailable(n)
        for n in (
            "integrate_gaussian",
            "integrate_box",
            "integrate_kde",
            "resample",
            "marginal",
            "set_bandwidth",
        )
    },
}
STATIC: dict[str, dict[str, Function]] = {
    "scipy.spatial.transform._rotation:Rotation": _named(
        rotations, "from_quat from_matrix from_rotvec from_mrp from_euler concatenate"
    )
}
SEARCHES: dict[str, dict[str, Function]] = {
    "scipy.optimize": dict.fromkeys(
        ("brentq", "brenth", "bisect", "ridder", "toms748"), searches.scalar_root
    )
    | _named(
        searches,
        "newton root_scalar root fsolve minimize minimize_scalar least_squares curve_fit",
    )
    | _named(active_sets, "linprog nnls lsq_linear"),
    "scipy.integrate": _named(integrals, "quad quad_vec odeint solve_ivp"),
    "scipy.sparse.linalg": dict.fromkeys(
        "bicg bicgstab cg cgs gcrotmk gmres lgmres minres qmr tfqmr".split(), sparse.iterative
    ),
}
SOURCES = by_source.functions()
_TABLES = (FUNCTIONS, METHODS, ALWAYS, SEARCHES, LINEAR, SOURCES, STATIC)


# -- dispatch --------------------------------------------------------------------------------------


def _function(original: Function, ours: Function) -> Function:
    @functools.wraps(original)
    def dispatched(*args: Any, **kwargs: Any) -> Any:
        if local.level and any_traced(args, kwargs):
            kwargs.pop("_no_deco", None)  # between functions of scipy.stats
            return ours(*args, **kwargs)
        return original(*args, **kwargs)

    return dispatched


def _method(original: Function, ours: Function) -> Function:
    @functools.wraps(original)
    def dispatched(self: Any, *args: Any, **kwargs: Any) -> Any:
        if local.level and any_traced(args, kwargs):
            found = ours(self, *args, **kwargs)
            if found is not NotImplemented:
                return found
        return original(self, *args, **kwargs)

    return dispatched


def _always(original: Function, ours: Function) -> Function:
    @functools.wraps(original)
    def dispatched(self: Any, *args: Any, **kwargs: Any) -> Any:
        found = ours(self, *args, **kwargs)
        return original(self, *args, **kwargs) if found is NotImplemented else found

    return dispatched


def _search(original: Function, ours: Function) -> Function:
    @functools.wraps(original)
    def dispatched(*args: Any, **kwargs: Any) -> Any:
        found = ours(original, *args, **kwargs) if local.level else NotImplemented
        return original(*args, **kwargs) if found is NotImplemented else found

    return dispatched


def _of_original(original: Function, ours: Function) -> Function:
    return _function(original, ours(original))


_DISPATCHERS = (_function, _method, _always, _search, _of_original, _of_original, _function)
_KINDS = dict(zip(map(id, _TABLES), _DISPATCHERS, strict=True))

# -- the hook --------------------------------------------------------------------------------------

_HEAP_TYPE = 1 << 9
_lock = threading.RLock()
_replaced: list[tuple[Any, str, Any, Any]] = []  # owner, name, SciPy's, ours
_done: set[str] = set()
_ours: dict[int, Function] = {}  # id of SciPy's function, which `_replaced` keeps alive


def _replace(owner: Any, name: str, original: Any, ours: Any) -> None:
    inherited = isinstance(owner, type) and name not in vars(owner)
    setattr(owner, name, ours)
    _replaced.append((owner, name, None if inherited else original, ours))


def _changeable(owner: Any) -> bool:
    """Whether attributes can be set: a class of C has none that can."""
    return not isinstance(owner, type) or bool(owner.__flags__ & _HEAP_TYPE)


def _hook_table(place: str, rows: dict[str, Function], kind: Function) -> None:
    module = sys.modules[place.partition(":")[0]]
    owner = getattr(module, place.partition(":")[2], None) if ":" in place else module
    for name, function in rows.items():
        original = getattr(owner, name, None)  # a method may be inherited
        if original is None or not _changeable(owner):  # another version of SciPy
            continue
        ours = kind(original, function)
        if isinstance(owner, type) and isinstance(vars(owner).get(name), staticmethod):
            _replace(owner, name, vars(owner)[name], staticmethod(ours))
            continue
        _ours[id(original)] = ours
        _replace(owner, name, original, ours)
        home = sys.modules.get(getattr(original, "__module__", None) or "")
        if owner is module and home is not module and vars(home or module).get(name) is original:
            _replace(home, name, original, ours)  # so that pickle finds it


def _loaded(module: Any) -> None:
    """Hook a module."""
    with _lock:
        for table in _TABLES:
            for place, rows in table.items():
                key = f"{id(table)} {place}"
                if place.partition(":")[0] == module.__name__ and key not in _done:
                    _done.add(key)
                    _hook_table(place, rows, _KINDS[id(table)])


_MODULES = list(dict.fromkeys([place.partition(":")[0] for table in _TABLES for place in table]))


def hook() -> None:
    """From now on, SciPy's functions of traced arrays are ours. `unhook` ends it."""
    for name in _MODULES:
        when_loaded(name, _loaded)


def unhook() -> None:
    """Give SciPy's modules their own functions again."""
    forget(_loaded)
    with _lock:
        while _replaced:
            owner, name, original, ours = _replaced.pop()
            if vars(owner).get(name) is not ours:  # somebody else has replaced it
                continue
            if original is None:
                delattr(owner, name)
            else:
                setattr(owner, name, original)
        _done.clear()
        _ours.clear()


def counterpart(value: Any) -> Any:
    """What stands for a function of SciPy's that a module imported before the hook; else None."""
    found = _ours.get(id(value)) if isinstance(value, FunctionType) or callable(value) else None
    return found if getattr(found, "__wrapped__", None) is value else None


functional.elsewhere.append(counterpart)


# -- errors ----------------------------------------------------------------------------------------


def _all_names() -> dict[str, list[str]]:
    names: dict[str, list[str]] = {}
    for table in _TABLES:
        for place, rows in table.items():
            public = place.partition("._")[0].partition(":")[0]
            names.setdefault(public, []).extend(rows)
    names["scipy.special"] += special_more.UFUNCS
    return names


def advice(module: str, name: str) -> str:
    """What to do about a SciPy function that took no traced value: `module` is its public one."""
    known = _all_names().get(module, [])
    if name in known and not _replaced:
        return "adopt(f), install() or python -m lazynp give it derivatives"
    near: Sequence[str] = difflib.get_close_matches(name, known, 1, 0.5)
    if near and near[0] != name:
        return f"there is no derivative for it here; the nearest that has one is {module}.{near[0]}"
    return "there is no derivative for it here (docs/derivatives.md lists those there are)"
