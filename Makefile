# Every target makes what it needs: a virtual environment, the wheel, its installation.
# The wheel is built once and installed in each environment; what did not change is not
# built again, and with the environments in place no network is needed.
#
#   make demo PYTHON=/path/to/python3     another Python (`make clean` first)
#   make test ARGS="-k rewire -x"         more arguments for pytest, or for the benchmark

PYTHON ?= python3
ifeq ($(origin CXX),default)
  CXX := $(firstword $(foreach name,c++ g++ clang++,$(shell command -v $(name))) c++)
endif
export CXX
# ON: a warning of the C++ compiler is an error, as in .ci/run.
WERROR ?= OFF

DEMO_EXTRAS := [plot,data]
START := $(shell date +%s)
PIP := python -m pip -qq --disable-pip-version-check
# Folders are in it too: a module that was removed must leave the wheel.
SOURCES := pyproject.toml CMakeLists.txt \
  $(shell find src -name __pycache__ -prune -o -not -name '*.so' -print)
C_SOURCES := $(wildcard src/native/*/*.[ch]pp tests/native/*.cpp tests/native/*.c benchmarks/cortex/*.[ch])

.DELETE_ON_ERROR:
.PHONY: help demo test test-slow test-torch reliability fuzz coverage mutate golden lint format bench sanitize \
  sanitize-memory sanitize-threads clean toolchain

help:
	@echo "make demo         train dense, SET, CTRE, the default and boosting on the bundled Madelon"
	@echo "                  data, and compare"
	@echo "make test         the test suite, the doctests and the README's code"
	@echo "make test-slow    the tests that take minutes"
	@echo "make test-torch   the tests that need torch, which make test does not install"
	@echo "make reliability  the checks of docs/reliability.md, at full length"
	@echo "make fuzz         fuzz the reading of model files (RUNS=1000000)"
	@echo "make coverage     how much of the Python code the tests run"
	@echo "make mutate       small mistakes in the code: do the tests find them?"
	@echo "make golden       renew the stored bits of models and proofs, after a change of them"
	@echo "make lint         ruff, mypy, clang-format, and which package imports which"
	@echo "make format       ruff and clang-format"
	@echo "make bench        speed beside other libraries on this machine"
	@echo "make sanitize     the native tests with the sanitizers for memory, undefined"
	@echo "                  behaviour and threads (sanitize-memory, sanitize-threads: one part)"
	@echo "make clean        remove environments, builds and caches"

demo: .venv/ready
	@.venv/bin/cofire demo
	@echo "(The command \`cofire\` is in .venv/bin: source .venv/bin/activate)"
	@echo
	@echo "make demo took $$(( $$(date +%s) - $(START) )) s, environment and build included."

test: .venv-test/ready
	.venv-test/bin/python -m pytest -m "not slow" --doctest-modules --ignore=tests/plugin \
	  --pyargs ./tests cofire $(ARGS)

test-slow: .venv-test/ready
	.venv-test/bin/python -m pytest -m slow --timeout=7200 --ignore=tests/reliability $(ARGS)

# An environment of its own: for many systems pip installs gigabytes of torch.
# TORCH=torch==2.13.0 chooses a version.
TORCH ?= torch
test-torch: .venv-torch/ready
	.venv-torch/bin/python -m pytest tests/export/test_torch.py $(ARGS)
	.venv-torch/bin/python -m pytest tests/test_examples.py -k torch $(ARGS)

# The checks of tests/reliability at full length; their figures into docs/reliability.md.
reliability: .venv-test/ready
	COFIRE_FIGURES=docs/results/reliability.json \
	.venv-test/bin/python -m pytest -m slow --timeout=14400 tests/reliability $(ARGS)
	PYTHONPATH=tests .venv-test/bin/python -m helpers.reliability.figures

# Coverage-guided, by Atheris; the number of executions into docs/reliability.md too.
RUNS ?= 1000000
fuzz: .venv-fuzz/ready
	COFIRE_FIGURES=docs/results/reliability.json PYTHONPATH=tests \
	.venv-fuzz/bin/python -m helpers.reliability.fuzz_loader $(RUNS)
	PYTHONPATH=tests .venv-fuzz/bin/python -m helpers.reliability.figures

# Lines and branches, those of child processes included.
coverage: .venv-test/ready
	.venv-test/bin/python -m pytest -m "not slow" --ignore=tests/plugin \
	  --cov=cofire --cov-branch --cov-report=term --cov-fail-under=95 ./tests $(ARGS)

mutate: .venv-test/ready
	COFIRE_FIGURES=docs/results/reliability.json PYTHONPATH=tests \
	nice .venv-test/bin/python -m helpers.mutation.mutate $(ARGS)
	PYTHONPATH=tests .venv-test/bin/python -m helpers.reliability.figures

# Where the machine lacks a SIMD level, what is stored of it is kept.
golden: .venv-test/ready
	PYTHONPATH=tests .venv-test/bin/python tests/golden/make.py $(ARGS)

lint: .venv-test/ready
	.venv-test/bin/ruff check .
	.venv-test/bin/ruff format --check .
	.venv-test/bin/mypy
	PYTHONPATH=src .venv-test/bin/lint-imports --no-cache --no-logo
	.venv-test/bin/clang-format --dry-run -Werror $(C_SOURCES)

format: .venv-test/ready
	.venv-test/bin/ruff check --fix .
	.venv-test/bin/ruff format .
	.venv-test/bin/clang-format -i $(C_SOURCES)

bench: .venv-bench/ready
	.venv-bench/bin/python benchmarks/bench_epoch.py $(ARGS)

# Python itself is built without the sanitizers, so their library is loaded before it;
# libstdc++ too, in which they look for what C++ exceptions call. pytest must leave stderr
# and SIGSEGV to them.
sanitize: sanitize-memory sanitize-threads
SANITIZED := -m pytest -m "not slow" --hypothesis-profile=ci --capture=sys -p no:faulthandler

# No leak check: Python keeps memory until its process ends.
sanitize-memory: .venv-sanitize/ready
	LD_PRELOAD="$$($(CXX) -print-file-name=libasan.so) $$($(CXX) -print-file-name=libstdc++.so)" \
	ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=print_stacktrace=1 \
	.venv-sanitize/bin/python $(SANITIZED) \
	  tests/engine tests/estimators/test_label_smoothing.py $(ARGS)

# The tests with several threads, but not those that measure time or memory. A race ends
# the run with status 66 and is printed. NumPy's threads are not ours to judge.
sanitize-threads: .venv-sanitize-threads/ready
	LD_PRELOAD="$$($(CXX) -print-file-name=libtsan.so) $$($(CXX) -print-file-name=libstdc++.so)" \
	TSAN_OPTIONS="suppressions=$(CURDIR)/tests/native/tsan.supp exitcode=66" OPENBLAS_NUM_THREADS=1 \
	.venv-sanitize-threads/bin/python $(SANITIZED) --timeout=1800 \
	  -k "not interrupt and not peak and not memory" \
	  tests/engine/test_threads.py $(wildcard tests/engine/test_search*.py) tests/search \
	  tests/engine/test_augmentation.py tests/reliability/test_concurrent_predict.py $(ARGS)

clean:
	rm -rf .venv .venv-build .venv-test .venv-torch .venv-fuzz .venv-bench .venv-sanitize* build dist
	rm -rf .pytest_cache .mypy_cache .ruff_cache .hypothesis .coverage*
	find src tests benchmarks -name __pycache__ -prune -exec rm -rf {} +

# ---- environments and builds -----------------------------------------------------------

# $(call install,environment,extras): the wheel beside $< into the environment
define install
	@echo "Installing cofire in $1 ..."
	@test -x $1/bin/python || $(PYTHON) -m venv $1
	@$1/bin/$(PIP) uninstall -y cofire
	@$1/bin/$(PIP) install "$$(echo $(<D)/*.whl)$2"
	@touch $@
endef

# $(call build,name,options): the wheel into build/name; CMake works in build/name-cmake
define build
	@$(MAKE) -s toolchain
	@echo "Building cofire (C++, about a minute the first time) ..."
	@rm -rf build/$1 && mkdir -p build/$1
	@.venv-build/bin/$(PIP) wheel --no-build-isolation --no-deps --wheel-dir build/$1 \
	  --config-settings build-dir=build/$1-cmake $2 .
	@touch $@
endef

.venv/ready: build/wheel/ready
	$(call install,.venv,$(DEMO_EXTRAS))

.venv-test/ready: build/wheel/ready build/plugin/ready
	$(call install,.venv-test,[test])
	@.venv-test/bin/$(PIP) install --force-reinstall --no-deps build/plugin/*.whl

.venv-torch/ready: build/wheel/ready
	@test -x .venv-torch/bin/python || $(PYTHON) -m venv .venv-torch
	@.venv-torch/bin/$(PIP) install $(TORCH)
	$(call install,.venv-torch,[test$(comma)torch])

.venv-fuzz/ready: build/wheel/ready
	$(call install,.venv-fuzz)
	@.venv-fuzz/bin/$(PIP) install atheris

.venv-bench/ready: build/wheel/ready benchmarks/requirements.txt
	$(call install,.venv-bench)
	@.venv-bench/bin/$(PIP) install -r benchmarks/requirements.txt

.venv-sanitize/ready: build/sanitized/ready
	$(call install,.venv-sanitize,[test])

.venv-sanitize-threads/ready: build/sanitized-threads/ready
	$(call install,.venv-sanitize-threads,[test])

build/wheel/ready: $(SOURCES) .venv-build/ready
	$(call build,wheel,--config-settings cmake.define.COFIRE_WERROR=$(WERROR))

# $(call build_sanitized,name,library,sanitizers)
define build_sanitized
	@case "$$($(CXX) -print-file-name=$2)" in */*) ;; *) \
	  echo "make sanitize needs GCC with its $2 (CXX=g++ chooses it)."; exit 1;; esac
	$(call build,$1,--config-settings cmake.define.COFIRE_SANITIZE=$3 \
	  --config-settings cmake.build-type=Debug)
endef

comma := ,
build/sanitized/ready: $(SOURCES) .venv-build/ready
	$(call build_sanitized,sanitized,libasan.so,address$(comma)undefined)

build/sanitized-threads/ready: $(SOURCES) .venv-build/ready
	$(call build_sanitized,sanitized-threads,libtsan.so,thread)

# A package that adds a method, as a user would write it (docs/add-a-method.md).
build/plugin/ready: $(shell find tests/plugin -name __pycache__ -prune -o -print) .venv-build/ready
	@rm -rf build/plugin
	@.venv-build/bin/$(PIP) wheel --no-build-isolation --no-deps --wheel-dir build/plugin tests/plugin
	@touch $@

.venv-build/ready: pyproject.toml
	@$(MAKE) -s toolchain
	@test -x .venv-build/bin/python || $(PYTHON) -m venv .venv-build
	@.venv-build/bin/$(PIP) install cmake ninja $$($(PYTHON) -c \
	  'import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["build-system"]["requires"])')
	@touch $@

# What must be there before: each line of advice ends a run that could not succeed.
toolchain:
	@command -v $(PYTHON) >/dev/null || { echo "There is no '$(PYTHON)'."; false; } && \
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "cofire needs Python 3.11 or newer."; \
	  echo "  Debian, Ubuntu   apt-get install python3 python3-venv python3-dev"; \
	  echo "  Fedora           dnf install python3 python3-devel"; \
	  echo "  macOS            brew install python"; \
	  echo "Then run the same command again (PYTHON=/path/to/python3 chooses one)."; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { \
	  echo "$(PYTHON) cannot make virtual environments."; \
	  echo "  Debian, Ubuntu   apt-get install python3-venv"; exit 1; }
	@test -f "$$($(PYTHON) -c 'import sysconfig; print(sysconfig.get_path("include"))')/Python.h" || { \
	  echo "$(PYTHON) has no C headers (Python.h)."; \
	  echo "  Debian, Ubuntu   apt-get install python3-dev"; \
	  echo "  Fedora           dnf install python3-devel"; exit 1; }
	@printf '#include <concepts>\n#include <thread>\nint main() {}\n' | \
	$(CXX) -std=c++20 -fsyntax-only -x c++ - 2>/dev/null || { \
	  echo "cofire needs a C++20 compiler (GCC >= 11 or Clang >= 14); '$(CXX)' is none."; \
	  echo "  Debian, Ubuntu   apt-get install build-essential"; \
	  echo "  Fedora           dnf install gcc-c++ make"; \
	  echo "  macOS            xcode-select --install"; \
	  echo "Then run the same command again (CXX=/path/to/g++ chooses one)."; exit 1; }
