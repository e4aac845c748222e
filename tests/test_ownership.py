"""Who may write in place: nothing but what is written ever changes."""

from __future__ import annotations

import copy
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy
import pytest

import lazynp as np
from lazynp import _ownership
from lazynp._array import write_lock
from lazynp._fronts import BUILT
from tests.helpers import POLICIES, be_eager

START = numpy.arange(12.0).reshape(3, 4)

# -- holders: ways in which somebody else may see an array's value ---------------------------------


def _closure(x: Any) -> Callable[[], Any]:
    return lambda: x.copy()


def _thread(x: Any) -> Any:
    """Another thread's copy, made before the write."""
    held: list[Any] = []
    thread = threading.Thread(target=lambda: held.append(x.copy()))
    thread.start()
    thread.join()
    return held[0]


def _generator(x: Any) -> Iterator[Any]:
    """Suspended with a row in its hands."""

    def rows() -> Iterator[Any]:
        kept = x.copy()
        yield None
        yield kept

    made = rows()
    next(made)
    return made


# What holds the value, and what it is to show after the array was written.
UNCHANGED: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "copy": (lambda x: x.copy(), lambda h: h),
    "copied by copy": (copy.copy, lambda h: h),
    "positive": (lambda x: +x, lambda h: h),
    "operand of a pending node": (lambda x: x + 0.0, lambda h: h),
    "operand of a pending slice": (lambda x: x[:2].copy(), lambda h: h),
    "array": (lambda x: np.array(x), lambda h: h),
    "numpy's view": (lambda x: numpy.asarray(x), lambda h: h),
    "numpy's copy": (lambda x: numpy.array(x), lambda h: h),
    "generator": (_generator, lambda h: next(h)),
    "another thread": (_thread, lambda h: h),
    "copy of a row": (lambda x: x[1].copy(), lambda h: h),
    "list of copies": (lambda x: [x.copy(), x.copy()], lambda h: h[1]),
}
VIEWS: dict[str, Callable[[Any], Any]] = {
    "none": lambda x: None,
    "row": lambda x: x[1],
    "columns": lambda x: x[:, 1:3],
    "transposed": lambda x: x.T,
    "view of a view": lambda x: x[1:][0],
    "reshaped": lambda x: x.reshape(-1),
    "real": lambda x: x.real,
}

# -- ways of writing -------------------------------------------------------------------------------


def _setitem(index: Any, value: Any) -> Callable[[Any], None]:
    def write(x: Any) -> None:
        x[index] = value

    return write


def _through_view(x: Any) -> None:
    v = x[1:]
    v[0] = 7.0


def _op_on_view(x: Any) -> None:
    x[1:] += 1.0


def _op_on_kept_view(x: Any) -> None:
    v = x[:, 1]
    v *= 3.0


def _op(x: Any) -> None:
    x += 1.0


def _out(xp: Any) -> Callable[[Any], None]:
    def write(x: Any) -> None:
        xp.multiply(x, 2.0, out=x)

    return write


def _out_of_view(xp: Any) -> Callable[[Any], None]:
    def write(x: Any) -> None:
        xp.add(x[0], 1.0, out=x[2])

    return write


def _ways(xp: Any) -> dict[str, Callable[[Any], None]]:
    def at(x: Any) -> None:
        xp.add.at(x, [0, 0, 2], 1.0)

    def own_part(x: Any) -> None:
        x[:2] = x[1:]

    def masked(x: Any) -> None:
        x[x > 5] = -1.0

    return {
        "element": _setitem((1, 2), 5.0),
        "negative element": _setitem((-1, -2), 5),
        "row": _setitem(1, 2.0),
        "slice": _setitem((slice(None), slice(1, 3)), 4.0),
        "ellipsis": _setitem(Ellipsis, 3.0),
        "index array": _setitem([0, 2], 8.0),
        "list": _setitem(0, [1.0, 2.0, 3.0, 4.0]),
        "numpy's array": _setitem(0, numpy.arange(4)),
        "mask": masked,
        "own part": own_part,
        "through a view": _through_view,
        "op": _op,
        "op of a part": _op_on_view,
        "op of a kept view": _op_on_kept_view,
        "out": _out(xp),
        "out of a view": _out_of_view(xp),
        "at": at,
        "fill": lambda x: x.fill(2.5),
        "sort": lambda x: x.sort(axis=0),
    }


@pytest.fixture(params=[*POLICIES, "eager"], autouse=True)
def _policy_of_execution(request: pytest.FixtureRequest) -> Iterator[None]:
    execution = "adaptive" if request.param == "eager" else request.param
    with np.config(execution=execution):
        be_eager(request.param == "eager")
        yield
    be_eager(False)


def _made(xp: Any, name: str) -> Any:
    if name == "there":
        return xp.array(START)
    if name == "pending":
        return xp.array(START) * 1.0
    return xp.zeros((3, 4))  # a fill: it has no memory yet


# (holder, how many of them, view)
CASES = [
    *[(holder, 1, "none") for holder in UNCHANGED],
    *[("copy", 1, view) for view in VIEWS if view != "none"],
    ("copy", 0, "none"),
    ("copy", 2, "row"),
]
FEW = [("copy", 0, "none"), ("operand of a pending node", 2, "none"), ("numpy's view", 1, "row")]


@pytest.mark.parametrize("start", ["there", "pending", "zeros"])
@pytest.mark.parametrize("way", list(_ways(np)))
def test_holders_do_not_change(way: str, start: str) -> None:
    """The array itself, and views of it, show what was written; whoever else holds it does not."""
    cases = FEW if np.config.execution == "compiled" else CASES
    for name, count, view in cases:
        _check(way, start, [UNCHANGED[name]] * count, view, name)


def _check(way: str, start: str, holders: list[Any], view: str, name: str) -> None:
    shown = []
    for xp in (numpy, np):
        x = _made(xp, start)
        if xp is np and start == "there":
            float(x[0, 0])
        held = [hold(x) for hold, _ in holders]
        seen = VIEWS[view](x)
        _ways(xp)[way](x)
        results = [x, *([] if seen is None else [seen])]
        if name != "numpy's view" or xp is np:  # of NumPy's array, that is the array itself
            results += [look(h) for h, (_, look) in zip(held, holders, strict=True)]
        shown.append([numpy.asarray(r) for r in results])
    if name == "numpy's view":
        shown[0] += [numpy.asarray(_made(numpy, start))] * len(holders)
    for theirs, ours in zip(*shown, strict=True):
        numpy.testing.assert_array_equal(ours, theirs, err_msg=f"{way}, {start}, {name}, {view}")


# -- the answer itself -----------------------------------------------------------------------------


def _there() -> Any:
    x = np.array(START)
    float(x[0, 0])
    return x


def _both(owner: Any, view: Any = None) -> bool:
    """What Python counts, and what C does."""
    with write_lock:
        answers = [_ownership.counted(owner, view) is not None]
        if BUILT:
            answers.append(_ownership.exclusive(owner, view) is not None)
    assert len(set(answers)) == 1
    return answers[0]


def test_an_owner_alone_is_exclusive() -> None:
    assert _both(_there())
    x = _there()
    y = x  # the same handle
    assert _both(x) and _both(y)


@pytest.mark.parametrize("name", ["copy", "positive", "operand of a pending node", "numpy's view"])
def test_a_holder_makes_it_shared(name: str) -> None:
    x = _there()
    held = UNCHANGED[name][0](x)
    shares = name == "numpy's view" or held._read()[2] is None or held._read() is x._read()
    assert _both(x) is not shares
    del held
    np.materialize(np.ones(2) * 3.0)  # a cut: what is dead is forgotten
    assert _both(x)


def test_one_view_may_be_in_on_it() -> None:
    be_eager()
    x = _there()
    with np.config(execution="adaptive"):
        be_eager()
        v = x[1:]
        assert not _both(x)
        assert _both(x, v)
        w = x[:2]
        assert not _both(x, v) and not _both(x, w)
        del w
        assert _both(x, v)
        held = numpy.asarray(v)
        assert not _both(x, v)
        del held, v
        assert _both(x)


def test_what_is_no_host_memory_is_not_exclusive() -> None:
    x = np.array(START) * 2.0
    assert x._read()[2] is not None or not _both(x)
    assert not _both(np.broadcast_to(np.ones(3), (4, 3)))
    shown = numpy.array(START)
    shown.flags.writeable = False
    x = _there()
    x._node[2] = shown
    del shown
    assert not _both(x)


def test_counts_that_are_lower_by_one() -> None:
    """As on an interpreter that lends local variables to calls: what is calibrated still holds."""
    program = """
import sys
real = sys.getrefcount
sys.getrefcount = lambda x: real(x) - 2  # one for this function's own argument
import os
os.environ["LAZYNP_PURE_PYTHON"] = "1"
import lazynp as np
a = np.array([1.0, 2.0, 3.0])
float(a[0])
b = a.copy()
a[0] = 5.0
assert b.tolist() == [1.0, 2.0, 3.0], b
c = a + 1.0
a[1:] = 9.0
assert c.tolist() == [6.0, 3.0, 4.0] and a.tolist() == [5.0, 9.0, 9.0]
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
