"""A soak test: processes that do what programs do to a library over weeks. `make soak MINUTES=60`.

Each process takes one scenario, one policy and a seed, runs some seconds, compares with NumPy and
must end by itself with exit code 0. What it finds is printed with the command that repeats it.
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import gc
import os
import random
import resource
import signal
import subprocess
import sys
import tempfile
import threading
import time
import traceback
import warnings
import weakref
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy

import lazynp as np
from lazynp._errors import ForkError, InternalError
from tests.helpers import POLICIES
from tests.in_place_programs import InPlaceWriter
from tests.test_fuzz import Writer, mismatch

Random = random.Random
SECONDS = 12.0  # of one process, after it has started
LONGEST = 240.0  # of one process on an idle machine, before it counts as hanging
_NEVER = (InternalError, SystemError, AssertionError, RecursionError, NameError)


class Finding(Exception):
    """A difference from NumPy, or an error that no program may see."""


def _longest() -> float:
    """Seconds before a process counts as hanging, where others want the processors too."""
    return LONGEST * max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))


def _until(seconds: float) -> Iterator[int]:
    end, k = time.monotonic() + seconds, 0
    while time.monotonic() < end:
        yield k
        k += 1


# -- scenarios -------------------------------------------------------------------------------------


def programs(rng: Random, policy: str, seconds: float) -> None:
    """Random programs, while the collector runs all the time and destructors compute."""
    gc.set_threshold(rng.randrange(1, 11))
    with _destructors(rng):
        for _ in _until(seconds):
            seed = rng.randrange(1 << 40)
            writer = rng.choice([Writer, InPlaceWriter])
            statements = writer(seed).program(rng.choice([5, 12, 25]))
            found = mismatch(statements, policy)
            if found:
                name = f"{writer.__name__}({seed}) under {policy}"
                raise Finding("\n".join([name, *statements, found]))


@contextlib.contextmanager
def _destructors(rng: Random) -> Iterator[None]:
    """Garbage whose destructors and weak references' callbacks compute, until this ends."""
    wrong: list[Any] = []
    base = np.arange(5.0)

    class Computes:
        def __init__(self) -> None:
            self.me = self
            self.array = base * 2
            weakref.finalize(self, _compute)

        def __del__(self) -> None:
            self.array[0] = 9
            if float(self.array.sum()) != 29:
                wrong.append(self.array.tolist())

    def _compute() -> None:
        if float((base + 1).sum()) != 15:
            wrong.append("finalizer")

    ended = threading.Event()

    def litter() -> None:
        while not ended.wait(rng.uniform(0, 0.01)):
            Computes()

    thread = threading.Thread(target=litter)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
        gc.collect()
        if wrong:
            raise Finding(f"a destructor computed {wrong[0]}")


def wrong_calls(rng: Random, policy: str, seconds: float) -> None:
    """Calls with arguments of every sort: exceptions, but none of lazynp's own defects."""
    names = sorted(n for n in np.__all__ if callable(getattr(np, n)) and n not in _LEFT_OUT)
    x = np.arange(6.0).reshape(2, 3)
    kept, wanted = x * 3 + 1, (numpy.arange(6.0).reshape(2, 3) * 3 + 1).tolist()
    with np.config(execution=policy):
        for _ in _until(seconds):
            name = rng.choice(names)
            args = [_argument(rng) for _ in range(rng.randrange(4))]
            keys = rng.sample(["axis", "out", "dtype", "where", "keepdims"], rng.randrange(3))
            kwargs = {k: _argument(rng) for k in keys}
            try:
                result = getattr(np, name)(*args, **kwargs)
                if isinstance(result, np.Array) and result.size < 1000:
                    numpy.asarray(result)
            except _NEVER as error:
                call = f"np.{name}(*{args!r}, **{kwargs!r})"
                raise Finding(f"{call}: {type(error).__name__}: {error}") from error
            except Exception:
                pass
            if kept.tolist() != wanted:
                raise Finding(f"np.{name}(*{args!r}, **{kwargs!r}) changed another array")


_LEFT_OUT = {
    "save", "savez", "savez_compressed", "savetxt", "fromfile", "memmap", "load", "loadtxt", "info",
    "genfromtxt", "fromregex", "install", "uninstall", "test", "show_config", "show_runtime",
    "source", "lookfor", "seterr", "seterrcall", "setbufsize", "set_printoptions", "materialize",
    "config", "clear", "printoptions", "errstate", "fromstring", "frombuffer", "profile", "adopt",
    "bmat",
}  # fmt: skip


def _argument(rng: Random) -> Any:
    made: list[Callable[[], Any]] = [
        lambda: np.arange(rng.randrange(5)) * 1.5, lambda: np.zeros((2, 3), "i4"),
        lambda: np.ones((0, 2)), lambda: np.array(3), lambda: np.float64(2.5), lambda: None,
        lambda: rng.randrange(-3, 4), lambda: rng.choice([0.5, float("nan"), 1j, True, "a", b"x"]),
        lambda: [1, 2, 3], lambda: (2, 3), list, lambda: [[1], [2, 3]], lambda: object(),
        lambda: slice(1), lambda: "f8", lambda: np.ones(3, bool), lambda: np.array(["a", "b"]),
        lambda: {"a": 1}, lambda: len, lambda: numpy.ones(3), lambda: np.ones((2, 2), "c8"),
        lambda: (np.arange(4.0) * 2)[1:],
    ]  # fmt: skip
    return rng.choice(made)()


def interrupts(rng: Random, policy: str, seconds: float) -> None:
    """Ctrl-C at any moment: no array is lost, and all can be used afterwards."""
    with np.config(execution=policy):
        for _ in _until(seconds):
            n = rng.choice([3, 1000, 30_000])
            a, wanted = np.zeros(n), numpy.zeros(n)
            b = a[1:]
            caught = 0
            for k in range(6):
                try:
                    signal.setitimer(signal.ITIMER_REAL, rng.uniform(1e-5, 5e-3))
                    try:
                        c = (a * 2 + k)[: n - 1] + b
                        total = float(c.sum())
                    finally:
                        signal.setitimer(signal.ITIMER_REAL, 0)
                except KeyboardInterrupt:
                    caught += 1
                else:
                    if total != float(((wanted * 2 + k)[: n - 1] + wanted[1:]).sum()):
                        raise Finding(f"{total} after {caught} interrupts, size {n}")
                a[k % n] = k + 1
                wanted[k % n] = k + 1
            if a.tolist() != wanted.tolist() or b.tolist() != wanted[1:].tolist():
                raise Finding(f"arrays of {n} differ after {caught} interrupts")


def forks(rng: Random, policy: str, seconds: float) -> None:
    """Children of a process that has computed: NumPy works, lazynp computes or says ForkError."""
    with np.config(execution=policy), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        x = np.arange(1000.0) * 2
        pending = x + 1
        float(x[3])
        for _ in _until(seconds):
            child = os.fork()
            if not child:
                code = 1
                with contextlib.suppress(BaseException):
                    try:
                        value = float((x * 3).sum() + pending[0])
                        code = int(value != 2997001)
                    except ForkError:
                        code = 0
                    code |= int(float(numpy.asarray(x)[5]) != 10)
                os._exit(code)
            status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
            if status or float((x * 3).sum()) != 2997000:
                raise Finding(f"exit code {status} of a forked child")


def threads(rng: Random, policy: str, seconds: float) -> None:
    """Threads that come and go, with arrays of their own and one that all read."""
    shared = np.arange(2000.0) + 0
    total = float(numpy.arange(2000.0).sum())
    wrong: list[str] = []

    def work(seed: int) -> None:
        own = Random(seed)
        with np.config(execution=policy):
            for _ in range(30):
                n = own.choice([1, 7, 500])
                x, y = np.ones(n) * own.randrange(5), numpy.ones(n)
                x[:] = 3
                x += shared[:n]
                y[:] = 3 + numpy.arange(float(n))
                if x.tolist() != y.tolist() or float(shared.sum()) != total:
                    wrong.append(f"thread {seed}, size {n}: {x.tolist()[:5]}")

    for _ in _until(seconds):
        running = [
            threading.Thread(target=work, args=(rng.randrange(1 << 30),), daemon=True)
            for _ in range(rng.randrange(1, 6))
        ]
        for t in running:
            t.start()
        for t in running:
            t.join(_longest())
        if wrong or any(t.is_alive() for t in running):
            raise Finding(wrong[0] if wrong else "a thread hangs")
    for _ in range(2):  # they compute while the process ends
        threading.Thread(target=lambda: [work(k) for k in range(10_000)], daemon=True).start()


def short_memory(rng: Random, policy: str, seconds: float) -> None:
    """Little address space: results, or MemoryError."""
    float((np.ones(1000) * 2).sum())
    size = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    limit = size + (rng.choice([60, 150, 300, 700]) << 20)
    resource.setrlimit(resource.RLIMIT_AS, (limit, resource.RLIM_INFINITY))
    with np.config(execution=policy):
        for k in _until(seconds):
            n = rng.choice([10, 10_000, 2_000_000, 10_000_000])
            try:
                x = np.ones(n) * (k + 1)
                x[0] = 5
                y = np.sort(x * x + 1) if n < 100_000 else x * x + 1
                got = [float(x[0]), float(y.max())]
            except MemoryError:
                continue
            if got != [5, max(26, (k + 1) ** 2 + 1) if n > 1 else 26]:
                raise Finding(f"{got} of {n} elements, round {k}")


def cache(rng: Random, policy: str, seconds: float) -> None:
    """Programs on disk that other processes write, damage, and are killed in the middle of."""
    with tempfile.TemporaryDirectory() as folder:
        settings = {**os.environ, "LAZYNP_CACHE": folder, "LAZYNP_EXECUTION": policy}
        for _ in _until(seconds):
            program = _CACHED.format(n=rng.randrange(2, 9))
            child = subprocess.Popen(
                [sys.executable, "-c", program], env=settings, stderr=subprocess.PIPE
            )
            if rng.random() < 0.4:
                time.sleep(rng.uniform(0.2, 1.5))
                child.kill()
                child.communicate()
            else:
                _, told = child.communicate(timeout=_longest())
                if child.returncode:
                    raise Finding(f"with a cache, exit code {child.returncode}: {told.decode()}")
            _damage(rng, Path(folder))


_CACHED = """
import lazynp as np, numpy, warnings
warnings.simplefilter("ignore")
for n in range({n}, {n} + 4):
    x = np.array(numpy.arange(1000.0 * n))
    y = np.cumsum(np.sin(x) * 0 + x)[::n] * n
    assert float(y[3]) == n * numpy.cumsum(numpy.arange(1000.0 * n))[::n][3]
"""


def _damage(rng: Random, folder: Path) -> None:
    files = [p for p in folder.rglob("*") if p.is_file()]
    if not files or rng.random() < 0.3:
        return
    path = rng.choice(files)
    content = bytearray(path.read_bytes())
    how = rng.randrange(5)
    if how == 0:
        path.write_bytes(content[: rng.randrange(len(content) + 1)])
    elif how == 1 and content:
        content[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
        path.write_bytes(content)
    elif how == 2:
        path.unlink()
        os.mkfifo(path)
    elif how == 3:
        path.unlink()
        path.mkdir()
    else:
        path.write_bytes(rng.randbytes(200))


SCENARIOS: dict[str, Callable[[Random, str, float], None]] = {
    f.__name__: f for f in (programs, wrong_calls, interrupts, forks, threads, short_memory, cache)
}


# -- processes -------------------------------------------------------------------------------------


def child(scenario: str, policy: str, seed: int, seconds: float) -> int:
    """One scenario, in this process. Memory may grow while programs are new, but not for ever."""
    warnings.simplefilter("ignore")
    signal.signal(signal.SIGALRM, signal.default_int_handler)
    try:
        SCENARIOS[scenario](Random(seed), policy, seconds)
    except BaseException:
        traceback.print_exc()
        return 1
    return 0


def run(scenario: str, policy: str, seed: int, seconds: float) -> str | None:
    """What went wrong in a process of its own; None if nothing did."""
    command = [sys.executable, "-X", "faulthandler", "-m", "tests.soak", "--scenario", scenario]
    command += ["--policy", policy, "--seed", str(seed), "--seconds", f"{seconds:g}"]
    settings = {"LAZYNP_CACHE": "off", **os.environ}
    try:
        done = subprocess.run(
            command, env=settings, capture_output=True, text=True, timeout=seconds + 2 * _longest(),
            cwd=Path(__file__).parent.parent,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return f"it hangs: {' '.join(command[3:])}"
    if not done.returncode:
        return None
    return f"exit code {done.returncode}: {' '.join(command[3:])}\n{done.stderr[-6000:]}"


def soak(minutes: float, seed: int, seconds: float, policies: Sequence[str]) -> int:
    rng, begin = Random(seed), time.monotonic()
    counted: collections.Counter[str] = collections.Counter()
    findings = 0
    print(f"soak: {minutes:g} minutes of {', '.join(policies)}, seed {seed}", flush=True)
    turns = [(s, p) for p in policies for s in SCENARIOS]
    while time.monotonic() < begin + 60 * minutes:
        if not counted.total() % len(turns):
            rng.shuffle(turns)
        scenario, policy = turns[counted.total() % len(turns)]
        found = run(scenario, policy, rng.randrange(1 << 40), seconds)
        counted[scenario] += 1
        if found:
            findings += 1
            print(f"\n== {scenario} under {policy}: {found}", flush=True)
    told = ", ".join(f"{n} of {name}" for name, n in sorted(counted.items()))
    print(f"soak: {counted.total()} processes ({told}), {findings} findings", flush=True)
    return int(findings > 0)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("minutes", type=float, nargs="?", default=10)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--seconds", type=float, default=SECONDS, help="of one process")
    parser.add_argument("--scenario", choices=SCENARIOS)
    parser.add_argument("--policy", choices=POLICIES, help="of all processes; else all in turn")
    given = parser.parse_args()
    if given.scenario:
        return child(given.scenario, given.policy or "adaptive", given.seed, given.seconds)
    policies = [given.policy] if given.policy else POLICIES
    return soak(given.minutes, given.seed, given.seconds, policies)


if __name__ == "__main__":
    sys.exit(main())
