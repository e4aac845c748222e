"""shard_map: functions of the blocks of devices, their collectives and derivatives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
import pytest

import lazynp as np
from tests.devices.worker import on_eight

P = np.PartitionSpec
A = numpy.arange(64.0).reshape(8, 8)


def grid() -> Any:
    return np.make_mesh((4, 2), ("x", "y"))


def mapped(f: Callable[..., Any], ins: Any, outs: Any, **options: Any) -> Any:
    return np.shard_map(f, mesh=grid(), in_specs=ins, out_specs=outs, **options)


def product() -> Any:
    """A matrix product of blocks."""
    return mapped(lambda a, b: np.psum(a @ b, "y"), (P("x", "y"), P("y")), P("x"))


def shifted(a: Any) -> Any:
    return np.ppermute(a, "x", [(0, 1), (1, 2), (2, 3)])


def writes(a: Any) -> Any:
    a[0] = 7
    return a


def looped(a: Any) -> Any:
    return np.fori_loop(0, 3, lambda i, c: c + np.psum(c, "x"), a)


def _looped() -> Any:
    blocks = A.reshape(4, 2, 8)
    for _ in range(3):
        blocks = blocks + blocks.sum(0)
    return blocks.reshape(8, 8)


def branches(a: Any) -> Any:
    """Each device takes its own, and all come to the collective."""
    if a.sum() > 200:
        return a * np.psum(a.mean(), "x")
    return np.sin(a) - a.sum()


def halves(a: Any) -> Any:
    while a.sum() > 100:
        a = a * 0.5
    return a * float(a[0, 0] > 1)


def _by_blocks(f: Callable[[Any, Any], Any]) -> Any:
    """f of each block of two rows, and of all of them."""
    blocks = A.reshape(4, 2, 8)
    return numpy.concatenate([f(b, blocks) for b in blocks])


def _halved(b: Any) -> Any:
    return b * (b[0, 0] > 1) if b.sum() <= 100 else _halved(b * 0.5)


EVERY_OTHER = numpy.arange(8)[:, None] % 2 == 0
CALLS: dict[str, tuple[Callable[[Any], Any], Any]] = {
    "Python's branches": (
        mapped(branches, P("x"), P("x")),
        _by_blocks(
            lambda b, all_: (
                b * all_.mean((1, 2)).sum() if b.sum() > 200 else numpy.sin(b) - b.sum()
            )
        ),
    ),
    "Python's loops": (mapped(halves, P("x"), P("x")), _by_blocks(lambda b, _: _halved(b))),
    "blocks": (mapped(lambda a: a * 2, P("x", "y"), P("x", "y")), A * 2),
    "like a block": (
        mapped(lambda a: a + np.ones_like(a) + np.zeros_like(a[:1]), P("x"), P("x")),
        A + 1,
    ),
    "axis_index": (
        mapped(lambda a: a + np.axis_index("x"), P("x", "y"), P("x", "y")),
        A + numpy.arange(8)[:, None] // 2,
    ),
    "axis_index of two": (
        mapped(lambda a: a * 0 + np.axis_index(("x", "y")), P(("x", "y")), P(("x", "y"))),
        A * 0 + numpy.arange(8)[:, None],
    ),
    "axis_size": (
        mapped(lambda a: a * np.axis_size(("x", "y")) + np.axis_size("x"), P(), P()),
        A * 8 + 4,
    ),
    "psum": (mapped(lambda a: np.psum(a, "x"), P("x"), P()), A.reshape(4, 2, 8).sum(0)),
    "pmean": (mapped(lambda a: np.pmean(a, ("x", "y")), P("x", "y"), P()),
              A.reshape(4, 2, 2, 4).mean((0, 2))),
    "pmax": (mapped(lambda a: np.pmax(a.max(), ("x", "y")), P("x", "y"), P()), A.max()),
    "pmin": (mapped(lambda a: np.pmin(a, "y"), P(None, "y"), P()), A[:, :4]),
    "all_gather": (mapped(lambda a: np.all_gather(a, "x"), P("x"), P()), A.reshape(4, 2, 8)),
    "all_gather axis": (
        mapped(lambda a: np.all_gather(a, "x", axis=1), P("x"), P()),
        A.reshape(4, 2, 8).swapaxes(0, 1),
    ),
    "all_gather tiled": (mapped(lambda a: np.all_gather(a, "x", tiled=True), P("x"), P()), A),
    "all_gather of two": (
        mapped(lambda a: np.all_gather(a, ("x", "y"), tiled=True), P(("x", "y")), P()), A
    ),
    "psum_scatter": (
        mapped(lambda a: np.psum_scatter(a, "x", tiled=True), P(None, "x"), P("x")),
        A.reshape(8, 4, 2).sum(1),
    ),
    "psum_scatter untiled": (
        mapped(lambda a: np.psum_scatter(a.reshape(4, 2, 2), "x"), P(None, "x"), P("x")),
        A.reshape(8, 4, 2).sum(1),
    ),
    "ppermute": (mapped(shifted, P("x"), P("x")), numpy.concatenate([A[:2] * 0, A[:6]])),
    "all_to_all": (
        mapped(lambda a: np.all_to_all(a, "x", 1, 0, tiled=True), P("x"), P(None, "x")), A
    ),
    "writes": (mapped(writes, P("x"), P("x")), numpy.where(EVERY_OTHER, 7, A)),
    "writes to what all have": (mapped(writes, P(), P()), writes(A.copy())),
    "loop": (mapped(looped, P("x"), P("x")), _looped()),
    "trust": (mapped(lambda a: a, P("x"), P(), check_vma=False), A[:2]),
    "product": (lambda a: product()(a, A), A @ A),
    "decorator": (
        np.shard_map(mesh=grid(), in_specs=P("y"), out_specs=P("y"))(lambda a: a[::-1]),
        A.reshape(2, 4, 8)[:, ::-1].reshape(8, 8),
    ),
} if np.device_count() == 8 else {}  # fmt: skip
NAMES = """
blocks; like a block; axis_index; axis_index of two; axis_size; psum; pmean; pmax; pmin;
all_gather; all_gather axis; all_gather tiled; all_gather of two; psum_scatter;
psum_scatter untiled; ppermute; all_to_all; writes; writes to what all have; loop; trust; product;
decorator; Python's branches; Python's loops
""".split(";")


@pytest.mark.parametrize("name", [n.strip() for n in NAMES])
@pytest.mark.parametrize("way", ["plain", "jit", "split", "vmap"])
@on_eight
def test_it_gives_what_the_blocks_say(name: str, way: str) -> None:
    function, want = CALLS[name]
    given: Any = np.array(A)
    if way == "split":
        given = np.device_put(A, np.NamedSharding(grid(), P("x", "y")))
    if way == "vmap":
        got = np.vmap(function)(np.stack([given, given]))[1]
    else:
        got = (np.jit(function) if way == "jit" else function)(given)
    numpy.testing.assert_allclose(got, want)
    numpy.testing.assert_array_equal(given, A)  # writes stay in the blocks


SAME: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "product": (lambda a: product()(a, A), lambda a: a @ A),
    "all_gather": (
        lambda a: mapped(lambda b: np.all_gather(b, "x", tiled=True) ** 2, P("x"), P())(a),
        lambda a: a**2,
    ),
    "ppermute": (
        lambda a: mapped(shifted, P("x"), P("x"))(a) ** 2,
        lambda a: np.concatenate([a[:2] * 0, a[:6]]) ** 2,
    ),
    "replicated": (
        lambda a: mapped(lambda b, c: b * c.sum(), (P("x"), P()), P("x"))(a, a),
        lambda a: a * a.sum(),
    ),
    "Python's branch": (
        lambda a: mapped(lambda b: b**2 if b.sum() > 200 else 3 * b, P("x"), P("x"))(a),
        lambda a: np.concatenate([3 * a[:2], a[2:] ** 2]),
    ),
    "pmean": (
        lambda a: mapped(lambda b: np.pmean(b**2, ("x", "y")), P("x", "y"), P())(a),
        lambda a: (a**2).reshape(4, 2, 2, 4).mean((0, 2)),
    ),
}


@pytest.mark.parametrize("name", list(SAME))
@on_eight
def test_derivatives_are_those_of_the_global_function(name: str) -> None:
    split, whole = SAME[name]
    x, t = np.array(A), np.array(A[::-1] / 64)
    want = np.grad(lambda a: np.sin(whole(a) / 1e3).sum())(x)
    for f in (split, np.jit(split)):
        numpy.testing.assert_allclose(np.grad(lambda a, f=f: np.sin(f(a) / 1e3).sum())(x), want)
        for got, due in zip(np.jvp(f, (x,), (t,)), np.jvp(whole, (x,), (t,)), strict=True):
            numpy.testing.assert_allclose(got, due)
    numpy.testing.assert_allclose(np.jit(np.grad(lambda a: np.sin(split(a) / 1e3).sum()))(x), want)


@on_eight
def test_derivatives_within_blocks() -> None:
    def inner(a: Any) -> Any:
        return np.grad(lambda b: (np.all_gather(b, "x") ** 2).sum())(a)

    for wrap in (lambda f: f, np.jit):
        numpy.testing.assert_allclose(wrap(mapped(inner, P("x"), P("x")))(A), 8 * A)


@on_eight
def test_trees_prefixes_and_the_mesh_that_is_set() -> None:
    def f(t: Any, scale: Any) -> Any:
        return {"s": np.psum(t["a"].sum(), ("x", "y")) * scale, "m": [t["a"], t["b"]]}

    with np.set_mesh(grid()):
        specs = {"in_specs": (P("x", "y"), P()), "out_specs": {"s": P(), "m": P("x", "y")}}
        out = np.shard_map(f, **specs)({"a": A, "b": A + 1}, 2.0)
    assert float(out["s"]) == 2 * A.sum()
    assert out["m"][1].sharding == np.NamedSharding(grid(), P("x", "y"))
    numpy.testing.assert_array_equal(out["m"][1], A + 1)


@on_eight
def test_a_product_of_blocks_moves_only_their_sums() -> None:
    shapes = [
        np.ShapeDtype((8, 8), "f8", sharding=np.NamedSharding(grid(), spec))
        for spec in (P("x", "y"), P("y"))
    ]
    (reduce,) = np.jit(product()).lower(*shapes).compile().collectives()
    assert reduce.kind == "all-reduce" and reduce.bytes == 2 * 8 * 8


@on_eight
def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(ValueError, match="out_specs"):
        mapped(lambda a: a, P("x"), P())(A)
    with pytest.raises(ValueError, match="dimension 0 .* 6.* 4"):
        mapped(lambda a: a, P("x"), P("x"))(A[:6])
    with pytest.raises(ValueError, match="mesh"):
        np.shard_map(lambda a: a, in_specs=P("x"), out_specs=P("x"))(A)
    with pytest.raises(ValueError, match="longer"):
        mapped(lambda a: a.sum(), P(), P("x"), check_vma=False)(A)
    with pytest.raises(ValueError, match="ppermute"):
        mapped(lambda a: np.ppermute(a, "x", [(0, 9)]), P("x"), P("x"))(A)
    with pytest.raises(ValueError, match="psum_scatter"):
        mapped(lambda a: np.psum_scatter(a, "x"), P("x"), P("x"))(A)
    for f in (np.psum, np.all_gather, np.axis_index, np.axis_size):
        with pytest.raises(NameError, match="'q': the axes here are 'x', 'y'"):
            mapped(lambda a, f=f: f(a, "q") if f in (np.psum, np.all_gather) else f("q"), P(), P())(
                A
            )


def local(a: Any) -> Any:
    return a


@on_eight
def test_errors_speak_of_shard_map() -> None:
    """It is made of vmaps, of which its users know nothing."""
    wrong: list[tuple[Any, str]] = [
        (P(), r" PartitionSpec\(\) lack the axis 'x', along which .* check_vma=False"),
        ((P("x"), P("x")), r": \(PartitionSpec\('x'\), PartitionSpec\('x'\)\) is a tree where"),
        ({"z": P("x")}, r": \{'z': PartitionSpec\('x'\)\} is a tree where"),
    ]
    for specs, words in wrong:
        with pytest.raises(ValueError, match="^shard_map of local: out_specs" + words):
            mapped(local, P("x"), specs)(A)
    with pytest.raises(ValueError, match="^shard_map of <lambda>: out_specs: .* is not a prefix"):
        mapped(lambda a: {"k": a}, P("x"), {"z": P("x")})(A)

    def converts(a: Any) -> Any:
        return a * numpy.asarray(a).sum()

    def endless(a: Any) -> Any:
        while a.sum() > 9:
            a = numpy.asarray(a) / 2
        return a

    for f in (converts, endless):
        words = f"^shard_map of {f.__name__}: .* is another for each device.* a spec that names no"
        with pytest.raises(TypeError, match=words):
            mapped(f, P("x"), P("x"))(A)
    outside = np.array(A)

    def writes_outside(a: Any) -> Any:
        outside[:2] += a
        return a

    words = "^shard_map of writes_outside: .* another value for each device. Pass it as an argument"
    with pytest.raises(ValueError, match=words):
        mapped(writes_outside, P("x"), P("x"))(A)
    numpy.testing.assert_array_equal(outside, A)


AMONG: dict[str, tuple[Callable[[Any], Any], int]] = {  # of equal blocks; how it scales them
    "psum": (lambda b: np.psum(b, "y"), 2),
    "pmean": (lambda b: np.pmean(b, "y"), 1),
    "pmax": (lambda b: np.pmax(b, "y"), 1),
    "all_gather": (lambda b: np.all_gather(b, "y").sum(0), 2),
    "psum_scatter": (
        lambda b: np.all_gather(np.psum_scatter(b, "y", tiled=True), "y", tiled=True), 2
    ),
    "ppermute": (lambda b: np.psum(np.ppermute(b, "y", [(1, 0)]), "y"), 1),
    "all_to_all": (lambda b: np.all_to_all(
        np.all_to_all(b, "y", 1, 0, tiled=True), "y", 0, 1, tiled=True), 1),
}  # fmt: skip


@pytest.mark.parametrize("name", list(AMONG))
@on_eight
def test_derivatives_where_an_axis_does_not_split(name: str) -> None:
    """The reverse sweep runs after the call, when the mesh's axes name nothing."""
    f, scale = AMONG[name]

    def split(w: Any) -> Any:
        add = lambda b: np.psum((f(b) ** 2).sum(), "x")  # noqa: E731
        return mapped(add, P("x"), P(), check_vma=False)(w)

    want = 2 * scale**2 * A
    for g in (np.grad(split), np.jit(np.grad(split)), lambda a: np.vjp(split, a)[1](1.0)[0]):
        numpy.testing.assert_allclose(g(np.array(A)), want)
