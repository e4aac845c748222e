"""shard_map: a function of the blocks that the devices of a mesh have.

The blocks are examples of nested vmaps, one for each axis of the mesh, with the axis' name. Along
these axes the arrays are split, so each device computes its own block. Collectives, derivatives and
checks of what differs between devices are those of vmap.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

from lazynp._array import Array, NDArray, Scalar, new_array, new_scalar
from lazynp._avals import Aval
from lazynp._shardings import Mesh, NamedSharding, PartitionSpec, current_mesh
from lazynp._tree import broadcast_prefix, tree_flatten, tree_map, tree_unflatten
from lazynp.primitives import shaping
from lazynp.primitives.placing import put, target_of
from lazynp.transforms._mapped import or_traced
from lazynp.transforms._recipes import remade
from lazynp.transforms._stack import check_callable, name_of, node_of, result_handle
from lazynp.transforms._vmap import Wording, mapping


def shard_map(
    f: Callable[..., Any] | None = None,
    *,
    mesh: Mesh | None = None,
    in_specs: Any,
    out_specs: Any,
    check_vma: bool = True,
) -> Any:
    """The function of whole arrays that calls `f` with each device's blocks.

    mesh: by default the one that is set. in_specs, out_specs: how arguments are split into blocks,
    and blocks of results joined; PartitionSpecs, or trees of them that are prefixes of the
    arguments and of the results. `f` may write its blocks; such writes stay there. In it, the axes
    of the mesh are names for `psum`, `all_gather`, `axis_index` and the like. Python's branches and
    loops on values of a block are traced as `jit` traces them.

    Raises ValueError if an axis does not divide a dimension evenly, and for results that may differ
    along an axis that their spec does not name; check_vma=False trusts that they do not.
    """
    if f is None:
        return functools.partial(
            shard_map, mesh=mesh, in_specs=in_specs, out_specs=out_specs, check_vma=check_vma
        )
    check_callable("shard_map", f)
    what = f"shard_map of {name_of(f)}"
    wording = _Devices(what, out_specs)
    ins = tuple(in_specs) if isinstance(in_specs, list) else in_specs

    def call(*args: Any) -> Any:
        grid = mesh or current_mesh()
        if grid is None:
            raise ValueError(f"{what}: a mesh is required: mesh=, or with set_mesh(mesh)")

        def called(function: Callable[..., Any]) -> Any:
            return _Call(function, grid, wording, check_vma).run(args, ins)

        return or_traced(called, f, wording)

    specs = {"in_specs": in_specs, "out_specs": out_specs}
    return remade(call, shard_map, f, mesh=mesh, **specs, check_vma=check_vma)


def _is_spec(x: Any) -> bool:
    return isinstance(x, PartitionSpec)


class _Devices(Wording):
    """The examples are the blocks of devices."""

    each = "device"
    same = "pass what is the same for all devices with a spec that names no axis"
    apart = "an argument that the axes of the mesh split"

    def __init__(self, what: str, out_specs: Any) -> None:
        super().__init__(what)
        self.out_specs = out_specs

    def differs(self, aval: Aval, axis_name: Any) -> str:
        return (
            f"out_specs {self.out_specs} lack the axis {axis_name!r}, along which a result may "
            "differ from device to device; check_vma=False trusts that it does not"
        )


class _Call:
    """One call: its blocks, and how its results are joined."""

    def __init__(
        self, function: Callable[..., Any], mesh: Mesh, wording: _Devices, check: bool
    ) -> None:
        self.function, self.mesh, self.what = function, mesh, wording.what
        self.out_specs, self.check = wording.out_specs, check
        self.wording = wording

    def run(self, args: tuple[Any, ...], in_specs: Any) -> Any:
        leaves, structure = tree_flatten(args)
        specs = broadcast_prefix(in_specs, structure, f"{self.what}: in_specs", is_leaf=_is_spec)
        shardings = [self.sharding(s) for s in specs]
        blocks = [self.split(x, s) for x, s in zip(leaves, shardings, strict=True)]

        def local(*blocks: Any) -> Any:
            # a copy, so that writes stay here
            own = [new_array(b._read()) if type(b) is NDArray else b for b in blocks]
            out = self.function(*tree_unflatten(structure, own))
            self.specs_of(tree_flatten(out)[1])
            return out

        mapped: Callable[..., Any] = local
        for name in reversed(self.mesh.axis_names):
            mapped = mapping(
                self.wording,
                mapped,
                in_axes=tuple(0 if self.splits(s, name) else None for s in shardings),
                out_axes=tree_map(lambda s, n=name: self.out_axis(s, n), self.out_specs,
                                  is_leaf=_is_leaf),
                axis_name=name,
                axis_size=self.mesh.shape[name],
                spmd_axis_name=name,
            )  # fmt: skip
        results, tree = tree_flatten(mapped(*blocks))
        wanted = self.specs_of(tree)
        joined = [self.join(x, self.sharding(s)) for x, s in zip(results, wanted, strict=True)]
        return tree_unflatten(tree, joined)

    def specs_of(self, tree: Any) -> list[Any]:
        """For each result of a tree like this, how it is split."""
        return broadcast_prefix(self.out_specs, tree, f"{self.what}: out_specs", is_leaf=_is_spec)

    def sharding(self, spec: Any) -> NamedSharding:
        return NamedSharding(self.mesh, PartitionSpec() if spec is None else spec)

    @staticmethod
    def splits(sharding: NamedSharding, name: str) -> bool:
        return any(name in part for part in sharding.parts(len(sharding.spec)))

    def out_axis(self, spec: Any, name: str) -> int | None:
        return 0 if not self.check or self.splits(self.sharding(spec), name) else None

    def split(self, x: Any, sharding: NamedSharding) -> Any:
        """The blocks, along a new axis in front for each axis of the mesh that splits it."""
        scalar = isinstance(x, Scalar) or not isinstance(x, Array) and not getattr(x, "ndim", 0)
        array = new_array(node_of(x))
        sharding.check(array.shape, self.what)
        array = put(array, target_of(sharding))
        if scalar:
            return new_scalar(array._read())
        sizes = self.mesh.shape
        shape: list[int] = []
        axes: dict[str, int] = {}
        rest = []
        for n, part in zip(array.shape, sharding.parts(array.ndim), strict=True):
            for name in part:
                axes[name] = len(shape)
                shape.append(sizes[name])
            rest.append(len(shape))
            shape.append(n // math.prod(sizes[name] for name in part))
        names = [n for n in self.mesh.axis_names if n in axes]
        if not names:
            return array
        made = shaping.reshape(array, shape=tuple(shape))
        order = (*[axes[n] for n in names], *rest)
        if order != tuple(range(len(order))):
            made = shaping.transpose(made, permutation=order)
        return put(made, target_of(NamedSharding(self.mesh, PartitionSpec(*names))))

    def join(self, x: Any, sharding: NamedSharding) -> Any:
        """The whole result of its blocks."""
        array = new_array(node_of(x))
        sizes = self.mesh.shape
        in_front = [n for n in self.mesh.axis_names if not self.check or self.splits(sharding, n)]
        for axis, name in reversed(list(enumerate(in_front))):
            if not self.splits(sharding, name):  # all devices along it are trusted to agree
                array = _first(array, axis)
        names = [n for n in in_front if self.splits(sharding, n)]
        ndim = array.ndim - len(names)
        if len(sharding.spec) > ndim:
            raise ValueError(
                f"{self.what}: {sharding.spec} is longer than a result's shape "
                f"{array.shape[len(names) :]}"
            )
        order: list[int] = []
        shape: list[int] = []
        for axis, part in enumerate(sharding.parts(ndim)):
            order += [*(names.index(n) for n in part), len(names) + axis]
            size = array.shape[len(names) + axis]
            shape.append(size * math.prod(sizes[n] for n in part))
        if order != list(range(len(order))):
            array = shaping.transpose(array, permutation=tuple(order))
        if tuple(shape) != array.shape:
            array = shaping.reshape(array, shape=tuple(shape))
        made = put(array, target_of(sharding))
        return result_handle(made._read(), NDArray if ndim else Scalar)


def _is_leaf(x: Any) -> bool:
    return x is None or isinstance(x, PartitionSpec)


def _first(x: Array, axis: int) -> Array:
    """The first entry along an axis."""
    sizes = tuple(1 if i == axis else n for i, n in enumerate(x.shape))
    params = {"axes": tuple(range(x.ndim)), "sizes": sizes, "strides": (1,) * x.ndim}
    shape = tuple(n for i, n in enumerate(x.shape) if i != axis)
    starts = [0] * x.ndim
    return shaping.slice(x, *starts, **params, shape=shape)
