"""Running loops that draw random numbers, hold `try` and `with`, or change objects: each gives what
NumPy gives, and its generators go on with the same numbers.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy
import pytest

import lazynp as np
from lazynp._promotion import _at_places, _draw, _draws, _placed_draws, _running, _tapes, taken
from tests.bounded_programs import BOUNDED, BOUNDED_LEFT
from tests.branching_programs import BRANCHING
from tests.element_programs import CONSTANTS, CONSTANTS_LEFT, LARGE, LEFT, READ
from tests.method_programs import METHODS, METHODS_KEPT, SLOTS, SLOTS_KEPT
from tests.object_programs import MADE, MADE_KEPT
from tests.running import MARKS, assert_alike, check, every_loop, run  # noqa: F401
from tests.state_programs import BLOCKS, DRAWING, OBJECTS, STAYING

pytestmark = MARKS
DRAWS = {**DRAWING, **BRANCHING}
TAKEN = {**DRAWS, **BLOCKS, **OBJECTS, **READ, **CONSTANTS}


@pytest.mark.parametrize("name", TAKEN)
def test_loops_are_taken(name: str, tmp_path: Path) -> None:
    check(TAKEN[name], tmp_path)


STAYS = {**STAYING, **LEFT, **BOUNDED_LEFT, **CONSTANTS_LEFT}
HELD = {**METHODS, **SLOTS, **MADE}
OTHERS = {**METHODS_KEPT, **SLOTS_KEPT, **MADE_KEPT}


@pytest.mark.parametrize("name", HELD)
def test_objects_hold_what_python_leaves(name: str, tmp_path: Path) -> None:
    check(HELD[name], tmp_path)


@pytest.mark.parametrize("name", OTHERS)
def test_objects_that_change_in_other_ways(name: str, tmp_path: Path) -> None:
    source = OTHERS[name]
    assert_alike(run(source, np, tmp_path), run(source, numpy, tmp_path))


@pytest.mark.parametrize("name", STAYS)
def test_loops_that_stay_with_python(name: str, tmp_path: Path) -> None:
    check(STAYS[name], tmp_path, taking=False)


@pytest.mark.parametrize("rounds", ["few", "many"])
@pytest.mark.parametrize("name", LARGE)
def test_numbers_in_lists_and_dicts_are_pythons(
    name: str, rounds: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They have any size, and raise their own errors. rounds: that a program runs at once."""
    monkeypatch.setattr(_running, "_CHUNK", 1.0 if rounds == "many" else 1e-9)
    assert_alike(run(LARGE[name], np, tmp_path), run(LARGE[name], numpy, tmp_path))
    assert taken


@pytest.mark.parametrize("rounds", ["few", "many"])
@pytest.mark.parametrize("name", BOUNDED)
def test_integers_between_bounds_that_rounds_compute(
    name: str, rounds: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_running, "_CHUNK", 1.0 if rounds == "many" else 1e-9)
    check(BOUNDED[name], tmp_path)


@pytest.mark.parametrize("name", ["the global generator", "normal numbers come in pairs"])
def test_the_global_generator_goes_on(name: str, tmp_path: Path) -> None:
    numpy.random.seed(7)
    run(DRAWS[name], numpy, tmp_path)
    want = numpy.random.rand(3)
    numpy.random.seed(7)
    run(DRAWS[name], np, tmp_path)
    assert numpy.array_equal(numpy.random.rand(3), want)


def test_an_error_puts_generators_back(tmp_path: Path) -> None:
    source = """
    rng = np.random.default_rng(5)
    def f(x):
        for n in range(60):
            if n == 2 or n == 3: look()
            x[n] = x[n - 1] + rng.normal()
    x, k = np.zeros(40), 0
    try:
        f(x)
    except IndexError as e:
        error = str(e)
    """
    got = check(source, tmp_path)
    assert "index" in got["error"]


def test_draws_that_are_alike_are_one_call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[tuple[int, ...]] = []
    fill = _draws._fill

    def counted(generator: Any, name: str, given: dict[str, Any], table: Any) -> None:
        calls.append(numpy.shape(table))
        fill(generator, name, given, table)

    monkeypatch.setattr(_draws, "_fill", counted)
    source = """
    rng = np.random.default_rng(5)
    x = np.zeros(4)
    for n in range(60):
        if n == 2 or n == 3: look()
        x = x * 0.5 + rng.random(4) - rng.random(4) + rng.random()
    """
    check(source, tmp_path)
    assert calls and {shape[1] for shape in calls} == {9}


def test_a_report_says_why(tmp_path: Path) -> None:
    run(STAYING["draws of several halves of words in a branch"], np, tmp_path)
    assert any("halves of words" in t.explained() for t in taken)


def test_handlers_that_run_often_leave_the_loop_to_python(tmp_path: Path) -> None:
    source = """
    def main(x):
        bad, t = 0, 4.0
        for n in range(400):
            if n == 2 or n == 3: look()
            try:
                x = x * 0.9 + 1 / t
            except ZeroDivisionError:
                bad += 1
            t = t - 1 if t > 0 else 4.0
        return x, bad, t
    out = main(np.ones(3))
    """
    taken.clear()
    assert_alike(run(source, np, tmp_path), run(source, numpy, tmp_path))


# -- numbers that are read ahead -------------------------------------------------------------------


def test_a_program_that_needs_more_numbers_runs_fewer_rounds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing of a run that has come to the end of the tape is kept."""
    ends = []
    after = _placed_draws.PlacedDraws.after

    def seen(self: Any, out: Any, count: int) -> Any:
        found = after(self, out, count)
        ends.append(found is None)
        return found

    monkeypatch.setattr(_placed_draws.PlacedDraws, "after", seen)
    monkeypatch.setattr(_placed_draws, "_SPARE", 1)
    monkeypatch.setattr(_placed_draws, "_TIMED", 16)
    monkeypatch.setattr(_running, "_CHUNK", 1.0)
    source = """
    rng = np.random.default_rng(5)
    x, k = np.zeros(40), 0
    for n in range(1200):
        if n == 2 or n == 3: look()
        if n % 60 > 50:
            for k in range(40):
                if rng.random() < 0.6:
                    x[k] += rng.normal()
        elif rng.random() < 0.5:
            x[n % 40] -= 1
    """
    check(source, tmp_path)
    assert True in ends and False in ends


def kind_of(generator: Any, name: str, args: Any, dtype: str, count: int) -> Any:
    """A method of a generator, of which so many words were read ahead."""
    draw = _draw.Draw(getattr(generator, name), args, {})
    draw.dtype = numpy.dtype(dtype)
    source = _tapes.Source(generator)
    source.read(count)
    kind = _tapes.Kind(draw, source, 0)
    kind.describe(lambda _: None)
    return kind


def filled(kind: Any, dtype: str, count: int) -> list[Any]:
    """Its tables."""
    dtypes = [dtype, "i8", "i8", dtype, "i8"][: kind.tables]
    tables = [_tapes.room(count, 1, numpy.dtype(d)) for d in dtypes]
    kind.fill(count, tables, lambda _: None)
    return tables


@pytest.mark.parametrize("kind", ["PCG64", "MT19937", "SFC64"])
def test_tables_are_what_the_generator_draws(kind: str) -> None:
    """For each place of the stream, with half a word left and without."""
    for name, args, dtype in (
        ("random", (), "f8"), ("normal", (1.0, 2.0), "f8"), ("exponential", (), "f8"),
        ("integers", (7,), "i8"), ("integers", (-3, 2**31 - 4), "i8"),
        ("integers", (3 * 2**29,), "i8"), ("poisson", (2.0,), "i8"),
    ):  # fmt: skip
        _check_tables(numpy.random.Generator(getattr(numpy.random, kind)(3)), name, args, dtype)
    for name, args, dtype in (
        ("rand", (), "f8"), ("randn", (), "f8"), ("normal", (1.0, 2.0), "f8"),
        ("randint", (5,), "i8"), ("randint", (2, 99), "i8"), ("exponential", (3.0,), "f8"),
    ):  # fmt: skip
        _check_tables(numpy.random.RandomState(3), name, args, dtype)


@pytest.mark.parametrize(
    ("generator", "name", "args"),
    [
        (numpy.random.default_rng(5), "standard_normal", ()),
        (numpy.random.default_rng(5), "normal", (1.5, 0.3)),
        (numpy.random.default_rng(5), "standard_exponential", ()),
        (numpy.random.Generator(numpy.random.Philox(5)), "exponential", (2.5,)),
        (numpy.random.RandomState(5), "randn", ()),
        (numpy.random.RandomState(5), "normal", (-1.0, 4.0)),
    ],
)  # fmt: skip
def test_tables_that_are_made_at_once_are_those_of_single_draws(
    generator: Any, name: str, args: Any
) -> None:
    """At all places, and without that NumPy would have refuted the algorithm."""
    count = 20_000
    found = []
    for once in (True, False):
        kind = kind_of(generator, name, args, "f8", count)
        kind._is_plain = once
        found.append(filled(kind, "f8", count))
        assert kind._is_plain == once
    for a, b in zip(*found, strict=True):
        numpy.testing.assert_array_equal(a, b)


def test_an_algorithm_that_is_not_numpys_is_not_believed(monkeypatch: pytest.MonkeyPatch) -> None:
    ziggurat = _at_places.ziggurat

    def other(words: Any, name: str) -> Any:
        values, read, unclear = ziggurat(words, name)
        return values * 1.5, read, unclear

    monkeypatch.setattr(_at_places, "ziggurat", other)
    _check_tables(numpy.random.default_rng(3), "standard_normal", (), "f8")


def _check_tables(generator: Any, name: str, args: Any, dtype: str) -> None:
    count = 300
    getattr(generator, name)(*args)  # it may leave something
    kind = kind_of(generator, name, args, dtype, count)
    tables, source = filled(kind, dtype, count), kind.source
    start, state = source.now(), [0, count, source.left is not None, 0]
    for at in range(0, count - 20, 7):
        for has, kept in ((0, count), (1, at)) if kind.tables > 2 else ((0, count),):
            state = [at, kept, has, 0]
            generator_at = source.state_at(state, lambda k: kind.second(k, lambda _: None))
            source.set(generator_at)
            if source.legacy and has and "normal" == name:
                continue  # the number that is left was drawn with these arguments
            want = getattr(generator, name)(*args)
            got = tables[3][kept, 0] if has else tables[0][at, 0]
            bad = has and tables[4][kept, 0]
            words = 0 if has else int(tables[1][at, 0])
            assert bad or got == want, (name, at, has)
            source.set(source.state_at([at + words, count, 0, 0], lambda _: 0.0))
            expected = generator.random_sample() if source.legacy else generator.random()
            source.set(generator_at)
            getattr(generator, name)(*args)
            found = generator.random_sample() if source.legacy else generator.random()
            assert bad or found == expected, (name, at, has)
    source.set(start)
