"""Python's loops and branches under `jit`: values, dtypes, arguments, exceptions, derivatives."""

from __future__ import annotations

import copy
import importlib.util
import inspect
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy
import pytest

import lazynp as np

FILE = Path(__file__).with_name("loop_kernels.py")


def loaded(name: str, namespace: Any) -> ModuleType:
    """The kernels, with this namespace as their `np`."""
    spec = importlib.util.spec_from_file_location(name, FILE)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.np = namespace  # type: ignore[attr-defined]
    return module


PLAIN, OURS = loaded("plain_kernels", numpy), loaded("our_kernels", np)
NAMES = [n for n, f in vars(PLAIN).items() if inspect.isfunction(f) and n[0] != "_"]


def arguments(name: str) -> list[tuple[Any, ...]]:
    parameters = list(inspect.signature(getattr(PLAIN, name)).parameters)
    if name in PLAIN.PAIRS:
        return [(12, 18), (7, 0), (35, 21)]
    if name in PLAIN.INTEGERS:
        return [(1,), (6,), (7,)]
    if "[" in inspect.getsource(getattr(PLAIN, name)) or name in VECTOR:
        size = 3 if name in PLAIN.SMALL[:3] else 4 if name in PLAIN.SMALL else None
        return [(numpy.array(v[:size]),) for v in PLAIN.VECTORS]
    return [(x,) for x in PLAIN.SCALARS if parameters]


VECTOR = {
    "total_of_elements", "reversed_array", "enumerated", "enumerated_from", "if_in_loop",
    "counting", "continued", "bound_inside", "becomes_array", "swapped", "swapped_arguments",
    "rebound_arrays", "augmented_arrays", "rows_of_matrix", "rows_written", "nested_while",
    "helper_in_loop", "closure", "late_closure", "lambda_called", "methods", "zipped",
    "zipped_uneven", "enumerated_zip",
}  # fmt: skip


# either branch's dtype in Python, the common one under jit
JOINED = {"joined_types", "and_of_numbers", "minimum_of_scalars", "conditional_expression"}


def same(got: Any, want: Any, joined: bool = False) -> None:
    """Values, dtypes, shapes."""
    if isinstance(want, tuple):
        assert isinstance(got, tuple) and len(got) == len(want)
        for g, w in zip(got, want, strict=True):
            same(g, w, joined)
        return
    got, want = numpy.asarray(got), numpy.asarray(want)
    assert got.shape == want.shape
    assert got.dtype == want.dtype or joined
    numpy.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("name", NAMES)
def test_as_python_runs_it(name: str) -> None:
    jitted = np.jit(getattr(OURS, name))
    for args in arguments(name):
        ours, theirs = copy.deepcopy(args), copy.deepcopy(args)
        want = getattr(PLAIN, name)(*theirs)
        same(jitted(*ours), want, name in JOINED)
        for x, y in zip(ours, theirs, strict=True):
            same(x, y)
