# Everything from a fresh clone: each target makes the virtual environment first, when it is missing or out of date.

PYTHON ?= python3
WORKERS ?= 2
DEMO_OUT ?= demo-run
RESULTS ?= results

VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
# One thread per process: two test processes with two threads each would fight for two cores.
PYTEST := OMP_NUM_THREADS=1 $(BIN)/python -m pytest -q -n $(WORKERS) --dist worksteal

.DEFAULT_GOAL := help
.PHONY: help setup demo test test-slow browser bench reproduce screenshots docs lint format clean

help: ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-11s %s\n", $$1, $$2 }' Makefile

setup: $(STAMP) ## make .venv and install the package, its extras and the tools, in the tested versions

# constraints.txt pins torch too, so that a CPU build is taken where pip is given one. -qq: errors only.
$(STAMP): pyproject.toml constraints.txt
	@test -x $(BIN)/pip || { echo "Creating $(VENV)" && $(PYTHON) -m venv $(VENV); }
	@echo "Installing viewsplice into $(VENV) (minutes the first time)"
	@$(BIN)/python -m pip install -qq --disable-pip-version-check -c constraints.txt -e ".[all,docs,dev]"
	@touch $(STAMP)

demo: $(STAMP) ## fit the demonstration data and write a report
	@$(BIN)/viewsplice demo --out $(DEMO_OUT)
	@echo "Report: $(abspath $(DEMO_OUT)/report.html)"

test: lint browser ## lint, check types and run the tests
	@$(PYTEST)

browser: ## find Chromium for the tests of the page, or install it from Debian's packages where that is allowed
	@for name in chromium chromium-browser google-chrome google-chrome-stable; do \
	  command -v $$name >/dev/null && exit 0; \
	done; \
	if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	  echo "Installing Chromium for the tests of the page"; \
	  { apt-get update && apt-get install -y --no-install-recommends chromium; } >/dev/null 2>&1 && exit 0; \
	fi; \
	echo "No Chromium: the tests of the page in a browser are skipped (apt-get install chromium)"

test-slow: $(STAMP) ## run the slow tests: science, and runs killed half-way
	@$(PYTEST) -m slow

bench: $(STAMP) ## measure speed and memory against the reference implementations
	@mkdir -p $(RESULTS)
	@$(BIN)/python -m benchmarks --out $(RESULTS)/bench.json

reproduce: $(STAMP) ## run the paper's experiments (hours; BASELINES=1: with the methods it compares with, a day)
	@$(BIN)/viewsplice reproduce all $(if $(BASELINES),--baselines) --out $(RESULTS)/reproduce
	@$(BIN)/python -m benchmarks.reproduced

screenshots: $(STAMP) browser ## draw the pictures of the page in the documentation (minutes, from quick runs)
	@$(BIN)/python -m benchmarks.screenshots

docs: $(STAMP) ## build the documentation, warnings as errors
	@$(BIN)/sphinx-build -q -W --keep-going -b html docs docs/_build/html
	@echo "Documentation: docs/_build/html/index.html"

lint: $(STAMP) ## check format, style and types
	@$(BIN)/ruff format --check --quiet .
	@$(BIN)/ruff check --quiet .
	@$(BIN)/mypy

format: $(STAMP) ## format the code and fix what can be fixed
	@$(BIN)/ruff format .
	@$(BIN)/ruff check --fix .

clean: ## remove caches, builds and the demo run (not .venv, not results)
	@rm -rf build dist docs/_build $(DEMO_OUT) .hypothesis .mypy_cache .pytest_cache .ruff_cache
	@find src tests docs benchmarks -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true
