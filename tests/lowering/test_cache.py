"""Executables on disk: found again, also by other processes, and never the wrong one."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy
import pytest

import lazynp as np
from lazynp import lowering
from lazynp.lowering import _background, _cache, _compat, _trust
from lazynp.lowering._options import compile_options
from tests.helpers import Counted, fresh_start
from tests.lowering.helpers import compiled, evaluate

ROOT = Path(__file__).parents[2]
X = numpy.arange(6.0).reshape(2, 3)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Programs are kept in a directory of the test's own."""
    monkeypatch.setattr(_cache, "_warned", False)
    for known in ("_problems", "_refused"):
        monkeypatch.setattr(_cache, known, {})
    monkeypatch.setattr(_cache, "_trusted", set())
    fresh_start()
    with np.config(cache=tmp_path / "made" / "here", execution="compiled"):
        yield tmp_path / "made" / "here"


def double(b: Any, x: Any) -> Any:
    return b.binary("stablehlo.add", x, x)


def square(b: Any, x: Any) -> Any:
    return b.binary("stablehlo.multiply", x, x)


def kept(folder: Path) -> list[Path]:
    return sorted(path for path in folder.iterdir() if path.name != "secret")


# -- found again -----------------------------------------------------------------------------------


def test_what_was_compiled_is_found(folder: Path) -> None:
    assert not compiled(double, X).from_disk
    assert len(kept(folder)) == 1
    program = compiled(double, X)
    assert program.from_disk
    (result,) = program.run([lowering.put(X)])
    numpy.testing.assert_array_equal(lowering.host(result), 2 * X)
    assert not compiled(square, X).from_disk
    assert not compiled(double, X.T).from_disk
    assert not compiled(double, X, donate=[0]).from_disk
    assert len(kept(folder)) == 4


def test_what_only_begins_is_loaded_once(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    loads: list[bytes] = []
    load = _cache.load
    monkeypatch.setattr(_cache, "load", lambda key: loads.append(key) or load(key))
    monkeypatch.setattr(_background, "cores", lambda: 2)
    compiled(double, X)
    loads.clear()
    with np.config(execution="adaptive", background=True):
        for _ in range(2):
            with pytest.raises(lowering.Unfinished), lowering.unfinished_allowed(only_begin=True):
                compiled(double, X)
    assert len(loads) == 1 and compiled(double, X).from_disk and len(loads) == 1
    assert compiled(double, X).from_disk and len(loads) == 2  # it was taken


def test_off(folder: Path) -> None:
    with np.config(cache="off"):
        assert not compiled(double, X).from_disk
        assert not compiled(double, X).from_disk
    assert not folder.exists()


def test_the_directory_is_the_users_own(folder: Path) -> None:
    compiled(double, X)
    for path in (folder, folder.parent, folder / "secret"):
        assert path.stat().st_mode & 0o077 == 0
    assert kept(folder)[0].stat().st_mode & 0o077 == 0


def test_donation_survives() -> None:
    big = numpy.ones(100_000)
    compiled(double, big, donate=[0])
    program = compiled(double, big, donate=[0])
    assert program.from_disk
    buffer = lowering.put(big)
    where = buffer.unsafe_buffer_pointer()
    (result,) = program.run([buffer])
    assert result.unsafe_buffer_pointer() == where and buffer.is_deleted()


def test_counters_and_explain() -> None:
    x = np.array(numpy.linspace(0.0, 1.0, 7))
    with Counted() as first:
        expected = (x * 2.0 + 1.0).tolist()
    fresh_start()
    with Counted() as second:
        y = x * 2.0 + 1.0
        assert y.tolist() == expected
    assert (first.compiles, first.cache_hits) == (1, 0)
    assert (second.compiles, second.cache_hits) == (0, 1)
    text = str(np.explain(y))
    assert "1 program(s) compiled for it, 1 of them in an earlier process" in text
    assert f"programs on disk: {np.config.cache}" in text
    with np.config(cache="off"):
        assert "programs on disk: off" in str(np.explain(y))


PROGRAM = """
import json, sys
import lazynp as np
rng = np.random.default_rng(3)
x, a = rng.random(50), rng.random((4, 4)) + 4 * np.eye(4)
results = []
for i in range(4):  # a constant, then an operand
    results.append(float((np.sin(x) * (0.1 * i)).sum()))
results.append(float(np.linalg.solve(a, a @ a).sum()))
results.append(float((np.sort(x) * np.cumsum(x))[7]))
u = np.zeros(100_000)
u[0] = 1.0
for i in range(5):  # donated
    u[i + 1 : i + 3] += u[i]
results.append(float(u.sum()))
@np.jit
def f(x):
    return np.fori_loop(0, 50_000, lambda i, y: y * 0.5 + i, x)  # "adaptive" compiles it at once
results.append(float(f(x).sum()))
m = rng.random((300, 300))
for _ in range(30):  # earns its compilation, and NumPy's product, under "adaptive"
    m = np.tanh(m @ m * 0.01 + m * 0.5 - 0.25)
    results.append(float(m.sum()))
json.dump([results, vars(np.stats())], sys.stdout)
"""


def start(folder: Path, policy: str, seed: int) -> subprocess.Popen[str]:
    path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    environment = {
        **os.environ, "LAZYNP_CACHE": str(folder), "LAZYNP_EXECUTION": policy, "PYTHONPATH": path,
        "PYTHONHASHSEED": str(seed),
    }  # fmt: skip
    return subprocess.Popen(
        [sys.executable, "-W", "error", "-c", PROGRAM],
        env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def outcome(process: subprocess.Popen[str]) -> tuple[list[float], dict[str, Any]]:
    out, err = process.communicate(timeout=120)
    assert (process.returncode, err) == (0, "")
    results, stats = json.loads(out)
    del stats["compile_seconds"]
    return results, stats


@pytest.mark.parametrize("policy", ["compiled", "adaptive"])
def test_a_second_start_compiles_nothing(folder: Path, policy: str) -> None:
    """And decides the same, whatever the disk holds."""
    results, first = outcome(start(folder, policy, 1))
    again, second = outcome(start(folder, policy, 2))
    assert again == results
    assert first["compiles"] > 0 and first["cache_hits"] == 0
    assert second["compiles"] == 0 and second["cache_hits"] == first["compiles"]
    assert {**first, "compiles": 0, "cache_hits": first["compiles"]} == second


def test_many_processes_at_once(folder: Path) -> None:
    started = [start(folder, "compiled", seed) for seed in range(3)]
    outcomes = [outcome(process) for process in started]
    assert all(results == outcomes[0][0] for results, _ in outcomes)
    programs = {stats["compiles"] + stats["cache_hits"] for _, stats in outcomes}
    assert programs == {len(kept(folder))}
    assert {p.suffix for p in kept(folder)} == {".xla"}
    _, later = outcome(start(folder, "compiled", 4))
    assert later["compiles"] == 0


# -- never the wrong one ---------------------------------------------------------------------------

HEAD = len(_cache._MAGIC)
Damage = Callable[[bytes, bytes], bytes]  # of one file's contents, and another's

DAMAGE: dict[str, Damage] = {
    "empty": lambda data, other: b"",
    "cut short": lambda data, other: data[:-7],
    "cut to the head": lambda data, other: data[: HEAD + 40],
    "another format": lambda data, other: b"L" + data[1:],
    "another CPU": lambda data, other: data[:HEAD] + bytes(32) + data[HEAD + 32 :],
    "another program": lambda data, other: other,
    "a bit": lambda data, other: data[:-9] + bytes([data[-9] ^ 4]) + data[-8:],
    "more": lambda data, other: data + b"\0",
}


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_unsound_files_never_reach_jaxlib(
    folder: Path, damage: Damage, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiled(square, X)
    (other,) = kept(folder)
    compiled(double, X)
    (path,) = set(kept(folder)) - {other}
    sound = path.read_bytes()
    path.write_bytes(damage(sound, other.read_bytes()))
    with monkeypatch.context() as m, pytest.warns(RuntimeWarning, match="on disk is ignored"):
        m.setattr(_compat, "deserialized", None)  # not called
        numpy.testing.assert_array_equal(evaluate(double, X), 2 * X)
    assert compiled(double, X).from_disk  # kept anew
    path.write_bytes(damage(path.read_bytes(), other.read_bytes()))
    with warnings.catch_warnings(action="error"):  # one warning is enough
        assert not compiled(double, X).from_disk
    assert compiled(double, X).from_disk


def test_what_jaxlib_refuses_is_compiled(folder: Path) -> None:
    compiled(double, X)
    (path,) = kept(folder)
    key = bytes.fromhex(path.stem)
    _cache.store(key, b"no executable")
    with pytest.warns(RuntimeWarning, match="on disk is ignored"):
        numpy.testing.assert_array_equal(evaluate(double, X), 2 * X)
    assert compiled(double, X).from_disk


def test_a_file_that_cannot_be_read_is_ignored(folder: Path) -> None:
    compiled(double, X)
    (path,) = kept(folder)
    path.unlink()
    path.mkdir()
    with pytest.warns(RuntimeWarning, match="on disk is ignored"):
        assert not compiled(double, X).from_disk
    numpy.testing.assert_array_equal(evaluate(double, X), 2 * X)


def test_files_of_others_are_not_run(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compiled(double, X)
    real = os.fstat

    def fstat(handle: int) -> os.stat_result:
        about = list(real(handle))
        about[4] += 1
        return os.stat_result(about)

    monkeypatch.setattr(os, "fstat", fstat)
    with pytest.warns(RuntimeWarning, match="belongs to somebody else"):
        assert not compiled(double, X).from_disk


WRITABLE: dict[str, Callable[[Path], Path]] = {
    "the directory": lambda folder: folder,
    "one above": lambda folder: folder.parent,
    "what a link leads to": lambda folder: folder.resolve(),
}


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has other rights")
@pytest.mark.parametrize("which", WRITABLE.values(), ids=WRITABLE)
@pytest.mark.parametrize("mode", [0o777, 0o702, 0o775])
def test_what_others_can_write_is_not_used(
    folder: Path, which: Callable[[Path], Path], mode: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiled(double, X)
    link = folder.parent / "link"
    link.symlink_to(folder)
    monkeypatch.setattr(_trust, "_is_private", lambda gid: False)
    _cache._trusted.clear()
    which(link).chmod(mode)
    with np.config(cache=link):
        with pytest.warns(RuntimeWarning, match="not kept, others can write"):
            assert not compiled(double, X).from_disk
        with warnings.catch_warnings(action="error"):  # one is enough
            assert not compiled(square, X).from_disk
        assert "not used: others can write" in lowering.cache_state()
    assert len(kept(folder)) == 1
    which(link).chmod(0o700)
    assert compiled(double, X).from_disk


def test_the_users_own_group_may_write(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compiled(double, X)
    monkeypatch.setattr(_trust, "_is_private", lambda gid: True)
    _cache._trusted.clear()
    folder.chmod(0o770)
    assert compiled(double, X).from_disk


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has other rights")
def test_a_file_that_others_can_write_is_not_run(folder: Path) -> None:
    compiled(double, X)
    kept(folder)[0].chmod(0o666)
    with pytest.warns(RuntimeWarning, match="others can write it"):
        assert not compiled(double, X).from_disk
    assert compiled(double, X).from_disk


SECRETS: dict[str, Callable[[Path], object]] = {
    "others can read it": lambda path: path.chmod(0o640),
    "it is damaged": lambda path: path.write_bytes(b"short"),
    "it is too large": lambda path: path.write_bytes(bytes(33)),
    "it is no regular file": lambda path: (path.unlink(), os.mkfifo(path)),
}


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has other rights, and no FIFO")
@pytest.mark.parametrize("why", SECRETS)
def test_a_secret_that_is_none(folder: Path, why: str) -> None:
    compiled(double, X)
    SECRETS[why](folder / "secret")
    with pytest.warns(RuntimeWarning, match=f"secret is not used, {why}"):
        assert not compiled(double, X).from_disk
    assert len(kept(folder)) == 1


def test_another_secret(folder: Path) -> None:
    """What was signed with one that is gone is of no use."""
    compiled(double, X)
    (folder / "secret").unlink()
    assert not compiled(square, X).from_disk
    with pytest.warns(RuntimeWarning, match="was not written by lazynp"):
        assert not compiled(double, X).from_disk
    assert compiled(double, X).from_disk


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no FIFO")
def test_a_fifo_is_not_read(folder: Path) -> None:
    compiled(double, X)
    (path,) = kept(folder)
    path.unlink()
    os.mkfifo(path)
    with pytest.warns(RuntimeWarning, match="no regular file"):
        assert not compiled(double, X).from_disk
    assert compiled(double, X).from_disk


def test_a_large_file_is_not_read(folder: Path) -> None:
    compiled(double, X)
    (path,) = kept(folder)
    os.truncate(path, 3 << 30)  # takes no room on the disk
    with pytest.warns(RuntimeWarning, match="too large"):
        assert not compiled(double, X).from_disk
    assert compiled(double, X).from_disk


FEATURES = {
    "cpu": lambda m: m.setattr(_cache, "_cpu", lambda: ["flags:sse2"]),
    "release": lambda m: m.setattr(_compat, "RELEASE", "0.10.99"),
    "version": lambda m: m.setattr(_cache, "__version__", "0.0.1"),
    "cores": lambda m: m.setattr(os, "sched_getaffinity", lambda pid: range(99), raising=False),
    "user": lambda m: m.setattr(os, "getuid", lambda: 4242, raising=False),
    "flags": lambda m: m.setenv("XLA_FLAGS", "--xla_cpu_max_isa=AVX"),
}


@pytest.mark.parametrize("change", FEATURES.values(), ids=FEATURES)
def test_another_machine_has_other_keys(
    change: Callable[[Any], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    options = compile_options("cpu")
    before = _cache.key_of("text", options, "cpu")
    assert _cache.key_of("text", options, "cpu") == before
    assert _cache.key_of("text.", options, "cpu") != before
    assert _cache.key_of("text", options, "gpu") != before
    other = compile_options("cpu")
    other.env_option_overrides = [("xla_backend_optimization_level", 0)]
    assert _cache.key_of("text", other, "cpu") != before
    _cache._machine.cache_clear()
    try:
        change(monkeypatch)
        assert _cache.key_of("text", options, "cpu") != before
    finally:
        monkeypatch.undo()
        _cache._machine.cache_clear()


def test_the_features_of_this_cpu_are_known() -> None:
    found = _cache._cpu()
    assert found and all(isinstance(x, str) for x in found)
    if sys.platform == "linux":
        assert any(len(x) > 40 for x in found)  # flags


# -- where nothing can be written ------------------------------------------------------------------


def test_a_directory_that_cannot_be_made_is_no_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with np.config(cache=tmp_path / "file" / "below"), warnings.catch_warnings(action="error"):
        for _ in range(2):
            assert not compiled(double, X).from_disk
        y = np.materialize(np.array(X) * 2.0)
        assert "below, not written: Not a directory" in str(np.explain(y))


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has it")
def test_a_directory_in_proc_is_no_error() -> None:
    with np.config(cache="/proc/lazynp/below"), warnings.catch_warnings(action="error"):
        assert not compiled(double, X).from_disk


def test_a_full_disk_is_no_error(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compiled(double, X)

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as m, warnings.catch_warnings(action="error"):
        m.setattr(os, "replace", full)
        assert not compiled(square, X).from_disk
    assert not compiled(square, X).from_disk  # nor tried again
    assert compiled(double, X).from_disk  # existing files are still read
    assert len(kept(folder)) == 1
    assert lowering.cache_state().endswith("not written: No space left on device")


def test_an_interruption_leaves_nothing_behind(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as m, pytest.raises(KeyboardInterrupt):
        m.setattr(os, "replace", interrupted)
        compiled(double, X)
    assert kept(folder) == []
    assert not compiled(double, X).from_disk


# -- space -----------------------------------------------------------------------------------------


def fill(folder: Path, count: int) -> list[Path]:
    """Files of 8 kB or so, the first used longest ago."""
    folder.mkdir(mode=0o700, parents=True)
    now = time.time()
    paths = [folder / f"{i:064x}.xla" for i in range(count)]
    for i, path in enumerate(paths):
        path.write_bytes(bytes(8192))
        os.utime(path, (now, now - 1000 + i))
    return paths


def test_what_was_not_used_for_longest_goes(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_cache, "_MOST", 10 * 8192)
    paths = fill(folder, 10)
    _cache.trim(str(folder))
    assert kept(folder) == paths  # not more than there may be
    (folder / "f.xla").write_bytes(bytes(8192))
    _cache.trim(str(folder))
    assert kept(folder) == [*paths[4:], folder / "f.xla"]


def test_writing_makes_room(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_cache, "_MOST", 10 * 8192)
    monkeypatch.setattr(_cache, "_LOOKED_AT", 1)
    paths = fill(folder, 12)
    unfinished = [folder / "old.part", folder / "new.part"]
    for path in unfinished:
        path.write_bytes(b"")
    os.utime(unfinished[0], (0, 0))
    (folder / "nested.xla").mkdir()
    compiled(double, X)
    left = kept(folder)
    assert paths[0] not in left and paths[-1] in left
    assert unfinished[0] not in left and unfinished[1] in left
    assert compiled(double, X).from_disk


def test_what_is_used_is_kept(folder: Path) -> None:
    compiled(double, X)
    (path,) = kept(folder)
    os.utime(path, (0, 0))
    compiled(double, X)
    assert path.stat().st_mtime > time.time() - 1000


def test_sorts_can_be_kept() -> None:
    """As long as they have not run when they are serialised."""
    x = numpy.array([3.0, 1.0, 2.0])
    for hits in (0, 1):
        fresh_start()
        with Counted() as counted:
            assert np.sort(np.array(x)).tolist() == [1.0, 2.0, 3.0]
        assert (counted.compiles, counted.cache_hits) == (1 - hits, hits)
