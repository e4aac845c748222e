"""A process that is lost, or does not come: an error that names it, in time, everywhere."""

from __future__ import annotations

import re
import signal
import time
from pathlib import Path

import pytest

from tests.distributed.running import LATE, LIMIT, TOLD, Done, command, launched, script, started

pytestmark = pytest.mark.own_policy  # it starts processes; the arrays are in test_group

BEGIN = """
import threading
A = numpy.arange(64.0).reshape(8, 8)
u = np.device_put(A, rows())
assert u.sum() == 2016
victim, began = int(sys.argv[1]), time.time()
def round(i):
    global began
    began = time.time()
    return float((u * (i + 1)).sum())
def after(error):
    print("raised", f"{time.time() - began:.2f}", error)
    x = np.ones(5000) * 2
    assert x.sum() == 10000  # local arrays work
    again = time.time()
    for call in (lambda: round(0), barrier, lambda: print(u)):
        try: call()
        except DistributedError as e: assert str(e).split(" (")[0] in str(error), (e, error)
        else: raise AssertionError("no error")
    assert time.time() - again < 60  # at once, not after the collective timeout
    shutdown()
"""
END = """
except DistributedError as error:
    after(error)
    raise
finally:
    print("finally")
"""


SOON = 50  # seconds, less than any timeout by default; busy machines stop processes for some


def lost(done: Done, victim: int, count: int, *words: str) -> None:
    """All others have raised the same error, in time, and ended in good order."""
    assert done.code != 0
    for k in set(range(count)) - {victim}:
        said = [line for line in done.of(k) if line.startswith("raised")]
        assert len(said) == 1, (k, done.of(k), done.errors[-2000:])
        assert float(said[0].split()[1]) < SOON
        assert f"process {victim} " in said[0]
        for word in words:
            assert re.search(word, said[0]), said[0]
        assert done.of(k)[-1] == "finally" and "DistributedError" in done.error_of(k)
    assert "terminate" not in done.errors and "Fatal" not in done.errors


@pytest.mark.parametrize(("count", "victim"), [(2, 0), (4, 2)])
def test_one_that_is_killed(tmp_path: Path, count: int, victim: int) -> None:
    text = (
        BEGIN
        + """
try:
    for i in range(100_000):
        if k == victim and i == 20: threading.Timer(0.05, os.kill, (os.getpid(), 9)).start()
        assert round(i) == 2016 * (i + 1), "a wrong number"
"""
    )
    done = launched(tmp_path, text + END, count, 1, str(victim))
    assert done.code == 137
    lost(done, victim, count, "was lost", r"last at operation \d+ \(program\) at .*script.py:20")


def test_one_that_is_killed_in_a_long_program(tmp_path: Path) -> None:
    text = (
        BEGIN
        + """
def long(x):
    return np.fori_loop(0, 20_000, lambda i, s: s * 0.5 + (x * s[0]).sum(0), np.zeros(8))
try:
    long = np.jit(long)
    if k == victim: threading.Timer(3, os.kill, (os.getpid(), 9)).start()
    for i in range(100_000):
        began = time.time()
        numpy.asarray(long(u))
"""
    )
    done = launched(tmp_path, text + END, 4, 1, "1")
    assert done.code == 137
    lost(done, 1, 4, "was lost")


def test_one_that_is_stopped(tmp_path: Path) -> None:
    text = (
        BEGIN
        + f"""
try:
    if k == victim:
        parent = os.getpid()
        if os.fork() == 0:  # who lets it go on to its end, so that the launcher need not wait
            {LATE.format(15)}
            os.kill(parent, 9)
            os._exit(0)
        os.kill(parent, signal.SIGSTOP)
    began = time.time()
    print(u)
"""
    )
    text += END + f"    {TOLD}"
    done = launched(tmp_path, text, 2, 1, "1", heartbeat_timeout=4)
    lost(done, 1, 2, "gave no sign of life for 4 s")


@pytest.mark.parametrize(
    ("act", "words"),
    [
        ("sys.exit(3)", "has ended with the exit code 3"),
        (LATE.format(20) + "; 1 / 0", "did not come within 5 s"),
    ],
    ids=["ended", "late"],
)
def test_one_that_does_not_come(tmp_path: Path, act: str, words: str) -> None:
    text = (
        BEGIN
        + f"""
try:
    if k == victim:
        {act}
    began = time.time()
    print(u)
"""
    )
    text += END + f"    {TOLD}"
    done = launched(tmp_path, text, 2, 1, "1", collective_timeout=60 if "exit" in act else 5)
    last = r"last at operation 1 \(program\) at .*script.py:15"
    lost(done, 1, 2, words, r"process 0 at .*script.py:\d+", last)


SAVED = "to save another path, tree, or shape, dtype or sharding of an array than others"


@pytest.mark.parametrize(
    ("act", "words"),
    [
        ("print(u if k == victim else u * 2)", "came to another program"),
        ("float((u * numpy.full(8, k == victim)).max())", "other values of arrays"),
        ("barrier() if k == victim else print(u)", "another operation .a program, barrier"),
        ("save('c', {'a': u} if k == victim else {'b': u})", SAVED),
        ("save('c', {'a': numpy.ones(3 + (k == victim))})", SAVED),
        ("save('c', {'a': numpy.ones(3, 'f4' if k == victim else 'f8')})", SAVED),
        ("save('c', numpy.arange(96.0).reshape(12, 8) if k == victim else u)", SAVED),
        ("save('d' if k == victim else 'c', u)", SAVED),
    ],
)
def test_one_that_does_something_else(tmp_path: Path, act: str, words: str) -> None:
    act = f"os.chdir({str(tmp_path)!r}); {act}"
    text = BEGIN + f"\ntry:\n    began = time.time()\n    {act}\n" + END
    text = text.replace("arange(64.0).reshape(8, 8)", "arange(96.0).reshape(12, 8)")
    done = launched(tmp_path, text.replace("2016", "4560"), 3, 1, "1")
    assert not any((tmp_path / name).exists() for name in "cd")
    for k in range(3):
        said = [line for line in done.of(k) if line.startswith("raised")]
        assert len(said) == 1 and "process 1 came to" in said[0], done.errors[-2000:]
        assert re.search(words, said[0]), said[0]
        assert float(said[0].split()[1]) < SOON


def test_an_interrupt_ends_the_others_too(tmp_path: Path) -> None:
    text = (
        BEGIN
        + """
try:
    if k == victim:
        threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
        print(u)
    time.sleep(2)
    began = time.time()
    print(u)
"""
    )
    done = launched(tmp_path, text + END, 2, 1, "0")
    assert done.error_of(0) == "KeyboardInterrupt"
    lost(done, 0, 2, "process 0 failed: interrupted by KeyboardInterrupt")


def test_without_its_service_a_process_raises(tmp_path: Path) -> None:
    text = (
        BEGIN
        + """
print("ready", flush=True)
os.dup2(os.open(sys.argv[2] + str(k), os.O_CREAT | os.O_WRONLY), 1)
try:
    for i in range(100_000):
        round(i)
"""
    )
    file = script(tmp_path, text + END)
    with started([command(2, 1, file, "9", str(tmp_path / "out"))]) as (launcher,):
        for _ in range(2):
            assert "ready" in launcher.stdout.readline()
        launcher.send_signal(signal.SIGKILL)
        launcher.wait(LIMIT)
        for k in range(2):
            out = tmp_path / f"out{k}"
            end = time.monotonic() + LIMIT
            while not out.exists() or "finally" not in out.read_text():
                assert time.monotonic() < end
                time.sleep(0.1)
            said = out.read_text().splitlines()
            assert "the coordination service was lost" in said[0] and said[-1] == "finally"
