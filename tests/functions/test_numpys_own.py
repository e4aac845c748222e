"""A class with its own `__array_ufunc__` is asked for each ufunc that NumPy's code calls, and told
what NumPy tells it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import lazynp

CALLS = """
x.prod(axis=0)
x.cumsum(0)
x.cumsum()
x.cumsum(1)
x.cumprod(axis=0,dtype=np.float32)
x.cumsum(0,out=o2)
x.cumsum(axis=0,out=o2p)
x.sum(axis=0)
x.sum()
x.sum(0)
x.sum(keepdims=True)
x.sum(axis=0,keepdims=False)
x.sum(axis=0,initial=2.0)
x.sum(axis=0,where=True)
x.sum(axis=(0,1))
x.sum(axis=0,out=o)
x.sum(0,float,o)
x.max()
x.max(axis=0)
x.max(0,o)
x.min(axis=1,keepdims=True)
x.any()
x.any(axis=0)
x.all(axis=0)
x.all()
x.all(out=None)
x.mean()
x.mean(axis=0)
x.mean(axis=0,dtype=np.float32)
x.mean(axis=0,out=o)
x.mean(keepdims=True)
x.var()
x.var(axis=0)
x.std()
x.std(axis=0,ddof=1,keepdims=True)
x.clip(1,2)
x.clip(1)
x.clip(max=2)
x.clip(1,2,out=o2)
x.round()
x.round(1)
x.dot(x.T)
x.trace()
x.conj()
x.conjugate()
x.argmax()
x.real
np.sum(x)
np.sum(x,axis=0)
np.sum(x,0)
np.prod(x,axis=0)
np.cumsum(x,axis=0)
np.cumprod(x)
np.max(x,axis=0)
np.amax(x,axis=0)
np.min(x)
np.any(x,axis=0)
np.all(x,axis=0)
np.mean(x,axis=0)
np.mean(x)
np.std(x)
np.add.reduce(x)
np.add.reduce(x,0)
np.add.reduce(x,axis=0)
np.add.reduce(x,axis=None)
np.add.reduce(x,1,None,None,True)
np.add.reduce(x,keepdims=False)
np.add.reduce(x,out=o)
np.add.reduce(x,0,None,o)
np.add.reduce(x,initial=0)
np.add.reduce(x,where=True)
np.add.accumulate(x)
np.add.accumulate(array=o2p)
np.add.reduceat(array=o2p, indices=[0, 1])
np.add.reduce(array=o2p, axis=0)
np.add.reduce()
np.add.accumulate(x,0)
np.add.accumulate(x,axis=1)
np.add.accumulate(x,out=o2)
np.add.accumulate(x,0,None,o2)
np.add.reduceat(x,[0,1])
np.add.reduceat(x,[0,1],0)
np.add.reduceat(x,[0,1],axis=1)
np.add.reduceat(x,[0,1],1,None,None)
np.add(x,1,out=o2)
np.add(x,1,o2)
np.add(x,1,out=None)
np.add(x,1,where=True)
np.add(x,1,subok=True)
np.add(x,1,out=(o2,))
np.add(x,1,out=(None,))
np.add(1,1,out=o2)
np.modf(x,out=(None,o2))
np.modf(x,o2)
np.add(x)
np.add(x,1,foo=2)
np.matmul(x,x.T,out=...)
np.add(x,1,out=...)
np.add(x,1,dtype=float)
np.add.outer(x,x)
np.add.at(x,[0],1)
np.cumulative_sum(x,axis=0)
np.ptp(x,axis=0)
np.matmul(x,x.T)
x@x.T
divmod(x,2)
-x
abs(x)
x>1
np.clip(x,1,2)
np.round(x,1)
np.around(x)
np.real(x)
np.diff(x)
np.diff(x,axis=0)
np.trapezoid(x,axis=0)
np.isclose(x,x)
np.allclose(x,x)
np.average(x,axis=0)
np.median(x)
np.median(x,axis=0)
np.gradient(x)
np.gradient(x[0],2.)
np.nansum(x)
np.nansum(x,axis=0)
np.nanprod(x)
np.nancumsum(x)
np.nanmean(x)
np.nanmean(x,axis=0)
np.nanvar(x)
np.nanstd(x,axis=0)
np.nanmax(x)
np.nanmin(x,axis=0)
np.nanmedian(x)
np.nanargmax(x)
np.kron(x,x)
np.linspace(x[0],x[1],3)
np.linspace(x[0,0],3,3)
np.nan_to_num(x)
np.polyval([1,2],x)
np.polyval(x[0],2)
np.ediff1d(x)
np.unwrap(x)
np.cov(x)
np.corrcoef(x)
np.interp(x,[0,1],[2,3])
np.percentile(x,50)
np.quantile(x,.5,axis=0)
np.angle(x)
np.cross(x,x)
np.tensordot(x,x)
np.outer(x[0],x[0])
np.inner(x,x)
np.convolve(x[0],x[0])
np.isreal(x)
np.iscomplex(x)
np.iscomplexobj(x)
np.real_if_close(x)
np.sinc(x)
np.i0(x)
np.fix(x)
np.isneginf(x)
np.array_equal(x,x)
np.unique(x)
np.setdiff1d(x,x[0])
np.heaviside(x,1)
np.count_nonzero(x)
np.logspace(x[0],x[1],3)
np.geomspace(x[0]+1,x[1],3)
np.vander(x[0])
np.trim_zeros(x[0])
np.roll(x,1)
np.cumulative_prod(x[0])
np.linalg.norm(x)
np.digitize(x,[0,1])
np.sort(x)
np.flip(x)
np.trace(x)
np.isin(x,x)
np.polyfit(x[0],x[1],1)
np.vecdot(x,x)
np.einsum('ij->i',x)
np.apply_along_axis(np.sum,0,x)
np.var(x,axis=0)
np.var(x,axis=0,out=o)
np.clip(x,None,2)
np.maximum.reduce(x)
np.linalg.vector_norm(x)
np.matvec(x,x[0])
np.allclose(x,0)
""".strip().split("\n")
VALUES = """
np.diff(a)
np.diff(a, n=2)
np.diff(a, prepend=a[0])
np.gradient(a)
np.gradient(a, 2.0)
np.ediff1d(a)
a.var()
a.std()
np.std(a, ddof=1)
np.ptp(a)
np.isclose(a, a + 360)
np.linspace(a[:1], a[1:2], 3)
np.linspace(a[0], a[1], 3)
np.trapezoid([1, 1, 1], a)
np.trapezoid(a, dx=0.5)
np.cov(a)
np.median(a)
np.nanmedian(a)
np.average(a, weights=[1, 2, 3], returned=True)
np.nansum(a)
np.nanmean(a)
np.nanvar(a)
np.nanargmin(a)
np.nancumsum(a)
np.kron(a, a)
np.nan_to_num(a)
np.polyval([1, 2], a)
np.polyval(a, 2)
np.unwrap(a)
np.percentile(a, 30)
np.quantile(a, [0.2, 0.3])
np.unique(a, return_counts=True)
np.setdiff1d(a, a[:1])
np.intersect1d(a, a[:1])
np.histogram(a, 3)
np.interp([185.0], np.sort(a), [0, 1, 2])
np.sinc(a)
np.i0(a)
np.angle(a)
np.roots(a)
np.pad(a, 1, mode='mean')
np.apply_along_axis(np.sum, 0, a)
np.meshgrid(a, a)
np.broadcast_to(a, (2, 3))
np.searchsorted(a, [1])
np.linalg.trace(np.linalg.diagonal(a * np.ones((2, 3, 3))))
a.round(-1)
a.reshape(1, 3).trace()
np.logspace(a / 100, 2, 3)
""".strip().split("\n")


def plain(m: Any, x: Any) -> Any:
    return x.view(m.ndarray) if isinstance(x, m.ndarray) and type(x) is not m.ndarray else x


def asking(m: Any, log: list[Any]) -> Any:
    class Asking(m.ndarray):  # type: ignore[misc]
        def __array_ufunc__(
            self, ufunc: Any, method: str, *args: Any, out: Any = None, **options: Any
        ) -> Any:
            first = "array" if isinstance(args[0], m.ndarray) else args[0]
            told = sorted((k, repr(v)) for k, v in options.items())
            log.append((ufunc.__name__, method, first, told, out is not None and len(out)))
            if out:
                options["out"] = tuple(plain(m, o) for o in out)
            return getattr(ufunc, method)(*[plain(m, a) for a in args], **options)

    return Asking


def kind_of(x: Any) -> str:
    if isinstance(x, tuple):
        return "tuple"
    numbers = isinstance(x, (np.generic, float)) or type(x).__name__ == "Scalar"
    return "number" if numbers else type(x).__name__


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("program", CALLS)
def test_what_the_class_is_told(program: str) -> None:
    outcomes = []
    for m in (np, lazynp):
        log: list[Any] = []
        kind = asking(m, log)
        x = m.arange(6.0).reshape(2, 3).view(kind)
        names = {"np": m, "x": x, "o": m.zeros(3).view(kind), "o2": m.zeros((2, 3)).view(kind)}
        names["o2p"] = m.zeros((2, 3))
        log.clear()
        try:
            done = eval(program, names)
            outcome = f"{kind_of(done)} {getattr(done, 'shape', '')}"
        except Exception as e:
            outcome = type(e).__name__
        outcomes.append((outcome, log))
    assert outcomes[1] == outcomes[0]


def angles(m: Any) -> Any:
    """Angles whose differences lie between -180 and 180."""

    class Angle(m.ndarray):  # type: ignore[misc]
        def __array_ufunc__(
            self, ufunc: Any, method: str, *args: Any, out: Any = None, **options: Any
        ) -> Any:
            if out:
                options["out"] = tuple(plain(m, o) for o in out)
            done = getattr(ufunc, method)(*[plain(m, a) for a in args], **options)
            if ufunc is m.subtract:
                return ((m.asarray(done) + 180) % 360 - 180).view(Angle)
            return done

    return m.array([350.0, 10.0, 20.0]).view(Angle)


def quantities(m: Any) -> Any:
    """Numbers with a unit, which all results keep."""

    class Quantity(m.ndarray):  # type: ignore[misc]
        def __array_finalize__(self, source: Any) -> None:
            self.unit = getattr(source, "unit", None)

        def __array_ufunc__(
            self, ufunc: Any, method: str, *args: Any, out: Any = None, **options: Any
        ) -> Any:
            if out:
                options["out"] = tuple(plain(m, o) for o in out)
            done = getattr(ufunc, method)(*[plain(m, a) for a in args], **options)
            if isinstance(done, tuple) or done.dtype == bool:
                return done
            made = m.asarray(done).view(Quantity)
            made.unit = self.unit
            return made

    made = m.array([5.0, 3.0, 1.5]).view(Quantity)
    made.unit = "s"
    return made


def shown(x: Any) -> str:
    if isinstance(x, (tuple, list)):
        return " ".join(map(shown, x))
    values = np.round(np.asarray(x) * 1, 9).tolist()
    return f"{kind_of(x)} {getattr(x, 'unit', '')} {getattr(x, 'dtype', '')} {values}"


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("make", [angles, quantities])
@pytest.mark.parametrize("program", VALUES)
def test_values(program: str, make: Any) -> None:
    results = [shown(eval(program, {"np": m, "a": make(m)})) for m in (np, lazynp)]
    assert results[1] == results[0]


TRACED = ["np.diff(a)", "a.mean()", "a.var()", "np.std(a)", "np.gradient(a)", "np.ptp(a)"]


@pytest.mark.parametrize("program", TRACED)
def test_traced(program: str) -> None:
    kind = type(angles(lazynp))

    def function(x: Any) -> Any:
        return lazynp.asarray(eval(program, {"np": lazynp, "a": x.view(kind)}))

    x = lazynp.array([350.0, 10.0, 20.0])
    found, wanted = lazynp.jit(function)(x), eval(program, {"np": np, "a": angles(np)})
    np.testing.assert_allclose(np.asarray(found), np.asarray(wanted))
