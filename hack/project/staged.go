package project

// StagedVersion is where the images of one version are. Manifests refer to them so.
type StagedVersion struct {
	Version        string `json:"version"`
	Released       bool   `json:"released"`
	OperatorImage  string `json:"operatorImage"`
	ScorecardImage string `json:"scorecardImage"`
	BundleImage    string `json:"bundleImage"`
}

// Staged is what was staged.
type Staged struct {
	// CatalogImage is the reference by digest, CatalogTag the one that olm/20-catalogsource.yaml names.
	CatalogImage string          `json:"catalogImage"`
	CatalogTag   string          `json:"catalogTag"`
	Versions     []StagedVersion `json:"versions"`
	// Operands are the stand-ins that were put in for official operand images.
	Operands StandIns `json:"operands"`
}
