// Package build makes the programs of hack/tools from their Go modules, each once per version:
// what is built is kept under a name that holds a hash of everything that goes into it.
package build

import (
	"fmt"
	"slices"
	"strings"
)

// Tool is one Go module of hack/tools.
type Tool struct {
	// Module is the folder below hack/tools.
	Module string
	// Packages are the packages to build; each becomes a program called after its last element.
	Packages []string
	// Links are further names of the module's only program, which acts by the name it is called with.
	Links []string
	// Tags and LDFlags are handed to the linker and the compiler.
	Tags    string
	LDFlags string
	// Cold says how long a build takes from nothing on two cores.
	Cold string
}

// Versions of what is built, where something else than go.mod must know them.
const (
	// KubernetesVersion is what the kube binaries report.
	KubernetesVersion = "v1.36.3"
	// OLMVersion is the version of the Operator Lifecycle Manager.
	OLMVersion = "v0.46.0"
	// OLMModule is its Go module, which holds its chart too.
	OLMModule = operatorFramework + "/operator-lifecycle-manager"
	// OperatorSDKVersion is the version of operator-sdk.
	OperatorSDKVersion = "v1.42.2"
)

const (
	operatorFramework = "github.com/operator-framework"
	strip             = "-s -w"
	// containersTags leave out what needs C libraries: gpgme and btrfs.
	containersTags = "containers_image_openpgp,exclude_graphdriver_btrfs"
)

// kubeLDFlags give the binaries their version: without it OLM reads v0.0.0 and refuses minKubeVersion.
var kubeLDFlags = strip +
	" -X k8s.io/component-base/version.gitVersion=" + KubernetesVersion +
	" -X k8s.io/component-base/version.gitMajor=1 -X k8s.io/component-base/version.gitMinor=36" +
	" -X k8s.io/client-go/pkg/version.gitVersion=" + KubernetesVersion

// Kube is every program of Kubernetes, and etcd, in one binary.
var Kube = Tool{
	Module: "kube", Packages: []string{"."}, LDFlags: kubeLDFlags, Cold: "6 min",
	Links: []string{"etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kube-proxy", "kubelet", "kubectl"},
}

// CoreDNS is the DNS server.
var CoreDNS = Tool{Module: "coredns", Packages: []string{"."}, LDFlags: strip, Cold: "1 min"}

// Pause is the program that holds a pod's namespaces.
var Pause = Tool{Module: "pause", Packages: []string{"."}, LDFlags: strip, Cold: "1 s"}

// OLM is the programs of OLM's image.
var OLM = Tool{
	Module: "olm", Tags: containersTags, LDFlags: strip, Cold: "4 min",
	Packages: []string{
		OLMModule + "/cmd/olm", OLMModule + "/cmd/catalog", OLMModule + "/cmd/package-server",
		OLMModule + "/cmd/copy-content", OLMModule + "/util/cpb",
	},
}

// OPM is the catalog server and the probe that its pods call.
var OPM = Tool{
	Module: "opm", Tags: containersTags, LDFlags: strip, Cold: "2 min",
	Packages: []string{operatorFramework + "/operator-registry/cmd/opm", "github.com/grpc-ecosystem/grpc-health-probe"},
}

// OperatorSDK is the operator-sdk program and the built-in tests of its scorecard.
var OperatorSDK = Tool{
	Module: "operator-sdk", Tags: containersTags, Cold: "6 min",
	LDFlags:  strip + sdkVersion("Version") + sdkVersion("GitVersion") + sdkVersion("ImageVersion"),
	Packages: []string{operatorFramework + "/operator-sdk/cmd/operator-sdk", operatorFramework + "/operator-sdk/images/scorecard-test"},
}

// sdkVersion is the linker flag that sets one of operator-sdk's version variables.
func sdkVersion(variable string) string {
	return " -X " + operatorFramework + "/operator-sdk/internal/version." + variable + "=" + OperatorSDKVersion
}

// GolangciLint and Govulncheck are what `make verify` runs.
var (
	GolangciLint = Tool{
		Module: "golangci-lint", LDFlags: strip, Cold: "2 min",
		Packages: []string{"github.com/golangci/golangci-lint/v2/cmd/golangci-lint"},
	}
	Govulncheck = Tool{
		Module: "govulncheck", LDFlags: strip, Cold: "20 s",
		Packages: []string{"golang.org/x/vuln/cmd/govulncheck"},
	}
)

// Tools lists them all.
func Tools() []Tool {
	return []Tool{Kube, CoreDNS, Pause, OLM, OPM, OperatorSDK, GolangciLint, Govulncheck}
}

// Programs lists the names that the tool can be called by.
func (t Tool) Programs() []string {
	var names []string
	for _, pkg := range t.Packages {
		if pkg == "." {
			names = append(names, t.Module)
			continue
		}
		names = append(names, pkg[strings.LastIndexByte(pkg, '/')+1:])
	}
	return append(names, t.Links...)
}

// Find returns the tool that holds the named program.
func Find(program string) (Tool, error) {
	var known []string
	for _, t := range Tools() {
		if slices.Contains(t.Programs(), program) {
			return t, nil
		}
		known = append(known, t.Programs()...)
	}
	slices.Sort(known)
	return Tool{}, fmt.Errorf("unknown tool %q: known are %s", program, strings.Join(known, ", "))
}
