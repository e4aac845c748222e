"""The heap keeps what arrays free, in huge pages, within what the machine and the user allow."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from lazynp.lowering import _heap

GIB = 1 << 30
needs_glibc = pytest.mark.skipif(
    platform.libc_ver()[0] != "glibc", reason="only glibc's malloc has these settings"
)


@pytest.mark.parametrize("gib", [0.25, 1, 4, 8, 16, 64, 1024])
@pytest.mark.parametrize("cores", [1, 2, 8, 64])
def test_what_is_kept(gib: float, cores: int) -> None:
    memory = int(gib * GIB)
    kept = _heap._kept(memory, cores)
    assert kept + kept // 2 < 1 << 31  # an int, for glibc
    assert kept % _heap._HUGE == 0
    assert kept == _heap._LEAST or kept <= memory // 8 and cores * kept <= memory // 2


def heap_of(program: str, **settings: str) -> tuple[int, set[str]]:
    """The size of the heap after a program, in bytes, and the flags of its parts."""
    told = """
        size, flags, within = 0, set(), False
        for line in open("/proc/self/smaps"):
            if "-" in line.split()[0]:
                within = "[heap]" in line
            if within and line.startswith("Size:"):
                size += 1024 * int(line.split()[1])
            if within and line.startswith("VmFlags:"):
                flags.update(line.split()[1:])
        print(size, *flags)
    """
    environment = {k: v for k, v in os.environ.items() if not k.startswith("MALLOC_")}
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program) + textwrap.dedent(told)],
        env={**environment, **settings}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    size, *flags = done.stdout.split()
    return int(size), set(flags)


def has_huge_pages() -> bool:
    try:
        return "[never]" not in Path("/sys/kernel/mm/transparent_hugepage/enabled").read_text()
    except OSError:
        return False


@needs_glibc
def test_the_heap_is_long_and_asks_for_huge_pages() -> None:
    size, flags = heap_of("import lazynp")
    if _heap._is_limited():
        assert size < _heap._LEAST
    else:
        assert size >= _heap._kept(_heap._memory(), os.cpu_count() or 1)
        assert "hg" in flags or not has_huge_pages()


@needs_glibc
def test_numpys_setting_forbids_huge_pages() -> None:
    _, flags = heap_of("import lazynp", NUMPY_MADVISE_HUGEPAGE="0")
    assert "hg" not in flags


@needs_glibc
@pytest.mark.parametrize("of", ["RLIMIT_AS", "RLIMIT_DATA"])
def test_a_limit_of_the_address_space_leaves_the_heap_as_it_is(of: str) -> None:
    size, flags = heap_of(f"""
        import resource
        resource.setrlimit(resource.{of}, (16 << 30, 16 << 30))
        import lazynp as np
        x = np.ones(1000) + 1
        assert float(x.sum()) == 2000.0
    """)
    assert size < _heap._LEAST and "hg" not in flags


@needs_glibc
def test_mallocs_own_variables_stand() -> None:
    size, flags = heap_of("import lazynp", MALLOC_TOP_PAD_="131072")
    assert size < _heap._LEAST and "hg" not in flags


@needs_glibc
@pytest.mark.skipif(not has_huge_pages(), reason="the system has no huge pages")
@pytest.mark.skipif(_heap._is_limited(), reason="the address space is limited here")
def test_results_of_programs_lie_in_huge_pages() -> None:
    """One page fault for 2 MB, not for 4 KB, also where XLA asks for the memory."""
    program = """
        import resource, numpy, lazynp as np
        np.config(execution="compiled")
        x = np.asarray(numpy.ones(1000))
        numpy.asarray(np.add.outer(x, x))  # 8 MB: now it is compiled
        before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
        held = [numpy.asarray(np.add.outer(x, x + k)) for k in range(8)]
        print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
    """

    def faults() -> int:
        done = subprocess.run(
            [sys.executable, "-c", textwrap.dedent(program)],
            env={**os.environ, "LAZYNP_CPU_DEVICES": "1"},
            capture_output=True, text=True, check=True,
        )  # fmt: skip
        return int(done.stdout)

    # 16,000 without; where memory is in small pieces, the system may have few huge pages
    assert any(faults() < 8000 for _ in range(4))
