// Package project holds the names and pins that the packaging of the operator agrees on: the bundle, the images,
// the catalog and the manifests in olm/ all take them from here.
//
// It holds constants and the functions that join them, nothing that reads a file or runs a program.
package project

// Version is the version under development: what hack/bundle composes when it is not told another. It is raised
// by hand after a release; a released version is never composed again (see hack/release).
const Version = "0.3.1"

const (
	// Package is the name of the OLM package and the prefix of every ClusterServiceVersion.
	Package = "memcached-operator"
	// Namespace is where the manifests of this project install the operator.
	Namespace = "memcached-operator-system"
	// Deployment names the operator's Deployment and, as OLM's tutorials do, its ServiceAccount.
	Deployment = "memcached-operator-controller-manager"
	// Container is the name of the operator's only container.
	Container = "manager"
	// MetricsService names the Service in front of the operator's metrics endpoint.
	MetricsService = "memcached-operator-controller-manager-metrics-service"
	// MetricsPort is the TCP port of the metrics endpoint (HTTPS, authenticated).
	MetricsPort = 8443
	// ProbePort is the TCP port of /healthz and /readyz.
	ProbePort = 8081

	// Channels are the catalog channels that a bundle names in its metadata, comma separated.
	Channels = "candidate,fast"
	// DefaultChannel is the channel that a Subscription without one follows.
	DefaultChannel = "candidate"

	// Repository is the prefix that all images of the project share.
	Repository = "quay.io/example"
	// OperatorImage is the repository of the manager.
	OperatorImage = Repository + "/memcached-operator"
	// BundleImage is the repository of the bundle images.
	BundleImage = Repository + "/memcached-operator-bundle"
	// CatalogImage is the repository of the catalog.
	CatalogImage = Repository + "/memcached-operator-catalog"
	// ScorecardImage is the repository of the project's own scorecard test.
	ScorecardImage = Repository + "/memcached-operator-scorecard"

	// SourceURL is where the source of the project is published.
	SourceURL = "https://github.com/example/memcached-operator"

	// ScorecardTestImage is the image with the scorecard's built-in tests; its tag is operator-sdk's version.
	ScorecardTestImage = "quay.io/operator-framework/scorecard-test:v1.42.2"
	// MinKubeVersion is the oldest Kubernetes the bundle installs on. Applications let a pod sleep before it stops, a
	// hook that is on by default since 1.30; the CRDs' validation rules (CEL) are generally available since 1.29.
	MinKubeVersion = "1.30.0"
	// KubeVersion is the newest Kubernetes that the project is tested with, as major.minor.
	KubeVersion = "1.36"
)

// CSVName is the name of the ClusterServiceVersion of a version, for example memcached-operator.v0.1.0.
func CSVName(version string) string { return Package + ".v" + version }

// BundleDir is the directory of a version's bundle, relative to the root of the checkout.
func BundleDir(version string) string { return "bundles/v" + version }

// Tagged joins an image repository and the tag of a version, for example quay.io/example/memcached-operator:v0.1.0.
func Tagged(repository, version string) string { return repository + ":v" + version }
