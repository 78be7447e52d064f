package main

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"slices"
	"strconv"
)

// mutation is one small change of a file that a test should notice.
type mutation struct {
	file     string // Absolute path.
	position token.Position
	end      int // Offset after the old text.
	old, new string
}

// String says where the mutation is and what it does.
func (m mutation) String() string {
	return fmt.Sprintf("%s:%d: %s -> %s", m.file, m.position.Line, m.old, m.new)
}

// compare orders mutations as they are in the code.
func (m mutation) compare(other mutation) int {
	return cmp.Or(cmp.Compare(m.file, other.file), cmp.Compare(m.position.Offset, other.position.Offset))
}

// apply returns the content of the file with the mutation.
func (m mutation) apply() ([]byte, error) {
	content, err := os.ReadFile(m.file)
	if err != nil {
		return nil, err
	}
	return slices.Concat(content[:m.position.Offset], []byte(m.new), content[m.end:]), nil
}

// flips are the operators that take the place of others.
var flips = map[token.Token]token.Token{
	token.EQL: token.NEQ, token.NEQ: token.EQL, token.LSS: token.LEQ, token.LEQ: token.LSS, token.GTR: token.GEQ, token.GEQ: token.GTR,
	token.LAND: token.LOR, token.LOR: token.LAND, token.ADD: token.SUB, token.SUB: token.ADD, token.MUL: token.QUO, token.QUO: token.MUL,
}

// mutationsOf returns all mutations of a file: operators are flipped, conditions negated, numbers raised by one, true and false swapped.
func mutationsOf(file string) ([]mutation, error) {
	files := token.NewFileSet()
	content, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	tree, err := parser.ParseFile(files, file, content, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	var all []mutation
	replace := func(from token.Pos, old, new string) {
		position := files.Position(from)
		all = append(all, mutation{file: file, position: position, end: position.Offset + len(old), old: old, new: new})
	}
	text := func(node ast.Node) string {
		return string(content[files.Position(node.Pos()).Offset:files.Position(node.End()).Offset])
	}
	ast.Inspect(tree, func(node ast.Node) bool {
		switch node := node.(type) {
		case *ast.GenDecl:
			return node.Tok != token.IMPORT
		case *ast.BinaryExpr:
			if flipped, known := flips[node.Op]; known && !isText(node) {
				replace(node.OpPos, node.Op.String(), flipped.String())
			}
		case *ast.IfStmt:
			replace(node.Cond.Pos(), text(node.Cond), "!("+text(node.Cond)+")")
		case *ast.Ident:
			if node.Name == "true" || node.Name == "false" {
				replace(node.Pos(), node.Name, strconv.FormatBool(node.Name == "false"))
			}
		case *ast.BasicLit:
			if number, err := strconv.Atoi(node.Value); node.Kind == token.INT && err == nil {
				replace(node.Pos(), node.Value, strconv.Itoa(number+1))
			}
		}
		return true
	})
	return all, nil
}

// isText tells whether an expression joins texts as far as its literals show it: these cannot be subtracted.
func isText(node *ast.BinaryExpr) bool {
	for _, side := range []ast.Expr{node.X, node.Y} {
		switch side := side.(type) {
		case *ast.BasicLit:
			if side.Kind == token.STRING && node.Op == token.ADD {
				return true
			}
		case *ast.BinaryExpr:
			if node.Op == token.ADD && isText(side) {
				return true
			}
		}
	}
	return false
}
