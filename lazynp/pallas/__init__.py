"""Kernels: programs on blocks of arrays, over a grid. `import lazynp.pallas as pl`.

Names and conventions are those of JAX's Pallas. See docs/tutorial-kernels.md.
"""

from __future__ import annotations

from lazynp._errors import LoweringError
from lazynp.pallas._call import pallas_call
from lazynp.pallas._indexing import ds
from lazynp.pallas._kernels import (
    atomic_add,
    atomic_and,
    atomic_cas,
    atomic_max,
    atomic_min,
    atomic_or,
    atomic_xchg,
    atomic_xor,
    debug_print,
    load,
    loop,
    num_programs,
    program_id,
    run_scoped,
    store,
    swap,
    when,
)
from lazynp.pallas._lower import Lowered, lower
from lazynp.pallas._refs import Ref
from lazynp.pallas._specs import (
    ANY,
    SMEM,
    VMEM,
    Blocked,
    BlockSpec,
    CompilerParams,
    CostEstimate,
    Element,
    GridSpec,
    MemorySpace,
    Squeezed,
    cdiv,
    next_power_of_2,
)

dslice = dynamic_slice = ds

__all__ = [
    "ANY",
    "BlockSpec",
    "Blocked",
    "CompilerParams",
    "CostEstimate",
    "Element",
    "GridSpec",
    "Lowered",
    "LoweringError",
    "MemorySpace",
    "Ref",
    "SMEM",
    "Squeezed",
    "VMEM",
    "atomic_add",
    "atomic_and",
    "atomic_cas",
    "atomic_max",
    "atomic_min",
    "atomic_or",
    "atomic_xchg",
    "atomic_xor",
    "cdiv",
    "debug_print",
    "ds",
    "dslice",
    "dynamic_slice",
    "load",
    "loop",
    "lower",
    "next_power_of_2",
    "num_programs",
    "pallas_call",
    "program_id",
    "run_scoped",
    "store",
    "swap",
    "when",
]
