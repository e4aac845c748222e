"""The structure of a tree as JSON, and which of its leaves a tree `like` it speaks of.

A structure is null for None, "*" for a leaf, else [kind, static, children]. The kinds that JSON can
bring back are dict, list and tuple; other classes are written by name, and need `like` to be read.
"""

from __future__ import annotations

from ast import literal_eval
from collections.abc import Callable, Iterator
from typing import Any

from lazynp._tree import LEAF, tree_flatten, tree_unflatten

Said = Any  # a structure as JSON
_PLAIN = {"dict": dict, "list": list, "tuple": tuple}
STAR = "*"


def said(structure: Any) -> Said:
    """The structure of a tree, from `tree_flatten`, as JSON. Raises TypeError for keys of dicts
    that text cannot stand for.
    """
    if structure is LEAF:
        return STAR
    kind, static, children = structure
    if kind is type(None):
        return None
    if kind is dict:
        return ["dict", [_key(k) for k in static], [said(c) for c in children]]
    name = kind.__name__ if kind in (list, tuple) else f"{kind.__module__}.{kind.__qualname__}"
    return [name, _static(static), [said(c) for c in children]]


def _key(key: Any) -> str:
    text = repr(key)
    try:
        if literal_eval(text) == key:
            return text
    except (ValueError, SyntaxError):
        pass
    raise TypeError(f"save: keys of dicts must be strings, numbers or tuples of them, got {key!r}")


def _static(static: Any) -> Any:
    return None if static is None else repr(static)


def names(layout: Said, path: str = "tree") -> Iterator[str]:
    """For each leaf, how one would write it: tree['params'][0]."""
    if layout == STAR:
        yield path
    elif layout is not None:
        for name, child in zip(_places(layout), layout[2], strict=True):
            yield from names(child, path + name)


def _places(layout: Said) -> list[str]:
    kind, static, children = layout
    if kind == "dict":
        return [f"[{key}]" for key in static]
    return [f"[{i}]" for i in range(len(children))]


def rebuilt(layout: Said, leaves: Iterator[Any], path: str = "tree") -> Any:
    """The tree of these leaves. ValueError for a class that only `like` can bring back."""
    if layout == STAR:
        return next(leaves)
    if layout is None:
        return None
    kind, static, children = layout
    if kind not in _PLAIN:
        raise ValueError(f"load: {path} is a {kind}, which needs like= to be made again")
    places = _places(layout)
    made = [
        rebuilt(child, leaves, path + place) for child, place in zip(children, places, strict=True)
    ]
    if kind == "dict":
        return dict(zip(map(literal_eval, static), made, strict=True))
    return _PLAIN[kind](made)


def arranged(
    layout: Said, like: Any, is_leaf: Callable[[Any], bool]
) -> tuple[list[Any], Callable[[list[Any]], Any]]:
    """For each leaf of the layout, the leaf of `like` that speaks of it; and what makes a tree like
    `like` of the values. A leaf of `like` may stand for a part of the tree, which comes back as the
    layout has it. Raises ValueError where the structures differ.
    """
    given, structure = tree_flatten(like, is_leaf=lambda x: x is None or is_leaf(x))
    wanted: list[Any] = []
    parts: list[tuple[Said, str]] = []
    _match(layout, structure, "tree", parts)
    for (part, _), leaf in zip(parts, given, strict=True):
        wanted += [leaf] * sum(1 for _ in names(part))

    def made(values: list[Any]) -> Any:
        following = iter(values)
        return tree_unflatten(structure, [rebuilt(p, following, path) for p, path in parts])

    return wanted, made


def _match(layout: Said, structure: Any, path: str, parts: list[tuple[Said, str]]) -> None:
    if structure is LEAF:
        parts.append((layout, path))
        return
    mine = said(structure)
    if layout == STAR or layout is None or layout[:2] != mine[:2]:
        raise ValueError(f"load: {path}: {_shown(layout)} was saved, like= has {_shown(mine)}")
    if len(layout[2]) != len(mine[2]):
        raise ValueError(
            f"load: {path}: {len(layout[2])} entries were saved, like= has {len(mine[2])}"
        )
    places = _places(layout)
    for part, child, place in zip(layout[2], structure[2], places, strict=True):
        _match(part, child, path + place, parts)


def _shown(layout: Said) -> str:
    if layout is None:
        return "None"
    if layout == STAR:
        return "an array"
    kind, static, _ = layout
    return f"a {kind}" + (f" with the keys {', '.join(static)}" if kind == "dict" else "")


__all__ = ["arranged", "names", "rebuilt", "said"]
