"""Whole programs, unmodified, on NumPy and on lazynp.

The programs are plain NumPy sources beside this file. Each runs twice from its source text, once
with NumPy and once with its import line naming the module under test. Both runs must give the same
results (values, dtypes, shapes, Python types) and change their inputs alike.
"""

from __future__ import annotations

import ast
from functools import cache
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from tests.conftest import MODULE_NAME
from tests.programs.checks import HERE, Program, assert_same, load_source, make_inputs

WORDS = [
    np.frombuffer(w, dtype=np.uint8).astype(np.int64) for w in (b"lazy evaluation", b"laziness")
]
TEXT = np.frombuffer(b"The quick brown Fox jumps over the lazy Dog, twice.", dtype=np.uint8)


def _spd(rng: np.random.Generator, n: int) -> np.ndarray:
    """A symmetric positive definite matrix, well conditioned."""
    a = rng.standard_normal((n, n))
    return a @ a.T / n + np.eye(n)


def _graph(rng: np.random.Generator) -> tuple[np.ndarray]:
    d = np.where(rng.random((12, 12)) < 0.3, rng.integers(1, 20, (12, 12)).astype(float), np.inf)
    np.fill_diagonal(d, 0)
    return (d,)


def _network(rng: np.random.Generator) -> tuple[Any, ...]:
    shapes = ((16, 5), (16, 2), (5, 7), (7, 2))
    return (*(rng.standard_normal(s).astype(np.float32) for s in shapes), 20)


PROGRAMS = [
    Program("stencils", "heat_2d", lambda r: (r.random((14, 11)), 25)),
    Program("stencils", "heat_with_source", lambda r: (16, 12)),
    Program("stencils", "jacobi_1d", lambda r: (r.random(40), 15)),
    Program("stencils", "gauss_seidel", lambda r: (r.random((7, 6)), 3)),
    Program("stencils", "red_black", lambda r: (r.random((10, 10)), 1e-3), rtol=1e-10),
    Program("stencils", "wave_leapfrog", lambda r: (60, 40), rtol=1e-11),
    Program("stencils", "fdtd_2d", lambda r: (9, 12, 10), rtol=1e-11),
    Program("stencils", "lattice_boltzmann", lambda r: (16, 9, 6), rtol=1e-11),
    Program("stencils", "sobel", lambda r: (r.integers(0, 256, (12, 15), dtype=np.uint8),)),
    Program("stencils", "median_filter", lambda r: (r.random((9, 10)),)),
    Program(
        "stencils",
        "conv2d",
        lambda r: (r.random((2, 7, 8, 3), np.float32), r.random((3, 3, 3, 4), np.float32) - 0.5),
    ),
    Program(
        "stencils",
        "conv2d_windows",
        lambda r: (r.random((8, 7), np.float32), r.random((3, 3), np.float32)),
    ),
    Program("stencils", "upwind_advection", lambda r: (r.random(30), r.standard_normal(30), 12)),
    Program("stencils", "lid_driven_cavity", lambda r: (12, 5), rtol=1e-10),
    Program("stencils", "box_blur_integral", lambda r: (r.integers(0, 99, (12, 10)), 2)),
    Program("cells", "life_roll", lambda r: (r.integers(0, 2, (12, 14), dtype=np.uint8), 8)),
    Program("cells", "life_slices", lambda r: (r.integers(0, 2, (12, 14)), 8)),
    Program("cells", "life_argwhere", lambda r: (r.integers(0, 2, (10, 11)), 6)),
    Program("cells", "elementary_rule", lambda r: (110, 31, 20)),
    Program("cells", "sandpile", lambda r: (r.integers(0, 12, (9, 9)),)),
    Program("cells", "langton_ant", lambda r: (9, 120)),
    Program(
        "cells",
        "forest_fire",
        lambda r: (r.integers(0, 2, (10, 10)), r.random((8, 10, 10)), r.random((8, 10, 10))),
    ),
    Program("cells", "flood_labels", lambda r: (r.random((11, 12)) < 0.6,)),
    Program("cells", "distance_map", lambda r: (r.random((9, 12)) < 0.25, (0, 3))),
    Program(
        "cells", "ising", lambda r: (2 * r.integers(0, 2, (8, 8)) - 1, r.random((6, 8, 8)), 0.4)
    ),
    Program("matrices", "lu_slices", lambda r: (_spd(r, 9),), rtol=1e-10),
    Program("matrices", "lu_elements", lambda r: (_spd(r, 6),), rtol=1e-10),
    Program(
        "matrices", "solve_with_pivoting", lambda r: (r.random((7, 7)), r.random(7)), rtol=1e-9
    ),
    Program("matrices", "cholesky_rows", lambda r: (_spd(r, 6),), rtol=1e-10),
    Program("matrices", "gram_schmidt", lambda r: (r.standard_normal((9, 5)),), rtol=1e-10),
    Program("matrices", "jacobi_eigenvalues", lambda r: (_spd(r, 4), 4), rtol=1e-9),
    Program("matrices", "conjugate_gradient", lambda r: (_spd(r, 10), r.random(10)), rtol=1e-9),
    Program(
        "matrices",
        "thomas",
        lambda r: (r.random(11), 3 + r.random(12), r.random(11), r.random(12)),
        rtol=1e-10,
    ),
    Program("matrices", "floyd_warshall", _graph),
    Program("matrices", "pagerank", lambda r: ((r.random((14, 14)) < 0.15).astype(float),)),
    Program("matrices", "power_method", lambda r: (r.random((9, 6)), 15), rtol=1e-10),
    Program("matrices", "covariance_kernel", lambda r: (r.random((20, 6)),), rtol=1e-11),
    Program(
        "matrices",
        "einsum_and_friends",
        lambda r: (r.random((4, 4)), r.random((4, 4)), r.random((3, 4, 4))),
    ),
    Program("matrices", "matrix_power_fibonacci", lambda r: (200,)),
    Program("learning", "kmeans", lambda r: (r.random((40, 2)), 4, 6)),
    Program(
        "learning",
        "logistic_regression",
        lambda r: (r.standard_normal((30, 3)), r.integers(0, 2, 30).astype(float), 20, 0.5),
        rtol=1e-11,
    ),
    Program("learning", "two_layers", _network, rtol=1e-4),
    Program("learning", "adam", lambda r: (r.random((12, 4)), r.random(12), 25), rtol=1e-10),
    Program(
        "learning",
        "softmax_cross_entropy",
        lambda r: (r.standard_normal((10, 4)), r.integers(0, 4, 10)),
    ),
    Program(
        "learning",
        "nearest_neighbours",
        lambda r: (r.random((20, 3)), r.integers(0, 3, 20), r.random((6, 3)), 5),
    ),
    Program("learning", "naive_bayes", lambda r: (r.integers(0, 5, (15, 8)), r.integers(0, 3, 15))),
    Program("learning", "kalman", lambda r: (r.random(30), 1e-3, 0.1)),
    Program("learning", "kalman_2d", lambda r: (np.cumsum(r.random(12)), 0.5), rtol=1e-10),
    Program("learning", "linear_fit_report", lambda r: (r.random(25) * 3, r.random(25)), rtol=1e-9),
    Program("learning", "bootstrap", lambda r: (r.random(21), r.integers(0, 21, (30, 21)))),
    Program("learning", "random_walks", lambda r: (2 * r.integers(0, 2, (20, 150)) - 1,)),
    Program(
        "learning", "group_statistics", lambda r: (r.choice([0, 1, 3, 4, 7], 40), r.random(40))
    ),
    Program(
        "physics",
        "n_body",
        lambda r: (r.standard_normal((8, 3)), r.standard_normal((8, 3)), r.random(8), 12),
        rtol=1e-10,
    ),
    Program("physics", "n_body_masked", lambda r: (r.random((9, 2)), r.random(9)), rtol=1e-11),
    Program("physics", "bouncing", lambda r: (r.random((12, 2)), r.standard_normal((12, 2)), 15)),
    Program("physics", "mandelbrot_masks", lambda r: (24, 15)),
    Program("physics", "mandelbrot_where", lambda r: (24, 15)),
    Program("physics", "julia_smooth", lambda r: (16, 25), rtol=1e-8),
    Program(
        "physics",
        "black_scholes",
        lambda r: (*(lo + r.random(20) for lo in (40.0, 40.0, 0.2)), 0.03, 0.25),
        rtol=1e-11,
    ),
    Program("physics", "monte_carlo_option", lambda r: (r.standard_normal((50, 8)), 100, 95, 0.2)),
    Program("physics", "binomial_tree", lambda r: (100.0, 105.0, 24), rtol=1e-11),
    Program("physics", "pendulum_rk4", lambda r: (np.array([1.5, 0.0]), 50, 0.05), rtol=1e-10),
    Program("physics", "lotka_volterra", lambda r: (5 + 10 * r.random((2, 6)), 40), rtol=1e-11),
    Program("physics", "fourier_by_hand", lambda r: (r.standard_normal(24),), rtol=1e-11),
    Program(
        "physics", "spring_chain", lambda r: (np.arange(10.0) ** 1.1, np.zeros(10), 30), rtol=1e-10
    ),
    Program("physics", "ray_sphere", lambda r: (r.standard_normal((60, 3)) / 4 + [0, 0, 1],)),
    Program("sequences", "levenshtein", lambda r: (WORDS[1], WORDS[0][:9])),
    Program("sequences", "levenshtein_rows", lambda r: tuple(WORDS)),
    Program("sequences", "longest_common_subsequence", lambda r: tuple(WORDS)),
    Program("sequences", "matrix_chain", lambda r: (r.integers(5, 60, 9),)),
    Program("sequences", "knapsack", lambda r: (r.integers(1, 12, 10), r.integers(1, 60, 10), 30)),
    Program("sequences", "sieve", lambda r: (600,)),
    Program(
        "sequences",
        "run_lengths",
        lambda r: (np.repeat(r.integers(0, 3, 15), r.integers(1, 5, 15)),),
    ),
    Program("sequences", "moving_averages", lambda r: (r.random(30), 4)),
    Program(
        "sequences", "histograms", lambda r: (10 * r.random(80), np.array([0.0, 1, 2.5, 6, 10]))
    ),
    Program("sequences", "permutation_cycles", lambda r: (r.permutation(14),)),
    Program("sequences", "sorting", lambda r: (r.random(30), r.integers(0, 4, 30))),
    Program("sequences", "sets", lambda r: (r.integers(0, 12, 25), r.integers(5, 18, 15))),
    Program("sequences", "collatz", lambda r: (30, 150)),
    Program("sequences", "bit_tricks", lambda r: (r.integers(0, 2**32, 20, dtype=np.uint32),)),
    Program("sequences", "linear_congruential", lambda r: (42, 12)),
    Program("sequences", "caesar", lambda r: (TEXT, 13)),
    Program("sequences", "two_sum_table", lambda r: (r.integers(0, 40, 15), 37)),
    Program("sequences", "magic_square", lambda r: (5,)),
    Program("sequences", "eight_queens", lambda r: (5,)),
    Program(
        "sequences",
        "interpolation",
        lambda r: (10 * r.random(12), np.sort(10 * r.random(8)), r.random(8)),
        rtol=1e-11,
    ),
    Program("views", "chains_of_views", lambda r: (r.integers(0, 50, (8, 9)),)),
    Program("views", "overlapping", lambda r: (r.random((6, 3)),)),
    Program("views", "reshaped", lambda r: (r.random((6, 4)),)),
    Program("views", "diagonals", lambda r: (6,)),
    Program("views", "swaps", lambda r: (r.integers(0, 99, (5, 4)),)),
    Program("views", "rows_as_views", lambda r: (r.random((5, 6)),)),
    Program("views", "in_place_operators", lambda r: (r.random((4, 3)), r.random((2, 3)))),
    Program("views", "out_arguments", lambda r: (r.random((4, 5)), r.random((4, 5)))),
    Program("views", "two_buffers", lambda r: (7, 5)),
    Program(
        "views", "complex_parts", lambda r: (r.standard_normal(8) + 1j * r.standard_normal(8),)
    ),
    Program("views", "masks_and_fancy", lambda r: (r.random((6, 5)),)),
    Program("views", "zero_dimensional"),
    Program("views", "swapped_axes", lambda r: (r.random((3, 4, 5)),)),
    Program("views", "late_write_after_read", lambda r: (r.random((4, 3)),)),
    Program("views", "reinterpretation", lambda r: (r.standard_normal(6).astype(np.float32),)),
    Program("views", "assemble", lambda r: (r.random((3, 4)),)),
    Program("guides", "diffraction", lambda r: (16, 3)),
    Program("guides", "fresnel", lambda r: (12, 0.01)),
    Program("guides", "char_rnn", lambda r: (TEXT[:24], 6, 3), rtol=1e-9),
    Program("guides", "sales_records", lambda r: ([3, 1, 4, 1, 5, 9],)),
    Program("guides", "daily_temperatures", lambda r: (r.standard_normal(40),)),
    Program("guides", "word_counts", lambda r: ("The cat, the dog and the horse. A horse, Cat.",)),
    Program("guides", "masked_readings", lambda r: (np.array([0.5, np.nan, 1.5, 9.0, -1.0]),)),
    Program("guides", "files", lambda r: (r.standard_normal((4, 3)),)),
    Program("guides", "monte_carlo_pi", lambda r: (7, 200)),
    Program(
        "guides",
        "guarded_division",
        lambda r: (np.array([1.0, 0.0, -3.0, 2.0]), np.array([2.0, 0.0, 0.0, 4.0])),
    ),
    Program("guides", "rolling_statistics", lambda r: (r.standard_normal(20), 4), rtol=1e-11),
    Program("guides", "curve_fitting", lambda r: (np.arange(8.0), r.standard_normal(8)), rtol=1e-8),
    Program("guides", "low_rank_image", lambda r: (r.random((7, 6, 3)), 3), rtol=1e-9),
    Program("guides", "empirical_distribution", lambda r: (r.random(15), r.random(12))),
    Program("guides", "ufunc_methods", lambda r: (r.integers(0, 30, 8), r.random(8))),
]

load = cache(load_source)


def run(program: Program, source: ModuleType, array: Any) -> tuple[Any, list[Any]]:
    """The result, and the arguments as the program left them."""
    arguments = make_inputs(program, array)
    return getattr(source, program.name)(*arguments), arguments


@pytest.mark.parametrize("program", PROGRAMS, ids=str)
def test_same_as_numpy(program: Program, xnp: ModuleType) -> None:
    want, want_arguments = run(program, load(program.source, "numpy"), np.array)
    source = load(program.source, MODULE_NAME)
    for time in ("first run", "second run"):  # the second may find a compiled program
        got, arguments = run(program, source, xnp.array)
        assert_same(want, got, program.rtol, f"{program}, {time}: result")
        assert_same(want_arguments, arguments, program.rtol, f"{program}, {time}: argument")


@pytest.mark.parametrize("program", [PROGRAMS[0], PROGRAMS[-1]], ids=str)
def test_checks_reject_wrong_results(program: Program) -> None:
    """A changed value, dtype, shape or argument is noticed."""
    want, arguments = run(program, load(program.source, "numpy"), np.array)
    for spoil in (lambda a: a + 1e-3, lambda a: a.astype(np.float32), lambda a: a[..., None]):
        wrong = [spoil(a) if isinstance(a, np.ndarray) else a for a in arguments]
        with pytest.raises(AssertionError):
            assert_same(arguments, wrong, program.rtol, "spoilt")
    with pytest.raises(AssertionError):
        assert_same(want, want[:-1], program.rtol, "short")


def test_every_program_is_run() -> None:
    """No program of a source file is left out of the table."""
    listed = {(p.source, p.name) for p in PROGRAMS}
    sources = {p.source for p in PROGRAMS}
    written = {
        (stem, node.name)
        for stem in sources
        for node in ast.parse((HERE / f"{stem}.py").read_text()).body
        if isinstance(node, ast.FunctionDef)
    }
    assert written == listed
    assert len(listed) == len(PROGRAMS)
