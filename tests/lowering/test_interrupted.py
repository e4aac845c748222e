"""A signal while XLA compiles: the program that it reads stays, whatever becomes of who asked."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap

import pytest

pytestmark = [
    pytest.mark.own_policy,
    pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs a timer"),
]

INTERRUPTED = """
    import signal, sys
    import lazynp as np, numpy

    class Rings(Exception):
        pass

    def ring(*args):
        raise Rings

    float((np.ones(3) * 2).sum())
    signal.signal(signal.SIGALRM, ring)
    for n in range(4):
        x = np.array(numpy.arange(50.0 + n))
        for k in range(40):
            x = np.sin(x * k) + np.roll(x, 1)
        signal.setitimer(signal.ITIMER_REAL, {after})
        try:
            x.tolist()
            signal.setitimer(signal.ITIMER_REAL, 0)  # a quick machine compiles before it rings
        except Rings:
            pass
"""


def run(program: str, **settings: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)],
        env={**os.environ, "LAZYNP_EXECUTION": "compiled", "LAZYNP_CACHE": "off", **settings},
        capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


@pytest.mark.parametrize("after", [0.02, 0.06, 0.1, 0.15])
def test_the_process_ends_as_usual(after: float) -> None:
    """While XLA's threads go on with what was given up."""
    run(INTERRUPTED.format(after=after))


def test_xla_is_not_left_in_the_middle() -> None:
    """The exception comes at once, while a thread of ours waits for XLA to end.

    A busy machine may let XLA end before the main thread runs again; then another program follows.
    """
    said = run("""
        import signal, time
        import lazynp as np, numpy
        from lazynp.lowering import _background

        class Rings(Exception):
            pass

        def ring(*args):
            raise Rings

        begin = _background._compile
        ended = []

        def interrupted(*args):
            signal.setitimer(signal.ITIMER_REAL, 0.02)
            try:
                return begin(*args)
            finally:
                ended.append(True)

        float((np.ones(3) * 2).sum())
        signal.signal(signal.SIGALRM, ring)
        for tries in range(8):
            ended.clear()
            x = np.array(numpy.arange(50.0 + tries))
            for k in range(150):
                x = np.sin(x * k) + np.roll(x, 1)
            _background._compile = interrupted
            try:
                x.tolist()
                signal.setitimer(signal.ITIMER_REAL, 0)
                continue  # it never rang
            except Rings:
                while_it_runs = not ended
            _background._compile = begin
            while not ended:
                time.sleep(0.01)
            if while_it_runs:
                break
        print(while_it_runs, numpy.isfinite(x[3].item()))
    """)
    assert said.split() == ["True", "True"]
