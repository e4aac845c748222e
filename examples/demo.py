"""Run examples/terrain.py, a NumPy program, on NumPy and on lazynp; compare, time and draw.

python examples/demo.py [--steps N]

The file stays unchanged: the copy that runs on lazynp has one line replaced.
"""

import argparse
import os
import sys
import time
import types
from pathlib import Path

import matplotlib.cbook
import matplotlib.pyplot as plt
import numpy

HERE = Path(__file__).resolve().parent
SOURCE = HERE / "terrain.py"
IMPORT = "import numpy as np\n"
LAZYNP = os.environ.get("LAZYNP_TEST_MODULE", "lazynp")  # to try the demo itself with numpy twice
TOLERANCE = 1e-9  # of the largest magnitude of a result
SHADE_TOLERANCE = 1e-3  # share of pixels whose brightness, clipped to 0..255, may differ by one


def load_program(module):
    """The program as a Python module, with `np` bound to the given module."""
    source = SOURCE.read_text()
    if source.count(IMPORT) != 1:
        raise SystemExit(f"{SOURCE.name}: expected the line {IMPORT.strip()!r} exactly once")
    program = types.ModuleType(f"terrain_on_{module}")
    swapped = source.replace(IMPORT, f"import {module} as np\n")
    exec(compile(swapped, str(SOURCE), "exec"), program.__dict__)
    return program


def load_elevation():
    """Heights in metres around the Jacksboro fault, Tennessee, and the size of a cell in metres."""
    with matplotlib.cbook.get_sample_data("jacksboro_fault_dem.npz") as dem:
        height, dx, dy = dem["elevation"], float(dem["dx"]), float(dem["dy"])
        latitude = numpy.radians((float(dem["ymin"]) + float(dem["ymax"])) / 2)
    metres = 111_200.0  # a degree of latitude
    return height, dx * metres * float(numpy.cos(latitude)), dy * metres


def timed(program, *args):
    """Results as host arrays, and the seconds until all of them were available."""
    start = time.perf_counter()
    results = {k: numpy.asarray(v) for k, v in program.analyse(*args).items()}
    return results, time.perf_counter() - start


def compare(name, want, got):
    """The largest difference, the same relative to the largest magnitude, and whether it passes."""
    if (want.shape, want.dtype) != (got.shape, got.dtype):
        print(f"  {name}: NumPy gives {want.dtype}{want.shape}, lazynp {got.dtype}{got.shape}")
        return numpy.inf, numpy.inf, False
    apart = numpy.abs(want.astype(float) - got.astype(float))
    worst, scale = float(apart.max()), float(numpy.abs(want).max()) or 1.0
    if want.dtype == numpy.uint8:
        return worst, worst / scale, worst <= 1 and float((apart > 0).mean()) <= SHADE_TOLERANCE
    if want.dtype.kind == "f":
        return worst, worst / scale, worst <= TOLERANCE * scale
    return worst, worst / scale, worst == 0


def compare_all(want, got):
    """Print a line per result; return the names of those out of tolerance."""
    print(f"\n{'result':28} {'dtype':9} {'shape':12} {'largest difference':>20} {'relative':>10}")
    failed = sorted(want.keys() ^ got.keys())
    for name in [k for k in want if k in got]:
        worst, relative, ok = compare(name, want[name], got[name])
        shape = "x".join(map(str, want[name].shape)) or "scalar"
        line = f"{name:28} {want[name].dtype!s:9} {shape:12} {worst:20.3g} {relative:10.1e}"
        print(line if ok else line + "   <-- NOT EQUAL")
        if not ok:
            failed.append(name)
    return failed


def programs_compiled():
    """The number of programs that lazynp has compiled in this process; None if it does not say."""
    stats = getattr(sys.modules.get("lazynp._plan"), "STATS", None)
    if stats is None:
        return None
    return stats["compiles"] if isinstance(stats, dict) else stats.compiles


def draw(results, path):
    """Draw hillshades before and after with the water, and the eroded and deposited soil."""
    figure, axes = plt.subplots(1, 3, figsize=(18, 5.2), layout="constrained")
    land = {"cmap": "gray", "vmin": 0, "vmax": 255}
    axes[0].imshow(results["shade_before"], **land)
    axes[0].set_title("before the rain")
    axes[1].imshow(results["shade_after"], **land)
    water = numpy.ma.masked_less(results["depth"], 0.3)
    axes[1].imshow(water, cmap="Blues", vmin=0, vmax=5, alpha=0.8)
    axes[1].set_title("after the rain, with standing and running water")
    limit = numpy.percentile(numpy.abs(results["change"]), 99)
    image = axes[2].imshow(results["change"], cmap="BrBG", vmin=-limit, vmax=limit)
    axes[2].set_title("soil carried away (brown) and dropped (green)")
    figure.colorbar(image, ax=axes[2], label="metres", shrink=0.8)
    for ax in axes:
        ax.set_axis_off()
    path.parent.mkdir(exist_ok=True)
    figure.savefig(path, dpi=80)
    plt.close(figure)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=300, help="steps of the erosion (300)")
    args = parser.parse_args()
    plt.switch_backend("agg")
    height, dx, dy = load_elevation()
    rows, columns = height.shape
    print(f"{SOURCE.name}: {rows} x {columns} heights around the Jacksboro fault, Tennessee,")
    print(f"cells of {dx:.1f} x {dy:.1f} m; {args.steps} steps of rain, run-off and erosion.")
    print(f"One line of its source differs between the two: {IMPORT.strip()!r}")
    print(f"becomes 'import {LAZYNP} as np'. Each runs twice.\n")

    seconds, results = {}, {}
    for module in ("numpy", LAZYNP):
        program = load_program(module)
        for run in ("first", "second"):
            results[module], seconds[module, run] = timed(program, height, dx, dy, args.steps)
            print(f"{module:8} {run:6} run {seconds[module, run]:8.2f} s")
    compiled = programs_compiled()
    if compiled is not None:
        print(f"programs compiled by {LAZYNP}: {compiled}")
    for run in ("first", "second"):
        ratio = seconds["numpy", run] / seconds[LAZYNP, run]
        print(f"speed on {LAZYNP}, {run} run: {ratio:.2f} times NumPy's")

    failed = compare_all(results["numpy"], results[LAZYNP])
    picture = HERE / "output" / "terrain.png"
    draw(results[LAZYNP], picture)
    print(f"\npicture (of the results of {LAZYNP}): {picture}")
    if failed:
        sys.exit(f"results differ by more than they may: {', '.join(failed)}")
    print(f"all {len(results['numpy'])} results agree (floats to {TOLERANCE:g})")


if __name__ == "__main__":
    main()
