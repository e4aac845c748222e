"""pandas takes lazynp's numbers and arrays as NumPy's: as cells, labels, positions, results."""

from __future__ import annotations

import pickle
import subprocess
import sys
from collections.abc import Callable
from types import FunctionType
from typing import Any

import numpy
import pytest

import lazynp as np
from lazynp.functions._pandas import _taking_ours

pd: Any = pytest.importorskip("pandas", reason="pandas is not installed")
API: Any = pd.api.types


def set_item(s: Any, key: Any, value: Any) -> Any:
    s[key] = value
    return (s.dtype, s.tolist()) if isinstance(s, pd.Series) else s


def set_at(s: Any, key: Any, value: Any) -> Any:
    s.loc[key] = value
    return s.dtypes.tolist(), s.values.tolist()


def ones() -> Any:
    return pd.Series([1.0, 2.0, 3.0], index=[5, 6, 7])


def plain() -> Any:
    return pd.Series([1.0, 2.0, 3.0])


def numbers() -> Any:
    return pd.DataFrame({"a": [1.0, 2], "b": [3.0, 4]})


CALLS: list[Callable[[Any], Any]] = [
    lambda m: ones()[m.array([5, 6])[0]],
    lambda m: ones().loc[m.array([5, 6])[0]],
    lambda m: ones().get(m.array([5, 6])[0]),
    lambda m: m.array([5, 6])[0] in ones().index,
    lambda m: m.array([5, 6])[0] in ones(),
    lambda m: plain().loc[m.array([1, 6])[0]],
    lambda m: plain()[m.array([1, 6])[0]],
    lambda m: plain().iloc[m.argmax(m.array([1, 6]))],
    lambda m: plain().index[m.argmax(m.array([1, 6]))],
    lambda m: pd.Series([1.0, 2.0, 3.0], index=[0.5, 1.5, 2.5])[m.array([0.5])[0]],
    lambda m: [ones()[j] for j in m.array([5, 6])],
    lambda m: ones().loc[m.array([5, 6])[0] : m.array([5, 6])[1]].sum(),
    lambda m: ones().at[m.array([5, 6])[1]],
    lambda m: ones().iat[m.array([0, 2])[1]],
    lambda m: ones().loc[[m.array([5, 6])[0], m.array([5, 6])[1]]].tolist(),
    lambda m: pd.DataFrame(m.eye(3)).loc[m.array([1])[0], m.array([2, 1])[1]],
    lambda m: pd.DataFrame(m.eye(3))[m.array([1])[0]].tolist(),
    lambda m: pd.DataFrame(m.eye(3)).iloc[m.array([1])[0]].tolist(),
    lambda m: pd.DataFrame(m.eye(3)).iloc[m.array([1])[0] :, m.array([1])[0]].tolist(),
    lambda m: pd.DataFrame(m.eye(3)).xs(m.array([1])[0]).tolist(),
    lambda m: pd.DataFrame(
        [{"a": m.ones(3).sum(), "b": m.arange(3)[1]}, {"a": m.ones(3).mean(), "b": m.arange(3)[2]}]
    ).dtypes.tolist(),
    lambda m: pd.DataFrame({"a": [m.ones(3).sum(), 2.0], "b": m.arange(2)}).dtypes.tolist(),
    lambda m: pd.DataFrame({"a": m.ones(3).sum(), "b": m.arange(2)}).dtypes.tolist(),
    lambda m: pd.DataFrame([[m.ones(3).sum(), 1], [2.0, m.arange(3)[1]]]).dtypes.tolist(),
    lambda m: pd.DataFrame(
        [(m.ones(3).sum(), 1), (2.0, m.arange(3)[1])], columns=["x", "y"]
    ).dtypes.tolist(),
    lambda m: pd.Series([m.ones(3).sum(), m.ones(3).mean()]).dtype,
    lambda m: pd.Series({"a": m.ones(3).sum(), "b": m.ones(3).mean()}).dtype,
    lambda m: pd.Series(m.ones(3).sum(), index=[1, 2]).dtype,
    lambda m: pd.Index([m.arange(3)[1], m.arange(3)[2]]).dtype,
    lambda m: pd.Series(m.array([])).dtype,
    lambda m: pd.Series(m.zeros(0, int)).dtype,
    lambda m: pd.DataFrame(m.zeros((0, 2))).shape,
    lambda m: pd.Categorical(m.array([2, 0])).categories.dtype,
    lambda m: pd.Series(m.array([2, 0, 1]), dtype="category").cat.categories.dtype,
    lambda m: (numbers() / m.ones((2, 2))).values.tolist(),
    lambda m: (numbers() - m.ones((2, 1))).values.tolist(),
    lambda m: (numbers() + [m.ones(2).sum(), m.ones(2).mean()]).dtypes.tolist(),
    lambda m: plain().map(lambda v: m.sqrt(v)).dtype,
    lambda m: plain().apply(lambda v: m.sqrt(v)).dtype,
    lambda m: pd.DataFrame(m.eye(3)).apply(m.sum).dtype,
    lambda m: pd.DataFrame(m.eye(3)).apply(lambda r: m.mean(r.values), axis=1).dtype,
    lambda m: (
        pd.Series([1, 2, 3]).groupby(m.array([0, 1, 0])).agg(lambda s: m.mean(s.values)).dtype
    ),
    lambda m: set_item(plain(), m.array([1])[0], m.ones(3).sum()),
    lambda m: set_at(pd.DataFrame(m.eye(2)), (m.array([1])[0], 0), m.ones(3).sum()),
    lambda m: set_item(pd.DataFrame(m.eye(2)), "c", m.ones(3).sum()).dtypes.tolist(),
    lambda m: pd.Timestamp(2020, 1, m.array([3])[0]),
    lambda m: pd.date_range("2020", periods=m.array([3])[0]).size,
    lambda m: pd.cut(plain(), bins=m.linspace(0, 4, 3)).cat.codes.tolist(),
    lambda m: plain().fillna(m.ones(3).sum()).dtype,
    lambda m: pd.Series([1.0, 2.0, None]).fillna(m.ones(3).sum()).tolist(),
    lambda m: plain().replace(m.array([1.0])[0], m.array([9.0])[0]).tolist(),
    lambda m: plain().isin([m.array([1.0])[0]]).tolist(),
    lambda m: plain().rolling(m.array([2])[0]).sum().tolist()[1:],
    lambda m: plain().shift(m.array([1])[0]).tolist()[1:],
    lambda m: plain().clip(m.array([1.5])[0], m.array([2.5])[0]).tolist(),
    lambda m: plain().quantile(m.array([0.5])[0]),
    lambda m: plain().head(m.array([2])[0]).tolist(),
    lambda m: (
        pd.DataFrame({"a": [1, 2, 3]}).query("a > @k", local_dict={"k": m.array([1])[0]}).a.tolist()
    ),
    lambda m: pd.concat([pd.Series([m.ones(2).sum()]), pd.Series([2.0])]).dtype,
    lambda m: pd.DataFrame({"a": [1, 2, 3]}).assign(b=m.ones(3).sum()).dtypes.tolist(),
    lambda m: pd.DataFrame({"a": [1, 2, 3]}).insert(0, "z", m.arange(3)[1]),
    lambda m: pd.Series([3, 1, 2]).sort_values().index[m.array([0])[0]],
    lambda m: pd.DataFrame(m.eye(3), index=m.array([3, 4, 5])).loc[m.array([4])[0]].tolist(),
    lambda m: pd.DataFrame.from_records([{"a": m.ones(3).sum()}]).dtypes.tolist(),
    lambda m: pd.DataFrame.from_dict({"a": [m.ones(3).sum()]}).dtypes.tolist(),
    lambda m: (
        pd.MultiIndex.from_tuples([(m.arange(3)[1], "a"), (m.arange(3)[2], "b")]).levels[0].dtype
    ),
    lambda m: pd.Series([1.0, 2.0], index=pd.MultiIndex.from_tuples([(1, "a"), (2, "b")]))[
        (m.arange(3)[1], "a")
    ],
    lambda m: pd.pivot_table(
        pd.DataFrame({"a": m.array([1, 1, 2]), "b": m.arange(3.0)}), index="a", aggfunc=m.mean
    ).values.tolist(),
    lambda m: pd.Series(m.arange(3.0)).agg([m.mean, m.std]).dtype,
    lambda m: pd.array([m.arange(3)[1]]).dtype,
    lambda m: pd.to_numeric([m.arange(3)[1]]).dtype,
    lambda m: pd.to_datetime([m.arange(3)[1]], unit="s").dtype,
    lambda m: [
        f(m.ones(3).sum()) for f in (API.is_float, API.is_scalar, API.is_number, API.is_integer)
    ],
    lambda m: [f(m.arange(3)[1]) for f in (API.is_integer, API.is_float, API.is_hashable)],
    lambda m: [f(m.arange(3)) for f in (API.is_list_like, API.is_array_like, API.is_scalar)],
]


def outcome(call: Any, module: Any) -> Any:
    try:
        return repr(call(module))
    except Exception as error:
        return type(error), str(error)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("k", range(len(CALLS)))
def test_pandas_takes_ours_as_numpys(k: int) -> None:
    assert outcome(CALLS[k], np) == outcome(CALLS[k], numpy)


def test_arrays_of_frames_have_memory_of_their_own() -> None:
    x = np.arange(6.0).reshape(3, 2)
    frame, series, index = pd.DataFrame(x), pd.Series(x[0]), pd.Index(x[0])
    x += 1
    assert frame.values.tolist() == [[0, 1], [2, 3], [4, 5]]
    assert series.tolist() == index.tolist() == [0, 1]
    series.iloc[0] = 7
    assert series.tolist() == [7, 1] and x[0].tolist() == [1, 2]


def test_what_is_only_traced_is_an_error_of_the_users_line() -> None:
    with pytest.raises(TypeError, match="only traced"):
        np.jit(lambda x: x * pd.Series([x.sum(), 1.0]).sum())(np.ones(2))


@pytest.mark.parametrize(
    "order", ["import lazynp as np, pandas as pd", "import pandas as pd, lazynp as np"]
)
def test_either_may_be_imported_first(order: str) -> None:
    script = (
        f"{order}\ns = pd.Series([np.ones(2).sum()], index=[3])\nprint(s.dtype, s[np.arange(4)[3]])"
    )
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert run.stdout.split() == ["float64", "2.0"]


def test_pandas_goes_on_as_before() -> None:
    assert pd.Series.sum.__name__ == "sum" and pd.DataFrame.merge.__doc__
    frame = pd.DataFrame({"a": [1, 1, 2], "b": [1.0, 2, 3]})
    found = frame.groupby("a").agg(b=("b", lambda s: s.max()))
    assert found.b.tolist() == [2.0, 3.0]
    names = frame.agg([lambda s: s.max(), "min"]).index.tolist()
    assert names == ["<lambda>", "min"]


def test_functions_of_pandas_keep_their_identity() -> None:
    assert pd.isnull is pd.isna and pd.Series.agg is pd.Series.aggregate
    for name, function in vars(pd).items():
        if isinstance(function, FunctionType) and not name.startswith("_"):
            assert pickle.loads(pickle.dumps(function)) is function


def test_numba_gets_the_users_function() -> None:
    def f(values: Any) -> Any:
        return values

    made = _taking_ours(lambda function, engine: function)
    assert made(f, engine="numba") is f and made(f, engine="python") is not f


def test_names_in_queries_are_those_of_who_calls() -> None:
    def queried(k: Any, v: Any, plainly: int = 1) -> None:
        assert frame.query("a > @k").a.tolist() == frame.query("a > @plainly").a.tolist() == [2.0]
        assert frame.query("a in @v").a.tolist() == [0.0, 1.0, 2.0]
        assert frame.eval("c = a + @v").c.tolist() == [0.0, 2.0, 4.0]
        assert frame.eval("a * @k").tolist() == [0.0, 1.0, 2.0]
        assert type(pd.eval("k + 1")) in (int, numpy.int64)

    frame = pd.DataFrame({"a": [0.0, 1.0, 2.0]})
    queried(np.arange(3)[1], np.arange(3))
