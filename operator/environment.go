package main

import (
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/blang/semver/v4"
	"github.com/go-logr/logr"
	"github.com/google/go-containerregistry/pkg/name"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/pod-security-admission/api"

	"github.com/example/memcached-operator/operator/memcached/inputs"
)

// The environment variables with images. The prefix of the first tells OLM's tooling that the images have to be mirrored
// for clusters without a network.
const (
	// imagePrefix begins the variables that each name the image of a version of memcached. The version follows, with
	// underscores.
	imagePrefix = "RELATED_IMAGE_MEMCACHED_"

	// defaultVariable names the version that caches run unless their spec says otherwise.
	defaultVariable = "MEMCACHED_VERSION"

	// agentVariable names the image of the agent, which is the operator's own image.
	agentVariable = "AGENT_IMAGE"
)

// conditionVariable names the environment variable that OLM sets to the name of the OperatorCondition of this version.
const conditionVariable = "OPERATOR_CONDITION_NAME"

// The environment variables with which an administrator limits users. A Subscription sets them in spec.config.env.
const (
	// podSecurityVariable is the level of the pod security standards that the pods of Applications have to meet.
	podSecurityVariable = "APPLICATION_POD_SECURITY"

	// annotationsVariable lists what users may write into spec.service.annotations of Memcacheds.
	annotationsVariable = "MEMCACHED_SERVICE_ANNOTATIONS"
)

// namespaceFile tells a process in a pod which namespace it runs in.
const namespaceFile = "/var/run/secrets/kubernetes.io/serviceaccount/namespace"

// environment is what the process was started with, by name.
type environment map[string]string

// readEnvironment takes variables in the form name=value, as os.Environ returns them. Of equal names the last one counts,
// as it does for os/exec.
func readEnvironment(variables []string) environment {
	all := environment{}
	for _, variable := range variables {
		name, value, _ := strings.Cut(variable, "=")
		all[name] = value
	}
	return all
}

// images returns the images that caches run. The error names the variable that is missing or wrong. An image of memcached
// may be named by tag, for trying things out, but a warning is logged: a tag can be moved, and then pods of one cache run
// different versions.
func (e environment) images(logger logr.Logger) (inputs.Images, error) {
	images := inputs.Images{Memcached: map[string]string{}, Agent: e[agentVariable]}
	var versions []semver.Version
	for _, variable := range slices.Sorted(maps.Keys(e)) {
		suffix, found := strings.CutPrefix(variable, imagePrefix)
		if !found {
			continue
		}
		if err := e.checkImage(variable, "docker.io/library/memcached@sha256:<digest>"); err != nil {
			return inputs.Images{}, err
		}
		version, err := versionOf(suffix)
		if err != nil {
			return inputs.Images{}, fmt.Errorf("the environment variable %s %w", variable, err)
		}
		if _, err := name.NewDigest(e[variable]); err != nil {
			logger.Info("The memcached image is not named by digest, so pods of one cache may run different versions",
				"variable", variable, "image", e[variable])
		}
		images.Memcached[version.String()] = e[variable]
		versions = append(versions, version)
	}
	if _, set := e[agentVariable]; set {
		if err := e.checkImage(agentVariable, "quay.io/example/memcached-operator@sha256:<digest>"); err != nil {
			return inputs.Images{}, err
		}
	}
	var err error
	images.Default, err = e.defaultVersion(versions)
	return images, err
}

// versionOf reads a version of memcached from the end of a variable's name.
func versionOf(suffix string) (semver.Version, error) {
	version, err := semver.Parse(strings.ReplaceAll(suffix, "_", "."))
	if err != nil || len(version.Pre)+len(version.Build) > 0 {
		return semver.Version{}, fmt.Errorf("does not end in a version of memcached: rename it (for example %s1_6_45)", imagePrefix)
	}
	return version, nil
}

// checkImage says why the value of a variable cannot be an image.
func (e environment) checkImage(variable, example string) error {
	image := e[variable]
	if strings.ContainsFunc(variable+image, unicode.IsControl) {
		return fmt.Errorf("the environment variable %q is %q: take the control characters away", variable, image)
	}
	if image == "" {
		return fmt.Errorf("the environment variable %s is empty: set it to an image, for example %s, or remove it", variable, example)
	}
	if strings.TrimSpace(image) != image {
		return fmt.Errorf("the environment variable %s has spaces around the image %q: take them away", variable, image)
	}
	if _, err := name.ParseReference(image); err != nil {
		return fmt.Errorf("the environment variable %s names no image: %w; an example is %s", variable, err, example)
	}
	return nil
}

// defaultVersion returns the version that caches run unless their spec says otherwise: the one that is set, else the
// highest.
func (e environment) defaultVersion(known []semver.Version) (string, error) {
	if len(known) == 0 {
		return "", fmt.Errorf("no environment variable names an image of memcached: set %s1_6_45 to the image of memcached 1.6.45, "+
			"for example docker.io/library/memcached@sha256:<digest>, and other versions likewise", imagePrefix)
	}
	semver.Sort(known)
	wanted, set := e[defaultVariable]
	if !set {
		return known[len(known)-1].String(), nil
	}
	var names []string
	for _, version := range known {
		if version.String() == wanted {
			return wanted, nil
		}
		names = append(names, version.String())
	}
	return "", fmt.Errorf("the environment variable %s is %q, but there is an image only of %s: set it to one of these, or set %s... for it",
		defaultVariable, wanted, strings.Join(names, ", "), imagePrefix)
}

// podSecurity returns the level of the pod security standards that the pods of Applications have to meet.
func (e environment) podSecurity() (api.Level, error) {
	value, set := e[podSecurityVariable]
	if !set {
		return api.LevelBaseline, nil
	}
	level, err := api.ParseLevel(value)
	if err != nil {
		return "", fmt.Errorf("the environment variable %s is %q: set it to privileged, baseline or restricted, or remove it for baseline",
			podSecurityVariable, value)
	}
	return level, nil
}

// annotationEntry is an entry of annotationsVariable.
var annotationEntry = regexp.MustCompile(`^([a-zA-Z0-9][-._a-zA-Z0-9]*/?[-._a-zA-Z0-9]*)?[*]?$`)

// serviceAnnotations returns what users may write into spec.service.annotations of Memcacheds.
func (e environment) serviceAnnotations() (inputs.AllowedAnnotations, error) {
	value, set := e[annotationsVariable]
	if !set {
		return nil, nil // Documented: everything is allowed.
	}
	allowed := inputs.AllowedAnnotations{}
	for entry := range strings.SplitSeq(value, ",") {
		if entry = strings.TrimSpace(entry); entry == "" {
			continue
		}
		if !annotationEntry.MatchString(entry) {
			return nil, fmt.Errorf("the environment variable %s has the entry %q, which is no key of an annotation: list keys, and beginnings of keys "+
				"that end in / or *, with commas between them (for example service.beta.kubernetes.io/,example.com/pool)", annotationsVariable, entry)
		}
		allowed = append(allowed, entry)
	}
	return allowed, nil
}

// operatorCondition names the OperatorCondition that OLM has made for this version of the operator, which is in the
// namespace of the operator. The name is empty when OLM has not installed the operator, or this is not its pod.
func (e environment) operatorCondition(namespaceFile string, logger logr.Logger) types.NamespacedName {
	condition := e[conditionVariable]
	if condition == "" {
		logger.V(1).Info("Not installed by OLM, so upgradeability is not reported")
		return types.NamespacedName{}
	}
	namespace := namespaceOf(namespaceFile)
	if namespace == "" {
		logger.Info("Upgradeability is not reported to OLM: that works only in a pod, whose namespace holds the OperatorCondition",
			"variable", conditionVariable, "operatorCondition", condition)
		return types.NamespacedName{}
	}
	return types.NamespacedName{Namespace: namespace, Name: condition}
}

// namespaceOf reads the namespace of the operator's pod, empty outside a pod.
func namespaceOf(file string) string {
	namespace, err := os.ReadFile(file)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(namespace))
}
