# Two commands for a fresh machine: `make demo` and `make test`. Both create the environment first.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
# Workers of the test runner. One thread each: small tensors on two threads are slower when a core is busy.
JOBS ?= 2
export OMP_NUM_THREADS ?= 1

.PHONY: demo test test-slow lint bench clean

$(VENV)/.ready: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable ".[dev,cluster,ecg,export,mesh,netcdf,tensorboard,zarr]"
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

test-slow: lint
	$(BIN)/python -m pytest -q -n $(JOBS) -m slow

bench: $(VENV)/.ready
	$(BIN)/python -m benchmarks.fourier
	$(BIN)/python -m benchmarks.generators
	$(BIN)/python -m benchmarks.core
	$(BIN)/python -m benchmarks.projection

clean:
	rm -rf $(VENV) build demo .pytest_cache .mypy_cache .ruff_cache
