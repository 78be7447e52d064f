package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ApplicationSpec is the desired state of an Application.
//
// +kubebuilder:validation:XValidation:rule="!has(self.caches) || size(self.caches) == 0 || !has(self.env) || !self.env.exists(e, e.name == 'MEMCACHED_SERVERS' || e.name == 'SERVICE_BINDING_ROOT')",message="env must not set MEMCACHED_SERVERS or SERVICE_BINDING_ROOT when caches are listed, because the operator sets them: remove them from env, or remove caches"
type ApplicationSpec struct {
	// Image is the container image. It must serve TCP connections on spec.port. It runs under the restricted pod
	// security standard, so not as root, unless podSecurityContext or securityContext allows it.
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:XValidation:rule="!self.matches('[[:space:]]')",message="image must not contain spaces or line breaks: remove them (for example docker.io/library/nginx:1.29)"
	Image string `json:"image"`

	// Replicas is the number of pods, at most 1000. 0 stops all pods and keeps the object. With 2 or more, a
	// PodDisruptionBudget lets only one pod be evicted at a time. Default: 1.
	//
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=0
	Replicas *int32 `json:"replicas,omitempty"`

	// Port is the TCP port that the application listens on, and the port of its Service. Range: 1 to 65535. Default:
	// 8080.
	//
	// +optional
	// +kubebuilder:default=8080
	// +kubebuilder:validation:XValidation:rule="self >= 1 && self <= 65535",message="port must be a TCP port: choose a number from 1 to 65535"
	Port int32 `json:"port,omitempty"`

	// Env lists environment variables of the application. Names must be unique.
	//
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=256
	// +kubebuilder:validation:XValidation:rule="self.all(e, self.exists_one(other, other.name == e.name))",message="env must have each name once: remove one of the two, or rename it"
	Env []EnvVar `json:"env,omitempty"`

	// Resources are the resource requests and limits of each pod.
	//
	// +optional
	Resources corev1.ResourceRequirements `json:"resources,omitzero"`

	// PodSecurityContext overrides, field by field, the defaults of the restricted pod security standard: runAsNonRoot
	// true, seccompProfile RuntimeDefault. The pods must meet the baseline standard, unless the administrator of the
	// operator has chosen another one.
	//
	// +optional
	PodSecurityContext *corev1.PodSecurityContext `json:"podSecurityContext,omitempty"`

	// SecurityContext overrides, field by field, the defaults of the restricted pod security standard:
	// allowPrivilegeEscalation false, capabilities drop ALL. The same limit as for podSecurityContext applies.
	//
	// +optional
	SecurityContext *corev1.SecurityContext `json:"securityContext,omitempty"`

	// Ingress makes the application reachable from outside the cluster. Default: no Ingress.
	//
	// +optional
	Ingress *IngressSpec `json:"ingress,omitempty"`

	// Caches lists Memcacheds of the same namespace that the application uses. The pods find the addresses in the
	// environment variable MEMCACHED_SERVERS ("host:port,host:port", in this order) and in one directory per cache,
	// /bindings/<name>, as https://servicebinding.io specifies. A cache can be created or deleted at any time without a
	// restart of the pods.
	//
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:XValidation:rule="self.all(c, self.exists_one(other, other.name == c.name))",message="caches must have each name once: remove one of the two"
	Caches []CacheReference `json:"caches,omitempty"`
}

// EnvVar is an environment variable of a container. It differs from the type of a pod in that the length of the name is
// limited, which the CRD rule that compares names needs.
//
// +kubebuilder:validation:XValidation:rule="!has(self.valueFrom) || !has(self.value) || size(self.value) == 0",message="a variable must have either value or valueFrom: remove one of the two"
type EnvVar struct {
	// Name is the name of the variable.
	//
	// +required
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self.matches('^[-._a-zA-Z][-._a-zA-Z0-9]*$')",message="name must be the name of an environment variable: use letters, digits, '_', '-' and '.', and no digit first (for example LOG_LEVEL)"
	Name string `json:"name"`

	// Value is the value. $(NAME) expands to the value of a variable that is listed earlier.
	//
	// +optional
	Value string `json:"value,omitempty"`

	// ValueFrom reads the value from another source. It cannot be combined with value.
	//
	// +optional
	ValueFrom *corev1.EnvVarSource `json:"valueFrom,omitempty"`
}

// IngressSpec is the address of the application outside the cluster.
type IngressSpec struct {
	// Host is the DNS name, for example shop.example.com. A leading *. matches all names one level below. An Application
	// gets no Ingress while another one has the same host and path, or one of another namespace has a host and path that
	// overlap with them. Whoever had them first keeps them.
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self.matches('^([*][.])?[a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*$') && !self.matches('^[0-9.]+$')",message="host must be a DNS name: use lower-case letters, digits, '-' and '.', no scheme, port or path and no IP address (for example shop.example.com or *.example.com)"
	Host string `json:"host"`

	// ClassName is the name of the IngressClass, for example nginx. Default: the default class of the cluster.
	//
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*$')",message="className must be the name of an IngressClass: use lower-case letters, digits, '-' and '.'; kubectl get ingressclasses lists those there are"
	ClassName string `json:"className,omitempty"`

	// Path is the prefix of the URL paths that are sent to the application. Default: /.
	//
	// +optional
	// +kubebuilder:default="/"
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:XValidation:rule="self.startsWith('/')",message="path must begin with '/': put one in front (for example /shop)"
	// +kubebuilder:validation:XValidation:rule="!self.matches('//|/[.][.]?(/|$)|%2[fF]|[[:space:]]')",message="path must be a plain URL path: remove '//', '/./', '/../', '%2f' and spaces from it (for example /shop)"
	Path string `json:"path,omitempty"`

	// TLSSecret is the name of a Secret of type kubernetes.io/tls in the same namespace, with the certificate and key
	// of the host. Default: no TLS.
	//
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*$')",message="tlsSecret must be the name of a Secret: use lower-case letters, digits, '-' and '.' (for example shop-tls)"
	TLSSecret string `json:"tlsSecret,omitempty"`
}

// CacheReference refers to a Memcached of the same namespace.
type CacheReference struct {
	// Name is the name of the Memcached.
	//
	// +required
	// +kubebuilder:validation:MaxLength=52
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$')",message="name must be the name of a Memcached of the same namespace: lower-case letters, digits and '-', beginning with a letter (for example my-cache-1); kubectl get memcacheds lists those there are"
	Name string `json:"name"`
}

// ApplicationStatus is the observed state of an Application. Only the operator writes it.
type ApplicationStatus struct {
	// ObservedGeneration is the metadata.generation whose spec the operator last applied to the objects it owns. While
	// it is lower than metadata.generation, the latest spec has not been applied; the conditions say why.
	//
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// Replicas is the number of pods, ready or not.
	//
	// +optional
	Replicas int32 `json:"replicas"`

	// ReadyReplicas is the number of pods that accept connections.
	//
	// +optional
	ReadyReplicas int32 `json:"readyReplicas"`

	// Selector is the label selector of the pods as a string, for kubectl --selector and the scale subresource.
	//
	// +optional
	Selector string `json:"selector,omitempty"`

	// URL is the address of the application: the one outside the cluster if there is an Ingress, otherwise that of the
	// Service.
	//
	// +optional
	URL string `json:"url,omitempty"`

	// IngressClaim is the host and path that belong to the application, and to no other one. Without it, the application
	// has no Ingress.
	//
	// +optional
	IngressClaim *IngressClaim `json:"ingressClaim,omitempty"`

	// Conditions are Ready (the summary), Available, Progressing and Degraded.
	//
	// +optional
	// +listType=map
	// +listMapKey=type
	// +patchStrategy=merge
	// +patchMergeKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty" patchMergeKey:"type" patchStrategy:"merge"`
}

// IngressClaim records that a host and path belong to an application. It stays as long as the spec asks for them.
type IngressClaim struct {
	// Host is the DNS name, as in spec.ingress.host.
	//
	// +required
	Host string `json:"host"`

	// Path is the prefix of the URL paths, as in spec.ingress.path.
	//
	// +required
	Path string `json:"path"`

	// Since is when the application got them.
	//
	// +required
	Since metav1.MicroTime `json:"since"`
}

// Application is a web application: pods of one image behind a Service and, optionally, an Ingress, with access to the
// caches that it lists.
//
// +kubebuilder:object:root=true
// +kubebuilder:metadata:annotations="helm.sh/resource-policy=keep"
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

	// Spec is the desired state.
	//
	// +required
	Spec ApplicationSpec `json:"spec"`

	// Status is the observed state.
	//
	// +optional
	Status ApplicationStatus `json:"status,omitzero"`
}

// GetConditions returns the conditions of the status.
func (a *Application) GetConditions() []metav1.Condition { return a.Status.Conditions }

// ApplicationList is a list of Application objects.
//
// +kubebuilder:object:root=true
type ApplicationList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	// Items are the objects.
	Items []Application `json:"items"`
}
