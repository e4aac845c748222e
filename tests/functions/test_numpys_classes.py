"""Arrays of NumPy's own classes take our `ndarray` for NumPy's."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy
import pytest

import lazynp


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


@pytest.mark.parametrize("name", ["matrix", "MaskedArray"])
def test_the_old_name_of_vstack_stacks_them(name: str, tmp_path: Path) -> None:
    found = []
    for np in (numpy, lazynp):
        x = _made(np, name, tmp_path)
        with pytest.warns(DeprecationWarning, match="row_stack") as told:
            made = np.row_stack([x, x])
        found.append((type(made), made.tolist(), [w.filename for w in told]))
    assert found[1] == found[0]
