# `make lab` is all that a student needs; bare `make` lists what there is.
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/installed
LAB := $(VENV)/installed-lab
SITE := .venv-site
export PYTHONWARNINGS := ignore::DeprecationWarning:jupyter_client

.DEFAULT_GOAL := help
.PHONY: help setup lab test lint unit drift nbval nbval-beside-unit build site browser axe bench clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-8s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: $(STAMP) ## install everything into .venv (done by the others when needed)

$(STAMP): pyproject.toml requirements/lock.txt scripts/setup.sh
	@sh scripts/setup.sh $(VENV) dev
	@touch $(LAB) $@

$(LAB): pyproject.toml requirements/lock.txt scripts/setup.sh
	@sh scripts/setup.sh $(VENV) torch,lab,grade
	@touch $@

lab: $(LAB) ## open JupyterLab in work/, where you go on
	@$(BIN)/attn lab

PYTEST := $(BIN)/python -m pytest -p tests.skip_slow_imports

test: $(STAMP) ## lint, unit tests, drift check, every notebook executed
	@$(MAKE) --no-print-directory --jobs 2 lint drift
	@$(MAKE) --no-print-directory --jobs 2 unit nbval-beside-unit

lint: $(STAMP) ## ruff check, format check, types
	@$(BIN)/ruff check --quiet .
	@$(BIN)/ruff format --check --quiet . || { echo "Run: $(BIN)/ruff format ."; exit 1; }
	@$(BIN)/mypy --no-error-summary

unit: $(STAMP) ## unit and property tests
	@$(PYTEST) -p no:nbval -n 2 --dist worksteal tests

drift: $(STAMP) ## are all generated files what the sources make?
	@$(BIN)/attn build --check

nbval: $(STAMP) ## execute every notebook: solutions compared with their outputs, students' run to the end
	@$(PYTEST) -n 2 --dist loadfile --no-loadscope-reorder -p no:cacheprovider -p tests.notebook_runs --nbval --nbval-sanitize-with tests/sanitize.cfg solutions notebooks

# Side by side they keep two cores busy: many unit tests wait. What this one says comes at its end.
nbval-beside-unit:
	@$(MAKE) --no-print-directory nbval >$(VENV)/nbval.log 2>&1; status=$$?; cat $(VENV)/nbval.log; exit $$status

build: $(STAMP) ## make the notebooks from solutions/NN_name.py
	@$(BIN)/attn build

site: $(STAMP) $(SITE)/installed ## make the site in build/site and check every page
	@MPLBACKEND=agg $(BIN)/attn site --python $(SITE)/bin/python --out build/site $(if $(PYODIDE),--pyodide $(PYODIDE))
	@$(BIN)/python tests/check_site.py build/site

$(SITE)/installed: requirements/docs.txt scripts/setup.sh
	@sh scripts/setup.sh $(SITE) "" requirements/docs.txt
	@touch $@

# Pyodide for the tests of the browser edition; never part of the repository.
PYODIDE_CACHE := $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/attention-course/pyodide

browser: $(STAMP) $(SITE)/installed ## try the browser edition in Chromium (needs npm, or PYODIDE=folder)
	@$(if $(PYODIDE),true,$(BIN)/python scripts/fetch_pyodide.py $(PYODIDE_CACHE)) || [ -z "$$ATTN_REQUIRE_BROWSER" ]
	@ATTN_LITE=$(SITE)/bin/jupyter-lite ATTN_PYODIDE=$(or $(PYODIDE),$(PYODIDE_CACHE)) $(PYTEST) -p no:nbval -n 2 --dist load tests/test_building_jupyterlite.py

axe: site ## look for barriers on every page of the site (needs npm)
	@$(BIN)/python tests/accessibility.py build/site

bench: $(STAMP) ## measure speed against peers (minutes; never part of test)
	@$(BIN)/python -c "import os, sys, numpy, torch; print('Python', sys.version.split()[0], '- numpy', numpy.__version__, '- torch', torch.__version__, '-', os.cpu_count(), 'cores')"
	@for script in tests/bench/*.py; do echo; echo "$$script"; $(BIN)/python $$script || exit 1; done

clean: ## remove the environment and caches
	rm -rf $(VENV) $(SITE) build .mypy_cache .pytest_cache .ruff_cache .hypothesis *.egg-info
