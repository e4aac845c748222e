"""A jaxpr as the text of a StableHLO module."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lazynp._avals import aval_of
from lazynp._jaxpr import Jaxpr, jaxprs_in
from lazynp.lowering._builder import Builder, Value
from lazynp.lowering._kernel import Launched
from lazynp.lowering._mlir import verified
from lazynp.lowering._platform import platform_of
from lazynp.lowering._text import type_text

_MODULE = """module @lazynp {{
{mesh}func.func public @main({args}) -> ({kinds}) {{
{body}
{tail}
}}
{functions}
}}
"""


def module_text(
    jaxpr: Jaxpr, donate: Sequence[int] = (), platform: str = "cpu", mesh: Any = None,
    layouts: Sequence[Any] = (), outs: dict[int, Any] | None = None,
) -> str:  # fmt: skip
    """The module of a jaxpr. `donate`: inputs whose memory the outputs may reuse. `mesh`: that it
    is split over, with the `layouts` of all inputs and those that are asked of outputs.

    Raises LoweringError if an operation, or a dtype, has no form on the platform.
    """
    return module(jaxpr, donate, platform, mesh, layouts, outs)[0]


def module(
    jaxpr: Jaxpr, donate: Sequence[int] = (), platform: str = "cpu", mesh: Any = None,
    layouts: Sequence[Any] = (), outs: dict[int, Any] | None = None,
) -> tuple[str, tuple[Launched, ...]]:  # fmt: skip
    """The module of a jaxpr, and the kernels that it launches, each once."""
    b = Builder(platform_of(platform))
    b.mesh, b.columns = mesh, b.platform.host and mesh is None and reads_columns(jaxpr)
    avals = [aval_of(v.aval.shape, v.aval.dtype) for v in jaxpr.inputs]  # without weak types
    args = [Value(f"%a{i}", aval) for i, aval in enumerate(avals)]
    results = b.subjaxpr(jaxpr, args)
    names = ", ".join([b.use(v) for v in results])
    kinds = ", ".join([type_text(v.aval) for v in results])
    attrs = [["jax.buffer_donor = true"] if i in donate else [] for i in range(len(args))]
    for v, attr, layout in zip(args, attrs, layouts, strict=False):
        attr.append(f"sdy.sharding = {layout.text(v.aval.ndim)}")
    asked = [(outs or {}).get(i) for i in range(len(results))]
    types = [
        type_text(v.aval)
        + (f" {{sdy.sharding = {layout.text(v.aval.ndim)}}}" if layout is not None else "")
        for v, layout in zip(results, asked, strict=True)
    ]
    text = _MODULE.format(
        args=", ".join(
            f"{v.name}: {type_text(v.aval)}" + (f" {{{', '.join(attr)}}}" if attr else "")
            for v, attr in zip(args, attrs, strict=True)
        ),
        mesh="" if mesh is None else mesh.text() + "\n",
        kinds=", ".join(types),
        body=b.text(results),
        functions="\n".join(b.functions.values()),
        tail=f"return {names} : {kinds}" if results else "return",
    )
    kernels = [Launched(k.name, verified(k.text), k.grid) for k in dict.fromkeys(b.kernels)]
    return text, tuple(kernels)


def reads_columns(jaxpr: Jaxpr) -> bool:
    """Whether it has operations of linear algebra: LAPACK computes them."""
    return any(
        eqn.primitive.kind == "linalg" or any(map(reads_columns, jaxprs_in(eqn.params)))
        for eqn in jaxpr.eqns
    )
