# Two commands for a fresh machine: `make demo` and `make test`. Both create the environment first.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
# Workers of the test runner. One thread each: small tensors on two threads are slower when a core is busy.
JOBS ?= 2
export OMP_NUM_THREADS ?= 1

.PHONY: demo test test-slow lint bench docs dist web fuzz kills soak clean

$(VENV)/.ready: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable ".[dev,cluster,ecg,export,mesh,netcdf,tensorboard,zarr]"
	touch $@

# Packages of the site, which nothing else needs.
$(VENV)/.docs-ready: $(VENV)/.ready
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable ".[docs]"
	touch $@

demo: $(VENV)/.ready
	$(BIN)/python examples/demo.py

lint: $(VENV)/.ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

test: lint
	$(BIN)/python -m pytest -q -n $(JOBS)

test-slow: lint $(VENV)/.docs-ready
	$(BIN)/python -m pytest -q -n $(JOBS) -m slow

bench: $(VENV)/.ready
	$(BIN)/python -m benchmarks.fourier
	$(BIN)/python -m benchmarks.generators
	$(BIN)/python -m benchmarks.core
	$(BIN)/python -m benchmarks.projection

docs: $(VENV)/.docs-ready
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

# Wheel and sdist into dist/, with what the environment has: nothing is fetched.
dist: $(VENV)/.ready
	rm -rf dist
	$(BIN)/python -m build --no-isolation --outdir dist

# Renews what the playground is made with, at the versions pinned there; only needed to change them.
web:
	$(PYTHON) tools/vendor_web.py

# Attacks that take long: cases at every boundary, kills at random times, and all of it over and over.
COUNT ?= 20000
MINUTES ?= 30
fuzz: $(VENV)/.ready
	$(BIN)/python -m tests.attacks.fuzz --count $(COUNT)

kills: $(VENV)/.ready
	$(BIN)/python -m benchmarks.kills --train 200 --generate 50

soak: $(VENV)/.ready
	$(BIN)/python -m benchmarks.soak --minutes $(MINUTES)

clean:
	rm -rf $(VENV) build demo dist .cache .pytest_cache .mypy_cache .ruff_cache
