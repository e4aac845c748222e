"""Which class results have where a derived class has a priority, or takes functions over: a table
against NumPy. Those it takes over include those that NumPy's own code calls.
"""

from __future__ import annotations

from typing import Any

import numpy
import pytest

import lazynp

PROGRAMS = """
np.concatenate([q, p])
np.concatenate([p, q])
np.concatenate([p, q, r])
np.concatenate([q, p], axis=None)
np.concatenate([q, q], out=np.zeros(6))
np.concatenate((q, [1.]))
np.concatenate(m)
np.stack([p, q])
np.stack(m)
np.hstack([p, q])
np.hstack([1., q])
np.vstack((q, p))
np.dstack([q, p])
np.column_stack([p, q])
np.block([[p], [q]])
np.block([p, q])
np.block(q)
np.block([np.zeros(600_000), np.zeros(3).view(Q)]).shape
np.block([np.zeros(600_000).view(Q)])[:2]
np.append(q, p)
np.append(p, q)
np.append(m, m, axis=0)
np.resize(q, 5)
np.union1d(p, q)
np.setxor1d(q, p[:2])
np.intersect1d(q, p)
np.r_[p, q]
np.c_[q, p]
np.r_[q, 1, 2]
np.dot(e, q)
np.dot(m, r)
np.dot(r, m)
m.dot(r)
r.dot(m)
e.dot(q)
e.dot(m)
p.dot(m)
np.inner(e, q)
np.inner(m, r)
np.correlate(p, q)
np.correlate(p, q[:2], "full")
np.convolve(p, q)
np.linalg.multi_dot([e, q])
np.linalg.multi_dot([e, e, q])
np.linalg.multi_dot([m, e, r])
np.average(p, weights=q)
np.linalg.vecdot(m, q)
np.linalg.vecdot(m, p)
np.broadcast_arrays(q, p, subok=True)
np.broadcast_arrays(q, p)
np.copy(q)
np.copy(q, subok=True)
np.sort(m, axis=None)
np.sort(m, None)
np.sort(m, 0)
np.partition(m, 3, axis=None)
np.partition(m, 1)
np.unique(q, True, True, True)
np.unique(q, return_counts=True)
np.unique(q, return_index=True)
q.flat[:2]
m.flat.copy()
np.vectorize(lambda a: a + 1)(q)
np.interp(q, [0., 5.], [1., 2.])
np.einsum("ii->i", m)
np.nanmedian(m, axis=0)
np.nanmedian(q)
np.where([True, False, True], q, q)
np.where(q > 1, p, p)
m.dot(m)
m.dot(m, out=np.zeros((3, 3)))
np.select([q > 1], [q])
np.insert(p, 1, q)
np.insert(q, 1, p)
np.linalg.matmul(m, m)
np.linalg.outer(q, q)
np.linalg.cross(q, q)
np.linalg.tensordot(m, m)
np.linalg.trace(m)
np.linalg.diagonal(m)
np.linalg.svdvals(m)
np.linalg.matrix_norm(m)
np.linalg.vector_norm(q)
np.linalg.matrix_power(m, 3)
np.linalg.matrix_power(m, -1)
np.linalg.inv(m)
np.linalg.solve(m, q)
np.kron(q, q)
np.polyadd(q, p)
np.polyval([1., 2.], q)
np.isclose(q, p)
bool(np.allclose(q, p))
bool(np.array_equal(q, p))
np.trapezoid(q, p)
np.corrcoef(m)
np.cov(m)
np.hsplit(m, 3)
np.array_split(q, 2)
np.rot90(m)
np.logspace(q, 3, 2)
np.nanstd(m)
np.nanvar(q)
np.unique_counts(q)
np.isreal(q)
np.iscomplexobj(q)
np.meshgrid(q, p)[0]
np.apply_along_axis(np.sum, 0, m)
np.histogram(q, 2)
np.array2string(q)
np.array_str(q)
np.savetxt(os.devnull, q)
""".strip().split("\n")

KINDS = ["plain", "priority", "functions", "ufuncs", "both"]
# NumPy's code calls these within the same function; ours is one step
INNER = {
    "matrix_transpose",
    "broadcast_arrays",
    "array2string",
    "concatenate",
    "ndim",
    "expand_dims",
}


def derived(m: Any, kind: str, asked: list[str]) -> Any:
    def finalize(self: Any, source: Any) -> None:
        self.told = "none" if source is None else getattr(source, "told", "plain")

    def function(self: Any, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        asked.append(func.__name__)
        return super(made, self).__array_function__(func, types, args, kwargs)

    def ufunc(self: Any, func: Any, method: str, *inputs: Any, **options: Any) -> Any:
        if "out" in options:
            options["out"] = tuple([o.view(m.ndarray) for o in options["out"]])
        bare = [x.view(m.ndarray) if isinstance(x, made) else x for x in inputs]
        done = getattr(func, method)(*bare, **options)
        return done.view(made) if isinstance(done, m.ndarray) else done

    members: dict[str, Any] = {"__array_finalize__": finalize}
    if kind != "plain":
        members["__array_priority__"] = 2.0
    if kind in ("functions", "both"):
        members["__array_function__"] = function
    if kind in ("ufuncs", "both"):
        members["__array_ufunc__"] = ufunc
    made: Any = type("Q", (m.ndarray,), members)
    return made


def shown(x: Any) -> Any:
    if isinstance(x, (tuple, list)):
        return [shown(y) for y in x]
    if isinstance(x, (str, type(None), bool, int)):
        return x
    number = isinstance(x, numpy.generic) or type(x).__name__ == "Scalar"
    kind = "number" if number else type(x).__name__
    return kind, getattr(x, "told", None), numpy.round(numpy.asarray(x, float), 9).tolist()


def outcome(m: Any, program: str, kind: str) -> Any:
    asked: list[str] = []
    kind_of: Any = derived(m, kind, asked)
    stronger: Any = type("R", (kind_of,), {} if kind == "plain" else {"__array_priority__": 5.0})
    square = m.array([[4.0, 1, 0], [1, 5, 2], [0, 2, 6]])
    names = {
        "np": m, "Q": kind_of, "os": __import__("os"), "p": m.array([3.0, 1, 2]), "e": m.eye(3),
        "q": m.array([3.0, 1, 2]).view(kind_of), "m": square.view(kind_of),
        "r": m.array([3.0, 1, 2]).view(stronger),
    }  # fmt: skip
    asked.clear()
    try:
        result = eval(program, names)
        if m is lazynp:
            assert type(result) is not numpy.ndarray
        return shown(result), asked
    except Exception as error:
        return type(error).__name__, asked


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("program", PROGRAMS)
def test_classes_with_priority_and_functions_of_their_own(program: str, kind: str) -> None:
    (ours, asked), (theirs, want) = outcome(lazynp, program, kind), outcome(numpy, program, kind)
    assert ours == theirs
    assert [f for f in asked if f not in INNER] == [f for f in want if f not in INNER]
