# Every target sets up what it needs in .venv on its first run; stamp files make later runs quick.
# PYTHON=... chooses the interpreter (3.11 to 3.13), JOBS=... the number of test
# processes, MINUTES=... the length of a soak test.

VENV ?= .venv
JOBS ?= 2
MINUTES ?= 10
USABLE := import sys, venv, ensurepip; sys.exit(not (3, 11) <= sys.version_info[:2] < (3, 14))
PYTHON ?= $(shell for p in python3.11 python3 python3.12 python3.13; do \
	if $$p -c '$(USABLE)' >/dev/null 2>&1; then echo $$p; break; fi; done)
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check install -qq
# Idle BLAS threads spin. While tests use every core, that costs more than the threads gain.
PYTEST := LAZYNP_CACHE=off OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 $(BIN)/python -m pytest
SUITE ?= tests array_api_tests
PARALLEL := -q -n $(JOBS)
# Most programs of the tests are small and run once: LLVM's optimising, and the splitting of each
# program into 32 parts for as many threads, take longer than all else. Whole programs and the rules
# of single operations are optimised, in one part. Compiled exactly as users' programs are:
# array_api_tests and the eager suites.
ONE_PART := --xla_cpu_parallel_codegen_split_count=1
UNOPTIMIZED := XLA_FLAGS="$(ONE_PART) --xla_backend_optimization_level=0"
OPTIMIZED := tests/programs tests/test_tiers.py tests/lowering tests/primitives
REST := $(addprefix --ignore=,$(OPTIMIZED))
# As if at the beginning of a program or in long loops of small operations, a composed function is NumPy's own: comparing values with
# NumPy's would compare NumPy with itself. These files test what lazynp adds there: views and what
# is written through them, memory order, kinds of results, operators and ufuncs with their options.
EAGER_SUITE = $(addprefix tests/,programs test_array.py test_strides.py \
	$(addprefix functions/test_,assigned.py at.py creation.py eager.py getset.py host_dtypes.py \
	in_place.py indexing.py long_views.py manipulation.py reductions.py refusals.py scalars.py \
	ufunc_methods.py) test_beyond_memory.py transforms/test_arguments.py)
# Without the C, only what a fast path stands before can differ.
PURE_SUITE = $(filter-out %/test_creation.py %/test_host_dtypes.py %/test_strides.py,$(EAGER_SUITE)) \
	$(addprefix tests/test_,form.py fastpath_views.py ownership.py views.py)
# The doctests of lazynp and of the documents. The functions of `testing` have NumPy's docstrings.
DOCTESTS = --ignore=lazynp/testing.py lazynp $(wildcard README.md docs/*.md)

.PHONY: everything demo test search soak neighbours test-full lint format doctest docs bench dist clean
.NOTPARALLEL:
.PRECIOUS: $(VENV)/.installed-%

demo: $(VENV)/.installed-demo
	$(BIN)/python examples/demo.py

# each suite in its own session, because both define hypothesis profiles with these names
test: $(VENV)/.installed-test
	echo "== tests, execution=adaptive"
	XLA_FLAGS=$(ONE_PART) LAZYNP_EXECUTION=adaptive $(PYTEST) $(PARALLEL) $(OPTIMIZED)
	$(UNOPTIMIZED) LAZYNP_EXECUTION=adaptive $(PYTEST) $(PARALLEL) tests $(REST)
	echo "== tests, execution=compiled"
	XLA_FLAGS=$(ONE_PART) LAZYNP_EXECUTION=compiled \
		$(PYTEST) $(PARALLEL) -m "not own_policy" $(OPTIMIZED)
	$(UNOPTIMIZED) LAZYNP_EXECUTION=compiled $(PYTEST) $(PARALLEL) -m "not own_policy" tests $(REST)
	echo "== tests, execution=reference"
	LAZYNP_EXECUTION=reference $(PYTEST) $(PARALLEL) -m "not own_policy" tests
	for tier in adaptive compiled reference; do \
		echo "== array_api_tests, execution=$$tier"; \
		few=; [ $$tier = compiled ] && few=--hypothesis-profile=quick; \
		LAZYNP_EXECUTION=$$tier $(PYTEST) $(PARALLEL) $$few array_api_tests || exit 1; \
	done
	for where in first loop; do \
		echo "== as if at the beginning of a program (first), or in long loops of small operations: $$where"; \
		LAZYNP_TEST_EAGER=$$where LAZYNP_EXECUTION=adaptive \
			$(PYTEST) $(PARALLEL) $(EAGER_SUITE) -k "not compiled and not reference" || exit 1; \
		echo "== the same without the hot path in C"; \
		LAZYNP_PURE_PYTHON=1 LAZYNP_TEST_EAGER=$$where LAZYNP_EXECUTION=adaptive \
			$(PYTEST) $(PARALLEL) $(PURE_SUITE) -k "not compiled and not reference" || exit 1; \
	done
	for module in numpy array_api_strict; do \
		echo "== array_api_tests, tried on $$module"; \
		ARRAY_API_TESTS_MODULE=$$module $(PYTEST) $(PARALLEL) array_api_tests || exit 1; \
	done
	echo "== array_api_tests, with jit, execution=reference"
	ARRAY_API_TESTS_JIT=1 LAZYNP_EXECUTION=reference \
		$(PYTEST) $(PARALLEL) --hypothesis-profile=quick array_api_tests

# What this finds, it may find in code that nobody has touched: it names the seed.
search: $(VENV)/.installed-test
	for suite in $(SUITE); do \
		echo "== $$suite, searching with a fresh seed"; \
		$(UNOPTIMIZED) $(PYTEST) $(PARALLEL) -m hypothesis --hypothesis-profile=fresh \
			$$(grep -rl --include='test_*.py' hypothesis $$suite) || exit 1; \
	done

# Processes that do what programs do over weeks; what it finds is printed with its seed.
soak: $(VENV)/.installed-test
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m tests.soak $(MINUTES)

# The tests of packages from PyPI, with NumPy and with lazynp; ONLY="emcee rowan" for some of them.
neighbours: $(VENV)/.installed-test
	$(BIN)/python -m tests.neighbours --jobs $(JOBS) $(ONLY)

test-full: $(VENV)/.installed-test
	for tier in compiled adaptive reference; do for suite in $(SUITE); do \
		echo "== $$suite, many examples, execution=$$tier"; \
		LAZYNP_EXECUTION=$$tier $(PYTEST) $(PARALLEL) --hypothesis-profile=full $$suite || exit 1; \
	done; done
	for tier in compiled reference; do \
		echo "== array_api_tests, many examples, with jit, execution=$$tier"; \
		ARRAY_API_TESTS_JIT=1 LAZYNP_EXECUTION=$$tier \
			$(PYTEST) $(PARALLEL) --hypothesis-profile=full array_api_tests || exit 1; \
	done
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m array_api_tests.broken --each

doctest: $(VENV)/.installed-test
	LAZYNP_CPU_DEVICES=8 $(PYTEST) -q --doctest-modules --doctest-glob='*.md' $(DOCTESTS)

lint: $(VENV)/.installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright
	$(BIN)/lint-imports --no-logo

format: $(VENV)/.installed-dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# The documentation site, in site/; fails on a link that leads nowhere.
docs: $(VENV)/.installed-docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet --strict

# Options go into BENCH, e.g. BENCH="--sizes S --only heat_2d --execution adaptive"; see run.py --help
bench: $(VENV)/.installed-bench
	$(BIN)/python benchmarks/recording.py
	$(BIN)/python benchmarks/small.py
	$(BIN)/python benchmarks/transforms.py
	$(BIN)/python benchmarks/run.py $(BENCH)

# an sdist, a wheel for this platform, and one without the C for the others
dist: $(VENV)/.installed-dev
	rm -rf build dist
	$(BIN)/python -m build
	LAZYNP_PURE_PYTHON=1 $(BIN)/python -m build --wheel

clean:
	rm -rf $(VENV) .venv-* build dist site *.egg-info .pytest_cache .ruff_cache .hypothesis

$(BIN)/python:
	@test -n "$(PYTHON)" || { echo "no Python 3.11 to 3.13 with venv and pip found; set PYTHON=" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)

# all of it, at the price of one build
everything: $(VENV)/.installed-dev,demo
	@touch $(addprefix $(VENV)/.installed-,test dev docs demo bench)

$(VENV)/.installed-%: pyproject.toml setup.py $(wildcard lazynp/_c/*) | $(BIN)/python
	@echo "== installing lazynp[$*] into $(VENV)"
	$(PIP) --editable '.[$*]'
	$(BIN)/python -m compileall -q lazynp
	@touch $@
