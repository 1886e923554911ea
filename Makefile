# Every target does its own set-up (scripts/setup) and reuses it the second time.
#
#   make demo       text recognition on a picture: prints the lines, writes build/demo/ocr.png
#   make test       Release build, unit and cross-layer tests, Python tests, sanitizer legs
#   make test-long  everything under sanitizers, soak, long fuzzing
#   make accept     the lines of tests/accept.txt against ../shared (ALL=1: every script there)
#   make bench      whole models beside onnxruntime and OpenVINO: table and chart in build/bench-models
#                   (BENCH="--only yolo --rounds 3": arguments of bench/models/bench_models.py)
#   make bench-kernels  kernel benchmarks
#   make lint       layers, budgets, formatting; a self-test of each check
#   make wheel      one wheel in dist/
#   make alias      build/alias: a distribution named onnxruntime that is answered by Switchyard
#
# JOBS=n limits parallel compilation, LEGS="release python" picks legs of `make test`.

JOBS ?= $(shell nproc)
LEGS ?= release python install extension wheel asan tsan fuzz
VENV := $(or $(SWITCHYARD_VENV),.venv)
PYTHON := $(VENV)/bin/python
CHECKS := $(PYTHON) scripts/checks.py --jobs $(JOBS)

.PHONY: all build demo test test-long accept bench bench-kernels lint wheel alias format setup clean
all: build

setup:
	@scripts/setup

build: setup
	@$(CHECKS) build

test: setup
	@$(CHECKS) test $(LEGS)

test-long: setup
	@$(CHECKS) test-long

accept: setup
	@$(CHECKS) accept $(if $(ALL),--all)

lint: setup
	@$(CHECKS) lint

demo: setup
	@$(CHECKS) demo

bench: setup
	@$(CHECKS) bench $(BENCH)

bench-kernels: setup
	@$(CHECKS) bench-kernels

wheel: setup
	@$(CHECKS) wheel

alias: setup
	@$(CHECKS) alias

format: setup
	@$(PYTHON) tools/lint/lint.py --fix

clean:
	rm -rf build build-* dist
