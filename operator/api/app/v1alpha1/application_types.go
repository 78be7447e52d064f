package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ApplicationSpec is what the user wants.
//
// +kubebuilder:validation:XValidation:rule="!has(self.caches) || size(self.caches) == 0 || !has(self.env) || !self.env.exists(e, e.name == 'MEMCACHED_SERVERS' || e.name == 'SERVICE_BINDING_ROOT')",message="env must not set MEMCACHED_SERVERS or SERVICE_BINDING_ROOT when caches are listed, because the operator sets them: remove them from env, or remove caches"
type ApplicationSpec struct {
	// Image is the container image to run. It has to serve TCP connections on the port, and runs as the restricted pod
	// security standard asks: not as root, unless a security context says otherwise.
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:XValidation:rule="!self.matches('[[:space:]]')",message="image must not contain spaces or line breaks: remove them (for example docker.io/library/nginx:1.29)"
	Image string `json:"image"`

	// Replicas is the number of pods. 0 stops them all and keeps the object. From 2 on, the pods are protected against
	// being evicted more than one at a time.
	//
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=0
	Replicas *int32 `json:"replicas,omitempty"`

	// Port is the TCP port that the application listens on, and the port of its Service.
	//
	// +optional
	// +kubebuilder:default=8080
	// +kubebuilder:validation:XValidation:rule="self >= 1 && self <= 65535",message="port must be a TCP port: choose a number from 1 to 65535"
	Port int32 `json:"port,omitempty"`

	// Env are the environment variables of the application, each name once.
	//
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=256
	// +kubebuilder:validation:XValidation:rule="self.all(e, self.exists_one(other, other.name == e.name))",message="env must have each name once: remove one of the two, or rename it"
	Env []EnvVar `json:"env,omitempty"`

	// Resources are what each pod requests of its machine, and may use at most.
	//
	// +optional
	Resources corev1.ResourceRequirements `json:"resources,omitzero"`

	// PodSecurityContext is merged, field by field, over what the restricted pod security standard asks of a pod:
	// runAsNonRoot true, seccompProfile RuntimeDefault.
	//
	// +optional
	PodSecurityContext *corev1.PodSecurityContext `json:"podSecurityContext,omitempty"`

	// SecurityContext is merged, field by field, over what the restricted pod security standard asks of a container:
	// allowPrivilegeEscalation false, capabilities drop ALL.
	//
	// +optional
	SecurityContext *corev1.SecurityContext `json:"securityContext,omitempty"`

	// Ingress makes the application reachable from outside of the cluster. Without it, there is no Ingress.
	//
	// +optional
	Ingress *IngressSpec `json:"ingress,omitempty"`

	// Caches are the Memcacheds of the same namespace that the application uses. Where they listen is in the environment
	// variable MEMCACHED_SERVERS ("host:port,host:port", in this order), and in the directory /bindings/<name> per cache
	// as https://servicebinding.io describes it. A cache may be created after the application, and come and go without
	// a restart of its pods.
	//
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:XValidation:rule="self.all(c, self.exists_one(other, other.name == c.name))",message="caches must have each name once: remove one of the two"
	Caches []CacheReference `json:"caches,omitempty"`
}

// EnvVar is an environment variable of a container, as in a pod. It is a type of its own because that of a pod leaves the
// length of a name open, and then names cannot be compared with each other by a rule of the CRD.
//
// +kubebuilder:validation:XValidation:rule="!has(self.valueFrom) || !has(self.value) || size(self.value) == 0",message="a variable must have either value or valueFrom: remove one of the two"
type EnvVar struct {
	// Name is the name of the variable.
	//
	// +required
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self.matches('^[-._a-zA-Z][-._a-zA-Z0-9]*$')",message="name must be the name of an environment variable: use letters, digits, '_', '-' and '.', and no digit first (for example LOG_LEVEL)"
	Name string `json:"name"`

	// Value is the value. $(OTHER) in it stands for the value of another variable that is set before this one.
	//
	// +optional
	Value string `json:"value,omitempty"`

	// ValueFrom takes the value from somewhere else, and excludes a value.
	//
	// +optional
	ValueFrom *corev1.EnvVarSource `json:"valueFrom,omitempty"`
}

// IngressSpec says under which address the application is reachable from outside of the cluster.
type IngressSpec struct {
	// Host is the DNS name, for example shop.example.com. Its first label may be * for all names one level below. Of two
	// Applications with the same host and path, the older one has it.
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self.matches('^([*][.])?[a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*$') && !self.matches('^[0-9.]+$')",message="host must be a DNS name: use lower-case letters, digits, '-' and '.', no scheme, port or path and no IP address (for example shop.example.com or *.example.com)"
	Host string `json:"host"`

	// ClassName is the name of the IngressClass, for example nginx. Without it, the cluster's default class serves the
	// application.
	//
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*$')",message="className must be the name of an IngressClass: use lower-case letters, digits, '-' and '.'; kubectl get ingressclasses lists those there are"
	ClassName string `json:"className,omitempty"`

	// Path is the beginning of the URL paths that go to the application.
	//
	// +optional
	// +kubebuilder:default="/"
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:XValidation:rule="self.startsWith('/')",message="path must begin with '/': put one in front (for example /shop)"
	// +kubebuilder:validation:XValidation:rule="!self.matches('//|/[.][.]?(/|$)|%2[fF]|[[:space:]]')",message="path must be a plain URL path: remove '//', '/./', '/../', '%2f' and spaces from it (for example /shop)"
	Path string `json:"path,omitempty"`

	// TLSSecret is the name of the Secret of the same namespace with the certificate of the host and its key, of the type
	// kubernetes.io/tls. Without it, the application is served over HTTP.
	//
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*$')",message="tlsSecret must be the name of a Secret: use lower-case letters, digits, '-' and '.' (for example shop-tls)"
	TLSSecret string `json:"tlsSecret,omitempty"`
}

// CacheReference names a Memcached of the same namespace.
type CacheReference struct {
	// Name is the name of the Memcached.
	//
	// +required
	// +kubebuilder:validation:MaxLength=52
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$')",message="name must be the name of a Memcached of the same namespace: lower-case letters, digits and '-', beginning with a letter (for example my-cache-1); kubectl get memcacheds lists those there are"
	Name string `json:"name"`
}

// ApplicationStatus is what the operator has observed. It is written by the operator alone.
type ApplicationStatus struct {
	// ObservedGeneration is the metadata.generation whose spec the operator last carried over into the objects it owns.
	// While it is lower than metadata.generation, the newest spec has not been looked at yet or could not be carried
	// over: the conditions say why.
	//
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// Replicas is the number of pods that exist, ready or not.
	//
	// +optional
	Replicas int32 `json:"replicas"`

	// ReadyReplicas is the number of pods that accept connections.
	//
	// +optional
	ReadyReplicas int32 `json:"readyReplicas"`

	// Selector selects the pods, in the form that kubectl's --selector and the HorizontalPodAutoscaler take.
	//
	// +optional
	Selector string `json:"selector,omitempty"`

	// URL is where the application is reached: from outside of the cluster if it has an Ingress, otherwise from inside.
	//
	// +optional
	URL string `json:"url,omitempty"`

	// Conditions are Ready (the summary), Available, Progressing and Degraded.
	//
	// +optional
	// +listType=map
	// +listMapKey=type
	// +patchStrategy=merge
	// +patchMergeKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty" patchMergeKey:"type" patchStrategy:"merge"`
}

// Application is a web application: a number of pods of one image behind a Service and, if wanted, an Ingress, bound to
// the caches that it names.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=applications,singular=application,shortName=app,categories=all,scope=Namespaced
// +kubebuilder:subresource:status
// +kubebuilder:subresource:scale:specpath=.spec.replicas,statuspath=.status.replicas,selectorpath=.status.selector
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`,description="True when the application is exactly as the spec asks"
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`,description="Why it is ready or not"
// +kubebuilder:printcolumn:name="URL",type=string,JSONPath=`.status.url`,description="Where it is reached"
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Replicas",type=integer,priority=1,JSONPath=`.spec.replicas`,description="Pods wanted"
// +kubebuilder:printcolumn:name="Ready-Replicas",type=integer,priority=1,JSONPath=`.status.readyReplicas`,description="Pods that accept connections"
// +kubebuilder:printcolumn:name="Message",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Ready")].message`,description="The reason in words"
// +kubebuilder:validation:XValidation:rule="size(self.metadata.name) <= 52",message="metadata.name is too long: choose a name of at most 52 characters, because Kubernetes adds a hash of up to 11 to it in pod labels, which hold 63"
// +kubebuilder:validation:XValidation:rule="self.metadata.name.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$')",message="metadata.name must be usable as the name of a Service: choose a name of lower-case letters, digits and '-' that begins with a letter and does not end with '-' (for example my-shop-1)"
type Application struct {
	metav1.TypeMeta `json:",inline"`

	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is what the user wants.
	//
	// +required
	Spec ApplicationSpec `json:"spec"`

	// Status is what the operator has observed.
	//
	// +optional
	Status ApplicationStatus `json:"status,omitzero"`
}

// ApplicationList is a list of Application objects.
//
// +kubebuilder:object:root=true
type ApplicationList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	// Items are the objects.
	Items []Application `json:"items"`
}
