# What a newcomer types. Everything is installed into .venv; nothing else on the machine is changed.
#
#   make paper ARGS="--reps 5"        ARGS goes to the command that the target runs
#   PYTHON=python3.12 make install    another Python than the first fitting one
.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help install paper demo arena leaderboards audit verify consistency test long coverage audit-levels mutants faults browser bench bench-peers peers lint size pins clean docs elsewhere

# Another environment's packages must not shadow the pinned ones.
unexport PYTHONHOME PYTHONPATH

RANKBENCH := .venv/bin/rankbench
PYTEST := .venv/bin/python -m pytest
# SUITE, or SUITE@DATASET: on real data that may not be shipped, from the folder that RANKBENCH_DATA names.
PUBLISHED := paper paper-extra arena football public-logs aggregators selection u-statistics uniform-law after-2013 paper@mq2008 \
	paper@mslr-web10k-sample table-1@ml-100k graded@mq2008 peers-graded@mq2008 peers-graded@mslr-web10k-sample
# BLAS on one thread, with the kernels that rankbench chooses for this processor.
ONE_THREAD := env -u OPENBLAS_CORETYPE OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 MKL_NUM_THREADS=1

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' Makefile

install: ## make .venv from the hash-checked pins, with rankbench in it
	@sh scripts/install.sh

paper: install ## the papers' figures, Table 1, remedies and theorems on simulated data, in runs/paper/
	$(RANKBENCH) run --suite paper $(ARGS)

# Small blocks: not worth starting workers.
demo: install ## a first leaderboard and a figure in seconds, in runs/demo/
	$(RANKBENCH) run --suite demo --workers 1 $(ARGS)

arena: install ## votes on 59 language models: which method, and which model; in runs/arena/
	$(RANKBENCH) run --suite arena $(ARGS)

leaderboards: install ## run the suites that are published, one after the other, into leaderboards/
	sh scripts/publish.sh $(PUBLISHED) -- $(ARGS)

verify: install ## is what is published what its rows give? blocks of the small suites are computed again
	@sh scripts/verify.sh

audit: install ## the audit of LLMFAO, into leaderboards/audit-llmfao/
	@mkdir -p leaderboards/audit-llmfao
	for form in md json; do $(ONE_THREAD) $(RANKBENCH) audit llmfao --out leaderboards/audit-llmfao/leaderboard.$$form || exit 1; done

consistency: install ## certificates of every built-in surrogate, into leaderboards/consistency/ (some ten minutes)
	$(ONE_THREAD) $(RANKBENCH) certify --all leaderboards/consistency

test: install ## the test suite, on all cores, without benchmarks, long tests and those of make lint
	@sh scripts/test.sh $(ARGS)

long: install ## the tests that take minutes
	$(PYTEST) --benchmark-skip -m long --hypothesis-profile=full $(ARGS)

coverage: install ## how often intervals and rank ranges are right, and how narrow, on thousands of simulated logs (hours)
	$(ONE_THREAD) .venv/bin/python scripts/range_coverage.py $(ARGS)

audit-levels: install ## how often probes of rankbench audit fire on planted and on clean boards (hours)
	$(ONE_THREAD) .venv/bin/python scripts/audit_levels.py $(ARGS)

mutants: install ## planted bugs, one at a time: which of the tests, rankbench check and the gate catch each (hours)
	$(ONE_THREAD) .venv/bin/python scripts/mutants.py $(ARGS)

faults: install ## kills, failing machines, damaged folders and files by the thousand: docs/explanation/reliability.md (hours)
	$(PYTEST) --benchmark-skip -n 0 -s -m long tests/faults tests/store/test_damage.py tests/store/test_journal_cells.py tests/runner/test_left_behind.py \
		tests/reports/test_verify.py $(ARGS)

elsewhere: install ## tables from elsewhere: frames of pandas and PyArrow, in build/elsewhere
	.venv/bin/python -m pip install --quiet --upgrade --no-deps --require-hashes --only-binary :all: --target build/elsewhere -r requirements/elsewhere.txt
	PYTHONPATH=build/elsewhere $(PYTEST) --benchmark-skip -n 0 tests/data/test_foreign_frames.py $(ARGS)

browser: install ## pages in a real browser, the system's Chromium: tests/html
	.venv/bin/python -m pip install --quiet --upgrade --no-deps --require-hashes --only-binary :all: --target build/browser -r requirements/browser.txt
	PYTHONPATH=build/browser $(PYTEST) --benchmark-skip -n 0 tests/html $(ARGS)

bench: install ## the benchmarks, as ratios to other libraries, against a baseline of former jobs (REBASE=--rebase: add this job to it)
	@mkdir -p build/bench
	$(ONE_THREAD) $(PYTEST) tests/benchmarks plugins/rankbench-rankad/tests/benchmarks --benchmark-only \
		--benchmark-json=build/bench/benchmarks.json $(ARGS)
	.venv/bin/python tests/benchmarks/ratios.py build/bench/benchmarks.json $(REBASE)

peers: install ## the plugin rankbench-peers, tested against the packages that it calls
	@sh scripts/peers.sh
	build/peers/bin/python -m pytest tests/ranking/test_aggregate_log.py tests/descriptions/test_order_of_time.py $(ARGS)
	cd plugins/rankbench-peers && ../../build/peers/bin/python -m pytest $(ARGS)

bench-peers: install ## speed against other libraries, in leaderboards/performance.md (some ten minutes alone)
	@sh scripts/peers.sh
	$(ONE_THREAD) .venv/bin/python tests/benchmarks/peers.py --peers build/peers/bin/python $(ARGS)

lint: install ## ruff (rules, format), mypy (strict), tests of names, packages, scripts and workflows, and examples of docs
	.venv/bin/python -m ruff check .
	.venv/bin/python -m ruff format --check .
	.venv/bin/python -m mypy
	for plugin in $$(grep -l tool.mypy plugins/*/pyproject.toml); do (cd $$(dirname $$plugin) && ../../.venv/bin/python -m mypy) || exit 1; done
	$(PYTEST) --benchmark-skip -q -n auto -m "lint and not long" tests
	$(ONE_THREAD) $(PYTEST) --benchmark-skip -q -n auto docs/check_examples.py

docs: install ## the site in build/docs/index.html, with pages of published results; links and examples are checked
	.venv/bin/python -m pip install --quiet --upgrade --no-deps --require-hashes --only-binary :all: --target build/sphinx -r requirements/docs.txt
	PYTHONPATH=build/sphinx .venv/bin/python docs/formulas.py
	PYTHONPATH=build/sphinx .venv/bin/python -m sphinx -W --keep-going -n -q -d build/doctrees -b html docs build/docs & \
	$(RANKBENCH) site $$(sed -n "s:^| \[.*\](\([^/]*\)/leaderboard.md) .*:leaderboards/\1/:p" leaderboards/README.md) --out build/docs/leaderboards >/dev/null && wait $$!
	.venv/bin/python scripts/site_links.py build/docs
	$(ONE_THREAD) $(PYTEST) --benchmark-skip -q -n auto docs/check_site.py $(ARGS)

size: ## files, code lines and imports of every package, the longest chain of imports, words of the pages
	@python3 scripts/size.py

pins: install ## compile requirements/*.txt again (ARGS=--upgrade: newest versions)
	@sh scripts/pins.sh $(ARGS)

clean: ## remove .venv, builds and caches; runs/ stays
	rm -rf .venv build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis .benchmarks
	find rankbench tests plugins -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true
