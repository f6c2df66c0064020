# Every target sets up what it needs by itself: a virtual environment in .venv, filled by pip under constraints.txt.

PYTHON ?= $(shell command -v python3.11 || command -v python3)
BIN := .venv/bin
INSTALL := $(BIN)/python -m pip install -qq --disable-pip-version-check -c constraints.txt
DEMO ?= run fedavg local ifca wecfl flexcfl data=digits partition=permuted rounds=12 epochs=5 lr=0.1 groups=4 init_min_share=0.05
ARGS ?=
BUILT_FROM := pyproject.toml setup.py constraints.txt $(wildcard src/shoal/kernels/*.[ch])

.DEFAULT_GOAL := help
.PHONY: help demo test test-all check clean

help: ## show this list
	@sed -n 's/^\([a-z-]*\):.*## /  make \1|/p' Makefile | column -t -s '|'

demo: .venv/report ## a small run, from nothing to a report
	@out=runs/demo-$$(date +%Y%m%d-%H%M%S) && $(BIN)/shoal $(DEMO) out=$$out && $(BIN)/shoal report $$out

test: .venv/dev ## the tests, without the slow ones (ARGS="-k word" is passed on to pytest)
	@$(BIN)/python -m pytest -q $(ARGS)

test-all: .venv/dev ## all tests
	@$(BIN)/python -m pytest -q -m "" $(ARGS)

check: .venv/dev ## format, lint, types, import contract, tests
	@$(BIN)/ruff format --check -q .
	@$(BIN)/ruff check -q .
	@$(BIN)/mypy --no-error-summary
	@$(BIN)/lint-imports --no-logo
	@$(BIN)/python -m pytest -q $(ARGS)

clean: ## remove everything that can be made again; runs stay
	@rm -rf .venv build dist .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis src/*.egg-info
	@rm -f src/shoal/kernels/*.so
	@find src tests -name __pycache__ -type d -prune -exec rm -rf {} +

.venv/bin/python:
	@echo "Setting up .venv (once; downloads PyTorch)"
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Shoal needs Python 3.11 or newer; name one with make PYTHON=...")'
	@$(PYTHON) -m venv .venv

.venv/report: $(BUILT_FROM) | .venv/bin/python
	@$(INSTALL) -e ".[report]"
	@touch $@

.venv/dev: $(BUILT_FROM) | .venv/bin/python
	@$(INSTALL) -e ".[dev]"
	@touch $@ .venv/report
