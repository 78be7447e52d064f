// Package build builds the programs of hack/tools from their Go modules, once per version. Programs of Debian are not
// built: see package debian.
package build

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// Tool is one Go module of hack/tools.
type Tool struct {
	// Module is the folder below hack/tools.
	Module string
	// Packages are the packages to build. The last element of each is the name of its program.
	Packages []string
	// Links are more names of the program in the module's folder, which acts according to the name that it is called by.
	Links []string
	// Tags and LDFlags are flags of go build.
	Tags    string
	LDFlags string
	// Cold is how long a build takes on two cores with an empty build cache.
	Cold string
}

// Versions that go.mod has too, for code that needs them.
const (
	// KubernetesVersion is the version that Kubernetes' programs report.
	KubernetesVersion = "v1.36.3"
	// OLMVersion is the version of the Operator Lifecycle Manager.
	OLMVersion = "v0.46.0"
	// OLMModule is its Go module, which also holds its chart.
	OLMModule = operatorFramework + "/operator-lifecycle-manager"
	// OLMv1Module is the Go module of OLM v1, which also holds its CRDs.
	OLMv1Module = operatorFramework + "/operator-controller"
	// OperatorSDKVersion is the version of operator-sdk.
	OperatorSDKVersion = "v1.42.2"
)

const (
	operatorFramework = "github.com/operator-framework"
	strip             = "-s -w"
	// containersTags leave out the code that needs C libraries: gpgme and btrfs.
	containersTags = "containers_image_openpgp,exclude_graphdriver_btrfs"
)

// kubeLDFlags set the version. Without them OLM reads v0.0.0, which fails its check of minKubeVersion.
var kubeLDFlags = strip +
	" -X k8s.io/component-base/version.gitVersion=" + KubernetesVersion +
	" -X k8s.io/component-base/version.gitMajor=1 -X k8s.io/component-base/version.gitMinor=36" +
	" -X k8s.io/client-go/pkg/version.gitVersion=" + KubernetesVersion

// Kube is one binary with every server of Kubernetes, and etcd. kubectl is apart, because it is started often: 0.08 s of CPU are enough for
// "kubectl get", and in one binary with the servers, whose packages are initialised each time, it takes 0.14 s.
var Kube = Tool{
	Module: "kube", Packages: []string{".", "k8s.io/kubernetes/cmd/kubectl"}, LDFlags: kubeLDFlags, Cold: "6 min",
	Links: []string{"etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kube-proxy", "kubelet"},
}

// CoreDNS is the DNS server.
var CoreDNS = Tool{Module: "coredns", Packages: []string{"."}, LDFlags: strip, Cold: "1 min"}

// Pause is the program that keeps a pod's namespaces.
var Pause = Tool{Module: "pause", Packages: []string{"."}, LDFlags: strip, Cold: "1 s"}

// OLM holds the programs of OLM's image.
var OLM = Tool{
	Module: "olm", Tags: containersTags, LDFlags: strip, Cold: "4 min",
	Packages: []string{
		OLMModule + "/cmd/olm", OLMModule + "/cmd/catalog", OLMModule + "/cmd/package-server",
		OLMModule + "/cmd/copy-content", OLMModule + "/util/cpb",
	},
}

// OLMv1 holds the two programs of OLM v1.
var OLMv1 = Tool{
	Module: "olmv1", Tags: containersTags, LDFlags: strip, Cold: "3 min",
	Packages: []string{OLMv1Module + "/cmd/catalogd", OLMv1Module + "/cmd/operator-controller"},
}

// OLMv1Resolver is a program of this project with the resolver of OLM v1, for tests.
var OLMv1Resolver = Tool{Module: "olmv1", Tags: containersTags, LDFlags: strip, Cold: "1 min", Packages: []string{"./olmv1-resolver"}}

// NetworkPolicies is the network policy engine.
var NetworkPolicies = Tool{Module: "network-policies", Packages: []string{"."}, LDFlags: strip, Cold: "1 min"}

// IngressController serves Ingresses, for tests.
var IngressController = Tool{Module: "ingress-controller", Packages: []string{"."}, LDFlags: strip, Cold: "3 min"}

// OPM holds the catalog server and the probe of its pods.
var OPM = Tool{
	Module: "opm", Tags: containersTags, LDFlags: strip, Cold: "2 min",
	Packages: []string{operatorFramework + "/operator-registry/cmd/opm", "github.com/grpc-ecosystem/grpc-health-probe"},
}

// OperatorSDK holds operator-sdk and the built-in tests of its scorecard.
var OperatorSDK = Tool{
	Module: "operator-sdk", Tags: containersTags, Cold: "6 min",
	LDFlags:  strip + sdkVersion("Version") + sdkVersion("GitVersion") + sdkVersion("ImageVersion"),
	Packages: []string{operatorFramework + "/operator-sdk/cmd/operator-sdk", operatorFramework + "/operator-sdk/images/scorecard-test"},
}

// sdkVersion is the linker flag that sets one of operator-sdk's version variables.
func sdkVersion(variable string) string {
	return " -X " + operatorFramework + "/operator-sdk/internal/version." + variable + "=" + OperatorSDKVersion
}

// Tools lists all of them, with those of `make verify`.
func Tools() []Tool {
	return []Tool{Kube, CoreDNS, Pause, OLM, OLMv1, OLMv1Resolver, NetworkPolicies, IngressController, OPM, OperatorSDK, {
		Module: "golangci-lint", LDFlags: strip, Cold: "2 min",
		Packages: []string{"github.com/golangci/golangci-lint/v2/cmd/golangci-lint"},
	}, {
		Module: "govulncheck", LDFlags: strip, Cold: "20 s",
		Packages: []string{"golang.org/x/vuln/cmd/govulncheck"},
	}}
}

// Programs lists the names of the tool's programs.
func (t Tool) Programs() []string {
	var names []string
	for _, pkg := range t.Packages {
		if pkg == "." {
			pkg = t.Module
		}
		names = append(names, path.Base(pkg))
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
