"""The handle: NumPy's mutable array, holding an immutable value.

`Array` holds a node. Assigning into it replaces the node by that of a functional update. A view
holds its base, and the path of steps from the base's value to its own. Reading a view repeats the
steps only if the base has changed; writing takes them backwards.

`Scalar` plays the part of NumPy's scalars: lazy like any result, but immutable, hashable, not a
view.

NumPy's methods are not here; `_methods` attaches them, above `functions`.
"""

from __future__ import annotations

import sys
import weakref
from abc import ABCMeta
from sys import _getframe
from types import FrameType
from typing import TYPE_CHECKING, Any

import numpy as np

from lazynp import lowering
from lazynp._avals import SCALAR_DTYPES, Aval, TracedAval, aval_of, native, on_device
from lazynp._config import config
from lazynp._flush import at_entry, flush_for_part
from lazynp._fronts import BUILT, fastpath, in_front
from lazynp._jaxpr import Rules
from lazynp._later import ONLY_NUMPYS
from lazynp._node import AVAL, OP, VALUE, Node, aval_of_node, is_interpreted, is_tracer, leaf
from lazynp._overrides import check, keep_class, passes_for
from lazynp._positions import instruction, progress
from lazynp._recorder import (
    UNKNOWN,
    Recorder,
    StagingRecorder,
    elsewhere,
    local,
    staged,
    tracing_observers,
)
from lazynp._sizes import Size, Test
from lazynp._stale import note, write_lock
from lazynp._trace import record, record_multiple
from lazynp._turns import borrow, wait_for
from lazynp._values import there

_new = object.__new__
_class_of_object: Any = vars(object)["__class__"]


if TYPE_CHECKING:
    from lazynp._declarations import Declarations
elif BUILT and sys.version_info < (3, 12):  # later versions look `__buffer__` up on classes
    Declarations = fastpath.Buffered
else:
    Declarations = object


_LONG = 4  # steps
VIEWED = "viewed"  # other views prevented a store in place: views made from now on cache nothing


class Array(Declarations):
    """The base class of `NDArray` (NumPy's array) and `Scalar`, with everything they share."""

    __module__ = "numpy"  # SymPy looks for a class of NumPy's among those of a value
    # _flags: None, or unusual properties ("readonly": True, False, "always": nothing makes it
    # writeable, or what makes the error of a write); _order: see `_strides`
    __slots__ = ("_node", "_base", "_path", "_seen", "_flags", "_order", "__weakref__")

    _node: Node
    _base: Array | None  # the owner of a view
    _path: tuple[Any, ...]  # the steps from the owner's value to this one
    # for a view: the owner's node that `_node` was read from; for an owner: None or `VIEWED`
    _seen: Node | str | None
    _flags: dict[str, Any] | None
    _order: Any

    def _read(self) -> Node:
        """The node of the present value."""
        if staged:
            capture(self)
        base = self._base
        if base is None:
            return self._node
        node = self._node  # before `_seen`, because `let_go` of another thread changes that first
        if self._seen is base._node:
            if node[VALUE] is None:
                return local.recorder.backend.attempt(self._settled, node) or node
            return node
        with write_lock:  # the node and its source change together
            node = seen = self._owner()._node
            shown = local.recorder.backend.attempt(self._shown, seen)
            if shown is not None:
                return shown
            for step in self._short_path():
                node = step.get(node)
            self._node, self._seen = node, seen
            note(self)
        return node

    def _shown(self, whole: Node) -> Node | None:
        """The part of the owner's memory, if it is there and no program should take it. Not cached:
        nothing is written in place in memory that views hold.
        """
        if whole[VALUE] is None:
            flush_for_part(aval_of_node(self._node).nbytes, whole)
        value = self._look(there(whole))
        if value is None or self._is_recorded(value):
            return None
        return [None, None, value, None, aval_of(value.shape, value.dtype)]

    def _settled(self, node: Node) -> Node:
        """In a loop of small operations, make a recorded view NumPy's, if its owner has a value by
        now. Every read of it would otherwise take its steps again.
        """
        base = self._base
        if base is None or base._base is not None or base._seen is VIEWED:
            return node
        whole = base._node
        memory = whole[VALUE]
        if type(memory) is not np.ndarray or not on_device(memory.dtype):
            return node
        try:
            for step in self._path:
                if not step.shows:
                    return node
                memory = step.layout(memory)
        except ValueError:  # a reshape that copies
            return node
        if memory.nbytes <= local.recorder.policy.largest:
            with write_lock:
                if self._seen is whole:  # by now another thread may have seen a later value
                    self._node = node = [None, None, memory, None, aval_of_node(node)]
        return node

    def _is_recorded(self, memory: np.ndarray[Any, Any]) -> bool:
        """Whether, in a loop of small operations, a program that reads this view takes the part."""
        base = self._base
        large = memory.nbytes > local.recorder.policy.largest
        return large and base is not None and base._seen is not VIEWED

    def _look(self, memory: Any) -> Any:
        """The part of the owner's memory that this view shows, if NumPy can tell; else None."""
        if type(memory) is not np.ndarray:
            return None
        try:
            for step in self._path:
                if not step.plain and not step.shows:
                    return None
                memory = step.layout(memory)
        except ValueError:  # a reshape that copies
            return None
        return memory if type(memory) is np.ndarray else None

    def _write(self, node: Node) -> None:
        """Replace the value, also in the owner. The caller has checked shape and dtype."""
        if staged:
            capture(self, written=True)
        if self._base is None:
            if node[OP] is None or type(self._node[AVAL]) is TracedAval:
                node = noted(self, node, self._node)
            self._node = node
            return
        base = self._owner()
        path = self._short_path()
        before = [base._node]
        for step in path[:-1]:
            before.append(step.get(before[-1]))
        new = node
        for step, old in zip(reversed(path), reversed(before), strict=True):
            new = step.set(old, new)
        if new[OP] is None or type(base._node[AVAL]) is TracedAval:
            kept, new = new, noted(base, new, base._node)
            seen = new if new is kept else None  # elsewhere: this view's value is read there
        else:
            seen = new
        base._node, self._node, self._seen = new, node, seen
        if any([step.overlaps for step in path]):  # a write may show elsewhere in the view itself
            self._seen = None
        if base._seen is VIEWED:
            aval = node[AVAL] if node[OP] is None else node[OP].aval
            self._node, self._seen = [None, None, None, None, aval], None
        note(self)

    def _short_path(self) -> tuple[Any, ...]:
        """The path. Where it is long, steps that can be taken as one become one."""
        path = self._path
        if len(path) > _LONG or any([step.joins for step in path[:-1]]):
            steps = [path[0]]
            for step in path[1:]:
                both = steps[-1].then(step)
                steps[-1:] = (steps[-1], step) if both is None else (both,)
            path = self._path = tuple(steps)
        return path

    def _owner(self) -> Array:
        """The owner of the memory. An owner whose shape was set has become a view of a new
        owner.
        """
        base = self._base
        while base is not None and base._base is not None:
            base = self._base = base._base
        return self if base is None else base

    @property
    def aval(self) -> Aval:
        """The shape and dtype, in the form for the rules of primitives."""
        node = self._read()
        op = node[OP]
        return node[AVAL].plain if op is None else op.aval

    @property
    def shape(self) -> tuple[int, ...]:
        return self.aval.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.aval.dtype

    @property
    def ndim(self) -> int:
        return self.aval.ndim

    @property
    def size(self) -> int:
        return self.aval.size


of_either: dict[str, Any] = {}  # methods that accept plain, derived and NumPy arrays


class _KindOfArray(ABCMeta):
    """The answers that programs expect from `numpy.ndarray`: NumPy's own arrays, which other
    libraries return, are instances; scalars are not.
    """

    def __getattribute__(cls, name: str) -> Any:
        """`ndarray.mean(x)`, and calls of a derived class to its base by this name."""
        if name in of_either and cls is NDArray:
            return of_either[name]
        return super().__getattribute__(name)

    def __instancecheck__(cls, instance: Any) -> bool:
        return (
            type.__subclasscheck__(cls, type(instance))
            or (cls is NDArray and isinstance(instance, np.ndarray))
            or passes_for(instance, cls)
        )

    __instancecheck__ = in_front("is_instance", __instancecheck__)

    def __subclasscheck__(cls, subclass: type) -> bool:
        return type.__subclasscheck__(cls, subclass) or (
            cls is NDArray and type.__subclasscheck__(np.ndarray, subclass)
        )


class NDArray(Array, metaclass=_KindOfArray):
    """A lazy array. The functions of the namespace make it; see `lazynp.array`."""

    __slots__ = ()

    def _class(self) -> type:
        """For `isinstance` in functions that know no other arrays than `numpy.ndarray`."""
        frame = _getframe(1)
        names = ONLY_NUMPYS.get(frame.f_globals.get("__name__", ""))
        return type(self) if names is None or frame.f_code.co_name not in names else np.ndarray

    __class__ = property(  # type: ignore
        in_front("class_told", _class, function=ONLY_NUMPYS), _class_of_object.__set__
    )


if BUILT:
    fastpath.class_attributes(_KindOfArray, NDArray, of_either)
NDArray.__name__ = NDArray.__qualname__ = "ndarray"
NDArray.__module__ = "lazynp"


class Scalar(Array):
    """A lazy scalar, returned wherever NumPy returns a scalar."""

    __slots__ = ()

    def __class__(self) -> type:  # type: ignore[no-redef,override]
        """For `isinstance`: a Scalar passes for the NumPy scalar it represents."""
        return self.dtype.type

    __class__ = property(in_front("attribute", __class__, symbol="c"))  # type: ignore


def new_array(node: Node) -> Array:
    """A new owner of this node's value."""
    if staged:
        fresh(node)
    return wrap_array(node)


def capture(array: Array, *, written: bool = False) -> None:
    """While a function is staged: give an array from outside an input of the program."""
    owner, recorder = array._owner(), local.recorder
    if type(owner) is NDArray:
        wait_for(owner)  # from here to the read, no call lets another thread run
        if recorder.staging and isinstance(recorder, StagingRecorder):
            borrow(recorder, owner)
            if written:
                recorder.outdate(owner)


def fresh(node: Node) -> None:
    """While a function is staged: note that a handle is new, not from outside."""
    recorder = local.recorder
    if isinstance(recorder, StagingRecorder):
        recorder.fresh(node)


def noted(owner: Array, new: Node, before: Node) -> Node:
    """A transformation remembers the handles that hold its tracers, and what they held before, not
    every version of a written array. The node of the new value: where the array was, on devices."""
    if is_tracer(before) and not is_interpreted(before) and not is_interpreted(new):
        new = before[VALUE].keep(new)
    elif elsewhere and is_tracer(new) and not is_tracer(before) and not is_interpreted(new):
        new = new[VALUE].kept_home(new)
    if is_tracer(new):
        written = new[VALUE].trace.written
        known = written.get(id(owner))
        if known is None or known[0]() is not owner:
            written[id(owner)] = weakref.ref(owner), before
    return new


def new_scalar(node: Node) -> Scalar:
    scalar = _new(Scalar)
    scalar._node = node
    scalar._base = scalar._flags = scalar._seen = scalar._order = None
    return scalar


def wrap_array(node: Node) -> Array:
    """A handle of this node, which the caller turns into a view."""
    array = _new(NDArray)
    array._node = node
    array._base = array._flags = array._seen = array._order = None
    return array


def wrap(node: Node) -> Array:
    """The result of a NumPy operation: a Scalar if 0-d."""
    op = node[OP]
    if (node[AVAL] if op is None else op.aval).ndim == 0:
        return new_scalar(node)
    if staged:
        fresh(node)
    return wrap_array(node)


def new_view(base: Array, path: tuple[Any, ...], node: Node, order: Any) -> Array:
    """A view of `base` (an owner) along `path`, with the present value `node`."""
    view = _new(NDArray)
    view._node, view._base, view._path, view._seen = node, base, path, base._node
    view._flags, view._order = None, order
    note(view)
    return view


# -- operands ------------------------------------------------------------------------------------


def from_host(value: Any, *, copy: bool = True) -> Node:
    """A leaf for host data. Copied unless nobody else can change it (`copy=False`)."""
    if isinstance(value, np.generic):
        if isinstance(value, np.void):  # the value of a record
            value = getattr(value, "_fresh", lambda: value)()
        return leaf(value)
    if type(value) is not np.ndarray:
        value = np.asarray(value)
    if not value.dtype.isnative and local.level and value.dtype.kind in "iufc":
        value, copy = value.astype(native(value.dtype)), False  # nothing else is traced
    if value.ndim == 0 and on_device(value.dtype):
        return leaf(value[()])
    if not copy:
        return leaf(value)
    if on_device(value.dtype):
        fresh = lowering.aligned_empty(value.shape, value.dtype)
        np.copyto(fresh, value)
        return leaf(fresh)
    return leaf(value.copy())


def as_operand(x: Any) -> Any:
    """A node, or a Python scalar unchanged. Raises TypeError for values that would be misread."""
    if isinstance(x, Array):
        return x._read()
    if type(x) in SCALAR_DTYPES:
        return x
    if type(x) is Size:
        return x._scalar()._read()
    if type(x) is Test:
        return x.scalar()._read()
    keep_class(x, traced=bool(staged or local.level))
    if isinstance(x, (np.ndarray, np.generic)):
        return elsewhere[0](from_host(x)) if elsewhere else from_host(x)
    if isinstance(x, (int, float, complex)):  # IntEnum, ...: NumPy gives subclasses a full dtype
        return from_host(np.asarray(x))
    check(x)
    made = array_of(x)
    return made._read() if isinstance(made, Array) else as_operand(np.asarray(made))


def array_of(x: Any) -> Any:
    """What an object converts itself to; the object, if it does not convert itself."""
    if not hasattr(type(x), "__array__"):
        return x
    made = x._as_lazy() if hasattr(type(x), "_as_lazy") else x.__array__()  # ours: `x.flat`
    if not isinstance(made, (Array, np.ndarray, np.generic)):
        raise ValueError("object __array__ method not producing an array")
    return made


# -- binding -------------------------------------------------------------------------------------


def bind(primitive: Rules, operands: tuple[Any, ...], params: dict[str, Any]) -> Any:
    """Record a primitive. Returns a new Array, or a tuple of them."""
    begin(local.recorder, *operands)
    nodes = tuple([as_operand(o) for o in operands])
    if primitive.multiple_results:
        return tuple(new_array(n) for n in record_multiple(primitive, nodes, params))
    return new_array(record(primitive, nodes, params))


bind = in_front("bind", bind)

_OBSERVED = 256  # operations of a staged function


def begin(recorder: Recorder, *operands: Any, depth: int = 1) -> None:
    """An operation that will be recorded begins: flush here if one is due.

    Call it before reading the operands, because a view may record its own read. depth: the number
    of frames up to the user's, from the caller.
    """
    if recorder.is_full():
        _enter(recorder, _getframe(depth + 1), operands)


def begins(recorder: Recorder, *operands: Any, depth: int = 1) -> None:
    """`begin` for an operation that the back end may execute eagerly. If it does, there is nothing
    to flush; if it declines, the caller must call `begins_late`.
    """
    if not recorder.backend.goes_on(recorder):
        _enter(recorder, _getframe(depth + 1), operands)


def begins_late(recorder: Recorder, *operands: Any, depth: int = 1) -> None:
    """What `begins` put off."""
    if recorder.is_full() and recorder.backend.goes_on(recorder):
        _enter(recorder, _getframe(depth + 1), operands)


def _enter(recorder: Recorder, frame: FrameType, operands: tuple[Any, ...]) -> None:
    """Call `at_entry`, unless one of lazynp's functions is in the middle of the user's operation.

    That is the case if the user's frame is at the same instruction and the function it called has
    since advanced. After a flush for a value this is unknown, so the first step only notes the
    position.
    """
    if recorder.staging:
        for o in operands:
            if type(o) is NDArray:
                capture(o)
        if not len(recorder.pending) % _OBSERVED:
            for observe in tracing_observers:
                observe()
        return
    if local.where is not None and len(recorder.pending) < config.max_pending:
        return
    user, offsets = progress(frame)
    inside = recorder.inside
    if user is frame:
        recorder.inside = None
    else:
        recorder.inside = now = (
            id(user.f_code),
            instruction(user.f_code, user.f_lasti),
            offsets,
        )
        if inside is UNKNOWN or inside and inside[:2] == now[:2] and inside < now:
            if len(recorder.pending) < config.max_pending:
                return
    at_entry(recorder, user)


def concrete(array: Array) -> Any:
    """The host value if there is one already, else None. Not to be written."""
    value = array._read()[VALUE]
    return value if isinstance(value, (np.ndarray, np.generic)) else None
