package test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// word is a name as the documents write it.
var word = regexp.MustCompile(`[A-Za-z_][A-Za-z0-9_-]*`)

// A reader of the documents that the program was asked for finds each of their names in a doc comment, by search:
// of the Go declaration that does the work, under any name of its own.
func TestDocumentWords(t *testing.T) {
	list, err := os.ReadFile("testdata/document_words.txt")
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]bool{}
	for _, comment := range docComments(t) {
		for _, name := range word.FindAllString(comment, -1) {
			found[name] = true
		}
	}
	words := 0
	for line := range strings.Lines(string(list)) {
		text, _, _ := strings.Cut(line, "#")
		for _, name := range strings.Fields(text) {
			words++
			if !found[name] {
				t.Errorf("no doc comment has the word %s of the documents: name it where the work is done", name)
			}
		}
	}
	if words < 100 {
		t.Errorf("the list has only %d words", words)
	}
}

// docComments returns the doc comments of packages, declarations, fields and methods.
func docComments(t *testing.T) (texts []string) {
	t.Helper()
	files := token.NewFileSet()
	for _, s := range sources(t) {
		f, err := parser.ParseFile(files, filepath.Join(root, s.name), nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			for _, doc := range docsOf(n) {
				texts = append(texts, doc.Text())
			}
			return true
		})
	}
	return texts
}

// docsOf returns the doc comment of a node; nil for one without.
func docsOf(n ast.Node) []*ast.CommentGroup {
	switch n := n.(type) {
	case *ast.File:
		return []*ast.CommentGroup{n.Doc}
	case *ast.FuncDecl:
		return []*ast.CommentGroup{n.Doc}
	case *ast.GenDecl:
		return []*ast.CommentGroup{n.Doc}
	case *ast.TypeSpec:
		return []*ast.CommentGroup{n.Doc}
	case *ast.ValueSpec:
		return []*ast.CommentGroup{n.Doc}
	case *ast.Field:
		return []*ast.CommentGroup{n.Doc}
	}
	return nil
}
