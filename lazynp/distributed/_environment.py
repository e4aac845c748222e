"""What the environment says of the group: lazynp's variables, else SLURM's, else Open MPI's."""

from __future__ import annotations

import os
import re
from typing import NamedTuple

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
    theirs = _slurm() or _open_mpi() or Place(None, None, None)
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
    index, job = _number("SLURM_PROCID"), _number("SLURM_JOB_ID")
    if count is None or index is None or job is None:
        return None
    nodes = os.environ.get("SLURM_STEP_NODELIST") or os.environ.get("SLURM_JOB_NODELIST", "")
    return Place(f"{first_host(nodes)}:{_port(job)}" if nodes else None, count, index)


def first_host(nodes: str) -> str:
    """The first of SLURM's hosts: node[07-09,12] means node07, ..."""
    found = re.match(r"([^,\[]*)(?:\[(\d+)[^\]]*\]([^,]*))?", nodes)
    assert found is not None
    return "".join(part or "" for part in found.groups())


def _port(job: int) -> int:
    return 61440 + job % 4096


def _open_mpi() -> Place | None:
    count, index = _number("OMPI_COMM_WORLD_SIZE"), _number("OMPI_COMM_WORLD_RANK")
    if count is None or index is None:
        return None
    # "1531576320.0;tcp://10.96.0.1,10.148.0.1:34911": the job, and where mpirun runs
    text = os.environ.get("OMPI_MCA_orte_hnp_uri", "")
    uri = re.match(r"(\d+)\..*?tcp://([\w.-]+)[,:]", text)
    address = f"{uri[2]}:{_port(int(uri[1]) >> 12)}" if uri else None
    return Place(address, count, index)


__all__ = ["DEFAULTS", "Place", "first_host", "said_place", "said_timeout"]
