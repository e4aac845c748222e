"""MLIR's verifier, for modules that XLA passes on unread."""

from __future__ import annotations

import functools
from importlib import import_module
from typing import Any

from lazynp._errors import InternalError


@functools.cache
def _context() -> tuple[Any, Any]:
    """MLIR's bindings, and a context that knows Triton. Loaded when a kernel is first lowered."""
    ir, triton = import_module("jaxlib.mlir.ir"), import_module("jaxlib.triton.dialect")
    registry = ir.DialectRegistry()
    import_module("jaxlib.mlir._mlir_libs._jax_mlir_ext").register_dialects(registry)
    context = ir.Context()
    context.append_dialect_registry(registry)
    triton.register_dialect(context)
    context.load_all_available_dialects()
    return ir, context


def verified(text: str) -> str:
    """The module as MLIR prints it; InternalError if it is not valid."""
    ir, context = _context()
    try:
        module = ir.Module.parse(text, context)
        module.operation.verify()
    except ir.MLIRError as error:
        raise InternalError(f"kernel: {error}", text) from None
    return str(module)
