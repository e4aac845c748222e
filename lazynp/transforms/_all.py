"""All that `lazynp.transforms` gives, and what explanations need."""

# ruff: noqa: F401 - names for `lazynp.transforms`
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
from lazynp.transforms._jit import Jitted, jit
from lazynp.transforms._jvp import jvp
from lazynp.transforms._looping import fori_loop, while_loop
from lazynp.transforms._mapped import vmap
from lazynp.transforms._pulls import linearize, vjp
from lazynp.transforms._recipes import recipe_of
from lazynp.transforms._scanning import map_ as map, scan
from lazynp.transforms._shard_map import shard_map
from lazynp.transforms._sized_runs import eval_jaxpr
from lazynp.transforms._stack import disable_jit
from lazynp.transforms._stage import eval_shape, make_jaxpr
from lazynp.transforms.control import front_of, plain_of
