package slim

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/lru"
)

// texts are the texts that many objects have, as they are held. A text that is not used any more makes room for others.
var texts = lru.New(1024)

// longestShared is the length in bytes of the longest text that objects share, so that nobody can fill the memory with them.
const longestShared = 256

// shared returns a text that is held once for all objects that have it.
func shared(text string) string {
	if len(text) > longestShared {
		return text
	}
	if known, found := texts.Get(text); found {
		text, _ = known.(string)
		return text
	}
	texts.Add(text, text)
	return text
}

// shareTexts replaces the texts of conditions by shared ones.
func shareTexts(conditions []metav1.Condition) {
	for i := range conditions {
		condition := &conditions[i]
		condition.Type, condition.Reason, condition.Message = shared(condition.Type), shared(condition.Reason), shared(condition.Message)
		condition.Status = metav1.ConditionStatus(shared(string(condition.Status)))
	}
}
