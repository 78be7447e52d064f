package inject

import (
	"fmt"
	"net/http"
	"path"
	"regexp"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/endpoints/request"
)

// Call names a request so that the same request of another run has the same name. Its namespace is not part of it.
type Call struct {
	// Verb is that of Kubernetes' authorization, for example "patch" or "watch", with the prefix "dry-run-" if nothing is to be stored.
	Verb string

	// Object is the resource, the name of the object and the subresource, for example "deployments/cache" or "memcacheds/cache/status".
	Object string

	// Number counts equal requests, from 1.
	Number int
}

// String returns for example "patch deployments/cache #1".
func (c Call) String() string { return fmt.Sprintf("%s %s #%d", c.Verb, c.Object, c.Number) }

// Resource returns the plural name of the resource.
func (c Call) Resource() string {
	resource, _, _ := strings.Cut(c.Object, "/")
	return resource
}

// Streams tells whether the answer is a stream of events.
func (c Call) Streams() bool { return c.Verb == "watch" }

// Writes tells whether the request may change something.
func (c Call) Writes() bool {
	return !strings.HasPrefix(c.Verb, dryRun) && c.Verb != "get" && c.Verb != "list" && c.Verb != "watch"
}

// reads tells whether the request is one of those that fill caches.
func (c Call) reads() bool { return c.Verb == "list" || c.Verb == "watch" }

const dryRun = "dry-run-"

// ParseCall is the reverse of String.
func ParseCall(text string) (Call, error) {
	verb, rest, _ := strings.Cut(text, " ")
	object, number, found := strings.Cut(rest, " #")
	n, err := strconv.Atoi(number)
	if !found || err != nil || n < 1 {
		return Call{}, fmt.Errorf("%q is no call: write one like \"patch deployments/cache #1\"", text)
	}
	return Call{Verb: verb, Object: object, Number: n}, nil
}

var resolver = &request.RequestInfoFactory{APIPrefixes: sets.NewString("api", "apis"), GrouplessAPIPrefixes: sets.NewString("api")}

// randomName matches the names of the pods of a Deployment, which differ between runs.
var randomName = regexp.MustCompile(`^(.*-[a-f0-9]{6,10})-[a-z0-9]{5}$`)

// callOf returns the call that a request is, without its number, and the namespace. It returns false for discovery, and for events, which
// are no part of any object's state.
func callOf(r *http.Request) (_ Call, namespace string, _ bool) {
	info, err := resolver.NewRequestInfo(r)
	if err != nil || !info.IsResourceRequest || info.Resource == "events" {
		return Call{}, "", false
	}
	name := info.Name
	if info.Resource == "pods" {
		name = randomName.ReplaceAllString(name, "$1-*")
	}
	call := Call{Verb: info.Verb, Object: path.Join(info.Resource, name, info.Subresource)}
	if r.URL.Query().Has("dryRun") {
		call.Verb = dryRun + call.Verb
	}
	return call, info.Namespace, true
}
