"""Row 002 of the seeds: dimensions as values, its examples and sentences in their order."""

from __future__ import annotations

from typing import Any

import numpy
import pytest

import lazynp as np
from lazynp._jaxpr import check
from lazynp.transforms import DBIdx, InDBIdx, OutDBIdx

Flag = tuple[tuple[Any, ...], bool]


def traced(function: Any, *args: Any) -> Any:
    jaxpr = np.make_jaxpr(function)(*args)
    check(jaxpr)
    return jaxpr


def shapes(types: Any) -> list[Flag]:
    return [(t.shape, explicit) for t, explicit in types]


def fails(function: Any, error: type[Exception], match: str) -> None:
    """Where it is traced, and where it is called; the next call works."""
    for trace in (np.make_jaxpr(function), np.jit(lambda x: function(x.shape[0]),
                                                  abstracted_axes=("n",))):  # fmt: skip
        with pytest.raises(error, match=match):
            trace(3 if isinstance(trace, type(fails)) else numpy.ones(3))


# -- the overview ----------------------------------------------------------------------------------


def circuit(sz: Any) -> Any:
    a0 = np.ones([sz], dtype=float)
    a2 = np.fori_loop(0, 10, lambda i, a: a * sz, a0)
    return a0 + a2


def test_the_overview() -> None:
    jaxpr = traced(circuit, 3)
    assert str(jaxpr) == (
        "{ lambda a:i64[] . let\n"
        "    b:f64[a] = full[shape=(None,) dtype=float64] 1.0:f64[] a\n"
        "    c:i64[] d:f64[a] = scan[jaxpr={ lambda a:i64[] b:i64[] c:i64[] d:f64[a] . let\n"
        "    e:i64[] = add c 1:i64[]\n"
        "    f:f64[] = convert[dtype=float64] b\n"
        "    g:f64[a] = broadcast_in_dim[shape=(None,) dims=()] f a\n"
        "    h:f64[a] = multiply d g\n"
        "  in ( e, h ) } length=10 reverse=False consts=2 carry=2 unroll=1] a a 0:i64[] b\n"
        "    e:f64[a] = add b d\n"
        "  in ( e ) }"
    )
    f = np.jit(circuit)
    for sz in (3, 0, 1, 5):
        numpy.testing.assert_array_equal(f(sz), 1 + float(sz) ** 10 * numpy.ones(sz))
    assert f._cache_size() == 1


def test_nested_jaxprs_capture_nothing() -> None:
    """What the body uses of the outside, and the sizes in its types, are among its inputs."""
    scan = next(e for e in traced(circuit, 3).eqns if e.primitive.name == "scan")
    inner = scan.params["jaxpr"]
    assert len(scan.inputs) == len(inner.inputs)
    names = set(inner.inputs)
    for eqn in inner.eqns:
        assert all(not hasattr(a, "aval") or a in names or hasattr(a, "value") for a in eqn.inputs)
        names.update(eqn.outputs)


def test_operations_require_equal_sizes() -> None:
    fails(lambda n: np.ones(n) + np.ones(n + 1), ValueError, "could not be broadcast")


# -- types -----------------------------------------------------------------------------------------


def test_an_output_type_with_two_implicit_sizes() -> None:
    jaxpr = traced(lambda n: np.ones((n + 1, 2 * n, n)), 3)
    assert shapes(jaxpr.out_type) == [
        ((), False), ((), False), ((OutDBIdx(0), OutDBIdx(1), InDBIdx(0)), True),
    ]  # fmt: skip
    assert shapes(jaxpr.in_type) == [((), True)]


def test_implicit_and_explicit_results() -> None:
    jaxpr = traced(lambda sz: np.ones((sz + 1,), dtype=float), 3)
    assert str(jaxpr) == (
        "{ lambda a:i64[] . let\n"
        "    b:i64[] = add a 1:i64[]\n"
        "    c:f64[b] = full[shape=(None,) dtype=float64] 1.0:f64[] b\n"
        "  in ( b, c ) }"
    )


def test_arguments_are_expanded_by_shared_sizes() -> None:
    jaxpr = np.make_jaxpr(lambda a, b: a + b, abstracted_axes={0: "d"})(
        numpy.ones(3), numpy.ones(3)
    )
    check(jaxpr)
    assert shapes(jaxpr.in_type) == [
        ((), False), ((DBIdx(0),), True), ((DBIdx(0),), True),
    ]  # fmt: skip
    assert shapes(jaxpr.out_type) == [((InDBIdx(0),), True)]


# -- loops -----------------------------------------------------------------------------------------


def sharing(body: Any, **options: Any) -> Any:
    def function(sz: Any) -> Any:
        a0 = np.ones([sz], dtype=float)
        return np.fori_loop(0, 10, lambda i, c: body(sz, *c), (a0, a0), **options)

    return function


def test_a_loop_that_returns_what_it_took() -> None:
    jaxpr = traced(sharing(lambda sz, a, a_: (a, a_)), 3)
    assert shapes(jaxpr.out_type) == [((InDBIdx(0),), True)] * 2


def grown(sz: Any, a: Any, a_: Any) -> Any:
    b = np.ones([sz + 1], dtype=float)
    return b, b


def test_a_loop_whose_results_still_share_their_size() -> None:
    jaxpr = traced(sharing(grown), 3)
    assert shapes(jaxpr.out_type) == [((), False), *[((OutDBIdx(0),), True)] * 2]
    f = np.jit(sharing(grown))
    for sz in (3, 0, 7):
        assert [x.shape for x in f(sz)] == [(sz + 1,)] * 2


def test_a_loop_whose_results_share_no_more() -> None:
    """Both types are named, and the cure."""
    both = r"f64\[d1\] and f64\[(size0|n) \+ 1\].*preserve_dimensions=False"
    fails(sharing(lambda sz, a, a_: (a, grown(sz, a, a_)[0])), TypeError, both)


def separately(sz: Any) -> Any:
    a0, b0 = np.ones([sz], dtype=float), np.ones([sz + 1], dtype=float)
    return np.fori_loop(0, 10, lambda i, c: c, (a0, b0, b0), preserve_dimensions=False)


def test_sizes_carried_each_for_itself() -> None:
    jaxpr = traced(separately, 3)
    (loop,) = [e for e in jaxpr.eqns if "loop" in e.primitive.name]
    assert str(loop.params["body"]).startswith(
        "{ lambda a:i64[] b:i64[] c:i64[] d:i64[] e:f64[a] f:f64[b] g:f64[c] ."
    )
    for sz in (3, 0):
        assert [x.shape for x in np.jit(separately)(sz)] == [(sz,), (sz + 1,), (sz + 1,)]


def test_sizes_carried_each_for_itself_do_not_mix() -> None:
    mixed = sharing(lambda sz, b, b_: (b, b + b_), preserve_dimensions=False)
    fails(mixed, ValueError, r"could not be broadcast together with shapes \(d1,\) \(d2,\)")


def by_the_index(sz: Any) -> Any:
    return np.fori_loop(0, 10, lambda i, a: np.ones([i], dtype=float), np.ones([sz], dtype=float))


def test_the_index_as_a_size() -> None:
    jaxpr = traced(by_the_index, 3)
    assert shapes(jaxpr.out_type) == [((), False), ((OutDBIdx(0),), True)]
    numpy.testing.assert_array_equal(np.jit(by_the_index)(3), numpy.ones(9))


# -- constants, and the caveat that is lifted ------------------------------------------------------


def test_captured_sizes_come_before_the_arrays() -> None:
    outer = np.ones(4)

    def function(n: Any) -> Any:
        o = np.ones([n + 1], dtype=float)
        return np.fori_loop(0, 2, lambda i, a: a + o.sum() + outer.sum(), np.ones([n], dtype=float))

    scan = next(e for e in traced(function, 3).eqns if e.primitive.name == "scan")
    assert ":f64[a]" in str(scan.params["jaxpr"]).split(" . let")[0]
    numpy.testing.assert_array_equal(np.jit(function)(2), 1 + 2 * (3 + 4.0) * numpy.ones(2))


def caveat(sz: Any) -> Any:
    a0 = np.ones([sz], dtype=float)
    return a0 + np.fori_loop(0, 10, lambda i, a: a + a0, a0)


def test_captured_arrays_mix_with_what_is_carried() -> None:
    assert shapes(traced(caveat, 3).out_type) == [((InDBIdx(0),), True)]
    numpy.testing.assert_array_equal(np.jit(caveat)(4), 12 * numpy.ones(4))
