# `make demo` and `make test` need Python 3.11 or newer, git and make; everything else is set up in .venv.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
SITE_STAMP := $(VENV)/.installed-site
MANIFESTS := pyproject.toml constraints.txt core/pyproject.toml $(wildcard plugins/*/pyproject.toml)
EDITABLE := -e core -e plugins/todo_db -e "plugins/tasky[postgresql]" -e plugins/openspec -e plugins/dev -e plugins/extension_skills -e plugins/extension_tasks -e plugins/mount -e "plugins/cortex_tasks[backend,keyring]"
# One more than the two processors of a small machine: half of the time a test waits for a process.
WORKERS ?= 3

.DEFAULT_GOAL := help
.PHONY: help setup demo test test-again acceptance compiled check format lint types docs conformance conformance-mounted oracle torture bench profile wheels sbom site picture clean

help: ## show what can be made
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-12s %s\n", $$1, $$2}'

setup: $(STAMP) ## make the virtual environment in .venv

$(STAMP): $(MANIFESTS)
	@$(PYTHON) -c 'import sys; sys.exit("Python 3.11 or newer is needed; this is " + sys.version.split()[0] + ". Name another with: make PYTHON=python3.12 …") if sys.version_info < (3, 11) else None'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --upgrade pip
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --group dev $(EDITABLE)
	@touch $@

demo: setup ## start the host and watch every pack at work
	$(BIN)/mcp-host demo

test: setup compiled ## run the tests
	$(BIN)/python -m pytest -n $(WORKERS) --dist loadgroup -m "not torture and not acceptance"

acceptance: setup compiled ## run the samples of the pages, demonstrations, clean installs and clients of others
	$(BIN)/python -m pytest -n $(WORKERS) --dist loadgroup -m "acceptance and not torture"

test-again: setup ## run what failed in the last run once more, alone; it may be three tests at most
	$(BIN)/python -m tools.last_failed
	$(BIN)/python -m pytest --last-failed --last-failed-no-failures none -m "not torture"

compiled: setup # else each of the thousand servers that the tests start would compile what is new
	@$(BIN)/python -m compileall -q core/src plugins/*/src

check: format lint types test acceptance ## everything that must hold before a commit lands

format: setup
	$(BIN)/ruff format --check .

lint: setup
	$(BIN)/ruff check .

types: setup
	$(BIN)/mypy

docs: setup
	$(BIN)/python -m pytest -q tests/docs

conformance: setup ## the official MCP conformance suite, both protocol eras
	$(BIN)/python tests/conformance/run.py $(CONFORMANCE_OPTIONS)

conformance-mounted: setup ## the same against a host that mounts another, over stdio and HTTP
	$(BIN)/python tests/conformance/run.py --mounted

oracle: setup ## compare the OpenSpec pack with all answers of the reference tool
	$(BIN)/python tests/openspec/oracle.py

torture: setup compiled ## the long kill, race and load runs, and every way for a pack to misbehave
	$(BIN)/python -m pytest -m torture
	$(BIN)/python tests/containment/run.py

bench: setup compiled ## measure speed and memory against the rivals
	$(BIN)/python -m benchmarks

profile: setup compiled ## say where the microseconds of a call go
	$(BIN)/python -m benchmarks.profile

wheels: setup ## build the wheels of all distributions into dist/
	@rm -f dist/mcp_host*.whl
	@for d in core plugins/*; do $(BIN)/python -m build --quiet --wheel --outdir dist $$d; done

sbom: wheels ## write what the wheels bring with them, as CycloneDX, into build/sbom.cdx.json
	@mkdir -p build && rm -rf build/sbom-venv
	$(PYTHON) -m venv build/sbom-venv
	build/sbom-venv/bin/python -m pip install --quiet --constraint constraints.txt dist/mcp_host*.whl
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --group release
	$(BIN)/cyclonedx-py environment --output-reproducible --output-file build/sbom.cdx.json build/sbom-venv/bin/python

$(SITE_STAMP): $(STAMP)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --group site
	@touch $@

site: $(SITE_STAMP) ## build the documentation site into build/site/html, its links checked
	$(BIN)/python -m tools.site

picture: setup ## draw the terminal at the top of the README from the demo
	$(BIN)/python -m tools.picture

clean:
	rm -rf $(VENV) dist build .pytest_cache .mypy_cache .ruff_cache .hypothesis
