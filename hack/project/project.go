// Package project holds the names, versions and image references of this project. The bundle, the catalog, the images
// and the manifests in olm/ take them from here, and so do the tests in olm/.
//
// It holds constants and functions that derive names from them. It runs no program and changes no file.
package project

// Version is the version under development, without a leading v. Raise it after a release: a released version is never
// composed again.
const Version = "0.4.2"

const (
	// Package is the name of the OLM package and the prefix of every ClusterServiceVersion.
	Package = "memcached-operator"
	// Namespace is where the manifests of this project install the operator.
	Namespace = "memcached-operator-system"
	// Deployment is the name of the operator's Deployment and of its ServiceAccount.
	Deployment = "memcached-operator-controller-manager"
	// Container is the name of the operator's only container.
	Container = "manager"
	// MetricsService is the name of the Service of the operator's metrics endpoint.
	MetricsService = "memcached-operator-controller-manager-metrics-service"
	// MetricsPort is the TCP port of the metrics endpoint (HTTPS, authenticated).
	MetricsPort = 8443
	// ProbePort is the TCP port of /healthz and /readyz.
	ProbePort = 8081

	// Channels are the catalog channels that a bundle names in its metadata, comma separated.
	Channels = "candidate,fast"
	// DefaultChannel is the channel of a Subscription that names none.
	DefaultChannel = "candidate"

	// Repository is the common prefix of the project's image repositories.
	Repository = "quay.io/example"
	// AgentTag is the build tag of the agent's program, which then lacks HTTP/2: nobody speaks that with it, and it would take memory.
	AgentTag = "nethttpomithttp2"
	// OperatorImage is the repository of the operator, with the agent in the same image.
	OperatorImage = Repository + "/memcached-operator"
	// BundleImage is the repository of the bundles.
	BundleImage = Repository + "/memcached-operator-bundle"
	// CatalogImage is the repository of the catalog.
	CatalogImage = Repository + "/memcached-operator-catalog"
	// ScorecardImage is the repository of the project's own scorecard test.
	ScorecardImage = Repository + "/memcached-operator-scorecard"

	// SourceURL is where the source of the project is published.
	SourceURL = "https://github.com/example/memcached-operator"

	// ScorecardTestImage is the image of the scorecard's built-in tests. Its tag is the version of operator-sdk.
	ScorecardTestImage = "quay.io/operator-framework/scorecard-test:v1.42.2"
	// MinKubeVersion is the oldest Kubernetes that the bundle installs on. Applications use the sleep action of preStop
	// hooks, which is enabled by default since 1.30. The CRDs use CEL rules, which are stable since 1.29.
	MinKubeVersion = "1.30.0"
	// KubeVersion is the newest Kubernetes that the project is tested with, as major.minor.
	KubeVersion = "1.36"
)

// CSVName is the name of the ClusterServiceVersion of a version, for example memcached-operator.v0.1.0.
func CSVName(version string) string { return Package + ".v" + version }

// BundleDir is the directory of the bundle of a version, relative to the root of the checkout.
func BundleDir(version string) string { return "bundles/v" + version }

// OldestUpgradable is the oldest release from which users can upgrade to the version under development in one step. olm/e2e
// walks that upgrade.
const OldestUpgradable = "0.1.0"

// SkipRange is the range of versions with an upgrade to a version in one step, for its catalog entries and for the annotation
// olm.skipRange of its ClusterServiceVersion.
func SkipRange(version string) string { return ">=" + OldestUpgradable + " <" + version }

// CSVFile is the file of the ClusterServiceVersion in a bundle.
const CSVFile = "manifests/" + Package + ".clusterserviceversion.yaml"

// Tagged joins an image repository and the tag of a version, for example quay.io/example/memcached-operator:v0.1.0.
func Tagged(repository, version string) string { return repository + ":v" + version }
