"""The buffer protocol: read-only memory, as NumPy's arrays show it."""

from __future__ import annotations

import hashlib
import io
import struct
import sys
import tracemalloc
import zlib
from typing import Any

import numpy
import pytest

import lazynp as np
from lazynp import _conversions
from lazynp._fronts import BUILT

pytestmark = pytest.mark.skipif(
    sys.version_info < (3, 12) and not BUILT,
    reason="Python 3.11 asks C types for buffers, and the part in C was not built",
)

ARRAYS = {
    "1-d": lambda xp: xp.arange(5.0) * 2.0,
    "2-d": lambda xp: xp.arange(6).reshape(2, 3),
    "0-d": lambda xp: xp.asarray(2.5),
    "scalar": lambda xp: xp.ones(3).sum(),
    "empty": lambda xp: xp.zeros((0, 3), "f4"),
    "bool": lambda xp: xp.arange(4) > 1,
    "complex": lambda xp: xp.arange(3) * 1j,
    "bytes": lambda xp: xp.arange(7, dtype="u1"),
    "slice": lambda xp: xp.arange(12.0).reshape(3, 4)[1:, ::2],
}


@pytest.mark.parametrize("name", list(ARRAYS))
def test_memoryview(name: str) -> None:
    x, theirs = ARRAYS[name](np), ARRAYS[name](numpy)
    ours, view = memoryview(x), memoryview(theirs)
    assert (ours.format, ours.shape, ours.ndim, ours.itemsize) == (
        view.format, view.shape, view.ndim, view.itemsize,
    )  # fmt: skip
    assert ours.readonly and ours.tobytes() == view.tobytes()


@pytest.mark.parametrize(
    "use",
    [
        lambda x: hashlib.sha256(x).hexdigest(),
        lambda x: io.BytesIO(x).getvalue(),
        lambda x: struct.unpack_from("2d", x),
        lambda x: bytearray(x),
        lambda x: b"".join([x]),
        lambda x: int.from_bytes(x, "little"),
    ],
)
def test_consumers(use: Any) -> None:
    assert use(np.arange(5.0) + 1.0) == use(numpy.arange(5.0) + 1.0)


_READERS: list[Any] = [
    lambda x: hashlib.sha256(x).hexdigest(),
    lambda x: io.BytesIO(x).getvalue(),
    lambda x: zlib.crc32(x),
]


def from_buffer(x: Any) -> Any:
    """NumPy keeps a memoryview of what is to be released, so it needs the name of the dtype."""
    return numpy.frombuffer(x, "u1").tolist()


_SHAPED: list[Any] = [
    lambda x: x,
    lambda x: x[:0],
    lambda x: x.reshape(3, 2),
    lambda x: x.reshape(3, 2).T,
    lambda x: x[::2],
    lambda x: x[:1].reshape(()),
]


@pytest.mark.parametrize("dtype", ["V1", "V3", "M8[s]", "m8[D]", [("a", "V4")], "f8", "i4,f8", "g"])
def test_bytes_are_there_for_those_who_do_not_ask_what_they_are(dtype: Any) -> None:
    for shaped in _SHAPED:
        for read in _READERS:
            plain = numpy.zeros(6, dtype)
            x = shaped(np.array(plain))
            if x.flags.c_contiguous:
                assert read(x) == read(shaped(plain))
            else:
                with pytest.raises(ValueError, match="ndarray is not C-contiguous"):
                    read(x)


def test_numpy_reads_bytes_of_dtypes_that_have_a_name() -> None:
    for dtype in ("f8", "i4,f8", "g", "?", "S3"):
        for shaped in _SHAPED:
            x, plain = (shaped(xp.zeros(6, dtype)) for xp in (np, numpy))
            if x.flags.c_contiguous:
                assert from_buffer(x) == from_buffer(plain)
            else:
                with pytest.raises((ValueError, BufferError), match="not C-contiguous"):
                    from_buffer(x)


@pytest.mark.parametrize("shape", [(40, 50, 20, 2), (4, 5, 2, 2)])
@pytest.mark.parametrize(
    "made",
    [
        lambda xp, f: xp.ascontiguousarray(xp.asarray(f)),
        lambda xp, f: xp.asarray(f).copy(),
        lambda xp, f: xp.ascontiguousarray(xp.asarray(f) * 2),
        lambda xp, f: xp.ascontiguousarray(xp.asarray(f).T),
        lambda xp, f: xp.asarray(f)[:1].copy(),
    ],
)
def test_bytes_are_in_the_order_that_the_array_has(made: Any, shape: tuple[int, ...]) -> None:
    fortran = numpy.asfortranarray(numpy.arange(float(numpy.prod(shape))).reshape(shape))
    ours, theirs = made(np, fortran), made(numpy, fortran)
    for read in (*_READERS, from_buffer):
        assert read(ours) == read(theirs)
    shown = [numpy.frombuffer(ours, "f8") for _ in range(3)]
    assert all(x.tobytes() == theirs.tobytes() for x in shown)


def test_bytes_of_records_with_gaps() -> None:
    kind: Any = {"names": ["a", "b"], "formats": ["i1", "f8"], "offsets": [0, 8], "itemsize": 24}
    assert len(io.BytesIO(np.zeros(6, kind)).getvalue()) == 144  # what is in gaps is open


def test_a_file_takes_it(tmp_path: Any) -> None:
    with open(tmp_path / "x", "wb") as f:
        assert f.write(np.arange(3.0)) == 24
    assert (tmp_path / "x").read_bytes() == numpy.arange(3.0).tobytes()


def test_who_wants_to_write_is_refused() -> None:
    with pytest.raises((BufferError, TypeError, ValueError)):
        io.BytesIO(b"12345678").readinto(np.zeros(1))


@pytest.mark.parametrize("dtype", ["S3", "U3", "i4,f8", "O", "?"])
def test_other_dtypes(dtype: str) -> None:
    plain = numpy.zeros(3, dtype)
    view, want = memoryview(np.array(plain)), memoryview(plain)
    assert view.format == want.format and view.tobytes() == want.tobytes()
    assert hashlib.md5(np.zeros(3, dtype)).digest() == hashlib.md5(plain).digest()


@pytest.mark.parametrize(
    "dtype",
    [
        np.dtype("i4,f8,i2")[["f0", "f2"]],
        np.dtype({"names": ["a"], "formats": ["i1"], "itemsize": 7}),
        np.dtype("i4,S2"),
        np.dtype("(2,)i4,f8"),
        "O",
        ">U3",
    ],
    ids=str,
)
def test_numpy_takes_the_dtype_whole(dtype: Any) -> None:
    plain = numpy.zeros(3, dtype)
    for got in (numpy.asarray(np.array(plain)), numpy.array(np.array(plain))):
        assert got.dtype == plain.dtype and repr(got) == repr(plain)


@pytest.mark.parametrize("dtype", ["M8[s]", "m8[D]"])
def test_dtypes_without_a_buffer(dtype: str) -> None:
    with pytest.raises((BufferError, ValueError), match="cannot include dtype"):
        memoryview(np.zeros(2, dtype))


def test_the_view_shows_what_was_there() -> None:
    x = np.arange(4.0) * 1.0
    view = memoryview(x)
    x[0] = 9.0
    assert view.tolist() == [0.0, 1.0, 2.0, 3.0] and x.tolist() == [9.0, 1.0, 2.0, 3.0]


def test_nothing_is_kept() -> None:
    x = np.arange(1000.0) * 1.0
    memoryview(x)
    before = sys.getrefcount(x)
    tracemalloc.start()
    try:
        with np.config(promotion=False):  # which reads this file, once
            for _ in range(100):
                hashlib.sha256(x)
            start = tracemalloc.get_traced_memory()[0]
            for _ in range(10_000):
                memoryview(x).release()
            grown = tracemalloc.get_traced_memory()[0] - start
    finally:
        tracemalloc.stop()
    assert sys.getrefcount(x) == before and grown < 100_000  # a leak: over a million


def test_an_interrupt_is_not_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    """NumPy drops what the buffer protocol raises, and asks in another way."""
    host_of, interrupted = _conversions.host_of, list[bool]()

    def interrupted_once(x: Any) -> Any:
        if not interrupted:
            interrupted.append(True)
            raise KeyboardInterrupt
        return host_of(x)

    monkeypatch.setattr(_conversions, "host_of", interrupted_once)
    x = (np.ones(3) + 1)[::-1]  # what lies in order is lent in C, if it has a value
    with pytest.raises(KeyboardInterrupt):
        numpy.asarray(x)
    assert numpy.asarray(x).tolist() == [2, 2, 2]
