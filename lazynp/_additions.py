"""What lazynp has beyond NumPy's names: transformations, reports, settings.

None of it is under `*`: it is reached by attribute, as `np.grad`.
"""

from lazynp import (
    array_api as array_api,
    special as special,
    transforms as transforms,
    tree as tree,
)
from lazynp._array import (
    Array as Array,
    Scalar as Scalar,
)
from lazynp._config import (
    config as config,
)
from lazynp._script import (
    install as install,
    load_ipython_extension as load_ipython_extension,
    uninstall as uninstall,
    unload_ipython_extension as unload_ipython_extension,
)
from lazynp.functions.functional import (
    adopt as adopt,
    associative_scan as associative_scan,
)
from lazynp.functions.profiling import (
    profile as profile,
)
from lazynp.functions.tools import (
    explain as explain,
    materialize as materialize,
    stats as stats,
    writable as writable,
)
from lazynp.transforms import (
    ShapeDtype as ShapeDtype,
    axis_index as axis_index,
    check_grads as check_grads,
    checkpoint as checkpoint,
    cond as cond,
    custom_jvp as custom_jvp,
    custom_vjp as custom_vjp,
    debug_callback as debug_callback,
    debug_nans as debug_nans,
    debug_print as debug_print,
    disable_jit as disable_jit,
    eval_jaxpr as eval_jaxpr,
    eval_shape as eval_shape,
    fori_loop as fori_loop,
    grad as grad,
    hessian as hessian,
    hvp as hvp,
    jacfwd as jacfwd,
    jacrev as jacrev,
    jit as jit,
    jvp as jvp,
    linear_transpose as linear_transpose,
    linearize as linearize,
    make_jaxpr as make_jaxpr,
    map as map,
    pmax as pmax,
    pmean as pmean,
    pmin as pmin,
    psum as psum,
    pure_callback as pure_callback,
    scan as scan,
    stop_gradient as stop_gradient,
    switch as switch,
    value_and_grad as value_and_grad,
    vjp as vjp,
    vmap as vmap,
    while_loop as while_loop,
)

block_until_ready = materialize  # JAX's name

# the room of transformations has them too, and stands below what they are made of
transforms.adopt, transforms.tree = adopt, tree
transforms.associative_scan, transforms.block_until_ready = associative_scan, block_until_ready
