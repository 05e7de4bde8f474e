# One command each. `make quickstart` needs nothing but Go, bash, git and ps; `make
# test` also Debian's packages, which `make deps` installs.
SHELL := /bin/bash
BIN   := $(CURDIR)/bin
GO    := go
STAGE := .ci/stage

# Binaries are static and the same for every path they are built in.
export CGO_ENABLED := 0
BUILD := $(GO) build -trimpath -ldflags "-s -w"

.PHONY: help build release quickstart dev dev-clean test test-race crash lint bench generate clean

build: ## build all programs and plugins into bin/
	@mkdir -p $(BIN)
	$(BUILD) -o $(BIN)/forgeyard-fleet ./cmd/forgeyard-fleet
	$(BUILD) -o $(BIN)/forgeyard-runner ./cmd/forgeyard-runner
	$(BUILD) -o $(BIN)/forgeyard-queue ./cmd/forgeyard-queue
	$(BUILD) -o $(BIN)/forgeyard-plugin-local ./plugins/local
	$(BUILD) -o $(BIN)/forgeyard-plugin-manual ./plugins/manual
	$(BUILD) -o $(BIN)/forgeyard-plugin-libvirt ./plugins/libvirt
	$(BUILD) -o $(BIN)/forgeyard-plugin-aws ./plugins/aws
	plugins/publish.sh $(BIN) >/dev/null

# The same with virtual machines: a daemon, a pool and a guest of its own, which go
# with it. As root on Debian it installs what is missing. IMAGE=path takes a whole
# system instead, a disk image with cloud-init, and minutes.
IMAGE ?=
.PHONY: demo-libvirt
demo-libvirt: build ## run the demonstration with virtual machines
	examples/libvirt/demo.sh $(BIN) $(IMAGE)

# The same in a simulated account of AWS, whose machines are processes here.
.PHONY: demo-aws
demo-aws: build ## run the demonstration in a simulated AWS account
	$(BUILD) -o $(BIN)/ec2sim ./plugins/aws/internal/ec2sim/cmd/ec2sim
	examples/aws/demo.sh $(BIN)

# All binaries for their systems, with SHA256SUMS and a bill of materials for each,
# in dist/; docs/releasing.md says what comes before and after.
VERSION ?= $(shell sed -n 's/^var Version = "\(.*\)"$$/\1/p' cmd/internal/version/version.go)
release: ## build the release archives into dist/ (VERSION=…)
	.ci/release dist $(VERSION)

# What the quickstart runs, and no more: the plugins of clouds take minutes to compile.
.PHONY: build-quickstart
build-quickstart: ## build only what the quickstart needs
	@mkdir -p $(BIN)
	$(BUILD) -o $(BIN)/forgeyard-fleet ./cmd/forgeyard-fleet
	$(BUILD) -o $(BIN)/forgeyard-runner ./cmd/forgeyard-runner
	$(BUILD) -o $(BIN)/forgeyard-queue ./cmd/forgeyard-queue
	$(BUILD) -o $(BIN)/forgeyard-plugin-local ./plugins/local
	plugins/publish.sh $(BIN) >/dev/null

quickstart: build-quickstart ## run a queue, a manager and jobs on this machine
	examples/quickstart/quickstart.sh $(BIN)

# A queue and a manager on this machine that stay until Ctrl-C, with the quickstart's fleet;
# its runners keep running then, and dev-clean removes them.
dev: build-quickstart ## run a queue and a manager until Ctrl-C
	examples/dev/dev.sh run $(BIN) .dev

dev-clean: build-quickstart ## remove what dev left behind
	examples/dev/dev.sh clean $(BIN) .dev

# The store's tests run on SQLite and on a real PostgreSQL. Those of the pages read
# files outside of their module, which the test cache doesn't see. Plain `go test`
# leaves out what takes minutes: the programs as a whole, guests that boot, most
# seeds, and the package that compiles the SDK of EC2 (3 GB in one process).
#
# Property tests draw the same inputs here each time, so that a run on one commit ends
# as the one before; plain `go test` draws others, and explore many.
test: export RAPID_SEED = 1
test: ## run all tests (about 40 minutes on 2 cores)
	@.ci/deps --or-skip
	$(STAGE) 'packages' $(GO) test $$($(GO) list work | grep -v -e /cmd/e2e -e /plugins/libvirt/internal/libvirt -e '/plugins/aws$$' -e /plugins/aws/internal/aws)
	$(STAGE) 'aws: program' $(GO) test ./plugins/aws
	$(STAGE) 'aws: calls' $(GO) test -timeout 20m ./plugins/aws/internal/aws -whole
	$(STAGE) 'docs, architecture' $(GO) test -count=1 ./cmd/docs ./cmd/architecture
	$(STAGE) 'simulation, 2000 seeds' $(GO) test -run '^TestEveryInvariantHoldsForEverySeed$$' ./core/testonly/simulation -seeds 2000
	$(STAGE) 'interleavings' $(GO) test -run '^TestRandomInterleavings' ./core/loop -interleavings 1000
	E2E=1 $(STAGE) 'programs (e2e)' $(GO) test -count=1 -timeout 20m -skip '^TestCrash' ./cmd/e2e
	E2E=1 $(STAGE) 'libvirt guests' $(GO) test -count=1 -timeout 20m ./plugins/libvirt/internal/libvirt
	$(STAGE) 'docs/cli.md' $(GO) test -count=1 -run 'CommandLinePage' ./cmd/forgeyard-fleet
	$(STAGE) 'benchmarks, once each' $(MAKE) bench-once
	$(STAGE) 'crash points' $(MAKE) crash
	$(STAGE) 'race detector' $(MAKE) test-race

# The crash matrix kills manager and plugin at every point that they name.
crash: ## run the crash matrix
	$(GO) test -count=1 -tags failpoint ./core/failpoint
	E2E=1 $(GO) test -count=1 -timeout 20m -run '^TestCrash' ./cmd/e2e

# More of the fault simulation than the tests run: SEEDS seeds from FIRST on.
SEEDS ?= 20000
FIRST ?= 2000
.PHONY: soak
soak: ## simulate faults with many seeds (SEEDS=, FIRST=)
	$(GO) test -count=1 -timeout 24h -run '^TestEveryInvariantHoldsForEverySeed$$' ./core/testonly/simulation -seeds $(SEEDS) -first $(FIRST)

# More inputs of the property tests than the tests draw: SEEDS times others.
.PHONY: explore
explore: SEEDS = 100
explore: ## run the property tests with other inputs (SEEDS=)
	@for n in $$(seq $(SEEDS)); do RAPID_SEED=$$((n * 1000003)) $(GO) test -count=1 $$(git grep -l pgregory.net/rapid -- 'core/*_test.go' | xargs -n 1 dirname | sort -u | grep -v /store | sed 's,^,./,') || exit 1; done

# What is concurrent runs under the race detector, too.
test-race: ## run concurrent packages under the race detector
	CGO_ENABLED=1 $(GO) test -race -short ./core/executor ./core/planner/packing ./core/pluginhost/... ./core/agentserver ./core/pki ./core/agent/... ./core/queue/... ./core/store ./core/pluginstore ./plugin-sdk/... ./plugins/local/... ./plugins/manual/... ./plugins/libvirt/internal/daemon ./plugins/libvirt/internal/seed ./plugins/aws/internal/rate
	CGO_ENABLED=1 $(GO) test -race -count=1 -run '^TestAJobThatIsLeasedInTheMomentOfAScaleDownIsNeverKilled$$' ./core/executor -tries 200

# The only target that installs packages. `make test` runs the same script first, which
# without root names what is missing and continues.
.PHONY: deps
deps: ## install Debian's packages that the tests use
	@.ci/deps

GOLANGCI := $(GO) run github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0
MODULES  := cmd core plugin-sdk plugins/aws plugins/libvirt plugins/local plugins/manual examples/plugin-process

# .golangci.yml says which linters run, and why each.
lint: ## run gofmt, go vet, golangci-lint and govulncheck
	@unformatted=$$(git ls-files '*.go' | grep -v '\.pb\.go$$' | xargs gofmt -l); \
	  if [ -n "$$unformatted" ]; then echo "gofmt would change:"; echo "$$unformatted"; exit 1; fi
	@heavy=$$(git ls-files -z | xargs -0 find 2>/dev/null -maxdepth 0 -type f -size +1M); \
	  if [ -n "$$heavy" ]; then echo "over 1 MiB, so a program rather than its source:"; echo "$$heavy"; exit 1; fi
	$(GO) vet work
	$(GO) vet -tags failpoint work
	for module in $(MODULES); do (cd $$module && GOWORK=off $(GOLANGCI) run ./...) || exit 1; done
	.ci/vulncheck

bench: ## run all benchmarks
	$(GO) test -run '^$$' -bench . -benchmem ./core/... ./plugin-sdk/...
	$(MAKE) policies

# Each benchmark once, so that none rots between two looks at its numbers: under a
# minute. Left out is what takes minutes to set up, or measures two thousand processes'
# worth of a machine that has nothing else to do.
.PHONY: bench-once
bench-once: ## run each benchmark once
	$(GO) test -count=1 -run '^$$' -bench . -benchtime 1x $$(git grep -l '^func Benchmark' -- core plugin-sdk | xargs -n 1 dirname | sort -u | sed 's,^,./,' | grep -v -e /core/plans$$ -e /core/store$$ -e /core/executor$$ -e /core/replay/)

# The tables of docs/policies.md, which take minutes of processor time: whether they
# are what the replays say, and with UPDATE=-update they become it.
UPDATE ?=
.PHONY: policies
policies: ## check the tables of docs/policies.md (UPDATE=-update)
	$(GO) test -count=1 -timeout 60m -run '^TestTheTables' ./core/testonly/policies -eight-weeks $(UPDATE)

generate: ## write the generated files
	$(GO) generate ./plugin-sdk/... ./core/... ./cmd/...

clean: ## remove bin/
	rm -rf $(BIN)

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.* ## / { printf "  %-18s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)
