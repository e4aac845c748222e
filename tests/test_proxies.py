"""Objects that pass for an array by `__class__`, like those of wrapt: they are arrays to
`isinstance`, and to functions what their `__array__` gives.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import lazynp

PROGRAMS = """
isinstance(p,np.ndarray)
isinstance(q,np.ndarray)
isinstance(q,P)
np.array(p)
np.array(q)
np.array(q,subok=True)
np.asarray(p)
np.asanyarray(p)
np.asanyarray(q)
np.array([p,p])
np.sum(p)
np.add(p,1)
p+1
1+p
np.array([1.,2.,3.])+p
np.array([1.,2.,3.])*p
np.array([1.,2.,3.])[p.astype(int)-1]
np.sin(p)
np.concatenate([p,p])
np.stack([p,q])
np.dot(p,p)
np.reshape(p,(3,1))
np.linalg.norm(p)
np.zeros_like(p)
np.where(p>1,p,0)
np.diff(p)
np.testing.assert_allclose(p,[1,2,3])
np.sort(p)
np.array(p,dtype=int)
np.ascontiguousarray(p)
np.copy(p)
np.isclose(p,p)
np.interp(p,[0,1],[1,2])
np.atleast_1d(p)
np.shape(p)
np.ndim(p)
np.average(p)
np.median(p)
np.max(p)
np.cumsum(p)
x[p.astype(int)-1]
x[proxy(np.array([0,1]))]
x.__setitem__(proxy(np.array([0,1])),9) or x
x.__setitem__(slice(None),p) or x
x.__iadd__(p)
np.add(x,p,out=x)
x.dot(p)
x@p
p@x
x==p
x<p
np.maximum(x,p)
np.where(x>1,x,p)
x.clip(p,3)
np.add.reduce(p)
np.add.outer(x,p)
np.linalg.solve(np.eye(3),p)
np.fft.fft(p)
np.einsum('i,i',x,p)
np.tensordot(x,p,1)
np.put(x,[0],p)
np.copyto(x,p)
np.take(x,proxy(np.array([0,1])))
x.take(proxy(np.array([0,1])))
np.searchsorted(x,p)
np.random.default_rng(0).permutation(p).sum()
np.ones(3)*p
np.broadcast_arrays(x,p)[1]
np.broadcast_shapes(p.shape)
np.can_cast(p.dtype,float)
np.full(3,p)
np.full_like(x,p)
np.insert(x,0,p)
np.append(x,p)
np.isin(x,p)
np.unique(p)
np.pad(p,1)
np.vstack([x,p])
np.array([[1,2,3],p])
np.asarray([p,x])
np.arctan2(p,x)
np.divmod(p,2)[0]
np.histogram(p)[0]
np.polyfit(p,p,1)[:1].round(6)
np.cross(x,p)
np.meshgrid(p,p)[0]
np.nonzero(p)[0]
len(p)
np.iterable(p)
np.may_share_memory(p,p)
np.lexsort([p])
np.ix_(proxy(np.array([0,1])))[0]
np.packbits(proxy(np.array([0,1])))
x.astype(p.dtype)
np.matmul(p,x)
np.nansum(p)
np.average(x,weights=p)
np.cov(p)
np.argsort(p)
x.copy().view(p.dtype)
np.array(p,copy=True,ndmin=2)
np.expand_dims(p,0)
""".strip().split("\n")


class Proxy:
    def __init__(self, wrapped: Any) -> None:
        self.wrapped = wrapped

    @property
    def __class__(self) -> Any:
        return self.wrapped.__class__

    @__class__.setter
    def __class__(self, kind: Any) -> None:
        raise TypeError

    def __getattr__(self, name: str) -> Any:
        return getattr(vars(self)["wrapped"], name)

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return self.wrapped

    def __len__(self) -> int:
        return len(self.wrapped)

    def __iter__(self) -> Any:
        return iter(self.wrapped)

    def __getitem__(self, index: Any) -> Any:
        return self.wrapped[index]

    def __add__(self, other: Any) -> Any:
        return self.wrapped + other

    def __radd__(self, other: Any) -> Any:
        return other + self.wrapped


def outcome(m: Any, program: str) -> Any:
    kind: Any = type("P", (m.ndarray,), {})
    p, q = Proxy(m.array([1.0, 2.0, 3.0])), Proxy(m.array([1.0, 2.0, 3.0]).view(kind))
    x = m.array([3.0, 1.0, 2.0])
    names = {"np": m, "p": p, "q": q, "x": x, "proxy": Proxy, "P": kind}
    try:
        done = eval(program, names)
    except Exception as error:
        return type(error)
    if isinstance(done, (bool, tuple, int, type(None))):
        return done, np.asarray(x).tolist()
    return type(done) is Proxy, done.dtype, np.asarray(done).tolist(), np.asarray(x).tolist()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("program", PROGRAMS)
def test_proxies(program: str) -> None:
    assert outcome(lazynp, program) == outcome(np, program)


def test_isinstance_of_what_has_no_array() -> None:
    class Liar:
        __class__ = 3  # type: ignore[assignment]

    assert not isinstance(Liar(), lazynp.ndarray)
    assert not isinstance(lazynp.float64(1), lazynp.ndarray)
    assert not isinstance(lazynp.arange(3).sum(), lazynp.ndarray)


class Bicomplex:
    """One object for NumPy, which calls its methods and lets it wrap their results."""

    def __init__(self, a: complex, b: complex = 0) -> None:
        self.a, self.b = a, b

    def cos(self) -> Bicomplex:
        return Bicomplex(self.a * 2, self.b)

    def __mul__(self, other: Any) -> Bicomplex:
        return Bicomplex(self.a * (other.a if isinstance(other, Bicomplex) else other), self.b)

    @staticmethod
    def __array_wrap__(array: Any, context: Any = None, return_scalar: bool = False) -> Any:
        held = array.item() if isinstance(array, np.ndarray) else array
        return held if isinstance(held, Bicomplex) else Bicomplex(held)


def test_an_object_that_wraps_results_and_is_no_array() -> None:
    for xp in (lazynp, np):
        found = [xp.cos(Bicomplex(3.0, 1)), xp.multiply(Bicomplex(3.0, 1), 2.0)]
        assert [(type(x), x.a, x.b) for x in found] == [(Bicomplex, 6.0, 1)] * 2
