package flow

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// formatArguments has for each function that makes a message the indexes of the arguments
// that are formats.
var formatArguments = map[string][]int{
	"say": {0}, "add": {1}, "warn": {1}, "hint": {0}, "suggest": {2}, "newProblem": {1}, "lintListed": {2, 3, 4},
	"decodeObject": {1}, "membersOf": {1}, "checkNames": {1}, "Errorf": {1}, "WithHint": {0},
}

var (
	formatVerb = regexp.MustCompile(`%(?:\[(\d+)\])?([a-zA-Z])`)
	letters    = regexp.MustCompile(`[a-zA-Z]{2,}`)
)

// Every message and hint of the package has a Chinese format that takes the same arguments,
// and the catalog has no others.
func TestMessagesInChinese(t *testing.T) {
	used := map[string]bool{"an entry of needs": true} // a name in a tag
	for format, at := range messageFormats(t) {
		used[format] = true
		if _, known := chinese[format]; !known && letters.MatchString(formatVerb.ReplaceAllString(format, "")) {
			t.Errorf("%s: %q has no Chinese text", at, format)
		}
	}
	for en, zh := range chinese {
		if !used[en] {
			t.Errorf("no message has the format %q", en)
		}
		if got, want := verbsOf(zh), verbsOf(en); !maps.Equal(got, want) {
			t.Errorf("%q takes %v, but %q %v", zh, got, en, want)
		}
	}
	if len(used) < 100 {
		t.Errorf("found only %d formats", len(used))
	}
}

// verbsOf returns the verb of each argument that a format takes.
func verbsOf(format string) map[int]string {
	verbs, next := map[int]string{}, 1
	for _, m := range formatVerb.FindAllStringSubmatch(strings.ReplaceAll(format, "%%", ""), -1) {
		if m[1] != "" {
			next, _ = strconv.Atoi(m[1])
		}
		verbs[next] = m[2]
		next++
	}
	return verbs
}

// messageFormats returns the constant formats in the source of the package, each with a place.
func messageFormats(t *testing.T) map[string]string {
	formats := map[string]string{}
	files := token.NewFileSet()
	isSource := func(info fs.FileInfo) bool { return !strings.HasSuffix(info.Name(), "_test.go") }
	packages, err := parser.ParseDir(files, ".", isSource, 0) //nolint:staticcheck // build tags do not matter here
	if err != nil {
		t.Fatal(err)
	}
	note := func(e ast.Expr) {
		literal, ok := e.(*ast.BasicLit)
		if !ok || literal.Kind != token.STRING {
			return
		}
		text, err := strconv.Unquote(literal.Value)
		if err != nil {
			t.Fatal(err)
		}
		formats[text] = files.Position(literal.Pos()).String()
	}
	ast.Inspect(packages["flow"], func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			for _, i := range formatArguments[calledName(n)] {
				if i < len(n.Args) {
					note(n.Args[i])
				}
			}
		case *ast.CompositeLit:
			if name, ok := n.Type.(*ast.Ident); ok && name.Name == "mismatch" {
				note(n.Elts[0])
			}
		}
		return true
	})
	return formats
}

// calledName returns the name of the function or method that a call calls; "" for one of
// the package fmt.
func calledName(call *ast.CallExpr) string {
	switch f := call.Fun.(type) {
	case *ast.Ident:
		return f.Name
	case *ast.SelectorExpr:
		if pkg, ok := f.X.(*ast.Ident); ok && slices.Contains([]string{"fmt", "errors"}, pkg.Name) {
			return ""
		}
		return f.Sel.Name
	}
	return ""
}
