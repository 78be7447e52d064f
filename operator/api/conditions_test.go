package api_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const operatorRoot = ".."

// apis are the directories of the API groups.
var apis = []string{"app", "cache"}

// Reasons and condition types are part of the API, so the operator may only use those that are declared and documented in
// conditions.go. The test parses the operator's source. It fails on a literal where a reason or type is expected, and on a
// declared constant that is not used.
func TestReasonsAreDeclared(t *testing.T) {
	declared := declaredConstants(t)
	used := map[string]bool{}
	for _, file := range sources(t) {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(file, "v1alpha1/conditions.go") {
			continue
		}
		ast.Inspect(parsed, func(node ast.Node) bool {
			for _, literal := range literalReasons(node) {
				t.Errorf("%s uses %s as a reason or condition type: declare it in conditions.go", file, literal)
			}
			if selector, ok := node.(*ast.SelectorExpr); ok {
				used[selector.Sel.Name] = true
			}
			return true
		})
	}
	for name := range declared {
		if !used[name] {
			t.Errorf("%s is declared in conditions.go but never used", name)
		}
	}
}

// declaredConstants returns the constants of every conditions.go by name. Each must be documented, be named after its
// value, and have a form that the API server accepts. A name has one value across all kinds, so that the operator may
// use the constant of either package.
func declaredConstants(t *testing.T) map[string]string {
	t.Helper()
	declared := map[string]string{}
	files, err := filepath.Glob("*/v1alpha1/conditions.go")
	if err != nil || len(files) != len(apis) {
		t.Fatalf("found %v, %v", files, err)
	}
	for _, file := range files {
		for name, value := range constantsOf(t, file) {
			if other, ok := declared[name]; ok && other != value {
				t.Errorf("%s: %s is %q elsewhere", file, name, other)
			}
			declared[name] = value
		}
	}
	return declared
}

func constantsOf(t *testing.T, file string) map[string]string {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	form := regexp.MustCompile(`^[A-Z][A-Za-z]*$`)
	declared := map[string]string{}
	ast.Inspect(parsed, func(node ast.Node) bool {
		spec, ok := node.(*ast.ValueSpec)
		if !ok {
			return true
		}
		name, value := spec.Names[0].Name, strings.Trim(spec.Values[0].(*ast.BasicLit).Value, `"`)
		declared[name] = value
		if spec.Doc == nil || !strings.HasPrefix(spec.Doc.Text(), name) {
			t.Errorf("%s: %s has no comment that begins with its name", file, name)
		}
		if !form.MatchString(value) || !strings.HasSuffix(name, value) {
			t.Errorf("%s: %s has the value %q", file, name, value)
		}
		return true
	})
	if len(declared) < 10 {
		t.Fatalf("only %d constants found in %s", len(declared), file)
	}
	return declared
}

// sources returns the operator's source files without tests and test helpers.
func sources(t *testing.T) []string {
	t.Helper()
	var files []string
	err := filepath.WalkDir(operatorRoot, func(path string, entry fs.DirEntry, err error) error {
		if entry.IsDir() && entry.Name() == "testing" {
			return filepath.SkipDir
		}
		if strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, "_test.go") {
			files = append(files, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(files) < 15 {
		t.Fatalf("only %d source files found below %s", len(files), operatorRoot)
	}
	return files
}

// literalReasons returns the string literals that node uses as a reason or condition type: in a metav1.Condition or
// conditions.Wording, in an assignment to a field Reason, as the first argument of reconcileerror.Terminal and
// reconcileerror.Waiting, and as the reason of an event.
func literalReasons(node ast.Node) []string {
	var suspects []ast.Expr
	switch node := node.(type) {
	case *ast.CompositeLit:
		selector, ok := node.Type.(*ast.SelectorExpr)
		isCondition, isWording := ok && isNamed(selector.Sel, "Condition"), ok && isNamed(selector.Sel, "Wording")
		for _, element := range node.Elts {
			pair, ok := element.(*ast.KeyValueExpr)
			if ok && (isCondition && (isNamed(pair.Key, "Reason") || isNamed(pair.Key, "Type")) ||
				isWording && !isNamed(pair.Key, "One") && !isNamed(pair.Key, "Many") && !isNamed(pair.Key, "Process")) {
				suspects = append(suspects, pair.Value)
			}
		}
	case *ast.AssignStmt:
		for i, target := range node.Lhs {
			selector, ok := target.(*ast.SelectorExpr)
			if ok && isNamed(selector.Sel, "Reason") && len(node.Rhs) == len(node.Lhs) {
				suspects = append(suspects, node.Rhs[i])
			}
		}
	case *ast.CallExpr:
		selector, ok := node.Fun.(*ast.SelectorExpr)
		switch {
		case !ok || len(node.Args) == 0:
		case isNamed(selector.X, "reconcileerror") && (isNamed(selector.Sel, "Terminal") || isNamed(selector.Sel, "Waiting")):
			suspects = append(suspects, node.Args[0])
		case isNamed(selector.Sel, "Eventf") || isNamed(selector.Sel, "Event"):
			suspects = append(suspects, node.Args[1:]...)
			suspects = suspects[:min(2, len(suspects))]
		}
	case *ast.ReturnStmt:
		// A conditions.Check returns (reason, message, wrong).
		if len(node.Results) == 3 && (isNamed(node.Results[2], "true")) {
			suspects = append(suspects, node.Results[0])
		}
	}
	var literals []string
	for _, suspect := range suspects {
		if literal, ok := suspect.(*ast.BasicLit); ok && literal.Kind == token.STRING {
			literals = append(literals, literal.Value)
		}
	}
	return literals
}

func isNamed(node ast.Node, name string) bool {
	ident, ok := node.(*ast.Ident)
	return ok && ident.Name == name
}
