"""Nothing kills the process, nothing hangs it: each program here runs in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap

import pytest

from tests.helpers import POLICIES


def run(program: str, policy: str = "adaptive", **settings: str) -> str:
    """What the program prints; it must end by itself, without an error."""
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)],
        env={**os.environ, "LAZYNP_EXECUTION": policy, "LAZYNP_CACHE": "off", **settings},
        capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


# -- destructors that compute ----------------------------------------------------------------------

DESTRUCTORS = """
    import gc
    import lazynp as np

    class Computes:
        def __init__(self, array):
            self.array = array

        def __del__(self):
            self.array[0] = 9
            log.append(float((self.array * 2).sum()))

    log = []
    gc.set_threshold({threshold})
    for i in range(200):
        a = np.arange(5.0) + i
        garbage = Computes(a)
        garbage.me = garbage
        b = (a * 3)[1:]
        b[0] = 1
        del garbage
        assert float(b[1]) == 3 * (2 + i), (i, b.tolist())
    gc.collect()
    assert sorted(log) == [2 * (9 + 10 + 4 * i) for i in range(200)], log
    assert gc.isenabled()
"""


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("threshold", [1, 5])
def test_a_destructor_computes_wherever_the_collector_runs(policy: str, threshold: int) -> None:
    run(DESTRUCTORS.format(threshold=threshold), policy)


def test_a_collector_that_is_off_stays_off() -> None:
    run("""
        import gc
        import lazynp as np
        gc.disable()
        assert float((np.arange(5.0) * 2).sum()) == 20
        assert not gc.isenabled()
    """)


def test_a_destructor_computes_while_lapack_is_imported() -> None:
    run("""
        import gc
        import lazynp as np

        class Computes:
            def __init__(self):
                self.me = self

            def __del__(self):
                log.append(np.linalg.solve(2 * np.eye(2), np.ones(2)).tolist())

        log = []
        gc.set_threshold(5)
        for i in range(5):
            Computes()
            assert np.linalg.solve(4 * np.eye(3), np.ones(3) * i).tolist() == [i / 4] * 3
        gc.collect()
        assert log == [[0.5, 0.5]] * 5
    """, "compiled")  # fmt: skip
