"""What the environment says of the group: lazynp's variables, else Open MPI's, else SLURM's."""

from __future__ import annotations

import os
import re
import zlib
from typing import NamedTuple

from lazynp.distributed._wire import text_of

DEFAULTS = {"initialization": 60.0, "heartbeat": 10.0, "collective": 300.0}


class Place(NamedTuple):
    """Where the service is, how many processes there are, and which this one is."""

    coordinator: str | None
    count: int | None
    index: int | None


def said_place() -> Place:
    """What the environment says; None where it says nothing. Raises ValueError."""
    ours = Place(
        os.environ.get("LAZYNP_COORDINATOR") or None,
        _number("LAZYNP_NUM_PROCESSES"),
        _number("LAZYNP_PROCESS_ID"),
    )
    # In a job of SLURM's, what `mpirun` starts has SLURM's variables of one task, all the same.
    theirs = _open_mpi() or _slurm() or Place(None, None, None)
    return Place(
        ours.coordinator or theirs.coordinator,
        theirs.count if ours.count is None else ours.count,
        theirs.index if ours.index is None else ours.index,
    )


def said_timeout(name: str, given: float | None) -> float:
    """The seconds of a timeout: as given, else as LAZYNP_NAME_TIMEOUT says, else the default."""
    variable = f"LAZYNP_{name.upper()}_TIMEOUT"
    text = os.environ.get(variable, "")
    where, value = f"{name}_timeout", given
    if given is None and text:
        where, value = variable, _seconds(text)
    elif given is None:
        return DEFAULTS[name]
    if not isinstance(value, int | float) or not 0 < value < 1e7:
        raise ValueError(f"{where} must be a positive number of seconds, got {value!r}")
    return float(value)


def _seconds(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text


def _number(variable: str) -> int | None:
    text = os.environ.get(variable, "")
    if text and not text.isdecimal():
        raise ValueError(f"{variable} must be a number, got {text!r}")
    return int(text) if text else None


def _slurm() -> Place | None:
    count = _number("SLURM_STEP_NUM_TASKS") or _number("SLURM_NTASKS")
    index = _number("SLURM_PROCID")
    if count is None or index is None or _number("SLURM_JOB_ID") is None:
        return None
    return Place(_slurms_address(), count, index)


def _slurms_address() -> str | None:
    nodes = os.environ.get("SLURM_STEP_NODELIST") or os.environ.get("SLURM_JOB_NODELIST", "")
    job = _number("SLURM_JOB_ID")
    if not nodes or job is None:
        return None
    # the steps of a job may run at the same time, on the same hosts
    return f"{first_host(nodes)}:{_port(job + 61 * (_number('SLURM_STEP_ID') or 0))}"


def first_host(nodes: str) -> str:
    """The first of SLURM's hosts: node[07-09,12],m means node07, ..., and r[0-1]n[3-4] r0n3, ..."""
    found = re.match(r"(?:[^,\[]|\[[^\]]*\])*", nodes)
    assert found is not None
    return re.sub(r"\[(\d+)[^\]]*\]", r"\1", found[0])


def _port(job: int) -> int:
    return 61440 + job % 4096


def _open_mpi() -> Place | None:
    count, index = _number("OMPI_COMM_WORLD_SIZE"), _number("OMPI_COMM_WORLD_RANK")
    if count is None or index is None:
        return None
    return Place(_mpiruns_address() or _slurms_address() or _own_address(count), count, index)


def _mpiruns_address() -> str | None:
    """Where mpirun runs, of releases before 5: "1531576320.0;tcp://10.96.0.1,10.148.0.1:34911", or
    "...;tcp6://[fe80::1,fe80::2]:34911". The number is the job's.
    """
    text = os.environ.get("OMPI_MCA_orte_hnp_uri", "")
    uri = re.match(r"(\d+)\..*?(?:tcp://([\w.-]+)[,:]|tcp6://\[([\w:.%]+)[,\]])", text)
    return text_of(uri[2] or uri[3], _port(int(uri[1]) >> 12)) if uri else None


def _own_address(count: int) -> str | None:
    """This host's, if all processes run here: later releases name the job, but no host."""
    job = os.environ.get("PMIX_NAMESPACE")
    if not job or _number("OMPI_COMM_WORLD_LOCAL_SIZE") != count:
        return None
    return f"127.0.0.1:{_port(zlib.crc32(job.encode()))}"


__all__ = ["DEFAULTS", "Place", "first_host", "said_place", "said_timeout"]
