"""Arrays of NumPy's own classes take our `ndarray` for NumPy's."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy
import pytest

import lazynp
from lazynp.functions._numpys_classes import hook_derived


def _made(np: Any, name: str, path: Path) -> Any:
    if name == "memmap":
        made = np.memmap(path / "x", "f4", "w+", shape=(2, 2))
        made[:] = 1
        return made
    return {
        "matrix": lambda: np.matrix("1 2; 3 4"),
        "recarray": lambda: np.rec.array([(1, 2.5), (3, 4.5)]),
        "MaskedArray": lambda: np.ma.array([1.0, 2.0], mask=[False, True]),
        "chararray": lambda: np.char.array(["a", "bc"]),
    }[name]()


pytestmark = pytest.mark.filterwarnings("ignore::PendingDeprecationWarning")  # of matrices

HOW = [
    lambda np, x: x.view(np.ndarray),
    lambda np, x: x.view(type=np.ndarray),
    lambda np, x: x.view(x.dtype, np.ndarray),
    lambda np, x: np.ndarray.view(x, np.ndarray),
    lambda np, x: np.ndarray.view(x, type=np.ndarray),
]


@pytest.mark.parametrize("how", HOW)
@pytest.mark.filterwarnings("ignore:The chararray class:DeprecationWarning")
@pytest.mark.parametrize("name", ["matrix", "recarray", "MaskedArray", "chararray", "memmap"])
def test_a_view_as_ndarray_shows_their_memory(name: str, how: Any, tmp_path: Path) -> None:
    found = []
    for np in (numpy, lazynp):
        x = _made(np, name, tmp_path)
        bare = how(np, x)
        assert type(bare) is numpy.ndarray and isinstance(bare, np.ndarray)
        bare[0] = bare[1]
        found.append((bare.tolist(), bare.dtype, x.tolist()))
    assert found[1] == found[0]


def test_other_views_are_as_ever() -> None:
    x = lazynp.matrix("1 2; 3 4")
    assert type(x.view()) is numpy.matrix and x.view("u1").shape == (2, 16)
    assert type(x.view(lazynp.recarray)) is numpy.recarray

    class Derived(lazynp.matrix):  # type: ignore[name-defined,misc]
        def view(self, *args: Any) -> Any:
            return "mine", type(super().view(*args))

    assert numpy.ndarray.view(x, Derived).view(lazynp.ndarray) == ("mine", numpy.ndarray)


@pytest.mark.skipif(not hasattr(numpy, "row_stack"), reason="NumPy 2.5 removed it")
@pytest.mark.parametrize("name", ["matrix", "MaskedArray"])
def test_the_old_name_of_vstack_stacks_them(name: str, tmp_path: Path) -> None:
    found = []
    for np in (numpy, lazynp):
        x = _made(np, name, tmp_path)
        with pytest.warns(DeprecationWarning, match="row_stack") as told:
            made = np.row_stack([x, x])
        found.append((type(made), made.tolist(), [w.filename for w in told]))
    assert found[1] == found[0]


def test_so_do_classes_that_others_derive_from_numpys_array() -> None:
    class Units(numpy.ndarray):
        pass

    class Derived(Units):
        def view(self, *args: Any, **kwargs: Any) -> Any:
            return super().view(*args, **kwargs)

    hook_derived()
    for kind in (Units, Derived):
        x = numpy.arange(3.0).view(kind)
        for bare in (x.view(lazynp.ndarray), x.view(type=lazynp.ndarray)):
            assert type(bare) is numpy.ndarray
            bare[0] += 1
        assert x.tolist() == [2.0, 1.0, 2.0]
        assert type(x.view()) is kind and x.view("i8").shape == (3,)
    known = Units.view
    hook_derived()
    assert Units.view is known


PACKAGE = """
import numpy

class Units(numpy.ndarray):
    pass
"""
PROGRAM = """
import numpy as np
import sys
sys.path.insert(0, sys.argv[1])
from a_package import Units
import numpy.ma

x = np.asarray([1.0, 2.0])
made = Units.__mro__[1](2, dtype=float).view(Units)
print(type(x).__module__, type(made.view(np.ndarray)).__module__, end=" ")
print(type(Units.__mro__[1](2).view(np.ma.MaskedArray.__mro__[0]).view(np.ndarray)).__name__)
"""


def test_a_package_that_a_program_on_lazynp_imports(tmp_path: Path) -> None:
    place = tmp_path / "site-packages"  # so that it is not the user's
    place.mkdir()
    (place / "a_package.py").write_text(PACKAGE)
    (tmp_path / "program.py").write_text(PROGRAM)
    command = [sys.executable, "-m", "lazynp", str(tmp_path / "program.py"), str(place)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100)
    assert done.stdout.split() == ["lazynp", "numpy", "ndarray"], done.stderr
