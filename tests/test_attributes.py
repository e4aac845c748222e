"""Setting shape, dtype and strides in place: who owns the memory, who may write it, who sees it."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import numpy
import pytest

import lazynp as np
from tests.helpers import POLICIES


def _shape(a: Any) -> None:
    a.shape = (3, 4)


def _dtype(a: Any) -> None:
    a.dtype = "i8"


def _strides(a: Any) -> None:
    """In Fortran's order of the same memory."""
    step = a.strides[0] if a.ndim == 1 else min(a.strides)
    a.shape = (3, 4)
    a.strides = (step, 3 * step)


def _base(x: Any, **known: Any) -> str:
    """Which of these is the base of `x`."""
    return next((name for name, a in known.items() if x.base is a), "another")


def _tried(action: Callable[[], Any]) -> str:
    try:
        action()
    except ValueError:
        return "ValueError"
    return "done"


def _seen(np: Any, change: Callable[[Any], None], readonly: bool, of_view: bool) -> list[Any]:
    """All that can be observed of an array that is changed in place, and of its views."""
    whole = np.arange(24.0)
    a = whole[::2] if of_view else np.arange(12.0) + 0
    before = a[2:5]
    a.flags.writeable = not readonly
    change(a)
    after = a[0:1]
    seen: list[Any] = [a.flags.writeable, a.flags.owndata, a.flags.c_contiguous, a.flags.num]
    seen += [_base(a, whole=whole), a.base is None, _base(after, a=a, whole=whole)]
    seen += [_base(before, a=a, whole=whole), after.flags.writeable, after.flags.owndata]
    for x in (before, a, after):
        seen.append(_tried(lambda x=x: x.__setitem__(0, 7)))
        seen.append(_tried(lambda x=x: np.add(x, 1, out=x)))
        seen.append([v.tolist() for v in (before, a, after)])
    for again in (copy.deepcopy(a), pickle.loads(pickle.dumps(a)), a.copy()):
        seen += [again.flags.writeable, again.base is None, again.tolist()]
    seen += [_tried(lambda: after.flags.__setattr__("writeable", True)), after.flags.writeable]
    seen += [_tried(lambda: a.flags.__setattr__("writeable", True)), a.flags.writeable]
    seen += [_tried(lambda: a.__setitem__(..., 5)), a.tolist(), before.tolist(), after.tolist()]
    change(a)
    seen += [a.tolist(), a.T.flags.writeable, before.base is None, _base(a[:1], a=a, whole=whole)]
    return seen


@pytest.mark.filterwarnings("ignore:Setting the")
@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("of_view", [False, True], ids=["owner", "view"])
@pytest.mark.parametrize("readonly", [False, True], ids=["writable", "readonly"])
@pytest.mark.parametrize("change", [_shape, _dtype, _strides])
def test_what_is_seen_of_an_array_that_changes_in_place(
    change: Callable[[Any], None], readonly: bool, of_view: bool, policy: str
) -> None:
    if of_view and change is _dtype:
        change = _shape_of_column  # the dtype of a strided view cannot change its length
    wanted = _seen(numpy, change, readonly, of_view)
    with np.config(execution=policy):
        assert _seen(np, change, readonly, of_view) == wanted


def _shape_of_column(a: Any) -> None:
    a.shape = (a.size, 1)
