package inputs

import (
	"cmp"
	"encoding/json"
	"time"

	corev1 "k8s.io/api/core/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	"github.com/example/memcached-operator/operator/api/cache/v1alpha1"
)

// Inputs are everything that the desired state of a cache is computed from.
type Inputs struct {
	// Memcached is the object as the user wrote it. It is never changed.
	Memcached *v1alpha1.Memcached

	// Images are the images that pods can run.
	Images Images

	// ServiceAnnotations are what the administrator allows in spec.service.annotations.
	ServiceAnnotations AllowedAnnotations

	// Features are what the cluster can do.
	Features Features

	// Deployment and StatefulSet run the pods of the cache; nil if there is none. Both exist while the cache moves from one
	// to the other.
	Deployment, StatefulSet *Workload

	// Records are the records of the cache, the newest first.
	Records []Record

	// Pods are the pods of the cache. They are shared with others and must not be changed.
	Pods []corev1.Pod

	// PullPods are the pods that make sure that images are on nodes. RefusedPulls says why such pods cannot be created, by their names.
	PullPods     []corev1.Pod
	RefusedPulls map[string]PullProblem

	// AgentRestarts is true while the operator restarts the agent of a pod that serves clients.
	AgentRestarts bool

	// Certificate and Users are the Secrets that the spec names; nil if they do not exist.
	Certificate, Users *corev1.Secret

	// Now is the time at which a certificate has to be valid.
	Now time.Time
}

// Features are what the cluster can do.
type Features struct {
	// Resize is true where resources of running pods can be changed (the subresource pods/resize).
	Resize bool

	// Shrink is true where that can lower a memory limit (Kubernetes 1.34 and later).
	Shrink bool

	// ServiceMonitors is true where the Prometheus operator's kind ServiceMonitor exists, and its fields are known. Otherwise ServiceMonitors
	// are neither written nor deleted.
	ServiceMonitors bool

	// ScrapeLimits is true where a ServiceMonitor can limit the size of a scrape (the CRDs of Prometheus Operator 0.73 and later).
	ScrapeLimits bool
}

// Workload is what the operator last gave a Deployment or StatefulSet.
type Workload struct {
	// Template is the pod template as it was rendered.
	Template *corev1ac.PodTemplateSpecApplyConfiguration

	// Spec is the part of the cache's spec that the template was made for.
	Spec v1alpha1.MemcachedSpec

	// Record is the newest record, nil if an earlier release gave the template and there is none yet.
	Record *Record

	// Names is the name of the record that the object names, empty if it names none, nil if there is no object.
	Names *string

	// Unrecorded is true when the object has no record of what it was given. Template is then what the API server says was
	// applied, and Spec is not known.
	Unrecorded bool

	// Revision is the revision of a StatefulSet that has its template; empty while the StatefulSet controller has not seen the
	// template.
	Revision string

	// Hash is the annotation applied-hash of a workload that names no record.
	Hash string

	// Records are the records that revisions of a StatefulSet refer to, by the names of the revisions.
	Records map[string]*Record

	// Complete is true when the workload has as many pods as the spec wants, all ready and of its template.
	Complete bool

	// RolledOut is true when Complete is, and the template is that of Record.
	RolledOut bool
}

// NamedRecord returns the name of the record that the object names, empty if it names none, nil if there is no object.
func (w *Workload) NamedRecord() *string {
	if w == nil {
		return nil
	}
	return w.Names
}

// Uses reports whether a revision refers to a record.
func (w *Workload) Uses(record string) bool {
	for _, found := range w.Records {
		if found.Name == record {
			return true
		}
	}
	return false
}

// Images are the images that pods can run.
type Images struct {
	// Memcached maps the versions of memcached that this release of the operator knows to their images.
	Memcached map[string]string

	// Default is the version that caches run unless their spec says otherwise.
	Default string

	// Agent is the image of the agent, empty if it is not known.
	Agent string
}

// VersionOf returns the version of memcached in an image, empty if it is none of those that the operator knows.
func (i Images) VersionOf(image string) string {
	for version, known := range i.Memcached {
		if known == image {
			return version
		}
	}
	return ""
}

// VersionOf returns the version of memcached in an image, empty if it is unknown. A spec knows best that of its own image: the
// template of a Deployment stays as it is if users say only that. recorded is what a template or a pod says. Pods may still run the image of
// an earlier spec, which is in its record.
func (in Inputs) VersionOf(image, recorded string) string {
	said := ""
	if spec := in.Memcached.Spec; image != "" && image == spec.Image {
		said = spec.Version
	}
	return cmp.Or(said, recorded, in.Images.VersionOf(image), in.earlierVersionOf(image))
}

// earlierVersionOf returns the version that the newest earlier spec says of an image, empty if none says one.
func (in Inputs) earlierVersionOf(image string) string {
	for _, record := range in.Records {
		if image != "" && image != in.Memcached.Spec.Image && image == record.Spec.Image && record.Spec.Version != "" {
			return record.Spec.Version
		}
	}
	return ""
}

// The annotations on a Deployment or StatefulSet in which v0.3.0 recorded what it gave the workload. They are read until there is a
// record, and never again: all who may edit a workload can write them.
const (
	releasedTemplateAnnotation = "cache.example.com/applied-template"
	releasedSpecAnnotation     = "cache.example.com/applied-spec"
	releasedHashAnnotation     = "cache.example.com/applied-hash"
)

// releasedRecord reads the annotations of a workload of v0.3.0. It returns nil when there are none, or when they cannot be read.
func releasedRecord(annotations map[string]string) *Workload {
	workload := &Workload{Template: &corev1ac.PodTemplateSpecApplyConfiguration{}}
	if json.Unmarshal([]byte(annotations[releasedTemplateAnnotation]), workload.Template) != nil || workload.Template.Spec == nil ||
		json.Unmarshal([]byte(annotations[releasedSpecAnnotation]), &workload.Spec) != nil {
		return nil
	}
	return workload
}

// AgentRestartAnnotation is on a pod that serves clients while the operator restarts its agent.
const AgentRestartAnnotation = "cache.example.com/agent-restart"
