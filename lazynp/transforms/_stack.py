"""Shared by all interpreters: trees of arguments, explicit operands, the end of a trace.

An interpreter (`Trace`) receives a primitive with the nodes and Python scalars it was recorded on.
It makes them explicit and calls a rule of the primitive with Arrays one level down. The rule binds
primitives for the interpreters below, or for the graph.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from lazynp._array import (
    Array,
    NDArray,
    Scalar,
    as_operand,
    from_host,
    new_array,
    new_scalar,
    write_lock,
)
from lazynp._avals import SCALAR_DTYPES, Aval, aval_of, native, on_device
from lazynp._jaxpr import Rules
from lazynp._node import (
    AVAL,
    VALUE,
    Node,
    Op,
    Trace,
    aval_of_node,
    is_interpreted,
    is_tracer,
    leaf,
    op_of,
)
from lazynp._plan_jaxpr import cast_scalar
from lazynp._recorder import StagingRecorder, elsewhere, local
from lazynp._strides import are_apart, writeable
from lazynp._trace import check_bounds, interpreting
from lazynp._tree import tree_flatten, tree_unflatten
from lazynp.primitives import elementwise, shaping

Params = dict[str, Any]

DISABLED: list[int] = []  # one entry for each `disable_jit` in effect


class disable_jit:
    """`with disable_jit():` jitted functions run undecorated, operation by operation. Bodies and
    branches of control flow do so too, if the deciding values are known. A nested
    `disable_jit(False)` enables jit again.
    """

    def __init__(self, disable: bool = True) -> None:
        self._disable = disable

    def __enter__(self) -> None:
        self._before = DISABLED[:]
        DISABLED[:] = [1] if self._disable else []

    def __exit__(self, *error: Any) -> None:
        DISABLED[:] = self._before


# Each is called when a transformation begins to run a function. It gives what to call at the end.
inner_observers: list[Callable[[], Callable[[], None]]] = []


def at_once(*trees: Any) -> bool:
    """Whether Python runs control flow: `disable_jit` is in effect and the deciding values are
    known.
    """
    if not DISABLED or local.recorder.staging:
        return False
    return not any(is_interpreted(node_of(x)) for tree in trees for x in tree_flatten(tree)[0])


def check_callable(op: str, function: Any) -> None:
    if not callable(function):
        raise TypeError(f"{op}: a callable is required, got {function!r}")


def name_of(function: Any) -> str:
    return getattr(function, "__name__", None) or type(function).__name__


# -- operands --------------------------------------------------------------------------------------


def inferred(primitive: Rules, operands: Sequence[Any], params: Params) -> Op:
    """The op that the graph would record for the operands' own avals. Raises NumPy's errors."""
    ins = tuple([aval_of_node(o) if type(o) is list else type(o) for o in operands])
    return check(op_of(primitive, params, ins), tuple(operands))


def check(op: Op, operands: tuple[Any, ...]) -> Op:
    if op.bounds is not None:
        check_bounds(op, operands)
    traced = op.primitive.kind in ("host", "call")
    if op.host and not traced and not all([on_device(a.dtype) for a in op.explicit]):
        raise TypeError(
            f"{op.primitive.name}: transformations do not trace values of types {op.ins}; NumPy "
            "computes them on the host"
        )
    return op


def coerced(x: Any, target: Aval, *, shape: bool = True) -> Array:
    """Convert an operand to its form in the jaxpr: cast, then broadcast."""
    if type(x) is not list:
        x = leaf(cast_scalar(x, target.dtype))
        if target.weak:
            x[AVAL] = target
    array, aval = new_array(x), aval_of_node(x)
    if aval is target:
        return array
    if aval.dtype != target.dtype:
        array = elementwise.convert(array, dtype=target.dtype)
    if shape and aval.shape != target.shape:
        first = target.ndim - aval.ndim
        dims = tuple(range(first, target.ndim))
        array = shaping.broadcast_in_dim(array, shape=target.shape, dims=dims)
    return array


def results(primitive: Rules, out: Any) -> tuple[Any, ...]:
    return tuple(out) if primitive.multiple_results else (out,)


# -- trees of arguments ----------------------------------------------------------------------------


def node_of(x: Any) -> Node:
    """The node of a leaf of arguments or results. Python scalars become NumPy scalars."""
    operand = as_operand(x)
    if type(operand) is list:
        value = operand[VALUE]
        if type(value) is np.ndarray and not value.dtype.isnative:
            return in_native_order(new_array(operand))._read()
        return operand
    if type(operand) is int and 1 << 63 <= operand < 1 << 64:
        return leaf(np.uint64(operand))
    return leaf(SCALAR_DTYPES[type(operand)].type(operand))


def argument_node(x: Any) -> Node:
    """The node of an argument. Python numbers stay weak, as without a transformation."""
    node = node_of(x)
    if type(x) in SCALAR_DTYPES:
        node[AVAL] = aval_of((), node[AVAL].dtype, True)
    if elsewhere and type(x) in SCALAR_DTYPES and not local.recorder.staging:
        return elsewhere[0](node)  # a new array
    return node


def as_given(x: Any, handle: Array) -> Any:
    """The handle of an argument that the transformation does not touch. A Python number is passed
    as itself, so that results computed from it stay weak.
    """
    return x if type(x) in SCALAR_DTYPES else handle


def _strong(node: Node) -> Node:
    """Make a result strong, unless an outer transformation is active."""
    if not aval_of_node(node).weak or is_interpreted(node) or local.recorder.staging:
        return node
    dtype = aval_of_node(node).dtype
    if node[VALUE] is not None:
        return [None, None, node[VALUE], None, aval_of((), dtype)]
    return elementwise.convert(new_array(node), dtype=dtype)._read()


def as_weak_as(node: Node, aval: Aval) -> Node:
    """Make a derivative by a number, or of one, as weak as that number (under a transformation)."""
    traced = local.recorder.staging or is_interpreted(node)
    if not (aval.weak and traced) or aval_of_node(node).weak:
        return node
    return elementwise.convert(new_array(node), dtype=aval.dtype, weak=True)._read()


def in_native_order(x: Array) -> Array:
    """The array itself, or a copy in the machine's byte order."""
    dtype = x.dtype
    return x if dtype.isnative else elementwise.convert(x, dtype=native(dtype))


def write(array: Array, value: Node) -> None:
    """Store a value that a traced function computed."""
    aval = aval_of_node(value)
    if aval.dtype != array.dtype:
        value = elementwise.convert(new_array(value), dtype=array.dtype)._read()
    array._write(value)


def store(argument: Any, value: Array) -> None:
    """Write to an argument, which is our array or NumPy's."""
    if isinstance(argument, Array):
        with write_lock:
            write(argument, value._read())
    elif isinstance(argument, np.ndarray):
        argument[...] = np.asarray(value)


def handle_like(x: Any, node: Node) -> Array:
    """A new handle for an argument: a Scalar if the argument was one, read-only if the argument is
    read-only.
    """
    if type(x) is NDArray:  # `isinstance` would ask it for its class
        made = new_array(node)
        if x._flags is not None and not writeable(x):
            made._flags = {"readonly": True}
        return made
    if isinstance(x, (Scalar, bool, int, float, complex, np.generic)):
        return new_scalar(node)
    made = new_array(node)
    if isinstance(x, Array) and not writeable(x):
        made._flags = {"readonly": True}
    elif isinstance(x, np.ndarray) and not x.flags.writeable:
        made._flags = {"readonly": True}
    return made


def result_handle(node: Node, like: Any = None) -> Array:
    """The handle that a transformed function returns: a Scalar where the function returned one."""
    node = _strong(node)
    scalar = not aval_of_node(node).ndim and like is not NDArray
    return new_scalar(node) if scalar else new_array(node)


def kind_of(x: Any) -> Any:
    """What to keep of a result: the class of an array (rather than its handle), anything else
    itself.
    """
    return type(x) if isinstance(x, Array) else x


def check_leaf(x: Any, what: str) -> None:
    """Raise TypeError unless x is an array or a number, which alone can be traced."""
    if isinstance(x, (Array, np.ndarray, np.generic, bool, int, float, complex)):
        dtype = getattr(x, "dtype", None)
        if dtype is None or dtype.kind in "biufc":
            return
    if hasattr(x, "__array__"):
        return
    cure = (
        ""
        if isinstance(x, str)
        else (
            "; its class can be registered (lazynp.tree.register_pytree_node, register_dataclass)"
        )
    )
    if what.startswith("jit") and not what.endswith("a result"):
        cure += "; what decides the program can be passed as static (static_argnums)"
    raise TypeError(
        f"{what}: arrays and numbers are required, got {x!r} ({type(x).__name__}){cure}"
    )


class Flat:
    """A function from a flat list of handles to a flat list, which can rebuild the trees.

    has_aux: the function returns `(out, aux)`; the leaves of aux come last.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        structure: Any,
        kwargs: dict[str, Any] | None = None,
        has_aux: bool = False,
    ) -> None:
        self.function, self.structure, self.kwargs = function, structure, kwargs or {}
        self.has_aux = has_aux
        self.tree: Any = None
        self.aux_tree: Any = None
        self.count = 0  # leaves of the result without aux

    def __call__(self, handles: Sequence[Any]) -> list[Any]:
        out = self.function(*tree_unflatten(self.structure, handles), **self.kwargs)
        aux = None
        if self.has_aux:
            if not isinstance(out, (tuple, list)) or len(out) != 2:
                raise TypeError(
                    f"has_aux: {name_of(self.function)} must return a pair (out, aux), got {out!r}"
                )
            out, aux = out
        leaves, self.tree = tree_flatten(out)
        more, self.aux_tree = tree_flatten(aux)
        self.count = len(leaves)
        for x in leaves:
            check_leaf(x, f"the result of {name_of(self.function)}")
        return leaves + more

    def rebuilt(self, nodes: Sequence[Node], like: Sequence[Any]) -> Any:
        """Rebuild the result without aux."""
        made = [result_handle(n, x) for n, x in zip(nodes, like)]
        return tree_unflatten(self.tree, made[: self.count])

    def aux(self, nodes: Sequence[Any], like: Sequence[Any]) -> Any:
        rest = zip(nodes[self.count :], like[self.count :], strict=True)
        return tree_unflatten(self.aux_tree, [_aux_leaf(n, x) for n, x in rest])


def _aux_leaf(node: Any, like: Any) -> Any:
    """An auxiliary result: arrays hold primal values; anything else passes through."""
    return result_handle(node, like) if like is NDArray or like is Scalar else like


def leaf_node(x: Any) -> Node:
    """The node of a result; for an auxiliary result that is not an array, any node."""
    try:
        return node_of(x)
    except (TypeError, ValueError):
        return leaf(np.float64(0))


# -- the end of a trace ----------------------------------------------------------------------------


class telling_why:  # a block
    """NumPy hides our TypeError behind "setting an array element with a sequence"; re-raise the
    original.
    """

    __slots__ = ()

    def __enter__(self) -> None:
        pass

    def __exit__(self, _: Any, error: BaseException | None, place: Any) -> None:
        cause = error.__cause__ if isinstance(error, ValueError) else None
        if isinstance(cause, TypeError) and _is_ours(cause):
            raise cause.with_traceback(place) from None


def none_swallowed(recorder: StagingRecorder) -> None:
    """Raise the error of a value that is not known, if a handler of the user's has caught it. What
    the function has done since is not what it does with a value.
    """
    if recorder.asked is not None:
        raise recorder.asked


def _is_ours(error: BaseException) -> bool:
    """Whether this package raised it."""
    place = error.__traceback__
    while place is not None and place.tb_next is not None:
        place = place.tb_next
    return place is not None and place.tb_frame.f_globals.get("__name__", "").startswith("lazynp.")


class running(interpreting):  # a block
    """Run a trace. Afterwards, also after an exception, no handle holds one of its tracers.

    settle: `(handle, node before)`, called for each handle that does. strict: it raises an error.
    Then what is garbage, but not collected yet, is collected before: a recursive inner function, or
    an exception that was kept, refers to itself, and to the arrays among its variables.
    """

    __slots__ = ("settle", "strict", "ends")

    def __init__(
        self, trace: Trace, settle: Callable[[Any, Node], None], *, strict: bool = False
    ) -> None:
        super().__init__(trace)
        self.settle, self.strict = settle, strict

    def __enter__(self) -> None:
        super().__enter__()
        self.ends = [begin() for begin in inner_observers]

    def __exit__(self, kind: Any, error: BaseException | None, place: Any) -> None:
        super().__exit__(kind, error, place)
        for end in self.ends:
            end()
        if self.strict and error is None:
            for generation in (1, 2):  # what the function has made is young
                if self._left():
                    gc.collect(generation)
        errors = []
        for handle, before in self._left():
            try:
                self.settle(handle, before)
            except Exception as wrong:
                errors.append(wrong)
        self.trace.written.clear()
        if errors and error is None:
            raise errors[0]
        telling_why().__exit__(kind, error, place)

    def _left(self) -> list[tuple[Any, Node]]:
        """The handles that hold one of the trace's tracers, and the node that each held before."""
        trace = self.trace
        found = [(reference(), before) for reference, before in list(trace.written.values())]
        return [
            (handle, before)
            for handle, before in found
            if handle is not None and is_tracer(handle._node) and handle._node[VALUE].trace is trace
        ]


def refuse_shared(
    what: str, arguments: Sequence[Any], handles: Sequence[Array], before: Sequence[Node]
) -> None:
    """Raise ValueError if the function wrote an argument that shares memory with another. The
    function got separate handles, so the write did not change the other argument.
    """
    owners = [x._owner() if type(x) is NDArray else None for x in arguments]
    for i, (handle, node) in enumerate(zip(handles, before, strict=True)):
        if handle._node is node or owners[i] is None:
            continue
        for k, owner in enumerate(owners):
            if k != i and owner is owners[i] and not are_apart(arguments[i], arguments[k]):
                raise ValueError(
                    f"{what}: leaf {i} of the arguments is written in place, and shares memory "
                    f"with leaf {k}, which the write would not change; pass a copy of one of them"
                )


def write_back(argument: Any, handle: Array, initial: Node, value: Callable[[Node], Node]) -> None:
    """Store in an argument what the function wrote to its handle."""
    node = handle._node
    written = node is not initial and isinstance(argument, (Array, np.ndarray))
    if written and not isinstance(argument, Scalar):
        store(argument, new_array(value(node)))


def data_leaf(value: Any) -> Node:
    return from_host(np.asarray(value))


def zeros(aval: Aval) -> Array:
    return shaping.full(0, shape=aval.shape, dtype=aval.dtype)


def summed(x: Any) -> Array:
    """What a transpose rule adds the cotangent of this linear operand to: see `Primitive.sums`."""
    return zeros(x.aval) if x.sum is None else x.sum


def outside_name(function: Any, handle: Array) -> str:
    """The function's name for an array that it did not create."""
    inner = getattr(function, "__wrapped__", function)
    code = getattr(inner, "__code__", None)
    cells = getattr(inner, "__closure__", None) or ()
    for name, cell in zip(code.co_freevars if code else (), cells):
        try:
            if cell.cell_contents is handle:
                return repr(name)
        except ValueError:  # an empty cell
            pass
    scope = getattr(inner, "__globals__", {})
    for name in code.co_names if code else ():
        if scope.get(name) is handle:
            return repr(name)
    return "an array"
