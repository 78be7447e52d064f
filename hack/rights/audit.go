package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"

	"github.com/blang/semver/v4"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"

	"github.com/example/memcached-operator/hack/internal/bundle"
	"github.com/example/memcached-operator/hack/project"
)

// used returns the rights that the operator used according to audit logs, and the requests that the API server denied it or the account
// with which OLM v1 installs it, both sorted and each once. Requests of older releases do not count.
func used(files []string) (rights []right, denied []string, err error) {
	for _, file := range files {
		found, refused, err := usedIn(file)
		if err != nil {
			return nil, nil, err
		}
		rights, denied = append(rights, found...), append(denied, refused...)
	}
	slices.Sort(denied)
	return sorted(rights), slices.Compact(denied), nil
}

func usedIn(file string) (rights []right, denied []string, err error) {
	log, err := os.Open(file)
	if err != nil {
		return nil, nil, err
	}
	defer log.Close()
	for decoder := json.NewDecoder(log); ; {
		var event auditv1.Event
		if err := decoder.Decode(&event); errors.Is(err, io.EOF) {
			return rights, denied, nil
		} else if err != nil {
			return nil, nil, fmt.Errorf("%s is no audit log in JSON: %w", file, err)
		}
		if isInstaller(event) && refusedByAuthorizer(event) {
			denied = append(denied, event.User.Username+" "+event.Verb+" "+event.RequestURI)
		}
		namespace, ours := operatorNamespace(event)
		if !ours || event.ObjectRef == nil || event.ObjectRef.Resource == "operatorconditions" { // OLM grants these.
			continue
		}
		use := rightOf(event.ObjectRef, event.Verb, namespace)
		if event.ResponseStatus != nil && event.ResponseStatus.Code == http.StatusForbidden && refusedByAuthorizer(event) {
			denied = append(denied, use.String())
			continue
		}
		rights = append(rights, use)
	}
}

// refusedByAuthorizer reports whether no rule allows the request. Quotas and admission policies answer 403 as well.
func refusedByAuthorizer(event auditv1.Event) bool {
	return event.Annotations["authorization.k8s.io/decision"] == "forbid"
}

// isInstaller reports whether OLM v1 sent a request to install the operator.
func isInstaller(event auditv1.Event) bool {
	return event.User.Username == "system:serviceaccount:"+project.Namespace+":"+bundle.InstallerName
}

// operatorNamespace returns the namespace of the operator that sent a request, false if it comes from something else or from an older
// release.
func operatorNamespace(event auditv1.Event) (string, bool) {
	account, found := strings.CutPrefix(event.User.Username, "system:serviceaccount:")
	namespace, name, _ := strings.Cut(account, ":")
	return namespace, found && name == project.Deployment && isCurrent(event.UserAgent)
}

// isCurrent reports whether a user agent, for example "memcached-operator/0.4.1", is the version under development or a newer one, which
// tests make up. Leader election has a user agent without a version, which client-go gives it, and asks for the same in every release.
func isCurrent(userAgent string) bool {
	if strings.HasSuffix(userAgent, "/leader-election") {
		return true
	}
	text, found := strings.CutPrefix(userAgent, project.Package+"/")
	version, err := semver.Parse(text)
	return found && err == nil && version.GE(semver.MustParse(project.Version))
}

func rightOf(object *auditv1.ObjectReference, verb, namespace string) right {
	resource := object.Resource
	if object.Subresource != "" {
		resource += "/" + object.Subresource
	}
	return right{Group: object.APIGroup, Resource: resource, Verb: verb, Namespaced: object.Namespace == namespace}
}
