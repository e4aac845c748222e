"""Write docs/cuda.md: how each primitive is lowered for NVIDIA GPUs. `python docs/cuda.py`.

Nothing of the table is declared. The script traces an example of each primitive, lowers it, and
reads the text.
"""

from __future__ import annotations

import pkgutil
import re
import sys
from collections import defaultdict
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy
import scipy.linalg
import scipy.sparse.linalg
import scipy.special

import lazynp as np
import lazynp.pallas as pl
from lazynp import lowering
from lazynp._errors import LoweringError
from lazynp._jaxpr import Jaxpr, jaxprs_in
from lazynp._primitive import Primitive
from lazynp.interop._forms import rotation
from lazynp.interop._signals import filtered
from lazynp.interop.scipy import hook
from lazynp.pallas._marks import without_derivative
from lazynp.primitives import (
    elementwise,
    indexing,
    linear_algebra,
    ranks,
    shaping,
    sorting,
    windows,
)
from lazynp.primitives._eigen import eig
from lazynp.primitives._orthogonal import qr_raw
from lazynp.primitives.elementwise_incomplete import gammainc_slopes

PAGE = Path(__file__).with_name("cuda.md")
HEAD = """# NVIDIA GPUs: how programs are lowered

`jit(f).lower(x).as_text(platform="cuda")` is the StableHLO of a program for an NVIDIA GPU. It needs
no GPU and no CUDA. Everything is StableHLO or CHLO, which XLA compiles, but for the calls in this
table. They are cuSOLVER's, or the plugin's own, with the arguments that the CUDA plugin of jaxlib
0.10.2 takes. An operation that only NumPy, SciPy or Python can do raises
`lazynp.pallas.LoweringError` (a NotImplementedError), which names it.

What differs from a program for the CPU:

- products of float32 matrices, and convolutions, ask for `HIGHEST` precision. By default XLA rounds
  the factors to 10 bits there (TF32);
- where several values are stored to one element (`a[[0, 0]] = [1, 2]`), the last one wins, as in
  NumPy: the program looks for the last writer first, because a GPU writes in any order;
- convolutions of integers, and of more than three dimensions, are sums of products; those of
  complex numbers are four of their parts: cuDNN has neither;
- `cumsum` and its like take a number of steps that grows with the logarithm of the length, and so
  add in another order than NumPy;
- no value is held between stages, and no read stands in a conditional: both serve XLA's compiler
  for the CPU.

`pip install lazynp[cuda12]` (or `cuda13`) installs the CUDA plugin of jaxlib's release and NVIDIA's
libraries. jax is neither needed nor imported. The plugin is loaded when a GPU is first asked for.
`DeviceError` (a RuntimeError and a ValueError) says what is missing.

Kernels (`lazynp.pallas`) are launched as Triton modules: see [the tutorial](tutorial-kernels.md).

`python docs/cuda.py` writes this page from the texts of one example for each primitive.

| primitive | on the GPU |
|---|---|
"""

F8, I8 = numpy.dtype("f8"), numpy.dtype("i8")
V, W = numpy.array([0.3, 0.7, 0.93, 0.45]), numpy.array([1.5, 2.5, 0.6, 3.25])
PLACES, C = numpy.array([3, 1, 2, 0]), numpy.array([True, False, True, True])
M = numpy.array([[4.0, 1.0, 0.5], [1.0, 5.0, 0.3], [0.5, 0.3, 6.0]])


def _kernel(x: Any, o: Any) -> None:
    o[...] = x[...] * 2


def _scaled() -> Any:
    """A function with a rule of its own."""
    f = np.custom_jvp(lambda x: x * 2)
    f.defjvp(lambda primals, tangents: (f(*primals), tangents[0] * 2))
    return f


def _grown(x: Any) -> Any:
    """A loop whose number of rounds its data decide."""
    return np.while_loop(lambda c: c[0] < 10, lambda c: np.sin(c) * 2 + c, x)


_BLOCK = pl.BlockSpec((16,), lambda i: i)
_CALL = pl.pallas_call(
    _kernel, np.ShapeDtype((32,), F8), grid=2, in_specs=[_BLOCK], out_specs=_BLOCK
)
Example = tuple[Callable[..., Any], tuple[Any, ...]]
EXAMPLES: dict[str, list[Example]] = {
    "device_put": [(lambda v: np.device_put(v, "cpu") * 2, (V,))],
    "constant": [(lambda v: v + shaping.constant(array=shaping.Constant(W)), (V,))],
    "full": [(lambda v: shaping.full(v[0], shape=(3,), dtype=F8), (V,))],
    "iota": [(lambda v: v + shaping.iota(shape=(4,), axis=0, dtype=F8), (V,))],
    "bitcast": [(lambda v: v.view("i8"), (V,))],
    "broadcast_in_dim": [(lambda v: shaping.broadcast_in_dim(v, shape=(2, 4), dims=(1,)), (V,))],
    "reshape": [(lambda v: v.reshape(2, 2) * 1, (V,))],
    "reverse": [(lambda v: shaping.reverse(v, axes=(0,)), (V,))],
    "slice": [(lambda v: v[1:3] * 1, (V,)), (lambda v, k: v[k] * 1, (V, numpy.int64(2)))],
    "stop_gradient": [(np.stop_gradient, (V,))],
    "transpose": [(lambda m: m.T * 1, (M,))],
    "windows": [(lambda v, n=n: windows.windows(v, axis=0, length=n), (numpy.arange(99.0),))
                for n in (2, 40)],
    "argmax": [(lambda m: np.argmax(m, 0), (M,))],
    "argmin": [(lambda m: np.argmin(m, 0), (M,))],
    "cummax": [(np.maximum.accumulate, (V,))],
    "cummin": [(np.minimum.accumulate, (V,))],
    "cumlogaddexp": [(np.logaddexp.accumulate, (V,))],
    "cumlogaddexp2": [(np.logaddexp2.accumulate, (V,))],
    "cumprod": [(np.cumprod, (V,))],
    "cumsum": [(np.cumsum, (V,)), (lambda m: np.cumsum(m, 0), (M,))],
    "reduce_and": [(np.bitwise_and.reduce, (PLACES,)), (np.all, (C,))],
    "reduce_max": [(np.max, (V,)), (np.max, (numpy.arange(5000.0),))],
    "reduce_min": [(np.min, (V,)), (np.min, (PLACES,))],
    "reduce_or": [(np.bitwise_or.reduce, (PLACES,)), (np.any, (C,))],
    "reduce_logaddexp": [(np.logaddexp.reduce, (V,))],
    "reduce_logaddexp2": [(np.logaddexp2.reduce, (V,))],
    "reduce_prod": [(np.prod, (V,))],
    "reduce_sum": [(np.sum, (V,)), (lambda m: np.sum(m, 0), (numpy.ones((6, 10_000)),))],
    "reduce_xor": [(np.bitwise_xor.reduce, (PLACES,))],
    "concatenate": [(lambda v, w: np.concatenate([v, w]), (V, W))],
    "pad": [(lambda v: shaping.pad(v, 0, low=(1,), high=(2,), interior=(1,)), (V,))],
    "philox": [(lambda k: np.random.key(0).normal((4,)) + k, (V,))],
    "take": [(lambda v, i: np.take(v, i, mode="clip"), (V, PLACES))],
    "argsort": [(np.argsort, (V,)), (np.argsort, (numpy.arange(5000.0),))],
    "argranked": [(lambda v: ranks.argranked(v, ranks=(1,)), (V,))],
    "ranked": [(lambda v: ranks.ranked(v, ranks=(0, 1)), (V,))],
    "searchsorted": [(np.searchsorted, (V, W))],
    "sort": [(np.sort, (V,)), (np.sort, (numpy.arange(5000.0),)), (np.sort, (V + 0j,))],
    "sort_pairs": [(lambda v, w: sorting.sort_pairs(v, w, axis=0, num_keys=1), (V, W))],
    "checkpoint": [(np.checkpoint(lambda v: np.sin(v) * 2), (V,))],
    "cond": [(lambda c, v: np.cond(c, np.sin, np.cos, v), (numpy.bool_(True), V))],
    "custom_call": [(_scaled(), (V,))],
    "jit": [(np.jit(lambda v: np.sin(v) * 2), (V,))],
    "linear_call": [(lambda v: np.linearize(_grown, v)[1](v), (V,))],
    "no_derivative": [(lambda v: without_derivative(np.asarray(v), "it") * 2, (V,))],
    "pallas_call": [(_CALL, (numpy.arange(32.0),))],
    "pallas_call_linear": [(np.grad(lambda x: _CALL(x).sum()), (numpy.arange(32.0),))],
    "scan": [(lambda v: np.scan(lambda c, x: (c + x, c * x), 0.0, v), (V,))],
    "while": [(lambda v: np.while_loop(lambda x: x.sum() < 9, lambda x: x * 2, v), (V,))],
    "convolution": [(np.convolve, (x, x)) for x in (V, PLACES, V + 0j, C)],
    "dot_general": [(np.matmul, (M, M)), (np.matmul, (M.astype("f4"), M.astype("f4"))),
                    (np.matmul, (M.astype("i8"), M.astype("i8")))],
    "cholesky": [(np.linalg.cholesky, (M,))],
    "eig": [
        (lambda a: eig(a, compute_v=True), (M,)),
        (lambda a: eig(a, compute_v=False), (M + 0j,)),
    ],
    "eigh": [(np.linalg.eigh, (M,)), (np.linalg.eigvalsh, (M + 0j,))],
    "qr": [(np.linalg.qr, (M,)), (lambda a: np.linalg.qr(a, "complete"), (M[:, :2],))],
    "qr_raw": [(qr_raw, (M,))],
    "slogdet": [(np.linalg.slogdet, (M,))],
    "solve": [(np.linalg.solve, (M, M))],
    "as_pseudo_inverse": [(np.linalg.pinv, (M,))],
    "svd": [
        (np.linalg.svd, (M[:2],)), (lambda a: np.linalg.svd(a, False), (M[:, :2] + 0j,)),
        (np.linalg.svdvals, (M,)),
        (lambda a: np.linalg.svd(a, False), (np.ShapeDtype((4, 1100), F8),)),
    ],
    "triangular_solve": [
        (lambda a, b: linear_algebra.triangular_solve(
            a, b, lower=True, transpose="C", unit_diagonal=False), (M, M)),
    ],
    "fft": [(np.fft.fft, (V,)), (np.fft.irfft, (V + 0j,)), (np.fft.rfft2, (M,))],
}  # fmt: skip


PIECES = {"open_cond", "open_loop"}  # what decides a size
ON_HOST = {"over_stretch"}  # what only the programs of hosts contain


def primitives() -> dict[str, Primitive]:
    """All that lazynp has for a GPU's programs, by name."""
    for module in pkgutil.walk_packages(np.__path__, "lazynp."):
        if not module.name.endswith(("__main__", ".matlib")):  # importing one has effects
            import_module(module.name)
    found = [
        x
        for name, module in list(sys.modules.items())
        if name.startswith("lazynp.")
        for x in vars(module).values()
        if isinstance(x, Primitive)
    ]
    return {p.name: p for p in found if p.name not in ON_HOST}


def _mask(shape: tuple[int, ...] = (4,)) -> Any:
    return numpy.arange(numpy.prod(shape)).reshape(shape) % 2 == 0


_SLICE = {"axes": (0,), "sizes": (2,), "strides": (1,), "shape": (2,)}
# These are called as they are: no public function gives exactly one of them.
EXAMPLES |= {
    "add_slice": [(lambda v, w: shaping.add_slice(v, w[:2], 1, **_SLICE), (V, W))],
    "update_slice": [(lambda v, w: shaping.update_slice(v, w[:2], 1, **_SLICE), (V, W))],
    "stack": [(lambda v: shaping.stack(v[0], v[1]), (V,))],
    "examples": [(lambda c, v: PRIMITIVES["examples"](c, v), (C, V))],
    "known_product": [
        (lambda v, w: PRIMITIVES["known_product"](
            v, w, w, primitive=elementwise.multiply, params=()), (V, W)),
    ],
    "dot_no_nan": [
        (lambda m: PRIMITIVES["dot_no_nan"](m, m, dimension_numbers=(((1,), (0,)), ((), ()))), (M,))
    ],
    "other_products": [(lambda x: PRIMITIVES["other_products"](x, axis=0), (V,))],
    "linear_recurrence": [
        (lambda a, x: PRIMITIVES["linear_recurrence"](a, x, axis=0, backwards=False), (V, W)),
    ],
    "put": [
        (lambda v, w, i, mode=mode: indexing.put(v, w, i, axes=(0,), mode=mode), (V, W, PLACES))
        for mode in ("set", "add", "multiply", "minimum", "maximum")
    ],
    "put_mask": [(lambda v, c, w: indexing.put_mask(v, c, w), (V, C, W))],
    "put_masked_values": [(lambda v, c, w: PRIMITIVES["put_masked_values"](v, c, w), (V, C, W))],
    "take_mask": [(lambda v, c: indexing.take_mask(v, c, size=2), (V, C))],
}  # fmt: skip
# Interpreters replace these before a program is lowered.
GONE = {
    "collective": "`vmap` replaces it by reductions over the examples",
    "custom_linear": "reverse mode replaces it by the rule of the `custom_vjp`",
    "call_once": "a function of sizes, run by the reference rules at a size that comes once",
    "check": "findings are a result of the program; the call that runs it raises the error",
}
# SciPy and Python run these.
HOST: dict[str, Example] = {
    "callback": (lambda v: np.pure_callback(numpy.sin, v, v), (V,)),
    "frechet": (np.jit(lambda m: np.jvp(lambda a: scipy.linalg.expm(a), (m,), (m,))[1]), (M,)),
    "gammainc_slopes": (lambda v: gammainc_slopes(v, v, order=2, effect=False), (V,)),
    "hessenberg": (lambda m: scipy.linalg.hessenberg(m), (M,)),
    "ldl": (lambda m: scipy.linalg.ldl(m)[0], (M,)),
    "lfilter": (lambda v: filtered(numpy.ones(2), numpy.ones(2), v, effect=False)[0], (V,)),
    "lu_factor": (lambda m: scipy.linalg.lu_factor(m)[0], (M,)),
    "matrix_function": (lambda m: scipy.linalg.expm(m), (M,)),
    "polar_unitary": (lambda m: scipy.linalg.polar(m)[0], (M,)),
    "schur": (lambda m: scipy.linalg.schur(m)[0], (M,)),
    "schur_rotation": (lambda m: rotation(m, m, turned=False, effect=False)[0], (M,)),
    "scipy_special": (lambda v: scipy.special.jv(0.5, v), (V,)),
    "solve_banded": (lambda m, v: scipy.linalg.solve_banded((1, 1), m, v), (M, V[:3])),
    "spsolve": (
        lambda d, v: scipy.sparse.linalg.spsolve(
            scipy.sparse.csc_array((d, (numpy.arange(3), numpy.arange(3))), (3, 3)), v
        ),
        (V[:3], V[:3]),
    ),
    "sylvester": (lambda m: scipy.linalg.solve_sylvester(m, m, m), (M,)),
}


def elementwise_examples(name: str) -> list[Example]:
    """One for each kind of operands that NumPy has a loop for."""
    primitive = PRIMITIVES[name]
    if name == "convert":
        return [(lambda v: primitive(v, dtype=numpy.dtype("i4")), (V,))]
    if name == "integer_power":
        return [(lambda v: primitive(v, exponent=3), (V,))]
    if name == "select":
        return [(primitive, (C, V, W))]
    if name in ("real", "imag"):
        return [(primitive, (V + 0j,))]
    if name in ("complex_", "ldexp"):
        return [(primitive, (V, W if name == "complex_" else PLACES))]
    ufunc = elementwise.ROWS[name].ufunc
    kinds = [c for c in "?bIlefdFD" if _has_loop(ufunc, numpy.dtype(c))]
    return [(primitive, (numpy.ones(4, c),) * ufunc.nin) for c in kinds]


def _has_loop(ufunc: Any, dtype: Any) -> bool:
    given = (dtype,) * ufunc.nin
    try:
        return ufunc.resolve_dtypes((*given, *[None] * ufunc.nout))[: ufunc.nin] == given
    except TypeError:
        return False


def names_in(jaxpr: Jaxpr) -> set[str]:
    """The primitives of a jaxpr, and of those in it."""
    found = {e.primitive.name for e in jaxpr.eqns}
    for eqn in jaxpr.eqns:
        for inner in jaxprs_in(eqn.params):
            found |= names_in(inner)
    return found


PRIMITIVES = primitives()


def texts(name: str) -> list[str]:
    """The programs of a primitive's examples; LoweringError if it has none."""
    if name in HOST:
        hook()
        examples = [HOST[name]]
    elif PRIMITIVES[name].kind == "elementwise":
        examples = elementwise_examples(name)
    else:
        examples = EXAMPLES[name]
    jaxprs = [np.make_jaxpr(f)(*args) for f, args in examples]
    assert examples and all(name in names_in(jaxpr) for jaxpr in jaxprs), name
    return [lowering.lower(jaxpr, platform="cuda") for jaxpr in jaxprs]


def targets(text: str) -> set[str]:
    """The custom calls of a program."""
    return set(re.findall(r'call_target_name = "([^"]*)"', text))


def how(name: str) -> str:
    """What becomes of the primitive, in words."""
    if name in GONE:
        return GONE[name]
    if name in PIECES:
        return "a program is cut here, and its pieces are lowered by themselves"
    try:
        found = set().union(*map(targets, texts(name)))
    except LoweringError as error:
        return f"LoweringError: {str(error).removeprefix(name + ': ')}"
    return ", ".join(f"`{t}`" for t in sorted(found)) or "StableHLO"


def page() -> str:
    """The text of docs/cuda.md."""
    rows = defaultdict(list)
    for name, primitive in sorted(PRIMITIVES.items()):
        group = "elementwise" if primitive.kind == "elementwise" else name
        rows[how(name)].append(group)
    lines = []
    for result, names in sorted(rows.items(), key=lambda row: (row[0] != "StableHLO", row[1])):
        count = names.count("elementwise")
        listed = [f"`{n}`" for n in names if n != "elementwise"]
        listed += [f"{count} elementwise operations"] * bool(count)
        lines.append(f"| {', '.join(listed)} | {result} |")
    return HEAD + "\n".join(lines) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
