# The usual entry point. Everything is built by meson and ninja in build/.
PREFIX ?= /usr/local
# Below PREFIX. Not meson's choice, which depends on what else is installed: pkg-config and the loader search
# /usr/local/lib on every Debian, but not /usr/local/lib64.
LIBDIR ?= lib
BUILD ?= build
MESON_OPTIONS ?= --buildtype=release

.PHONY: all demo test check wheel sanitize bench docs install clean help configure fuzz kill-test fault-test ranks-test positions-test coverage same-bits playground playground-test

all: configure
	@ninja -C $(BUILD)

# The packages that a goal needs besides those of the build: purposes of tools/setup.sh.
PACKAGES_test = tests
PACKAGES_docs = docs
PACKAGES_fuzz = fuzz
PACKAGES_coverage = fuzz
PACKAGES_same-bits = fuzz
PACKAGES_ranks-test = mpi python
PACKAGES_playground = playground
PACKAGES_playground-test = playground
PACKAGES_wheel = pip $(if $(filter-out $(shell uname -m),$(ARCHITECTURE)),cross)

configure:
	@tools/setup.sh $(foreach goal,$(MAKECMDGOALS),$(PACKAGES_$(goal)))
	@tools/configure.sh $(BUILD) $(MESON_OPTIONS) --prefix=$(abspath $(PREFIX)) --libdir=$(LIBDIR)

demo: configure
	@ninja -C $(BUILD) nonholo
	@tools/demo.sh $(BUILD)/nonholo $(BUILD)/demo

test: all
	@tools/test.sh $(BUILD) all

# for the loop while working: the tests of src/ and the cases with known end states, or those of one folder of test/
check: all
	@tools/test.sh $(BUILD) $(or $(ROOM),check)

# the tests again with the address, leak and undefined-behaviour sanitizers (part of 'make test')
sanitize: all
	@test/sanitize/test_sanitize.sh $(abspath $(BUILD)) $(CURDIR)

# a Python wheel with the library inside, in $(BUILD)/dist; ARCHITECTURE=aarch64 is cross-compiled and tried under qemu
ARCHITECTURE ?= $(shell uname -m)
wheel: configure
	@tools/wheel.sh $(abspath $(BUILD)) $(ARCHITECTURE)

# libFuzzer on everything that reads untrusted input; FUZZ_TIME seconds each
FUZZ_TIME ?= 600
fuzz: all
	@tools/fuzz.sh $(abspath $(BUILD)) $(FUZZ_TIME)

# conditions on positions: every case compiled, and POSITION_STEPS steps of avf-p; takes an hour
POSITION_STEPS ?= 1000000
positions-test: all
	@python3 test/cli/test_positions.py $(BUILD)/nonholo --long
	@python3 test/cases/test_cases.py $(BUILD)/nonholo groups --all
	@python3 test/method/long_positions.py $(BUILD)/nonholo . $(POSITION_STEPS)

# kill -9 at random moments, KILLS times per case (the tests do two)
KILLS ?= 20
kill-test: all
	@python3 test/cli/test_kill.py $(BUILD)/nonholo $(KILLS)

# ranks of MPI: simultaneous launches, kill -9 of a rank at random moments and resume; workers of a Python pool killed
LAUNCHES ?= 20
ranks-test: all
	@python3 test/cli/test_mpi.py $(BUILD)/nonholo $(KILLS) $(LAUNCHES)
	@PYTHONPATH=$(BUILD)/python /usr/bin/python3 test/python/test_executor.py $(KILLS)

# the same numbers from the library built by gcc and clang at -O0 to -O3; builds in $(BUILD)/bits-*
same-bits: all
	@python3 test/output/test_same_bits.py $(abspath $(BUILD))/test/output/host $(CURDIR) $(abspath $(BUILD))

# system calls and allocations that fail, and kill -9 at every call that changes a file: FAULTS of each kind and case
# (0: all; the tests do two)
FAULTS ?= 60
fault-test: all
	@python3 test/faults/test_faults.py $(BUILD)/nonholo $(BUILD)/test/faults/faults.so $(FAULTS)

# line coverage of src/ by the whole test suite, in its own build; takes long
coverage: configure
	@tools/coverage.sh $(abspath $(BUILD))

bench: all
	@ninja -C $(BUILD) bench

# the manual as HTML, without a network
docs: all
	@ninja -C $(BUILD) docs
	@echo "manual: $(BUILD)/manual/index.html"

# the library in WebAssembly and its page, in $(BUILD)/playground
playground: configure
	@tools/playground.sh $(abspath $(BUILD))

# its tests in node and in headless Chromium
playground-test: all playground
	@python3 test/playground/test_module.py $(BUILD)/nonholo . $(BUILD)/wasm/playground
	@python3 test/playground/test_page.py $(BUILD)/nonholo $(BUILD)/playground/index.html

# The loader finds a new library only after ldconfig has run, which needs root.
install: configure
	@meson configure $(BUILD) --prefix=$(abspath $(PREFIX)) --libdir=$(LIBDIR)
	@ninja -C $(BUILD) installed
	@meson install -C $(BUILD) --no-rebuild
	@test -n "$(DESTDIR)" || test "$$(id -u)" != 0 || PATH="$$PATH:/sbin:/usr/sbin" ldconfig

clean:
	rm -rf $(BUILD)

help:
	@echo "make            build $(BUILD)/nonholo and the library"
	@echo "make demo       simulate a coin, a sleigh and a gearbox; page and pictures in $(BUILD)/demo"
	@echo "make check      build and run the tests of src/, two minutes; ROOM=run those of test/run (or cli, python, ...)"
	@echo "make test       build and run every test"
	@echo "make sanitize   run the tests under the sanitizers"
	@echo "make fuzz       libFuzzer targets, FUZZ_TIME=$(FUZZ_TIME) seconds each"
	@echo "make positions-test  conditions on positions over 10^6 steps (POSITION_STEPS), every case of groups compiled"
	@echo "make kill-test  kill -9 at random moments and resume, KILLS=$(KILLS) times a case"
	@echo "make ranks-test KILLS=$(KILLS) kills of an MPI rank and LAUNCHES=$(LAUNCHES) launches at once, the same bytes?"
	@echo "make same-bits  the library by gcc and clang, -O0 to -O3: the same numbers?"
	@echo "make fault-test system calls that fail, kills at each, FAULTS=$(FAULTS) of each kind and case"
	@echo "make coverage   line coverage of the tests"
	@echo "make bench      the speed table of this machine"
	@echo "make docs       the manual, in $(BUILD)/manual"
	@echo "make playground  simulations in a page, in $(BUILD)/playground"
	@echo "make playground-test  its tests in node and Chromium"
	@echo "make install    install to PREFIX ($(PREFIX)); DESTDIR is respected"
	@echo "make clean      remove $(BUILD)"
