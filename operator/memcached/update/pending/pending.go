package pending

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	"github.com/example/memcached-operator/operator/api/cache/v1alpha1"
	"github.com/example/memcached-operator/operator/memcached/update/diff"
)

// ID names a wanted template: it is the same as long as the template is.
func ID(wanted *Template) string {
	raw, err := json.Marshal(wanted)
	if err != nil {
		return "" // An apply configuration is nothing but JSON, so this cannot be; and nothing is released by no id.
	}
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:5])
}

func pending(id string, changes []diff.Change, class diff.Class) *v1alpha1.MemcachedPending {
	if class == diff.None {
		return nil
	}
	pending := &v1alpha1.MemcachedPending{ID: id, Class: v1alpha1.ChangeClass(class)}
	for _, c := range changes {
		pending.Changes = append(pending.Changes, v1alpha1.MemcachedChange{
			Field: c.Field, Class: v1alpha1.ChangeClass(c.Class), Reason: c.Reason, From: c.From, To: c.To,
		})
	}
	return pending
}
