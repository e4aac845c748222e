"""jit, grad, jvp and vmap of calls, and their counts of traces and programs."""

from __future__ import annotations

from typing import Any

import numpy
import pytest

import lazynp as np
import lazynp.pallas as pl
from lazynp.transforms._jit import STATS

S, B = np.ShapeDtype, pl.BlockSpec
RNG = numpy.random.default_rng(5)


def block(*sizes: Any) -> Any:
    return B(sizes, lambda *ids: ids)


def elementwise(x: Any, o: Any) -> None:
    o[...] = np.sin(x[...]) * x[...]


def stencil(x: Any, o: Any) -> None:
    i = pl.program_id(0)
    o[...] = x[pl.ds(i * 2, 2)] * x[pl.ds(i * 2 + 1, 2)] - x[pl.ds(i * 2 + 2, 2)] ** 2


def summed(x: Any, o: Any) -> None:
    @pl.when(pl.program_id(0) == 0)
    def _() -> None:
        o[...] = 0

    o[...] += (x[...] ** 2).sum() * x[...]


def masked(x: Any, o: Any) -> None:
    at = pl.program_id(0) * 4 + np.arange(4)
    inside = at < 10
    value = pl.load(x, (at,), mask=inside)
    value = np.where(inside, value, 1.0)
    pl.store(o, (at,), np.sqrt(value), mask=inside)


def tails(x: Any, o: Any) -> None:
    inside = pl.program_id(0) * 4 + np.arange(4) < 10
    o[...] = np.sqrt(np.where(inside, x[...], 1.0)).sum()


def scanned(x: Any, o: Any, s: Any) -> None:
    @pl.when(pl.program_id(0) == 0)
    def _() -> None:
        s[...] = 1

    @pl.loop(0, 2)
    def _(j: Any) -> None:
        s[...] = np.tanh(s[...] * x[j])
        o[j] = s[...]


def twice(x: Any, o: Any) -> None:
    o[...] = o[...] * x[...] + 1


def matrix(x: Any, y: Any, o: Any, acc: Any) -> None:
    k = pl.program_id(2)
    pl.when(k == 0)(lambda: acc.__setitem__(..., 0))
    acc[...] += x[...] @ y[...]
    pl.when(k == pl.num_programs(2) - 1)(lambda: o.__setitem__(..., np.tanh(acc[...])))


def _matrix(x: Any, y: Any) -> Any:
    return np.tanh(x @ y)


def _masked(x: Any) -> Any:
    return np.sqrt(x)


def _scan(x: Any) -> Any:
    s, found = 1.0, []
    for i in range(8):
        s = np.tanh(s * x[i])
        found.append(s)
    return np.stack(found)


def _summed(x: Any) -> Any:
    parts = x.reshape(4, 2)
    return sum((p**2).sum() * p for p in parts)


one, pair = [B((2,), lambda i: i)], B((2,), lambda i: i)
CALLS: dict[str, Any] = {  # the call, the same on whole arrays, shapes of the arguments
    "elementwise": (
        pl.pallas_call(elementwise, S((8,), "f8"), grid=4, in_specs=one, out_specs=pair),
        lambda x: np.sin(x) * x, [(8,)]),
    "overlapping reads": (
        pl.pallas_call(stencil, S((8,), "f8"), grid=4, out_specs=pair),
        lambda x: x[:8] * x[1:9] - x[2:] ** 2, [(10,)]),
    "accumulated": (
        pl.pallas_call(summed, S((2,), "f8"), grid=4, in_specs=one), _summed, [(8,)]),
    "masked": (pl.pallas_call(masked, S((10,), "f8"), grid=3), _masked, [(10,)]),
    "tails": (
        pl.pallas_call(tails, S((3,), "f8"), grid=3, in_specs=[B((4,), lambda i: i)],
                       out_specs=B((None,), lambda i: i)),
        lambda x: np.stack([np.sqrt(x[:4]).sum(), np.sqrt(x[4:8]).sum(), np.sqrt(x[8:]).sum() + 2]),
        [(10,)]),
    "carried in scratch": (
        pl.pallas_call(scanned, S((8,), "f8"), grid=4, in_specs=one, out_specs=pair,
                       scratch_shapes=[pl.VMEM((), "f8")]), _scan, [(8,)]),
    "aliased": (
        pl.pallas_call(lambda y, x, o: twice(x, o), S((8,), "f8"), grid=(2, 4),
                       in_specs=[B((2,), lambda k, i: i)] * 2,
                       out_specs=B((2,), lambda k, i: i), input_output_aliases={0: 0}),
        lambda y, x: (y * x + 1) * x + 1, [(8,), (8,)]),
    "product": (
        pl.pallas_call(matrix, S((4, 6), "f8"), grid=(2, 2, 4),
                       in_specs=[B((2, 2), lambda i, j, k: (i, k)),
                                 B((2, 3), lambda i, j, k: (k, j))],
                       out_specs=B((2, 3), lambda i, j, k: (i, j)),
                       scratch_shapes=[pl.VMEM((2, 3), "f8")]), _matrix, [(4, 8), (8, 6)]),
}  # fmt: skip


def arguments(name: str, *lead: int) -> list[Any]:
    return [np.asarray(RNG.uniform(0.5, 1.5, (*lead, *shape))) for shape in CALLS[name][2]]


def close(got: Any, want: Any) -> None:
    numpy.testing.assert_allclose(numpy.asarray(got), numpy.asarray(want), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("name", CALLS)
def test_values_also_under_jit(name: str) -> None:
    call, whole, _ = CALLS[name]
    args = arguments(name)
    close(call(*args), whole(*args))
    close(np.jit(lambda *xs: call(*xs) * 2)(*args), whole(*args) * 2)


@pytest.mark.parametrize("name", CALLS)
def test_reverse_mode(name: str) -> None:
    call, whole, _ = CALLS[name]
    args = arguments(name)
    places = tuple(range(len(args)))
    weights = np.asarray(RNG.uniform(size=whole(*args).shape))
    got = np.grad(lambda *xs: (call(*xs) * weights).sum(), argnums=places)(*args)
    want = np.grad(lambda *xs: (whole(*xs) * weights).sum(), argnums=places)(*args)
    for g, w in zip(got, want, strict=True):
        close(g, w)


@pytest.mark.parametrize("name", CALLS)
def test_forward_mode(name: str) -> None:
    call, whole, _ = CALLS[name]
    args, tangents = tuple(arguments(name)), tuple(arguments(name))
    for got, want in zip(np.jvp(call, args, tangents), np.jvp(whole, args, tangents), strict=True):
        close(got, want)


@pytest.mark.parametrize("name", ["elementwise", "accumulated", "masked", "carried in scratch"])
def test_second_derivatives(name: str) -> None:
    call, whole, _ = CALLS[name]
    (x,) = arguments(name)
    close(np.hessian(lambda x: call(x).sum())(x), np.hessian(lambda x: whole(x).sum())(x))


@pytest.mark.parametrize("name", CALLS)
def test_vmap(name: str) -> None:
    call, _, shapes = CALLS[name]
    args = arguments(name, 3)
    close(np.vmap(call)(*args), np.stack([call(*[a[i] for a in args]) for i in range(3)]))
    first = [args[0], *[a[0] for a in args[1:]]]
    axes = (0, *[None] * (len(args) - 1))
    want = np.stack([call(first[0][i], *first[1:]) for i in range(3)], axis=-1)
    close(np.vmap(call, in_axes=axes, out_axes=-1)(*first), want)


@pytest.mark.parametrize("name", ["elementwise", "product"])
def test_vmap_nests_and_takes_derivatives(name: str) -> None:
    call, whole, _ = CALLS[name]
    args = arguments(name, 2, 3)
    close(np.vmap(np.vmap(call))(*args), np.vmap(np.vmap(whole))(*args))
    batch = [a[0] for a in args]
    for f in (call, whole):
        batch.append(np.vmap(np.grad(lambda *xs, f=f: f(*xs).sum()))(*batch[: len(args)]))
    close(batch[-2], batch[-1])


def test_the_equation_shows_name_and_grid() -> None:
    call, _, _ = CALLS["elementwise"]
    x = np.ones((3, 8))
    assert "pallas_call[" in str(np.make_jaxpr(call)(x[0]))
    for f, grid in ((call, (4,)), (np.vmap(call), (3, 4))):
        (outer,) = np.make_jaxpr(f)(x if f is not call else x[0]).eqns
        (eqn,) = outer.params["jaxpr"].eqns
        assert eqn.primitive.name == "pallas_call"
        assert (eqn.params["name"], eqn.params["grid"]) == ("elementwise", grid)


def test_ids_stay_what_they_are_under_vmap() -> None:
    call = pl.pallas_call(
        lambda x, o: o.__setitem__(..., x[...] + pl.program_id(0) + 10 * pl.num_programs(0)),
        S((4,), "f8"), grid=2, in_specs=one, out_specs=pair,
    )  # fmt: skip
    got = np.vmap(call)(np.zeros((3, 4)))
    assert got.tolist() == [[20, 20, 21, 21]] * 3


def test_captured_tracers_have_derivatives_and_batches() -> None:
    x = np.arange(1.0, 5.0)

    def f(w: Any) -> Any:
        call = pl.pallas_call(
            lambda x, o: o.__setitem__(..., x[...] ** 2 * w), S((4,), "f8"), grid=2, in_specs=one,
            out_specs=pair,
        )  # fmt: skip
        return call(x).sum()

    assert np.grad(f)(2.0).tolist() == 30
    assert np.vmap(f)(np.asarray([1.0, 2.0])).tolist() == [30, 60]
    assert np.jit(f)(3.0).tolist() == 90


def test_calls_within_control_flow() -> None:
    call, whole, _ = CALLS["elementwise"]
    (x,) = arguments("elementwise")
    close(np.fori_loop(0, 3, lambda i, c: call(c), x), whole(whole(whole(x))))
    close(np.scan(lambda c, y: (call(c) + y, c.sum()), x, np.arange(2.0))[0],
          whole(whole(x)) + 1)  # fmt: skip
    close(np.cond(x[0] > 0, call, lambda x: x, x), whole(x))
    close(np.grad(lambda x: np.checkpoint(call)(x).sum())(x), np.grad(lambda x: whole(x).sum())(x))


def test_custom_vjp_within_and_around() -> None:
    @np.custom_vjp
    def root(x: Any) -> Any:
        return np.sqrt(x)

    root.defvjp(lambda x: (np.sqrt(x), x), lambda x, ct: (ct * 100,))
    call = pl.pallas_call(
        lambda x, o: o.__setitem__(..., root(x[...])), S((4,), "f8"), grid=2, in_specs=one,
        out_specs=pair,
    )  # fmt: skip
    assert np.grad(lambda x: call(x).sum())(np.ones(4)).tolist() == [100] * 4


def test_a_loop_whose_length_the_data_decide() -> None:
    def kernel(x: Any, o: Any) -> None:
        o[...] = np.while_loop(lambda v: v < 10, lambda v: v * 2, x[0])

    call = pl.pallas_call(kernel, S((), "f8"))
    assert call(np.ones(1)).tolist() == 16
    assert np.jvp(call, (np.ones(1),), (np.ones(1),))[1].tolist() == 16
    assert np.grad(lambda x: call(x))(np.ones(1)).tolist() == [16]


def test_the_kernel_is_traced_once_for_each_kind_of_arguments() -> None:
    traces = []

    def kernel(x: Any, o: Any) -> None:
        traces.append(x.dtype)
        o[...] = x[...] * pl.program_id(0)

    call = pl.pallas_call(kernel, S((64,), "f8"), grid=32, in_specs=one, out_specs=pair)
    x = np.arange(64.0)
    for _ in range(3):
        x = call(x)
    assert len(traces) == 1
    call(np.arange(64, dtype="f4")).tolist()
    assert len(traces) == 2
    call(np.arange(64, dtype="f4")).tolist()
    assert len(traces) == 2


@pytest.mark.own_policy
def test_a_second_call_traces_and_compiles_nothing() -> None:
    call, _, _ = CALLS["elementwise"]
    before = np.config.execution
    np.config(execution="compiled")
    try:
        for _ in range(2):
            call(*arguments("elementwise")).tolist()
        traces, compiles = STATS.traces, np.stats().compiles
        call(*arguments("elementwise")).tolist()
        assert (STATS.traces, np.stats().compiles) == (traces, compiles)
    finally:
        np.config(execution=before)


@pytest.mark.parametrize("interpret", [False, True])
def test_the_program_does_not_grow_with_the_grid(interpret: bool) -> None:
    def equations(n: int) -> int:
        call = pl.pallas_call(
            stencil, S((2 * n,), "f8"), grid=n, out_specs=pair, interpret=interpret
        )
        return np.make_jaxpr(call)(np.ones(2 * n + 2)).operations

    assert equations(4) == equations(4000)


def test_a_call_is_lazy() -> None:
    call, _, _ = CALLS["elementwise"]
    (x,) = arguments("elementwise")
    call(x).tolist()
    call(x)  # if its results are not read, the next one waits
    before = vars(np.stats()).copy()
    y = call(x) + 1
    assert vars(np.stats()) == before
    close(y, np.sin(x) * x + 1)


# -- derivatives that stay kernels -----------------------------------------------------------------


def _cubes(x: Any, y: Any, o: Any, p: Any) -> None:
    o[...] = x[...] ** 3 * y[...]
    p[...] = (x[...] * y[...]).sum()


def _cubes_call(**options: Any) -> Any:
    rows = B((2, 4), lambda i: (i, 0))
    return pl.pallas_call(
        _cubes, [S((6, 4), "f8"), S((3,), "f8")], grid=3, in_specs=[rows, rows],
        out_specs=[rows, B((None,), lambda i: i)], **options,
    )  # fmt: skip


def _loss(f: Any) -> Any:
    return lambda x, y: sum(
        (v * np.arange(1.0, v.size + 1).reshape(v.shape)).sum() for v in f(x, y)
    )


@pytest.mark.parametrize("interpret", [False, True])
def test_derivatives_of_blocks_that_are_visited_once(interpret: bool) -> None:
    f = _cubes_call(interpret=interpret)
    x, y = numpy.arange(24.0).reshape(6, 4) / 10, numpy.cos(numpy.arange(24.0)).reshape(6, 4)
    whole = _loss(lambda x, y: (x**3 * y, (x * y).reshape(3, 8).sum(axis=1)))
    for argnums in (0, 1):
        got, want = (np.grad(g, argnums)(x, y) for g in (_loss(f), whole))
        numpy.testing.assert_allclose(got, want, rtol=1e-12)
    got, want = (np.jvp(g, (x, y), (y, x)) for g in (_loss(f), whole))
    numpy.testing.assert_allclose(got, want, rtol=1e-12)
    got, want = (np.hessian(g)(x, y) for g in (_loss(f), whole))
    numpy.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-12)
    got, want = (
        np.vmap(np.grad(g), in_axes=(0, None))(numpy.stack([x, y]), y) for g in (_loss(f), whole)
    )
    numpy.testing.assert_allclose(got, want, rtol=1e-12)
    batch = numpy.stack([x, y])
    got, want = (
        np.grad(lambda x, g=g: np.vmap(g, in_axes=(0, None))(x, y).sum())(batch)
        for g in (_loss(f), whole)
    )
    numpy.testing.assert_allclose(got, want, rtol=1e-12)
    out, pull = np.linearize(_loss(f), x, y)
    numpy.testing.assert_allclose(pull(y, x), np.jvp(whole, (x, y), (y, x))[1], rtol=1e-12)


@pytest.mark.own_policy
@pytest.mark.parametrize("platform", ["cuda", "tpu"])
def test_they_are_launched(platform: str) -> None:
    spec = B((8, 128), lambda i: (i, 0))
    f = pl.pallas_call(
        lambda x, o: o.__setitem__(..., np.tanh(x[...]) * x[...]), S((16, 128), "f4"), grid=2,
        in_specs=[spec], out_specs=spec, name="gate",
    )  # fmt: skip
    x = S((16, 128), "f4")
    grad = np.grad(lambda x: f(x).sum())
    for g, count in ((grad, 2), (lambda x: np.jvp(f, (x,), (x,)), 1),
                     (np.value_and_grad(lambda x: f(x).sum()), 2)):  # fmt: skip
        kernels = pl.lower(g, x, platform=platform).kernels
        assert [k.name for k in kernels] == ["gate"] * count
    assert "pallas_call_linear[" in str(np.make_jaxpr(grad)(np.ones((16, 128), "f4")))
    batched = pl.lower(np.vmap(grad), S((3, 16, 128), "f4"), platform=platform).kernels
    assert [k.grid[:2] for k in batched] == [(3, 2)] * 2


def test_other_derivatives_are_those_of_the_loop() -> None:
    """Blocks that overlap, that stand out, that several programs read, and captured arrays."""
    x, c = numpy.arange(1.0, 10.0), np.arange(1.0, 4.0)

    def grad(kernel: Any, n: int, spec: Any) -> Any:
        f = pl.pallas_call(
            kernel, S((n,), "f8"), grid=3, in_specs=[spec], out_specs=B((3,), lambda i: i)
        )  # fmt: skip
        return np.grad(lambda x: (f(x) * np.arange(1.0, n + 1)).sum())(x).tolist()

    def copies(x: Any, o: Any) -> None:
        o[...] = x[:3] * x[:3]

    w = numpy.arange(1.0, 10.0)
    assert grad(copies, 9, B((3,), lambda i: i)) == (2 * x * w).tolist()
    assert grad(copies, 8, B((3,), lambda i: i))[:8] == (2 * x * w)[:8].tolist()
    assert (
        grad(copies, 9, B((3,), lambda i: 0))[:3] == (2 * x[:3] * (w[:3] + w[3:6] + w[6:])).tolist()
    )
    overlapping = grad(copies, 9, B((pl.Element(4),), lambda i: i))
    assert overlapping[:2] == [2 * x[0] * 1, 2 * x[1] * (2 + 4)]
    assert (
        grad(lambda x, o: o.__setitem__(..., x[...] * c), 9, B((3,), lambda i: i))
        == (w * numpy.tile([1.0, 2.0, 3.0], 3)).tolist()
    )
    weights = np.grad(
        lambda c: pl.pallas_call(
            lambda x, o: o.__setitem__(..., x[...] * c), S((9,), "f8"), grid=3,
            in_specs=[B((3,), lambda i: i)], out_specs=B((3,), lambda i: i),
        )(x).sum()
    )(np.ones(3))  # fmt: skip
    assert weights.tolist() == x.reshape(3, 3).sum(axis=0).tolist()


def test_atomics_other_than_add_have_no_derivative() -> None:
    def grad(change: Any) -> Any:
        def kernel(x: Any, o: Any) -> None:
            o[...] = x[...]
            change(x, o)

        return np.grad(lambda x: pl.pallas_call(kernel, S((4,), "f8"))(x).sum())(numpy.arange(4.0))

    places = np.asarray([0, 0, 1])
    assert grad(lambda x, o: pl.atomic_add(o, 0, x[3])).tolist() == [1, 1, 1, 2]
    assert grad(lambda x, o: pl.atomic_add(o, (places,), x[1:])).tolist() == [1, 2, 2, 2]
    for name in ("max", "min", "xchg"):
        atomic = getattr(pl, f"atomic_{name}")
        with pytest.raises(TypeError, match=f"atomic_{name} has no derivative"):
            grad(lambda x, o, atomic=atomic: atomic(o, 0, x[3]))
    with pytest.raises(TypeError, match="atomic_max has no derivative"):
        grad(lambda x, o: pl.atomic_max(o, (places,), x[1:]))
    with pytest.raises(TypeError, match="atomic_cas has no derivative"):
        grad(lambda x, o: pl.atomic_cas(o, 0.0, x[3]))
