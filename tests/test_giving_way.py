"""Long calls of derivatives end in the midst, once there is a program; nobody can tell."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy
import pytest

import lazynp as np
from lazynp._promotion import _clock, _giving_way, derivatives
from lazynp._recorder import GivesWay
from tests.promoting import promoting

pytestmark = pytest.mark.own_policy
N = 24


@pytest.fixture(autouse=True)
def adaptive(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Programs are compiled while Python waits, so that the same call always ends at one place."""
    with promoting(), np.config(background=False):
        monkeypatch.setattr(_giving_way, "_TIMES", 0.0)
        yield


def relaxed(b: Any, scale: Any = 0.25) -> Any:
    """Gauss-Seidel by elements: some thousand operations."""
    u = np.zeros(b.shape)
    for _ in range(3):
        for i in range(1, b.shape[0] - 1):
            for j in range(1, b.shape[1] - 1):
                u[i, j] = scale * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1] - b[i, j])
    return (u * u).sum()


def data() -> Any:
    return np.linspace(0.5, 2.0, N * N).reshape(N, N)


def swallowing(b: Any) -> Any:
    try:
        return relaxed(b)
    except BaseException:
        return b.sum()


def leaving(b: Any) -> Any:
    try:
        return relaxed(b)
    finally:
        b = b + 1.0


def of_parts(parts: Any) -> Any:
    return relaxed(parts["b"], parts["scale"]) * parts["by"][0][0]


def of_numpys(b: Any) -> Any:
    u = numpy.zeros(b.shape)
    for i in range(1, b.shape[0] - 1):
        for j in range(1, b.shape[1] - 1):
            u[i, j] = 0.25 * (u[i - 1, j] + u[i, j - 1] - b[i, j] ** 2)
    return numpy.sum(u * u)


def weighted(w: Any) -> Any:
    return relaxed(data() * w[0], w[1])


CALLS: dict[str, Callable[[], Any]] = {
    "grad": lambda: np.grad(relaxed)(data()),
    "grad by two": lambda: np.grad(relaxed, (0, 1))(data(), 0.25),
    "of NumPy's array": lambda: np.grad(relaxed)(numpy.asarray(data())),
    "value_and_grad": lambda: np.value_and_grad(relaxed)(data()),
    "with aux": lambda: np.grad(lambda b: (relaxed(b), b[0]), has_aux=True)(data()),
    "of a dict": lambda: np.grad(of_parts)({"b": data(), "scale": 0.2, "by": [np.ones(2)]}),
    "a scale by name": lambda: np.grad(relaxed)(data(), scale=0.2),
    "float32": lambda: np.grad(relaxed)(data().astype(np.float32)),
    "jvp": lambda: np.jvp(relaxed, (data(),), (data(),)),
    "vjp": lambda: np.vjp(relaxed, data())[1](1.0),
    "linearize": lambda: np.linearize(relaxed, data())[1](data()),
    "jacfwd": lambda: np.jacfwd(weighted)(np.asarray([1.0, 0.2])),
    "jacrev": lambda: np.jacrev(weighted)(np.asarray([1.0, 0.2])),
    "hessian": lambda: np.hessian(weighted)(np.asarray([1.0, 0.2])),
    "vmap": lambda: np.vmap(relaxed, (None, 0))(data(), np.asarray([0.2, 0.25])),
    "vjp with aux": lambda: np.vjp(lambda b: (relaxed(b), b[0]), data(), has_aux=True)[::2],
    "adopted": lambda: np.grad(np.adopt(of_numpys))(data()),
    "swallowing": lambda: np.grad(swallowing)(data()),
    "leaving": lambda: np.grad(leaving)(data()),
}


def told(x: Any) -> list[Any]:
    if isinstance(x, (tuple, list)):
        return [type(x), *[t for v in x for t in told(v)]]
    if isinstance(x, dict):
        return [list(x), *told(list(x.values()))]
    return [type(x), x.dtype, x.shape, numpy.asarray(x)]


@pytest.mark.parametrize("name", CALLS)
def test_calls_give_way(name: str) -> None:
    with np.config(promotion=False):
        want = told(CALLS[name]())
    before = np.stats().promotions
    for _ in range(3):
        got = told(CALLS[name]())
        for g, w in zip(got, want, strict=True):
            if isinstance(w, numpy.ndarray):
                rtol = 1e-12 if w.dtype.itemsize == 8 else 1e-4
                numpy.testing.assert_allclose(g, w, rtol=rtol, atol=rtol)
            else:
                assert g == w
        early = name != "adopted"  # adopted code holds a lock: its call gives way later
        assert not early or [d.gave_way for d in derivatives.values()] == [1]
    assert [(d.gave_way, d.programs) for d in derivatives.values()] == [(1, 1)]
    assert np.stats().promotions - before == 1


SEEN: list[Any] = []


def telling(b: Any) -> Any:
    SEEN.append(b.shape)
    return relaxed(b)


def printing(b: Any) -> Any:
    print("called")
    return relaxed(b)


def writing(b: Any) -> Any:
    TABLE[0] += 1.0
    return relaxed(b)


def drawing(b: Any) -> Any:
    return relaxed(b) * np.random.random()


TABLE = np.zeros(2)


@pytest.mark.parametrize("f", [telling, printing, writing, drawing])
def test_a_function_that_leaves_something_behind_runs_once(f: Any, capsys: Any) -> None:
    before, state = np.stats().promotions, np.random.get_state()[2]
    SEEN.clear()
    TABLE[:] = 0.0
    np.grad(f)(data())
    assert np.stats().promotions == before
    times = len(SEEN), capsys.readouterr().out.count("called"), TABLE[0]
    drawn = f is drawing and np.random.get_state()[2] != state
    assert sum(map(int, times)) + drawn == 1


def test_a_value_that_differs_is_a_program_that_is_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    with np.config(promotion=False):
        want = numpy.asarray(np.grad(relaxed)(data()))
    monkeypatch.setattr("lazynp._promotion._derived.same_value", lambda got, want: False)
    slope: Any = np.grad(relaxed)
    for _ in range(3):
        assert numpy.array_equal(slope(data()), want)
    assert "its value differs" in str(np.explain(slope))
    (front,) = derivatives.values()
    assert not front.programs and front.calls == 2


def test_a_program_that_takes_long_has_a_trial(monkeypatch: pytest.MonkeyPatch) -> None:
    since, late = _clock.since, [1e3, *[0.0] * 99]

    def slow(begin: Any, *less: float) -> float:
        """The run that takes over is slow, but not those of the trial."""
        return since(begin, *less) + (late.pop(0) if less else 0.0)

    monkeypatch.setattr(_clock, "since", slow)
    slope = np.grad(relaxed)
    for k in range(3):
        slope(data())
        (front,) = derivatives.values()
        assert (front.gave_way, front.programs, front.calls) == (1, k > 0, 1)


def failing(b: Any, k: int) -> Any:
    out = relaxed(b)
    return out + b[k, 0]


def test_errors_are_raised_at_their_lines() -> None:
    slope = np.grad(failing)
    for _ in range(3):
        with pytest.raises(IndexError) as caught:
            slope(data(), N + 3)
        assert "b[k, 0]" in str(caught.traceback[-1].statement) or any(
            "b[k, 0]" in str(entry.statement) for entry in caught.traceback
        )
    assert numpy.asarray(slope(data(), 1)).shape == (N, N)


def test_what_is_compared() -> None:
    x = np.arange(3.0)
    assert _giving_way.same_value((x, 1.5), (x + 1e-13, np.float64(1.5)))
    assert not _giving_way.same_value((x, 1.5), (x, 1.6))
    assert not _giving_way.same_value((x,), [x])
    assert not _giving_way.same_value(x, x[:2])


def test_attempts_of_threads_are_their_own() -> None:
    slope = np.grad(relaxed)
    want, found = numpy.asarray(slope(data())), {}

    def work(k: int) -> None:
        found[k] = numpy.asarray(np.grad(lambda b: relaxed(b) * k)(data()))

    threads = [threading.Thread(target=work, args=(k,)) for k in (1, 2, 3)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    for k, got in found.items():
        numpy.testing.assert_allclose(got, k * want, rtol=1e-12)
    assert len(found) == 3 and _giving_way._running.attempt is None


def test_an_attempt_ends_with_its_call() -> None:
    """Whatever the function makes of `GivesWay`, and also if it has not come through yet."""

    def ignoring() -> str:
        for _ in range(3):
            try:
                attempt.tick()
            except GivesWay:
                pass
        return "another result"

    def replacing() -> str:
        try:
            attempt.tick()
        except GivesWay:
            raise ValueError from None
        return "another result"

    for function in (ignoring, replacing):
        attempt = _giving_way.Attempt(lambda spent: None)
        attempt._over = True
        with pytest.raises(GivesWay):
            attempt.run(function)
    attempt = _giving_way.Attempt(lambda spent: None)
    assert attempt.run(ignoring) == "another result"
    attempt._over = True

    def interrupted() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        attempt.run(interrupted)
