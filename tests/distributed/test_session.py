"""initialize and what processes tell each other, without the launcher."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

import lazynp as np
from lazynp import distributed
from lazynp.distributed._environment import first_host, said_place, said_timeout
from lazynp.distributed._wire import free_port
from tests.distributed.running import LATE, LIMIT, TOLD, environment, launched, script, started

pytestmark = pytest.mark.own_policy  # it starts processes; the arrays are in test_group

NO_HEAD = (
    "import os, sys, time\nimport numpy\nimport lazynp as np\nfrom lazynp.distributed import *\n"
)


def said(code: str, **settings: Any) -> str:
    run = subprocess.run(
        [sys.executable, "-c", NO_HEAD + code], capture_output=True, text=True, timeout=LIMIT,
        env=environment(**settings),
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    return run.stdout.strip()


def refused(call: str, before: str = "") -> str:
    """The error of a call, after which the process goes on."""
    return said(
        f"{before}\ntry: {call}\nexcept Exception as e: print(type(e).__name__, e)\n"
        "assert (np.ones(5000) * 2).sum() == 10000 and not is_initialized()"
    )


def test_alone_everything_works(tmp_path: Path) -> None:
    assert (np.process_index(), np.process_count()) == (0, 1)
    assert not distributed.is_initialized()
    distributed.barrier("a", timeout=1)
    tree = {"a": [1, None]}
    assert distributed.broadcast(tree) == tree
    assert distributed.allgather([1.0, 2.0]).tolist() == [[1.0, 2.0]]
    distributed.shutdown()
    assert said("initialize(num_processes=1, process_id=0); print(is_initialized())") == "True"


def test_wrong_numbers_are_value_errors() -> None:
    for call, message in (
        ("initialize('h:1', 2, 2)", "ValueError initialize: process_id must be 0 to 1, got 2"),
        ("initialize('h:1', 2, -1)", "ValueError initialize: process_id must be 0 to 1, got -1"),
        ("initialize('h:1', 0, 0)", "ValueError initialize: num_processes must be at least 1"),
        ("initialize('h', 2, 0)", "ValueError coordinator_address must be host:port, got 'h'"),
        ("initialize('h:1', 2)", "ValueError initialize: process_id is required"),
        ("initialize('h:1')", "ValueError initialize: num_processes is required"),
        ("initialize(None, 2, 0)", "ValueError initialize: coordinator_address is required"),
        ("initialize('h:1', 2, 0, heartbeat_timeout=0)", "ValueError heartbeat_timeout must be"),
    ):
        with pytest.raises(ValueError) as error:
            eval(call.replace("initialize", "distributed.initialize"))
        assert message.removeprefix("ValueError ") in str(error.value), call
    assert not distributed.is_initialized()


@pytest.mark.parametrize("numbers", [(2.5, 0), (2, 1.0), ("2", 0), (2, "0")])
def test_numbers_of_processes_are_integers(numbers: Any) -> None:
    """2.5 processes were awaited."""
    with pytest.raises(TypeError, match="initialize: (num_processes|process_id) must be an integ"):
        distributed.initialize("127.0.0.1:1", *numbers, initialization_timeout=1)
    assert not distributed.is_initialized()


def test_after_a_device_was_used_it_is_refused() -> None:
    before = "np.config(execution='compiled'); (np.ones(5000) * 2).sum() + 0; np.stats()\n"
    before += "print(np.ones(5).sum())"
    assert "RuntimeError initialize: a device was used" in refused(
        "initialize('h:1', 2, 0)", before
    )


def test_nobody_there_is_an_error_in_time() -> None:
    port = free_port("127.0.0.1")
    began = time.monotonic()
    text = refused(f"initialize('127.0.0.1:{port}', 2, 1, initialization_timeout=1)")
    assert f"DistributedError initialize: nobody answers at 127.0.0.1:{port} within 1 s" in text
    assert time.monotonic() - began < LIMIT / 2


def test_the_missing_process_is_named() -> None:
    port = free_port("127.0.0.1")
    text = refused(f"initialize('127.0.0.1:{port}', 3, 0, initialization_timeout=5)")
    assert f"DistributedError initialize: 127.0.0.1:{port}: processes 1, 2 did not come" in text


def test_an_address_that_is_not_ours_is_an_error() -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:  # answers, but speaks no word
        port = other.getsockname()[1]
        text = refused(f"initialize('127.0.0.1:{port}', 2, 0, initialization_timeout=1)")
        assert f"initialize: 127.0.0.1:{port}: processes 0, 1 did not come within 1 s" in text
    text = refused("initialize('192.0.2.1:9', 2, 0, initialization_timeout=9)")
    assert "initialize: the coordination service cannot be started at 192.0.2.1:9" in text


TALK = """
initialize(f"127.0.0.1:{sys.argv[1]}", 2, int(sys.argv[2]), heartbeat_timeout=30)
k = np.process_index()
assert broadcast({"k": k + 5}, source=1) == {"k": 6}
assert allgather(numpy.arange(2) + k).tolist() == [[0, 1], [1, 2]]
assert (np.ones(5000) * 2).sum() == 10000
try: initialize()
except RuntimeError as e: assert "called before" in str(e)
try: np.config(cpu_devices=3)
except RuntimeError: pass
else: raise AssertionError
barrier("end")
print("done", k)
"""


def test_process_0_starts_the_service(tmp_path: Path) -> None:
    port = str(free_port("127.0.0.1"))
    file = script(tmp_path, TALK, NO_HEAD)
    with started([[sys.executable, file, port, str(k)] for k in range(2)]) as processes:
        for k, process in enumerate(processes):
            out, errors = process.communicate(timeout=LIMIT)
            assert (out, errors, process.returncode) == (f"done {k}\n", "", 0)


def test_what_processes_tell_each_other(tmp_path: Path) -> None:
    done = launched(
        tmp_path,
        """
        got = broadcast({"x": np.arange(3) * (k + 1), "f": len}, source=1)
        assert got["x"].tolist() == [0, 2, 4] and got["f"] is len
        big = allgather(np.full(300_000, float(k)))
        assert big.shape == (3, 300_000) and big.sum(1).tolist() == [0, 3e5, 6e5]
        assert allgather(np.float32(k)).dtype == "f4" and allgather(k).tolist() == [0, 1, 2]
        try: allgather(np.ones(k + 1))
        except ValueError as e: print(e)
        try: broadcast((lambda: 0) if k == 2 else None, source=2)
        except DistributedError as e: print("lost" if k == 2 else e)
        except Exception as e: print("own error")
        try: broadcast(1, source=3)
        except ValueError as e: print(e)
        began = time.time()
        if k == 1: time.sleep(0.5)
        barrier("a")
        assert time.time() - began > 0.45 or k != 0
        shutdown(); shutdown()
        print(is_initialized(), process_index(), (np.ones(3, device=np.default_device()) + 1).sum())
        try: barrier()
        except DistributedError as e: print(e)
        """,
        3,
    )  # fmt: skip
    assert done.code == 0, done.errors
    for k in range(3):
        shape, source, missing, after, error = done.of(k)
        assert "process 1 gave float64(2,), process 0 float64(1,)" in shape
        assert source == "own error" if k == 2 else "process 2 failed" in source
        assert missing == "broadcast: source must be 0 to 2, got 3"
        assert after == f"False {k} 6.0" and "shutdown() was called" in error


def test_a_barrier_has_a_timeout_of_its_own(tmp_path: Path) -> None:
    done = launched(
        tmp_path,
        f"""
        if k: {LATE.format(12)}
        began = time.time()
        try: barrier("a", timeout=0.5)
        except DistributedError as e: print(time.time() - began < 11, e)
        {TOLD}
        """,
    )
    for k in range(2):
        assert "True process 1 did not come within 0.5 s to the barrier" in done.of(k)[0]
        assert "script.py:14" in done.of(k)[0]


def test_the_environment_says_the_place(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("COORDINATOR", "NUM_PROCESSES", "PROCESS_ID"):
        monkeypatch.delenv(f"LAZYNP_{name}", raising=False)
    assert said_place() == (None, None, None)
    slurm = {"STEP_NUM_TASKS": "8", "PROCID": "3", "JOB_ID": "70000", "STEP_NODELIST": "n[07-9],m"}
    for name, value in slurm.items():
        monkeypatch.setenv(f"SLURM_{name}", value)
    assert said_place() == (f"n07:{61440 + 70000 % 4096}", 8, 3)
    monkeypatch.setenv("LAZYNP_PROCESS_ID", "5")
    monkeypatch.setenv("LAZYNP_COORDINATOR", "h:1")
    assert said_place() == ("h:1", 8, 5)
    monkeypatch.delenv("SLURM_JOB_ID")
    monkeypatch.setenv("OMPI_COMM_WORLD_SIZE", "4")
    monkeypatch.setenv("OMPI_COMM_WORLD_RANK", "2")
    monkeypatch.setenv("OMPI_MCA_orte_hnp_uri", "1531576320.0;tcp://10.96.0.1,10.148.0.1:34911")
    assert said_place() == ("h:1", 4, 5)
    monkeypatch.delenv("LAZYNP_COORDINATOR")
    assert said_place().coordinator == f"10.96.0.1:{61440 + (1531576320 >> 12) % 4096}"
    monkeypatch.setenv("LAZYNP_PROCESS_ID", "x")
    with pytest.raises(ValueError, match="LAZYNP_PROCESS_ID must be a number, got 'x'"):
        said_place()


SLURM = {"SLURM_JOB_ID": "7", "SLURM_NTASKS": "1", "SLURM_PROCID": "0", "SLURM_JOB_NODELIST": "n1"}
OPEN_MPI = {"OMPI_COMM_WORLD_SIZE": "4", "OMPI_COMM_WORLD_RANK": "2"}
URI = "OMPI_MCA_orte_hnp_uri"
NAMED = {"PMIX_NAMESPACE": "prterun-host-77@1"}  # the job, of Open MPI 5: it sets no URI


@pytest.mark.parametrize(
    ("variables", "place"),
    [
        (SLURM | {"SLURM_STEP_ID": "2"}, ("n1:61569", 1, 0)),
        # mpirun within a job of SLURM's: this is one task to SLURM
        (SLURM | OPEN_MPI | {URI: "8192.0;tcp://10.0.0.1:34"}, ("10.0.0.1:61442", 4, 2)),
        (SLURM | OPEN_MPI | NAMED, ("n1:61447", 4, 2)),
        (OPEN_MPI | {URI: "8192.0;tcp6://[fe80::b,2620:1::2]:34"}, ("[fe80::b]:61442", 4, 2)),
        (OPEN_MPI | NAMED | {"OMPI_COMM_WORLD_LOCAL_SIZE": "4"}, ("127.0.0.1:65031", 4, 2)),
        (OPEN_MPI | NAMED | {"OMPI_COMM_WORLD_LOCAL_SIZE": "2"}, (None, 4, 2)),
    ],
)
def test_places_that_open_mpi_and_slurm_say(
    monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], place: Any
) -> None:
    for name in list(os.environ):
        if name.startswith(("LAZYNP_", "SLURM_", "OMPI_", "PMIX_")):
            monkeypatch.delenv(name)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert said_place() == place


def _job_with_a_free_port() -> int:
    """The number of a job whose port nobody has."""
    for job in range(4096):
        try:
            with socket.create_server(("127.0.0.1", 61440 + job)):
                return job
        except OSError:
            continue
    raise AssertionError("no port is free")


def _of_slurm(job: int, k: int) -> dict[str, str]:
    return {"SLURM_JOB_ID": str(job), "SLURM_NTASKS": "2", "SLURM_PROCID": str(k),
            "SLURM_JOB_NODELIST": "127.0.0.1"}  # fmt: skip


def _of_open_mpi(job: int, k: int) -> dict[str, str]:
    uri = f"{job << 12}.0;tcp://127.0.0.1,192.0.2.1:34911"
    return {"OMPI_COMM_WORLD_SIZE": "2", "OMPI_COMM_WORLD_RANK": str(k),
            "OMPI_MCA_orte_hnp_uri": uri}  # fmt: skip


BY_THE_ENVIRONMENT = """
initialize()
k, P = np.process_index(), np.PartitionSpec
assert np.process_count() == 2 and len(np.devices()) == 2
x = np.device_put(numpy.arange(4.0), np.NamedSharding(np.make_mesh((2,), ("x",)), P("x")))
print(k, float((x * 2).sum()), allgather(k).tolist())
"""


@pytest.mark.parametrize("of_launcher", [_of_slurm, _of_open_mpi])
def test_processes_that_slurm_or_open_mpi_started(tmp_path: Path, of_launcher: Any) -> None:
    """Two processes with the variables that these set, and nothing else, make a group."""
    file, job = script(tmp_path, BY_THE_ENVIRONMENT, NO_HEAD), _job_with_a_free_port()
    own = {k: v for k, v in environment().items() if not k.startswith(("SLURM_", "OMPI_"))}
    for name in ("COORDINATOR", "NUM_PROCESSES", "PROCESS_ID"):
        own.pop(f"LAZYNP_{name}", None)
    pipe = subprocess.PIPE
    processes = [
        subprocess.Popen(
            [sys.executable, file], env=own | of_launcher(job, k), stdout=pipe, stderr=pipe,
            text=True,
        )
        for k in range(2)
    ]  # fmt: skip
    try:
        for k, process in enumerate(processes):
            out, errors = process.communicate(timeout=LIMIT)
            last = out.strip().rpartition("\n")[2]  # gloo may say something before
            assert (last, process.returncode) == (f"{k} 12.0 [0, 1]", 0), errors
    finally:
        for process in processes:
            process.kill()
            process.communicate()


def test_what_slurm_leaves_out_is_asked_for() -> None:
    variables = {"SLURM_JOB_ID": "7", "SLURM_NTASKS": "2", "SLURM_PROCID": "1"}
    code = "import lazynp.distributed as d\ntry: d.initialize()\nexcept ValueError as e: print(e)"
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=LIMIT,
        env=environment() | variables,
    )  # fmt: skip
    assert "coordinator_address is required: no variable says it" in run.stdout, run.stderr
    bad = variables | {"SLURM_PROCID": "one"}
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=LIMIT,
        env=environment() | bad,
    )  # fmt: skip
    assert "SLURM_PROCID must be a number, got 'one'" in run.stdout, run.stderr


@pytest.mark.parametrize(
    ("nodes", "first"),
    [
        ("a", "a"), ("a,b", "a"), ("n[1-3]", "n1"), ("n[007,9]-x,m", "n007-x"),
        ("h.org,i", "h.org"), ("r[0-1]n[03,5],m", "r0n03"), ("a-[2]b[4-5]c,d[1]", "a-2b4c"),
    ],
)  # fmt: skip
def test_hosts_of_slurm(nodes: str, first: str) -> None:
    assert first_host(nodes) == first


def test_timeouts_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    assert said_timeout("heartbeat", None) == 10 and said_timeout("collective", 2) == 2
    monkeypatch.setenv("LAZYNP_HEARTBEAT_TIMEOUT", "2.5")
    assert said_timeout("heartbeat", None) == 2.5 and said_timeout("heartbeat", 1) == 1
    monkeypatch.setenv("LAZYNP_HEARTBEAT_TIMEOUT", "soon")
    with pytest.raises(ValueError, match="LAZYNP_HEARTBEAT_TIMEOUT must be a positive number"):
        said_timeout("heartbeat", None)


def test_an_import_loads_none_of_it() -> None:
    code = "print([m for m in sys.modules if m.startswith('lazynp.distributed')])"
    run = [sys.executable, "-c", f"import sys, lazynp as np\nnp.process_count()\n{code}"]
    assert subprocess.run(run, capture_output=True, text=True).stdout == "[]\n"
