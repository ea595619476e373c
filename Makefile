# `make demo` and `make test` need nothing prepared; `make help` says what else there is.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

PREFIX ?= /usr/local
HOSTS ?=
# One cargo profile for everything in development, so that nothing is built twice; what is shipped is a release build.
DEV := $(or $(PROFILE),dev)
SHIP := $(or $(PROFILE),release)
TARGET := target/$(if $(filter dev,$(DEV)),debug,$(DEV))

export VIRTUAL_ENV := $(CURDIR)/.venv
export PATH := $(CURDIR)/.venv/bin:$(PATH)
export ZKR_PROFILE := $(DEV)

.PHONY: help
help: ## This list
	@printf 'zkrecipes\n\n'
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /\1\t/' | awk -F '\t' '{ printf "  make %-13s %s\n", $$1, $$2 }'
	@printf '\nVariables: HOSTS=h:p (demo), PREFIX=/usr/local DESTDIR=/stage (install), ARGS="…" (scenarios), PROFILE=dev or release\n'

# --- what people come for

.PHONY: demo
demo: ## Workers in Python, Node and C share one lock, one of them is killed; HOSTS=h:p for a server of yours
	@scripts/setup demo
	@$(MAKE) demo-build
	@$(MAKE) demo-run

.PHONY: demo-run
demo-run:
	@PYTHONPATH=python python demo/demo.py $(if $(HOSTS),--hosts "$(HOSTS)") $(ARGS)

.PHONY: test
test: setup ## Everything that is tested, on the embedded server and on real ZooKeeper
	@tests/run.sh

.PHONY: test-all
test-all: setup ## The same with every combination of language and server, the guards and a longer simulation; hours
	@ZKR_ALL=1 tests/run.sh

.PHONY: lint
lint: setup ## Formatters and linters of every language
	@$(MAKE) build-python
	@scripts/lint

.PHONY: setup
setup: ## What a new machine lacks (idempotent)
	@scripts/setup

# --- building

.PHONY: build
build: setup build-rust build-python build-node build-drivers ## Every crate, package and driver, for development

.PHONY: build-rust
build-rust:
	@# Programs, and what they are made of: cargo has one place for the library of C, which each of two such sets of packages would
	@# build anew, and ffi/install.sh builds it.
	cargo build --profile $(DEV) --workspace --exclude zkrecipes-python --exclude zkrecipes-node --bins

.PHONY: build-python
build-python:
	@# Written over, it would be pulled from under every process that has it loaded.
	@rm -f python/zkrecipes/_native*.so
	cd python && maturin develop --quiet --skip-install --profile $(DEV)

.PHONY: build-node
build-node:
	cd node && npm run --silent build

.PHONY: build-drivers
build-drivers:
	tests/drivers/c/build.sh

.PHONY: demo-build
demo-build: build-python build-node demo-worker

.PHONY: demo-worker
demo-worker:
	@cargo build --profile $(DEV) -p zkrecipes-ffi -p zkrecipes-embedded --bins
	@mkdir -p target/demo/node_modules
	@ffi/install.sh PREFIX=target/demo/prefix PROFILE=$(DEV) >/dev/null
	@ln -sfn ../../../node target/demo/node_modules/zkrecipes
	@cp demo/worker.mjs target/demo/worker.mjs
	@PKG_CONFIG_PATH=target/demo/prefix/lib/pkgconfig; export PKG_CONFIG_PATH; \
	cc -O1 -Wall -Wextra -o target/demo/worker demo/worker.c $$(pkg-config --cflags --libs zkrecipes) -Wl,-rpath,"$(CURDIR)/target/demo/prefix/lib"

# --- parts of the tests

.PHONY: scenarios
scenarios: ## Scenario files through every language on every server; ARGS="--filter x --lang python --server embedded"
	@$(TARGET)/scenarios $(ARGS)

.PHONY: surface
surface: ## Public names of every language against tests/surface.txt
	@python tests/surface.py

.PHONY: packages
packages: ## Wheel, npm tarball, C and C++ against the installed library, each on a real ZooKeeper
	@tests/packages.sh

.PHONY: guards
guards: ## Breaks the lines that guard the promises, one by one, and expects their scenarios and tests to fail
	@python tests/guards.py

.PHONY: sim
sim: ## The recipes under virtual time on all processors, one seed one schedule; ARGS="--seeds 500", "--seed 7 --trace", --singles or --pairs
	@cargo run --quiet --profile simulation -p zkrecipes-simulation -- $(ARGS)

.PHONY: interleavings
interleavings: ## Parts that threads share, under very many schedules, one seed one schedule; ARGS="--only line --seed 7"
	@cargo run --quiet --release --locked --manifest-path tests/interleavings/Cargo.toml --target-dir target/interleavings -- $(ARGS)

.PHONY: defects
defects: ## Puts defects back, one by one, and expects the simulation to find them
	@python tests/simulation/defects.py

.PHONY: chaos
chaos: ## All recipes in all languages while everything fails, and a checker; ARGS="--minutes 60 --seed 7 --servers embedded"
	@PYTHONPATH=python tests/chaos/with-guests.sh python tests/chaos/chaos.py --profile $(notdir $(TARGET)) $(ARGS)

.PHONY: fuzz
fuzz: ## libFuzzer over what takes bytes from outside, a minute for each target; ARGS="--minutes 10 machine"
	@tests/fuzz/run.py $(ARGS)

.PHONY: miri
miri: ## Miri over the unsafe code and all else that it can run: undefined behaviour, races; ARGS="core lease"
	@tests/miri.py $(ARGS)

.PHONY: mutants
mutants: ## Changes the core at random places and says which changes no test notices; ARGS="--sample 40 --seed 2 --only turn"
	@python tests/mutants.py $(ARGS)

.PHONY: interop
interop: ## Curator, kazoo and ZooKeeper's own recipes, on our server and on one path with us
	@tests/interop/run.sh $(ARGS)

.PHONY: queue-million
queue-million: ## A million items through one queue, in four languages, while consumers are killed; hours without PROFILE=release
	@tests/crowds/run.sh queues --items 1000000 $(ARGS)

.PHONY: audit
audit: ## Licences, sources and known advisories of what is built in, and of the development tools; needs the network
	@scripts/audit
	@scripts/passed audit

.PHONY: sbom
sbom: ## What each artefact is made of, in CycloneDX's format, into target/sbom
	@scripts/sbom.py

.PHONY: bench
bench: ## Measures beside the raw floor and the peers, into bench/results; ARGS="--only lock,handoff --rounds 20"
	@scripts/setup bench
	@python bench/run.py $(ARGS)

.PHONY: bench-quick
bench-quick: ## The same with few rounds and small sizes; not written into the tree
	@scripts/setup bench
	@python bench/run.py --quick --out target/bench/quick $(ARGS)

.PHONY: fmt
fmt: ## Formats every language in place
	@scripts/lint --fix

# --- documentation

.PHONY: docs
docs: ## The documentation site with all references into target/site; every warning and every dead link is an error
	@scripts/setup docs
	@$(MAKE) build-python
	@python docs/site/build.py

.PHONY: docs-screenshots
docs-screenshots: ## Looks at the site in a real browser, wide and narrow, light and dark; pictures into target/screenshots
	@scripts/setup docs
	@python docs/site/screenshots.py

# --- shipping

.PHONY: install
install: ## The C and C++ library and the command into PREFIX, with headers, pkg-config and CMake files, manual pages, completions
	@ffi/install.sh PREFIX="$(PREFIX)" PROFILE=$(SHIP) $(if $(DESTDIR),DESTDIR="$(DESTDIR)")
	@cli/install.sh PREFIX="$(PREFIX)" PROFILE=$(SHIP) $(if $(DESTDIR),DESTDIR="$(DESTDIR)")

.PHONY: wheel
wheel: ## The Python wheel into target/wheels
	cd python && maturin build --locked --profile $(SHIP)

.PHONY: npm-pack
npm-pack: ## The npm packages for this platform into target/npm
	cd node && ZKR_PROFILE=$(SHIP) node scripts/build.mjs --package && node scripts/pack.mjs ../target/npm

.PHONY: deb
deb: ## Packages for Debian and Ubuntu into target/deb: the C library, its development files, the command
	@scripts/deb

.PHONY: dist
dist: ## What is released for this platform into target/dist, built for old systems
	@scripts/dist $$(node -p "require('./node/lib/native.cjs').platformOf()") sdist

.PHONY: release
release: ## The release in a clean clone: builds everything for this platform, tries each artefact alone, says what is left; publishes nothing
	@scripts/rehearse $(ARGS)

.PHONY: release-left
release-left: setup ## Only what is left to do before a release, thing by thing
	@scripts/release

.PHONY: clean
clean: ## Everything that was built
	cargo clean
	rm -rf .venv node/node_modules .cache/setup
