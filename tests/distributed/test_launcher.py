"""`python -m lazynp.distributed`: output, exit codes, signals."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.distributed.running import LIMIT, command, environment, launched, script, started

pytestmark = pytest.mark.own_policy  # it starts processes; the arrays are in test_group


def test_each_process_knows_its_place(tmp_path: Path) -> None:
    done = launched(
        tmp_path,
        """
        print(k, n, is_initialized(), np.device_count(), np.local_device_count(), sys.argv[1:])
        print(np.local_devices(), np.default_device(), np.ones(2).device, np.ones(2).sum())
        print([d.process_index for d in np.devices()], __name__, "jaxlib" in sys.modules)
        """,
        3, 2, "a", "-b",
    )  # fmt: skip
    assert done.code == 0 and done.errors == ""
    for k in range(3):
        first = f"cpu:{2 * k}" if k else "cpu"
        assert done.of(k) == [
            f"{k} 3 True 6 2 ['a', '-b']",
            f"[Device('{first}'), Device('cpu:{2 * k + 1}')] {first} {first} 2.0",
            "[0, 0, 1, 1, 2, 2] __main__ True",
        ]


def test_output_comes_in_whole_lines(tmp_path: Path) -> None:
    done = launched(
        tmp_path,
        """
        for i in range(200):
            sys.stdout.write(f"{k}:")
            sys.stdout.flush()
            sys.stdout.write("x" * 50 + "\\n")
        sys.stdout.write("the end")
        print("a warning", file=sys.stderr)
        """,
    )
    for k in range(2):
        assert done.of(k) == [f"{k}:" + "x" * 50] * 200 + ["the end"]
        assert done.error_of(k) == "a warning"


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("sys.exit('so' if k else None)", 1),
        ("k and os.kill(os.getpid(), 9)", 137),
        ("k or os._exit(5)\ntime.sleep(0.5)\nos._exit(6)", 5),
        # what it does at its end takes longer than the other needs to fail because of it
        ("import atexit\nk and atexit.register(time.sleep, 1)\nk and sys.exit(7)\nbarrier('b')", 7),
    ],
)
def test_the_exit_code_is_the_first_failures(tmp_path: Path, text: str, code: int) -> None:
    assert launched(tmp_path, text).code == code


def test_a_traceback_is_the_scripts(tmp_path: Path) -> None:
    done = launched(tmp_path, "def f():\n    raise KeyError('no')\nif k: f()")
    lines = [line for line in done.errors.splitlines() if line.startswith("[1]")]
    assert lines[0] == "[1] Traceback (most recent call last):" and lines[-1].endswith("'no'")
    assert sum("File " in line for line in lines) == 2


def test_modules_and_flags(tmp_path: Path) -> None:
    (tmp_path / "mod.py").write_text(
        "import sys, lazynp as np\n"
        "print(np.process_index(), sys.argv[1:], __name__, sys.flags.optimize)\n"
    )
    run = [sys.executable, "-O", *command(2, 1, "-m", "mod", "x")[1:]]
    path = {**environment(), "PYTHONPATH": str(Path(__file__).parents[2])}
    done = subprocess.run(
        run, cwd=tmp_path, env=path, capture_output=True, text=True, timeout=LIMIT
    )
    assert sorted(done.stdout.splitlines()) == [f"[{k}] {k} ['x'] __main__ 1" for k in range(2)]


@pytest.mark.parametrize(
    "args", [[], ["-n", "2"], ["-n", "0", "x"], ["-n", "2", "-m"], ["--huh", "x"], ["-n"]]
)
def test_wrong_options_show_how(args: list[str]) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "lazynp.distributed", *args],
        capture_output=True, text=True, timeout=LIMIT,
    )  # fmt: skip
    assert done.returncode == 2 and "-n 4 [--devices K] script.py" in done.stderr


def test_a_script_that_is_missing_fails_everywhere(tmp_path: Path) -> None:
    run = command(2, 1, str(tmp_path / "none.py"))
    done = subprocess.run(run, capture_output=True, text=True, timeout=LIMIT)
    assert done.returncode == 1 and "FileNotFoundError" in done.stderr


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_signals_reach_all(tmp_path: Path, number: int, code: int) -> None:
    text = """
    try:
        print("ready", flush=True)  # inside: the signal may come before print returns
        if k:
            barrier()
        time.sleep(1000)
    finally:
        print("finally", flush=True)
    """
    with started([command(3, 1, script(tmp_path, text))]) as (launcher,):
        for _ in range(3):
            assert "ready" in launcher.stdout.readline()
        launcher.send_signal(number)
        out, errors = launcher.communicate(timeout=LIMIT)
    assert launcher.returncode == code
    if number == signal.SIGINT:
        assert out.count("finally") == 3 and errors.count("KeyboardInterrupt") >= 3


def test_a_second_interrupt_kills(tmp_path: Path) -> None:
    """As at a terminal, which sends it to the whole group: each process sees the first one once."""
    text = """
    try:
        print("ready", flush=True)
        time.sleep(1000)
    except KeyboardInterrupt:
        print("stays", flush=True)
        time.sleep(1000)
    """
    pipe = subprocess.PIPE
    launcher = subprocess.Popen(
        command(2, 1, script(tmp_path, text)), env=environment(), stdout=pipe, stderr=pipe,
        text=True, start_new_session=True,
    )  # fmt: skip
    try:
        for word in ("ready", "stays"):
            lines = {launcher.stdout.readline() for _ in range(2)}  # type: ignore
            assert lines == {f"[{k}] {word}\n" for k in range(2)}
            os.killpg(launcher.pid, signal.SIGINT)
        said = launcher.communicate(timeout=LIMIT)
    finally:
        launcher.kill()
    assert launcher.returncode == 137 and said == ("", "")


def test_those_that_stay_long_after_a_failure_are_ended(tmp_path: Path) -> None:
    text = """
    if k == 0:
        sys.exit(4)
    signal.signal(signal.SIGTERM, lambda *_: (print("asked to end"), sys.exit(0)))
    time.sleep(1000)
    """
    run = (
        "import sys; from lazynp.distributed import _launcher; _launcher._GRACE = 0.5; "
        f"sys.exit(_launcher.launch(2, 1, [{script(tmp_path, text)!r}]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", run], env=environment(heartbeat_timeout=4),
        capture_output=True, text=True, timeout=LIMIT,
    )  # fmt: skip
    assert done.returncode == 4 and done.stdout == "[1] asked to end\n"
