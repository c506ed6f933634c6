# `make demo` and `make test` are all a newcomer needs; each sets up what it uses.

SHELL := /bin/bash
.DEFAULT_GOAL := help

# The first Python that is new enough and can make a virtual environment.
CAN_SERVE := import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 11))
ifndef PYTHON
PYTHON := $(shell for name in python3 python3.12 python3.13 python3.14 python3.11 /usr/bin/python3; do \
	"$$name" -c '$(CAN_SERVE)' 2> /dev/null && echo "$$name" && break; done)
endif

SOURCES := Cargo.toml Cargo.lock pyproject.toml README.md \
	$(shell find crates python -type f -not -name '*.pyc' 2> /dev/null)

.PHONY: help demo test test-torch test-newer test-newer-smoke interpreters bench fuzz clean python

help: ## Show this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 18

demo: .venv/installed ## Build into .venv, record examples/train.py, print where its time went
	.venv/bin/python examples/train.py

.venv/installed: $(SOURCES) | python
	test -x .venv/bin/python || "$(PYTHON)" -m venv .venv
	.venv/bin/python -m pip install -q --disable-pip-version-check .
	@touch $@

test: | python ## Run all lints and tests on every CPython of this machine
	"$(PYTHON)" tools/run_tests.py

test-newer: | python ## Build the newer and free-threaded CPythons and test on them
	"$(PYTHON)" tools/test_newer.py

test-newer-smoke: | python ## Two minutes of test-newer with the CPythons that are already built
	"$(PYTHON)" tools/test_newer.py --smoke

test-torch: | python ## Install the real torch (several gigabytes) and run the tests that need it
	"$(PYTHON)" tools/test_torch.py

interpreters: | python ## List the CPythons the tests use
	@"$(PYTHON)" tools/interpreters.py --newer

bench: | python ## Measure cost and truth against other profilers
	"$(PYTHON)" tools/run_bench.py $(ARGS)

fuzz: | python ## Fuzz what reads untrusted data, FUZZ_SECONDS=60 for each target
	"$(PYTHON)" tools/run_fuzz.py

clean: ## Remove everything that was built
	rm -rf target fuzz/target .venv .venvs .wheels .hypothesis .mypy_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

python:
	@test -n "$(PYTHON)" || { echo "No Python 3.11 or newer with venv was found." \
		"Install one (Debian: apt install python3-venv), or name it: make PYTHON=/path/to/python3" >&2; exit 1; }
	@command -v cargo > /dev/null || { echo "No cargo was found. Install Rust 1.95 or newer." >&2; exit 1; }
