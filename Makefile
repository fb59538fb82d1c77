# Everything a newcomer needs: `make demo` and `make test`. Only python3 (3.11 to 3.13) with its
# venv module and make have to be there; the rest is installed into .venv on first use.

PYTHON ?= python3
VENV := .venv
RUN := $(VENV)/bin/python

# The main job: experiments run one after the other, with their flags and the folder they fill.
DEMO ?= quickstart
DEMO_FLAGS ?=
OUT ?= results
# For instance `make test PYTEST_FLAGS="-k gaps"`, or `PYTEST_FLAGS="-m slow"` for the long tests.
PYTEST_FLAGS ?=
# Which benchmarks `make bench` runs; all that are registered if empty.
BENCH ?=

.DEFAULT_GOAL := help
.PHONY: help demo test lint format typecheck bench clean
.DELETE_ON_ERROR:
.SECONDARY:

help:
	@echo "make demo       the main job: claims against exact laws, figures in $(OUT)/"
	@echo "make test       the fast test suite"
	@echo "make lint       ruff, rules and formatting"
	@echo "make format     let ruff rewrite the files"
	@echo "make typecheck  pyright"
	@echo "make bench      ratios against peers, side by side"
	@echo "make clean      remove $(VENV), caches and build outputs (results stay)"

demo: $(VENV)/.installed
	@status=0; for name in $(DEMO); do \
	    $(RUN) -m experiments "$$name" --out "$(OUT)" $(DEMO_FLAGS) || status=1; \
	done; \
	if [ $$status -eq 0 ]; then echo "All claims hold. Figures, tables and claims are in $(OUT)/"; \
	else echo "Not all claims hold, see above. What was written is in $(OUT)/" >&2; fi; \
	exit $$status

test: $(VENV)/.installed-test
	$(RUN) -m pytest -n auto --dist loadfile $(PYTEST_FLAGS)

lint: $(VENV)/.installed-lint
	$(RUN) -m ruff check .
	$(RUN) -m ruff format --check .

format: $(VENV)/.installed-lint
	$(RUN) -m ruff check --fix .
	$(RUN) -m ruff format .

typecheck: $(VENV)/.installed-lint
	$(RUN) -m pyright --pythonpath $(RUN)

bench: $(VENV)/.installed-bench
	$(RUN) -m benchmarks --all $(BENCH)

clean:
	rm -rf $(VENV) build dist .pytest_cache .ruff_cache *.egg-info
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# A stamp for each set of extras, so that a set is installed once, and again when it has changed.
INSTALL = $(RUN) -m pip install -qq --disable-pip-version-check --constraint constraints.txt --editable

$(VENV)/.installed: pyproject.toml constraints.txt | $(RUN)
	@echo "Installing into $(VENV), which takes a minute or two the first time ..."
	@$(INSTALL) .
	@touch $@

$(VENV)/.installed-test: $(VENV)/.installed
	@$(INSTALL) '.[test]'
	@touch $@

$(VENV)/.installed-bench: $(VENV)/.installed
	@$(INSTALL) '.[bench]'
	@touch $@

# Types and style are checked of all that is in the project, so with all that it may import.
$(VENV)/.installed-lint: $(VENV)/.installed-test $(VENV)/.installed-bench
	@$(INSTALL) '.[lint]'
	@touch $@

$(RUN):
	@command -v "$(PYTHON)" >/dev/null || { \
	    echo "make: there is no '$(PYTHON)'; install Python 3.11 to 3.13," \
	        "or name one, as in: make PYTHON=python3.12" >&2; exit 1; }
	@"$(PYTHON)" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' || { \
	    echo "make: Python 3.11 to 3.13 is needed, and '$(PYTHON)' is $$("$(PYTHON)" -V 2>&1);" \
	        "name another, as in: make PYTHON=python3.12" >&2; exit 1; }
	@"$(PYTHON)" -m venv "$(VENV)" || { rm -rf "$(VENV)"; \
	    echo "make: '$(PYTHON)' could not make an environment; on Debian install python3-venv" >&2; \
	    exit 1; }
