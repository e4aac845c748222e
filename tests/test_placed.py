"""Arrays on other devices than the first: what NumPy gives, and where it lies."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import numpy
import pytest

import lazynp as np
from tests.devices.comparing import compare
from tests.devices.families import FAMILIES, arrays
from tests.devices.worker import on_eight
from tests.helpers import Counted


def leaves_of(tree: Any) -> list[Any]:
    return [x for x in np.tree.leaves(tree) if isinstance(x, np.Array)]


@pytest.mark.parametrize("name", list(FAMILIES))
@pytest.mark.parametrize("device", ["cpu:1", "cpu"])
@pytest.mark.own_policy
@on_eight
def test_a_family_of_operations_gives_numpys_results_there(name: str, device: str) -> None:
    def elsewhere(tree: Any) -> list[str]:
        return [f"on {x.device}" for x in leaves_of(tree) if x.device != device]

    found = compare(FAMILIES[name], arrays(), lambda _, a: np.device_put(a, device), elsewhere)
    assert not found, "\n".join(found)


DATES = numpy.array(["2026-01-01", "NaT"], "M8[D]")


@pytest.mark.parametrize("other", [["True", "a"], [b"1.0", b"2"], DATES, "a"])
@on_eight
def test_text_and_dates_are_unequal_to_numbers(other: Any) -> None:
    text = np.array(other)
    split = np.NamedSharding(np.make_mesh((2,), ("x",)), np.PartitionSpec("x"))
    for device in ("cpu", "cpu:1", split):
        for value in (numpy.array([1.0, 2.0]), numpy.array([True, False])):
            x = np.device_put(value, device)
            for got in (x == text, text == x, x[::-1] == text):
                assert got.tolist() == [False, False] and got.devices() == x.devices()
            for got in (x != text, text != x):
                assert got.tolist() == [True, True] and got.devices() == x.devices()
            with pytest.raises(TypeError, match="'less' did not contain a loop"):
                x < text  # noqa: B015
            with pytest.raises(TypeError, match="'equal' did not contain a loop"):
                np.equal(x, text)
        with pytest.raises(ValueError, match="broadcast"):
            x == np.array(["x", "y", "z"])  # noqa: B015


def _stored(a: Any, b: Any) -> Any:
    a = a.copy()
    a[0] = b
    a *= b
    a[:, 1] += a[:, 2]
    return (a * a).sum()


def _writes(a: Any, b: Any) -> None:
    a[1] = b
    a[:] += 1
    b *= 2


def _steps(a: Any, b: Any) -> Any:
    for i in range(a.shape[0]):
        if b[i] > 1.5:
            a[i] *= 2
        else:
            a[i] -= b[i]
    return a


TRANSFORMED: dict[str, Callable[..., Any]] = {
    "grad": lambda a, b: np.grad(_stored, (0, 1))(a, b),
    "value_and_grad": lambda a, b: np.value_and_grad(_stored)(a, b),
    "jvp": lambda a, b: np.jvp(_stored, (a, b), (a, b)),
    "vjp": lambda a, b: np.vjp(lambda a, b: a @ b, a, b)[1](b),
    "linearize": lambda a, b: np.linearize(np.sin, b)[1](b),
    "hessian": lambda a, b: np.hessian(lambda b: (b**3).sum())(b),
    "jit": lambda a, b: np.jit(lambda a, b: (a @ b, a * 2, a[1:3]))(a, b),
    "jit: writes": lambda a, b: np.jit(_writes)(a, b),
    "jit: writes a view": lambda a, b: np.jit(_writes)(a[:], b),
    "jit: captured": lambda a, b: np.jit(lambda c: c + a)(b),
    "jit: checked index": lambda a, b: np.jit(lambda a, i: a[i])(a, 3),
    "jit: bad index": lambda a, b: np.jit(lambda a, i: a[i])(a, 30),
    "jit: mask": lambda a, b: np.jit(lambda a: a[a > 0].sum())(a),
    "jit: loop": lambda a, b: np.jit(_steps)(a, b),
    "loop": _steps,
    "jit of grad": lambda a, b: np.jit(np.grad(_stored))(a, b),
    "grad of jit": lambda a, b: np.grad(np.jit(_stored))(a, b),
    "vmap": lambda a, b: np.vmap(lambda r: np.where(r > 0, r * b, 0).cumsum())(a),
    "vmap of grad": lambda a, b: np.vmap(np.grad(lambda r: (r**2 * b).sum()))(a),
    "scan": lambda a, b: np.scan(lambda c, x: (c + x, c * x), b, a),
    "grad of scan": lambda a, b: np.grad(
        lambda b: np.scan(lambda c, x: (c * x, 0), b, a)[0].sum()
    )(b),
    "fori_loop": lambda a, b: np.fori_loop(0, 5, lambda i, c: c * 0.5 + b, b),
    "while_loop": lambda a, b: np.while_loop(lambda c: c.sum() > 1, lambda c: c * 0.5, b),
    "cond": lambda a, b: np.cond(b.sum() > 0, lambda x: x * 2, lambda x: x, b),
    "checkpoint": lambda a, b: np.grad(lambda x: np.checkpoint(np.sin)(x).sum())(b),
    "mask": lambda a, b: np.grad(lambda a: (a[a > 0] ** 2).sum())(a),
    "callback": lambda a, b: np.pure_callback(numpy.sin, np.ShapeDtype((6,), "f8"), b),
    "associative scan": lambda a, b: np.associative_scan(np.add, a),
    "linear algebra": lambda a, b: np.grad(lambda a: np.linalg.slogdet(a @ a.T + np.eye(6))[1])(a),
    "device_put": lambda a, b: np.grad(lambda b: (np.device_put(b, "cpu:2") ** 2).sum())(b),
    "device_put in jit": lambda a, b: np.jit(lambda b: np.device_put(b, "cpu:1") * 2)(b),
}  # fmt: skip


@pytest.mark.parametrize("name", list(TRANSFORMED))
@on_eight
def test_transformations_give_there_what_they_give_here(name: str) -> None:
    function = TRANSFORMED[name]
    g = numpy.random.default_rng(0)
    a, b = g.normal(size=(6, 6)), g.uniform(1, 2, size=6)
    here, there = [[np.device_put(x, d) for x in (a, b)] for d in (None, "cpu:1")]
    try:
        want = function(*here)
    except IndexError:
        with pytest.raises(IndexError):
            function(*there)
        return
    got = function(*there)
    for x, y in zip(leaves_of((want, here)), leaves_of((got, there)), strict=True):
        numpy.testing.assert_allclose(y, x, 1e-12, 1e-12)
        assert y.device == "cpu:1", y.device


@on_eight
def test_operands_committed_to_different_devices_are_refused() -> None:
    x, y = np.device_put(numpy.ones(3), "cpu:1"), np.device_put(numpy.ones(3), "cpu:2")
    for operation in (
        lambda: x + y,
        lambda: np.concatenate([x, y]),
        lambda: np.add(x, 1.0, out=y),
        lambda: x.__setitem__(0, y[0]),
        lambda: np.jit(lambda a, b: a * b)(x, y),
    ):
        with pytest.raises(ValueError, match="cpu:[12].*cpu:[12]"):
            operation()
    numpy.testing.assert_array_equal(x, 1.0)
    numpy.testing.assert_array_equal(y, 1.0)
    assert (x + 1).device == "cpu:1" and (numpy.ones(3) * y).device == "cpu:2"
    assert (np.ones(3) + x).device == "cpu:1" and (x + [1, 2, 3]).device == "cpu:1"


@on_eight
def test_a_plain_array_written_with_a_committed_one_goes_there() -> None:
    x, plain = np.device_put(numpy.arange(3.0), "cpu:1"), np.zeros(3)
    plain[1:] = x[1:]
    assert plain.device == "cpu:1" and plain.tolist() == [0.0, 1.0, 2.0]
    x[...] = np.full(3, 7.0)
    x[:] = [1.0, 2.0, 3.0]
    assert x.device == "cpu:1" and x.tolist() == [1.0, 2.0, 3.0]
    other = np.device_put(numpy.zeros(3), "cpu:2")
    with pytest.raises(ValueError, match="cpu:2"):
        other[...] = x
    assert other.tolist() == [0.0] * 3 and other.device == "cpu:2"


@on_eight
def test_device_put_copies_and_is_lazy() -> None:
    x = np.arange(6.0) * 2
    with Counted() as counted:
        y = np.device_put(x, "cpu:1")
        z = np.device_put(y * 2, "cpu:2") + 1
    assert counted.cuts == 0
    x[0] = 100
    y[1] = -1
    assert x.tolist() == [100, 2, 4, 6, 8, 10] and y.tolist() == [0, -1, 4, 6, 8, 10]
    assert z.tolist() == [1, 5, 9, 13, 17, 21] and z.device == "cpu:2"
    same = np.device_put(y)
    same[2] = 5
    assert y[2] == 4 and same.device == "cpu:1"
    source = numpy.ones(3)
    put = np.device_put(source, "cpu:1")
    source[:] = 2
    assert put.tolist() == [1.0] * 3


@on_eight
def test_device_put_takes_trees_and_prefixes() -> None:
    tree = {"a": [numpy.ones(2), 3.0], "b": (np.zeros(1), True)}
    put = np.device_put(
        tree, {"a": "cpu:1", "b": (np.devices()[2], np.SingleDeviceSharding("cpu:3"))}
    )
    assert [x.device for x in leaves_of(put)] == ["cpu:1", "cpu:1", "cpu:2", "cpu:3"]
    got = np.device_get(put)
    assert type(got["a"][0]) is numpy.ndarray and not got["a"][0].flags.writeable
    assert got["a"][1] == 3.0 and bool(got["b"][1]) is True
    with pytest.raises(TypeError, match="numbers"):
        np.device_put(numpy.array(["text"]), "cpu:1")
    with pytest.raises(ValueError):
        np.device_put([1.0, 2.0], ["cpu:1"])


MAKERS: dict[str, Callable[..., Any]] = {
    "zeros": lambda **d: np.zeros((2, 3), **d),
    "ones": lambda **d: np.ones(3, "i4", **d),
    "empty": lambda **d: np.empty(3, **d),
    "full": lambda **d: np.full((100, 100), 2.5, **d),
    "array": lambda **d: np.asarray([[1, 2], [3, 4]], **d),
    "asarray": lambda **d: np.asarray(numpy.ones(3), **d),
    "asanyarray": lambda **d: np.asanyarray([True], **d),
    "arange": lambda **d: np.arange(5.0, **d),
    "long arange": lambda **d: np.arange(100000, **d),
    "linspace": lambda **d: np.linspace(0, 1, 7, **d),
    "eye": lambda **d: np.eye(3, **d),
    "zeros_like": lambda **d: np.zeros_like(np.ones(3), **d),
    "full_like": lambda **d: np.full_like(np.ones(3), 2, **d),
    "fftfreq": lambda **d: np.fft.fftfreq(8, **d),
}


@pytest.mark.parametrize("name", list(MAKERS))
@on_eight
def test_new_arrays_are_made_where_asked(name: str) -> None:
    make = MAKERS[name]
    want = make()
    assert want.device == "cpu"
    for device in ("cpu:1", np.devices()[1], np.SingleDeviceSharding("cpu:1")):
        made = make(device=device)
        assert made.device == "cpu:1" and made.dtype == want.dtype
        numpy.testing.assert_array_equal(made, want)
    with np.default_device("cpu:2"):
        made = make()
        assert make(device="cpu:1").device == "cpu:1"
    assert made.device == "cpu:2"
    numpy.testing.assert_array_equal(made, want)
    assert (made + make(device="cpu:1")).device == "cpu:1"  # not committed to the default device


VALUES = {"a": numpy.linspace(0.5, 2.0, 6), "m": numpy.eye(3) + numpy.arange(9.0).reshape(3, 3)}


@pytest.mark.parametrize(
    "text",
    [
        "n.add(a, 1)", "n.sin(a)", "n.add(a[0], a[1])", "n.sum(a)", "n.sort(a)", "n.argmax(a)",
        "n.dot(m, m)", "n.einsum('ij,jk', m, m)", "n.where(a > 1, a, 0)", "n.concatenate([a, a])",
        "n.reshape(a, (2, 3))", "n.median(a)", "n.linalg.inv(m)", "n.fft.fft(a)", "n.unique(a)",
        "n.searchsorted(a, a)", "n.nonzero(a > 1)[0]", "n.pad(a, 1)", "n.add.reduce(a)",
        "n.multiply.outer(a, a)", "n.modf(a)[0]", "n.histogram(a)[0]", "n.cov(m)", "n.diag(a)",
        "n.add([1, 2], 1)",
        # of Python's numbers and lists alone
        "n.add(1, 2)", "n.sin(1.0)", "n.power(2, 3)", "n.prod(3)", "n.round(1.5, 1)",
        "n.stack([1.0, 2.0])", "n.sort([2, 1])", "n.dot([1, 2], [3, 4])", "n.fft.fft([1, 2])",
        "n.linalg.inv([[1, 2], [3, 5]])", "n.unique([1, 2])", "n.histogram([1, 2])[0]",
        "n.clip(3, 1, 2)", "n.nonzero([1, 0])[0]", "n.interp(1.5, [1, 2], [3, 4])",
    ],
)  # fmt: skip
@on_eight
def test_results_of_numpys_values_are_on_the_default_device(text: str) -> None:
    want = eval(text, {"n": numpy}, VALUES)
    with np.default_device("cpu:2"):
        made = eval(text, {"n": np}, VALUES)
        assert made.device == "cpu:2"
        committed = np.device_put(numpy.ones(numpy.shape(want)), "cpu:3")
        assert (committed + made).device == "cpu:3"  # not committed to the default device
    numpy.testing.assert_allclose(made, want, rtol=1e-12)
    assert eval(text, {"n": np}, VALUES).device == "cpu"


MADE: dict[str, Callable[[], Any]] = {
    "an array": lambda: np.zeros(3),
    "of a list": lambda: np.array([1.0, 2.0]) * 2,
    "of a number": lambda: np.sin(1.0),
    "of an element": lambda: np.arange(4.0)[2] + 1,
    "of arrays": lambda: np.stack([np.zeros(2), np.ones(2)]),
    "a loop": lambda: np.fori_loop(0, 3, lambda i, x: x + i, 0.0),
    "a loop until": lambda: np.while_loop(lambda x: x < 5, lambda x: x + 1, 0),
    "a scan": lambda: np.scan(lambda c, x: (c + 1, c), 0.0, None, length=3)[1],
    "a branch": lambda: np.cond(True, lambda x: x + 1, lambda x: x, 1.0),
    "jit of a number": lambda: np.jit(lambda x: x * 2)(3),
    "a slope": lambda: np.grad(lambda x: x * x)(2.0),
    "a tangent": lambda: np.jvp(lambda x: x * x, (2.0,), (1.0,))[1],
    "a pull": lambda: np.vjp(lambda x: x * x, 2.0)[1](1.0)[0],
    "a call of Python": lambda: np.vectorize(lambda x: x + 1)([1.0, 2.0]),
    "a callback": lambda: np.pure_callback(np.sin, np.ShapeDtype((), float), 2.0),
}


@pytest.mark.parametrize("name", list(MADE))
@pytest.mark.own_policy
@on_eight
def test_what_functions_make_is_on_the_default_device(name: str) -> None:
    make, home = MADE[name], np.ones(3)
    there = np.device_put(numpy.ones(()), "cpu:5")
    with np.default_device("cpu:2"):
        found = make(), np.jit(make)(), np.jit(lambda x: make())(1.0)
        assert [x.device for x in found] == ["cpu:2"] * 3
        assert (found[1] + there).device == "cpu:5"  # it is not committed
        assert np.jit(lambda x: make() + x)(there).device == "cpu:5"
        assert np.fori_loop(0, 2, lambda i, x: x * np.ones(3), home).device == "cpu:2"
        assert (home * 2).device == np.jit(lambda x: x * 2)(home).device == "cpu"
    numpy.testing.assert_array_equal(found[1], make())


@pytest.mark.own_policy
@on_eight
def test_a_trace_is_of_one_default_device() -> None:
    f = np.jit(lambda x: np.zeros(3) + x)
    for _ in range(2):
        for device in ("cpu:2", None, "cpu:4"):
            with np.default_device(device):
                assert f(1.0).device == (device or "cpu")
    assert f._cache_size() == 3


@pytest.mark.own_policy
@on_eight
def test_what_a_function_puts_somewhere_says_where_it_runs() -> None:
    split = np.NamedSharding(np.make_mesh((8,), ("x",)), np.PartitionSpec("x"))
    for device in ("cpu:3", split):
        assert (
            np.jit(lambda d=device: np.ones(8, device=d))().sharding
            == np.ones(8, device=device).sharding
        )
    twice = np.fori_loop(0, 2, lambda i, x: np.device_put(x, "cpu:3") * 2, np.ones(2))
    assert twice.device == "cpu:3" and twice.tolist() == [4, 4]
    x = np.device_put(numpy.ones(2), "cpu:1")
    for f in (
        np.jit(lambda x: np.device_put(x, "cpu:3")),
        lambda x: np.fori_loop(0, 2, lambda i, x: np.device_put(x, "cpu:3"), x),
        np.jit(lambda x: np.device_put(x, "cpu")),
    ):
        with pytest.raises(
            ValueError, match=r"committed to different devices: cpu:1 and cpu(:3)?$"
        ):
            f(x)
    with pytest.raises(ValueError, match="committed to different devices: cpu:1 and cpu:3$"):
        np.jit(lambda x: (np.device_put(x, "cpu:1"), np.device_put(x, "cpu:3")))(2.0)


@on_eight
def test_numpys_values_under_a_default_device() -> None:
    ones = numpy.ones(2)
    x, y = np.zeros(3), np.device_put(numpy.zeros(3), "cpu:1")
    with np.default_device("cpu:2"):
        for f in (
            np.jit(lambda v: v * 2),
            np.vmap(lambda v: v * 2),
            np.grad(lambda v: (v * v).sum()),
        ):
            assert f(ones).device == "cpu:2" and f(ones).tolist() == [2, 2]
        for array, device in ((x, "cpu"), (y, "cpu:1")):  # what is written stays where it is
            array[:2] = ones
            array[numpy.array([2])] = ones[:1] * 5
            array[array > 4] = numpy.float64(7)
            array += numpy.ones(3)
            np.put(array, [0], ones)
            np.add.at(array, [0], ones[:1])
            assert array.device == device and array.tolist() == [2, 2, 8]
        assert np.dot(y, numpy.ones(3)).device == "cpu:1"


@pytest.mark.parametrize("device", ["cpu", "cpu:1"])
@on_eight
def test_memory_order_is_that_of_numpy(device: str) -> None:
    fortran = numpy.asfortranarray(numpy.arange(6.0).reshape(2, 3))
    makers: list[Callable[..., Any]] = [
        lambda n, **d: n.zeros((2, 3), order="F", **d),
        lambda n, **d: n.full((2, 3), 1.5, order="F", **d),
        lambda n, **d: n.asarray(fortran, **d),
        lambda n, **d: n.asarray([[1, 2], [3, 4]], order="F", **d),
        lambda n, **d: n.ones_like(fortran, **d),
        lambda n, **d: n.empty_like(fortran.transpose(), **d),
    ]
    for make in makers:
        want, placed = make(numpy), make(np, device=device)
        with np.default_device(device):
            default = make(np)
        for got in (placed, default, np.device_put(want, device)):
            assert got.strides == want.strides and (got + 1).strides == (want + 1).strides
            assert got.ravel("K").tolist() == want.ravel("K").tolist() or not got.any()
    moved = np.device_put(numpy.zeros((2, 3, 4)).transpose(2, 0, 1), device)
    assert moved.strides == (8, 96, 32) and np.device_put(moved).strides == (8, 96, 32)
    with pytest.raises(TypeError, match="got dtype >f8, in another byte order"):
        np.device_put(numpy.ones(3, ">f8"), device)


@on_eight
def test_like_is_where_its_model_is() -> None:
    x = np.device_put(numpy.ones(3), "cpu:1")
    for made in (np.zeros_like(x), np.ones_like(x), np.full_like(x, 2), np.empty_like(x)):
        assert made.device == "cpu:1"


@on_eight
def test_like_one_of_many_examples() -> None:
    """How the examples are split says nothing of an array like one of them."""
    rows = np.NamedSharding(np.make_mesh((8,), ("x",)), np.PartitionSpec("x"))
    for shape in ((8, 3), (8, 8), (16, 8)):
        x = numpy.arange(float(numpy.prod(shape))).reshape(shape)
        placed = np.device_put(x, rows)
        for like in (np.zeros_like, np.ones_like, np.empty_like):
            got = np.vmap(lambda row, like=like: like(row) + row)(placed)
            numpy.testing.assert_array_equal(got, x + (like is np.ones_like))
            assert got.sharding.is_equivalent_to(rows, 2)


@on_eight
def test_the_default_device_is_a_setting_and_a_block() -> None:
    assert np.default_device() == "cpu"
    with np.default_device("cpu:3"):
        assert np.default_device() == "cpu:3" == np.config.device
        assert np.random.rand(3).device == "cpu:3"
        assert np.random.key(1).normal((3,)).device == np.indices((2, 2)).device == "cpu:3"
        with np.default_device(None):
            assert np.default_device() == "cpu"
        assert np.default_device() == "cpu:3"
        x = np.zeros(4)
        x[1:] += 2
        assert (x.device, (x * 2).device, np.jit(lambda a: a + 1)(x).device) == ("cpu:3",) * 3
    assert np.default_device() == "cpu" and x.tolist() == [0, 2, 2, 2]
    np.default_device("cpu:1")
    assert np.zeros(2).device == "cpu:1"
    np.default_device(None)
    with np.config(device="cpu:4"):
        assert np.ones(2).device == "cpu:4"
    assert np.ones(2).device == "cpu"


@on_eight
def test_copies_pickles_and_interchange() -> None:
    x = np.device_put(numpy.arange(3.0), "cpu:1")
    assert copy.copy(x).device == x.copy().device == copy.deepcopy(x).device == "cpu:1"
    assert pickle.loads(pickle.dumps(x)).tolist() == [0, 1, 2]
    assert np.from_dlpack(x).tolist() == numpy.from_dlpack(x).tolist() == [0, 1, 2]
    value = numpy.asarray(x)
    assert not value.flags.writeable and value.tolist() == [0, 1, 2]
    assert x.to_device("cpu:1") is x and x.to_device("cpu:2").device == "cpu:2"
    assert x.to_device("cpu").device == "cpu"
    assert str(np.explain(x + 1)) and np.materialize(x * 2).tolist() == [0, 2, 4]
