"""Programs for other devices: what is compiled, what runs, what moves between devices."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy
import pytest

import lazynp as np
from lazynp._devices import find
from lazynp._placed import place_of
from tests.devices.worker import on_eight
from tests.helpers import Counted

P = np.PartitionSpec


@on_eight
def test_shapes_that_come_once_are_forgotten() -> None:
    """Descriptions that no buffer and no program holds do not pile up."""
    table = place_of(find("cpu:1")).there()._described
    bound = table.least
    kept = np.device_put(numpy.ones((3, 5)), "cpu:1") * 2
    want = numpy.asarray(kept)
    try:
        table.least = 16
        table.sweep()
        held = len(table.table)  # by programs of other tests
        for n in range(1, 3 * held + 200):
            x = np.materialize(np.device_put(numpy.ones(n), "cpu:1"))
            assert x.shape == (n,)
            del x
        assert len(table.table) <= 2 * held + 32
    finally:
        table.least = table.bound = bound
    numpy.testing.assert_array_equal(kept + 1, want + 1)


@on_eight
def test_placed_arrays_are_compiled_under_every_policy() -> None:
    for policy in ("adaptive", "compiled", "reference"):
        with np.config(execution=policy), Counted() as counted:
            x = np.device_put(numpy.arange(4.0), "cpu:1")
            assert (x * 3 + 1).tolist() == [1, 4, 7, 10]
        assert (counted.compiled_runs, counted.reference_runs) == (1, 0)


@on_eight
def test_a_loop_elsewhere_needs_few_programs() -> None:
    x = np.device_put(numpy.ones((40, 40)), "cpu:1")
    with Counted() as counted:
        for _ in range(200):
            x[1:-1] += 0.1 * (x[2:] - 2 * x[1:-1] + x[:-2])
        x.sum().item()
    assert counted.compiles <= 5, counted


@on_eight
def test_a_jitted_call_that_always_runs_by_itself_does_not_wait() -> None:
    x = rows(8, 4)
    value = numpy.asarray(x)
    f = np.jit(lambda x, c: (np.sin(x) * c, {"sum": x.sum(1)}))

    def runs(x: Any, c: float, more: bool = False) -> int:
        """How many programs run in the call; the results are compared with NumPy's."""
        with Counted() as counted:
            y, others = f(x, c)
        y = y + x if more else y
        want = numpy.sin(value) * c
        numpy.testing.assert_allclose(y, want + value if more else want)
        numpy.testing.assert_allclose(others["sum"], value.sum(1))
        assert y.sharding == x.sharding
        return counted.compiled_runs

    assert [runs(x, 2.0) for _ in range(4)] == [0, 0, 0, 1]
    assert "jit" in str(np.explain(f(x, 2.0)[0]).jaxpr)
    np.materialize(x)
    assert [runs(x, c) for c in (3.0, 4.0)] == [1, 1]
    pending = x + 1
    assert runs(x, 2.0, more=True) == 0  # it runs with what is pending
    numpy.testing.assert_allclose(pending, value + 1)
    assert [runs(x, 2.0) for _ in range(3)] == [0, 0, 1]
    other = np.device_put(value, "cpu:3")
    assert [runs(other, 2.0) for _ in range(4)] == [0, 0, 0, 1] and runs(x, 2.0) == 1
    x += 1
    value = value + 1
    np.materialize(x)
    assert runs(x, 2.0) == 1


@on_eight
def test_calls_in_a_loop_that_reads_nothing_become_one_program() -> None:
    x = rows(8, 4)
    value = numpy.asarray(x)
    f = np.jit(lambda x: np.sin(x) * 2)
    for _ in range(4):  # they run by themselves at first
        np.materialize(f(x))
    with Counted() as counted:
        for _ in range(40):
            x, value = f(x), numpy.sin(value) * 2
        numpy.testing.assert_allclose(x, value)
    assert counted.compiled_runs <= 20


def rows(*shape: int) -> Any:
    """An array split by rows over eight devices."""
    mesh = np.make_mesh((8,), ("x",))
    value = numpy.random.default_rng(0).normal(size=shape)
    return np.device_put(value, np.NamedSharding(mesh, P("x")))


def whole(like: Any, *shape: int) -> Any:
    return np.device_put(numpy.full(shape, 0.5), np.NamedSharding(like.sharding.mesh, P()))


def moved(function: Callable[[], Any]) -> tuple[dict[str, int], int, Any]:
    """The collectives of a call, their bytes, and its result."""
    stats = np.stats()
    before, size = dict(stats.collectives), stats.collective_bytes
    result = np.materialize(function())
    kinds = {k: n - before.get(k, 0) for k, n in stats.collectives.items() if n > before.get(k, 0)}
    return kinds, stats.collective_bytes - size, result


def systems(x: Any) -> Any:
    """A stack of symmetric, positive definite matrices of four rows."""
    a = x.reshape(len(x), 4, 4)
    return a @ a.swapaxes(1, 2) + numpy.eye(4)


def sorted_in_place(x: Any) -> Any:
    y = x.copy()
    y.sort(axis=1)
    return y


def largest_replaced(x: Any) -> Any:
    y = x.copy()
    np.put_along_axis(y, y.argmax(1)[:, None], 0.0, 1)
    return y


UNMOVED: dict[str, Callable[[Any], Any]] = {
    "fft": lambda x: np.fft.fft(x, axis=1),
    "rfft": lambda x: np.fft.rfft(x, 12, axis=1),
    "irfft": lambda x: np.fft.irfft(x, axis=1),
    "fft2": lambda x: np.fft.fft2(x.reshape(len(x), 4, 4)),
    "sort": lambda x: np.sort(x, axis=1),
    "sort in place": sorted_in_place,
    "argsort": lambda x: np.argsort(x, axis=1),
    "sort of the transposed": lambda x: np.sort(x.T, axis=0).T,
    "partition": lambda x: np.partition(x, 3, axis=1),
    "median": lambda x: np.median(x, axis=1),
    "percentile": lambda x: np.percentile(x, 30, axis=1),
    "nanmedian": lambda x: np.nanmedian(x, axis=1),
    "take_along_axis": lambda x: np.take_along_axis(x, np.argsort(x, axis=1), axis=1),
    "put_along_axis": largest_replaced,
    "accumulate": lambda x: np.maximum.accumulate(x, axis=1),
    "solve": lambda x: np.linalg.solve(systems(x), x.reshape(len(x), 4, 4)),
    "inv": lambda x: np.linalg.inv(systems(x)),
    "det": lambda x: np.linalg.det(systems(x)),
    "cholesky": lambda x: np.linalg.cholesky(systems(x)),
    "eigh": lambda x: np.linalg.eigh(systems(x))[0],
    "svd": lambda x: np.linalg.svd(systems(x))[0],
    "qr": lambda x: np.linalg.qr(systems(x))[1],
    "pinv": lambda x: np.linalg.pinv(systems(x)),
    "vmap of fft": lambda x: np.vmap(np.fft.fft)(x),
    "vmap of sort": lambda x: np.vmap(np.sort)(x),
    "vmap of argsort": lambda x: np.jit(np.vmap(np.argsort))(x),
    "vmap of median": lambda x: np.jit(np.vmap(np.median))(x),
    "vmap of cumsum": lambda x: np.vmap(np.cumsum)(x),
    "vmap of solve": lambda x: np.vmap(np.linalg.solve)(systems(x), x[:, :4]),
    "vmap of eigvalsh": lambda x: np.vmap(np.linalg.eigvalsh)(systems(x)),
    "jit of fft": lambda x: np.jit(lambda a: np.fft.ifft(np.fft.fft(a, axis=1), axis=1).real)(x),
    "gradient of fft": lambda x: np.grad(lambda a: (abs(np.fft.fft(a, axis=1)) ** 2).sum())(x),
    "gradient of sort": lambda x: np.jit(np.grad(lambda a: (np.sort(a, axis=1) ** 3).sum()))(x),
    "gradient of solve": lambda x: np.grad(lambda a: np.linalg.solve(a, a).sum())(systems(x)),
    "a loop of ffts": lambda x: np.fori_loop(0, 3, lambda i, u: np.fft.fft(u, axis=1).real, x),
    "shard_map of fft and sort": lambda x: np.shard_map(
        lambda u: np.sort(np.fft.fft(u, axis=1).real, axis=1),
        mesh=x.sharding.mesh,
        in_specs=P("x"),
        out_specs=P("x"),
    )(x),
    "elementwise": lambda x: np.sin(x) * 2 + x,
    "sum": lambda x: x.sum(1),
    "max": lambda x: x.max(1),
    "cumsum": lambda x: x.cumsum(1),
    "product": lambda x: x @ whole(x, x.shape[1], 4),
    "vmap": lambda x: np.vmap(lambda r: np.tanh(r).sum())(x),
    "jit": lambda x: np.jit(lambda a: a * 2 - a.mean(1, keepdims=True))(x),
}


MESHED = ("product", "shard_map of fft and sort")  # they need a mesh


@pytest.mark.parametrize("name", list(UNMOVED))
@on_eight
def test_along_axes_that_are_not_split_nothing_moves(name: str) -> None:
    for height in (64, 512):  # lowerings differ from 4096 elements on
        x = rows(height, 16)
        kinds, size, out = moved(lambda x=x: UNMOVED[name](x))
        assert (kinds, size) == ({}, 0)
        assert out.sharding.spec[0] == "x"
        want = UNMOVED[name](np.array(numpy.asarray(x))) if name not in MESHED else out
        numpy.testing.assert_allclose(numpy.asarray(out), numpy.asarray(want), 1e-9, 1e-9)


JITTED = ["solve", "inv", "cholesky", "eigh", "svd", "vmap of solve", "vmap of eigvalsh"]


@pytest.mark.parametrize("name", JITTED)
@on_eight
def test_checks_of_stacks_move_nothing_under_jit(name: str) -> None:
    x, f = rows(64, 16), np.jit(UNMOVED[name])
    for _ in range(2):
        kinds, size, out = moved(lambda: f(x))
        assert (kinds, size) == ({}, 0) and out.sharding.spec == P("x")
    assert f.lower(x).compile().collectives() == []


@on_eight
def test_the_first_failure_of_a_jitted_function_is_raised() -> None:
    def f(a: Any, i: Any, b: Any) -> Any:
        return np.linalg.inv(a), a[i], np.linalg.cholesky(b)

    x = rows(64, 16).reshape(64, 4, 4)
    good = x @ x.swapaxes(1, 2) + numpy.eye(4)
    bad = good.copy()
    bad[40] = 0
    wrong = numpy.array([3, 64])
    for sharded in (True, False):
        g, fails = [a if sharded else np.array(numpy.asarray(a)) for a in (good, bad)]
        jitted = np.jit(f)
        assert jitted(g, wrong - 2, g)[1].shape == (2, 4, 4)
        for args, message in (
            ((fails, wrong, fails), "Singular"),
            ((g, wrong, fails), "index 64"),
            ((g, wrong - 2, fails), "positive definite"),
        ):
            with pytest.raises((IndexError, np.linalg.LinAlgError), match=message):
                jitted(*args)
        stacked = np.jit(np.vmap(np.linalg.inv))
        assert stacked(g).shape == g.shape
        with pytest.raises(np.linalg.LinAlgError, match="Singular"):
            stacked(fails)


@on_eight
def test_a_sum_is_one_all_reduce_of_one_number() -> None:
    x = rows(64, 16)
    assert moved(x.sum)[:2] == ({"all-reduce": 1}, 8)


@on_eight
def test_a_data_parallel_gradient_moves_the_bytes_of_the_parameters() -> None:
    x, t = rows(256, 32), rows(256, 1)
    first, second = whole(x, 32, 16), whole(x, 16, 1)

    def loss(a: Any, b: Any) -> Any:
        return ((np.tanh(x @ a) @ b - t) ** 2).mean()

    kinds, size, _ = moved(lambda: np.grad(loss, (0, 1))(first, second))
    assert set(kinds) == {"all-reduce"} and size <= 1.1 * 8 * (32 * 16 + 16)


@on_eight
def test_a_stencil_exchanges_rows_whatever_the_height() -> None:
    found = []
    for height in (128, 512):
        u = rows(height, 64)
        compiles = np.stats().compiles

        def step(u: Any = u) -> Any:
            for _ in range(50):
                u[1:-1, 1:-1] += 0.1 * (
                    u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4 * u[1:-1, 1:-1]
                )
            return u

        kinds, size, out = moved(step)
        assert set(kinds) == {"collective-permute"} and out.sharding.spec == P("x")
        assert size <= 50 * 8 * 64 * 8 * 2 and np.stats().compiles - compiles <= 3
        found.append(size)
    assert found[0] == found[1]


@on_eight
@pytest.mark.parametrize("threads", [1, 3])
def test_many_runs_under_way_end(threads: int) -> None:
    """XLA would end the process: it stops forever with some 32 runs, or if devices begin the runs
    of two threads in different orders.
    """
    value = numpy.random.default_rng(0).normal(size=(64, 8))
    found: list[Any] = []

    def work() -> None:
        u = rows(64, 8)
        for _ in range(400):
            u = np.materialize(0.5 * (np.roll(u, 1, 0) + np.roll(u, -1, 0)))
        found.append(numpy.asarray(u))

    def run() -> None:
        try:
            work()
        except BaseException as e:
            found.append(e)

    started = [threading.Thread(target=run) for _ in range(threads)]
    for t in started:
        t.start()
    for t in started:
        t.join()
    for _ in range(400):
        value = 0.5 * (numpy.roll(value, 1, 0) + numpy.roll(value, -1, 0))
    assert len(found) == threads
    for got in found:
        numpy.testing.assert_allclose(got, value, rtol=1e-12)


@on_eight
def test_reading_a_split_array_gathers_it() -> None:
    x = rows(16, 4)
    before = np.stats().gathers
    _ = numpy.asarray(x * 2)
    assert np.stats().gathers == before + 1
    before = np.stats().gathers
    assert float(x.sum()) == float(x.copy().sum())  # each device has such a value
    _ = numpy.asarray(x.sum(axis=0))
    assert np.stats().gathers == before


@on_eight
def test_chains_of_places_that_come_back() -> None:
    """What waits for another place may need a value that waits here."""
    mesh, pair = np.make_mesh((4, 2), ("x", "y")), np.make_mesh((2,), ("x",), np.devices()[:2])
    on = [
        np.NamedSharding(mesh, P(None, "x")), np.NamedSharding(pair, P("x")), "cpu:3",
        np.NamedSharding(mesh, P("x", "y")), "cpu",
    ]  # fmt: skip
    x = numpy.arange(64.0).reshape(8, 8)
    for chain in ([0, 1, 3, 4], [1, 2, 1, 2, 4], [0, 2, 1, 3, 2, 0, 4], [2, 0, 2, 3, 1, 3]):
        y, want, kept = np.array(x), x, []
        for place in chain:
            y, want = np.device_put(y, on[place]) * 2 + 1, want * 2 + 1
            kept.append((y, want))
        for got, due in reversed(kept):  # the last one needs all others
            numpy.testing.assert_array_equal(got, due)
