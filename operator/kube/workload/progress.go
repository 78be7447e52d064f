package workload

// Progress is the state of an update that the operator performs pod by pod.
type Progress struct {
	// Updated is the number of wanted pods that have the latest template.
	Updated int32

	// Pod is the name of the pod that is being updated or waited for, empty for none.
	Pod string

	// Message describes the current step.
	Message string

	// Pulling says which images are being pulled before the update begins, empty if none are.
	Pulling string

	// Stuck is true if the update does not proceed by itself.
	Stuck bool
}
