"""Creation against NumPy: values, dtypes, memory order, exceptions; and which results stay lazy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

import lazynp
from lazynp.transforms import make_jaxpr
from tests.functions.rows import check
from tests.helpers import be_eager, is_eager

rng = np.random.default_rng(2)

DATA: dict[str, Any] = {
    "a": rng.normal(size=(2, 3)),
    "f": np.asfortranarray(rng.normal(size=(3, 4))),
    "i": np.arange(6).reshape(2, 3),
    "b": np.array([True, False, True]),
    "c": rng.normal(size=3) + 1j,
    "h": np.float16([1.5, -2, 300]),
    "u": np.uint8([3, 200, 7]),
    "v": rng.normal(size=3),
    "e": np.array(2.5),
    "z": np.zeros((0, 3)),
    "o": np.array([1, "x", None], object),
    "t": np.array(["ab", "c"]),
}


def rows(table: str) -> list[str]:
    return [line for line in table.strip().splitlines() if line and not line.startswith("#")]


ARRAY = """
np.array(3)
np.array(3.5)
np.array(True)
np.array(2j)
np.array([])
np.array([[], []])
np.array([1, 2.5])
np.array([[1, 2], [3, 4]], np.float32)
np.array((1, [2], 3)[0:1])
np.array([1, 2], dtype='>i4')[0].item()
np.array([1, 2**63])
np.array(2**63)
np.array([1 + 2j, 3])
np.array([True, 2])
np.array([True, False])
np.array(range(5))
np.array([a, a])
np.array([a, a.tolist()])
np.array([a[0], [1, 2, 3]])
np.array([v[0], 2, v[2]])
np.array([[v[0], 0], [i[1, 1], v.sum()]])
np.array([v.sum(), 2, i.sum()])
np.array([[v.sum() * 2, 0.0, 1], [3, 4, i.sum()]])
np.array([(v * 2).sum(), np.float32(3)])
np.array([(u * 2)[0], (u + 1)[1]])
np.array([u[0], 300])
np.array([h.sum(), h])
np.array([v.sum(), 1j])
np.array([b.any(), 3])
np.array([b.any(), b.all()])
np.array([(v + 1).sum(), 'x'])
np.array([(v + 1).sum(), None], dtype=object)[1] is None
np.array([(v * 2).sum(), 5], dtype=np.int8)
np.array([(v * 2).sum(), 5], dtype='f4')
np.array([a * 2, a], ndmin=4)
np.array([[a * 2], [a]])
np.array([z * 2, z])
np.array([[v.sum()], []], dtype=object).shape
np.array(a, dtype=int)
np.array(a.T)
np.array(a.T).flags.f_contiguous
np.array(f).flags.f_contiguous
np.array(f, order='C').flags.c_contiguous
np.array(a, order='F').flags.f_contiguous
np.array(a, order='A').flags.c_contiguous
np.array([[1, 2], [3, 4]], order='F').strides
np.array(v, ndmin=3)
np.array(3, ndmin=2)
np.array(v, copy=None) is v
np.array(v, copy=False) is v
np.array(v) is v
np.asarray(v) is v
np.asarray(v, float) is v
np.asarray(v, 'f4')
np.asarray(f, order='C').flags.c_contiguous
np.asarray(f, order='F') is f
np.asarray(a.T, order='F').flags.c_contiguous
np.asarray(e)
np.asarray(v[0])
np.asarray(v[0], dtype=int)
np.asanyarray([1, 2])
np.asanyarray(v) is v
x = np.array(a); x[0] = 7; (x, a)
x = np.asarray(a); x[0] = 7; (x, a)
x = np.array(a, copy=None); x[0] = 7; a
x = np.array(a, ndmin=3); x[0] = 7; a
x = np.array(a, ndmin=3, copy=None); x[0] = 7; a
x = np.copy(a); x[0] = 7; (x, a)
np.copy(f).flags.f_contiguous
np.copy(f, order='C').flags.c_contiguous
np.copy([1, 2])
np.ascontiguousarray(3)
np.ascontiguousarray(a) is a
np.ascontiguousarray(f).flags.c_contiguous
np.ascontiguousarray(a.T)
np.ascontiguousarray(v, np.float32)
np.asfortranarray(a).flags.f_contiguous
np.asfortranarray(f) is f
np.asarray_chkfinite([1, 2])
np.asarray_chkfinite(v) is v
np.require(a, requirements=['F']).flags.f_contiguous
np.require(a, dtype=int, requirements='C')
np.require(a) is a
np.require(a.T, requirements=['O', 'W']).flags.owndata
np.require(np.broadcast_to(v, (2, 3)), requirements='W').flags.writeable
np.array(o).tolist()
np.array(t)
np.array(t, dtype='U5').dtype.str
np.array('abc')
np.array(np.datetime64('2020-01-01'))
np.array([(1, 2.0)], dtype=[('x', int), ('y', float)]).dtype.names
np.array(v, dtype=str).dtype.kind
np.array(v, like=v)
np.asarray(v, device='cpu') is v
np.array(f, copy=0, dtype="f4")
np.array(a, ndmin=2, ndmax=1)
np.array(v, ndmax=70)
np.array(type("A", (), {"__array__": lambda self, *a, **k: [1, 2]})())
"""

ERRORS = """
np.array([[1, 2], [3]])
np.array([a, a[0]])
np.array([[v.sum(), 1], [2]])
np.array([a, 1])
np.array([300], dtype=np.uint8)
np.array([1], copy=False)
np.array([v.sum()], copy=False)
np.array(v[0], copy=False)
np.array(a, dtype=int, copy=False)
np.array(a.T, order='C', copy=False)
np.array(a, order='Z')
np.array(['x'], dtype=float)
np.array([1j], dtype=float)
np.array(v, like=3)
np.asarray(v, device='gpu')
np.asarray_chkfinite([1, np.nan])
np.require(a, requirements='Q')
np.require(a, requirements=['C', 'F'])
np.zeros(-1)
np.zeros((2, -1))
np.zeros(2.5)
np.zeros(None)
np.zeros('a')
np.zeros((2**40, 2**40))
np.zeros(3, order='K')
np.zeros(3, order='Q')
np.zeros(3, device='gpu')
np.zeros(3, like=3)
np.ones(3, 'nonsense')
np.full(3, [1, 2])
np.full(3, 300, np.uint8)
np.ones_like(a, order='Z')
np.arange()
np.arange(1, 0, 0)
np.arange(0, np.nan)
np.arange('a')
np.arange(0, 5, dtype=bool)
np.arange(0, 1e300)
np.arange(3, device='gpu')
np.linspace(0, 1, -1)
np.linspace(0, 1, 2.0)
np.linspace([0, 1], [2, 3], 3, axis=2)
np.linspace(v, v[:2], 3)
np.geomspace(0, 1)
np.geomspace(v * 0, 1)
np.eye(2, 3.0)
np.eye(2, k=1.5)
np.eye(-1)
np.diag(np.zeros((2, 2, 2)))
np.diag(3)
np.tril(3)
np.vander(a)
np.meshgrid([1, 2], [3], indexing='q')
np.ix_(a)
np.indices(2)
np.tril_indices_from(v)
np.diag_indices_from(a)
np.diag_indices_from(v)
np.fromiter(range(2), int, 3)
np.frombuffer(b'123', np.int64)
np.r_['a', 1]
np.r_[1, '0', 2]
"""

FILLS = """
np.zeros(3)
np.zeros((2, 3), int)
np.zeros(())
np.zeros((0, 2))
np.zeros([2, 1], 'f4')
np.zeros(i.sum())
np.zeros((i[0, 2], 3))
np.zeros(np.array([2, 3]))
np.zeros(3, None)
np.zeros(3, bool)
np.zeros(3, complex)
np.zeros(2, 'U3')
np.zeros(2, object).tolist()
np.zeros(3, order=None)
np.zeros((2, 3), order='F').strides
np.zeros(2, '>i4')[0].item()
np.zeros(2, dtype='>f8').shape
np.zeros(3, device='cpu')
np.ones((2, 2))
np.ones((), np.int8)
np.ones(2, 'f2')
np.ones((2, 3), order='F').strides
np.empty((2, 3)).shape
np.empty(2, object).tolist()
np.empty((3, 2), 'i2', 'F').strides
np.full(3, 7)
np.full((), 3)
np.full((2, 2), 2.5, np.int32)
np.full(3, [1, 2, 3])
np.full((2, 3), v)
np.full((2, 3), v[None, None])
np.full((2, 3), v.sum())
np.full((2, 3), v.sum(), int)
np.full((2, 3), e, dtype='f4')
np.full(2, np.float32(3))
np.full(2, True)
np.full(2, 'ab')
np.full(2, None).tolist()
np.full(2, 1j, order='F')
np.full((2, 3), 1, order='F').strides
np.zeros_like(a)
np.zeros_like(a.T).strides
np.zeros_like(f, order='C').strides
np.zeros_like(a, int, shape=4)
np.zeros_like([1, 2])
np.zeros_like(3.0)
np.zeros_like(v[0])
np.zeros_like(u)
np.ones_like(f).strides
np.ones_like(i, shape=())
np.ones_like(b)
np.empty_like(i).dtype.name
np.empty_like(a, shape=(2,)).shape
np.full_like(a, 3)
np.full_like(i, 2.7)
np.full_like(f, 1).strides
np.full_like(a, v)
np.full_like(u, 5, shape=(2, 2))
np.identity(3)
np.identity(2, int)
np.eye(3)
np.eye(2, 3, 1)
np.eye(3, 2, -1, int)
np.eye(3, k=5)
np.eye(3, order='F').strides
np.eye(0)
np.eye(40)
np.eye(40, 50, 3, 'f4')
np.eye(50, 40, -4, bool)
x = np.zeros((2, 2)); x[0] = 1; x[:, 1] += 2; x
x = np.eye(3); x[0, 0] = 5; x
x = np.ones(3); y = x[1:]; y *= 3; x
np.zeros(True)
np.ones((True, 2))
np.empty_like(o, shape=(2, 2), order="F").flags.f_contiguous
np.diag(v.astype(">f8")).dtype.str
np.diagflat(v.astype(">f4")).dtype.str
"""

RANGES = """
np.arange(5)
np.arange(5.0)
np.arange(1, 5)
np.arange(1, 10, 3)
np.arange(10, 1, -3)
np.arange(5, 1)
np.arange(0)
np.arange(-3)
np.arange(0, 1, 0.1)
np.arange(1, 0, -0.1)
np.arange(0.3, 2, 0.7, dtype=np.float32)
np.arange(0, 5, 2, np.float32)
np.arange(5, dtype=np.uint8)
np.arange(5, step=2)
np.arange(stop=5)
np.arange(start=1, stop=3)
np.arange(3, None)
np.arange(np.float32(3))
np.arange(np.int8(3), np.uint8(5))
np.arange(i.sum())
np.arange(v[0] * 0, 3, e)
np.arange(0, 2, dtype=bool)
np.arange(0, 3, 1 + 0j)
np.arange(3, dtype='>i4')[2].item()
np.arange(np.datetime64('2020-01-01'), np.datetime64('2020-01-04'))
np.arange(3000)
np.arange(2, 9000, 3)
np.arange(9000, 2, -3)
np.arange(3000.0)
np.arange(0.3, 700, 0.1)
np.arange(700, 0.3, -0.1)
np.arange(0.0, -500.0, -0.25)
np.arange(3000, dtype=np.int16)
np.arange(40000, dtype=np.int16)[-1]
np.arange(0, 500, 0.1, dtype=np.float32)
np.arange(0, 2000, dtype=np.float16)
np.arange(0, 300, 0.25, dtype=np.float16)
np.arange(0, 3000, 1.5, dtype=int)
np.arange(2**62, 2**62 + 3000)
np.arange(1e6, 1e6 + 500, 0.3)
np.arange(5)[2]
np.linspace(0, 1)
np.linspace(0, 1, 5)
np.linspace(0, 10, 4, endpoint=False)
np.linspace(3, 3, 4)
np.linspace(0, 1, 1)
np.linspace(0, 1, 0)
np.linspace(0, 1, 1, retstep=True)[0]
np.linspace(0, 1, 5, retstep=True)
np.linspace(0, 10, 5, dtype=int)
np.linspace(0, 1, 5, dtype='f4')
np.linspace(np.float32(0), np.float32(1), 7)
np.linspace(0, 1j, 3)
np.linspace([0, 1], [2, 3], 3)
np.linspace([0, 1], [2, 3], 3, axis=1)
np.linspace([0, 1], 5, 3, axis=-1)
np.linspace(v, 1, 4)
np.linspace(v, v + 1, 4, axis=1)
np.linspace(v, a, 3, axis=2)
np.linspace(v, v + 1, 4, retstep=True)
np.linspace(v.sum(), 5, 4, retstep=True)
np.linspace(v.sum(), 5, 4, endpoint=False)
np.linspace(v.sum(), 5, 1)
np.linspace(v.sum(), 50, 6, dtype=int)
np.linspace(-v.sum(), 50, 6, dtype=np.int32)
np.linspace(h, 5, 3)
np.linspace(u, 5, 3)
np.linspace(c, 5, 3)
np.linspace(0, 1, 3000)
np.linspace(-1, 3, 3001, endpoint=False)
np.linspace(0, 7, 2500, retstep=True)
np.linspace(0, 7, 2500, dtype=int)
np.logspace(0, 2, 4)
np.logspace(0, 2, 4, base=2)
np.logspace(0, 2, 4, endpoint=False, dtype=int)
np.logspace(v, 2, 4, base=3.0)
np.logspace(v, 2, 4, axis=1)
np.logspace(v.sum(), 2, 4, base=2, dtype='f4')
np.logspace(1, 2, 3, base=[2, 3])
np.logspace(1, 2, 3, base=np.array([2.0, 3]), axis=-1)
np.logspace(0, 3, 2000)
np.geomspace(1, 1000, 4)
np.geomspace(-1, -1000, 4)
np.geomspace(1j, 1000j, 4)
np.geomspace(1, 256, 9, dtype=int)
np.geomspace(np.abs(v), 10, 4)
np.geomspace(np.abs(v), 10, 4, axis=1)
np.geomspace(np.abs(v), 10, 4, endpoint=False)
np.geomspace(-np.abs(v), -10.0, 3)
np.geomspace(e, 10, 1)
np.geomspace(1, 8, 2000)
"""

UNDERFLOW = """
np.linspace(0, 5e-324, 3000)[-2:]
np.linspace(v * 0, 5e-324, 5)
np.linspace(v * 0, 1e-300, 5)
"""

GRIDS = """
np.diag(v)
np.diag(v, 2)
np.diag(v, -1)
np.diag(u)
np.diag([1, 2])
np.diag(b)
np.diag([np.inf, np.nan])
np.diag(a)
np.diag(a, 1)
np.diag(a, -1)
np.diag(a, 7)
np.diag(a).flags.writeable
np.diag(np.zeros(0))
np.diag(o).tolist()
np.diagflat(a)
np.diagflat(3, 1)
np.diagflat([[1, 2]], -1)
np.tri(3)
np.tri(3, 4, 1, int)
np.tri(3, k=-1)
np.tri(3, k=1.5)
np.tri(0)
np.tri(40, 50, 3)
np.tri(50, 40, -3, bool)
np.tril(a)
np.tril(a, 1)
np.tril(a, -1)
np.triu(a)
np.triu(i, 1)
np.triu(u)
np.triu(b, -1)
np.triu([1, 2, 3])
np.tril(np.arange(24).reshape(2, 3, 4), -1)
np.tril(np.array([[np.nan, np.nan], [1, np.inf]]))
np.tril(np.arange(1600).reshape(40, 40))
np.tril(c)
np.tril(z)
np.vander(v)
np.vander(i[0], 4)
np.vander([1, 2], increasing=True)
np.vander(u, 3)
np.vander(c, 2)
np.vander([1, 2], 0)
np.vander([1, 2], 1)
np.meshgrid()
np.meshgrid([1, 2])
np.meshgrid(v, [1, 2])
np.meshgrid(v, [1, 2], indexing='ij')
np.meshgrid(v, i[0], [1, 2], sparse=True)
np.meshgrid(v, i[0], [1, 2])
np.meshgrid(a, 3)
np.meshgrid(v, [1, 2], copy=False)
x, y = np.meshgrid(v, v); x[0] = 1; (x, y, v)
x, y = np.meshgrid(v, v, sparse=True, copy=False); x[0, 0] = 1; v
np.indices((2, 3))
np.indices((2, 3), sparse=True)
np.indices((2, 0)).shape
np.indices((3,), float)
np.indices((40, 50))
np.indices((40, 50), np.float32)
np.indices((2000,))
np.indices((40, 50), sparse=True)
np.indices((i[0, 2], 3))
np.mgrid[0:3]
np.mgrid[0:3, 1:5:2]
np.mgrid[0:1:3j, 0:2]
np.mgrid[0:1:3j]
np.mgrid[:3, :2]
np.mgrid[0:40, 0:50]
np.mgrid[0:1:30j, 0:50.5]
np.mgrid[1:3,]
np.mgrid[0:2:1j, 0:2]
np.ogrid[0:3, 1:5:2]
np.ogrid[0:1:3j, 0:2]
np.ogrid[0:3]
[x.strides for x in np.ogrid[0:3, 1:5, 0:1:4j]]
np.ogrid[0:3, 0:i[0, 2]]
np.fromfunction(lambda p, q: p * 2 + q, (3, 2))
np.fromfunction(lambda p: p, (3,), dtype=int)
np.r_[1, 2, 3]
np.r_[1:3, 5.0, v]
np.r_[0:1:3j, 7]
np.r_[v, v]
np.r_['0,2', v, v]
np.r_['1,2,0', v, v]
np.r_['0,3,-1', v, v]
np.r_['-1', a, a]
np.r_[a, a]
np.r_[v.sum(), 1]
np.r_[np.float32([1]), 2]
np.r_[1:3, np.float32(2)]
np.r_[True, 2]
np.c_[v, v]
np.c_[a, [1, 2]]
np.c_[1:4, v]
np.c_[0:1:3j]
np.c_[1, 2]
np.ix_([0, 1], [2])
np.ix_(b, [1, 2])
np.ix_([], [1])
a[np.ix_([0, 1], [2, 0])]
np.s_[1:2, ...] == (slice(1, 2), Ellipsis)
np.index_exp[2]
np.tril_indices(3)
np.tril_indices(3, 1, 4)
np.triu_indices(3, k=1)
np.tril_indices_from(a)
np.triu_indices_from(f, 1)
np.diag_indices(3)
np.diag_indices(2, 3)
np.diag_indices_from(np.ones((3, 3)))
np.mask_indices(3, np.triu)
np.mask_indices(3, np.tril, -1)
x = np.zeros((3, 3)); x[np.diag_indices(3)] = 4; x
x = np.zeros((3, 3)); x[np.triu_indices(3, 1)] = [1, 2, 3]; x
np.fromiter(range(5), int)
np.fromiter((x * 2 for x in range(3)), float, 2)
np.fromiter((x for x in v), float)
np.frombuffer(b'12345678', np.int64)
np.frombuffer(b'12345678', np.uint8, 3, 2).flags.writeable
np.frombuffer(bytearray(16))
np.fromstring('1 2 3', sep=' ')
np.fromstring('1,2', int, sep=',')
"""


@pytest.mark.parametrize("program", rows(ARRAY))
def test_array(program: str) -> None:
    check(program, DATA)


@pytest.mark.parametrize("program", rows(FILLS))
def test_fills(program: str) -> None:
    check(program, DATA)


# equality to the last bit, where no other function's rounding takes part
@pytest.mark.parametrize("program", rows(RANGES))
def test_ranges(program: str) -> None:
    check(program, DATA, exact="logspace" not in program and "geomspace" not in program)


@pytest.mark.parametrize("program", rows(UNDERFLOW))
def test_steps_that_underflow(program: str) -> None:
    with lazynp.config(execution="reference"):  # compiled programs have no denormal numbers
        check(program, DATA, exact=True)


@pytest.mark.parametrize("program", rows(GRIDS))
def test_grids(program: str) -> None:
    check(program, DATA)


@pytest.mark.filterwarnings("ignore::numpy.exceptions.ComplexWarning")
@pytest.mark.parametrize("program", rows(ERRORS))
def test_errors(program: str) -> None:
    check(program, DATA)


MESSAGES = """
np.array([[1, 2], [3]])
np.array([a, a[0]])
np.array([[v.sum(), 1], [2]])
np.array(a, order='Z')
np.zeros((2, -1))
np.zeros(2.5)
np.zeros(3, order='K')
np.zeros(3, device='gpu')
np.full(3, [1, 2])
np.full(3, 300, np.uint8)
np.arange()
np.linspace(0, 1, -1)
np.geomspace(v * 0, 1)
np.diag(np.zeros((2, 2, 2)))
np.vander(a)
np.meshgrid([1, 2], [3], indexing='q')
"""


@pytest.mark.parametrize("program", rows(MESSAGES))
def test_message(program: str) -> None:
    check(program, DATA, message=True)


LAZY = """
np.zeros((100, 100))
np.ones(5)
np.full((3, 3), v.sum() * 2)
np.arange(5000)
np.arange(0.0, 500.0, 0.1)
np.linspace(v.sum() * 2, 4, 5)
np.linspace(0, 1, 5000)
np.eye(100)
np.tri(100)
np.diag(v * 2)
np.tril(a * 2)
np.array([[v.sum() * 2, 0], [1, 2]])
np.array([a * 2, a])
np.meshgrid(v * 2, v)[0]
np.r_[v * 2, 1]
np.vander(v * 2)
np.array(a * 2, dtype='f4')
"""


@pytest.mark.parametrize("program", rows(LAZY))
def test_computes_nothing(program: str) -> None:
    """Traced, so that there are no values to compute with."""

    def traced(a: Any, v: Any) -> Any:
        return eval(program, {"np": lazynp, "a": a, "v": v})

    assert make_jaxpr(traced)(DATA["a"], DATA["v"]).eqns


def test_host_memory_is_copied_unless_asked_for() -> None:
    memory = np.arange(4.0)
    copied, shared = lazynp.asarray(memory), lazynp.asarray(memory, copy=False)
    memory[0] = 9
    assert copied[0] == 0 and shared[0] == 9
    shared[1] = 7  # must not reach memory that someone else owns
    assert memory[1] == 1 and shared[1] == 7


def test_copies_share_until_written() -> None:
    x = lazynp.arange(5000.0)
    y = lazynp.copy(x)
    assert is_eager() or y._read() is x._read()  # in eager loops, NumPy copies
    y[0] = 1
    assert x[0] == 0


@pytest.mark.filterwarnings("ignore:the matrix subclass")
@pytest.mark.parametrize("name", ["array", "asarray"])
def test_classes_with_another_meaning_are_stripped(name: str) -> None:
    convert = getattr(lazynp, name)
    matrix = convert(np.matrix([[1, 2]]))
    masked = convert(np.ma.array([1, 2], mask=[True, False]))
    assert type(matrix) is lazynp.ndarray and (matrix * matrix).tolist() == [[1, 4]]
    assert type(masked) is lazynp.ndarray and masked.tolist() == [1, 2]


@pytest.mark.filterwarnings("ignore:the matrix subclass")
def test_classes_with_another_meaning_are_kept_where_asked_for() -> None:
    for x in (np.matrix([[1, 2]]), np.ma.array([1, 2], mask=[True, False])):
        assert lazynp.asanyarray(x) is x
        copied = lazynp.array(x, subok=True)
        assert type(copied) is type(x) and copied is not x
    for directive in "rc":
        a, b = lazynp.arange(2), [3, 4.0]
        assert type(lazynp.r_[directive, a, b]) is np.matrix
        assert lazynp.r_[directive, a, b].tolist() == np.r_[directive, [0, 1], b].tolist()
    x, y = lazynp.eye(2), lazynp.asmatrix(lazynp.eye(2))
    y[0, 0] = 5  # a copy: the eye stays
    assert type(y) is np.matrix and y.tolist() == [[5, 0], [0, 1]] and x[0, 0] == 1
    assert lazynp.bmat([[x, y]]).tolist() == np.bmat([[np.eye(2), y]]).tolist()
    assert lazynp.bmat("x, y; y, x").shape == (4, 4) and lazynp.bmat(x).tolist() == x.tolist()


def test_complex_warning() -> None:
    with pytest.warns(np.exceptions.ComplexWarning):
        lazynp.array(lazynp.array([1j]), dtype=float)


number = st.one_of(st.integers(-30, 30), st.sampled_from([0.1, -0.3, 2.5, 7.0, 1e-3]))


@given(number, number, number, st.sampled_from([None, "f4", "i4", "f8"]))
def test_any_arange(start: Any, stop: Any, step: Any, dtype: Any) -> None:
    check("np.arange(*args)", {"args": (start, stop, step, dtype)}, exact=True)


@given(number, number, st.sampled_from([1025, 2000, 3001]), st.booleans())
def test_any_long_linspace(start: Any, stop: Any, num: int, endpoint: bool) -> None:
    check("np.linspace(*args)", {"args": (start, stop, num, endpoint)}, exact=True)


shapes = st.sampled_from([(), (1,), (3,), (2, 3), (0, 2)])


@given(st.lists(st.booleans(), min_size=1, max_size=3), shapes, st.integers(1, 3))
def test_any_nested_list(lazies: list[bool], shape: tuple[int, ...], depth: int) -> None:
    """Lists of lazy arrays and host arrays, of any depth, as NumPy stacks them."""
    x = np.arange(np.prod(shape, dtype=int)).reshape(shape) / 3
    tree = "[" + ", ".join("x * 2" if lazy else str(x.tolist()) for lazy in lazies) + "]"
    tree = "[" * (depth - 1) + tree + "]" * (depth - 1)
    check(f"np.array({tree})", {"x": x})


@pytest.mark.filterwarnings("ignore")  # of complex numbers
@pytest.mark.parametrize("dtype", ["f8", "f4", "i2", "u8", "?", "c16"])
@pytest.mark.parametrize("more", [[], [1], [2.5], [2**70], [True], [1j], ["a"], [None]])
@pytest.mark.parametrize("wanted", [None, "f4", "i8", "O", "U4", "?"])
def test_long_lists_of_scalars(dtype: str, more: list[Any], wanted: Any) -> None:
    found: list[Any] = []
    for module in (np, lazynp):
        elements = [*module.ones(300, dtype), *more]
        try:
            made = module.array(elements, wanted)
            found.append((made.dtype, made.shape, repr(np.asarray(made)[-2:].tolist())))
        except Exception as error:
            found.append(type(error))
    assert found[0] == found[1]


@pytest.mark.parametrize(
    "program",
    [
        "np.array([x, None], dtype=object)", "np.array([x, np.arange(3)], dtype=object)",
        "np.asarray((x, 'a'), object)", "np.array([[x], [None]], dtype=object)[:, 0]",
        "np.require([x, None], object)", "np.array(object=[x, 1], dtype='O')",
    ],
)  # fmt: skip
@pytest.mark.parametrize("eager", [False, True])
def test_arrays_in_arrays_of_objects_are_themselves(program: str, eager: bool) -> None:
    """Not NumPy's arrays in their memory: a store would have reached the value of another array."""
    be_eager(eager)
    x = lazynp.ones(2)
    for _ in range(2):  # the second time, C may answer
        made = eval(program, {"np": lazynp, "x": x})
        assert made[0] is x
    made[0][0] = 5.0
    assert x.tolist() == [5.0, 1.0]


@pytest.mark.parametrize("count", [3, 700])
@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
def test_numbers_in_bytes(kind: Any, count: int) -> None:
    """Of memory that can be written, the array shows it; of bytes, it is a copy, read-only."""
    for dtype in (None, "<i4", ">i4", "u1", "M8[s]", "S4", "i4,f4"):
        memory = [kind(bytes(range(8 * 3)) * (count // 3)) for _ in range(2)]
        wanted, found = np.frombuffer(memory[0], dtype), lazynp.frombuffer(memory[1], dtype)
        assert (found.dtype, found.shape) == (wanted.dtype, wanted.shape)
        assert found.tolist() == wanted.tolist()
        assert found.flags.writeable is wanted.flags.writeable
        copied = found.copy()
        copied[0] = copied[1]
        assert found.tolist() == wanted.tolist()
        if not found.flags.writeable:
            with pytest.raises(ValueError, match="read-only"):
                found[0] = found[1]
