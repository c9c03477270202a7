# make help lists the targets. The environment is made once and again only when its inputs change.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
ARGS ?=

.DEFAULT_GOAL := help

.PHONY: help
help: ## list the targets
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 16

$(STAMP): pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 14))' \
		|| { echo "error: Python 3.11, 3.12 or 3.13 is needed: make PYTHON=python3.12 …"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --constraint constraints.txt torch
	$(BIN)/pip install --quiet --constraint constraints.txt --editable '.[dev]'
	@touch $@

.PHONY: install
install: $(STAMP) ## make the environment in .venv

.PHONY: train
train: $(STAMP) ## train the default experiment (ARGS="key=value …" to change it)
	$(BIN)/python train.py $(ARGS)

.PHONY: tensorboard
tensorboard: $(STAMP) ## look at all runs in the browser
	$(BIN)/tensorboard --logdir runs --host 127.0.0.1 --samples_per_plugin images=1000 $(ARGS)

.PHONY: demo
demo: $(STAMP) ## a page that translates, demo.html, of the default run, which is trained if need be
	test -e runs/baseline/default/model || $(BIN)/python train.py
	$(BIN)/python scripts/export_page.py runs/baseline/default \
		--sentence "The young woman doesn't like the red cars." -o demo.html

.PHONY: browser
browser: $(STAMP) ## drive the Attention tab in chromium (docs/viewing.md)
	$(BIN)/pip install --quiet --constraint constraints.txt --editable '.[browser]'
	$(BIN)/python -m pytest tests/browser $(ARGS)

.PHONY: notebook
notebook: $(STAMP) ## run the notebooks that train, which keep what they show
	$(BIN)/jupyter execute --inplace notebooks/training.ipynb notebooks/score.ipynb

.PHONY: loggers
loggers: ## one run with four loggers, whose scalars are compared, in an environment of its own
	$(PYTHON) -m venv .loggers
	.loggers/bin/pip install --quiet --constraint constraints.txt torch
	.loggers/bin/pip install --quiet --editable '.[mlflow,wandb]'
	OMP_NUM_THREADS=1 .loggers/bin/python -m tests.four_loggers

.PHONY: first-hour
first-hour: ## walk the README in a fresh clone, as written (40 minutes)
	$(PYTHON) -m tests.first_hour

.PHONY: check
check: $(STAMP) ## format check, lint and type check
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

.PHONY: torture
torture: $(STAMP) ## kills, signals, damage, malice, fuzzing; see docs/reliability.md (ARGS="PART --share 0.1")
	OMP_NUM_THREADS=1 $(BIN)/python -m tests.torture $(ARGS)

.PHONY: family
family: $(STAMP) ## every combination of cells, decoders and attentions, not a sample (docs/models.md)
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -q tests/model/test_family.py tests/runs/test_family.py \
		--all-models $(ARGS)

.PHONY: dist
dist: ## wheel and source archive, in dist/
	$(PYTHON) -m venv .build
	.build/bin/pip install --quiet build
	rm -rf dist
	.build/bin/python -m build --outdir dist

.PHONY: installed
installed: $(STAMP) dist ## install what dist makes, and use it outside of the clone (tests/installed.py)
	OMP_NUM_THREADS=1 $(BIN)/python -m tests.installed dist/*.whl dist/*.tar.gz

.PHONY: audit
audit: ## known vulnerabilities of the pinned dependencies
	$(PYTHON) -m venv .audit
	.audit/bin/pip install --quiet pip-audit
	.audit/bin/pip-audit --strict --requirement constraints.txt --no-deps --disable-pip

# All but what starts the programs.
QUICK := $(filter-out tests/__pycache__ tests/specimens tests/benchmarks tests/browser tests/claims tests/interface tests/runs tests/sweeps tests/torture,$(patsubst %/,%,$(wildcard tests/*/))) \
	tests/test_architecture.py

.PHONY: quick
quick: $(STAMP) ## the suite's quick part (ARGS likewise)
	$(BIN)/python -W error -m compileall -q -f src scripts tests train.py
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest --numprocesses 2 --dist loadfile $(QUICK) $(ARGS)

PYTHONS ?= python3.12 python3.13

.PHONY: pythons
pythons: ## the suite's quick part on other Pythons, each in an environment of its own (PYTHONS="…")
	for python in $(PYTHONS); do \
		$(MAKE) quick PYTHON=$$python VENV=.venv-$$(basename $$python) || exit 1; \
	done

SUITE := OMP_NUM_THREADS=1 $(BIN)/python -m pytest --numprocesses 2 --dist loadfile --no-loadscope-reorder

.PHONY: test
test: check ## all checks and the test suite (ARGS="--real-data=DIR" for real corpora)
	$(SUITE) -m "not long" $(ARGS)

.PHONY: long
long: $(STAMP) ## the tests that are long by nature: shares of the torture, sweeps, processes (ARGS likewise)
	$(SUITE) -m long $(ARGS)

.PHONY: store-torture
store-torture: $(STAMP) ## kill builds of a corpus store at random moments, over and over (ARGS=SEED)
	$(BIN)/python -m tests.torture_store $(ARGS)

.PHONY: ddp-torture
ddp-torture: $(STAMP) ## kill and stop jobs of two processes at random moments (ARGS=COUNT)
	OMP_NUM_THREADS=1 $(BIN)/python -m tests.torture_together $(ARGS)

.PHONY: calibration
calibration: $(STAMP) ## how often `compare_runs` is wrong where nothing differs, and what it can see
	OMP_NUM_THREADS=1 $(BIN)/python -m tests.calibration

.PHONY: sweep-torture
sweep-torture: $(STAMP) ## kill sweep drivers at random moments, over and over (ARGS=SEED)
	$(BIN)/python -m tests.torture_sweep $(ARGS)
