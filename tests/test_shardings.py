"""Arrays split over a mesh: what NumPy gives, how results lie, and what is refused."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import numpy
import pytest

import lazynp as np
from tests.devices.comparing import compare
from tests.devices.families import FAMILIES, arrays
from tests.devices.worker import on_eight

pytestmark = pytest.mark.own_policy  # such arrays are compiled under every policy
P = np.PartitionSpec


def line() -> Any:
    return np.make_mesh((8,), ("x",))


def grid() -> Any:
    return np.make_mesh((4, 2), ("x", "y"))


def on_grid(*parts: Any) -> Any:
    return np.NamedSharding(grid(), P(*parts))


LAYOUTS: dict[str, Callable[[int], Any]] = {
    "rows": lambda n: np.NamedSharding(line(), P("x")),
    "blocks": lambda n: on_grid("x", "y") if n > 1 else on_grid("y"),
    "columns": lambda n: np.NamedSharding(line(), P(*[None] * (n - 1), "x")),
    "part": lambda n: on_grid("y"),
    "replicated": lambda n: on_grid(),
}
OFTEN = ("blocks",)


@pytest.mark.parametrize("name", list(FAMILIES))
@pytest.mark.parametrize(
    "layout", [n if n in OFTEN else pytest.param(n, marks=pytest.mark.slow) for n in LAYOUTS]
)
@on_eight
def test_a_family_of_operations_gives_numpys_results(name: str, layout: str) -> None:
    def elsewhere(tree: Any) -> list[str]:
        found = [x for x in np.tree.leaves(tree) if isinstance(x, np.Array)]
        return [f"on {x.device}" for x in found if x.devices() != set(np.devices())]

    def place(_: str, a: Any) -> Any:
        return np.device_put(a, LAYOUTS[layout](a.ndim))

    found = compare(FAMILIES[name], arrays(), place, elsewhere)
    assert not found, "\n".join(found)


def blocks(*shape: int) -> Any:
    value = numpy.arange(float(numpy.prod(shape))).reshape(shape)
    return np.device_put(value, on_grid("x", "y"))


@on_eight
def test_results_lie_as_their_operands() -> None:
    u, row = blocks(8, 8), np.device_put(numpy.arange(8.0), on_grid())
    assert (u * 2 + row).sharding == u.sharding == on_grid("x", "y")
    assert u.sum(axis=1).sharding == on_grid("x")
    assert u.T.copy().sharding == on_grid("y", "x")
    assert u.sum().sharding == on_grid() and u.sum().is_fully_replicated
    assert u.device == u.sharding and u.devices() == set(np.devices())
    assert u.is_fully_addressable and not u.is_fully_replicated
    assert (u + numpy.ones(8)).sharding == u.sharding == (u + np.ones((8, 8))).sharding


@on_eight
def test_an_array_written_in_place_stays_split_so() -> None:
    u = blocks(8, 8)
    other = np.device_put(numpy.ones((8, 8)), on_grid("y"))
    u[1:-1] += 1
    u[u > 5] = 0
    view = u[2:4]
    view *= 2
    u.T[0] = 5
    u += other
    u[...] = other * 3
    np.add(other, 1, out=u)
    u.sort(axis=0)
    assert u.sharding == on_grid("x", "y") and u.tolist() == [[2.0] * 8] * 8


@on_eight
def test_what_else_a_program_does_leaves_a_written_array_split_so() -> None:
    """XLA propagates from the uses of a value, also of one that is constrained, to results."""
    rows, want = np.device_put(numpy.ones((8, 8)), on_grid("x")), numpy.full((8, 8), 2.0)

    def writes(u: Any) -> Any:
        u += 1
        return u * rows, u[[6, -2]]

    for f in (writes, np.jit(writes), np.jit(writes, out_shardings=(on_grid(), None))):
        for spec in ((), ("y",), (None, "x")):
            u = np.device_put(numpy.ones((8, 8)), on_grid(*spec))
            np.materialize(f(u))
            assert u.sharding == on_grid(*spec), (spec, u.sharding)
            assert u.addressable_shards[0].data.shape == on_grid(*spec).shard_shape((8, 8))
            numpy.testing.assert_array_equal(u, want)

    def constrained(u: Any) -> Any:
        made = np.with_sharding_constraint(u + 1, on_grid())
        return made, made * rows, made[[6, -2]]

    for f in (constrained, np.jit(constrained), np.jit(np.jit(constrained))):
        made, *_ = np.materialize(f(np.device_put(numpy.ones((8, 8)), on_grid())))
        assert made.sharding == on_grid()


@on_eight
def test_arrays_without_elements_stay_split_so() -> None:
    for shape, spec in (((0, 8), ("x",)), ((8, 0), ("x", "y")), ((8, 0), ("y",)), ((0,), ())):
        u = np.device_put(numpy.zeros(shape), on_grid(*spec))
        u += 1
        u[...] = u * 2
        assert u.sharding == on_grid(*spec)
        u[:2] = 1
        (part, *_) = u.addressable_shards
        assert u.sharding == on_grid(*spec) and u.shape == numpy.asarray(u).shape == shape
        assert part.data.shape == on_grid(*spec).shard_shape(shape)
        assert u.sum() == 0


@on_eight
def test_new_arrays_are_made_split() -> None:
    sharding = on_grid("x")
    for made in (
        np.zeros((16, 8), device=sharding),
        np.ones((16, 8), device=sharding),
        np.arange(100000.0, device=sharding),
        np.full((512, 512), 2.0, device=sharding),
        np.asarray(numpy.ones((8, 3)), device=sharding),
        np.ones_like(np.device_put(numpy.ones((8, 3)), sharding)),
    ):
        assert made.sharding == sharding
    with np.set_mesh(grid()):
        assert np.zeros((8, 8), device=P(None, "y")).sharding == on_grid(None, "y")
        assert np.device_put(numpy.ones((4, 4)), P("x")).sharding == on_grid("x")


@on_eight
def test_shards_are_copies_where_they_lie() -> None:
    u = blocks(8, 8)
    value = numpy.asarray(u)
    shards = u.addressable_shards
    assert [s.device for s in shards] == np.devices()
    for shard in shards:
        assert shard.data.shape == (2, 4) and shard.data.device == shard.device
        numpy.testing.assert_array_equal(shard.data, value[shard.index])
        assert shard.replica_id == 0
    shards[0].data[:] = -1
    numpy.testing.assert_array_equal(u, value)
    again = np.device_put(value, on_grid("x")).addressable_shards
    assert [s.replica_id for s in again] == [0, 1] * 4
    assert np.ones(3).addressable_shards[0].data.tolist() == [1.0] * 3


@on_eight
def test_constraints_in_and_around_transformations() -> None:
    u = blocks(8, 8)

    def split(a: Any) -> Any:
        return np.with_sharding_constraint(a @ a.T, on_grid("y"))

    assert np.jit(split)(u).sharding == split(u).sharding == on_grid("y")
    numpy.testing.assert_allclose(np.jit(split)(u), numpy.asarray(u) @ numpy.asarray(u).T)
    g = np.grad(lambda a: (np.with_sharding_constraint(a, on_grid("y")) ** 2).sum())(u)
    numpy.testing.assert_allclose(g, 2 * numpy.asarray(u))
    mapped = np.vmap(lambda r: np.with_sharding_constraint(r * 2, on_grid("y")))(u)
    assert mapped.sharding == on_grid(None, "y")
    tree = np.with_sharding_constraint({"a": u, "b": [u]}, {"a": on_grid("y"), "b": on_grid()})
    assert tree["a"].sharding == on_grid("y") and tree["b"][0].sharding == on_grid()


@on_eight
def test_different_meshes_of_the_same_devices_meet() -> None:
    u = blocks(8, 8)
    v = np.device_put(numpy.ones((8, 8)), np.NamedSharding(line(), P("x")))
    backwards = np.Mesh(np.devices()[::-1], "z")
    w = np.device_put(numpy.arange(8.0), np.NamedSharding(backwards, P("z")))
    assert w.addressable_shards[0].data.tolist() == [7.0]
    numpy.testing.assert_array_equal(u + v + w, numpy.asarray(u) + 1 + numpy.arange(8.0))
    numpy.testing.assert_array_equal((w * 2).sum(), 56.0)


def same(a: Any) -> Any:
    return a


SIX = numpy.ones(6)
REFUSED: dict[str, tuple[Callable[[], Any], str]] = {
    "uneven": (lambda: np.device_put(SIX, on_grid("x")), "^device_put: dimension 0 .* 6.* 4"),
    "uneven maker": (
        lambda: np.zeros((4, 3), device=on_grid(None, "y")), "^zeros: dimension 1 .* 3.* 2"
    ),
    "uneven constraint": (
        lambda: np.with_sharding_constraint(np.array(SIX), on_grid("x")),
        "^with_sharding_constraint: dimension 0 .* 6.* 4",
    ),
    "uneven device_put in jit": (
        lambda: np.jit(lambda a: np.device_put(a, on_grid("x")))(SIX),
        "^device_put: dimension 0 .* 6.* 4",
    ),
    "uneven argument": (
        lambda: np.jit(same, in_shardings=on_grid("x"))(SIX),
        "^jit of same: in_shardings: dimension 0 .* 6.* 4",
    ),
    "uneven result": (
        lambda: np.jit(same, out_shardings=on_grid("x"))(SIX),
        "^jit of same: out_shardings: dimension 0 .* 6.* 4",
    ),
    "uneven move": (lambda: np.array(SIX).to_device(on_grid("x")), "^to_device: dimension 0"),
    "constraint without a mesh": (
        lambda: np.with_sharding_constraint(SIX, P("x")),
        "^with_sharding_constraint: .* needs a mesh",
    ),
    "argument without a mesh": (
        lambda: np.jit(same, in_shardings=P("x"))(SIX), "^jit of same: in_shardings: .* a mesh"
    ),
    "no axis": (lambda: on_grid("q"), "'q'.*'x', 'y'"),
    "axis twice": (lambda: on_grid("x", "x"), "'x' twice"),
    "long spec": (lambda: np.device_put(numpy.ones(4), on_grid("x", "y")), "longer"),
    "names": (lambda: np.Mesh(np.devices(), ("a", "b")), "axis names"),
    "names twice": (lambda: np.make_mesh((4, 2), ("a", "a")), "differ"),
    "device twice": (lambda: np.Mesh(["cpu", "cpu"], "a"), "comes twice"),
    "too few": (lambda: np.make_mesh((4, 4), ("a", "b")), "16 devices"),
    "no mesh": (lambda: np.device_put(numpy.ones(4), P("x")), "mesh"),
    "other devices": (lambda: blocks(8, 8) + np.device_put(numpy.ones(8), "cpu:3"), "cpu:3"),
    "constraint": (
        lambda: np.jit(lambda a: np.with_sharding_constraint(a[:6], on_grid("x")))(blocks(8, 8)),
        "^with_sharding_constraint: dimension 0 .* 6.* 4",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", list(REFUSED))
@on_eight
def test_what_does_not_fit_is_refused(name: str) -> None:
    function, message = REFUSED[name]
    with pytest.raises(ValueError, match=message):
        function()


@on_eight
def test_meshes_specs_and_shardings_are_values() -> None:
    mesh = grid()
    assert mesh == grid() and hash(mesh) == hash(grid()) and mesh != line()
    assert mesh.shape == {"x": 4, "y": 2} and mesh.size == 8 and mesh.axis_names == ("x", "y")
    assert mesh.devices.shape == (4, 2) and mesh.devices[1, 0] == "cpu:2"
    assert list(P("x", None, ("y",))) == ["x", None, ("y",)] and P("x") == P("x") != P("y")
    sharding = np.NamedSharding(mesh, P("x"))
    assert pickle.loads(pickle.dumps(sharding)) == sharding == on_grid("x")
    assert sharding.device_set == set(np.devices()) and not sharding.is_fully_replicated
    assert sharding.shard_shape((8, 3)) == (2, 3)
    assert sharding.is_equivalent_to(on_grid("x", None), 2)
    assert not sharding.is_equivalent_to(on_grid("y"), 2)
    assert on_grid().is_fully_replicated
    assert np.NamedSharding(line(), P("x")).is_equivalent_to(on_grid(("x", "y")), 1)
    indices = sharding.devices_indices_map((8,))
    assert indices["cpu"] == (slice(0, 2),) == indices["cpu:1"]
    assert indices["cpu:7"] == (slice(6, 8),)


@on_eight
def test_numbers_of_keys_do_not_depend_on_where_they_are_computed() -> None:
    want = np.random.key(3).normal((16, 4))
    split = np.with_sharding_constraint(np.random.key(3).normal((16, 4)), on_grid("x"))
    numpy.testing.assert_array_equal(split, want)


@on_eight
def test_jit_takes_and_gives_arrays_split_as_it_says() -> None:
    value = numpy.arange(64.0).reshape(8, 8)
    shardings = {"in_shardings": (on_grid("x"), None), "out_shardings": (on_grid("x", "y"), None)}
    f = np.jit(lambda a, b: (a @ b, {"s": a.sum(0)}), **shardings)
    for b in (numpy.ones((8, 8)), np.ones((8, 8)), blocks(8, 8)):
        product, rest = f(value, b)
        assert product.sharding == on_grid("x", "y")
        numpy.testing.assert_allclose(product, value @ numpy.asarray(b))
        numpy.testing.assert_allclose(rest["s"], value.sum(0))
    with np.set_mesh(grid()):
        assert np.jit(lambda a: a + 1, out_shardings=P("y"))(value).sharding == on_grid("y")
    with pytest.raises(ValueError, match="dimension 0"):
        np.jit(lambda a: a, in_shardings=on_grid("x"))(numpy.ones(3))
    with pytest.raises(ValueError, match="out_shardings"):
        np.jit(lambda a: a, out_shardings=(None, None))(numpy.ones(4))
    grad = np.grad(lambda a: f(a, a)[0].sum())(blocks(8, 8))
    numpy.testing.assert_allclose(grad, np.grad(lambda a: (a @ a).sum())(np.array(value)))


@on_eight
def test_what_a_jitted_function_writes_in_its_arguments_is_written() -> None:
    def f(a: Any) -> Any:
        a[0] = 5
        return a.sum()

    g = np.jit(f, in_shardings=on_grid("y"))
    u, value = blocks(8, 8), numpy.ones((8, 8))
    assert g(u) == numpy.arange(8.0, 64).sum() + 40
    assert u.sharding == on_grid("x", "y") and u[0].tolist() == [5.0] * 8
    assert g(value) == 56 + 40 and value[0].tolist() == [5.0] * 8


@on_eight
def test_a_constraint_puts_plain_arguments_on_its_mesh() -> None:
    f = np.jit(lambda a: np.with_sharding_constraint(a * 2, on_grid("x")))
    for a in (numpy.ones((8, 8)), np.ones((8, 8))):
        assert f(a).sharding == on_grid("x") and f(a).sum() == 128


@on_eight
def test_the_examples_of_vmap_are_split_over_the_named_axis() -> None:
    def f(r: Any) -> Any:
        return np.with_sharding_constraint(r * 2, on_grid("y"))

    u = blocks(8, 8)
    assert np.vmap(f, spmd_axis_name="x")(u).sharding == on_grid("x", "y")
    assert np.vmap(np.jit(f), spmd_axis_name="x")(u).sharding == on_grid("x", "y")
    assert np.vmap(np.jit(f))(u).sharding == on_grid(None, "y")


@on_eight
def test_a_program_compiled_ahead_tells_what_it_does() -> None:
    shape = np.ShapeDtype((8, 8), "f8", sharding=on_grid(None, "y"))
    f = np.jit(lambda a, b: {"p": a @ b, "s": a.sum()})
    compiled = f.lower(np.ShapeDtype((8, 8), "f8", sharding=on_grid("x")), shape).compile()
    assert "HloModule" in compiled.as_text()
    (reduce,) = compiled.collectives()
    assert (reduce.kind, reduce.dtype, reduce.shape) == ("all-reduce", "f64", ())
    assert (reduce.bytes, reduce.count) == (8, 1)
    assert compiled.output_shardings == {"p": on_grid("x", "y"), "s": on_grid()}
    assert compiled.input_shardings == ((on_grid("x"), on_grid(None, "y")), {})
    assert compiled.memory_analysis().argument_size_in_bytes == 8 * 16 + 8 * 32
    here = np.jit(np.sin).lower(numpy.ones(4)).compile()
    assert here.collectives() == [] and here.output_shardings == np.SingleDeviceSharding("cpu")


@on_eight
def test_explain_tells_where_an_array_lies_and_what_was_moved() -> None:
    pending = (blocks(8, 8) * 3).sum(0)
    for total in (pending, np.materialize(pending)):
        text = str(np.explain(total))
        assert "placement: NamedSharding" in text and "PartitionSpec('y')" in text
        assert "moves 1 all-reduce of 32 bytes" in text
    assert "placement: NamedSharding" in text and "moves 1 all-reduce" in text
    assert "placement: cpu:1" in str(np.explain(np.device_put(numpy.ones(3), "cpu:1") + 1))
    assert "placement" not in str(np.explain(np.ones(3) + 1))


def test_one_name_is_a_spec() -> None:
    mesh = np.make_mesh((1,), ("rows",))
    assert np.NamedSharding(mesh, "rows") == np.NamedSharding(mesh, P("rows"))
