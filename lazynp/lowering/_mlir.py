"""MLIR's verifier, for modules that XLA passes on unread, and the form that Mosaic reads."""

from __future__ import annotations

import functools
import io
from importlib import import_module
from typing import Any

from lazynp._errors import InternalError


@functools.cache
def _context(lenient: bool = False, /) -> tuple[Any, Any]:
    """MLIR's bindings, and a context that knows the dialects of kernels; lenient: and takes
    operations that no dialect has. Loaded when a kernel is first lowered.
    """
    ir = import_module("jaxlib.mlir.ir")
    registry = ir.DialectRegistry()
    import_module("jaxlib.mlir._mlir_libs._jax_mlir_ext").register_dialects(registry)
    context = ir.Context()
    context.append_dialect_registry(registry)
    import_module("jaxlib.triton.dialect").register_dialect(context)
    import_module("jaxlib.mosaic.python.tpu").register_dialect(context)
    context.load_all_available_dialects()
    context.allow_unregistered_dialects = lenient
    return ir, context


def _parsed(text: str, lenient: bool = False) -> Any:
    ir, context = _context(lenient)
    try:
        module = ir.Module.parse(text, context)
        module.operation.verify()
    except ir.MLIRError as error:
        raise InternalError(f"kernel: {error}", text) from None
    return module


def verified(text: str) -> str:
    """The module as MLIR prints it; InternalError if it is not valid."""
    return str(_parsed(text))


def serialized(text: str) -> bytes:
    """The module as other releases of Mosaic read it too."""
    module = _parsed(verified(text), lenient=True)
    passes = import_module("jaxlib.mlir.passmanager")
    with _context(True)[1]:
        pipeline = passes.PassManager.parse("builtin.module(mosaic-serde{serialize=true})")
        pipeline.run(module.operation)
    held = io.BytesIO()
    module.operation.write_bytecode(held, desired_version=0)
    return held.getvalue()
