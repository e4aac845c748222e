"""Plans: slots, their jaxprs, donation."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy
import pytest

import lazynp as np
from lazynp import _graph, _plan
from lazynp._avals import aval_of
from lazynp._interpreter import eval_reference
from lazynp._jaxpr import Eqn, Jaxpr, JaxprTypeError, Literal, Var, check
from lazynp._node import ARGS, VALUE
from lazynp._recorder import local
from lazynp.lowering import _runtime
from lazynp.primitives import elementwise, shaping
from tests import test_flush
from tests.helpers import POLICIES, Counted, fresh_start

F8 = numpy.dtype("f8")


@pytest.fixture(autouse=True)
def _fresh() -> Any:
    fresh_start()
    with np.config(execution="compiled", debug=True):
        yield


# -- slots -----------------------------------------------------------------------------------------


def test_a_scalar_is_a_constant_until_it_varies() -> None:
    x = np.array(numpy.linspace(0.0, 1.0, 7))

    def program(s: float) -> Any:
        return (x * s - 1.0).tolist()

    counts = []
    for s in (2.0, 2.0, 3.0, 4.0, 5.0, 2.0):
        with Counted() as counted:
            assert program(s) == (numpy.linspace(0.0, 1.0, 7) * s - 1.0).tolist()
        counts.append(counted.compiles)
    assert counts == [1, 0, 1, 0, 0, 0]
    assert np.explain(x * 2.0).slots == ""


def test_scalars_of_several_kinds_are_promoted_together() -> None:
    """One more program for all the scalars of a form; start indices are apart."""
    f, i, c = (np.array(numpy.ones(9, t)) for t in ("f4", "i8", "c16"))

    def program(a: float, b: int, z: complex, start: int) -> Any:
        return ((f * a)[start : start + 3] + 0.5, i * b, c * z + (i > b))

    counts = []
    for args in ((2.0, 3, 1j, 0), (2.5, 3, 1j, 0), (3.5, 4, 2j, 0), (4.5, 5, 3j, 0),
                 (4.5, 5, 3j, 2), (4.5, 5, 3j, 3)):  # fmt: skip
        with Counted() as counted:
            got = np.materialize(program(*args))
        counts.append(counted.compiles)
        a, b, z, start = args
        numpy.testing.assert_array_equal(got[0], numpy.full(3, a, "f4") + numpy.float32(0.5))
        numpy.testing.assert_array_equal(got[1], numpy.full(9, b))
        numpy.testing.assert_array_equal(got[2], numpy.full(9, z) + (1 > b))
    assert counts == [1, 1, 0, 0, 1, 0]


def test_moving_starts_need_one_program_more() -> None:
    a = np.array(numpy.arange(20.0))
    counts = []
    for k in (0, 1, 5, 17):
        with Counted() as counted:
            assert (a[k : k + 3] * 2.0).tolist() == [2.0 * k, 2.0 * k + 2, 2.0 * k + 4]
        counts.append(counted.compiles)
    assert counts == [1, 1, 0, 0]


VARYING: dict[str, list[Any]] = {
    "signed zeros": [0.0, -0.0, 0.0, 1.0, -0.0],
    "nan": [math.nan, 1.0, math.nan],
    "infinities": [math.inf, -math.inf],
    "complex zeros": [complex(1, 0.0), complex(1, -0.0), complex(-0.0, 1)],
    "complex nan": [complex(math.nan, 1), complex(math.nan, 2), complex(1, math.nan)],
    "bools": [True, False, True],
    "ints": [0, 1, -1, 2**62, -(2**63)],
    "float32 zeros": [numpy.float32(0.0), numpy.float32(-0.0)],
    "float32": [numpy.float32(0.1), numpy.float32(0.2)],
    "float16": [numpy.float16(0.1), numpy.float16(65504)],
    "complex64": [numpy.complex64(1 - 0j), numpy.complex64(1 + 0j), numpy.complex64(2j)],
    "uint64": [numpy.uint64(2**64 - 1), numpy.uint64(2**63), numpy.uint64(1)],
    "int8": [numpy.int8(-128), numpy.int8(127)],
    "numpy bools": [numpy.bool_(True), numpy.bool_(False)],
}
OPERANDS = {
    "f8": [-0.0, 1.0, -2.5], "f4": [-0.0, 1.0, -2.5], "c16": [0.0, 1j, 2 - 3j],
    "i8": [0, 1, -5], "u1": [0, 1, 255],
}  # fmt: skip


def raised(function: Callable[[], Any]) -> Any:
    try:
        with numpy.errstate(all="ignore"):
            return function()
    except (OverflowError, TypeError) as e:
        return type(e)


@pytest.mark.parametrize("dtype", OPERANDS)
@pytest.mark.parametrize("name", VARYING)
def test_slots_of_every_kind_have_numpys_values(name: str, dtype: str) -> None:
    host = numpy.array(OPERANDS[dtype], dtype)
    x = np.array(host)
    for operate in (lambda a, s: a + s, lambda a, s: s * a):
        for value in VARYING[name]:
            lazy = np.asarray(value)[()] if isinstance(value, numpy.generic) else value
            want = raised(lambda op=operate, v=value: op(host, v))
            got = raised(lambda op=operate, v=lazy: numpy.asarray(op(x, v)))
            if isinstance(want, type):
                assert got is want
                continue
            assert got.dtype == want.dtype
            if want.dtype.kind == "c" and not numpy.isfinite(want).all():
                continue  # which products with infinities are nan depends on NumPy's loop
            for part in ("real", "imag"):
                g, w = getattr(got, part), getattr(want, part)
                numpy.testing.assert_array_equal(g, w)
                if want.dtype.kind == "f":
                    known = ~numpy.isnan(w)
                    numpy.testing.assert_array_equal(
                        numpy.signbit(g[known]), numpy.signbit(w[known])
                    )


def test_python_ints_beyond_int64_meet_uint64() -> None:
    x = np.array(numpy.array([1, 2], "u8"))
    for big in (2**63, 2**64 - 2, 2**63 + 5):
        assert (x + big).tolist() == (numpy.array([1, 2], "u8") + big).tolist()
        y = np.zeros(2, "u8") + x
        y[:1] = big
        assert y.tolist() == [big, 2]


def test_ints_out_of_bounds_raise_when_recorded() -> None:
    x = np.array(numpy.array([1, 2], "u1"))
    for operate in (lambda: x + 256, lambda: -1 * x, lambda: x & 2**70):
        with (
            pytest.raises(OverflowError, match="out of bounds for uint8|C long"),
            Counted() as counted,
        ):
            operate()
        assert counted.cuts == 0
    assert (x < 300).tolist() == [True, True]
    assert (x == -1).tolist() == [False, False]


def test_weak_scalars_keep_the_dtype() -> None:
    for dtype in ("f4", "f2", "c8", "i1", "u2"):
        x = np.ones(3, dtype)
        assert (x * 2).dtype == x.dtype
        if x.dtype.kind in "fc":
            assert (x + 1.5).dtype == x.dtype
    assert (np.ones(3, "f4") * numpy.float64(2)).dtype == "f8"
    assert (np.ones(3, "i4") * 1.5).dtype == "f8"
    assert (np.ones(3, "?") + True).dtype == "?"
    assert (np.ones(3, "f4") + 1j).dtype == "c8"


def test_exponents_axes_and_sizes_are_no_slots() -> None:
    x = np.array(numpy.arange(12.0).reshape(3, 4))
    for axis in (0, 1):
        assert x.sum(axis=axis).tolist() == numpy.arange(12.0).reshape(3, 4).sum(axis).tolist()
    for n in (1, 2, 3):
        assert x[:n].shape == (n, 4)
        assert (x[:n] * 2.0).tolist() == (numpy.arange(12.0).reshape(3, 4)[:n] * 2.0).tolist()


# -- jaxprs ----------------------------------------------------------------------------------------

JAXPRS: dict[str, tuple[Callable[..., Any], tuple[Any, ...], str]] = {
    "nothing": (lambda a: a, (numpy.ones(3),), "{ lambda a:f64[3] . let in ( a ) }"),
    "one": (
        lambda a: a + 1,
        (numpy.ones((), "f4"),),
        "{ lambda a:f32[] . let b:f32[] = add a 1.0:f32[] in ( b ) }",
    ),
    "broadcast": (
        lambda a: a + 1,
        (numpy.ones(3),),
        "{ lambda a:f64[3] . let\n"
        "    b:f64[3] = broadcast_in_dim[shape=(3,) dims=()] 1.0:f64[]\n"
        "    c:f64[3] = add a b\n"
        "  in ( c ) }",
    ),
    "cast": (
        lambda a, b: a * b,
        (numpy.ones(3, "i4"), numpy.ones((2, 3))),
        "{ lambda a:i32[3] b:f64[2,3] . let\n"
        "    c:f64[3] = convert[dtype=float64] a\n"
        "    d:f64[2,3] = broadcast_in_dim[shape=(2, 3) dims=(1,)] c\n"
        "    e:f64[2,3] = multiply d b\n"
        "  in ( e ) }",
    ),
    "slice": (
        lambda a: a[1:],
        (numpy.ones(3),),
        "{ lambda a:f64[3] . let b:f64[2] = slice[axes=(0,) sizes=(2,) strides=(1,) shape=(2,)] "
        "a 1:i64[] in ( b ) }",
    ),
    "two results": (
        lambda a, b: (b, a.sum()),
        (numpy.ones(3), numpy.ones(2, "?")),
        "{ lambda a:f64[3] b:bool[2] . let c:f64[] = reduce_sum[axes=(0,)] a in ( b, c ) }",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", JAXPRS)
def test_make_jaxpr(name: str) -> None:
    function, args, expected = JAXPRS[name]
    with Counted() as counted:
        jaxpr = np.make_jaxpr(function)(*args)
    assert str(jaxpr) == expected
    check(jaxpr)
    assert counted.cuts == 0
    results = function(*[np.array(a) for a in args])
    results = results if isinstance(results, tuple) else (results,)
    for got, want in zip(eval_reference(jaxpr, args), results, strict=True):
        numpy.testing.assert_array_equal(got, want)


def test_updates_in_a_traced_function() -> None:
    def function(a: Any) -> Any:
        b = a.copy()
        b[1:] = 2.0
        v = b[::2]
        v *= 3.0
        return b

    jaxpr = np.make_jaxpr(function)(numpy.ones(4))
    check(jaxpr)
    assert [e.primitive.name for e in jaxpr.eqns if e.primitive.kind == "update"] == [
        "update_slice", "update_slice",
    ]  # fmt: skip
    numpy.testing.assert_array_equal(eval_reference(jaxpr, [numpy.ones(4)])[0], [3, 2, 6, 2])


def test_a_value_needed_while_tracing_is_an_error_that_names_the_function() -> None:
    def branching(a: Any) -> Any:
        return a if a.sum() > 0 else -a

    with pytest.raises(TypeError, match="make_jaxpr of branching"):
        np.make_jaxpr(branching)(numpy.ones(3))
    with pytest.raises(TypeError, match="make_jaxpr"):
        np.make_jaxpr(lambda a: float(a[1:][0]))(numpy.ones(3))


def test_explain_shows_the_jaxpr_of_what_is_pending_and_of_what_was_run() -> None:
    x = np.array(numpy.arange(3.0))
    y = x + 1.0
    pending = str(np.explain(y).jaxpr)
    assert "add" in pending and np.explain(y).state == "pending"
    y.tolist()
    done = np.explain(y)
    assert str(done.jaxpr) == pending
    assert "compiled" in done.state
    assert "stablehlo.add" in done.stablehlo
    assert "asked for" in done.reason
    assert "constant float64" in done.slots
    assert str(done).splitlines()[0].startswith("state: computed")


@pytest.mark.parametrize("loop", test_flush.LOOPS, ids=lambda f: f.__name__)
def test_the_jaxprs_of_programs_type_check(loop: Callable[[Any, int], Any]) -> None:
    with np.config(debug=True):
        np.materialize(loop(np, 40))


def test_check_rejects_what_is_not_well_formed() -> None:
    a, b = Var(aval_of((3,), F8)), Var(aval_of((3,), F8))
    short = Var(aval_of((2,), F8))
    add = elementwise.add
    one = Literal(numpy.float64(1), aval_of((), F8))
    good = Jaxpr([a], [Eqn(add, [a, a], {}, [b])], [b])
    check(good)
    bad = {
        "bound twice": Jaxpr([a], [Eqn(add, [a, a], {}, [a])], [a]),
        "input twice": Jaxpr([a, a], [], [a]),
        "unbound": Jaxpr([a], [Eqn(add, [a, b], {}, [short])], [a]),
        "unbound output": Jaxpr([a], [], [b]),
        "wrong shape": Jaxpr([a], [Eqn(add, [a, a], {}, [short])], [short]),
        "wrong dtype": Jaxpr([a], [Eqn(add, [a, a], {}, [Var(aval_of((3,), "f4"))])], [a]),
        "broadcasts": Jaxpr([a], [Eqn(add, [a, one], {}, [b])], [b]),
        "too many results": Jaxpr([a], [Eqn(add, [a, a], {}, [b, short])], [b]),
        "bad params": Jaxpr([a], [Eqn(shaping.reshape, [a], {"shape": (2,)}, [short])], [short]),
    }
    for name, jaxpr in bad.items():
        with pytest.raises((JaxprTypeError, TypeError, ValueError)):
            check(jaxpr)
            pytest.fail(name)


# -- donation --------------------------------------------------------------------------------------


def pointer(x: Any) -> int:
    """Where the value lives, found without reading it (which would pin it there)."""
    value = x._read()[VALUE]
    if isinstance(value, numpy.ndarray):
        return value.ctypes.data
    return value.unsafe_buffer_pointer()


def test_a_row_is_stored_where_the_array_is() -> None:
    a = np.zeros((500, 400)) + 1.0
    row = np.ones(400) * 5.0
    np.materialize((a, row))
    places = []
    for i in range(8):
        a[i] = row
        np.materialize(a)
        places.append(pointer(a))
    assert len(set(places)) == 1
    assert a[:9, 0].tolist() == [5.0] * 8 + [1.0]


def test_a_row_computed_from_the_row_before() -> None:
    a = np.zeros((500, 400)) + 1.0
    np.materialize(a)
    places = []
    for i in range(1, 8):
        a[i] = a[i - 1] * 2.0
        np.materialize(a)
        places.append(pointer(a))
    assert len(set(places[1:])) == 1
    assert a[:9, 7].tolist() == [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 1.0]


def test_what_somebody_else_holds_is_not_donated() -> None:
    a = np.zeros((500, 400)) + 1.0
    np.materialize(a)
    copy, shown = a.copy(), numpy.asarray(a)
    view = a[2:4]
    a[0] = 7.0
    np.materialize(a)
    a[1] = 8.0
    np.materialize(a)
    assert copy[:2, 0].tolist() == [1.0, 1.0]
    assert shown[:2, 0].tolist() == [1.0, 1.0]
    assert a[:3, 0].tolist() == [7.0, 8.0, 1.0]
    again = numpy.asarray(a)
    view[...] = 9.0
    np.materialize(a)
    assert again[2, 0] == 1.0 and shown[2, 0] == 1.0
    assert a[2:5, 0].tolist() == [9.0, 9.0, 1.0]


def test_host_memory_that_was_handed_in_or_out_is_never_written() -> None:
    host = numpy.ones((500, 400))
    a = np.array(host)
    a[0] = 2.0
    np.materialize(a)
    assert (host == 1.0).all()
    shared = np.from_dlpack(host)
    b = shared * 1.0
    shared_again = np.from_dlpack(host)
    del shared
    c = shared_again.copy()
    del shared_again
    c[0] = 3.0
    np.materialize((b, c))
    assert (host == 1.0).all()
    assert c[:2, 0].tolist() == [3.0, 1.0]


def test_an_array_used_twice_in_the_program_that_consumes_it() -> None:
    a = np.zeros((500, 400)) + 1.0
    np.materialize(a)
    b = a * 2.0
    total = a.sum()
    a[0] = b[0] + a[1]
    np.materialize((a, b, total))
    assert float(total) == 200_000.0
    assert (a[:2, 0].tolist(), float(b.sum())) == ([3.0, 1.0], 400_000.0)


def test_updates_through_reshapes_read_before_they_write() -> None:
    """XLA would update in place while it is still reading (see `Structure._update_apart`)."""
    for shape in ((3, 4), (4, 3), (12, 1), (1, 12), (2, 2, 3)):
        for scale in (1.0, 2.0):
            host = numpy.arange(12.0)
            m = host.reshape(shape)
            k = 1 if shape[0] > 1 else 0
            m[(slice(None),) * (1 - k) + (slice(1, None),)] = (
                m[(slice(None),) * (1 - k) + (slice(None, -1),)] * scale
            )
            x = np.array(numpy.arange(12.0)) * 1.0
            m = x.reshape(shape)
            m[(slice(None),) * (1 - k) + (slice(1, None),)] = (
                m[(slice(None),) * (1 - k) + (slice(None, -1),)] * scale
            )
            assert x.tolist() == host.tolist()


# -- memory of programs ----------------------------------------------------------------------------


def test_old_programs_are_let_go(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_plan, "_MOST_PROGRAMS", 10)
    monkeypatch.setattr(_plan, "_compiled", type(_plan._compiled)())
    alive = []
    real = _runtime.Executable.__init__

    def counted(self: Any, *args: Any) -> None:
        alive.append(id(self))
        real(self, *args)

    monkeypatch.setattr(_runtime.Executable, "__init__", counted)
    x = np.array(numpy.arange(3.0))
    for n in range(1, 25):
        y = x
        for bit in range(5):
            y = y * 2.0 if n >> bit & 1 else y + 1.0
        y.tolist()
        (x - 4.0).tolist()  # in use all the time
    assert len(alive) >= 20
    assert sum(len(p.programs) for p in set(_plan._compiled)) <= 10
    with Counted() as counted_:
        assert (x - 4.0).tolist() == [-4.0, -3.0, -2.0]
    assert counted_.compiles == 0


@pytest.mark.parametrize("policy", POLICIES)
def test_the_policies_agree(policy: str) -> None:
    with np.config(execution=policy):
        x = np.arange(10.0)
        for i in range(30):
            x = x * 0.5 + i
            x[i % 10] = i
        want = numpy.arange(10.0)
        for i in range(30):
            want = want * 0.5 + i
            want[i % 10] = i
        assert x.tolist() == want.tolist()


def test_adaptive_compiles_what_runs_often_and_what_is_large() -> None:
    x = np.array(numpy.ones(200_000))
    with np.config(execution="adaptive"), Counted() as counted:
        for _ in range(3):
            (x + 1.0).tolist()[:1]
    assert counted.compiled_runs == 0
    with np.config(execution="adaptive"), Counted() as counted:
        for _ in range(2000):
            y = (((x * 2.0 + 1.0) * x - 0.5) * (x + 3.0) - x) * 0.25
            np.materialize(y)
            if counted.compiled_runs:
                break
    assert counted.compiled_runs == 1
    assert isinstance(y._read()[ARGS], _plan.Plan)
    assert _graph._plans


def test_the_jaxpr_of_an_array() -> None:
    x = np.arange(3.0) * 2.0
    y = np.sin(x)
    pending = str(y.jaxpr)
    assert pending.startswith("{ lambda a:f64[3] . let") and "sin" in pending and "in (" in pending
    check(y.jaxpr)
    with pytest.raises(AttributeError):
        y.jaxpr = None  # type: ignore[misc]


# -- starts that are always equal ------------------------------------------------------------------


def _rows(np: Any, places: list[tuple[int, int]]) -> list[Any]:
    x = np.array(numpy.arange(24.0).reshape(6, 4))
    seen = []
    for i, j in places:
        x[i] = 0.5 * x[j] + x[j] * x[j] - 1.0
        seen.append(x.tolist())
    return seen


@pytest.mark.parametrize(
    "places, compiles",
    [
        ([(k % 6, k % 6) for k in range(12)], 2),  # constants, then one operand
        ([(k % 6, (k + 1) % 6) for k in range(12)], 2),
        # equal by chance, until they are not: one program more, and no others
        ([(0, 0), (1, 1), (2, 2), (3, 1), (4, 4), (1, 5), (2, 2), (5, 0)], 3),
        ([(0, 0), (0, 1), (1, 1), (2, 2), (3, 4)], 3),
    ],
)
def test_tied_starts(places: list[tuple[int, int]], compiles: int) -> None:
    fresh_start()
    with np.config(execution="compiled"), Counted() as counted:
        assert _rows(np, places) == _rows(numpy, places)
    assert counted.compiles <= compiles


def test_a_place_read_and_written_is_one_operand() -> None:
    fresh_start()
    x = np.array(numpy.arange(24.0).reshape(6, 4))
    with np.config(execution="compiled"):
        for i in range(4):
            x[i] += 1.0
            x.tolist()
    (plan,) = [p for p in _graph._plans.values() if p.varying]
    assert plan.current.packed == [("i", [min(plan.start_slots)])]


def test_forms_of_one_place_know_which_scalars_vary(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rounds of a loop differ in what is kept. None of them compiles the values of its own round
    once another one has, with other values.
    """
    monkeypatch.setattr(_plan.Plan, "_by_cost", lambda self: False)
    monkeypatch.setattr(_plan.Sighting, "again", lambda self: False)
    x = np.array(numpy.linspace(0.0, 1.0, 7))
    compiles = []
    with np.config(execution="adaptive", background=False):
        for k, keeps in enumerate([False, True, True, False, False]):
            with Counted() as counted, local.recorder.recording():
                y = x * (k + 2.0)
                z = y + 1.0
                kept = y if keeps else None
                del y
                assert z.tolist() == (numpy.linspace(0.0, 1.0, 7) * (k + 2.0) + 1.0).tolist()
            del kept
            compiles.append(counted.compiles)
    assert compiles == [1, 1, 0, 1, 0]
