"""cuSOLVER's conventions, by a stand-in that computes with LAPACK what the targets give.

It has the conventions from the sources of jaxlib 0.10.2: `gesvdj` gives V where LAPACK gives V^H,
`gesvd` with `transposed` reads and writes row-major matrices as the transposed ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy
import pytest

from lazynp.lowering import _solvers
from lazynp.lowering._platform import CUDA
from lazynp.lowering._solvers import Cusolver, Lapack
from lazynp.primitives.linear_algebra import eig, svd
from tests.primitives import test_linear_algebra as algebra
from tests.primitives.harness import lowered_text, run_lowered

LAPACK = Lapack()
ATTRIBUTES = {
    "cusolver_potrf_ffi": {"lower": "true"},
    "cusolver_getrf_ffi": {},
    "cusolver_geqrf_ffi": {},
    "cusolver_orgqr_ffi": {},
    "cusolver_syevd_ffi": {"lower": None, "algorithm": "0 : ui8"},
    "cusolver_gesvdj_ffi": {"compute_uv": None, "full_matrices": None},
    "cusolver_gesvd_ffi": {"compute_uv": None, "full_matrices": None, "transposed": None},
    "cuhybrid_eig_real": {"left": "false", "right": None, "magma": '"auto"'},
    "cuhybrid_eig_comp": {"left": "false", "right": None, "magma": '"auto"'},
}


def _emulated(b: Any, target: str, xs: Sequence[Any], attrs: dict[str, Any]) -> Sequence[Any]:
    """The outputs of a target, in column-major order."""
    match target.removeprefix("cusolver_").removesuffix("_ffi"):
        case "potrf":
            return LAPACK.cholesky(b, *xs)
        case "getrf":
            return LAPACK.lu(b, *xs)
        case "geqrf":
            return LAPACK.qr(b, *xs)
        case "orgqr":
            return [LAPACK.householder(b, *xs)]
        case "syevd":
            return LAPACK.hermitian(b, *xs, attrs["lower"], True)
        case "cuhybrid_eig_real" | "cuhybrid_eig_comp":
            outs = _solvers._eigen_outs(xs[0].aval)
            letters = {"compute_left": "N", "compute_right": "V" if attrs["right"] else "N"}
            return LAPACK.call(b, "geev", xs, outs, letters)
        case "gesvdj":
            u, s, vh, info = LAPACK.svd(b, *xs, attrs["full_matrices"], True)
            return [xs[0], s, u, _solvers._adjoint(b, vh), info]
        case "gesvd":
            full, vectors = attrs["full_matrices"], attrs["compute_uv"]
            u, s, vh, info = LAPACK.svd(b, *xs, full, vectors)
            if not vectors:
                u = vh = b.constant(0, u.aval.dtype)
            first, second = (vh, u) if attrs["transposed"] else (u, vh)
            return [xs[0], s, first, second, info]
    raise AssertionError(target)


class StandIn(Cusolver):
    """Cusolver, whose calls are LAPACK's."""

    def _call(
        self, b: Any, target: str, operands: Sequence[Any], outs: Any, attrs: Any, **options: Any
    ) -> list[Any]:
        wanted = ATTRIBUTES[target]
        assert attrs.keys() == wanted.keys()
        assert all(v is None or str(attrs[k]).lower() == v for k, v in wanted.items())
        assert options.pop("by_rows", False) == bool(attrs.get("transposed", False))
        results = list(_emulated(b, target, operands, attrs))
        assert [x.aval for x in results] == [aval for aval, _ in outs], target
        return results


def by_cusolver(prim: Any) -> Any:
    """The primitive as lowered for CUDA, with the stand-in."""

    def lower(b: Any, *values: Any, **params: Any) -> Any:
        before, b.platform = b.platform, replace(CUDA, solvers=StandIn())
        out = prim.lower(b, *values, **params)
        b.platform = before
        return out

    return replace(prim, lower=lower)


@pytest.mark.parametrize("char", ["f", "d", "F", "D"])
@pytest.mark.parametrize(("prim", "operands", "params", "invariants"), algebra.CASES)
def test_lowered(prim: Any, operands: Any, params: Any, invariants: Any, char: str) -> None:
    algebra.test_lowered(by_cusolver(prim), operands, params, invariants, char)


SHAPES = [(3, 5), (5, 3), (4, 4), (40, 36), (36, 40), (2, 40), (2, 3, 5)]


@pytest.mark.parametrize("qr", [False, True], ids=["jacobi", "qr"])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("char", ["d", "F"])
def test_svd(char: str, shape: tuple[int, ...], qr: bool, monkeypatch: Any) -> None:
    if qr:
        monkeypatch.setattr(_solvers, "_JACOBI", 0)
    a = algebra.random(char, *shape)
    for full in (False, True):
        params = {"full_matrices": full, "compute_uv": True}
        got = run_lowered(by_cusolver(svd), a, **params)
        wanted = svd.reference(a, **params)
        assert [x.shape for x in got] == [numpy.shape(x) for x in wanted]
        for g, w in zip(algebra._of_svd(*got), algebra._of_svd(*wanted), strict=True):
            numpy.testing.assert_allclose(g, w, atol=algebra.TOLERANCE[char] * 20)
        vh = got[2]
        numpy.testing.assert_allclose(
            vh @ vh.conj().swapaxes(-1, -2), numpy.eye(vh.shape[-2]) + 0 * vh[..., :1],
            atol=1e-5,
        )  # fmt: skip
    got, _ = run_lowered(by_cusolver(svd), a, full_matrices=False, compute_uv=False)
    numpy.testing.assert_allclose(got, numpy.linalg.svd(a, compute_uv=False), rtol=1e-4)


@pytest.mark.parametrize("char", ["d", "D"])
def test_eig_vectors(char: str) -> None:
    a = algebra.random(char, 2, 4, 4)
    w, v, status = run_lowered(by_cusolver(eig), a, compute_v=True)
    assert not status.any()
    numpy.testing.assert_allclose(a @ v, v * w[:, None, :], atol=1e-12)


def test_layouts() -> None:
    """Wide matrices go to `gesvd` by rows, all others by columns."""
    for shape, order in (((2, 3, 2000), [2, 1, 0]), ((2, 2000, 3), [1, 2, 0])):

        def lower(b: Any, a: Any, **params: Any) -> Any:
            b.platform = CUDA
            return svd.lower(b, a, **params)

        params = {"full_matrices": False, "compute_uv": True}
        text = lowered_text(replace(svd, lower=lower), numpy.zeros(shape), **params)
        layouts = text.partition("result_layouts = [")[2].partition("}> :")[0]
        assert layouts.count(f"dense<{order}>") == 3
        assert f"transposed = {str(order[0] == 2).lower()}" in text
