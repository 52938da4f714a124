# Switchyard's few verbs. Each needs nothing but `python3` (3.11 or newer) to start with; `make setup` brings the rest into .venv.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.installed
# How many tests run side by side. They mostly wait, for what they started to answer or to stay silent.
JOBS   ?= 3

.DEFAULT_GOAL := help
.PHONY: help setup counterparts crds chart lock lint test e2e wheels demo bench soak clean

help:                ## list the verbs
	@sed -nE 's/^([a-z]+):.*## (.*)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 22

setup: $(STAMP)      ## install Switchyard and its tools into .venv, pinned and hash-checked
$(STAMP): requirements/dev.txt pyproject.toml
	@$(PYTHON) -c 'import sys; sys.version_info >= (3, 11) or sys.exit("Switchyard needs Python 3.11 or newer; $(PYTHON) is %d.%d. Try: make setup PYTHON=python3.12" % sys.version_info[:2])'
	@echo "Installing into $(VENV) (about half a minute, this once) ..."
	$(PYTHON) -m venv --clear $(VENV)
	$(BIN)/python -m pip install --quiet --require-hashes -r requirements/dev.txt
	$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation --editable .
	@touch $@

counterparts: setup  ## install the real MCP servers and clients that the tests talk to
	$(BIN)/python scripts/counterparts.py install

demo: setup          ## four real MCP servers of both eras, federated: list, live change, call
	$(BIN)/python examples/demo/demo.py

test: counterparts   ## every test that needs no cluster; JOBS=1 runs them one after another
	$(BIN)/python -m pytest --numprocesses $(JOBS) --dist loadgroup --no-loadscope-reorder $(ARGS)

e2e: setup           ## the same on a real cluster that kind makes: KEEP=1 leaves it, KIND_NODE_IMAGE and PYTHON_IMAGE choose images
	$(BIN)/python -m pytest tests/e2e --timeout 600 $(ARGS)

wheels: setup        ## collect into build/wheels what the images are made of, for builds without a network
	mkdir -p build/older && git archive $$(cat tests/e2e/older_commit) requirements | tar -x -C build/older
	for each in requirements/build requirements/operator requirements/sidecar \
	  build/older/requirements/build build/older/requirements/operator build/older/requirements/sidecar \
	  tests/counterparts/python/mcp1 tests/counterparts/python/mcp2; do \
	  $(BIN)/python -m pip download --quiet --require-hashes --only-binary :all: --dest build/wheels -r $$each.txt || exit 1; done

crds: setup          ## write crds/ anew from the operator's models
	$(BIN)/python scripts/crds.py

chart: crds          ## write anew what is made of the chart: its table of values, and deploy/ (needs helm)
	$(BIN)/python scripts/chart.py

lint: setup          ## format, lint, types, layers
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo

soak: counterparts   ## ten minutes of abuse with everything that can go wrong: ARGS="--seed 7 --minutes 60"
	cd tests && ../$(BIN)/python -m soak $(ARGS)

bench: setup         ## speed, scale and cold start, beside nginx and backends asked directly
	PYTHONPATH=tests $(BIN)/python -m bench $(ARGS)

lock:                ## refresh requirements/*.txt from pyproject.toml (needs uv)
	uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-emit-find-links \
	  --no-header --all-extras --group dev pyproject.toml -o requirements/dev.txt
	uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-emit-find-links \
	  --no-header -c requirements/dev.txt pyproject.toml -o requirements/sidecar.txt
	uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-emit-find-links \
	  --no-header -c requirements/dev.txt --extra operator pyproject.toml -o requirements/operator.txt
	echo 'hatchling>=1.27' | uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
	  --no-emit-find-links --no-header -c requirements/dev.txt - -o requirements/build.txt

clean:               ## remove what the other verbs made
	rm -rf $(VENV) .counterparts build dist .mypy_cache .ruff_cache .pytest_cache .import_linter_cache
