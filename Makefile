# Build, test, measure, install. `make help` lists the targets.

PREFIX  ?= /usr/local
DESTDIR ?=
LAB     ?= home
CONFIG  ?=
BASE    ?=

# Cargo of rustup takes precedence over a distribution's package.
export PATH := $(HOME)/.cargo/bin:$(PATH)

BINARY := target/release/ferroute
# Binary of `make run`: compiles faster, and only code that packets pass is fully optimised.
QUICK  := target/quick/ferroute

.DEFAULT_GOAL := build
.PHONY: help deps build run test bench bench-compare soak install uninstall purge deb container clean

help: ## list these targets
	@sed -n 's/^\([a-z-]*\):.*## /  make \1\t/p' $(MAKEFILE_LIST) | expand -t 22
	@echo '  variables: CONFIG=my.rsc (run), LAB=jumbo (run), ROWS=routing-fast-path (bench, bench-compare), BASE=HEAD~1 (bench-compare), PREFIX, DESTDIR (install, uninstall)'

deps: ## install the packages for building, running and testing
	@packaging/deps.sh build run test

build: ## build the release binary, target/release/ferroute
	@packaging/ahead.sh $(BINARY) 9 2400 build
	@packaging/deps.sh build
	cargo build --locked --release --package ferroute

run: ## run the lab `home` and open the router's console
	@packaging/ahead.sh $(QUICK) 5 1000 run
	@packaging/deps.sh build run
	cargo build --locked --profile quick --package ferroute
	@$(QUICK) lab run $(LAB) $(if $(CONFIG),--config '$(CONFIG)')

test: ## run the unit, property, simulation and namespace tests
	@packaging/ahead.sh target/test.log 20 8000 test
	@packaging/deps.sh build run test
	@packaging/test.sh

bench: build ## measure packets per second and clocks per packet
	@$(BINARY) bench $(if $(ROWS),--rows '$(ROWS)')

bench-compare: ## compare the clocks per packet of commit BASE and of this tree, in pairs
	@packaging/deps.sh build
	@base=$$(packaging/base.sh '$(BASE)') && $(MAKE) --no-print-directory build && \
		$(BINARY) bench compare "$$base" $(if $(ROWS),--rows '$(ROWS)')

soak: ## test for hours: kills, libFuzzer, Miri, more random cases
	@packaging/deps.sh build run test fuzz
	@packaging/soak.sh

install: build ## install binary, man pages, completions and the systemd unit
	@PREFIX='$(PREFIX)' DESTDIR='$(DESTDIR)' packaging/install.sh $(BINARY)

uninstall: ## remove the installed files; configuration and state stay
	@PREFIX='$(PREFIX)' DESTDIR='$(DESTDIR)' packaging/uninstall.sh

purge: ## uninstall, and remove configuration, state and the service's user
	@PREFIX='$(PREFIX)' DESTDIR='$(DESTDIR)' packaging/uninstall.sh purge

deb: build ## make a Debian package, target/deb/ferroute_*.deb
	@packaging/deb.sh $(BINARY)

container: deb ## make the container image `ferroute` for lab nodes
	@packaging/container/build.sh

clean: ## remove all build results
	cargo clean
