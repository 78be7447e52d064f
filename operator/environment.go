package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/go-logr/logr"
	"github.com/google/go-containerregistry/pkg/name"
	"k8s.io/apimachinery/pkg/types"
)

// imageVariable names the environment variable with the memcached image. Its name tells OLM's tooling that the image
// has to be mirrored for clusters without a network.
const imageVariable = "RELATED_IMAGE_MEMCACHED"

// conditionVariable names the environment variable that OLM sets to the name of the OperatorCondition of this version.
const conditionVariable = "OPERATOR_CONDITION_NAME"

// namespaceFile tells a process in a pod which namespace it runs in.
const namespaceFile = "/var/run/secrets/kubernetes.io/serviceaccount/namespace"

// memcachedImage returns the image that caches run. A tag is accepted, for trying things out, but warned about: what it
// names can change, and then nodes of one cache run different versions.
func memcachedImage(getenv func(string) string, logger logr.Logger) (string, error) {
	const example = "docker.io/library/memcached@sha256:<digest>"
	image := getenv(imageVariable)
	if image == "" {
		return "", fmt.Errorf("the environment variable %s is not set: set it to the memcached image to run, for example %s",
			imageVariable, example)
	}
	if strings.TrimSpace(image) != image {
		return "", fmt.Errorf("the environment variable %s has spaces around the image %q: take them away", imageVariable, image)
	}
	if _, err := name.ParseReference(image); err != nil {
		return "", fmt.Errorf("the environment variable %s names no image: %w; an example is %s", imageVariable, err, example)
	}
	if _, err := name.NewDigest(image); err != nil {
		logger.Info("The memcached image is not named by digest, so nodes may come to run different versions",
			"variable", imageVariable, "image", image)
	}
	return image, nil
}

// operatorCondition names the OperatorCondition that OLM has made for this version of the operator, which is in the
// namespace of the operator. The name is empty when OLM has not installed the operator, or this is not its pod.
func operatorCondition(getenv func(string) string, namespaceFile string, logger logr.Logger) types.NamespacedName {
	condition := getenv(conditionVariable)
	if condition == "" {
		logger.V(1).Info("Not installed by OLM, so nobody is told whether the operator can be upgraded")
		return types.NamespacedName{}
	}
	namespace, err := os.ReadFile(namespaceFile)
	if err != nil || len(namespace) == 0 {
		logger.Info("OLM is not told whether the operator can be upgraded: that works only in a pod, whose namespace holds the OperatorCondition",
			"variable", conditionVariable, "operatorCondition", condition)
		return types.NamespacedName{}
	}
	return types.NamespacedName{Namespace: strings.TrimSpace(string(namespace)), Name: condition}
}
