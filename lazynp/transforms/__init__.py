"""Transformations: interpreters of the same primitives that the graph records."""

from lazynp.transforms._check import check_grads
from lazynp.transforms._grad import (
    grad,
    hessian,
    hvp,
    jacfwd,
    jacrev,
    linearize,
    value_and_grad,
    vjp,
)
from lazynp.transforms._jvp import jvp
from lazynp.transforms._vmap import vmap

__all__ = [
    "check_grads",
    "grad",
    "hessian",
    "hvp",
    "jacfwd",
    "jacrev",
    "jvp",
    "linearize",
    "value_and_grad",
    "vjp",
    "vmap",
]
