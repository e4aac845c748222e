"""Arrays of other libraries: import and export."""

from __future__ import annotations

import subprocess
import sys
from types import ModuleType
from typing import Any

import numpy
import pytest

import lazynp as np


class OnlyDlpack:
    """The attributes of a library that does not know NumPy."""

    def __init__(self, value: Any) -> None:
        self.value = numpy.asarray(value)

    def __dlpack__(self, **options: Any) -> Any:
        return self.value.__dlpack__(**options)

    def __dlpack_device__(self) -> Any:
        return self.value.__dlpack_device__()


def test_arrays_by_dlpack() -> None:
    out = np.asarray(OnlyDlpack([[1.0, 2.0]]))
    assert isinstance(out, np.Array) and out.shape == (1, 2) and out.dtype == np.float64
    numpy.testing.assert_array_equal(out, [[1.0, 2.0]])
    numpy.testing.assert_array_equal(np.asarray(OnlyDlpack([3, 4]), dtype=np.float32), [3, 4])


def test_imports_are_copies() -> None:
    memory = numpy.asarray([1.0, 2.0])
    copied, shared = np.from_dlpack(memory), np.from_dlpack(memory, copy=False)
    memory[0] = 9.0
    assert copied[0] == 1.0 and numpy.asarray(shared)[0] == 9.0


def test_exports_are_read_only_memory() -> None:
    x = np.arange(3.0)
    view = numpy.from_dlpack(x)
    assert not view.flags.writeable and numpy.shares_memory(view, numpy.asarray(x))
    x[0] = 7.0
    assert view[0] == 0.0


def test_strict_arrays() -> None:
    strict = pytest.importorskip("array_api_strict")
    out = np.asarray(strict.asarray([1, 2]))
    assert isinstance(out, np.Array) and out.dtype == np.int64


# -- other devices ---------------------------------------------------------------------------------


class OnDevice:
    """An array of the standard on a device: it has to be moved before it can be read."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __array_namespace__(self, api_version: str | None = None) -> Any:
        return numpy

    def __dlpack_device__(self) -> tuple[int, int]:
        return 2, 0  # kDLCUDA

    def __dlpack__(self, **options: Any) -> Any:
        raise AssertionError("read on the device")

    def to_device(self, device: Any, stream: Any = None) -> Any:
        assert device == "cpu"
        return OnlyDlpack(self.value)


def test_arrays_on_devices_are_fetched() -> None:
    out = np.asarray(OnDevice([1.0, 2.0]))
    assert isinstance(out, np.Array) and out.tolist() == [1.0, 2.0]


def test_arrays_that_refuse_numpy_are_fetched(monkeypatch: pytest.MonkeyPatch) -> None:
    """Like cupy's: `__array__` raises, and `get` replaces `to_device`."""
    cupy = ModuleType("cupy")

    class Refusing:
        def __init__(self, value: Any) -> None:
            self.value = value

        def __dlpack_device__(self) -> tuple[int, int]:
            return 2, 0

        def __dlpack__(self, **options: Any) -> Any:
            raise AssertionError("read on the device")

        def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
            raise TypeError("Implicit conversion to a NumPy array is not allowed.")

        def get(self) -> Any:
            return numpy.asarray(self.value)

    cupy.ndarray = Refusing  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "cupy", cupy)
    assert np.asarray(Refusing([1.0, 2.0])).tolist() == [1.0, 2.0]


def test_other_libraries_are_not_imported() -> None:
    """Nor missed, where they are not installed."""
    program = (
        "import sys, numpy, lazynp; "
        "lazynp.asarray(memoryview(b'ab')), lazynp.from_dlpack(numpy.ones(2)); "
        "print([m for m in ('cupy', 'torch', 'dask', 'jax', 'sparse') if m in sys.modules])"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert ran.stdout.strip() == "[]", ran.stderr


# -- torch and dask, where they are installed: too large to be asked for ---------------------------


@pytest.fixture
def torch() -> Any:
    return pytest.importorskip("torch", reason="too large; its protocols are tested above")


@pytest.fixture
def dask() -> Any:
    return pytest.importorskip("dask.array", reason="not asked for; it converts itself to NumPy")


TORCH_DTYPES = ["bool", "uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64",
                "complex64", "complex128"]  # fmt: skip


@pytest.mark.parametrize("name", TORCH_DTYPES)
def test_tensors_both_ways(torch: Any, name: str) -> None:
    wanted = numpy.asarray([[0, 1, 2], [3, 4, 5]], name)
    tensor = torch.asarray(wanted.copy())
    for out in (np.asarray(tensor), np.array(tensor), np.from_dlpack(tensor)):
        assert isinstance(out, np.Array) and out.dtype == wanted.dtype
        numpy.testing.assert_array_equal(out, wanted)
    for back in (torch.from_dlpack(np.asarray(wanted)), torch.asarray(np.asarray(wanted))):
        assert isinstance(back, torch.Tensor) and torch.equal(back, tensor)


def test_tensors_as_operands(torch: Any) -> None:
    """Of functions, indices and assignments; strided and without dimensions."""
    t = torch.arange(6.0).reshape(2, 3)
    numpy.testing.assert_array_equal(np.add(np.ones((3, 2)), t.T), t.T.numpy() + 1)
    numpy.testing.assert_array_equal(np.stack([t, t])[1], t.numpy())
    numpy.testing.assert_array_equal(np.arange(6)[torch.tensor([4, 1])], [4, 1])
    x = np.zeros((2, 3))
    x[1] = t[1]
    x[0, 0] = torch.tensor(7.0)
    numpy.testing.assert_array_equal(x, [[7, 0, 0], [3, 4, 5]])


def test_tensors_see_no_later_writes(torch: Any) -> None:
    """An export is the memory of a value; a later assignment makes another value."""
    x = np.zeros(3)
    t = torch.from_dlpack(x)
    x += 1
    assert t.tolist() == [0.0, 0.0, 0.0] and x.tolist() == [1.0, 1.0, 1.0]


def test_shared_tensors(torch: Any) -> None:
    t = torch.arange(3.0)
    assert np.from_dlpack(t, copy=False).tolist() == [0.0, 1.0, 2.0]
    copied = np.from_dlpack(t)
    t[0] = 9.0
    assert copied.tolist() == [0.0, 1.0, 2.0]


def test_tensors_that_need_gradients_are_refused(torch: Any) -> None:
    """As by NumPy: a derivative must not be lost in silence."""
    with pytest.raises(RuntimeError, match="detach"):
        np.asarray(torch.ones(2, requires_grad=True))


def test_dask_arrays(dask: Any) -> None:
    """Taken in they are computed; as chunks of theirs, our arrays stay ours."""
    d = dask.arange(6, chunks=2)
    for out in (np.asarray(d), np.array(d), np.add(d, 0)):
        assert isinstance(out, np.Array)
        numpy.testing.assert_array_equal(out, range(6))
    numpy.testing.assert_array_equal(np.arange(6) + d, numpy.arange(6) * 2)
    blocks = dask.from_array(np.arange(6.0), chunks=3, asarray=False)
    assert isinstance((blocks + 1).compute(), np.Array)
    assert float((blocks * 2).sum().compute()) == 30.0
