# make help lists the targets. The environment is made once, and again when its inputs change.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
ARGS ?=

.DEFAULT_GOAL := help

GIVEN := $(filter-out ARGS CPU PYTHON PORT,$(foreach name,$(.VARIABLES),$(if $(findstring command line,$(origin $(name))),$(name))))
$(if $(GIVEN),$(error give keys by ARGS, such as ARGS="$(foreach name,$(GIVEN),$(name)=$($(name)))"))

.PHONY: help
help: ## list the targets
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 16

# The distributions beside the program's own. They are on no index, so they are built and installed together with it.
OTHERS := packages/tensorboard-attention packages/hydra-checked packages/hydra-subprocess-launcher packages/hydra-optuna-racing-sweeper packages/bitext packages/joined-words packages/lightning-exact-resume packages/judged-seeds
EDITABLE := $(patsubst %,--editable %,$(OTHERS))
INSTALL := $(PYTHON) scripts/install.py $(VENV) $(if $(CPU),--cpu) $(EDITABLE)
INPUTS := pyproject.toml $(OTHERS:%=%/pyproject.toml) constraints.txt

# What training and looking need, and what developing needs, too.
READY := $(VENV)/.ready
$(READY): $(INPUTS)
	@$(INSTALL) --editable .
	@touch $@

$(STAMP): $(INPUTS)
	@$(INSTALL) --editable '.[dev]'
	@touch $(READY) $@

.PHONY: install
install: $(STAMP) ## make the environment in .venv, with what tests need (CPU=1: PyTorch's build without CUDA)

.PHONY: train
train: $(READY) ## train the default experiment (ARGS="key=value …" to change it)
	$(BIN)/python train.py $(ARGS)

PORT ?= $(or $(shell echo '$(ARGS)' | sed -nE 's/.*--port[ =]([0-9]+).*/\1/p'),6006)

.PHONY: can-show
can-show:
	@test -d runs || { echo "error: there is no folder runs: train a model first, make train" >&2; exit 2; }
	@$(PYTHON) -c 'import socket; socket.create_server(("127.0.0.1", $(PORT)))' 2> /dev/null \
		|| { echo "error: port $(PORT) cannot be used: choose another one, such as make tensorboard PORT=6007" >&2; exit 2; }

.PHONY: tensorboard
tensorboard: can-show $(READY) ## look at all runs in the browser (PORT=6007: at another port)
	@echo "attention: http://localhost:$(PORT)/#attention"
	@echo "loss and BLEU: http://localhost:$(PORT)/?tagFilter=loss%7Cbleu#timeseries"
	$(BIN)/tensorboard --logdir runs --host 127.0.0.1 --port $(PORT) --samples_per_plugin images=1000 $(ARGS)

.PHONY: demo
demo: $(READY) ## translate, draw attention, and write the interactive page demo.html
	$(BIN)/seq2seq demo $(ARGS)

.PHONY: check
check: $(STAMP) ## format check, lint and types
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/oxlint --deny-warnings src packages
	$(BIN)/mypy

SUITE := $(BIN)/python -m pytest --numprocesses 2 --dist worksteal

.PHONY: test
test: check ## all checks and the test suite (ARGS="--real-data=DIR" for real corpora)
	$(SUITE) -m "not long" $(ARGS)

.PHONY: quick
quick: $(STAMP) ## the tests next to what has changed since the last commit, under a minute (ARGS=COMMIT: since another one)
	@$(BIN)/python -m tests.quick $(ARGS)

.PHONY: long
long: $(STAMP) ## the long tests: kills, sweeps, several processes (ARGS=--notebooks: the notebooks, too; ARGS=--minutes=2: a selection)
	$(SUITE) -m long $(ARGS)

.PHONY: calibration
calibration: $(STAMP) ## how often seq2seq compare finds a difference where there is none: 7 % at most
	$(BIN)/python -m tests.calibration

.PHONY: clusters
clusters: $(STAMP) ## sweeps by the launchers joblib and submitit (its local executor)
	$(BIN)/python -m pytest tests/program/test_launchers.py -m long $(ARGS)

.PHONY: coverage
coverage: $(STAMP) ## share of the lines of src that the fast tests run (ARGS as for test)
	$(SUITE) -m "not long" --cov --cov-report=term:skip-covered $(ARGS)

.PHONY: mutants
mutants: $(STAMP) ## break 120 places of the code, one at a time, and see that a test fails
	$(BIN)/python -m tests.mutants $(ARGS)

.PHONY: can-browse
can-browse:
	@command -v chromium > /dev/null || case '$(ARGS)' in *--chromium*) ;; \
		*) echo "error: no chromium found: install it, or make browser ARGS=--chromium=PATH" >&2; exit 2;; esac

.PHONY: browser
browser: can-browse $(STAMP) ## drive the Attention tab in chromium
	$(BIN)/pip install --quiet --constraint constraints.txt $(EDITABLE) --editable '.[browser]'
	$(BIN)/python -m pytest tests/browser $(ARGS)

$(VENV)/.docs: $(STAMP)
	@echo "installing Zensical and its packages: 100 MB"
	$(BIN)/pip install --quiet --constraint constraints.txt $(EDITABLE) --editable '.[docs]'
	@touch $@

.PHONY: docs
docs: $(VENV)/.docs ## the website, in site/ (needs no network once its packages are installed)
	@echo "building the website: about half a minute"
	$(BIN)/python scripts/write_pages.py build/pages
	$(BIN)/zensical build --strict --clean --config-file mkdocs.yml
	@echo "site/index.html; with search: $(BIN)/python -m http.server -d site"

IMAGES := docs/images
PLOT := $(BIN)/seq2seq plot

.PHONY: notebooks
notebooks: $(STAMP) ## run the notebooks, each in an empty folder, and keep what they show (about a quarter of an hour)
	set -e; for book in notebooks/*.ipynb; do \
		folder=$$(mktemp -d); cp $$book $$folder; echo $$book; \
		(cd $$folder && OMP_NUM_THREADS=1 PYTHONWARNINGS=ignore:IProgress $(CURDIR)/$(BIN)/jupyter execute --inplace \
			--NotebookClient.record_timing=False $$(basename $$book)); \
		sed 's|$(CURDIR)/||g' $$folder/$$(basename $$book) > $$book; rm -r $$folder; done

.PHONY: figures
figures: $(STAMP) ## the figures of the docs, from default trainings (about ten minutes, the first time)
	$(BIN)/python train.py
	$(PLOT) runs/baseline/default "I bought a new car yesterday." -o $(IMAGES)/attention.png
	$(PLOT) runs/baseline/default --steps attention/7/forced -o $(IMAGES)/forming.gif
	$(BIN)/python train.py experiment=dates
	$(PLOT) runs/dates/default "Tuesday, 3 March 1987" -o $(IMAGES)/tasks_dates.png
	$(BIN)/python train.py experiment=reverse
	$(PLOT) runs/reverse/default "w a n d e r i n g" -o $(IMAGES)/tasks_reverse.png
	$(BIN)/python train.py experiment=numbers
	$(PLOT) runs/numbers/default "457286" -o $(IMAGES)/tasks_numbers.png
	$(BIN)/python examples/kernel_regression.py --output runs/kernel_regression
	cp runs/kernel_regression/estimates.png $(IMAGES)/kernel_regression.png
	$(BIN)/python benchmarks/claims/judge.py

OURS := seq2seq-attention tensorboard-attention hydra-checked hydra-subprocess-launcher hydra-optuna-racing-sweeper bitext-files joined-words lightning-exact-resume judged-seeds

.PHONY: constraints
constraints: ## keep constraints.txt; versions change only where they must (ARGS=--upgrade: to the newest)
	$(PYTHON) -m venv .build
	.build/bin/pip install --quiet uv
	.build/bin/uv pip compile pyproject.toml --extra dev --extra docs --extra browser --python-version 3.11 --universal \
		--no-emit-index-url --no-annotate --custom-compile-command "make constraints" --quiet \
		$(addprefix --no-emit-package ,$(OURS)) --output-file constraints.txt $(ARGS)

.PHONY: dist
dist: ## wheels and source archives of the program and its packages, in dist/
	@echo "building a wheel of each package in .build: about half a minute"
	$(PYTHON) -m venv .build
	.build/bin/pip install --quiet build
	rm -rf dist
	set -e; for folder in . $(OTHERS); do .build/bin/python -m build --outdir dist $$folder; done

.PHONY: installed
installed: $(STAMP) dist ## install what dist makes, and use it outside of the clone
	OMP_NUM_THREADS=1 $(BIN)/python -m tests.installed dist
