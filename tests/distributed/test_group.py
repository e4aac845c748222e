"""Arrays over the devices of several processes."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.distributed.running import launched

CHECKS = """
A = numpy.arange(64.0).reshape(8, 8)
def same(got, want):
    got, want = numpy.asarray(got), numpy.asarray(want)
    assert got.dtype == want.dtype and got.shape == want.shape, (got, want)
    numpy.testing.assert_allclose(got, want, 1e-12, 1e-12)
"""


def checked(folder: Path, text: str, count: int, devices: int = 1) -> None:
    done = launched(folder, CHECKS + text + "\nprint('all right')\n", count, devices)
    assert done.code == 0, done.errors[-3000:]
    assert [done.of(k)[-1] for k in range(count)] == ["all right"] * count


BASICS = """
D = np.device_count()
sharding = rows()
u = np.device_put(A, sharding)
assert u.sharding == sharding and not u.is_fully_addressable and u.devices() == set(np.devices())
mine = np.local_devices()
assert [s.device for s in u.addressable_shards] == mine
for shard in u.addressable_shards:
    same(shard.data, A[shard.index])
    assert shard.data.device == shard.device
assert not sharding.is_fully_addressable and not sharding.is_fully_replicated
same(u, A)
assert str(u) == str(A) and float(u[3, 4]) == A[3, 4] and u.tolist() == A.tolist()
row = np.device_put(numpy.arange(8.0), np.NamedSharding(sharding.mesh, P()))
same(u * 2 + row, A * 2 + numpy.arange(8.0))
assert (u * 2 + row).sharding.spec == P("x") and u.sum().sharding.is_fully_replicated
same(u + numpy.ones(8) * 3, A + 3)
same(1 - u, 1 - A)
same(u @ u.T, A @ A.T)
B = A.copy()
for x in (u, B):
    x[1:-1] += 1
    v = x[2:6]
    v *= 2
    x[x > 50] = 0
    x[3] = numpy.arange(8)
assert u.sharding == sharding
same(u, B)
before = np.stats().collective_bytes
w = np.materialize(np.sin(u) * 2)
assert np.stats().collective_bytes == before
total = np.materialize(w.sum())
assert np.stats().collective_bytes == before + 8
key = np.random.key(3)
same(key.normal((8, 8)), np.device_put(key.normal((8, 8)), sharding))
# plain arrays are this process' own
x = np.arange(6.0) * (k + 1)
x[1:] += k
same(x, numpy.r_[0, numpy.arange(1.0, 6.0) * (k + 1) + k])
same(np.device_put(x, mine[-1]) + 1, numpy.asarray(x) + 1)
assert x.device == mine[0] and x.device.process_index == k and x.is_fully_addressable
own = np.NamedSharding(np.make_mesh((len(mine),), ("y",), mine), P())
same(np.device_put(x, own) + 1, numpy.asarray(x) + 1)
if k == 0:
    same(np.device_put(x, own).sum(), numpy.asarray(x).sum())
here = np.device_put(u, mine[-1])  # all collect it now, whoever reads it
if k == 0:
    same(here + 1, B + 1)
zeros = np.zeros((8, 4), device=sharding)
zeros += 1
same(zeros, numpy.ones((8, 4)))
"""

TRANSFORMED = """
sharding = rows()
u = np.device_put(A, sharding)
def loss(w, x):
    return (np.tanh(x @ w) ** 2).mean()
w = numpy.linspace(-1, 1, 8)
same(np.jit(loss)(w, u), loss(w, A))
same(np.grad(loss)(np.array(w), u / 64), np.grad(loss)(np.array(w), A / 64))
same(np.vmap(np.sum)(u), A.sum(1))
same(np.jit(lambda x: np.fori_loop(0, 5, lambda i, s: s + x.sum(0), np.zeros(8)))(u), 5 * A.sum(0))
block = np.shard_map(lambda a: np.psum(a.sum(), "x"), mesh=sharding.mesh, in_specs=P("x"),
                     out_specs=P())
same(block(u), A.sum())
gathered = np.shard_map(lambda a: np.all_gather(a, "x", tiled=True) * 1.0, mesh=sharding.mesh,
                        in_specs=P("x"), out_specs=P(), check_vma=False)
same(gathered(u), A)
turned = np.jit(lambda a: np.with_sharding_constraint(a.T, sharding))(u)
assert turned.sharding == sharding
same(turned, A.T)
program = np.jit(lambda a: a.sum()).lower(u).compile()
assert [c.kind for c in program.collectives()] == ["all-reduce"]
same(program(u), A.sum())
for _ in range(300):  # hot functions, loops: what one process decides, all decide
    u = u * 0.5 + 1
    if float(u.max()) < 3:
        u = u * 4
def steps(x, count):
    for i in range(count):
        x = x + i
        x[0] -= x[1]
    return x.sum()
for _ in range(60):
    a, b = float(steps(np.device_put(A, sharding), 7)), float(steps(A.copy(), 7))
    assert a == b
"""

ASSEMBLED = """
D = np.device_count()
sharding = rows()
asked = []
def part(index):
    asked.append(index)
    return A[index]
u = np.make_array_from_callback((8, 8), sharding, part)
assert len(asked) == len(np.local_devices()) and u.sharding == sharding
same(u, A)
per = 8 // n
local = A[k * per : (k + 1) * per]
same(np.make_array_from_process_local_data(sharding, local), A)
same(np.make_array_from_process_local_data(sharding, local, (8, 8)), A)
same(np.make_array_from_process_local_data(sharding, A, (8, 8)), A)
same(np.make_array_from_process_local_data(np.NamedSharding(sharding.mesh, P()), A), A)
columns = np.NamedSharding(sharding.mesh, P(None, "x"))
same(np.make_array_from_process_local_data(columns, A[:, k * per : (k + 1) * per]), A)
for call, message in (
    (lambda: np.make_array_from_process_local_data(sharding, local, (16, 8)), "must have the size"),
    (lambda: np.make_array_from_callback((8, 8), sharding, lambda i: A), "a part of shape"),
    (lambda: np.make_array_from_callback((7, 8), sharding, part), "dimension 0"),
):
    try: call()
    except ValueError as e: assert message in str(e), e
    else: raise AssertionError(message)
other = np.devices()[(k * len(np.local_devices()) + len(np.local_devices())) % D]
try: np.device_put(1.0, other)
except np.DeviceError as e: assert f"belongs to process {other.process_index}" in str(e)
else: raise AssertionError
# a mesh of some of the processes: the others have no part in it
some = rows(2 * len(np.local_devices()))
if k < 2:
    same(np.device_put(A, some).sum(), A.sum())
elif n > 2:
    try: np.device_put(A, some)
    except ValueError as e: assert f"process {k} has no device of" in str(e)
    else: raise AssertionError
# what is committed to a process' own device stays there, also if it is the only one
try: np.device_put(A, sharding) + np.device_put(A, np.local_devices()[0])
except ValueError as e: assert "committed to different devices" in str(e)
else: raise AssertionError
"""


@pytest.mark.parametrize(("count", "devices"), [(4, 1), (2, 2)])
def test_arrays_over_several_processes(tmp_path: Path, count: int, devices: int) -> None:
    checked(tmp_path, BASICS + ASSEMBLED, count, devices)


def test_transformations(tmp_path: Path) -> None:
    checked(tmp_path, TRANSFORMED, 2)


FAMILIES = """
from tests.devices.comparing import compare
from tests.devices.families import FAMILIES, arrays
D = np.device_count()
mesh = rows().mesh
def place(name, a):
    return np.device_put(a, np.NamedSharding(mesh, P("x") if a.shape[0] % D == 0 else P()))
for name in sorted(FAMILIES)[::5]:
    found = compare(FAMILIES[name], arrays(), place)
    assert not found, name + chr(10) + chr(10).join(found)
"""


def test_families_of_operations_give_numpys_results(tmp_path: Path) -> None:
    root = Path(__file__).parents[2]
    checked(tmp_path, f"sys.path.insert(0, {str(root)!r})\n" + FAMILIES, 2)


CHECKPOINTS = """
folder = sys.argv[1]
sharding = rows()
B = A + 0.5
if n == 4:
    whole = np.NamedSharding(sharding.mesh, P())
    tree = {"a": np.device_put(A, sharding), "b": np.device_put(B, whole),
            "own": np.ones(3), "local": np.device_put(numpy.arange(4), np.local_devices()[0])}
    save(folder, tree)
    same(load(folder, {"a": sharding, "b": None, "own": None, "local": None})["a"], A)
    assert len(os.listdir(folder)) == n + 1
    barrier()
    save(folder, tree)
else:
    got = load(folder, {"a": sharding, "b": sharding, "own": None, "local": None})
    assert got["a"].sharding == sharding
    same(got["a"], A)
    same(got["b"], B)
    same(got["own"], numpy.ones(3))
    same(got["local"], numpy.arange(4))
    same(load(folder)["a"], A)
barrier()
files = [os.path.join(folder, f) for f in os.listdir(folder) if f != "index.json"]
size = sum(map(os.path.getsize, files))
assert size == A.nbytes + B.nbytes + 24 + 32, size
"""


def test_checkpoints_go_from_four_processes_to_two(tmp_path: Path) -> None:
    for count in (4, 2):
        done = launched(tmp_path, CHECKS + CHECKPOINTS, count, 1, str(tmp_path / "ck"))
        assert done.code == 0, done.errors[-3000:]


UNWRITABLE = """
folder = sys.argv[1]
u = np.device_put(A, rows())
save(folder, u)
def refuse(*_):
    raise OSError("no space is left")
import lazynp.distributed._checkpoint as inside
for name, process, all_say in (("write_parts", 1, "process 1 failed"), ("publish", 0, "process 0")):
    before = getattr(inside, name)
    if k == process:
        setattr(inside, name, refuse)
    try: save(folder, u * 0)
    except OSError as e: assert "no space is left" in str(e) and (k == process or all_say in str(e))
    else: raise AssertionError
    setattr(inside, name, before)
    same(load(folder), A)
save(folder, u + 1)
same(load(folder), A + 1)
barrier()
assert len(os.listdir(folder)) == n + 1
"""


def test_if_one_cannot_write_all_raise_and_the_earlier_checkpoint_stays(tmp_path: Path) -> None:
    done = launched(tmp_path, CHECKS + UNWRITABLE, 2, 1, str(tmp_path / "ck"))
    assert done.code == 0, done.errors[-3000:]


CACHED = """
u = np.device_put(A, rows())
same(np.linalg.norm(u @ u.T), numpy.linalg.norm(A @ A.T))
print(np.stats().compiles > 0, np.stats().cache_hits)
"""


def test_programs_are_cached_on_disk(tmp_path: Path) -> None:
    for hits in (False, True):
        done = launched(tmp_path, CHECKS + CACHED, 2, cache=tmp_path / "cache")
        assert done.code == 0, done.errors[-3000:]
        for k in range(2):
            compiled, found = done.of(k)[-1].split()
            assert (int(found) > 0) == hits and compiled == str(not hits)
