# Two commands on a fresh machine: `make demo` and `make test`. Each makes its own .venv; Python 3.10+ is all they need.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
JOBS ?= 2

.PHONY: demo test test-llvm test-wheel test-hooks coverage lint paper docs notebooks numbers format clean

$(VENV)/.demo: pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 10) else "Sarrus needs Python 3.10 or newer, this is " + sys.version)'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[peers,plots,viewer]"
	touch $@

$(VENV)/.dev: pyproject.toml $(VENV)/.demo
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[dev]"
	touch $@

$(VENV)/.docs: pyproject.toml $(VENV)/.demo
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[docs]"
	touch $@

demo: $(VENV)/.demo
	$(BIN)/python -m examples.demo

test: $(VENV)/.dev
	$(BIN)/python -m pytest -n $(JOBS)

# Kernels as machines have them for which we write no bytes ourselves: all of their code is LLVM's.
test-llvm: $(VENV)/.dev
	SARRUS_BACKEND=llvm $(BIN)/python -m pytest -n $(JOBS) tests/codegen/test_kernel.py tests/codegen/test_loops.py tests/codegen/test_guards.py \
		tests/codegen/test_native_values.py tests/codegen/test_program.py tests/calls tests/simulation/test_simulation.py

# Wheel and sdist, and the first steps of a stranger in an environment that has nothing but the core dependencies.
test-wheel: $(VENV)/.dev
	rm -rf build/dist build/core
	$(BIN)/python -m build --outdir build/dist . > /dev/null
	$(PYTHON) -m venv build/core
	build/core/bin/python -m pip install --quiet --disable-pip-version-check build/dist/*.whl
	build/core/bin/python -I tests/fresh_install.py

# Kernels in other libraries, with all extras, in an environment of their own. PyTorch comes first: where a CPU build of this version is offered pip takes it,
# and what asks for PyTorch later is content. Elsewhere, TORCH="torch --index-url ..." says which build (PyPI's for Linux brings several GB of CUDA).
HOOKS := .venv-hooks
TORCH ?= torch==2.13.0
$(HOOKS)/.ready: pyproject.toml
	test -x $(HOOKS)/bin/python || $(PYTHON) -m venv $(HOOKS)
	$(HOOKS)/bin/python -m pip install --quiet --disable-pip-version-check $(TORCH)
	$(HOOKS)/bin/python -m pip install --quiet --disable-pip-version-check --editable ".[hooks,plots]" "ray[rllib]" tensordict pytest pytest-xdist hypothesis
	touch $@

test-hooks: $(HOOKS)/.ready
	$(HOOKS)/bin/python -m pytest -n $(JOBS) tests/hooks

# Branch coverage of the rooms that must be covered, by the tests that are about them. Coverage makes Python slow: hence apart.
coverage: $(VENV)/.dev
	$(BIN)/python -m pytest -n $(JOBS) --cov --cov-report= --cov-report=json:$(VENV)/coverage.json \
		tests/spatial tests/model tests/importers tests/algorithms tests/oracles tests/codegen/test_trace.py tests/codegen/test_recursion.py tests/calls/test_calls.py tests/test_diagnosis.py
	$(BIN)/python -m tests.coverage_floor $(VENV)/coverage.json

lint: $(VENV)/.dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/pyright

format: $(VENV)/.dev
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

# Every table and figure of the papers, theirs beside ours: build/paper/report.html. QUICK=1: under five minutes.
paper: $(VENV)/.demo
	$(BIN)/python -m benchmarks.paper $(if $(QUICK),--quick)

docs: $(VENV)/.docs
	$(BIN)/mkdocs build --strict

# The tutorial's chapters as notebooks, executed: build/notebooks.
notebooks: $(VENV)/.dev
	$(BIN)/python -m docs_site.notebooks

# What scripts say in the docs: facts and exact counts on every algorithm's page and in the guide, the list of public names.
numbers: $(VENV)/.demo
	$(BIN)/python -m benchmarks.numbers
	$(BIN)/python -m benchmarks.count_pages
	$(BIN)/python -m benchmarks.gradient_counts --write
	$(BIN)/python -m benchmarks.api_page
	$(BIN)/python -m benchmarks.readme_table --counts --write

clean:
	rm -rf $(VENV) .venv-hooks build dist site .pytest_cache .ruff_cache .coverage
