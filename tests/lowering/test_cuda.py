"""Programs for NVIDIA GPUs: their text, on any machine; docs/cuda.md is up to date."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from typing import Any

import numpy
import pytest

import lazynp as np
from lazynp import lowering
from lazynp._avals import aval_of
from lazynp._errors import LoweringError
from lazynp._jaxpr import Eqn, Jaxpr, Var
from lazynp.lowering._platform import platform_of
from lazynp.lowering._text import type_text
from lazynp.primitives.shaping import reverse
from tests.lowering.deviceless import compiler, verified

SCRIPT = Path(__file__).parents[2] / "docs" / "cuda.py"


def _script() -> Any:
    spec = importlib.util.spec_from_file_location("cuda_page", SCRIPT)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


PAGE = _script()
NAMES = sorted(set(PAGE.PRIMITIVES) - set(PAGE.GONE) - set(PAGE.HOST) - PAGE.PIECES)
# registered by the plugin of jaxlib 0.10.2
TARGETS = {f"cusolver_{n}_ffi" for n in "potrf getrf geqrf orgqr syevd gesvd gesvdj".split()} | {
    "cuhybrid_eig_real",
    "cuhybrid_eig_comp",
    "__gpu$xla.gpu.triton",
}


def test_the_page_is_up_to_date() -> None:
    assert PAGE.PAGE.read_text(encoding="utf-8") == PAGE.page(), "run `python docs/cuda.py`"


@pytest.mark.parametrize("name", NAMES)
def test_every_primitive(name: str) -> None:
    for text in PAGE.texts(name):
        assert "lapack_" not in text and "_cpu_" not in text
        assert PAGE.targets(text) <= TARGETS
        verified(text)


@pytest.mark.slow
def test_every_primitive_compiles() -> None:
    """Without a GPU: 308 programs take two minutes."""
    compiled = compiler()
    failed = {}
    for name in NAMES:
        for text in PAGE.texts(name):
            try:
                compiled(text)
            except RuntimeError as error:
                failed[name] = str(error)
    assert not failed


@pytest.mark.parametrize("name", sorted(PAGE.HOST))
def test_what_the_host_computes_is_named(name: str) -> None:
    f, args = PAGE.HOST[name]
    PAGE.hook()
    for platform in ("cuda", "cpu"):
        lowered = np.jit(lambda *xs: np.cond(True, f, f, *xs)).lower(*args)
        with pytest.raises(LoweringError, match=f"^{name}: .* on the host(\n|$)"):
            lowered.as_text(platform=platform)
    assert f"`{name}`" in PAGE.PAGE.read_text(encoding="utf-8")


def test_dtypes_that_devices_lack() -> None:
    for dtype in map(numpy.dtype, ("M8[s]", "O", "U3")):
        with pytest.raises(LoweringError, match="exist on the host only"):
            type_text(aval_of((2,), dtype))
    a, b = (Var(aval_of((2,), numpy.dtype("O"))) for _ in range(2))
    text = re.escape("reverse: arrays of object exist on the host only")
    with pytest.raises(LoweringError, match=f"^{text}$"):
        lowering.lower(Jaxpr([a], [Eqn(reverse, [a], {"axes": (0,)}, [b])], [b]))


def test_platforms() -> None:
    lowered = np.jit(lambda x: x + 1).lower(np.ones(3))
    assert lowered.as_text() == lowered.as_text(platform="cpu") == lowered.as_text("cuda")
    for wrong in ("vax", "TPU", None, ["cuda"]):
        with pytest.raises(ValueError, match="platform must be one of"):
            lowered.as_text(platform=wrong)  # type: ignore[arg-type]
    assert platform_of("cuda").name == "cuda"


@pytest.mark.parametrize(
    ("dtype", "exact"), [("f4", True), ("f2", True), ("f8", False), ("i4", False)]
)
def test_products_are_not_rounded_to_tf32(dtype: str, exact: bool) -> None:
    m = numpy.ones((4, 4), dtype)
    for f in (np.matmul, lambda x, y: np.convolve(x[0], y[0])):
        lowered = np.jit(f).lower(m, m)
        assert ("precision HIGHEST" in lowered.as_text(platform="cuda")) == exact
        assert "precision" not in lowered.as_text()
    if dtype == "f4":
        text = np.jit(np.matmul).lower(m + 0j, m).as_text(platform="cuda")
        assert "precision HIGHEST" in text


@pytest.mark.parametrize("dtype", ["i8", "u1", "c8", "c16", "f2", "f8", "?"])
def test_convolutions_are_those_of_cudnn(dtype: str) -> None:
    """XLA hands each of them to it, and fails to compile those that it lacks."""
    x = numpy.ones(9, dtype)
    text = np.jit(np.convolve).lower(x, x[:4]).as_text(platform="cuda")
    convolutions = re.findall(r'"stablehlo.convolution".*-> tensor<1x1x12x(.*)>', text)
    want = {"i8": [], "u1": [], "c8": ["f32"] * 4, "c16": ["f64"] * 4, "f8": ["f64"]}
    assert convolutions == want.get(dtype, ["f32"])


def test_no_measure_for_the_cpu_compiler() -> None:
    def stencil(u: Any) -> Any:
        for _ in range(6):
            u = np.roll(u, 1) * 0.3 + np.exp(u) / (1 + np.roll(u, -1) ** 2)
        return u

    def reads(a: Any) -> Any:
        def body(i: Any, a: Any) -> Any:
            b = a.copy()
            b[i] = a[i - 1] * 2
            b[i - 1] = a[i]
            return b

        return np.fori_loop(1, 900, body, a)

    for f, words in ((stencil, ('"func.call"', "lazynp_hold")), (reads, ('"stablehlo.case"',))):
        lowered = np.jit(f).lower(numpy.ones(1000))
        assert not any(word in lowered.as_text(platform="cuda") for word in words)
        assert any(word in lowered.as_text() for word in words)


def test_explain_and_runs_stay_with_the_cpu() -> None:
    a = np.array(numpy.eye(3) * 2)
    assert "lapack_" in np.jit(np.linalg.cholesky).lower(a).as_text()
    assert lowering.lower(np.make_jaxpr(np.linalg.cholesky)(a)).count("lapack_dpotrf_ffi") == 1
