package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"time"
)

// toolPaths are the programs that the Makefile provides.
type toolPaths struct {
	golangciLint, govulncheck, operatorSDK, olmv1Resolver string
}

// vulnerabilityDatabase is the default database of govulncheck.
const vulnerabilityDatabase = "https://vuln.go.dev"

// modules are the directories of the modules to lint. Those in hack/tools are left out: they have a few lines, for which the
// linter would analyse all of Kubernetes.
var modules = []string{".", "hack/cluster"}

func checks(tools toolPaths) []check {
	list := []check{
		{"no untracked file", "add it to git, or remove it", noUntracked},
		{"generated code is current", "commit what `make generate` changed", unchangedBy("make", "generate")},
		{"releases are frozen", "restore the released directory; a fix needs a new release", program(".", "go", "run", "./hack/release", "verify")},
		{"bundle is current", "run `make bundle` and commit", program(".", "go", "run", "./hack/bundle", "--check")},
		{"rights are used or explained", "see the findings above", program(".", "go", "run", "./hack/rights", "check")},
		{"bundle is valid", "see the findings above", program(".", "go", "run", "./hack/bundle", "validate")},
		{"bundle is valid for operator-sdk", "see the findings above", sdkValidates(tools.operatorSDK)},
		{"CRDs are compatible", "see the findings above; a CRD may only grow", program(".", "go", "run", "./hack/bundle", "compat")},
		{"catalog is current and valid", "run `make catalog` and commit", program(".", "go", "run", "./hack/catalog", "--check")},
		{"graph is as OLM v1 resolves it", "correct hack/graph", resolves(tools.olmv1Resolver)},
		{"image builds are reproducible", "see the differing digests above", program(".", "go", "run", "./hack/image", "repro")},
		{"links in pages lead somewhere", "correct the links", linksLead},
		{"go.mod is tidy", "run `go mod tidy`", program(".", "go", "mod", "tidy", "-diff")},
	}
	for _, module := range modules {
		list = append(list, check{"lint " + module, "see the findings above",
			program(module, tools.golangciLint, "run", "--config", configFor(module), "./...")})
	}
	return append(list, check{"no known vulnerability", "update the module that the finding names", vulnerabilities(tools.govulncheck)})
}

// configFor returns the path of the linter configuration, relative to the directory of the module.
func configFor(module string) string {
	if module == "." {
		return ".golangci.yml"
	}
	return strings.Repeat("../", strings.Count(module, "/")+1) + ".golangci.yml"
}

func noUntracked(ctx context.Context) error {
	out, err := output(ctx, ".", "git", "ls-files", "--others", "--exclude-standard")
	if err == nil && out != "" {
		err = errors.New(out)
	}
	return err
}

// unchangedBy returns a check that a command changes no file of the checkout. Changes from before the command do not
// count, so that the check works on an uncommitted checkout.
func unchangedBy(name string, args ...string) func(context.Context) error {
	return func(ctx context.Context) error {
		before, err := output(ctx, ".", "git", "diff")
		if err != nil {
			return err
		}
		if err := program(".", name, args...)(ctx); err != nil {
			return err
		}
		after, err := output(ctx, ".", "git", "diff")
		if err != nil {
			return err
		}
		if after != before {
			stat, err := output(ctx, ".", "git", "diff", "--stat")
			return errors.Join(fmt.Errorf("changed by %s %s:\n%s", name, strings.Join(args, " "), stat), err)
		}
		return noUntracked(ctx)
	}
}

// sdkValidates runs the validation of operator-sdk on every bundle, because its validators are older than those of the
// library. A warning is a failure.
func sdkValidates(operatorSDK string) func(context.Context) error {
	return func(ctx context.Context) error {
		bundles, err := filepath.Glob("bundles/v*")
		if err != nil {
			return err
		}
		for _, bundle := range bundles {
			out, err := output(ctx, ".", operatorSDK, "bundle", "validate", bundle, "--select-optional", "suite=operatorframework")
			if err != nil {
				return err
			}
			if strings.Contains(out, "level=warning") {
				return errors.New(out)
			}
		}
		return nil
	}
}

// resolves compares hack/graph with the resolver of OLM v1, on random catalogs and on the served one.
func resolves(resolver string) func(context.Context) error {
	return program(".", "env", "OLMV1_RESOLVER="+resolver, "go", "test", "-trimpath", "-count=1", "-tags=olmv1", "-run=OfTheResolverOfOLMv1$", "./hack/graph")
}

// vulnerabilities runs govulncheck if its database is reachable.
func vulnerabilities(govulncheck string) func(context.Context) error {
	return func(ctx context.Context) error {
		asked, cancel := context.WithTimeout(ctx, 10*time.Second)
		defer cancel()
		request, err := http.NewRequestWithContext(asked, http.MethodHead, vulnerabilityDatabase+"/index/db.json", nil)
		if err != nil {
			return err
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			return notice("the database at " + vulnerabilityDatabase + " cannot be reached from here")
		}
		if err := response.Body.Close(); err != nil {
			return err
		}
		if response.StatusCode != http.StatusOK {
			return notice(fmt.Sprintf("the database at %s answers %s", vulnerabilityDatabase, response.Status))
		}
		return program(".", govulncheck, "./...")(ctx)
	}
}
