"""A jaxpr as the text of a StableHLO module."""

from __future__ import annotations

from collections.abc import Sequence

from lazynp._avals import aval_of
from lazynp._jaxpr import Jaxpr
from lazynp.lowering._builder import Builder, Value
from lazynp.lowering._kernel import Launched
from lazynp.lowering._mlir import verified
from lazynp.lowering._platform import platform_of
from lazynp.lowering._text import type_text

_MODULE = """module @lazynp {{
func.func public @main({args}) -> ({kinds}) {{
{body}
{tail}
}}
{functions}
}}
"""


def module_text(jaxpr: Jaxpr, donate: Sequence[int] = (), platform: str = "cpu") -> str:
    """The module of a jaxpr. `donate`: inputs whose memory the outputs may reuse.

    Raises LoweringError if an operation, or a dtype, has no form on the platform.
    """
    return module(jaxpr, donate, platform)[0]


def module(
    jaxpr: Jaxpr, donate: Sequence[int] = (), platform: str = "cpu"
) -> tuple[str, tuple[Launched, ...]]:
    """The module of a jaxpr, and the kernels that it launches, each once."""
    b = Builder(platform_of(platform))
    avals = [aval_of(v.aval.shape, v.aval.dtype) for v in jaxpr.inputs]  # without weak types
    args = [Value(f"%a{i}", aval) for i, aval in enumerate(avals)]
    results = b.subjaxpr(jaxpr, args)
    names = ", ".join([b.use(v) for v in results])
    kinds = ", ".join([type_text(v.aval) for v in results])
    attrs = [" {jax.buffer_donor = true}" if i in donate else "" for i in range(len(args))]
    text = _MODULE.format(
        args=", ".join(
            f"{v.name}: {type_text(v.aval)}{attr}" for v, attr in zip(args, attrs, strict=True)
        ),
        kinds=kinds,
        body=b.text(),
        functions="\n".join(b.functions.values()),
        tail=f"return {names} : {kinds}" if results else "return",
    )
    kernels = [Launched(k.name, verified(k.text), k.grid) for k in dict.fromkeys(b.kernels)]
    return text, tuple(kernels)
