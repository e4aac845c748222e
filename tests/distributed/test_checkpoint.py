"""Checkpoints: what is saved comes back, anywhere, whole or not at all."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy
import pytest

import lazynp as np
from lazynp.distributed import load, save
from tests.devices.worker import on_eight

P = np.PartitionSpec


class Pair(NamedTuple):
    x: Any
    y: Any


def values() -> dict[str, Any]:
    """One array of each kind that can be saved."""
    g = numpy.random.default_rng(3)
    return {
        "f8": g.normal(size=(8, 6)),
        "f4": g.normal(size=5).astype("f4"),
        "c16": g.normal(size=(2, 3)) + 1j,
        "i1": g.integers(-9, 9, size=(3, 1, 2)).astype("i1"),
        "big": numpy.arange(4, dtype=">i4"),
        "bool": numpy.array([True, False]),
        "none": numpy.zeros((0, 4)),
        "scalar": numpy.float32(1.5),
        "text": numpy.array(["a", "bcd"]),
        "bytes": numpy.array([b"x", b"yz"]),
        "dates": numpy.array(["2026-11-25", "NaT"], "M8[D]"),
        "records": numpy.array([(1, [2.0, 3.0])], [("a", "i4"), ("b", "f8", (2,))]),
        "fortran": numpy.asfortranarray(g.normal(size=(3, 4))),
        "strided": g.normal(size=(6, 6))[::2, ::-1],
    }


def same(got: Any, want: Any) -> None:
    want = numpy.asarray(want)
    assert isinstance(got, np.Array), type(got)
    assert got.dtype == want.dtype and got.shape == want.shape
    numpy.testing.assert_array_equal(numpy.asarray(got), want)


def test_arrays_of_every_kind_come_back(tmp_path: Path) -> None:
    given = values()
    save(tmp_path / "a", given)
    for name, got in load(tmp_path / "a").items():
        same(got, given[name])


def test_the_tree_comes_back(tmp_path: Path) -> None:
    x = np.arange(3.0)
    tree = {"a": [x, None, (x * 2,)], "b": {}, (1, "k"): [], "n": 7}
    with pytest.raises(TypeError, match="not supported between"):
        save(tmp_path / "a", tree)  # NumPy's trees sort their keys
    tree = {"a": [x, None, (x * 2,)], "b": {}, "n": 7}
    save(tmp_path / "a", tree)
    got = load(tmp_path / "a")
    assert list(got) == ["a", "b", "n"] and got["b"] == {} and got["a"][1] is None
    assert type(got["a"]) is list and type(got["a"][2]) is tuple
    same(got["a"][0], x)
    same(got["n"], 7)
    save(str(tmp_path / "b"), {1: x, 2: {(0, "x"): x}})
    assert list(load(str(tmp_path / "b"))) == [1, 2]
    assert list(load(str(tmp_path / "b"))[2]) == [(0, "x")]
    save(tmp_path / "c", x)
    same(load(tmp_path / "c"), x)


def test_keys_that_text_cannot_stand_for_are_refused(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="keys of dicts must be"):
        save(tmp_path / "a", {object(): 1})
    with pytest.raises(TypeError, match=r"tree\['a'\]: arrays without objects"):
        save(tmp_path / "a", {"a": numpy.array([None])})
    assert not (tmp_path / "a").exists()


def test_classes_need_like(tmp_path: Path) -> None:
    tree = {"pair": Pair(np.ones(2), np.zeros(3)), "key": np.random.key(5)}
    save(tmp_path / "a", tree)
    with pytest.raises(ValueError, match=r"tree\['key'\] is a .*Key, which needs like="):
        load(tmp_path / "a")
    got = load(tmp_path / "a", tree)
    assert type(got["pair"]) is Pair
    same(got["pair"].y, numpy.zeros(3))
    assert got["key"].normal() == tree["key"].normal()


def test_what_was_read_can_be_written(tmp_path: Path) -> None:
    save(tmp_path / "a", np.arange(4.0))
    x = load(tmp_path / "a")
    x[1] = 9
    same(x, [0.0, 9.0, 2.0, 3.0])
    same(load(tmp_path / "a"), numpy.arange(4.0))


def test_like_is_compared(tmp_path: Path) -> None:
    tree = {"w": [np.ones((2, 3)), np.ones(2, "f4")], "n": 1}
    save(tmp_path / "a", tree)
    wrong: list[tuple[Any, str]] = [
        ([1], "tree: a dict with the keys 'n', 'w' was saved, like= has a list"),
        ({"w": None}, "tree: a dict with the keys 'n', 'w' was saved"),
        ({"w": [None], "n": None}, r"tree\['w'\]: 2 entries were saved, like= has 1"),
        ({"w": [{"x": 1}, None], "n": None}, r"tree\['w'\]\[0\]: an array was saved"),
        ({"w": [np.ones((3, 2)), None], "n": None}, r"tree\['w'\]\[0\]: the shape \(2, 3\)"),
        ({"w": [None, np.ones(2)], "n": None}, r"tree\['w'\]\[1\]: the dtype float32"),
        ({"w": [None, np.ShapeDtype((2,), "f8")], "n": None}, r"tree\['w'\]\[1\]: the dtype"),
        ({"w": np.ones(2), "n": None}, r"tree\['w'\]\[0\]: the shape"),
    ]
    for like, message in wrong:
        with pytest.raises(ValueError, match="load: " + message):
            load(tmp_path / "a", like)
    got = load(tmp_path / "a", {"w": None, "n": numpy.int64(0)})
    same(got["w"][1], numpy.ones(2, "f4"))
    same(load(tmp_path / "a", tree)["n"], 1)


def test_missing_and_damaged_files_are_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="no checkpoint at .*nothing"):
        load(tmp_path / "nothing")
    save(tmp_path / "a", {"x": numpy.arange(100.0), "y": numpy.arange(3)})
    (file,) = (f for f in (tmp_path / "a").iterdir() if f.name != "index.json")
    data = file.read_bytes()
    file.write_bytes(data[:-4])
    with pytest.raises(ValueError, match=f"{file.name} is damaged: it is too short"):
        load(tmp_path / "a")
    file.write_bytes(bytes([data[0] ^ 1]) + data[1:])
    with pytest.raises(ValueError, match=f"{file.name} is damaged: its digest"):
        load(tmp_path / "a")
    file.unlink()
    with pytest.raises(FileNotFoundError, match=file.name):
        load(tmp_path / "a")
    index = tmp_path / "a" / "index.json"
    said = json.loads(index.read_text())
    said["index"]["leaves"][0]["shape"] = [50]
    index.write_text(json.dumps(said))
    with pytest.raises(ValueError, match="index.json is damaged: its digest"):
        load(tmp_path / "a")
    index.write_text("{")
    with pytest.raises(ValueError, match="index.json is damaged: it cannot be read"):
        load(tmp_path / "a")


def test_a_save_leaves_only_its_own_files(tmp_path: Path) -> None:
    folder = tmp_path / "a"
    save(folder, np.ones(3))
    (folder / "0123456789abcdef.3").write_bytes(b"of a save that was killed")
    (folder / "notes.txt").write_text("the user's")
    save(folder, np.zeros(3))
    assert len(list(folder.iterdir())) == 3 and (folder / "notes.txt").exists()
    same(load(folder), numpy.zeros(3))


def test_a_path_that_is_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("")
    with pytest.raises(FileExistsError):
        save(tmp_path / "a", np.ones(3))


SAVES = """
import sys, lazynp as np
from lazynp.distributed import load, save
start = int(load(sys.argv[1])["n"])
print("ready", flush=True)
for n in range(start + 1, 100_000):
    save(sys.argv[1], {"n": n, "x": np.full(20_000, float(n)), "y": np.full(7, n)})
    print(n, flush=True)
"""


def test_killed_at_any_moment_the_last_complete_checkpoint_loads(tmp_path: Path) -> None:
    folder, g = tmp_path / "a", random.Random(4)
    save(folder, {"n": 0, "x": np.full(20_000, 0.0), "y": np.full(7, 0)})
    for _ in range(6):
        command = [sys.executable, "-c", SAVES, str(folder)]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert process.stdout is not None and process.stdout.readline() == "ready\n"
        time.sleep(g.uniform(0.0, 0.1))
        process.send_signal(signal.SIGKILL)
        printed = process.stdout.read().split("\n")[:-1]
        process.wait(30)
        process.stdout.close()
        got = load(folder)
        n = int(got["n"])
        assert n >= max(map(int, printed), default=0)
        same(got["x"], numpy.full(20_000, float(n)))
        same(got["y"], numpy.full(7, n))


def test_a_checkpoint_is_read_while_others_are_written(tmp_path: Path) -> None:
    folder = tmp_path / "a"
    save(folder, {"n": 0, "x": np.full(20_000, 0.0), "y": np.full(7, 0)})
    command = [sys.executable, "-c", SAVES, str(folder)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None and process.stdout.readline() == "ready\n"
        for _ in range(40):
            got = load(folder)
            assert (got["x"] == float(got["n"])).all() and (got["y"] == got["n"]).all()
    finally:
        process.kill()
        process.communicate()


def mesh(*shape: int) -> np.Mesh:
    return np.make_mesh(shape, ("x", "y")[: len(shape)])


LAYOUTS = [((8,), P("x")), ((4, 2), P("x", "y")), ((4, 2), P(None, "x")), ((2, 2), P(("y", "x")))]
LAYOUTS += [((4, 2), P("y")), ((8,), P())]


@on_eight
def _by_any_layout(folder: str) -> None:
    x = numpy.random.default_rng(0).normal(size=(8, 16))
    for shape, spec in LAYOUTS:
        sharding = np.NamedSharding(mesh(*shape), spec)
        save(folder, {"x": np.device_put(x, sharding), "one": np.device_put(x, "cpu:3")})
        size = sum(f.stat().st_size for f in Path(folder).iterdir() if f.suffix == ".0")
        assert size == 2 * x.nbytes  # of equal parts, one
        for wanted, by in LAYOUTS:
            there = np.NamedSharding(mesh(*wanted), by)
            for like in (there, np.ShapeDtype((8, 16), "f8", there), np.device_put(x, there)):
                got = load(folder, {"x": like, "one": "cpu:5"})
                assert got["x"].sharding == there and got["one"].device == "cpu:5"
                same(got["x"], x)
        same(load(folder)["x"], x)
        assert load(folder)["x"].device == "cpu"
        with np.set_mesh(mesh(8)):
            assert load(folder, P("x"))["x"].sharding.spec == P("x")
        odd = np.NamedSharding(np.make_mesh((3,), ("x",)), P("x"))
        with numpy.testing.assert_raises_regex(ValueError, r"tree\['x'\]: dimension 0"):
            load(folder, {"x": odd, "one": None})


def test_split_arrays_are_loaded_by_any_layout(tmp_path: Path) -> None:
    _by_any_layout(str(tmp_path / "a"))
