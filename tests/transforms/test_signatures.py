"""Names, order and defaults of arguments are JAX's, so that JAX users need no manual."""

from __future__ import annotations

import functools
import inspect
from typing import Any

import numpy
import pytest

import lazynp as np
from lazynp import grad, jit, jvp, vmap

# of JAX 0.10, without devices and meshes; preserve_dimensions is Catalyst's
SIGNATURES = """
jvp fun primals tangents has_aux=False
linearize fun *primals has_aux=False
vjp fun *primals has_aux=False
grad fun argnums=0 has_aux=False holomorphic=False allow_int=False
value_and_grad fun argnums=0 has_aux=False holomorphic=False allow_int=False
jacfwd fun argnums=0 has_aux=False holomorphic=False
jacrev fun argnums=0 has_aux=False holomorphic=False allow_int=False
hessian fun argnums=0 has_aux=False holomorphic=False
vmap fun in_axes=0 out_axes=0 axis_name=None axis_size=None spmd_axis_name=None
make_jaxpr fun static_argnums=() return_shape=False abstracted_axes=None
custom_jvp fun nondiff_argnums=() nondiff_argnames=()
custom_vjp fun nondiff_argnums=() nondiff_argnames=()
custom_jvp.defjvp self jvp symbolic_zeros=False
custom_jvp.defjvps self *jvps
custom_vjp.defvjp self fwd bwd symbolic_zeros=False
linear_transpose fun *primals
pure_callback callback result_shape_dtypes *args vmap_method=None **kwargs
eval_shape fun *args **kwargs
disable_jit disable=True
psum x axis_name
axis_index axis_name
while_loop cond_fun body_fun init_val preserve_dimensions=True
fori_loop lower upper body_fun init_val unroll=None preserve_dimensions=True
scan f init xs=None length=None reverse=False unroll=1 preserve_dimensions=True
associative_scan fn elems reverse=False axis=0
map f xs batch_size=None
stop_gradient x
debug_callback callback *args ordered=False **kwargs
debug_print fmt *args ordered=False **kwargs
tree.map f tree *rest is_leaf=None
tree.flatten tree is_leaf=None
tree.unflatten treedef leaves
tree.leaves tree is_leaf=None
tree.structure tree is_leaf=None
tree.all tree is_leaf=None
tree.transpose outer_treedef inner_treedef pytree_to_transpose
tree.register_pytree_node nodetype flatten_func unflatten_func
tree.register_dataclass nodetype data_fields=None meta_fields=None
""".strip().splitlines()


def _written(p: inspect.Parameter) -> str:
    star = {p.VAR_POSITIONAL: "*", p.VAR_KEYWORD: "**"}.get(p.kind, "")
    return star + p.name + ("" if p.default is p.empty else f"={p.default!r}")


@pytest.mark.parametrize("line", SIGNATURES, ids=lambda line: line.split()[0])
def test_signature(line: str) -> None:
    name, *wanted = line.split()
    function: Any = np
    for part in name.split("."):
        function = getattr(function, part)
    assert [_written(p) for p in inspect.signature(function).parameters.values()] == wanted


def test_an_operand_may_be_none() -> None:
    given = lambda x: 1.0 if x is None else 2.0  # noqa: E731
    assert np.cond(True, given, given, operand=None) == 1.0
    assert np.switch(1, [given, given], operand=3) == 2.0


def test_what_cannot_move_has_a_tangent_of_float0() -> None:
    halves = lambda x: (x, np.floor(x * 2).astype(int))  # noqa: E731
    for dot in (jvp(halves, (1.5,), (1.0,))[1], np.linearize(halves, 1.5)[1](1.0)):
        assert dot[0] == 1.0 and dot[1].dtype == [("float0", "V")]
    # float0 is accepted where it is given
    assert jvp(lambda x, n: x * n, (1.5, 3), (1.0, dot[1]))[1] == 3.0


def test_a_jacobian_runs_the_function_once() -> None:
    calls = np.zeros(())

    def f(d: Any, z: Any) -> Any:
        calls[...] += 1
        return {"out": d["a"] * d["b"] * z}, "auxiliary"

    given = {"a": np.array([1.0, 2.0]), "b": 3.0}
    jacobian, auxiliary = np.jacfwd(f, (0, 1), has_aux=True)(given, 2.0)
    other, _ = np.jacrev(f, (0, 1), has_aux=True)(given, 2.0)
    assert auxiliary == "auxiliary" and calls == 2.0
    for a, b in zip(np.tree.leaves(jacobian), np.tree.leaves(other), strict=True):
        numpy.testing.assert_allclose(a, b)


def test_jitted_again_within_disable_jit() -> None:
    seen: list[Any] = []
    f = jit(lambda x: seen.append(x) or x)
    with np.disable_jit():
        f(1.0)
        with np.disable_jit(False):
            f(1.0)
        f(2.0)
    assert seen[0] == 1.0 and seen[2] == 2.0
    with pytest.raises(TypeError, match="outlived"):
        float(seen[1])


def test_trees_reduced_and_turned() -> None:
    tree = {"a": 1, "b": (2, None, [3])}
    assert np.tree.reduce(lambda a, b: a * 10 + b, tree) == 123
    assert np.tree.reduce(lambda a, b: a + b, tree, 10) == 16
    assert np.tree.all(tree) and not np.tree.all([1, 0]) and np.tree.all([(0, 0)], is_leaf=bool)
    outer, inner = np.tree.structure([0, 0]), np.tree.structure({"x": 0, "y": 0})
    rows = [{"x": 1, "y": 2}, {"x": 3, "y": 4}]
    for structure in (inner, None):
        assert np.tree.transpose(outer, structure, rows) == {"x": [1, 3], "y": [2, 4]}


def test_updates_at_an_index_that_is_traced() -> None:
    x = np.arange(1.0, 7.0).reshape(2, 3)
    for name in ("add", "subtract", "multiply", "divide", "power", "min", "max"):
        want = getattr(x.at[1], name)(2.0)
        numpy.testing.assert_array_equal(
            jit(lambda x, i, n=name: getattr(x.at[i], n)(2.0))(x, 1), want
        )
    numpy.testing.assert_array_equal(
        vmap(lambda i: x.at[0, i].add(1.0))(np.arange(2)),
        [x.at[0, 0].add(1.0), x.at[0, 1].add(1.0)],
    )
    scaled = lambda s: np.fori_loop(0, 2, lambda i, c: c.at[:, i].multiply(s), x).sum()  # noqa: E731
    assert grad(scaled)(3.0) == 1 + 2 + 4 + 5

    def in_place(x: Any, i: Any) -> Any:
        np.add.at(x, (i, slice(None)), x[0])
        np.sqrt.at(x, (0, i))
        return x

    want = in_place(x.copy(), 1)
    numpy.testing.assert_allclose(jit(in_place)(x.copy(), 1), want)
    with pytest.raises(IndexError, match="out of bounds"):
        jit(lambda x, i: x.at[i].add(1.0))(x, 7)


def test_a_forward_rule_that_asks_for_symbolic_zeros() -> None:
    @functools.partial(np.custom_vjp, nondiff_argnames="power")
    def f(power: int, d: Any, n: int) -> Any:
        return d["x"] ** power * n

    def forward(power: int, d: Any, n: Any) -> Any:
        assert d["x"].perturbed and not n.perturbed
        return f(power, {"x": d["x"].value}, n.value), d["x"].value

    f.defvjp(forward, lambda power, x, ct: ({"x": 7 * power * x * ct}, None), symbolic_zeros=True)
    slope = grad(lambda x: f(3, {"x": x}, 2))
    assert slope(2.0) == jit(slope)(2.0) == 42.0
    static = np.checkpoint(lambda x, n: x**n if n > 1 else x, static_argnames="n")
    assert grad(static)(2.0, 3) == grad(static)(2.0, n=3) == 12.0
