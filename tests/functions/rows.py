"""Rows of tables: short programs that must have the same outcome on NumPy and on lazynp.

A program's outcome is the value of its last expression (or the exception that ends it), and the
contents of its arrays afterwards.
"""

from __future__ import annotations

import ast
from types import CodeType
from typing import Any

import numpy as np

import lazynp
from lazynp._array import Array, Scalar

RTOL = {"f2": 2e-3, "f4": 2e-6, "f8": 1e-13, "c8": 4e-6, "c16": 1e-13}


def compiled(program: str) -> tuple[CodeType, CodeType | None]:
    """The statements, and the final expression if there is one."""
    tree = ast.parse(program)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    value = None if last is None else compile(ast.Expression(last.value), program, "eval")
    return compile(tree, program, "exec"), value


def run(program: str, module: Any, data: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    names = {k: module.array(v) if isinstance(v, np.ndarray) else v for k, v in data.items()}
    given = {k: v for k, v in names.items() if isinstance(v, (np.ndarray, Array))}
    statements, value = compiled(program)
    names["np"] = module
    try:
        exec(statements, names)
        result = None if value is None else eval(value, names)
    except Exception as error:  # its class is the outcome
        return error, given
    return result, given


def same(ours: Any, numpys: Any, exact: bool = False, where: str = "result") -> None:
    """Value, dtype, shape, and whether it is an array or a scalar."""
    if isinstance(numpys, (tuple, list)):
        assert isinstance(ours, type(numpys)) or hasattr(numpys, "_fields"), where
        assert len(ours) == len(numpys), where
        for k, (x, y) in enumerate(zip(ours, numpys, strict=True)):
            same(x, y, exact, f"{where}[{k}]")
        return
    if not isinstance(numpys, (np.ndarray, np.generic)):
        if isinstance(ours, Array):
            ours = ours.item()
        assert ours == numpys, where
        return
    assert isinstance(ours, (Array, np.ndarray, np.generic)), f"{where}: {type(ours)}"
    scalar = isinstance(ours, (Scalar, np.generic))
    assert scalar == isinstance(numpys, np.generic), f"{where}: a scalar or an array?"
    assert ours.dtype == numpys.dtype, f"{where}: {ours.dtype}, not {numpys.dtype}"
    assert ours.shape == numpys.shape, f"{where}: {ours.shape}, not {numpys.shape}"
    mine = np.asarray(ours)
    rtol = 0 if exact else RTOL.get(f"{numpys.dtype.kind}{numpys.dtype.itemsize}", 0)
    if rtol:
        scale = np.max(np.abs(numpys[np.isfinite(numpys)]), initial=0)
        np.testing.assert_allclose(mine, numpys, rtol, rtol * scale, err_msg=where)
    else:
        np.testing.assert_array_equal(mine, numpys, err_msg=where)


def _owner(x: Any) -> Any:
    return x if x._base is None else x._base


def check(program: str, data: dict[str, Any], exact: bool = False, message: bool = False) -> None:
    """The program must have the same outcome on lazynp and on NumPy."""
    expected, numpys = run(program, np, data)
    result, ours = run(program, lazynp, data)
    if isinstance(expected, Exception):
        assert isinstance(result, Exception), f"not raised: {expected!r}, but {result!r}"
        if not isinstance(result, type(expected)):
            raise AssertionError(f"{result!r}, not {expected!r}") from result
        if message:
            assert str(result) == str(expected)
    elif isinstance(result, Exception):
        raise result
    else:
        same(result, expected, exact)
    for name, value in numpys.items():
        same(ours[name], value, exact, name)
    if isinstance(expected, np.ndarray) and isinstance(result, Array) and expected.size:
        views = [np.shares_memory(expected, v) for v in numpys.values()]
        assert views == [_owner(result) is _owner(v) for v in ours.values()], "a view or a copy?"
        if any(views):
            assert result.flags.writeable == expected.flags.writeable
