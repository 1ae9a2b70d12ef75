# discreet: the words you need. `make demo` and `make test` are all a newcomer does.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.setup
RUNS   := $(VENV)/.runs
# hundreds of processes are started below: what one compiled the next may read
export PYTHONDONTWRITEBYTECODE :=

.PHONY: help setup demo test check needs static hooks proof bench docs papers screens clean

help:            ## these words
	@grep -hE '^[a-z]+: .*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/'

setup: $(STAMP)  ## make .venv and install discreet with its tools

$(STAMP): pyproject.toml constraints.txt
	@$(PYTHON) tools/install.py $(VENV) dev
	@touch $(STAMP) $(RUNS)

$(RUNS): pyproject.toml constraints.txt
	@$(PYTHON) tools/install.py $(VENV)
	@touch $(RUNS)

demo: $(RUNS)    ## build the demo workspace and serve it at 127.0.0.1:8000 until Ctrl-C
	$(BIN)/discreet demo --into demo

# many tests wait for servers: three processes keep two cores busy
test: $(STAMP)   ## everything: format, lint, types, import rules, all tests
	@$(MAKE) --no-print-directory --jobs=2 --output-sync=line needs static
	$(BIN)/python -m pytest -n 3 -m 'not proof' --doctest-modules src tests

needs: $(STAMP)
	$(BIN)/python tools/system_needs.py

static: $(STAMP)
	$(BIN)/ruff format --check src tests bench tools
	$(BIN)/ruff check src tests bench tools
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

check: static    ## under two minutes: format, lint, types, import rules, fast tests
	$(BIN)/python -m pytest -n 2 --dist loadfile --hypothesis-profile quick -m 'not proof and not slow' --doctest-modules src tests

hooks: $(STAMP)  ## before each commit, run the quick part of `make check` on what changed
	git config core.hooksPath tools/hooks

proof: $(STAMP)  ## the full counts that are claimed; writes docs/evidence.md
	$(BIN)/python tools/proof.py

bench: $(STAMP)  ## measure, as ratios against peers in the same run
	$(BIN)/python -m bench

papers: $(STAMP) ## make every table and figure of the papers again; writes docs/papers.md
	$(BIN)/python tools/papers.py

screens: $(STAMP) ## pictures of every view of the page; writes docs/screens
	$(BIN)/python tools/system_needs.py
	$(BIN)/python tools/screens.py

docs: $(STAMP)   ## check that the docs' examples run and name every command
	$(BIN)/python -m pytest tests/test_docs.py

clean:           ## remove what make made
	rm -rf $(VENV) demo dist build .pytest_cache .mypy_cache .ruff_cache .hypothesis bench/.envs bench/out
