package conditions_test

import (
	"errors"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/example/memcached-operator/operator/api/cache/v1alpha1"
	"github.com/example/memcached-operator/operator/kube/conditions"
)

// The API server refuses a status with a longer message: the whole status would stay as it is.
func TestALongMessageIsShortened(t *testing.T) {
	var set []metav1.Condition
	conditions.SetUnread(&set, 1, errors.New("refused: "+strings.Repeat("ä", 40000)), metav1.NewTime(time.Unix(1, 0)))
	for _, kind := range []string{v1alpha1.ConditionDegraded, v1alpha1.ConditionReady} {
		message := meta.FindStatusCondition(set, kind).Message
		if utf8.RuneCountInString(message) != 32768 || !strings.HasPrefix(message, "refused: ä") || !strings.HasSuffix(message, "ä…") {
			t.Errorf("%s has a message of %d characters: %.20s", kind, utf8.RuneCountInString(message), message)
		}
	}
}
