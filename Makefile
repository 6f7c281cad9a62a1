# What there is to do here. The tests and the demo need Rust, and Go 1.26 for their API server.

.DEFAULT_GOAL := help
.PHONY: help demo demo-install test test-offline mutants fuzz matrix faults apiserver lint tables manifests release sbom image \
	image-test reviews bench bench-decide bench-quick instructions

# What in the test binary asks a real API server: the beginnings of the tests' names.
NEED_A_SERVER := both_ways::actions both_ways::attacks both_ways::cases both_ways::cron_jobs both_ways::governed both_ways::life \
	both_ways::random both_ways::several both_ways::updates certs corpus::online matrix harness::cluster harness::lifetime harness::webhook \
	manifests::built manifests::documented manifests::invariants manifests::live manifests::mounted \
	messages::server serve::identified serve::retried tables::tests::the_committed_table yaml::differences::kubectl

help: ## list these
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: apiserver ## a real API server, the webhook, one Job admitted and the rest refused; KEEP=1 leaves it up
	@cargo build --bin jobshape --example demo
	@KEEP=$(KEEP) cargo run --quiet --example demo

demo-install: apiserver ## the manifests on a real API server as they are committed: verified, broken in eight ways, verified
	@cargo test --test install -- --nocapture live

test: apiserver ## all tests, against a real API server
	cargo test --doc
	cargo test --lib --bins --examples --tests --no-fail-fast

test-offline: ## the tests that need no API server, and so no Go
	cargo test --doc
	cargo test --lib --bins
	cargo test --test main -- $(addprefix --skip ,$(NEED_A_SERVER))
	@echo "Not run, because they ask a real API server: $(NEED_A_SERVER)"

mutants: ## one mistake at a time in a copy of the sources, to show that the tests notice each
	@tests/mutants/run.sh

# An hour and a half, or MINUTES=1 for each of the four, or TARGETS="yaml job". `make test` replays the seeds.
fuzz: ## inputs that nobody thought of: review bytes, YAML, shapes, edits of a Job
	@tests/fuzz/run.sh $(or $(MINUTES),20) $(TARGETS)

# The tests build it themselves when it is missing; here its progress can be seen.
apiserver: ## build the API server of the tests from Go modules, once
	@tests/apiserver/build.sh

lint: ## format, clippy, documentation, and the dependencies by deny.toml
	cargo fmt --all --check
	cargo fmt --manifest-path tests/fuzz/Cargo.toml --check
	cargo clippy --all-targets -- -D warnings
	RUSTDOCFLAGS="-D warnings" cargo doc --no-deps --document-private-items
	cargo deny --offline check bans licenses sources

# Every release that tests/apiserver has a module for, or VERSIONS=1.36.3,1.37.2; each is built once.
matrix: apiserver ## every small change of a Job, and Jobs of others, on every Kubernetes release: docs/matrix.md
	CARGO_PROFILE_RELEASE_LTO=off JOBSHAPE_VERSIONS=$(VERSIONS) \
		cargo test --release --test main -- --ignored --exact --nocapture matrix::the_whole_matrix \
			corpus::online::on_every_release both_ways::cron_jobs::on_every_release both_ways::several::on_every_release \
			manifests::live::on_every_release

# Some ten minutes; `cargo test --test faults` is the short form.
faults: apiserver ## what two replicas survive, with Jobs being created all along: docs/faults.md
	CARGO_PROFILE_RELEASE_LTO=off JOBSHAPE_FAULTS=full cargo test --release --test faults

# The table of the fields that a Job has, from the real API server's own OpenAPI.
tables: ## write src/core/kubernetes/data/fields.tsv anew
	cargo test --test main -- --ignored --exact tables::tests::write_the_field_table

# The ConfigMaps and configurations of rules/pm-agent, and the alerts in the Prometheus operator's kind.
manifests: ## write what in manifests is generated anew
	cargo run --quiet -- render --shapes rules/pm-agent --out manifests/rendered/enforce
	cargo run --quiet -- render --shapes rules/pm-agent --action Audit --out manifests/rendered/audit-first
	cargo test --test main -- --ignored --exact manifests::committed::write_the_prometheus_rule

# The program of the image: it needs no library and no file of the machine that it runs on, and is the same wherever the
# clone, the crates and the sources of the standard library stand, built by the same compiler and the same C library.
RELEASE_TARGET := x86_64-unknown-linux-gnu
RELEASE := target/$(RELEASE_TARGET)/release/jobshape
CARGO_FOLDER = $(or $(CARGO_HOME),$(HOME)/.cargo)
STANDARD_LIBRARY = $$(rustc --print sysroot)/lib/rustlib/src/rust=/rustc/$$(rustc -vV | sed -n 's/^commit-hash: //p')
SOURCE_DATE_EPOCH ?= $(shell git log -1 --format=%ct)
REVISION ?= $(shell git describe --always --abbrev=40 --dirty --exclude='*')
export SOURCE_DATE_EPOCH

# Incremental builds cut the program into other pieces.
release: ## the program as it is shipped: static, without paths of this machine
	@CARGO_TARGET_DIR=target CARGO_INCREMENTAL=0 JOBSHAPE_REVISION=$(REVISION) \
		CFLAGS="-ffile-prefix-map=$(CARGO_FOLDER)=/cargo -ffile-prefix-map=$(CURDIR)=/jobshape" \
		RUSTFLAGS="-C target-feature=+crt-static --remap-path-prefix=$(CURDIR)=/jobshape --remap-path-prefix=$(CARGO_FOLDER)=/cargo --remap-path-prefix=$(STANDARD_LIBRARY)" \
		cargo build --release --locked --bin jobshape --target $(RELEASE_TARGET)
	@sha256sum $(RELEASE)

VERSION := $(shell sed -n 's/^version = "\(.*\)"/\1/p;/^version/q' Cargo.toml)
# The name that it gets in the archive, and where its sources are: nobody but you knows either.
IMAGE ?= jobshape:$(VERSION)
SOURCE ?=
# A storage of its own: what else buildah has on this machine is left alone.
BUILDAH := buildah --storage-driver vfs --root $(CURDIR)/target/image/storage --runroot $(CURDIR)/target/image/run

sbom: ## what the program consists of, as CycloneDX, and the licences: target/image/content
	@mkdir -p target/image/content
	@rm -f target/image/content/*
	@image/sbom.sh $(RELEASE_TARGET) >target/image/content/jobshape.cdx.json
	@image/licenses.sh $(RELEASE_TARGET) >target/image/content/licenses.txt

# Needs buildah, and no network but for cargo-cyclonedx when it is missing.
image: release sbom ## the image around it, with buildah: target/image/jobshape.oci.tar
	@install -m 0755 $(RELEASE) target/image/content/jobshape
	@chmod 0444 target/image/content/jobshape.cdx.json target/image/content/licenses.txt
	@$(BUILDAH) bud --quiet --isolation chroot --pull=never --layers=false --format oci --identity-label=false \
		--timestamp $(SOURCE_DATE_EPOCH) --build-arg VERSION=$(VERSION) --build-arg REVISION=$(REVISION) \
		--build-arg CREATED=$$(date -u -d @$(SOURCE_DATE_EPOCH) +%Y-%m-%dT%H:%M:%SZ) \
		$(if $(SOURCE),--label org.opencontainers.image.source=$(SOURCE)) \
		--tag $(IMAGE) --file Dockerfile target/image/content
	@rm -f target/image/jobshape.oci.tar
	@$(BUILDAH) push --quiet --digestfile target/image/digest $(IMAGE) oci-archive:target/image/jobshape.oci.tar:$(IMAGE)
	@$(BUILDAH) rmi --all --force >/dev/null
	@echo "$(IMAGE) $$(cat target/image/digest)"

image-test: ## that the image holds what it should, runs, and is the same when built elsewhere
	@tests/image/run.sh

# What the API server sends for the Jobs of rules/pm-agent: the benchmark and a test decide about it.
reviews: ## write tests/reviews anew
	cargo test --test main -- --ignored --exact reviews::write_the_reviews

# Some fifteen minutes, after the build. The machine should have nothing else to do.
bench: apiserver ## what a decision, a check and serving cost: docs/benchmarks.md and a plot
	@mkdir -p target/bench
	@$(MAKE) --no-print-directory bench-decide JSON=target/bench/decide.jsonl | tee target/bench/decide.md
	cargo bench --bench serving

bench-quick: apiserver ## a few requests each, to see that the benchmarks still run
	cargo test --bench serving

bench-decide: ## what a decision and a check cost, printed; JSON=FILE keeps the rows for a plot
	@cargo build --release --features measure --bin jobshape --bin decide
	@cargo run --quiet --release --features measure --bin decide -- $(if $(JSON),--json $(JSON))

instructions: ## instructions of a decision against benches/instructions.tsv; WRITE=1 writes it anew
	@cargo run --quiet --release --features measure --bin decide -- --instructions $(if $(WRITE),--write)
