"""Views that rounds append to lists: `history.append(x[1:])`. The rows are the arrays that they
show, so that each view has its array, as in Python.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from typing import Any

from lazynp._array import NDArray
from lazynp._steps import Basic, Slice, Transpose
from lazynp._tree import tree_flatten
from lazynp.transforms.control import CannotStage, closed

# how a view shows its array: indices, and permutations of axes
Way = tuple[tuple[str, Any], ...]


def way_of(view: Any) -> Way | None:
    """None if it is not known before the program runs, or leads to a copy."""
    found: list[tuple[str, Any]] = []
    for step in view._short_path():
        if isinstance(step, Transpose):
            found.append(("axes", step.permutation))
        elif isinstance(step, (Basic, Slice)):
            step = step.meaning if isinstance(step, Basic) else step
            if not all(type(start) is int for start in step.starts):
                return None
            found.append(("index", step.index))
        else:
            return None
    return tuple(found)


def shown(array: Any, way: Way) -> Any:
    for kind, value in way:
        array = array[value] if kind == "index" else array.transpose(value)
    return array


def find_holders(
    owners: Sequence[tuple[Any, Any, bool]], variables: dict[str, Any], always: Container[str]
) -> None:
    """Tell the sites of views which variable has the array that the newest view shows. owners: the
    site, the array that it has got or a view of, and whether it is a view. variables: those that
    are carried, after a round. always: those that each round binds anew, and whose arrays nothing
    writes; others would show what becomes of the array.
    """
    for k, (site, owner, is_view) in enumerate(owners):
        if not is_view:
            continue
        if sum(o is owner for _, o, _ in owners) > 1:
            raise CannotStage(f"line {site.line}: lists get several views of one array")
        site.holder = ""
        for name, value in variables.items():
            held = [x for x in tree_flatten(closed(value))[0] if type(x) is NDArray]
            if all(x._owner() is not owner for x in held):
                continue
            newest = site.spec[0] == "view" and all(s is not site for s, _, _ in owners[k + 1 :])
            if value is not owner or name not in always or site.holder or not newest:
                raise CannotStage(f"line {site.line}: `{name}` shows what `{site.of}` gets")
            site.holder = name
