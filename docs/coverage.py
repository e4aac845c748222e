"""Write docs/coverage.md: what runs each public name of NumPy. `python docs/coverage.py`.

Nothing here is declared. The script calls every function with pending arrays. A function is
*native* if its results (or writes) were recorded and it needed no value; *native, looks* if it
needed values first (for a shape, a dtype, an error); *host* if NumPy made the result; *host,
traced* if it is nevertheless recorded where the arrays are traced.
"""

from __future__ import annotations

import sys
import types
import warnings
from collections.abc import Callable, Iterable
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy

import lazynp as np
from lazynp._cutsites import CutSites
from lazynp._node import OP
from lazynp._policy import Mode
from lazynp._recorder import local

PAGE = Path(__file__).with_name("coverage.md")
# where array functions are counted
COUNTED = ("numpy", "linalg", "fft", "emath", "lib.stride_tricks")
MODULES = (
    *COUNTED, "polynomial", "polynomial.polynomial", "polynomial.chebyshev", "polynomial.legendre",
    "polynomial.laguerre", "polynomial.hermite", "polynomial.hermite_e", "random", "char",
    "strings", "ma", "rec", "testing", "exceptions", "dtypes", "lib", "typing",
)  # fmt: skip

# Functions of dtypes, shapes, texts, settings or this installation, not of arrays.
NO_ARRAYS = set(
    """asmatrix base_repr binary_repr bmat broadcast_shapes busday_count busday_offset
    byte_bounds can_cast datetime_data einsum_path errstate format_float_positional
    format_float_scientific frompyfunc get_include get_printoptions getbufsize geterr geterrcall
    info is_busday isdtype isfortran issubdtype iterable may_share_memory min_scalar_type
    mintypecode nested_iters printoptions promote_types set_printoptions setbufsize seterr
    seterrcall shares_memory show_config show_runtime test typename isscalar iscomplexobj
    isrealobj ndim shape
    size common_type result_type set_default_printstyle add_docstring add_newdoc
    tracemalloc_domain __array_namespace_info__ ndindex c_ r_ s_ index_exp mgrid ogrid""".split()
)


def _pending(value: Any) -> Any:
    """An array that has not been computed."""
    array = np.asarray(numpy.asarray(value))
    return np.where(np.ones(array.shape, bool) * True, array, array)


VALUES: dict[str, Any] = {
    "x": [0.5, 0.25, 0.75, 0.125], "y": [0.75, 1.5, 0.5, 0.25], "i": [3, 1, 2, 1],
    "j": [1, 2, 0, 3], "b": [True, False, True, True], "c": [1j, 2.0, 1 + 1j, 0.5],
    "m": [[4.0, 1.0, 0.5], [1.0, 3.0, 0.25], [0.5, 0.25, 2.0]], "v": [1.0, 2.0, 3.0],
    "h": [1.0, 2.0, 4.0, 8.0], "t": numpy.arange(16.0).reshape(2, 2, 2, 2) ** 1.1,
    "u1": numpy.array([1, 2], "u1"), "o": [0.0, 0.0, 0.0, 0.0], "one": [2.5],
    "n": [1.0, numpy.nan, 2.0, 3.0], "e": numpy.eye(4).reshape(2, 2, 2, 2) + 0.5,
}  # fmt: skip


class Arguments:
    """New pending arrays, by their contents."""

    used = False

    def __getattr__(self, name: str) -> Any:
        self.used = True
        return _pending(VALUES[name])


Call = Callable[[Any, Any], Any]


def _written(x: Any, call: Callable[[Any], Any]) -> Any:
    call(x)
    return x


# Calls for functions that the general attempts below do not suit.
CALLS: dict[str, Call] = {
    "apply_along_axis": lambda f, a: f(lambda r: r.sum(), 0, a.m),
    "apply_over_axes": lambda f, a: f(np.sum, a.m, [0]),
    "arange": lambda f, a: f(4.0),
    "array": lambda f, a: f([a.x[0], 2.0]),
    "asarray_chkfinite": lambda f, a: f(a.x),
    "block": lambda f, a: f([[a.m, a.m]]),
    "choose": lambda f, a: f([0, 1, 0, 1], [a.x, a.y]),
    "clip": lambda f, a: f(a.x, 0.2, 0.5),
    "compress": lambda f, a: f([True, False], a.x),
    "copyto": lambda f, a: _written(a.x, lambda x: f(x, a.y)),
    "diag_indices": lambda f, a: f(3),
    "diag_indices_from": lambda f, a: f(a.m),
    "einsum": lambda f, a: f("ij,j->i", a.m, a.v),
    "empty": lambda f, a: f(3),
    "extract": lambda f, a: f(a.b, a.x),
    "eye": lambda f, a: f(3),
    "fill_diagonal": lambda f, a: _written(a.m, lambda x: f(x, 1.0)),
    "from_dlpack": lambda f, a: f(a.x),
    "frombuffer": lambda f, a: f(bytes(16)),
    "fromfunction": lambda f, a: f(lambda i: i * 2.0, (3,)),
    "fromiter": lambda f, a: f(a.x, float),
    "fromstring": lambda f, a: f("1 2", sep=" "),
    "full": lambda f, a: f(3, a.x[0]),
    "geomspace": lambda f, a: f(a.x[0], 8.0, 4),
    "histogram": lambda f, a: f(a.x, [0, 0.5, 1]),
    "histogram_bin_edges": lambda f, a: f(a.x, 3, (0, 1)),
    "histogram2d": lambda f, a: f(a.x, a.y, [[0, 0.5, 2], [0, 1, 2]]),
    "histogramdd": lambda f, a: f(np.stack([a.x, a.y], 1), [[0, 0.5, 2], [0, 1, 2]]),
    "identity": lambda f, a: f(3),
    "indices": lambda f, a: f((2, 3)),
    "insert": lambda f, a: f(a.x, 1, 2.0),
    "interp": lambda f, a: f(a.x, a.h, a.y),
    "ix_": lambda f, a: f(a.i, a.j),
    "linspace": lambda f, a: f(a.x[0], a.y[0], 5),
    "logspace": lambda f, a: f(a.x[0], 2.0, 4),
    "mask_indices": lambda f, a: f(3, np.triu),
    "meshgrid": lambda f, a: f(a.x, a.y),
    "nditer": lambda f, a: f(a.x),
    "ones": lambda f, a: f(3),
    "pad": lambda f, a: f(a.x, 1),
    "piecewise": lambda f, a: f(a.x, [a.b], [1.0, 0.0]),
    "place": lambda f, a: _written(a.x, lambda x: f(x, a.b, [1.0, 2.0])),
    "put": lambda f, a: _written(a.x, lambda x: f(x, [0, 1], a.y[:2])),
    "put_along_axis": lambda f, a: _written(a.x, lambda x: f(x, np.array([0]), 1.0, 0)),
    "putmask": lambda f, a: _written(a.x, lambda x: f(x, a.b, a.y)),
    "ravel_multi_index": lambda f, a: f((a.j, a.j), (4, 4)),
    "require": lambda f, a: f(a.x, float, "C"),
    "reshape": lambda f, a: f(a.x, (2, 2)),
    "resize": lambda f, a: f(a.x, (2, 3)),
    "rollaxis": lambda f, a: f(a.m, 1),
    "select": lambda f, a: f([a.b], [a.x]),
    "take_along_axis": lambda f, a: f(a.x, np.array([0]), 0),
    "tensorsolve": lambda f, a: f(a.e, a.e[0]),
    "tile": lambda f, a: f(a.x, 2),
    "tri": lambda f, a: f(3),
    "tril_indices": lambda f, a: f(3),
    "triu_indices": lambda f, a: f(3),
    "unravel_index": lambda f, a: f(a.i, (4, 4)),
    "zeros": lambda f, a: f(3),
    "bartlett": lambda f, a: f(5),
    "blackman": lambda f, a: f(5),
    "hamming": lambda f, a: f(5),
    "hanning": lambda f, a: f(5),
    "kaiser": lambda f, a: f(5, 2.0),
    "fftfreq": lambda f, a: f(5),
    "roll": lambda f, a: f(a.x, 1),
    "expand_dims": lambda f, a: f(a.x, 0),
    "take": lambda f, a: f(a.x, [0, 2]),
    "percentile": lambda f, a: f(a.x, 50),
    "nanpercentile": lambda f, a: f(a.n, 50),
    "partition": lambda f, a: f(a.x, 1),
    "argpartition": lambda f, a: f(a.x, 1),
    "digitize": lambda f, a: f(a.x, [0.0, 0.5]),
    "unique_all": lambda f, a: f(a.i),
    "unique_counts": lambda f, a: f(a.i),
    "nonzero": lambda f, a: f(a.i),
    "rfftfreq": lambda f, a: f(5),
    "matrix_power": lambda f, a: f(a.m, 3),
    "multi_dot": lambda f, a: f([a.m, a.m, a.v]),
    "as_strided": lambda f, a: f(a.x, (2,), (16,)),
    "sliding_window_view": lambda f, a: f(a.x, 2),
    "unpackbits": lambda f, a: f(a.u1),
    "isnat": lambda f, a: f(np.array(["2020-01-01"], "M8[D]")),
    "cross": lambda f, a: f(a.v, a.v),
    "array_equiv": lambda f, a: f(a.x, a.y),
    "bincount": lambda f, a: f(a.i, a.x, 4),
    "repeat": lambda f, a: f(a.x, 2),
    "split": lambda f, a: f(a.x, 2),
    "roots": lambda f, a: f(a.h),
    "array_split": lambda f, a: f(a.x, 3),
    "vsplit": lambda f, a: f(a.t, 2),
    "hsplit": lambda f, a: f(a.t, 2),
    "dsplit": lambda f, a: f(a.t, 2),
    "polyder": lambda f, a: f(a.h),
    "polydiv": lambda f, a: f(a.h, a.x),
    "diagonal": lambda f, a: f(a.m),
    "tensorinv": lambda f, a: f(a.e),
    "lexsort": lambda f, a: f((a.x, a.y)),
    "where": lambda f, a: f(a.b, a.x, a.y),
    "concatenate": lambda f, a: f((a.x, a.y)),
    "concat": lambda f, a: f((a.x, a.y)),
    "vander": lambda f, a: f(a.x),
    "broadcast_to": lambda f, a: f(a.x, (2, 4)),
    "trace": lambda f, a: f(a.m),
    "vecdot": lambda f, a: f(a.x, a.y),
    "delete": lambda f, a: f(a.x, 1),
    "rot90": lambda f, a: f(a.m),
    "full_like": lambda f, a: f(a.x, a.y),
    "astype": lambda f, a: f(a.x, "f4"),
    "polyfit": lambda f, a: f(a.x, a.y, 1),
    "gradient": lambda f, a: f(a.x),
    "poly": lambda f, a: f(a.x),
    "polyint": lambda f, a: f(a.x),
    "ldexp": lambda f, a: f(a.x, a.i),
    "power": lambda f, a: f(a.x, a.y),
    "pow": lambda f, a: f(a.x, a.y),
    "cov": lambda f, a: f(a.m),
    "nanmedian": lambda f, a: f(a.n),
}
ATTEMPTS: list[Call] = [
    lambda f, a: f(a.x), lambda f, a: f(a.x, a.y), lambda f, a: f(a.m), lambda f, a: f(a.m, a.v),
    lambda f, a: f(a.i), lambda f, a: f(a.i, a.j), lambda f, a: f(a.x, 0), lambda f, a: f(a.x, 1),
    lambda f, a: f((a.x, a.y)), lambda f, a: f(a.m, 0, 1), lambda f, a: f(a.x, 50),
    lambda f, a: f(a.x, 0.5), lambda f, a: f(a.m, a.m), lambda f, a: f(a.v, a.m),
    lambda f, a: f(a.x, a.y, a.m), lambda f, a: f(a.x, a.y, a.x, a.t[0]), lambda f, a: f(a.b),
    lambda f, a: f(a.x, [1, 1]), lambda f, a: f(a.x, a.y, [1, 1]), lambda f, a: f(a.x, a.y, 1),
    lambda f, a: f(a.x, a.x, a.x, [1, 1, 1]),
]  # fmt: skip


def _arrays(result: Any) -> Iterable[Any]:
    if isinstance(result, np.Array):
        yield result
    elif isinstance(result, (list, tuple)):
        for r in result:
            yield from _arrays(r)


def run(name: str, function: Any) -> str:
    """How the function computes: native; native, looks; host. Empty if no call succeeded."""
    limit = local.recorder.limit
    try:
        return _run(name, function)
    finally:
        local.recorder.limit = limit
        local.recorder.reset_policy()


def _run(name: str, function: Any) -> str:
    attempts = [CALLS[name]] if name in CALLS else ATTEMPTS
    for attempt in attempts:
        local.recorder.pending.clear()
        local.recorder.sites = CutSites()  # no loop has been seen
        local.recorder.reset_policy()
        local.recorder.policy.mode = Mode.RECORD  # also what is small
        local.recorder.choose()
        local.recorder.limit = sys.maxsize  # flush only when a value is needed
        cuts = np.stats().cuts
        try:
            arguments = Arguments()
            result = attempt(function, arguments)
        except Exception:  # the function does not accept these arguments
            continue
        looked = np.stats().cuts > cuts
        nodes = [x._read() for x in _arrays(result)]
        if not nodes:
            return "" if result is None else "host"
        if all(n[OP] is not None for n in nodes):
            return "native, looks" if looked else "native"
        if not arguments.used:
            return "no arrays"
        return "host, traced" if _traced(attempt, function) else "host"
    return ""


def _traced(attempt: Call, function: Any) -> bool:
    def call(arrays: dict[str, Any]) -> list[Any]:
        return list(_arrays(attempt(function, types.SimpleNamespace(**arrays))))

    try:
        jaxpr = np.make_jaxpr(call)({k: np.asarray(v) for k, v in VALUES.items()})
    except Exception:  # it needs values
        return False
    read = {a for eqn in jaxpr.eqns for a in eqn.inputs}
    return not read.isdisjoint(jaxpr.inputs)


# The axes of the arrays whose sizes are not known while a function is traced.
AXES: dict[str, dict[int, str]] = {
    **dict.fromkeys("xyijbchon", {0: "n"}), "m": {0: "k", 1: "k"}, "v": {0: "k"},
}  # fmt: skip


def takes_sizes(name: str, function: Any) -> bool:
    """Whether the function is traced for arrays whose sizes are not known."""
    axes = tuple([AXES.get(k, {}) for k in VALUES])

    def taken(attempt: Call) -> bool:
        used: set[str] = set()

        def call(*arrays: Any) -> list[Any]:
            given = dict(zip(VALUES, arrays, strict=True))
            asked = type("Asked", (), {"__getattr__": lambda _, k: used.add(k) or given[k]})()
            return list(_arrays(attempt(function, asked)))

        try:
            call(*map(np.asarray, VALUES.values()))
            np.make_jaxpr(call, abstracted_axes=axes)(*map(numpy.asarray, VALUES.values()))
        except Exception:  # it does not accept these arguments, or needs a size
            return False
        return not AXES.keys().isdisjoint(used)

    special = SIZED_CALLS.get(name, CALLS.get(name))
    return any(map(taken, ATTEMPTS if special is None else [special]))


_OF_A_SIZE = dict.fromkeys(
    "bartlett blackman empty fftfreq hamming hanning kaiser ones rfftfreq zeros".split(),
    lambda f, a: f(a.x.shape[0], *[1.0] * (f.__name__ == "kaiser")),
)
# Calls for functions that neither `CALLS` nor the attempts suit if sizes are not known.
SIZED_CALLS: dict[str, Call] = {
    **_OF_A_SIZE,
    "apply_along_axis": lambda f, a: f(lambda r: r.sum(), 0, a.x),
    "broadcast_to": lambda f, a: f(2.0, a.x.shape),
    "choose": lambda f, a: f(a.b, [a.x, a.y]),
    "compress": lambda f, a: f(a.b, a.x),
    "cov": lambda f, a: f(a.x),
    "fftshift": lambda f, a: f(a.x),
    "fromfunction": lambda f, a: f(lambda i: i * 2.0, a.x.shape),
    "geomspace": lambda f, a: f(1.0, 8.0, a.x.shape[0]),
    "hsplit": lambda f, a: f(a.x, [1]),
    "ifftshift": lambda f, a: f(a.x),
    "insert": lambda f, a: f(a.x, 1, 2.0),
    "interp": lambda f, a: f(a.x, a.h, a.y),
    "polyval": lambda f, a: f(VALUES["v"], a.x),
    "split": lambda f, a: f(a.x, [1]),
    "unpackbits": lambda f, a: f(a.i.astype("u1")),
    "vsplit": lambda f, a: f(a.m, [1]),
}


def sizes(found: dict[str, dict[str, list[str]]]) -> list[tuple[str, list[str], list[str]]]:
    """By module, the array functions that take arrays of unknown sizes, and those that do not."""
    rows = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for module in SIZED:
            ours = np if module == "numpy" else import_module(f"lazynp.{module}")
            every = sorted(n for k in ("native", "native, looks") for n in found[module].get(k, ()))
            taken = [n for n in every if takes_sizes(n, getattr(ours, n))]
            rows.append((module, taken, [n for n in every if n not in taken]))
    return rows


SIZED = ("numpy", "linalg", "fft")


def kind(module: str, name: str, found: Any) -> str:
    """The kind of a module's name."""
    if isinstance(found, types.ModuleType):
        return "module"
    if isinstance(found, type):
        return "type"
    if not callable(found) and name not in NO_ARRAYS:
        return "constant"
    if name in NO_ARRAYS:
        return "no arrays"
    if module not in MODULES or module in ("random", "ma", "rec", "char", "strings", "testing"):
        return "host"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return run(name, found) or "host"


def names(module: str) -> list[str]:
    theirs = import_module("numpy" if module == "numpy" else f"numpy.{module}")
    return sorted(getattr(theirs, "__all__", None) or [n for n in dir(theirs) if n[0] != "_"])


def table() -> dict[str, dict[str, list[str]]]:
    """Names by module and kind."""
    found: dict[str, dict[str, list[str]]] = {}
    with np.config(execution="reference", max_pending=sys.maxsize):
        for module in MODULES:
            ours = np if module == "numpy" else import_module(f"lazynp.{module}")
            rows = found[module] = {}
            theirs = numpy.emath.__all__ if module == "emath" else names(module)
            for name in sorted(theirs):
                what = kind(module, name, getattr(ours, name)) if hasattr(ours, name) else "missing"
                rows.setdefault(what, []).append(name)
    return found


def share(found: dict[str, dict[str, list[str]]]) -> tuple[int, int]:
    """The number of native array functions, and of all array functions, in the counted modules."""
    count = {k: sum(len(found[m].get(k, ())) for m in COUNTED) for k in KINDS}
    native = count["native"] + count["native, looks"]
    return native, native + count["host"] + count["host, traced"]


KINDS = (
    "native", "native, looks", "host, traced", "host", "no arrays", "constant", "type", "module",
    "missing",
)  # fmt: skip


def of_sizes(found: dict[str, dict[str, list[str]]]) -> list[str]:
    """The section on arrays of unknown sizes."""
    lines = [
        "",
        "## Arrays of unknown sizes",
        "",
        "Where `abstracted_axes` names sizes ([one trace for all sizes](tutorial-dimensions.md)),",
        "these native functions are traced. Another one raises a TypeError that names it.",
        "",
    ]
    for module, taken, not_taken in sizes(found):
        for what, them in (("traced", taken), ("not yet", not_taken)):
            if them:
                lines.append(f"- {module}, {what}: " + ", ".join(f"`{n}`" for n in them))
    return lines


def page(found: dict[str, dict[str, list[str]]]) -> str:
    native, total = share(found)
    lines = [
        "# What runs each name of NumPy",
        "",
        "`docs/coverage.py` writes this page. It calls every function with pending arrays.",
        "**native**: the result was recorded, and no value was needed. **native, looks**: the",
        "result was recorded, but the function needed values before it returned, for a shape, a",
        "dtype or an error that depends on data. **host**: NumPy computes the result. **host,",
        "traced**: NumPy computes the result from values; `jit`, `grad` and `vmap` record it.",
        "**no arrays**: the function takes none. It concerns dtypes, shapes, texts or settings,",
        "or makes an array of numbers.",
        "",
        f"Of {total} array functions of {', '.join(COUNTED)}, {native} are native: "
        f"{100 * native / total:.0f} %. (Names are those of NumPy {numpy.__version__[:3]}.)",
        "",
        "| module | " + " | ".join(KINDS) + " |",
        "|---|" + "---|" * len(KINDS),
    ]
    for module, rows in found.items():
        lines.append(f"| {module} | " + " | ".join(str(len(rows.get(k, ()))) for k in KINDS) + " |")
    lines += of_sizes(found)
    for module, rows in found.items():
        lines += ["", f"## {module}", ""]
        for k in KINDS:
            if rows.get(k):
                lines.append(f"- {k}: " + ", ".join(f"`{n}`" for n in rows[k]))
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(table()), encoding="utf-8")
