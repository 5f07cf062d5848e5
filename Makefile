# Two commands do it all on a fresh Debian 12 or 13: `make demo` and `make test`. Both set up what they need first.
SHELL := /bin/bash
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.ready
NATIVE := $(wildcard harness/linkem/src/*.rs harness/linkem/src/*/*.rs harness/linkem/Cargo.*)

.PHONY: demo demo-quick reproduction reproduction-quick test test-lengthy check read setup setup-all packages clean

demo: setup
	$(BIN)/coldload demo

demo-quick: setup
	$(BIN)/coldload demo --quick

# The studies of docs/reproduction.md, and the files and the document that come of them: hours, or under 15 minutes.
reproduction: setup
	$(BIN)/python -m benchmarks.reproduction

reproduction-quick: setup
	$(BIN)/python -m benchmarks.reproduction --quick

test: setup-all read
	$(BIN)/pytest tests/unit -q -n 2
	$(BIN)/python hatch_build.py
	$(BIN)/pytest tests/system -n 4 --dist loadscope --no-loadscope-reorder -m "side_by_side and not lengthy" -rR --durations=15
	$(BIN)/pytest tests/system -m "not side_by_side and not lengthy" -rR --durations=25

test-lengthy: setup-all
	$(BIN)/python -m harness.capacity.k6build test
	$(BIN)/pytest tests/system -m lengthy

check: read
	$(BIN)/pytest tests/unit -q -n 2 -m "not thorough"

# What needs no test to run: form, types, directions of imports.
read: $(STAMP)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# What the main job needs: Debian packages, Python packages, the link emulator. Pages that ship, the generator of users and
# the gateway's packages are made by the first command that needs them, or all together beforehand.
setup: packages $(STAMP)

setup-all: setup
	@$(BIN)/python -m sites.servers.nodepackages
	@$(BIN)/python -m harness.capacity.k6build
	@$(BIN)/coldload archive --shipped

packages:
	@sh configs/debian-setup.sh

$(STAMP): pyproject.toml constraints.txt hatch_build.py $(NATIVE) | packages
	@test -x $(BIN)/python || python3 -m venv $(VENV) || { echo "setup: python3 -m venv failed; on Debian: apt-get install python3-venv" >&2; exit 3; }
	@$(BIN)/python -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "setup: Python 3.11 or newer is needed" >&2; exit 3; }
	@echo "setup: Python packages and the link emulator"
	@$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt --editable '.[dev,cluster]' || { echo "setup: pip could not install the Python packages named above; is there a network?" >&2; exit 3; }
	@touch $@

clean:
	rm -rf $(VENV) dist harness/linkem/target harness/linkem/bin
