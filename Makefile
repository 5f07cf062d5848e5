# Two commands do it all on a fresh Debian 12 or 13: `make demo` and `make test`. Both set up what they need first.
SHELL := /bin/bash
VENV := .venv
BIN := $(VENV)/bin
# Containers and CI often forbid Python to keep what it compiled: then each process compiles all that it imports, anew.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: demo demo-quick reproduction reproduction-quick results headline reference test test-lengthy test-releases check read test-quick test-emulator
.PHONY: setup setup-all setup-tests clean

demo: setup
	$(BIN)/coldload demo

demo-quick: setup
	$(BIN)/coldload demo --quick

# The studies of docs/reproduction.md, and the files and the document that come of them: hours, or under 15 minutes.
reproduction: setup
	$(BIN)/python -m benchmarks.publish reproduction

reproduction-quick: setup
	$(BIN)/python -m benchmarks.publish reproduction --quick

# The studies of docs/results.md whose tables are made from records, likewise: hours. The simulations behind it: under an hour.
results: setup
	$(BIN)/python -m benchmarks.simulation --keep
	$(BIN)/python -m benchmarks.publish results

# docs/results/headline.md: beside other tools, which `python -m benchmarks.headline --help` tells how to get. About 75 minutes.
headline: setup-all
	$(BIN)/python -m benchmarks.headline

# The tables of docs/reference, from the code.
reference: setup
	$(BIN)/python -m benchmarks.reference

# What is downloaded waits for a network, so what takes the cores is done meanwhile. With `--complete` no test is skipped for
# want of what `make setup-tests` installs.
test: setup
	$(MAKE) -j3 setup-tests read test-emulator
	$(BIN)/pytest tests/unit --complete -q -n 2 --dist worksteal --durations=60
	$(BIN)/pytest tests/system --complete -n 5 --no-loadscope-reorder -m "side_by_side and not lengthy" -rR --durations=60
	$(BIN)/pytest tests/system --complete -m "not side_by_side and not lengthy" -rR --durations=25

# Both releases from bare trees, as a stranger: hours. As root, with mmdebstrap.
test-releases: setup
	$(BIN)/pytest tests/releases -s

test-lengthy: setup-all
	$(BIN)/python -m harness.capacity.k6 test
	$(BIN)/pytest tests/system -n 4 --no-loadscope-reorder -m "lengthy and side_by_side" -rR
	$(BIN)/pytest tests/system -m "lengthy and not side_by_side" -rR

check: setup
	@$(MAKE) -j2 --output-sync=target read test-quick

test-quick: setup
	$(BIN)/pytest tests/unit -q -n 2 -m "not thorough"

test-emulator: setup
	$(BIN)/python harness/linkem/build.py test

# What needs no test to run: form, types, directions of imports.
read: setup
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# What the main job needs: Debian packages, Python packages, the link emulator. Pages that ship, the generator of users and
# the gateway's packages are made by the first command that needs them, or all together beforehand.
# On another distribution than Debian all of it is in a root (`coldload root`).
setup:
	@sh configs/setup.sh

setup-all: setup
	@$(BIN)/coldload setup

# All but k6, which only lengthy tests need.
setup-tests: setup
	@sh configs/debian-setup.sh tests
	@$(BIN)/coldload setup debian firefox webkit gateway pages root

clean:
	rm -rf $(VENV) dist harness/linkem/target harness/linkem/bin
