package calls

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

var verb = regexp.MustCompile(`%(\[\d+\])?[a-zA-Z]`)

// TestCatalogVerbs holds the verbs of each Chinese format to those of the English one.
func TestCatalogVerbs(t *testing.T) {
	for en, zh := range chinese {
		if want, got := verb.FindAllString(en, -1), verb.FindAllString(zh, -1); !slices.Equal(want, got) && !strings.Contains(zh, "%[") {
			t.Errorf("%q has the verbs %v, its translation %v", en, want, got)
		}
	}
}

// untranslated are the packages whose messages are not all in the catalog yet. Warnings
// are not held by the test in any package.
var untranslated = map[string]string{
	"callstest":      "a kit for tests",
	"http":           "not translated yet",
	"http/guard":     "not translated yet",
	"memory":         "not translated yet",
	"memory/archive": "not translated yet",
	"memory/sqlite":  "not translated yet",
	"sqlitefile":     "not translated yet",
}

// TestTranslated reads the sources of the calls: each literal format of an error or a hint is
// in the catalog, except in the packages named above.
func TestTranslated(t *testing.T) {
	err := filepath.WalkDir(".", func(file string, entry os.DirEntry, err error) error {
		isSource := strings.HasSuffix(file, ".go") && !strings.HasSuffix(file, "_test.go")
		if err != nil || !isSource {
			return err
		}
		if untranslated[filepath.ToSlash(filepath.Dir(file))] == "" {
			checkTranslated(t, file)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func checkTranslated(t *testing.T, file string) {
	source, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	set := token.NewFileSet()
	tree, err := parser.ParseFile(set, file, source, 0)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(tree, func(n ast.Node) bool {
		format, ok := messageFormat(n)
		if ok && chinese[format] == "" && regexp.MustCompile(`[a-z]`).MatchString(verb.ReplaceAllString(format, "")) {
			t.Errorf("%s: %q is not translated", set.Position(n.Pos()), format)
		}
		return true
	})
}

// messageFormat returns the literal format given to calls.Errorf or WithHint.
func messageFormat(n ast.Node) (string, bool) {
	call, ok := n.(*ast.CallExpr)
	if !ok {
		return "", false
	}
	selector, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return "", false
	}
	at := map[string]int{"Errorf": 1, "WithHint": 0}
	i, ok := at[selector.Sel.Name]
	if !ok || len(call.Args) <= i {
		return "", false
	}
	if pkg, named := selector.X.(*ast.Ident); i == 1 && (!named || pkg.Name != "calls") {
		return "", false
	}
	literal, ok := call.Args[i].(*ast.BasicLit)
	if !ok {
		return "", false
	}
	format, err := strconv.Unquote(literal.Value)
	return format, err == nil
}
