# Everything a newcomer needs: `make demo` and `make test` work on a machine with Python and make only.
PYTHON ?= python3
VENV ?= .venv
BIN = $(VENV)/bin

.PHONY: demo test test-all check docs notebooks hooks bench trials fuzz check-c check-report check-resume reproduction clean

demo: $(VENV)/.installed
	$(BIN)/bdnn train breast-cancer --seconds 10 --out demo-model.json
	$(BIN)/bdnn info demo-model.json

# All that is compiled is compiled once before, and not by every process against a clock.
test: $(VENV)/.tested
	$(BIN)/python -m bdnn.training.warm_up
	$(BIN)/python -m pytest -q -n auto --dist worksteal -m "not long"

# The same with the long grids.
test-all: $(VENV)/.tested
	$(BIN)/python -m bdnn.training.warm_up
	$(BIN)/python -m pytest -q -n auto --dist worksteal

check: $(VENV)/.checked
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

docs: $(VENV)/.checked
	$(BIN)/mkdocs serve

# The notebooks of the documentation and its first picture, run anew; their outputs are kept.
notebooks: $(VENV)/.tested
	$(BIN)/python -m tests.notebooks
	cd docs && $(abspath $(BIN))/python ../examples/draw_network.py

# Before every commit: lint, format, types and imports of what has changed.
hooks: $(VENV)/.checked
	$(BIN)/pre-commit install

# Ratios measured side by side, minutes each; benchmarks/README.md says what they print.
bench: $(VENV)/.tested
	set -e; for file in $(filter-out benchmarks/compare_revisions.py,$(wildcard benchmarks/*.py)); do echo "== $$file"; $(BIN)/python $$file; done

# Twelve CSV files as people have them, from the file to verified C, as a new user would go.
trials: $(VENV)/.tested
	$(BIN)/python benchmarks/trials.py

# C and ONNX against Python on 200 random networks; takes clang and onnxruntime where they are.
check-c: $(VENV)/.tested
	$(BIN)/python benchmarks/deploy.py --parts equality

# Random problems, forged files, limits and kills against what is true, from where it ended.
SECONDS ?= 1800
fuzz: $(VENV)/.tested
	$(BIN)/python -m tests.fuzz --seconds $(SECONDS)

# A report in a real browser; skipped with a reason where there is no chromium.
check-report: $(VENV)/.tested
	$(BIN)/python -m tests.experiments.check_report

# Ten kills of a quick run, then the same numbers as undisturbed.
check-resume: $(VENV)/.tested
	$(BIN)/python -m tests.experiments.check_resume

# docs/reference/reproduction.md from a full run, which goes on where an earlier one stopped.
RESULTS ?= results/reproduction
reproduction: $(VENV)/.tested
	$(BIN)/bdnn reproduce all --out $(RESULTS)
	cp $(RESULTS)/report.md docs/reference/reproduction.md
	rm -rf docs/reference/figures && cp -r $(RESULTS)/figures docs/reference/figures

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: $(VENV)/bin/python pyproject.toml
	@echo "installing bdnn into $(VENV) (a minute or two)"
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e .
	touch $@

$(VENV)/.tested: $(VENV)/.installed
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[scip,gurobi,onnx,test]'
	touch $@

$(VENV)/.checked: $(VENV)/.tested
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[check,docs]'
	touch $@

clean:
	rm -rf $(VENV) site demo-model.json
