# A bare `make` prints what there is. Needed: Go, git and make. A C compiler adds
# the race detector, python3-jinja2 adds a comparison to `make bench`.

SHELL         := /bin/bash
.SHELLFLAGS   := -eu -o pipefail -c
MAKEFLAGS     += --no-print-directory
.DEFAULT_GOAL := help

VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || cat VERSION 2>/dev/null || echo dev)
MODULE  := github.com/callnode/scheduler
BIN     := bin/scheduler
LINK    := -s -w -X main.version=$(VERSION)
TOOLS   := $(CURDIR)/bin/tools

GOLANGCI_VERSION := v2.15.0
# One of this version that is installed is taken: compiling it takes as long as compiling all of this.
GOLANGCI         := $(or $(shell golangci-lint version --short 2>/dev/null | grep -qx '$(GOLANGCI_VERSION:v%=%)' && command -v golangci-lint),$(TOOLS)/golangci-lint-$(GOLANGCI_VERSION))

# It finds code of workflows that would not replay.
WORKFLOWCHECK_VERSION := v0.6.0
WORKFLOWCHECK         := $(TOOLS)/workflowcheck-$(WORKFLOWCHECK_VERSION)

# Everything is compiled in one mode, so that building, linting, testing and generating share what a new machine
# compiles. Only the race detector needs another, and C.
export CGO_ENABLED := 0
export GOFLAGS     := -trimpath $(filter-out -trimpath,$(shell go env GOFLAGS 2>/dev/null))

# make race and make stress run under the race detector if a C compiler is there. make test and make cover do
# without, which takes less than half of the time.
# The detector does not watch inside SQLite, which is translated from C and locks for itself, nor the library of
# schemas and the parser of Go, which share nothing: watched, they take most of the time of all tests.
# The standard library has to be watched: code of sync.Map that is compiled with an unwatched package is
# linked for all, and each use of a map is then taken for a race.
UNWATCHED := modernc.org/... github.com/santhosh-tekuri/... go/...
# What the tests themselves build is compiled as everything else.
RACE      := $(if $(shell command -v gcc || command -v clang),-race $(UNWATCHED:%='-gcflags=%=-race=false -dwarf=false') -exec 'env CGO_ENABLED=0',)
race stress: export CGO_ENABLED := $(if $(RACE),1,0)
# At its end a program under the race detector sleeps, by default for a second.
export GORACE ?= atexit_sleep_ms=10
# No package may run longer than 20 minutes: a machine that is busy needs more than the ten of go test.
# Linking more than a hundred test programs is a fourth of the work of make test: without symbols and tables
# for debuggers it takes a fifth less. What go test would vet is for make lint.
TESTFLAGS := -timeout 20m -ldflags='-s -w' -vet=off
# How long each fuzz target runs: a time, or a count like 5000x (before Go 1.27 a time that
# runs out can fail a sound target with "context deadline exceeded", go.dev/issue/75804).
FUZZTIME ?= 1m
# Targets of which each run opens a store or writes files, which takes some 20 ms, and how long they run.
SLOW_FUZZ     := FuzzImport FuzzImportLines FuzzDataset
SLOW_FUZZTIME ?= $(FUZZTIME)
# make fuzz counts coverage in this module and in the parsers that it gives texts to.
COUNTED := $(MODULE)/... go.yaml.in/... github.com/flosch/... github.com/santhosh-tekuri/...
# What make stress runs, and how often.
PKG   ?= ./calls/agent
TIMES ?= 20
# Newer ones want Go 1.27, or modules that the proxy withholds.
GORELEASER_VERSION := v2.15.1
GORELEASER         := $(TOOLS)/goreleaser-$(GORELEASER_VERSION)
# make race runs the packages that start goroutines, themselves or in their tests: with one goroutine the detector
# finds nothing. The command is left out: it links everything, and its parts are here.
CONCURRENT = $(sort $(shell git grep -lE '^\s*go (func|[a-z])|\.Go\W|(llm|journal|memory)test\.Run' -- '*.go' \
             ':!cmd' ':!test' ':!plugins/examples' $(TEMPORAL:%=':!%') | xargs -n1 dirname))
# Tests that make race leaves out: they go through many texts one after another, for minutes under the detector.
SEQUENTIAL := TestFatal|TestFlowTestsCatchEveryEdit|TestShippedTestsCatchEveryEdit|TestPromptsOfAllDoors|TestTalks
# Each of these trees must have that share of its statements covered by tests.
COVERED   := scheduler calls llm/prompt
COVER_MIN := 85
# Modules of their own below this one, for what needs heavy dependencies.
NESTED    := $(patsubst %/go.mod,%,$(shell git ls-files '*/go.mod' 2>/dev/null))
# Of them, the second program with the SDK of Temporal, and all that takes minutes to compile: make cluster does.
TEMPORAL  := scheduler/temporal cmd/scheduler-temporal
HEAVY     := $(TEMPORAL) test/cluster test/cluster/temporalserver

# The sources of the page that serve shows, and whether a Node is there that can build it.
UI      := scheduler/web/ui
HAS_NODE = node -e 'const [major, minor] = process.versions.node.split(".").map(Number); process.exit(major > 20 || (major === 20 && minor >= 19) ? 0 : 1)' 2>/dev/null

.PHONY: help run build build-temporal install web test-web test race test-slow test-temporal cluster bench-cluster stress lint fmt generate check bench fuzz chaos soak cover \
        check-start check-code check-fuzz check-stores check-fmt check-platforms check-generate check-modules check-nested install-lint release release-snapshot

help: ## Print the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' Makefile

run: build ## Build, run the quickstart flow, then show where every piece of its prompt comes from
	./$(BIN) run flows/quickstart.yaml
	./$(BIN) run flows/quickstart.yaml --explain

build: ## Build the static binary ./bin/scheduler
	go build -ldflags '$(LINK)' -o $(BIN) ./cmd/scheduler

build-temporal: build ## Build the second program too, ./bin/scheduler-temporal, for runs on Temporal
	go -C cmd/scheduler-temporal build -ldflags '$(LINK)' -o ../../$(BIN)-temporal .

install: ## Install scheduler into GOBIN (or GOPATH/bin), and print where
	go install -ldflags '$(LINK)' ./cmd/scheduler
	@bin=$$(go env GOBIN); echo "installed $${bin:-$$(go env GOPATH)/bin}/scheduler"

web: ## Build the page of serve into scheduler/web/dist (needs Node 20.19 and npm; commit what it writes)
	@$(HAS_NODE) || { echo 'make web needs Node 20.19 or newer, and npm' >&2; exit 1; }
	cd $(UI) && npm ci && npm run api && npm run check && npm run build

# It needs a Chromium: chromium-headless-shell of Debian, or what CHROMIUM names.
test-web: build ## Test the page in a browser (needs Node 20.19 and chromium-headless-shell)
	@$(HAS_NODE) || { echo 'make test-web needs Node 20.19 or newer, and npm' >&2; exit 1; }
	@[ -d $(UI)/node_modules ] || (cd $(UI) && npm ci)
	cd $(UI) && npm test

test: ## Run the tests
	go test $(TESTFLAGS) ./...

race: ## Run the tests of packages with goroutines under the race detector
	@[ -n "$(firstword $(RACE))" ] || echo 'no C compiler: running without the race detector'
	go test $(RACE) $(TESTFLAGS) -skip '^($(SEQUENTIAL))$$' $(CONCURRENT:%=./%)

test-slow: export SLOW_TESTS := 1
test-slow: test check-stores ## Run the slow tests too: those that build plugins, kill processes, use other clients or other stores

# The engine over a journal in Postgres, and clients that are modules of their own.
check-stores:
	SCHEDULER_TEST_JOURNAL=postgres go test $(TESTFLAGS) ./scheduler -rapid.checks=20
	@for dir in test/clients test/openapi test/bench/tokens; do go -C "$$dir" test $(TESTFLAGS) ./...; done

test-temporal: ## Run the tests of the second program, for runs on Temporal
	@for dir in $(TEMPORAL); do echo "$$dir:"; go -C "$$dir" test $(TESTFLAGS) ./...; done

# The busy loops end with the shell that started them, however it ends.
stress: ## Run the tests of PKG (./calls/agent) TIMES (20) times in a row beside a busy loop on every core
	@go test $(RACE) -c -o bin/stress.test $(PKG)
	@for _ in $$(seq $$(getconf _NPROCESSORS_ONLN)); do (while kill -0 $$$$ 2>/dev/null; do :; done) & done; \
	trap 'kill $$(jobs -p) 2>/dev/null' EXIT; \
	(cd $(PKG) && "$(CURDIR)/bin/stress.test" -test.count=$(TIMES) -test.failfast -test.timeout=60m)

lint: install-lint ## Run golangci-lint, with go vet in it, and workflowcheck
	$(GOLANGCI) run --allow-parallel-runners
	@for dir in $(TEMPORAL); do (cd "$$dir" && $(GOLANGCI) run --allow-parallel-runners); done
	cd scheduler/temporal && $(WORKFLOWCHECK) .

fmt: ## Format the Go code
	gofmt -l -w .

generate: ## Write the generated files again, the built page among them where Node is there
	go generate ./...
	@if $(HAS_NODE); then $(MAKE) web; else echo 'SKIPPED: scheduler/web/dist is not built again, for lack of Node 20.19 or newer' >&2; fi

check: check-start check-code check-platforms cover check-fuzz ## All that must hold before a merge, but for make test-slow and make race

# The program is built before the tests that run it, whose time would count towards theirs. .ci/run runs
# check-code, which compiles, beside the tests, which wait much.
check-start: check-fmt check-modules build check-generate
check-code: lint check-nested test-temporal
check-fuzz:
	@$(MAKE) fuzz FUZZTIME=5000x SLOW_FUZZTIME=300x

bench: ## Run the benchmarks and print the ratios
	go test -run '^$$' -bench . -benchmem ./...
	@for dir in $(filter-out $(HEAVY),$(NESTED)); do echo "$$dir:"; (cd "$$dir" && go test -run '^$$' -bench . -benchmem -v ./...); done

# One binary for each package serves all its targets. Counting in the standard library and in SQLite, as go test -fuzz
# does, takes most of the time and guides little: these are compiled as for every other test.
fuzz: export FUZZTIME := $(FUZZTIME)
fuzz: export SLOW_FUZZ := $(SLOW_FUZZ)
fuzz: export SLOW_FUZZTIME := $(SLOW_FUZZTIME)
fuzz: ## Fuzz every target for FUZZTIME (1m)
	@dirs=" $$(git grep -lE --untracked '^func Fuzz' -- '*_test.go' | xargs -n1 dirname | sort -u | tr '\n' ' ')"; \
	fuzz() { go -C "$$1" test $(TESTFLAGS) -timeout 0 -count=1 -run '^Fuzz' -exec '$(CURDIR)/.ci/fuzz' $(COUNTED:%='-gcflags=%=-d=libfuzzer -dwarf=false') "$${@:2}"; }; \
	for dir in $(NESTED); do [[ "$$dirs" != *" $$dir "* ]] || { fuzz "$$dir" .; dirs=$${dirs/ $$dir / }; }; done; \
	fuzz . $$(printf './%s ' $$dirs)

chaos: ## Kill a running flow CHAOS_ROUNDS (100) times over, each time to its end, a server SERVER_KILLS (100) times under load, and a memory store KILL_ROUNDS (25) times in up to KILL_SAVES (10000) saves
	CHAOS_ROUNDS=$(or $(CHAOS_ROUNDS),100) go test -count=1 -timeout 60m -v ./test/chaos
	SLOW_TESTS=1 SERVER_KILLS=$(or $(SERVER_KILLS),100) go test -count=1 -timeout 60m -v -run 'TestServerIsKilled$$' ./cmd/scheduler
	SLOW_TESTS=1 KILL_ROUNDS=$(or $(KILL_ROUNDS),25) KILL_SAVES=$(or $(KILL_SAVES),10000) go test -count=1 -timeout 60m -v -run 'Test(Shared)?Kill$$' ./calls/memory/sqlmemory

# Postgres is needed; a server of Temporal is compiled, for some minutes.
cluster: ## Kill, freeze and replace workers, Postgres and Temporal under load of up to 1,000 runs and 10,000 items, CLUSTER_ROUNDS (20) times each
	CLUSTER_ROUNDS=$(or $(CLUSTER_ROUNDS),20) go -C test/cluster test -count=1 -timeout 120m -v -skip TestFigures .

bench-cluster: ## Measure runs on a cluster on this machine beside the goals, and memory in Postgres beside SQLite (BENCH_MEMORIES, 100000)
	CLUSTER_ROUNDS=1 go -C test/cluster test -count=1 -timeout 60m -v -run TestFigures .
	go test -count=1 -timeout 60m -run '^$$' -bench Stores -benchtime 1x ./calls/memory/sqlmemory

soak: ## Restart a plugin SOAK (10000) times, and see that nothing grows
	SOAK=$(or $(SOAK),10000) go test -count=1 -timeout 60m -v -run NothingGrows ./plugins/host

cover: ## Run the tests and hold the coverage of the trees that must be covered
	@mkdir -p bin
	go test $(TESTFLAGS) -covermode set -coverprofile bin/cover.out \
		-coverpkg "$$(echo $(COVERED:%=./%/...) | tr ' ' ,)" ./...
	@awk -v module=$(MODULE) -v trees='$(COVERED)' -v min=$(COVER_MIN) -f test/cover.awk bin/cover.out

check-fmt:
	@files=$$(gofmt -l .); \
	[ -z "$$files" ] || { echo 'not formatted (run make fmt):'; echo "$$files"; exit 1; }

check-modules:
	go mod tidy -diff
	go mod verify

# What cannot work on a system says so when it is used.
check-platforms:
	SLOW_TESTS=1 go test $(TESTFLAGS) -count=1 -run TestPlatforms ./test

# Generating again must change nothing, committed or not.
check-generate:
	@sums() { git ls-files -co --exclude-standard -z | xargs -0 sha256sum 2>/dev/null || true; }; \
	before=$$(sums); $(MAKE) generate; \
	stale=$$(diff <(echo "$$before") <(sums) | awk '/^[<>]/ { print $$3 }' | sort -u) || true; \
	[ -z "$$stale" ] || { echo 'generated files were stale (they are written now, commit them):'; echo "$$stale"; exit 1; }

check-nested:
	@for dir in $(NESTED); do echo "$$dir: tidy"; (cd "$$dir" && go mod tidy -diff); done
	@for dir in $(filter-out test/cluster/temporalserver $(TEMPORAL),$(NESTED)); do echo "$$dir: vet"; go -C "$$dir" vet ./...; done

release-snapshot: ## Build the archives of a release in bin/dist, with checksums and bills of materials, and publish nothing
release-snapshot: MODE := --snapshot
release-snapshot: export NEXT_VERSION := $(shell cat VERSION)
release release-snapshot: $(GORELEASER)
	$(GORELEASER) release --clean $(MODE)

$(GORELEASER):
	@mkdir -p $(TOOLS)
	GOBIN=$(TOOLS) go install github.com/goreleaser/goreleaser/v2@$(GORELEASER_VERSION)
	@mv $(TOOLS)/goreleaser $@

install-lint: $(GOLANGCI) $(WORKFLOWCHECK)

$(WORKFLOWCHECK):
	@mkdir -p $(TOOLS)
	GOBIN=$(TOOLS) go install go.temporal.io/sdk/contrib/tools/workflowcheck@$(WORKFLOWCHECK_VERSION)
	@mv $(TOOLS)/workflowcheck $@

$(GOLANGCI):
	@mkdir -p $(TOOLS)
	GOBIN=$(TOOLS) go install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI_VERSION)
	@mv $(TOOLS)/golangci-lint $@
