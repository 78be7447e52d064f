package secrets

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/example/memcached-operator/operator/agent/access"
	"github.com/example/memcached-operator/operator/api/cache/v1alpha1"
	"github.com/example/memcached-operator/operator/outcome"
)

// UsersKey is the key of a Secret with the users of a cache.
const UsersKey = "users"

// recheck is how soon a Secret that cannot be used is looked at again.
const recheck = 10 * time.Second

// Users returns how many users the Secret of spec.auth has: 1 to 8. The error says why memcached cannot take them over, and
// names lines, never what is in them.
func Users(secret *corev1.Secret) (int, error) {
	users, err := parseUsers(secret)
	if err != nil {
		return 0, outcome.Waiting(v1alpha1.ReasonInvalidUsers, recheck, fmt.Errorf("spec.auth: %w", err))
	}
	return len(users.All()), nil
}

func parseUsers(secret *corev1.Secret) (*access.Users, error) {
	data, found := secret.Data[UsersKey]
	if !found {
		return nil, fmt.Errorf("the Secret %s lacks the key %q: put lines user:password there", secret.Name, UsersKey)
	}
	return access.ParseUsers(fmt.Sprintf("the key %q of the Secret %s", UsersKey, secret.Name), data)
}
