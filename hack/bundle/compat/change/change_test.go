package change_test

import (
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/utils/ptr"

	"github.com/example/memcached-operator/hack/bundle/compat/change"
)

type (
	crd    = apiextensionsv1.CustomResourceDefinition
	schema = apiextensionsv1.JSONSchemaProps
)

// edit returns a mutation of the schema of v1alpha1 at a path such as status.conditions[].type. The empty path is the
// object itself.
func edit(path string, mutate func(*schema)) func(*crd) {
	return func(c *crd) { editBelow(c.Spec.Versions[0].Schema.OpenAPIV3Schema, path, mutate) }
}

func editBelow(s *schema, path string, mutate func(*schema)) {
	name, rest, _ := strings.Cut(path, ".")
	name, isList := strings.CutSuffix(name, "[]")
	if name == "" {
		mutate(s)
		return
	}
	property := s.Properties[name]
	if isList {
		editBelow(property.Items.Schema, rest, mutate)
	} else {
		editBelow(&property, rest, mutate)
	}
	s.Properties[name] = property
}

// rich is the real CRD with one more field of every kind that it lacks.
func rich(t *testing.T) *crd {
	t.Helper()
	c := definition(t)
	edit("spec", addFields)(c)
	second := *c.Spec.Versions[0].DeepCopy()
	second.Name, second.Storage = "v1alpha2", false
	c.Spec.Versions = append(c.Spec.Versions, second)
	return c
}

func addFields(spec *schema) {
	spec.Properties["mode"] = schema{Type: "string", Enum: raw(`"fast"`, `"safe"`), Default: &raw(`"safe"`)[0]}
	spec.Properties["name"] = schema{Type: "string", Pattern: "^[a-z]+$", MaxLength: ptr.To(int64(10)), Nullable: true}
	spec.Properties["free"] = schema{Type: "object", XPreserveUnknownFields: ptr.To(true)}
	spec.Properties["memory"] = schema{XIntOrString: true, Pattern: "^[0-9]+$", AnyOf: []schema{{Type: "integer"}, {Type: "string"}}}
	spec.Properties["labels"] = schema{Type: "object", AdditionalProperties: &apiextensionsv1.JSONSchemaPropsOrBool{
		Allows: true, Schema: &schema{Type: "string", MaxLength: ptr.To(int64(63))}}}
	spec.Properties["ports"] = schema{Type: "array", MaxItems: ptr.To(int64(5)), Items: &apiextensionsv1.JSONSchemaPropsOrArray{
		Schema: &schema{Type: "integer", Minimum: ptr.To(1.0), Maximum: ptr.To(9.0)}}}
}

func raw(values ...string) []apiextensionsv1.JSON {
	var list []apiextensionsv1.JSON
	for _, v := range values {
		list = append(list, apiextensionsv1.JSON{Raw: []byte(v)})
	}
	return list
}

// compare mutates v1alpha1 of a copy. It copies the schema to v1alpha2, so that both versions stay the same. It returns
// "version path rule" of each finding about v1alpha1 or the whole CRD.
func compare(t *testing.T, mutate func(*crd)) ([]string, []change.Finding) {
	t.Helper()
	older, newer := rich(t), rich(t)
	mutate(newer)
	newer.Spec.Versions[len(newer.Spec.Versions)-1].Schema = newer.Spec.Versions[0].Schema.DeepCopy()
	findings, err := change.Compare([]*crd{older}, []*crd{newer})
	if err != nil {
		t.Fatal(err)
	}
	var short []string
	for _, f := range findings {
		if f.Version != "v1alpha2" {
			short = append(short, strings.Join([]string{f.Version, f.Path, f.Rule}, " "))
		}
	}
	return short, findings
}

func TestCompareReportsEachIncompatibilityOnce(t *testing.T) {
	for name, test := range map[string]struct {
		mutate func(*crd)
		want   string
	}{
		"kind":                                  {func(c *crd) { c.Spec.Names.Kind = "Cache" }, "  kind"},
		"list kind":                             {func(c *crd) { c.Spec.Names.ListKind = "Caches" }, "  listKind"},
		"plural":                                {func(c *crd) { c.Spec.Names.Plural = "caches" }, "  plural"},
		"singular":                              {func(c *crd) { c.Spec.Names.Singular = "cache" }, "  singular"},
		"short name":                            {func(c *crd) { c.Spec.Names.ShortNames = nil }, "  shortNames"},
		"category":                              {func(c *crd) { c.Spec.Names.Categories = nil }, "  categories"},
		"group":                                 {func(c *crd) { c.Spec.Group = "caches.example.com" }, "  group"},
		"scope":                                 {func(c *crd) { c.Spec.Scope = "Cluster" }, "  scope"},
		"conversion":                            {func(c *crd) { c.Spec.Conversion = webhook() }, "  conversion"},
		"version unserved":                      {func(c *crd) { c.Spec.Versions[0].Served = false }, "v1alpha1  served"},
		"stored version removed":                {func(c *crd) { c.Spec.Versions = c.Spec.Versions[1:]; c.Spec.Versions[0].Storage = true }, "v1alpha1  storage"},
		"status subresource":                    {func(c *crd) { c.Spec.Versions[0].Subresources.Status = nil }, "v1alpha1  status"},
		"scale subresource":                     {func(c *crd) { c.Spec.Versions[0].Subresources.Scale = nil }, "v1alpha1  scale"},
		"scale path":                            {func(c *crd) { c.Spec.Versions[0].Subresources.Scale.SpecReplicasPath = ".spec.nodes" }, "v1alpha1  scale"},
		"field removed":                         {edit("status", func(s *schema) { delete(s.Properties, "nodes") }), "v1alpha1 status.nodes removed"},
		"tree removed":                          {edit("status", func(s *schema) { delete(s.Properties, "conditions") }), "v1alpha1 status.conditions removed"},
		"field of an item removed":              {edit("status.conditions[]", func(s *schema) { delete(s.Properties, "message") }), "v1alpha1 status.conditions[*].message removed"},
		"required field":                        {edit("spec", func(s *schema) { s.Required = append(s.Required, "mode") }), "v1alpha1 spec required"},
		"type":                                  {edit("spec.size", func(s *schema) { s.Type = "string" }), "v1alpha1 spec.size type"},
		"no longer int or string":               {edit("spec.memory", func(s *schema) { *s = schema{Type: "string"} }), "v1alpha1 spec.memory type"},
		"minimum raised":                        {edit("spec.size", func(s *schema) { s.Minimum = ptr.To(1.0) }), "v1alpha1 spec.size minimum"},
		"minimum excluded":                      {edit("spec.size", func(s *schema) { s.ExclusiveMinimum = true }), "v1alpha1 spec.size exclusiveMinimum"},
		"maximum introduced":                    {edit("spec.size", func(s *schema) { s.Maximum = ptr.To(10.0) }), "v1alpha1 spec.size maximum"},
		"maximum of items lowered":              {edit("spec.ports[]", func(s *schema) { s.Maximum = ptr.To(8.0) }), "v1alpha1 spec.ports[*] maximum"},
		"maximum excluded":                      {edit("spec.ports[]", func(s *schema) { s.ExclusiveMaximum = true }), "v1alpha1 spec.ports[*] exclusiveMaximum"},
		"multiple":                              {edit("spec.size", func(s *schema) { s.MultipleOf = ptr.To(2.0) }), "v1alpha1 spec.size multipleOf"},
		"length lowered":                        {edit("spec.name", func(s *schema) { s.MaxLength = ptr.To(int64(9)) }), "v1alpha1 spec.name maxLength"},
		"length of values lowered":              {edit("spec.labels", func(s *schema) { s.AdditionalProperties.Schema.MaxLength = ptr.To(int64(9)) }), "v1alpha1 spec.labels additionalProperties"},
		"minimum length":                        {edit("spec.name", func(s *schema) { s.MinLength = ptr.To(int64(1)) }), "v1alpha1 spec.name minLength"},
		"fewer items":                           {edit("spec.ports", func(s *schema) { s.MaxItems = ptr.To(int64(4)) }), "v1alpha1 spec.ports maxItems"},
		"more items":                            {edit("spec.ports", func(s *schema) { s.MinItems = ptr.To(int64(1)) }), "v1alpha1 spec.ports minItems"},
		"fewer properties":                      {edit("spec.labels", func(s *schema) { s.MaxProperties = ptr.To(int64(4)) }), "v1alpha1 spec.labels maxProperties"},
		"more properties":                       {edit("spec.labels", func(s *schema) { s.MinProperties = ptr.To(int64(1)) }), "v1alpha1 spec.labels minProperties"},
		"unique items":                          {edit("spec.ports", func(s *schema) { s.UniqueItems = true }), "v1alpha1 spec.ports uniqueItems"},
		"pattern changed":                       {edit("spec.name", func(s *schema) { s.Pattern = "^[a-c]+$" }), "v1alpha1 spec.name pattern"},
		"pattern introduced":                    {edit("spec.mode", func(s *schema) { s.Pattern = "^f" }), "v1alpha1 spec.mode pattern"},
		"pattern beside branches":               {edit("spec.memory", func(s *schema) { s.Pattern = "^[1-9]+$" }), "v1alpha1 spec.memory pattern"},
		"enum value removed":                    {edit("spec.mode", func(s *schema) { s.Enum = raw(`"safe"`) }), "v1alpha1 spec.mode enum"},
		"enum introduced":                       {edit("spec.name", func(s *schema) { s.Enum = raw(`"a"`) }), "v1alpha1 spec.name enum"},
		"default changed":                       {edit("spec.mode", func(s *schema) { s.Default = &raw(`"fast"`)[0] }), "v1alpha1 spec.mode default"},
		"default removed":                       {edit("spec.mode", func(s *schema) { s.Default = nil }), "v1alpha1 spec.mode default"},
		"default introduced":                    {edit("spec.name", func(s *schema) { s.Default = &raw(`"a"`)[0] }), "v1alpha1 spec.name default"},
		"format changed":                        {edit("spec.size", func(s *schema) { s.Format = "int64" }), "v1alpha1 spec.size format"},
		"format introduced":                     {edit("spec.name", func(s *schema) { s.Format = "date" }), "v1alpha1 spec.name format"},
		"null refused":                          {edit("spec.name", func(s *schema) { s.Nullable = false }), "v1alpha1 spec.name nullable"},
		"rule introduced":                       {edit("spec", func(s *schema) { s.XValidations = rules("self.size < 9") }), "v1alpha1 spec x-kubernetes-validations"},
		"rule changed":                          {edit("", func(s *schema) { s.XValidations[0].Rule = "size(self.metadata.name) <= 51" }), "v1alpha1  x-kubernetes-validations"},
		"unknown fields dropped":                {edit("spec.free", func(s *schema) { s.XPreserveUnknownFields = nil }), "v1alpha1 spec.free x-kubernetes-preserve-unknown-fields"},
		"embedded resource":                     {edit("spec.free", func(s *schema) { s.XEmbeddedResource = true }), "v1alpha1 spec.free x-kubernetes-embedded-resource"},
		"map closed":                            {edit("spec.labels", func(s *schema) { s.AdditionalProperties = nil }), "v1alpha1 spec.labels additionalProperties"},
		"list type":                             {edit("status.nodes", func(s *schema) { s.XListType = ptr.To("set") }), "v1alpha1 status.nodes x-kubernetes-list-type"},
		"list keys":                             {edit("status.conditions", func(s *schema) { s.XListMapKeys = []string{"reason"} }), "v1alpha1 status.conditions x-kubernetes-list-map-keys"},
		"map type":                              {edit("spec.labels", func(s *schema) { s.XMapType = ptr.To("atomic") }), "v1alpha1 spec.labels x-kubernetes-map-type"},
		"all of":                                {edit("spec.name", func(s *schema) { s.AllOf = []schema{{Pattern: "a"}} }), "v1alpha1 spec.name allOf"},
		"any of":                                {edit("spec.memory", func(s *schema) { s.AnyOf = []schema{{Type: "string"}} }), "v1alpha1 spec.memory anyOf"},
		"one of":                                {edit("spec", func(s *schema) { s.OneOf = []schema{{Required: []string{"mode"}}} }), "v1alpha1 spec oneOf"},
		"not":                                   {edit("spec.name", func(s *schema) { s.Not = &schema{Pattern: "a"} }), "v1alpha1 spec.name not"},
		"unknown keyword":                       {edit("spec.name", func(s *schema) { s.Ref = ptr.To("#/a") }), "v1alpha1 spec.name $ref"},
		"message of a rule (OLM 1)":             {edit("", func(s *schema) { s.XValidations[0].Message = "shorter, please" }), "v1alpha1  x-kubernetes-validations"},
		"description of a map's values (OLM 1)": {edit("spec.labels", func(s *schema) { s.AdditionalProperties.Schema.Description = "Other words." }), "v1alpha1 spec.labels additionalProperties"},
		"pattern removed (OLM 1)":               {edit("spec.name", func(s *schema) { s.Pattern = "" }), "v1alpha1 spec.name pattern"},
	} {
		t.Run(name, func(t *testing.T) {
			short, findings := compare(t, test.mutate)
			if len(short) != 1 || short[0] != test.want {
				t.Errorf("want only %q, got %q\n%v", test.want, short, findings)
			}
			for _, f := range findings {
				if line := f.String(); f.Change == "" || f.Fix == "" || strings.Contains(line, "\n") || !strings.HasPrefix(line, "memcacheds.cache.example.com") {
					t.Errorf("not one line with place, change and fix: %q", line)
				}
			}
		})
	}
}

func TestCompareAcceptsCompatibleChanges(t *testing.T) {
	for name, mutate := range map[string]func(*crd){
		"nothing": func(*crd) {},
		"optional field": edit("spec", func(s *schema) {
			s.Properties["extra"] = schema{Type: "string", Default: &raw(`"x"`)[0], Pattern: "x"}
		}),
		"object with a required": edit("spec", func(s *schema) {
			s.Properties["extra"] = schema{Type: "object", Required: []string{"a"}, Properties: map[string]schema{"a": {Type: "string"}}}
		}),
		"version of the same schema": func(c *crd) {
			v1 := *c.Spec.Versions[0].DeepCopy()
			v1.Name = "v1"
			c.Spec.Versions[0].Storage = false
			c.Spec.Versions = append(c.Spec.Versions, v1)
		},
		"deprecation":          func(c *crd) { c.Spec.Versions[0].Deprecated = true },
		"lower minimum":        edit("spec.size", func(s *schema) { s.Minimum = ptr.To(-1.0) }),
		"no minimum":           edit("spec.size", func(s *schema) { s.Minimum = nil }),
		"higher maximum":       edit("spec.ports[]", func(s *schema) { s.Maximum = ptr.To(10.0) }),
		"longer":               edit("spec.name", func(s *schema) { s.MaxLength = ptr.To(int64(11)) }),
		"more items allowed":   edit("spec.ports", func(s *schema) { s.MaxItems = nil }),
		"no longer required":   edit("spec", func(s *schema) { s.Required = nil }),
		"enum grows":           edit("spec.mode", func(s *schema) { s.Enum = raw(`"fast"`, `"safe"`, `"best"`) }),
		"enum lifted":          edit("spec.size", func(s *schema) { s.Enum = nil }),
		"description":          edit("spec.size", func(s *schema) { s.Description = "Other words." }),
		"printer column":       func(c *crd) { c.Spec.Versions[0].AdditionalPrinterColumns = nil },
		"short name":           func(c *crd) { c.Spec.Names.ShortNames = append(c.Spec.Names.ShortNames, "mc") },
		"conversion spelt out": func(c *crd) { c.Spec.Conversion = &apiextensionsv1.CustomResourceConversion{Strategy: "None"} },
	} {
		t.Run(name, func(t *testing.T) {
			if _, findings := compare(t, mutate); len(findings) > 0 {
				t.Errorf("got %v", findings)
			}
		})
	}
}

func TestCompareReportsAMissingCRD(t *testing.T) {
	findings, err := change.Compare([]*crd{rich(t)}, nil)
	if err != nil || len(findings) != 1 || findings[0].Rule != change.RuleGone {
		t.Errorf("got %v, %v", findings, err)
	}
	if findings, err := change.Compare(nil, []*crd{rich(t)}); err != nil || len(findings) > 0 {
		t.Errorf("a new CRD: %v, %v", findings, err)
	}
}

func TestCompareReportsARemovedVersion(t *testing.T) {
	older, newer := rich(t), rich(t)
	newer.Spec.Versions = newer.Spec.Versions[:1]
	findings, err := change.Compare([]*crd{older}, []*crd{newer})
	if err != nil || len(findings) != 1 || findings[0].Rule != "version" || findings[0].Version != "v1alpha2" {
		t.Errorf("got %v, %v", findings, err)
	}
}

func TestCompareReportsServedVersionsThatDiffer(t *testing.T) {
	older, newer := rich(t), rich(t)
	third := *newer.Spec.Versions[0].DeepCopy()
	third.Name, third.Storage = "v1", false
	newer.Spec.Versions = append(newer.Spec.Versions, third)
	delete(third.Schema.OpenAPIV3Schema.Properties, "status")
	findings, err := change.Compare([]*crd{older}, []*crd{newer})
	if err != nil || len(findings) == 0 {
		t.Fatalf("got %v, %v", findings, err)
	}
	for _, f := range findings {
		if f.Version != "v1" || f.Rule != change.RuleServedVersions || !strings.HasPrefix(f.Path, "status") {
			t.Errorf("got %v", f)
		}
	}
}

func TestCompareReportsAllFindings(t *testing.T) {
	short, _ := compare(t, func(c *crd) {
		c.Spec.Names.ShortNames = nil
		edit("spec.size", func(s *schema) { s.Minimum, s.Maximum = ptr.To(1.0), ptr.To(2.0) })(c)
		edit("status", func(s *schema) { delete(s.Properties, "replicas") })(c)
	})
	want := "  shortNames, v1alpha1 spec.size maximum, v1alpha1 spec.size minimum, v1alpha1 status.replicas removed"
	if got := strings.Join(short, ", "); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestCompareRefusesACRDWithoutSchema(t *testing.T) {
	broken := rich(t)
	broken.Spec.Versions[0].Schema = nil
	if _, err := change.Compare([]*crd{rich(t)}, []*crd{broken}); err == nil || !strings.Contains(err.Error(), "v1alpha1 has no schema") {
		t.Errorf("got %v", err)
	}
}

func rules(rule string) apiextensionsv1.ValidationRules {
	return apiextensionsv1.ValidationRules{{Rule: rule}}
}

func webhook() *apiextensionsv1.CustomResourceConversion {
	return &apiextensionsv1.CustomResourceConversion{Strategy: apiextensionsv1.WebhookConverter}
}
