# Every target sets up what it needs by itself: a virtual environment in .venv, filled by pip under constraints.txt.

PYTHON ?= $(shell command -v python3.11 || command -v python3)
BIN := .venv/bin
INSTALL := $(BIN)/python -m pip install -qq --disable-pip-version-check -c constraints.txt
DEMO ?= run fedavg local ifca wecfl flexcfl data=digits partition=permuted rounds=12 epochs=5 lr=0.1 groups=4 init_min_share=0.05
ARGS ?=
BUILT_FROM := pyproject.toml setup.py constraints.txt $(wildcard src/shoal/kernels/*.[ch])

.DEFAULT_GOAL := help
.PHONY: help demo test test-all test-portable test-sanitized test-docs coverage mutate bits check lint docs graph clean

help: ## show this list
	@sed -n 's/^\([a-z-]*\):.*## /  make \1|/p' Makefile | column -t -s '|'

demo: .venv/report ## a small run, from nothing to a report
	@out=runs/demo-$$(date +%Y%m%d-%H%M%S) && $(BIN)/shoal $(DEMO) out=$$out && $(BIN)/shoal report $$out

test: .venv/dev ## the tests, without the slow ones (ARGS="-k word" is passed on to pytest)
	@$(BIN)/python -m pytest -q $(ARGS)

test-all: .venv/dev ## all tests
	@$(BIN)/python -m pytest -q -m "" $(ARGS)

bits: .venv/dev ## do all algorithms still give the same bits? (ARGS="--against REV", ARGS="--only word")
	@$(BIN)/python tools/bits.py check $(ARGS)

test-sanitized: .venv/dev ## the tests of the C kernels under sanitizers: memory, arithmetic, then threads
	@$(BIN)/python -m tools.sanitize $(ARGS)
	@$(BIN)/python -m tools.sanitize --threads $(ARGS)

test-portable: .venv/dev ## the tests as on other machines, a table (ARGS="--settings oldest,one-core -- -k word"; hours)
	@$(BIN)/python -m tools.portable $(ARGS)

coverage: .venv/dev ## which lines and branches the tests do not run; fails below 95 %
	@$(BIN)/coverage erase
	@$(BIN)/coverage run -m pytest -q $(ARGS)
	@$(BIN)/coverage combine -q
	@$(BIN)/python -m tools.coverage_table

mutate: .venv/dev ## do the tests notice small changes to the code? (ARGS="--sample 400 --paths src/shoal/measures")
	@$(BIN)/python -m tools.mutate $(ARGS)

check: lint ## what a change must pass: make lint, then the tests
	@$(BIN)/python -m pytest -q $(ARGS)

lint: .venv/dev ## format, lint, types, import contracts
	@$(BIN)/ruff format --check -q .
	@$(BIN)/ruff check -q .
	@$(BIN)/mypy --no-error-summary
	@$(BIN)/lint-imports --no-logo

docs: .venv/docs ## the documentation as a site, in build/site; fails on a dead link
	@NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build $(ARGS)
	@echo "Open build/site/index.html (for the search: $(BIN)/python -m http.server -d build/site)"

test-docs: .venv/dev ## the tests of the documentation: examples, links, lists, quoted figures, notebooks
	@$(BIN)/python -m pytest -q tests/test_docs.py tests/test_readme.py tests/tools/test_site.py README.md docs $(ARGS)

graph: .venv/dev ## the import graph as a table, and its picture for docs/architecture.md
	@$(BIN)/python -m tools.imports --svg docs/images/imports.svg

clean: ## remove everything that can be made again; runs stay
	@rm -rf .venv build dist .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis .mutate src/*.egg-info
	@rm -f src/shoal/kernels/*.so .coverage .coverage.*
	@find src tests tools -name __pycache__ -type d -prune -exec rm -rf {} +

.venv/bin/python:
	@echo "Setting up .venv (once; downloads PyTorch)"
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Shoal needs Python 3.11 or newer; name one with make PYTHON=...")'
	@$(PYTHON) -m venv .venv

.venv/report: $(BUILT_FROM) | .venv/bin/python
	@$(INSTALL) -e ".[report]"
	@touch $@

.venv/docs: $(BUILT_FROM) | .venv/bin/python
	@$(INSTALL) -e ".[docs]"
	@touch $@

.venv/dev: $(BUILT_FROM) | .venv/bin/python
	@$(INSTALL) -e ".[dev]"
	@touch $@ .venv/report .venv/docs
