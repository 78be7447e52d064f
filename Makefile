# Thin names over Go programs. `make` alone lists the targets.
.DEFAULT_GOAL := help
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
MAKEFLAGS += --no-print-directory

# The version under development, which is raised in project.go after a release.
VERSION ?= $(shell sed -n 's/^const Version = "\(.*\)"/\1/p' hack/project/project.go)
IMG ?= quay.io/example/memcached-operator:v$(VERSION)
BUNDLE_IMG ?= quay.io/example/memcached-operator-bundle:v$(VERSION)

export CGO_ENABLED ?= 0

CACHE := $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/memcached-operator
STAGE := $(CACHE)/stage
RUN ?= .
SKIP ?=
# With -race, everything is compiled once more; without it, only what tools and images do not need too.
RACE ?=
# Tests wait for half of their time. With the race detector they compute most of it.
TEST_PACKAGES ?= $(if $(RACE),2,4)
# They start no goroutine, and would take the race detector minutes.
PURE := ./operator/memcached/update/rollout ./operator/memcached/desired/sizing ./hack/bundle/compat
# They take longest, so they begin first.
LONGEST := ./operator/memcached/controller ./operator/agent ./operator/memcached/desired/sizing
GO_TEST := go test -vet=off -ldflags=-s -json
BENCH ?= all
SAMPLE ?= 0
STATE ?= $(CACHE)/faults.txt
FUZZTIME ?= 5m
FUZZERS ?= 1
E2E_TAGS := e2e
E2E_TIMEOUT := 90m
# How many walks of an installed operator run side by side.
WALKS ?= 8
# With "some", not every upgrade is walked, but one of several that are alike.
ROUTES ?=
# As images and tools are built, so that nothing is compiled twice.
GO_RUN := go run -trimpath
CLUSTER := go run -C $(CURDIR)/hack/cluster -trimpath .
GOTESTSUM := go tool gotestsum --format-icons text --format-hide-empty-pkg --post-run-command .ci/summary --jsonfile $(CACHE)

# KUBECONFIG names your own cluster: nothing is started, REGISTRY says where images are pushed to and
# pulled from, OPERANDS names a file of replacements for memcached images that it cannot pull.
# Without KUBECONFIG, or with the one that `make cluster` prints, it is the local cluster.
LOCAL_KUBECONFIG := $(CACHE)/cluster/admin.kubeconfig
ifeq ($(filter-out $(LOCAL_KUBECONFIG),$(KUBECONFIG)),)
export KUBECONFIG := $(LOCAL_KUBECONFIG)
REGISTRY := localhost:5000
OPERANDS := $(CACHE)/cluster/images.json
STAGE_FLAGS :=
LOCAL := cluster
ENV = env=$$($(CLUSTER) env); eval "$$env";
MIRROR := $(CLUSTER) mirror --
OPM_IMAGE := $(REGISTRY)/operator-framework/opm:latest
SCORECARD_FLAGS := --untar-image $(REGISTRY)/operator-framework/scorecard-untar:latest --storage-image $(REGISTRY)/operator-framework/scorecard-storage:latest
else
OPM_IMAGE ?= quay.io/operator-framework/opm:latest
STAGE_FLAGS := --rename
endif
export REGISTRY

##@ See it
help: ## list the targets
	@awk 'BEGIN {FS = ":.*## "} /^##@/ {printf "\n%s\n", substr($$0, 5)} /^[a-z0-9 -]+:.*## / {sub(/:.*/, "", $$1); printf "  %-18s %s\n", $$1, $$2}' Makefile
# Old releases are in its catalog, but their programs take minutes to build.
demo: STAGE_FLAGS += --newest
demo: stage ## install through OLM on a cluster, make and use a cache, run a web application
	@$(ENV) kubectl=$$($(CLUSTER) tool kubectl); $(GO_RUN) ./hack/demo --kubectl $$kubectl --version $(VERSION) --manifests $(STAGE)/olm
undemo: ## take away what demo and `kubectl apply -f olm/` brought, applications and caches included
	@$(ENV) kubectl=$$($(CLUSTER) tool kubectl); $(GO_RUN) ./hack/demo --kubectl $$kubectl --manifests olm --undo
cluster: ## start the local Kubernetes with OLM (root), and print its KUBECONFIG
	@$(CLUSTER) up
cluster-down: ## stop the local cluster and remove everything it started
	@$(CLUSTER) down

##@ Change it
generate: ## deep copies from the API types
	go tool controller-gen object paths=./operator/api/...
manifests bundle: ## compose the bundle of the version under development: CRDs, RBAC, CSV
	$(GO_RUN) ./hack/bundle --version $(VERSION)
catalog: ## render the served catalog from the template
	$(GO_RUN) ./hack/catalog
run: ## run the operator on this machine, against KUBECONFIG (AGENT_IMAGE=... for TLS, auth, monitoring, StatefulSets)
	@$(ENV) images=$$($(GO_RUN) ./hack/bundle environment $(addprefix --operands ,$(OPERANDS))); export $$images; exec $(GO_RUN) ./operator --metrics-bind-address=0

##@ Prove it
verify: ## lint, generated code, bundle, catalog, OLM v1's resolver, frozen releases, reproducible images, vulnerabilities
	@tools=($$($(CLUSTER) tool golangci-lint govulncheck operator-sdk olmv1-resolver)); $(GO_RUN) ./hack/verify --golangci-lint $${tools[0]} --govulncheck $${tools[1]} --operator-sdk $${tools[2]} --olmv1-resolver $${tools[3]}
test: ## unit, golden and envtest tests; needs no root and no cluster (RACE=-race for the race detector, which needs gcc)
	@rm -rf $(CACHE)/audit; mkdir -p $(CACHE)/audit
	@# Vet is part of the lint of verify. Without symbols, the 70 test programs link in half the time. Without paths, packages that were
	@# compiled in another checkout need not be compiled again; -count=1 runs their tests all the same.
	assets=$$($(CLUSTER) assets); promtool=$$($(CLUSTER) tool promtool); memcached=$$($(CLUSTER) memcached); \
	AUDIT_LOGS=$(CACHE)/audit KUBEBUILDER_ASSETS=$$assets PROMTOOL=$$promtool MEMCACHED_ROOTS=$$memcached $(GOTESTSUM)/test.json --format pkgname-and-test-fails --raw-command -- \
	sh -c 'result=0; $(if $(RACE),$(GO_TEST) -trimpath $(PURE) || result=$$?; CGO_ENABLED=1 )$(GO_TEST) -p $(TEST_PACKAGES) -trimpath $(if $(RACE),$(RACE) -count=1) $(filter-out $(if $(RACE),$(PURE)),$(LONGEST)) $$(go list ./...$(if $(RACE), | grep -v $(patsubst .%,-e %\$$,$(PURE)))) || result=$$?; cd hack/cluster && $(GO_TEST) -trimpath ./... && exit $$result'
	@$(GO_RUN) ./hack/rights record $$(find $(CACHE)/audit -name '*.log')
faults operations mutants: ## run the operator under faults; give every field every value; do both with known bugs (PLAN=F2/lost for some, SAMPLE=300 for a part)
	@assets=$$($(CLUSTER) assets); go test -c -tags faults -vet=off -trimpath -ldflags=-s -o $(CACHE)/$@.test ./operator/faults; cd operator/faults && KUBEBUILDER_ASSETS=$$assets \
	$(CACHE)/$@.test -test.parallel 16 -test.timeout 3h -test.run '(?i)^Test$@' -sample $(SAMPLE) -plan '$(PLAN)' -state '$(STATE)'
mutation: ## change the packages that decide, one small change at a time: their tests have to notice (PACKAGES=./operator/memcached/args)
	@$(GO_RUN) ./hack/mutation $(PACKAGES)
fuzz: ## run each fuzz target for FUZZTIME; what they find is in testdata/fuzz of its package
	@memcached=$$($(CLUSTER) memcached); export MEMCACHED_ROOTS=$$memcached; git grep -Eo '^func Fuzz\w+' -- '*_test.go' | sed 's,\(.*\)/[^/]*:func \(.*\),./\1 \2,' | while read -r folder target; do \
	echo "$$folder $$target"; go test "$$folder" -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 5s -parallel $(FUZZERS); done
bench: ## measure the operator beside a bare client that writes the same (BENCH='burst --size 1000' for one workload)
	@assets=$$($(CLUSTER) assets); KUBEBUILDER_ASSETS=$$assets $(GO_RUN) ./hack/bench run $(BENCH)
bench-check bench-record: ## compare a short benchmark with hack/bench/recorded.json, or write that file
	@assets=$$($(CLUSTER) assets); KUBEBUILDER_ASSETS=$$assets $(GO_RUN) ./hack/bench $(@:bench-%=%)
e2e: stage ## walk the tutorials on a cluster without caches of yours (RUN=Installed/side/scorecard for one walk, SKIP=Chaos for the others)
	@$(if $(LOCAL),$(CLUSTER) up --with-sdk --with-olm-v1 --with-network-policies,true)
	@# Tests pause parts of the cluster for a second, and go run would take as long.
	@go build -C hack/cluster -trimpath -o $(CACHE)/cluster.e2e .
	@$(ENV) tools=($$($(CLUSTER) tool kubectl operator-sdk prometheus $(if $(LOCAL),pymemcache ingress-controller))); \
	E2E_LOCAL=$(LOCAL) E2E_ROUTES=$(ROUTES) E2E_REPORT=$(CACHE)/e2e E2E_STAGE=$(STAGE)/stage.json E2E_VERSION=$(VERSION) E2E_OPM_IMAGE=$(OPM_IMAGE) E2E_OPERANDS=$(OPERANDS) E2E_MIRROR="$(MIRROR)" E2E_CLUSTER="$(if $(LOCAL),$(CACHE)/cluster.e2e)" E2E_SCORECARD_FLAGS="$(SCORECARD_FLAGS)" KUBECTL=$${tools[0]} OPERATOR_SDK=$${tools[1]} E2E_PROMETHEUS=$${tools[2]} PYMEMCACHE=$${tools[3]:-} E2E_INGRESS_CONTROLLER=$${tools[4]:-} \
	$(GOTESTSUM)/e2e.json --format standard-verbose -- -trimpath -tags=$(E2E_TAGS) -count=1 -parallel=$(WALKS) -timeout=$(E2E_TIMEOUT) -run '$(RUN)' -skip '$(SKIP)' ./olm/e2e
	@$(if $(LOCAL),$(GO_RUN) ./hack/rights record $(CACHE)/cluster/logs/audit*.log)
e2e-long: ## walk upgrades that OLM makes by itself, which may take it 18 minutes each
	@$(MAKE) e2e E2E_TAGS=e2e,long E2E_TIMEOUT=150m RUN=ByThemselves
chaos: ## kill parts of the local cluster and the operator at random during upgrades, for CHAOS (20m, in e2e 3m); CHAOS_SEED repeats a run
	@CHAOS=$${CHAOS:-20m} $(MAKE) e2e E2E_TIMEOUT=150m RUN=Chaos
scorecard: STAGE_FLAGS += --newest
scorecard: stage ## run the scorecard, our own test included, against the operator that `make demo` installed
	@$(if $(LOCAL),$(CLUSTER) up --with-sdk,true)
	@$(ENV) tools=($$($(CLUSTER) tool kubectl operator-sdk)); $${tools[0]} apply -n default -f olm/scorecard/rbac.yaml; \
	$${tools[1]} scorecard $(STAGE)/bundles/v$(VERSION) --namespace default --service-account memcached-operator-scorecard --wait-time 5m $(SCORECARD_FLAGS)

##@ Ship it
images: ## build every image and keep it on this machine
	@for name in operator scorecard bundle catalog; do $(GO_RUN) ./hack/image --version $(VERSION) build $$name; done
docker-build: ## build the operator's image as IMG
	$(GO_RUN) ./hack/image --version $(VERSION) build operator --tag $(IMG)
docker-push: ## push IMG
	@$(ENV) $(GO_RUN) ./hack/image push $(IMG)
bundle-build: ## build the bundle's image as BUNDLE_IMG
	$(GO_RUN) ./hack/image --version $(VERSION) build bundle --tag $(BUNDLE_IMG)
bundle-push: ## push BUNDLE_IMG
	@$(ENV) $(GO_RUN) ./hack/image push $(BUNDLE_IMG)
stage: $(LOCAL) ## put releases, catalog and operator into REGISTRY for a cluster to pull
	@$(ENV) $(GO_RUN) ./hack/release stage --registry "$(REGISTRY)" --with-unreleased $(STAGE_FLAGS) $(addprefix --map ,$(OPERANDS)) --out $(STAGE)
release: ## freeze the bundle of VERSION: pin digests, record source commit, add to the catalog
	$(GO_RUN) ./hack/release make $(VERSION)

##@ Without OLM
# Caches go before their CRD: without it, Kubernetes' garbage collector may leave behind what they own.
DELETE_OPERANDS = for kind in applications.app.example.com memcacheds.cache.example.com; do if $$kubectl get crd $$kind >/dev/null 2>&1; then $$kubectl delete $$kind --all --all-namespaces --cascade=foreground; fi; done

install: ## only the CRDs
	@$(ENV) kubectl=$$($(CLUSTER) tool kubectl); $(GO_RUN) ./hack/bundle --version $(VERSION) render --crds | $$kubectl apply --server-side -f -
uninstall: ## remove the CRDs, and with them every application and cache
	@$(ENV) kubectl=$$($(CLUSTER) tool kubectl); $(DELETE_OPERANDS); $(GO_RUN) ./hack/bundle --version $(VERSION) render --crds | $$kubectl delete --ignore-not-found -f -
deploy: ## the operator as plain manifests, running IMG
	@$(ENV) kubectl=$$($(CLUSTER) tool kubectl); $(GO_RUN) ./hack/bundle --version $(VERSION) render --direct --image $(IMG) $(addprefix --operands ,$(OPERANDS)) | $$kubectl apply --server-side -f -
undeploy: ## remove what deploy brought, CRDs, applications and caches included
	@$(ENV) kubectl=$$($(CLUSTER) tool kubectl); $(DELETE_OPERANDS); $(GO_RUN) ./hack/bundle --version $(VERSION) render --direct --image $(IMG) | $$kubectl delete --ignore-not-found -f -

.PHONY: $(shell sed -n 's/^\([a-z][a-z0-9 -]*\):.*/\1/p' Makefile)
