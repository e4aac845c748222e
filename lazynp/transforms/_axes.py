"""`abstracted_axes`: which axes of the arguments have sizes that a trace does not know."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lazynp._avals import Aval, aval_of
from lazynp._dimensions import new_axis
from lazynp._node import Node
from lazynp._recorder import StagingRecorder
from lazynp._sizes import Atom, Size
from lazynp._tree import tree_flatten

Names = tuple[str | None, ...]  # of the axes of one array; empty: all of its sizes are known


def axes_argument(spec: Any, what: str) -> Any:
    """The argument, checked: a dict, a tuple of names, or a tuple of these."""
    if spec is None or _is_one(spec):
        return spec
    if isinstance(spec, tuple) and all(s is None or _is_one(s) for s in spec):
        return spec
    raise TypeError(
        f"{what}: abstracted_axes must be {{axis: name}}, a tuple of names (and None) by axis, or "
        f"a tuple of such for each argument, got {spec!r}"
    )


def _is_one(spec: Any) -> bool:
    """Whether it is the specification of one array."""
    if isinstance(spec, dict):
        return all(type(k) is int and isinstance(v, str) for k, v in spec.items())
    return isinstance(spec, tuple) and all(n is None or isinstance(n, str) for n in spec)


def names_of_leaves(
    spec: Any, args: Sequence[Any], kwargs: dict[str, Any], what: str
) -> list[Names]:
    """The names of the axes of each leaf of `(args, kwargs)`."""
    if spec is None:
        return []
    if _is_one(spec):
        specs, rest = [spec] * len(args), spec
    elif len(spec) == len(args):
        specs, rest = list(spec), None
    else:
        raise ValueError(
            f"{what}: abstracted_axes is for {len(spec)} positional arguments, got {len(args)}"
        )
    found: list[Names] = []
    for one, tree in [*zip(specs, args, strict=True), (rest, kwargs)]:
        found += [_names(one, x, what) for x in tree_flatten(tree)[0]]
    return found


def _names(spec: Any, x: Any, what: str) -> Names:
    ndim = getattr(x, "ndim", 0)
    if not spec or not ndim:
        return ()
    items = spec.items() if isinstance(spec, dict) else enumerate(spec)
    names: list[str | None] = [None] * ndim
    for axis, name in items:
        if name is None:
            continue
        if not -ndim <= axis < ndim:
            raise ValueError(
                f"{what}: abstracted_axes names axis {axis} {name!r}, but an argument has "
                f"{ndim} dimension{'s' * (ndim != 1)}"
            )
        names[axis] = name
    return tuple(names) if any(names) else ()


class NamedSizes:
    """The sizes with names in one trace, in the order in which they are met."""

    def __init__(self, recorder: StagingRecorder) -> None:
        self._recorder = recorder
        self.sizes: dict[str, Size] = {}
        self.nodes: list[Node] = []  # the inputs of the program that hold them
        self.places: dict[str, list[tuple[int, int]]] = {}  # leaf, axis
        self._numbers: dict[str, Any] = {}  # the sizes in the first call

    @property
    def atoms(self) -> list[Atom]:
        return [size.variables()[0] for size in self.sizes.values()]

    @property
    def given(self) -> dict[Atom, int]:
        """What they are in the first call."""
        return {s.variables()[0]: int(self._numbers[name]) for name, s in self.sizes.items()}

    def aval(self, aval: Aval, names: Names, leaf: int) -> Aval:
        """The type of a leaf with sizes in place of the numbers of its axes."""
        if not names:
            return aval
        shape: list[Any] = list(aval.shape)
        for axis, name in enumerate(names):
            if name is not None:
                if name not in self.sizes:
                    self.sizes[name], node = new_axis(name, self._recorder)
                    self.nodes.append(node)
                    self._numbers[name] = shape[axis]
                if shape[axis] != self._numbers[name]:
                    raise _differ(self._recorder.staging, name, self._numbers[name], shape[axis])
                shape[axis] = self.sizes[name]
                self.places.setdefault(name, []).append((leaf, axis))
        return aval_of(tuple(shape), aval.dtype, aval.weak)


def bound(places: dict[str, list[tuple[int, int]]], shapes: Sequence[Any], what: str) -> list[int]:
    """The sizes that arguments of these shapes give to the names."""
    found = []
    for name, where in places.items():
        sizes = [shapes[leaf][axis] for leaf, axis in where]
        other = next((n for n in sizes if n != sizes[0]), None)
        if other is not None:
            raise _differ(what, name, sizes[0], other)
        found.append(sizes[0])
    return found


def _differ(what: Any, name: str, first: Any, second: Any) -> ValueError:
    return ValueError(
        f"{what}: the axes named {name!r} must have one size, got {first} and {second}"
    )
