package secrets

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	agentapi "github.com/example/memcached-operator/operator/agent/api"
	"github.com/example/memcached-operator/operator/api/cache/v1alpha1"
	"github.com/example/memcached-operator/operator/kube/reconcileerror"
)

// UsersKey is the key of a Secret with the users of a cache.
const UsersKey = "users"

// Recheck is how soon a Secret that cannot be used, or is missing, is looked at again.
const Recheck = 10 * time.Second

// Users says why memcached cannot take over the users in the Secret of spec.auth, nil if it can. version is that of memcached, empty if
// it is unknown. The error names lines, never what is in them.
func Users(secret *corev1.Secret, version string) error {
	if err := checkUsers(secret, version); err != nil {
		return reconcileerror.Waiting(v1alpha1.ReasonInvalidUsers, Recheck, fmt.Errorf("spec.auth: %w", err))
	}
	return nil
}

func checkUsers(secret *corev1.Secret, version string) error {
	data, found := secret.Data[UsersKey]
	if !found {
		return fmt.Errorf("the Secret %s lacks the key %q: put lines user:password there", secret.Name, UsersKey)
	}
	users, err := agentapi.ParseUsers(fmt.Sprintf("the key %q of the Secret %s", UsersKey, secret.Name), data)
	if err != nil {
		return err
	}
	return users.CheckVersion(version)
}
