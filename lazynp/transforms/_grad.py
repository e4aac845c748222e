"""Gradients for users: grad, value_and_grad; Jacobians and Hessians."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import index
from typing import Any

import numpy as np

from lazynp._array import Array, new_scalar
from lazynp._avals import Aval, aval_of
from lazynp._node import Node, aval_of_node, leaf
from lazynp._tree import tree_flatten, tree_map, tree_unflatten
from lazynp.primitives import elementwise, shaping
from lazynp.transforms._for_users import for_users
from lazynp.transforms._jvp import is_zero, jvp
from lazynp.transforms._linearize import Linearized, linearize_nodes
from lazynp.transforms._pulls import moving, vjp, whole
from lazynp.transforms._recipes import as_called, with_recipe
from lazynp.transforms._stack import (
    Flat,
    argument_node,
    check_callable,
    check_leaf,
    name_of,
    node_of,
    zeros,
)
from lazynp.transforms._vmap import vmap

# -- grad ------------------------------------------------------------------------------------------


def value_and_grad(
    fun: Callable[..., Any],
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
) -> Callable[..., Any]:
    """`(f(...), gradient)`; with `has_aux`, `((f(...), aux), gradient)`.

    The gradient of a real function of complex z = x + iy is df/dx - i df/dy, JAX's convention;
    with `holomorphic` it is df/dz. The other arguments are those of `grad`.

    >>> import lazynp as np
    >>> value, gradient = np.value_and_grad(lambda x: (x**2).sum())(np.array([1.0, 2.0]))
    >>> float(value), gradient
    (5.0, array([2., 4.]))
    """

    check_callable("value_and_grad", fun)
    argnums = _fixed(argnums, "value_and_grad")
    both = _both(fun, argnums, has_aux, holomorphic, allow_int)
    options = argnums, has_aux, holomorphic, allow_int
    return with_recipe(both, value_and_grad, fun, *options, moving=argnums, values=as_called)


def _both(
    fun: Callable[..., Any], argnums: int | Sequence[int], has_aux: bool, holomorphic: bool,
    allow_int: bool,
) -> Callable[..., Any]:  # fmt: skip
    def both(*args: Any, **kwargs: Any) -> Any:
        what = f"grad of {name_of(fun)}"
        given = Given(fun, args, kwargs, argnums, what)
        given.check(holomorphic, allow_int)
        nodes = given.nodes
        flat = Flat(given.function, given.structure, has_aux=has_aux)
        outs, program, like = linearize_nodes(flat, given.leaves, nodes, moving(nodes), what)
        if flat.count != 1:
            raise TypeError(f"{what}: the function must return one scalar, got {flat.count} leaves")
        found = _gradient(program, outs, holomorphic, what)
        grads = tree_unflatten(
            given.structure,
            [whole(aval_of_node(n), g) for n, g in zip(nodes, found, strict=True)],
        )
        grads = given.asked(grads)
        value = flat.rebuilt(outs, like)
        return ((value, flat.aux(outs, like)) if has_aux else value), grads

    return both


def _fixed(argnums: int | Sequence[int], op: str) -> int | tuple[int, ...]:
    try:
        return index(argnums)  # type: ignore[arg-type]
    except TypeError:
        pass
    try:
        return tuple(map(index, argnums))  # type: ignore[arg-type]
    except TypeError:
        raise TypeError(
            f"{op}: argnums must be an int or a sequence of ints, got {type(argnums).__name__} "
            f"({op}(f)(x) differentiates at x)"
        ) from None


def grad(
    fun: Callable[..., Any],
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
) -> Callable[..., Any]:
    """The gradient of a function with one real scalar result; see `value_and_grad`.

    argnums: the argument that is differentiated by, or several: then the gradients are a tuple. A
    gradient has the structure, shapes and dtypes of its argument. TypeError for results that are no
    real scalar, and for arguments of integers, unless `allow_int`: their gradients have dtype
    float0. With `has_aux`, f returns `(value, aux)`, and the result is `(gradient, aux)`.

    >>> import lazynp as np
    >>> np.grad(lambda x: (x**2).sum())(np.array([1.0, 2.0]))
    array([2., 4.])
    >>> np.grad(lambda x, y: x * y, argnums=(0, 1))(2.0, 3.0)
    (np.float64(3.0), np.float64(2.0))
    """
    check_callable("grad", fun)
    argnums = _fixed(argnums, "grad")
    both = value_and_grad(fun, argnums, has_aux, holomorphic, allow_int)

    def gradient(*args: Any, **kwargs: Any) -> Any:
        value, grads = both(*args, **kwargs)
        return (grads, value[1]) if has_aux else grads

    options = argnums, has_aux, holomorphic, allow_int
    return with_recipe(gradient, grad, fun, *options, moving=argnums, through=both)


class Given:
    """The arguments to differentiate by, flattened, and the function of only these."""

    def __init__(
        self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any],
        argnums: int | Sequence[int], what: str,
    ) -> None:  # fmt: skip
        numbers = (argnums,) if isinstance(argnums, int) else tuple(argnums)
        for n in numbers:
            if not -len(args) <= n < len(args):
                raise ValueError(f"{what}: argnums has {n}, but there are {len(args)} arguments")
        asked = [n % len(args) for n in numbers]
        places = list(dict.fromkeys(asked))  # each once; results are given as often as asked for

        def of_chosen(*given: Any) -> Any:
            whole = list(args)
            for place, x in zip(places, given, strict=True):
                whole[place] = x
            return function(*whole, **kwargs)

        of_chosen.__name__ = name_of(function)  # for error messages
        self.function, self.what = of_chosen, what
        self._order = None if isinstance(argnums, int) else [places.index(p) for p in asked]
        self.args = tuple([args[p] for p in places])
        self.leaves, self.structure = tree_flatten(self.args)
        for x in self.leaves:
            check_leaf(x, what)
        self.nodes = [argument_node(x) for x in self.leaves]

    def asked(self, found: Any) -> Any:
        """What there is for each of these arguments, as `argnums` asks for it."""
        return found[0] if self._order is None else tuple([found[k] for k in self._order])

    def check(self, holomorphic: bool, allow_int: bool, real: bool = False) -> None:
        """real: refuse complex inputs, unless holomorphic."""
        for node in self.nodes:
            dtype = aval_of_node(node).dtype
            if real and not holomorphic and dtype.kind == "c":
                raise TypeError(
                    f"{self.what}: real inputs are required, got {dtype.name}. Set "
                    "holomorphic=True for a holomorphic function; for others, use jvp, or "
                    "jacrev of real results"
                )
            if holomorphic and dtype.kind != "c":
                raise TypeError(
                    f"{self.what} with holomorphic=True: complex inputs are required, got {dtype}"
                )
            if dtype.kind not in "fc" and not allow_int:
                raise TypeError(
                    f"{self.what}: inputs of a real or complex dtype are required, got "
                    f"{dtype.name}. With allow_int=True, the gradient with respect to such an "
                    "input has dtype float0"
                )


def _gradient(
    program: Linearized, outs: Sequence[Node], holomorphic: bool, what: str
) -> list[Array | None]:
    aval = aval_of_node(outs[0])
    if aval.shape:
        raise TypeError(f"{what}: the function must return a scalar, got shape {aval.shape}")
    if aval.dtype.kind != ("c" if holomorphic else "f"):
        kind = "complex" if holomorphic else "real"
        raise TypeError(
            f"{what}: the function must return a {kind} scalar, got dtype {aval.dtype.name}"
            + (
                ""
                if holomorphic or aval.dtype.kind != "c"
                else " (holomorphic=True, or take .real)"
            )
        )
    one = new_scalar(leaf(aval.dtype.type(1)))
    return program.backward([one] + [None] * (len(outs) - 1))


# -- Jacobians -------------------------------------------------------------------------------------


def _basis(aval: Aval) -> Array:
    """The unit vectors of this type, with shape (size, *shape)."""
    n = aval.size
    rows = shaping.iota(shape=(n, n), axis=0, dtype=np.dtype(np.int64))
    columns = shaping.iota(shape=(n, n), axis=1, dtype=np.dtype(np.int64))
    eye = elementwise.convert(elementwise.equal(rows, columns), dtype=aval.dtype)
    return shaping.reshape(eye, shape=(n, *aval.shape))


def _aval(x: Any) -> Aval:
    return aval_of_node(node_of(x))


def jacfwd(
    fun: Callable[..., Any],
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
) -> Callable[..., Any]:
    """The Jacobian, column by column: for each result, a tree of arguments (*out, *in).

    It costs about as many calls of f as the arguments have elements: for few inputs. `jacrev` costs
    as many as the results have.

    >>> import lazynp as np
    >>> np.jacfwd(lambda x: np.stack([x[0] * x[1], x[1], x[0]]))(np.array([2.0, 3.0]))
    array([[3., 2.],
           [0., 1.],
           [1., 0.]])
    """
    check_callable("jacfwd", fun)
    argnums = _fixed(argnums, "jacfwd")

    def jacobian(*args: Any, **kwargs: Any) -> Any:
        what = f"jacfwd of {name_of(fun)}"
        given = Given(fun, args, kwargs, argnums, what)
        given.check(holomorphic, False, real=True)
        nodes, structure = given.nodes, given.structure

        avals = list(map(aval_of_node, nodes))
        auxiliary: list[Any] = []

        def push(*columns: Any) -> Any:
            tangents = tree_unflatten(structure, columns)
            _, out_dot, *auxiliary[:] = jvp(given.function, given.args, tangents, has_aux=has_aux)
            return tree_map(lambda t: zeros(aval_of(t.shape, bool)) if is_zero(t) else t, out_dot)

        columns = vmap(push, out_axes=-1)(*_bases(avals))
        leaves, out_tree = tree_flatten(columns)
        found = [tree_unflatten(structure, _blocks(x, avals)) for x in leaves]
        found = [given.asked(f) for f in found]
        result = tree_unflatten(out_tree, found)
        return (result, auxiliary[0]) if has_aux else result

    options = argnums, has_aux, holomorphic
    return with_recipe(jacobian, jacfwd, fun, *options, moving=argnums)


def _bases(avals: Sequence[Aval]) -> list[Array]:
    """The unit vectors of all these types together, stacked on a common first axis."""
    made, total, first = [], sum(a.size for a in avals), 0
    for aval in avals:
        low = (first, *[0] * aval.ndim)
        high = (total - first - aval.size, *[0] * aval.ndim)
        interior = (0,) * (aval.ndim + 1)
        made.append(shaping.pad(_basis(aval), 0, low=low, high=high, interior=interior))
        first += aval.size
    return made


def _blocks(x: Array, avals: Sequence[Aval]) -> list[Array]:
    """Split the columns by type."""
    made, first, place = [], 0, x.ndim - 1
    for aval in avals:
        shape = (*x.shape[:-1], aval.size)
        part = shaping.slice(x, first, axes=(place,), sizes=(aval.size,), strides=(1,), shape=shape)
        made.append(_split(part, aval.shape, -1))
        first += aval.size
    return made


def _split(x: Array, shape: tuple[int, ...], axis: int) -> Array:
    """Split the first or last axis into several."""
    rest = x.shape[:-1] if axis == -1 else x.shape[1:]
    return shaping.reshape(x, shape=(*rest, *shape) if axis == -1 else (*shape, *rest))


def jacrev(
    fun: Callable[..., Any],
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
) -> Callable[..., Any]:
    """The Jacobian, row by row: for each result, a tree of arguments (*out, *in)."""
    check_callable("jacrev", fun)
    argnums = _fixed(argnums, "jacrev")

    def jacobian(*args: Any, **kwargs: Any) -> Any:
        what = f"jacrev of {name_of(fun)}"
        given = Given(fun, args, kwargs, argnums, what)
        given.check(holomorphic, allow_int)
        out, backward, *aux = vjp(given.function, *given.args, has_aux=has_aux)
        outs, out_tree = tree_flatten(out)
        found = []
        for i, x in enumerate(outs):
            aval = _aval(x)
            _check_rows(aval, holomorphic, what)

            def pull(ct: Any, i: int = i) -> Any:
                cts = [zeros(_aval(o)) for o in outs]
                cts[i] = ct
                return backward(tree_unflatten(out_tree, cts))

            rows = vmap(pull)(_basis(aval))
            rows = tree_map(lambda r, s=aval.shape: _split(r, s, 0), rows)
            found.append(given.asked(rows))
        result = tree_unflatten(out_tree, found)
        return (result, aux[0]) if has_aux else result

    options = argnums, has_aux, holomorphic, allow_int
    return with_recipe(jacobian, jacrev, fun, *options, moving=argnums)


def _check_rows(aval: Aval, holomorphic: bool, what: str) -> None:
    """One cotangent for each row determines a complex result only if the function is
    holomorphic.
    """
    if aval.dtype.kind == ("c" if holomorphic else "f"):
        return
    kind = "complex" if holomorphic else "real"
    cure = "" if holomorphic or aval.dtype.kind != "c" else (
        " (holomorphic=True for a holomorphic function; of others, the real and imaginary parts "
        "apart, or jacfwd by real inputs)"
    )  # fmt: skip
    raise TypeError(f"{what}: results must be {kind}, got dtype {aval.dtype.name}{cure}")


def hessian(
    fun: Callable[..., Any],
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
) -> Callable[..., Any]:
    """The Jacobian of the gradient, forward over reverse: of shape (*in, *in) for one array.

    >>> import lazynp as np
    >>> np.hessian(lambda x: x[0] ** 2 * x[1])(np.array([2.0, 3.0]))
    array([[6., 4.],
           [4., 0.]])
    """
    inner = jacrev(fun, argnums, has_aux, holomorphic)
    return jacfwd(inner, argnums, has_aux, holomorphic)


@for_users
def hvp(function: Callable[..., Any], primals: Any = None, tangents: Any = None) -> Any:
    """The Hessian of f at `primals` times `tangents`: a jvp of the gradient.

    Alone, `hvp(f)` is a function: `hvp(f)(x, v, *args)` is the Hessian of `f(x, *args)` by x, times
    v. `scipy.optimize` calls its `hessp` so.

    >>> import lazynp as np
    >>> f = lambda x: x[0] ** 2 * x[1]
    >>> np.hvp(f, (np.array([2.0, 3.0]),), (np.array([1.0, 0.0]),))
    array([6., 4.])
    >>> np.hvp(f)(np.array([2.0, 3.0]), np.array([1.0, 0.0]))
    array([6., 4.])
    """
    check_callable("hvp", function)
    if primals is None and tangents is None:
        return with_recipe(_product(function), hvp, function)
    if not isinstance(primals, (tuple, list)) or not isinstance(tangents, (tuple, list)):
        what = f"hvp of {name_of(function)}"
        raise TypeError(f"{what}: primals and tangents must be tuples or lists of arguments")
    argnums = 0 if len(primals) == 1 else tuple(range(len(primals)))
    return jvp(grad(function, argnums), primals, tangents)[1]


def _product(function: Callable[..., Any]) -> Callable[..., Any]:
    slope = grad(function)

    def product(x: Any, v: Any, *args: Any) -> Any:
        return jvp(lambda x: slope(x, *args), (x,), (v,))[1]

    product.__qualname__ = f"hvp of {name_of(function)}"  # in Python's errors
    return product
