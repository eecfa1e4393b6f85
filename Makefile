# make demo   the demo from a fresh clone: environment, run, report
# make test   everything that must hold before a change lands
# make soak   kill a run ten times, run the demo on a Slurm, and compare with runs left alone
# make bench  speed and memory, into results/bench; SIZES="1000 5000" are numbers of images

PYTHON ?= python3
CORES ?= 2
SIZES ?= 1000
VENV := .venv
BIN := $(VENV)/bin
export PATH := $(CURDIR)/$(BIN):$(PATH)

.PHONY: demo test lint typecheck pytest bench soak format lock clean

demo: $(VENV)/.demo
	snakemake --cores $(CORES)
	@echo
	@echo "Tables:  results/demo/tables"
	@echo "Figures: results/demo/figures"
	@echo "Report:  results/demo/report.html"

test: $(VENV)/.dev lint typecheck pytest

lint: $(VENV)/.dev
	ruff check .
	ruff format --check .
	snakefmt --check Snakefile rules
	snakemake --lint

typecheck: $(VENV)/.dev
	mypy

pytest: $(VENV)/.dev
	python -m pytest

bench: $(VENV)/.dev
	for name in data evaluation error_detection; do \
		PYTHONPATH=workflow:tests python tests/benchmarks/bench_$$name.py $(SIZES) || exit 1; \
	done
	PYTHONPATH=workflow:tests python tests/benchmarks/bench_reruns.py

soak: $(VENV)/.dev
	KILLS=10 WHOLE_DEMO=yes python -m pytest tests/workflow/test_kills.py tests/workflow/test_slurm.py

format: $(VENV)/.dev
	ruff check --fix .
	ruff format .
	snakefmt Snakefile rules

# ultralytics asks for an OpenCV that needs a display's libraries; it runs with the headless one.
$(VENV)/.demo: envs/analysis.txt envs/detectors.txt envs/ultralytics.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check -r envs/analysis.txt -r envs/detectors.txt
	$(BIN)/pip install --quiet --disable-pip-version-check --no-deps -r envs/ultralytics.txt
	@touch $@

$(VENV)/.dev: $(VENV)/.demo envs/dev.txt
	$(BIN)/pip install --quiet --disable-pip-version-check -r envs/dev.txt
	@touch $@

# Rewrites the locked requirements from pyproject.toml and the newest releases.
lock:
	$(PYTHON) envs/lock.py

clean:
	rm -rf $(VENV) .mypy_cache .pytest_cache .ruff_cache .hypothesis
