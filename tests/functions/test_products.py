"""Products against NumPy: values, dtypes, kinds of results, exceptions."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

import lazynp
from tests.functions.rows import check

rng = np.random.default_rng(1)


def ints(*shape: int) -> Any:
    return rng.integers(-9, 10, shape)


DATA: dict[str, Any] = {
    "v": rng.normal(size=3),
    "w": rng.normal(size=4),
    "a": rng.normal(size=(2, 3)),
    "b": rng.normal(size=(3, 4)),
    "s": rng.normal(size=(3, 3)),
    "t": rng.normal(size=(5, 2, 3)),
    "u": rng.normal(size=(5, 3, 2)),
    "q": rng.normal(size=(4, 1, 3, 2)),
    "i": ints(2, 3),
    "j": ints(3, 4).astype(np.int8),
    "k": rng.integers(0, 200, (3, 2)).astype(np.uint8),
    "p": ints(2, 3) > 0,
    "o": ints(3, 2) > 0,
    "f": rng.normal(size=(3, 2)).astype(np.float32),
    "h": rng.normal(size=(2, 3)).astype(np.float16),
    "c": rng.normal(size=(2, 3)) + 1j * rng.normal(size=(2, 3)),
    "d": (rng.normal(size=(3, 2)) + 1j * rng.normal(size=(3, 2))).astype(np.complex64),
    "z": np.empty((0, 3)),
    "y": np.empty((3, 0)),
    "e": np.array(2.5),
}

DOT = """
np.dot(v, v)
np.dot(a, b)
np.dot(a, v)
np.dot(v, b)
np.dot(t, b)
np.dot(t, u)
np.dot(v, u)
np.dot(2, 3)
np.dot(e, a)
np.dot(a, 2)
np.dot(f, 2.0)
np.dot(j.T, k)
np.dot(i, j)
np.dot(p, o)
np.dot(c, d)
np.dot(h, h.T)
np.dot(z, b)
np.dot(y, z)
np.dot(z.T, z)
np.dot(a, a)
np.dot(a, w)
np.dot([1, 2], [3.0, 4])
np.dot(a, b, np.empty((2, 4)))
np.dot(a, b, out=np.empty((2, 4), 'f4'))
np.dot(a, b, out=np.empty((4, 2)).T)
out = np.zeros((2, 4)); r = np.dot(a, b, out=out); (r is out, out)
a.dot(b)
a.T.dot(a)
np.vdot(c, d.T)
np.vdot(c, d)
np.vdot(a, b)
np.vdot(i, [1, 2, 3, 4, 5, 6])
np.vdot(3, 4)
np.inner(a, a)
np.inner(t, a)
np.inner(v, v)
np.inner(v, 2)
np.inner(a, w)
np.inner(p, p)
np.inner(c, c)
np.outer(v, w)
np.outer(a, b)
np.outer(2, [1, 2])
np.outer(c, i)
np.outer(v, w, np.empty((3, 4)))
np.outer(z, v)
np.kron(a, b)
np.kron(v, a)
np.kron(a, v)
np.kron(t, a)
np.kron(2, 3)
np.kron(e, a)
np.kron(i, j)
np.kron(z, a)
np.kron(p, o)
"""

TENSORDOT = """
np.tensordot(a, b, 1)
np.tensordot(t, u, axes=([0, 1], [0, 2]))
np.tensordot(t, u, axes=([-1, 1], [1, 2]))
np.tensordot(t, u, axes=(2, 1))
np.tensordot(a, a)
np.tensordot(v, v, 0)
np.tensordot(v, v, 1)
np.tensordot(i, j, 1)
np.tensordot(p, o, 1)
np.tensordot(a, a, 1)
np.tensordot(a, b, axes=([0, 0], [0, 1]))
np.tensordot(a, b, axes=([0], [0, 1]))
np.tensordot(a, b, axes=(5, 0))
np.tensordot(z, b, 1)
np.tensordot(z, z, axes=(0, 0))
"""

GUFUNCS = """
np.matmul(a, b)
a @ b
v @ v
a @ v
v @ b
t @ b
t @ u
a @ u
q @ a
q @ t
v @ u
t @ v
i @ j
i @ k
j.T @ k
p @ o
c @ d
h @ h.T
h @ f
z @ b
y @ z
z.T @ z
a @ a
a @ 2
2 @ a
t @ q
[[1, 2, 3]] @ b
a @ [[1], [2], [3]]
np.matmul(a, b, np.empty((2, 4)))
np.matmul(a, b, out=np.empty((3, 4)))
np.matmul(a, b, out=np.zeros((5, 2, 4)))
np.matmul(a, b, out=np.zeros((2, 4), 'f4'))
np.matmul(a, b, out=np.zeros((2, 4), 'i4'))
np.matmul(a, b, dtype='f4')
np.matmul(a, b, dtype='i4')
np.matmul(a, b, dtype='i4', casting='unsafe')
np.matmul(i, j, dtype='f8')
np.matmul(t, u, axes=[(0, 1), (0, 1), (-2, -1)])
np.matmul(t, t, axes=[(1, 2), (2, 1), (0, 1)])
np.matmul(t, u, axes=[(1, 2), (1, 2), (0, 2)])
np.matmul(t, u, axes=[(1, 2), (1, 2)])
np.matmul(t, u, axes=[(1, 7), (1, 2), (0, 1)])
np.matmul(a, b, axis=0)
np.matmul(a, b, keepdims=True)
np.vecdot(a, a)
np.vecdot(c, c)
np.vecdot(t, a)
np.vecdot(t, a, axis=-1)
np.vecdot(t, t, axis=0)
np.vecdot(t, t, axis=1, keepdims=True)
np.vecdot(v, v)
np.vecdot(a, w)
np.vecdot(i, i, dtype='f4')
np.vecdot(p, p)
np.vecdot(t, u, axes=[2, 1])
np.vecdot(t, t, axes=[1, 1, ()])
np.matvec(a, v)
np.matvec(t, v)
np.matvec(t, a.T[:, :2].T)
np.matvec(a, w)
np.matvec(c, c[0])
np.vecmat(v, b)
np.vecmat(c[0], d)
np.vecmat(v, u)
np.vecmat(w, b)
np.vecmat(a, u[:2])
A = np.eye(3); A @= s; A
A = np.eye(3); A @= b; A
A = np.eye(3); A @= s[:, :1]; A
v = np.ones(3); v @= s[:, :1]; v
A = np.eye(3); A @= np.ones((2, 3, 3)); A
"""

EINSUM = """
np.einsum('ij,jk', a, b)
np.einsum('ij,jk->ki', a, b)
np.einsum('ij->ji', a)
np.einsum('ij', a)
np.einsum('ji', a)
np.einsum('ij->', a)
np.einsum('ij->j', a)
np.einsum('ii', s)
np.einsum('ii->i', s)
D = np.einsum('ii->i', s); D[:] = 7; D *= 2; (s, D)
np.einsum('iij->j', np.arange(12).reshape(2, 2, 3))
np.einsum('iii->i', np.arange(8).reshape(2, 2, 2))
np.einsum('ij,ij->ij', a, a)
np.einsum('ij,ij', a, i)
np.einsum('i,j', v, w)
np.einsum('i,j->ji', v, w)
np.einsum('...ij,...jk->...ik', t, u)
np.einsum('...ij,jk', t, b)
np.einsum('i...->...', t)
np.einsum('...', t)
np.einsum('b...,b...->...', t, t)
np.einsum('bij,bji->b', t, u)
np.einsum('bij,bkj->bik', t, t)
np.einsum('ij,jk,kl', a, b, b.T)
np.einsum('ij,jk,kl->il', a, b, b.T, optimize=True)
np.einsum('ij,jk,kl->li', a, b, b.T, optimize='optimal')
np.einsum('a,b,c->abc', v, w, v)
np.einsum('ab,a,b', b, v, w)
np.einsum(a, [0, 1], b, [1, 2])
np.einsum(a, [0, 1], b, [1, 2], [2, 0])
np.einsum(t, [Ellipsis, 0], [Ellipsis])
np.einsum(t, [..., 0, 1], u, [..., 1, 2], [..., 0, 2])
np.einsum('i,i', v, np.ones(1))
np.einsum('ij,ij->i', a, np.ones((2, 1)))
np.einsum('i,i', v, np.ones(4))
np.einsum('ij,jk', p, o)
np.einsum('ij->', p)
np.einsum('ij,jk', i, j)
np.einsum('ij,ij->', c, c)
np.einsum('ij,jk', c, f)
np.einsum('->', 3.0)
np.einsum(',ij', 3, a)
np.einsum('ij,jk', z, b)
np.einsum('ji,jk', z, z)
np.einsum('ij,jk', i, j, dtype='f8')
np.einsum('ij->j', i, dtype='f8')
np.einsum('ij->', i, dtype='f8')
np.einsum('ij->', i, dtype='i1')
np.einsum('ij->j', i, dtype='i1', casting='unsafe')
np.einsum('ij->ji', i, dtype='i1')
np.einsum('ii->i', np.arange(9).reshape(3, 3), dtype='f8')
np.einsum('ij->ij', i, dtype='f8', out=np.zeros((2, 3)))
np.einsum('ij,jk', a, b, dtype='f4')
np.einsum('ij,jk', a, b, dtype='f4', casting='same_kind')
np.einsum('ij,jk->ik', a, b, out=np.zeros((2, 4)))
np.einsum('ij,jk->ik', a, b, out=np.zeros((4, 2)))
np.einsum('ij,jk->ik', a, b, out=np.zeros((2, 4), 'f4'))
np.einsum('ij,jk->ik', i, j, out=np.zeros((2, 4)))
np.einsum(' i j , j k -> i k ', a, b)
np.einsum('ij,jk', a)
np.einsum('ij', v)
np.einsum('i->ii', v)
np.einsum('i->j', v)
np.einsum('ii', a)
np.einsum('i.i', a)
np.einsum('ij', a, foo=3)
np.einsum('', 0, casting='blah')
np.einsum('', 0, dtype='bad')
np.einsum('ij->ji', i, casting=None)
np.einsum()
np.einsum('ij')
np.einsum('ij,jk', a, b, a)
np.einsum_path('ij,jk,kl->il', a, b, b.T)
np.einsum_path('ij,jk', a, b, optimize='optimal')
"""

CROSS = """
np.cross(v, v)
np.cross(v, [1, 2, 3])
np.cross(s, v)
np.cross(v, s)
np.cross(t, a)
np.cross(s, s, axisa=0)
np.cross(s, s, axisa=0, axisb=0, axisc=0)
np.cross(u, t, axisa=1)
np.cross(s, s.T, axis=0)
np.cross(u, u, axis=1)
np.cross(c, i)
np.cross(p, p)
np.cross(v, w)
np.cross(1, v)
np.cross(s, s, axisa=4)
np.cross(s, s, axisc=4)
np.cross(a, b)
np.cross([1, 2], [3, 4])
"""


def rows(table: str) -> list[str]:
    return [line for line in table.splitlines() if line]


@pytest.mark.parametrize("program", rows(DOT + TENSORDOT + GUFUNCS + EINSUM + CROSS))
def test_row(program: str) -> None:
    check(program, DATA)


@pytest.mark.filterwarnings("ignore:Arrays of 2-dimensional")
@pytest.mark.parametrize(
    "program",
    [
        "np.cross([1, 2], [3, 4])",
        "np.cross([1, 2], [3, 4, 5])",
        "np.cross([1, 2, 3], [[3, 4], [1, 2.5]])",
        "np.cross(f, i.T)",
        "np.cross(f, b, axisb=0)",
        "np.cross(u, s, axisc=0)",
    ],
)
def test_cross_of_vectors_in_the_plane(program: str) -> None:
    check(program, DATA)


MESSAGES = """
np.dot(a, a)
np.inner(a, w)
np.matmul(a, a)
np.matmul(a, 2)
np.matmul(a, b, axis=0)
np.matmul(t, u[:2])
np.vecdot(a, w)
np.vdot(a, b)
np.tensordot(a, a, 1)
np.einsum('i->j', v)
np.einsum('i,i', v, w)
"""


@pytest.mark.parametrize("program", rows(MESSAGES))
def test_message(program: str) -> None:
    check(program, DATA, message=True)


SIZES = {"i": 2, "j": 3, "k": 1, "l": 4}
term = st.text("ijkl", min_size=0, max_size=3)


@given(st.lists(term, min_size=1, max_size=3), st.data())
def test_any_einsum(terms: list[str], data: Any) -> None:
    """Integers, so that the sums are exact in any order."""
    letters = sorted(set("".join(terms)))
    out = "".join(data.draw(st.permutations(letters)))[: data.draw(st.integers(0, len(letters)))]
    explicit = data.draw(st.booleans())
    arrays = {f"x{n}": ints(*(SIZES[c] for c in t)) for n, t in enumerate(terms)}
    subscripts = ",".join(terms) + ("->" + out if explicit else "")
    check(f"np.einsum('{subscripts}', {', '.join(arrays)})", arrays)


shapes = st.sampled_from([(3,), (2, 3), (3, 3), (3, 2), (1, 3, 2), (4, 3, 3), (2, 1, 3, 3), (0, 3)])


@given(st.sampled_from(["matmul", "dot", "inner", "vecdot", "matvec", "vecmat"]), shapes, shapes)
def test_any_product(name: str, left: tuple[int, ...], right: tuple[int, ...]) -> None:
    check(f"np.{name}(x, y)", {"x": ints(*left), "y": ints(*right)})


VIEWS = """
ii->i | ij->ji | i | ji | iij->ij | iij->ji | iijk->kij | iii->i | ijk->ikj | i -> i | ba | ij->ij
iijj->ij | ijij->ij | Ij | i->ii | ij->iij | ii->ii | ij->i | ii
...ij->...ji | ij->ik | i1->i | é->é
"""


@pytest.mark.parametrize("form", VIEWS.strip().replace("\n", " | ").split(" | "))
@pytest.mark.parametrize(
    "shape", [(3,), (3, 3), (2, 3), (3, 1), (3, 3, 2), (2, 2, 2), (2, 2, 3, 3)]
)
@pytest.mark.parametrize("dtype", ["f8", "i4", "U2"])
def test_einsum_that_shows_its_operand(form: str, shape: Any, dtype: str) -> None:
    def tried(module: Any) -> Any:
        x = module.arange(math.prod(shape)).reshape(shape).astype(dtype)[::-1]
        try:
            y = module.einsum(form, x)
            result: Any = y.shape, y.strides, y.tolist(), y is x
            if y.base is not None:
                y[..., 0] = 7
        except (ValueError, TypeError, IndexError) as error:
            return type(error), str(error)
        return result, x.tolist()

    assert tried(lazynp) == tried(np)
