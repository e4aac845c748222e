"""Calls of other libraries with lazy arrays in NumPy's place: the same results, types included.

A row is a function of the namespace. What it returns is compared with `repr`.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import numpy
import pytest

import lazynp as np

Row = Callable[..., Any]


def listed(x: Any) -> Any:
    return (numpy.round(numpy.asarray(x, float), 6) + 0.0).tolist()  # -0.0 is 0.0 here


def frame(m: Any, pd: Any) -> Any:
    return pd.DataFrame({"a": m.arange(4.0), "b": m.array([1, 0, 1, 0])})


def assigned(m: Any, pd: Any, value: Any) -> Any:
    made = frame(m, pd)
    made["c"] = value
    return made.dtypes.tolist(), made.values.tolist()


def written_series(m: Any, pd: Any) -> Any:
    """From version 3 on, pandas copies the arrays that it makes Series of."""
    x, flags = m.arange(4.0), m.array([True, False])
    s, t, u = pd.Series(x), pd.Series(x, index=m.arange(4)), pd.Series(flags)
    if int(pd.__version__.partition(".")[0]) < 3:
        return None
    s[0], u[1] = 5, True
    t.loc[2] = 8
    return s.tolist(), t.tolist(), u.tolist(), x.tolist(), flags.tolist()


PANDAS: dict[str, Row] = {
    "written series": written_series,
    "frame": lambda m, pd: (frame(m, pd).dtypes.tolist(), frame(m, pd).values.tolist()),
    "unique": lambda m, pd: listed(pd.unique(m.array([1.0, 2, 1]))),
    "unique of text": lambda m, pd: list(pd.unique(m.array(["a", "b", "a"]).astype(object))),
    "factorize": lambda m, pd: [listed(v) for v in pd.factorize(m.array([1.0, 2, 1]))],
    "factorize sorted": lambda m, pd: [
        listed(v) for v in pd.factorize(m.array([3, 2, 3]), sort=True)
    ],
    "mask": lambda m, pd: frame(m, pd)[m.array([True, False, True, False])].values.tolist(),
    "computed mask": lambda m, pd: frame(m, pd)[m.arange(4) > 1].values.tolist(),
    "mask of wrong length": lambda m, pd: frame(m, pd)[m.array([True, False])],
    "loc": lambda m, pd: frame(m, pd)["a"].loc[m.array([True, False, True, False])].tolist(),
    "iloc": lambda m, pd: frame(m, pd).iloc[m.array([0, 2])].values.tolist(),
    "take": lambda m, pd: frame(m, pd).take(m.array([0, 2])).values.tolist(),
    "groupby": lambda m, pd: frame(m, pd).groupby(m.array([0, 1, 0, 1]))["a"].sum().tolist(),
    "groupby of floats": lambda m, pd: (
        frame(m, pd).groupby(m.array([0.5, 1, 0.5, 1])).mean().a.tolist()
    ),
    "groupby of wrong length": lambda m, pd: frame(m, pd).groupby(m.array([0, 1])).sum(),
    "apply sum": lambda m, pd: pd.DataFrame({"a": [1.0, 2]}).apply(m.sum).dtype,
    "agg": lambda m, pd: frame(m, pd).agg([m.sum, m.mean]).values.tolist(),
    "groupby agg": lambda m, pd: frame(m, pd).groupby("b")["a"].agg(m.mean).tolist(),
    "transform": lambda m, pd: (
        frame(m, pd).groupby("b")["a"].transform(lambda v: v - m.mean(v)).tolist()
    ),
    "pivot": lambda m, pd: frame(m, pd).pivot_table("a", "b", aggfunc=m.mean).values.tolist(),
    "sum of a series": lambda m, pd: type(m.sum(pd.Series([1.0, 2.0]))),
    "assign": lambda m, pd: assigned(m, pd, m.arange(4)),
    "assign bool": lambda m, pd: assigned(m, pd, m.arange(4) > 1),
    "isin": lambda m, pd: pd.Series([1, 2, 3]).isin(m.array([1, 3])).tolist(),
    "cut": lambda m, pd: pd.cut(m.array([1.0, 2, 3]), 2).codes.tolist(),
    "cut at": lambda m, pd: pd.cut(pd.Series([1.0, 2, 3]), m.linspace(0, 4, 3)).cat.codes.tolist(),
    "index": lambda m, pd: pd.Index(m.arange(3)).dtype,
    "reindex": lambda m, pd: frame(m, pd).reindex(m.array([0, 2])).values.tolist(),
    "where": lambda m, pd: m.where(frame(m, pd)["a"] > 1, 1, 0).tolist(),
    "dummies": lambda m, pd: pd.get_dummies(m.array([1, 2])).values.tolist(),
    "counts": lambda m, pd: pd.Series(m.array([1, 2, 1])).value_counts().tolist(),
    "dates": lambda m, pd: pd.to_datetime(m.array([1, 2]), unit="D").tolist(),
    "rolling": lambda m, pd: pd.Series([1.0, 2, 3]).rolling(2).apply(m.mean, raw=True).tolist(),
    "quantile": lambda m, pd: pd.Series([1.0, 2, 3]).quantile(m.array([0.5, 0.25])).tolist(),
    "series + array": lambda m, pd: (pd.Series([1.0, 2, 3]) + m.arange(3)).tolist(),
    "array + series": lambda m, pd: (m.arange(3) + pd.Series([1.0, 2, 3])).tolist(),
    "scalar * series": lambda m, pd: (m.ones(2).sum() * pd.Series([1.0, 2, 3])).tolist(),
    "concat": lambda m, pd: pd.concat([pd.Series(m.ones(1)), pd.Series(m.zeros(1))]).tolist(),
    "searchsorted": lambda m, pd: pd.Series([1.0, 2]).searchsorted(m.array([1.5])).tolist(),
}  # fmt: skip


def sparse(sl: Any) -> Any:
    module = importlib.import_module("scipy.sparse")
    return module.csr_matrix(numpy.diag([4.0, 5, 6]) + 0.1)


def solved(name: str) -> Row:
    def row(m: Any, sl: Any) -> Any:
        a = m.diag(m.array([2.0, 3.0, 5.0])) + m.ones((3, 3)) / 4
        return [listed(getattr(sl, name)(x, m.arange(1.0, 4.0))[0]) for x in (a, sparse(sl))]

    return row


SOLVERS = (
    "bicg", "bicgstab", "cg", "cgs", "gcrotmk", "gmres", "lgmres", "lsmr", "lsqr", "minres", "qmr",
    "tfqmr",
)  # fmt: skip
SPARSE: dict[str, Row] = {name: solved(name) for name in SOLVERS} | {
    "eigsh": lambda m, sl: listed(sl.eigsh(m.diag(m.arange(1.0, 8)), k=2)[0]),
    "eigsh at": lambda m, sl: listed(sl.eigsh(m.diag(m.arange(1.0, 8)), k=2, sigma=2.2)[0]),
    "eigs": lambda m, sl: sorted(listed(sl.eigs(m.diag(m.arange(1.0, 8)), k=2)[0].real)),
    "svds": lambda m, sl: listed(sl.svds(m.diag(m.arange(1.0, 8)), k=2)[1]),
    "lobpcg": lambda m, sl: listed(
        sl.lobpcg(m.diag(m.arange(1.0, 20)), m.sin(m.arange(38.0) ** 2).reshape(19, 2))[0]
    ),
    "operator": lambda m, sl: listed(sl.aslinearoperator(m.eye(3)) @ m.ones(3)),
    "operator's type": lambda m, sl: type(sl.aslinearoperator(m.eye(3, dtype="f4"))).__name__,
    "operator's dtype": lambda m, sl: sl.aslinearoperator(m.eye(3, dtype="f4")).dtype,
    "operator of a row": lambda m, sl: listed(sl.aslinearoperator(m.ones(3)) @ m.ones(3)),
    "operator of a cube": lambda m, sl: sl.aslinearoperator(m.ones((3, 3, 3))),
    "onenormest": lambda m, sl: listed(sl.onenormest(m.eye(3) * 3)),
    "spsolve": lambda m, sl: listed(sl.spsolve(sparse(sl), m.ones(3))),
    "expm_multiply": lambda m, sl: listed(sl.expm_multiply(sparse(sl), m.ones(3))),
    "splu": lambda m, sl: listed(sl.splu(sparse(sl).tocsc()).solve(numpy.asarray(m.ones(3)))),
    "sparse @ array": lambda m, sl: listed(sparse(sl) @ m.ones(3)),
    "array @ sparse": lambda m, sl: listed(m.ones(3) @ sparse(sl)),
}

IMAGE_FILTERS: dict[str, tuple[Any, ...]] = {
    "gaussian_filter": (1,), "gaussian_filter1d": (1,), "gaussian_laplace": (1,), "laplace": (),
    "gaussian_gradient_magnitude": (1,), "grey_closing": (3,), "grey_dilation": (3,),
    "grey_erosion": (3,), "grey_opening": (3,), "maximum_filter": (3,), "median_filter": (3,),
    "minimum_filter": (3,), "morphological_gradient": (3,), "morphological_laplace": (3,),
    "black_tophat": (3,), "percentile_filter": (50, 3),
    "prewitt": (), "rank_filter": (1, 3), "shift": (1,), "sobel": (), "spline_filter": (),
    "spline_filter1d": (), "uniform_filter": (3,), "white_tophat": (3,),
}  # fmt: skip


def filtered(name: str) -> Row:
    def row(m: Any, nd: Any) -> Any:
        a, b = m.arange(25.0).reshape(5, 5) ** 1.5, m.zeros((5, 5))
        corner, later = b[:2, :2], b + 1
        result = getattr(nd, name)(a, *IMAGE_FILTERS[name], output=b)
        twice = (b * 2).sum()
        b[0] = 7
        return [listed(x) for x in (b, corner, later, twice)] + [result is None]

    return row


def into(
    function: Callable[..., Any], dtype: Any = float, shape: Any = (5, 5), **named: Any
) -> Row:
    def row(m: Any, nd: Any) -> Any:
        a, b = m.arange(25.0).reshape(5, 5), m.zeros(shape, dtype)
        function(nd, m, a, b)
        return listed(b), b.dtype

    return row


IMAGES: dict[str, Row] = {name: filtered(name) for name in IMAGE_FILTERS} | {
    "rotate": into(lambda nd, m, a, b: nd.rotate(a, 10, output=b, reshape=False)),
    "zoom": into(lambda nd, m, a, b: nd.zoom(a, 2, output=b), shape=(10, 10)),
    "affine": into(lambda nd, m, a, b: nd.affine_transform(a, m.eye(2) * 0.5, output=b)),
    "convolve": into(lambda nd, m, a, b: nd.convolve(a, m.ones((3, 3)), output=b)),
    "correlate1d": into(lambda nd, m, a, b: nd.correlate1d(a, m.ones(3), output=b)),
    "dilation": into(lambda nd, m, a, b: nd.binary_dilation(a > 20, output=b), bool),
    "erosion": into(lambda nd, m, a, b: nd.binary_erosion(a > 4, output=b), bool),
    "filled": into(lambda nd, m, a, b: nd.binary_fill_holes(a > 4, output=b), bool),
    "repeated": into(lambda nd, m, a, b: nd.binary_dilation(a > 20, None, 2, output=b), bool),
    "single": into(lambda nd, m, a, b: nd.gaussian_filter(a, 1, output=b), "f4"),
    "distances": into(lambda nd, m, a, b: nd.distance_transform_edt(a > 10, distances=b)),
    "brute force": into(lambda nd, m, a, b: nd.distance_transform_bf(a > 10, distances=b)),
    "wrong shape": into(lambda nd, m, a, b: nd.gaussian_filter(a, 1, output=b), shape=(4, 4)),
    "generic": into(lambda nd, m, a, b: nd.generic_filter(a, lambda v: v.max(), 3, output=b)),
    "map_coordinates": lambda m, nd: listed(
        nd.map_coordinates(m.arange(9.0).reshape(3, 3), m.array([[0.5], [1.0]]))
    ),
    "center_of_mass": lambda m, nd: listed(nd.center_of_mass(m.ones((3, 3)))),
    "sum": lambda m, nd: listed(nd.sum(m.ones(3), m.array([1, 1, 2]), m.array([1, 2]))),
}  # fmt: skip


def outcome(row: Row, namespace: Any, module: Any) -> Any:
    try:
        return repr(row(namespace, module))
    except Exception as error:
        return type(error)


def compare(row: Row, module: str) -> None:
    library = pytest.importorskip(module, reason=f"{module} is not installed")
    assert outcome(row, np, library) == outcome(row, numpy, library)


@pytest.mark.parametrize("name", PANDAS)
def test_pandas(name: str) -> None:
    compare(PANDAS[name], "pandas")


@pytest.mark.parametrize("name", SPARSE)
@pytest.mark.filterwarnings("ignore")
def test_sparse_linear_algebra(name: str) -> None:
    compare(SPARSE[name], "scipy.sparse.linalg")


SIGNALS: dict[str, Row] = {
    "peaks above": lambda m, s: s.find_peaks(m.sin(m.arange(40.0)), height=m.full(40, 0.95)),
    "peaks between": lambda m, s: s.find_peaks(
        m.sin(m.arange(40.0)), height=(None, m.full(40, 0.95))
    ),
    "a system times a matrix": lambda m, s: (
        s.StateSpace(m.eye(2), m.ones((2, 1)), m.ones((1, 2)), 0) * m.array([[2.0]])
    ).B.tolist(),
}


@pytest.mark.parametrize("name", SIGNALS)
def test_signals(name: str) -> None:
    compare(SIGNALS[name], "scipy.signal")


def test_a_bracket() -> None:
    compare(
        lambda m, o: o.root_scalar(lambda x: x - 1, bracket=m.array([0, 3.0])).root,
        "scipy.optimize",
    )


@pytest.mark.parametrize("name", IMAGES)
def test_images(name: str) -> None:
    compare(IMAGES[name], "scipy.ndimage")


def test_what_scipy_cannot_write_it_refuses() -> None:
    """A part of an array, and what is read-only; nothing is lost silently."""
    nd = pytest.importorskip("scipy.ndimage", reason="SciPy is not installed")
    whole, sealed = np.zeros((2, 5)), np.zeros(5)
    sealed.flags.writeable = False
    for target in (whole[0], sealed):
        with pytest.raises(ValueError, match="read-only"):
            nd.gaussian_filter(np.arange(5.0), 1, output=target)
    assert not whole.any() and not sealed.any()


def test_an_output_is_written_where_it_belongs() -> None:
    """Operations recorded before see the old value; stores after do not reach SciPy's result."""
    nd = pytest.importorskip("scipy.ndimage", reason="SciPy is not installed")
    x, y = np.arange(5.0), np.zeros(5)
    copied, before = y.copy(), y + 1
    result = nd.gaussian_filter(x, 1, output=y)
    got = y.tolist()
    y[0] = 100
    y += 1
    assert before.tolist() == [1] * 5 and copied.tolist() == [0] * 5
    assert result.tolist() == got == nd.gaussian_filter(numpy.arange(5.0), 1).tolist()


def test_arrays_are_numpys_only_for_those_who_know_no_others() -> None:
    x = np.ones(3)
    assert not isinstance(x, numpy.ndarray) and x.__class__ is type(x)

    class Own(np.ndarray):  # type: ignore[misc, valid-type]
        __slots__ = ()

    own = x.view(Own)
    assert own.__class__ is Own and isinstance(own, np.ndarray)
    x.__class__ = type(x)  # as for any object, the class may be set
    assert type(x) is np.ndarray


def test_labels_and_chessboard_distances_are_refused() -> None:
    """Their compiled code takes NumPy's arrays only; it says so."""
    nd = pytest.importorskip("scipy.ndimage", reason="SciPy is not installed")
    x, y = np.arange(4) > 1, np.zeros(4, "i4")
    for function, name in ((nd.label, "output"), (nd.distance_transform_cdt, "distances")):
        with pytest.raises((TypeError, ValueError)):
            function(x, **{name: y})
