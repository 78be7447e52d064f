package workload

// Progress is how far a rollout is.
type Progress struct {
	// Updated is how many of the pods that are wanted are of the template.
	Updated int32

	// Pod is the one that is worked on or waited for, empty for none.
	Pod string

	// Message is that of the step.
	Message string

	// Stuck is that of the step.
	Stuck bool
}
