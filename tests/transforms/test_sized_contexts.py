"""Sixty functions of sizes, each traced once, within and around each transformation.

NumPy gives what `jit`, `make_jaxpr` and `vmap` must; the same transformation, without `jit` and
sizes, gives the derivatives. Where NumPy raises an error, so must the call, in NumPy's words.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy
import pytest

import lazynp as np

SIZES = (3, 0, 1, 2, 7, 64)
N = {0: "n"}


def vector(n: int) -> Any:
    return numpy.linspace(0.5, 2.0, n) + 0.013 * numpy.arange(n)


# -- stores, loops and branches --------------------------------------------------------------------


def stored(np: Any, x: Any) -> Any:
    y = np.array(x) * 1.0
    y[1:] = y[:-1] * 2
    y[-2:] = 7.0
    y[: x.shape[0] // 2] *= 3
    y[np.arange(x.shape[0])[::-1]] += x
    return y


def masked(np: Any, x: Any) -> Any:
    y = x * 1.0
    y[y > 1] = 0.0
    return y


def reversed_in_place(np: Any, x: Any) -> Any:
    y = x * 1.0
    y[np.arange(x.shape[0])[::-1]] = x
    return y


def through_a_view(np: Any, x: Any) -> Any:
    y = x * 1.0
    part = y[::2]
    part += 10
    return y


def columns(np: Any, x: Any) -> Any:
    y = np.outer(x, x) * 1.0
    y[:, 0:1] = x[:, None] * 2
    y[1:, :] += 1
    return y


def added_up(np: Any, x: Any) -> Any:
    y = np.zeros(3) + x.sum() * 0
    np.add.at(y, np.arange(x.shape[0]) % 3, x)
    return y


def looped(np: Any, high: Any, body: Any, val: Any) -> Any:
    if np is not numpy:
        return np.fori_loop(0, high, body, val)
    for i in range(high):
        val = body(i, val)
    return val


def recurrence(np: Any, x: Any) -> Any:
    return looped(np, x.shape[0], lambda i, s: s * 0.5 + x[i], 0.0)


def triangle(np: Any, x: Any) -> Any:
    return looped(np, x.shape[0], lambda i, s: s + (x[:i] ** 2).sum(), 0.0)


def scanned(np: Any, x: Any) -> Any:
    if np is not numpy:
        return np.scan(lambda c, r: (c * 0.9 + r, c * r), 0.0, x)[1]
    c, out = 0.0, [0.0]
    for r in x:
        out.append(c * r)
        c = c * 0.9 + r
    return numpy.array(out[1:])


def chosen(np: Any, x: Any) -> Any:
    if np is not numpy:
        return np.cond(x.sum() > 3, lambda: x * 2, lambda: -x)
    return x * 2 if x.sum() > 3 else -x


STEPS = {
    f.__name__: f
    for f in (stored, masked, reversed_in_place, through_a_view, columns, added_up, recurrence,
              triangle, scanned, chosen)
}  # fmt: skip
TEXTS = [
    "np.ones((x.shape[0],2))*x.sum()", "np.full((x.shape[0]+1,),x.sum())",
    "np.arange(x.shape[0])*2.0+x", "np.linspace(x.sum(),1,num=x.shape[0]+2)",
    "np.eye(x.shape[0])@x", "np.tri(x.shape[0],x.shape[0]+1)[:,1:]*x",
    "np.outer(x,x).reshape(x.shape[0],1,-1)[:,0]", "np.broadcast_to(x,(3,x.shape[0]))*2",
    "np.tile(x,(2,2))", "np.repeat(x,x.shape[0])", "np.concatenate([x,x*2,np.ones(2)])",
    "np.stack([x,x*x],axis=-1)", "np.block([[np.outer(x,x),x[:,None]],[x,1.0]])",
    "np.delete(x,slice(0,1))", "np.pad(np.outer(x,x),((1,0),(0,2)),constant_values=3.0)",
    "np.pad(x,2,mode='edge')", "np.pad(x,3,mode='wrap')", "np.diff(x,n=2,prepend=0.0)",
    "x[2:]-2*x[1:-1]+x[:-2]", "x.sum()/x.shape[0]", "np.var(x,ddof=1)", "np.outer(x,x).max(axis=0)",
    "np.ptp(x)", "np.cumsum(np.outer(x,x),axis=1)", "np.cumprod(x)", "np.maximum.accumulate(x)",
    "np.median(x)", "np.average(x,weights=x+1)", "x[-1]+x[0]", "x[[0,-1]]",
    "np.outer(x,x+1)[np.arange(x.shape[0]),np.arange(x.shape[0])]", "np.where(x>1,x,x*x)",
    "np.outer(x,x+1).T.ravel()", "x[::-3]", "np.moveaxis(np.outer(x,x+1)[None],0,-1)",
    "np.diag(x)", "np.roll(x,2)", "np.rot90(np.outer(x,x+1))", "np.outer(x,x)@np.outer(x,x+1)",
    "np.tensordot(np.outer(x,x),np.outer(x,x),2)", "np.einsum('i,ij,j->',x,np.outer(x,x),x)",
    "np.kron(x,x)", "np.sort(x*np.sin(7*x))", "np.argsort(np.sin(7*x))*1.0",
    "np.searchsorted(x,x+0.1)*1.0", "np.isin(x,x[:1])*x", "np.linalg.norm(np.outer(x,x),axis=1)",
    "np.exp(x-x.max())/np.exp(x-x.max()).sum()", "np.trapezoid(x*x,x)",
    "x[:x.shape[0]//2].sum()+x[x.shape[0]//2:].sum()", "np.nansum(np.where(x>1,np.nan,x))",
    "np.array([x.sum(),x.shape[0],1.0])", "np.take_along_axis(x,np.argsort(-x),0)",
    *(f"{name}(np,x)" for name in STEPS),
]  # fmt: skip
BY_DATA = [
    "x[x>1]", "np.outer(x,x)[x>1]", "np.nonzero(np.outer(x,x)>1.0)[1]*1.0", "np.compress(x>1,x)",
    "np.unique(np.round(x*2))", "np.setdiff1d(x,x[1:])", "np.sort(x[x>0.7])[::-1]",
    "x[x>1]*np.arange((x>1).sum())",
]  # fmt: skip

Function = Callable[[Any, Any], Any]


def function_of(text: str) -> Function:
    code = compile(text, text, "eval")
    return lambda np, x: eval(code, {"np": np, **STEPS}, {"x": x})


def outcome(run: Callable[[], Any]) -> Any:
    try:
        return numpy.asarray(run())
    except Exception as error:  # what it is, is compared
        return error


def agree(got: Any, want: Any, where: str, exact: bool = True) -> None:
    if isinstance(want, Exception):
        assert isinstance(got, Exception), f"{where}: no error, want {want!r}"
        if exact:
            assert type(got) is type(want) and str(got) == str(want), where
        return
    if isinstance(got, Exception):
        raise got
    assert got.shape == want.shape and got.dtype == want.dtype, where
    numpy.testing.assert_allclose(got, want, rtol=1e-9, atol=1e-9, err_msg=where)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("policy", ["reference", "adaptive"])
@pytest.mark.parametrize("text", TEXTS + BY_DATA)
def test_one_trace_gives_numpys_results(text: str, policy: str) -> None:
    f = function_of(text)
    jitted = np.jit(lambda x: f(np, x), abstracted_axes=N)
    with np.config(execution=policy):
        for n in SIZES:
            x = vector(n)
            agree(outcome(lambda x=x: jitted(x)), outcome(lambda x=x: f(numpy, x)), f"{n}")
    assert jitted._cache_size() == 1


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("text", TEXTS + BY_DATA)
def test_compiled(text: str) -> None:
    """Two sizes of one bucket, where there are buckets; else a program for each."""
    f = function_of(text)
    jitted = np.jit(lambda x: f(np, x), abstracted_axes=N)
    with np.config(execution="compiled"):
        for n in (7, 5):
            agree(outcome(lambda n=n: jitted(vector(n))), numpy.asarray(f(numpy, vector(n))), text)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("text", TEXTS + BY_DATA)
def test_jaxprs(text: str) -> None:
    f = function_of(text)
    jaxpr = np.make_jaxpr(lambda x: f(np, x), abstracted_axes=N)(vector(3))
    captured = np.make_jaxpr(lambda x: f(np, x), abstracted_axes=N, return_shape=True)(vector(3))
    if len(jaxpr.in_type) != 2:  # it captures an array that is made while tracing
        return
    assert captured[0].in_type == jaxpr.in_type
    for n in SIZES:
        x = vector(n)
        agree(
            outcome(lambda n=n, x=x: np.eval_jaxpr(jaxpr, n, x)[-1]),
            outcome(lambda x=x: f(numpy, x)), f"{n}",
        )  # fmt: skip


def contexts(f: Function) -> Iterator[tuple[str, Any, Any]]:
    def loss(x: Any) -> Any:
        y = f(np, x)
        return (y * y * 1.0).sum() if np.ndim(y) else y * y

    def jit(g: Any) -> Any:
        return np.jit(g, abstracted_axes=N)

    def pushed(g: Any) -> Any:
        return lambda x: np.jvp(g, (x,), (np.ones_like(x),))[1]

    inner = jit(loss)
    yield "grad(jit)", np.grad(inner), np.grad(loss)
    yield "jit(grad)", jit(np.grad(loss)), np.grad(loss)
    yield "jvp(jit)", pushed(inner), pushed(loss)
    yield "jit(jvp)", jit(pushed(loss)), pushed(loss)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("text", TEXTS + BY_DATA)
def test_derivatives(text: str) -> None:
    for where, sized, plain in contexts(function_of(text)):
        for n in SIZES[:5]:
            x = np.array(vector(n))
            agree(
                outcome(lambda f=sized, x=x: f(x)), outcome(lambda f=plain, x=x: f(x)),
                f"{where} {n}", exact=False,
            )  # fmt: skip


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("text", TEXTS)
def test_examples(text: str) -> None:
    f = function_of(text)

    def one(x: Any) -> Any:
        return f(np, x)

    mapped = (
        np.vmap(np.jit(one, abstracted_axes=N)),
        np.jit(np.vmap(one), abstracted_axes={1: "n"}),
        np.jit(np.vmap(one), abstracted_axes={0: "b", 1: "n"}),
    )
    for n in SIZES[:5]:
        xs = numpy.stack([vector(n), vector(n) * 0.9])
        want = outcome(lambda xs=xs: numpy.stack([numpy.asarray(f(numpy, x)) for x in xs]))
        for g in mapped:
            agree(outcome(lambda g=g, xs=xs: g(xs)), want, f"{n}", exact=False)


def test_shapes_within_a_function_of_sizes_are_its_numbers() -> None:
    def function(x: Any) -> Any:
        found = np.eval_shape(lambda y: {"a": y * x[1:], "b": y[:, None] + x}, x[1:])
        a, b = (np.zeros(found[k].shape, found[k].dtype) for k in "ab")
        return a + x[1:], b + x

    jitted = np.jit(function, abstracted_axes=N)
    for n in SIZES[:5]:
        x = vector(n)
        a, b = jitted(x)
        numpy.testing.assert_array_equal(a, x[1:])
        numpy.testing.assert_array_equal(b, numpy.zeros((max(n - 1, 0), 1)) + x)
    assert jitted._cache_size() == 1
