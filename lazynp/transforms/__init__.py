"""Transformations: interpreters for the primitives that the graph records."""

from typing import Any

from lazynp._signature import DBIdx, InDBIdx, OutDBIdx, ShapeDtype
from lazynp.transforms._check import check_grads
from lazynp.transforms._checkpoint import checkpoint
from lazynp.transforms._collectives import (
    all_gather,
    all_to_all,
    axis_index,
    axis_size,
    pmax,
    pmean,
    pmin,
    ppermute,
    psum,
    psum_scatter,
)
from lazynp.transforms._cond import cond, switch
from lazynp.transforms._custom import custom_jvp, custom_vjp
from lazynp.transforms._debugging import debug_nans
from lazynp.transforms._extras import (
    debug_callback,
    debug_print,
    linear_transpose,
    pure_callback,
    stop_gradient,
)
from lazynp.transforms._grad import grad, hessian, hvp, jacfwd, jacrev, value_and_grad
from lazynp.transforms._jac_sparse import jac_sparse
from lazynp.transforms._jit import disable_jit, jit
from lazynp.transforms._jvp import jvp
from lazynp.transforms._looping import fori_loop, while_loop
from lazynp.transforms._mapped import vmap
from lazynp.transforms._pulls import linearize, vjp
from lazynp.transforms._scanning import map_ as map, scan
from lazynp.transforms._shard_map import shard_map
from lazynp.transforms._sized_runs import eval_jaxpr
from lazynp.transforms._stage import eval_shape, make_jaxpr

__all__ = [
    "DBIdx",
    "InDBIdx",
    "OutDBIdx",
    "ShapeDtype",
    "all_gather",
    "all_to_all",
    "axis_index",
    "axis_size",
    "check_grads",
    "checkpoint",
    "cond",
    "custom_jvp",
    "custom_vjp",
    "debug_callback",
    "debug_nans",
    "debug_print",
    "disable_jit",
    "eval_jaxpr",
    "eval_shape",
    "fori_loop",
    "grad",
    "hessian",
    "hvp",
    "jac_sparse",
    "jacfwd",
    "jacrev",
    "jit",
    "jvp",
    "linear_transpose",
    "linearize",
    "make_jaxpr",
    "map",
    "pmax",
    "pmean",
    "pmin",
    "ppermute",
    "psum",
    "psum_scatter",
    "shard_map",
    "pure_callback",
    "scan",
    "stop_gradient",
    "switch",
    "value_and_grad",
    "vjp",
    "vmap",
    "while_loop",
]

# the namespace assigns these, because they depend on higher layers
adopt: Any
associative_scan: Any
block_until_ready: Any
tree: Any
__all__ += ["adopt", "associative_scan", "block_until_ready", "tree"]
