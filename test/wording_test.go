package test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/callnode/scheduler/llm/value"
)

// onlyEnglish are the folders whose messages stay English, and why.
var onlyEnglish = map[string]string{
	"calls/callstest":                          "a kit for tests",
	"calls/database/pgdb/pgdbtest":             "a server for tests",
	"calls/memory/memorytest":                  "a kit for tests",
	"calls/database/sqlitefile/sqlitefiletest": "a kit for tests",
	"llm/llmtest":                              "a kit for tests",
	"plugins/examples":                         "programs of their own",
	"plugins/pluginstest":                      "a kit for tests",
	"plugins/project":                          "a program that authors of plugins use",
	"plugins/proto":                            "generated",
	"plugins/sdk":                              "programs of their own, which do not know the language",
	"plugins/verify":                           "a report for authors of plugins",
	"scheduler/journal/journaltest":            "a kit for tests",
	"scheduler/schedulertest":                  "a kit for tests",
	"scheduler/server/mcp":                     "its readers are programs and models, in English",
	"test":                                     "tests",
	"cmd/scheduler/testdata":                   "tests",
}

// moreFormats has, by folder and function, the arguments that are formats, besides parameters called format.
var moreFormats = map[string]map[string][]int{
	"scheduler/server": {"notFound": {0}},
	"scheduler/flow":   {"suggest": {2}, "lintListed": {2, 3, 4}, "decodeObject": {1}, "membersOf": {1}, "checkNames": {1}},
}

// printedAsIs are the texts that commands print in English, and why.
var printedAsIs = map[string]string{
	"ok    %s\n":  "a report for authors of plugins",
	"FAIL  %s\n":  "a report for authors of plugins",
	"  url\t%s\n": "a term",
}

// textFields are the fields whose literal texts are messages.
var textFields = []string{"Message", "Hint", "Msg", "remedy"}

// messages has the texts of the sources: the catalogs, and the formats in use with a place of each.
type messages struct {
	files    *token.FileSet
	consts   map[string]string // by folder.name
	doors    map[string][]int  // the arguments that may be formats, by folder.name; of exported functions by package.name, of methods by .name
	chinese  map[string]string // by the English format
	places   map[string]string // of the formats in use
	literals map[string]bool   // every text of the program, so that a catalog has no others
	untold   []string          // messages that only know English
	sources  []source
}

// readMessages reads the sources of the program.
func readMessages(t *testing.T) *messages {
	t.Helper()
	m := &messages{
		files: token.NewFileSet(), consts: map[string]string{}, doors: map[string][]int{}, chinese: map[string]string{},
		places: map[string]string{}, literals: map[string]bool{},
	}
	var all []source
	for _, name := range tree(t) {
		if strings.HasSuffix(name, "/lang/zh.json") {
			m.readCatalog(t, name)
		}
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") || strings.HasSuffix(name, ".pb.go") {
			continue
		}
		f, err := parser.ParseFile(m.files, filepath.Join(root, name), nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, source{path.Dir(name), name, f})
	}
	m.sources = all
	for _, f := range all {
		ast.Inspect(f.File, func(n ast.Node) bool { m.declare(t, f.dir, n); return true })
	}
	for _, f := range all {
		if !staysEnglish(f.dir) {
			ast.Inspect(f.File, func(n ast.Node) bool { m.use(f.dir, n); return true })
		}
	}
	return m
}

func staysEnglish(dir string) bool {
	for ; dir != "."; dir = path.Dir(dir) {
		if onlyEnglish[dir] != "" {
			return true
		}
	}
	return false
}

// declare notes constants, functions that take a format, and catalogs.
func (m *messages) declare(t *testing.T, dir string, n ast.Node) {
	switch n := n.(type) {
	case *ast.ValueSpec:
		for i, name := range n.Names {
			if i < len(n.Values) {
				if text, ok := m.text(dir, n.Values[i]); ok {
					m.consts[dir+"."+name.Name] = text
				}
				m.door(dir, name.Name, n.Values[i])
			}
		}
	case *ast.AssignStmt:
		for i, left := range n.Lhs {
			if name, ok := left.(*ast.Ident); ok && i < len(n.Rhs) {
				m.door(dir, name.Name, n.Rhs[i])
			}
		}
	case *ast.FuncDecl:
		m.doorType(dir, n.Name.Name, n.Type)
		if pkg := path.Base(dir); ast.IsExported(n.Name.Name) {
			if n.Recv != nil {
				pkg = ""
			}
			m.doorType(pkg, n.Name.Name, n.Type)
		}
	case *ast.CompositeLit:
		named, _ := n.Type.(*ast.SelectorExpr)
		isElsewhere := named != nil && named.Sel.Name == "Catalog" && isNamed(named.X, "wording")
		if !isElsewhere && (dir != "llm/value/wording" || !isNamed(n.Type, "Catalog")) {
			return
		}
		for _, e := range n.Elts {
			pair, _ := e.(*ast.KeyValueExpr)
			en, isText := m.text(dir, pair.Key)
			zh, _ := m.text(dir, pair.Value)
			if other, twice := m.chinese[en]; !isText || zh == "" || twice && other != zh {
				t.Errorf("%s: the catalogs have %q as %q and as %q", m.files.Position(pair.Pos()), en, other, zh)
			}
			m.chinese[en] = zh
		}
	}
}

// readCatalog reads a catalog that is a file.
func (m *messages) readCatalog(t *testing.T, name string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, name))
	if err != nil {
		t.Fatal(err)
	}
	doc, err := value.ParseJSON(text)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	for en, of := range doc.Map().All() {
		zh, _ := of.Str()
		if other, twice := m.chinese[en]; zh == "" || twice && other != zh {
			t.Errorf("%s: the catalogs have %q as %q and as %q", name, en, other, zh)
		}
		m.chinese[en] = zh
	}
}

func (m *messages) door(dir, name string, e ast.Expr) {
	if f, ok := e.(*ast.FuncLit); ok {
		m.doorType(dir, name, f.Type)
	}
}

// doorType notes a function with the parameters format and args.
func (m *messages) doorType(dir, name string, f *ast.FuncType) {
	i := 0
	for _, field := range f.Params.List {
		for _, param := range field.Names {
			if param.Name == "format" && isVariadic(f) {
				m.doors[dir+"."+name] = append(m.doors[dir+"."+name], i)
			}
			i++
		}
	}
}

func isVariadic(f *ast.FuncType) bool {
	_, ok := f.Params.List[len(f.Params.List)-1].Type.(*ast.Ellipsis)
	return ok
}

func isNamed(e ast.Expr, name string) bool {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name == name
	case *ast.SelectorExpr:
		return e.Sel.Name == name
	}
	return false
}

// use notes the formats that a node uses.
func (m *messages) use(dir string, n ast.Node) {
	switch n := n.(type) {
	case *ast.BasicLit:
		if text, ok := m.text(dir, n); ok {
			m.literals[text] = true
		}
	case *ast.BinaryExpr:
		if text, ok := m.text(dir, n); ok {
			m.literals[text] = true
		}
	case *ast.KeyValueExpr:
		if name, ok := n.Key.(*ast.Ident); ok && slices.Contains(textFields, name.Name) {
			m.useText(dir, n.Value)
		}
	case *ast.AssignStmt:
		for i, left := range n.Lhs {
			if field, ok := left.(*ast.SelectorExpr); ok && i < len(n.Rhs) && slices.Contains(textFields, field.Sel.Name) {
				m.useText(dir, n.Rhs[i])
			}
		}
	case *ast.CompositeLit:
		if isNamed(n.Type, "mismatch") && len(n.Elts) > 0 {
			m.useText(dir, n.Elts[0])
		}
	case *ast.CallExpr:
		m.useCall(dir, n)
	}
}

// useText notes a text that is a message; one that is put together here is known in English
// only.
func (m *messages) useText(dir string, e ast.Expr) {
	if text, ok := m.text(dir, e); ok {
		m.places[text] = m.files.Position(e.Pos()).String()
		return
	}
	call, isCall := e.(*ast.CallExpr)
	joined, isJoined := e.(*ast.BinaryExpr)
	if isCall && isNamed(call.Fun, "Sprintf") || isJoined && joined.Op == token.ADD {
		m.untold = append(m.untold, m.files.Position(e.Pos()).String())
	}
}

func (m *messages) useCall(dir string, call *ast.CallExpr) {
	pkg, name := calledName(call)
	switch {
	case isLogged(call):
		return
	case pkg == "fmt" && name == "Errorf", pkg == "errors" && name == "New":
		m.useEnglish(dir, call.Args[0])
		return
	case name == "say", name == "Say", pkg == "wording" && name == "Of": // the first also if it is a variable
		m.useText(dir, call.Args[0])
	case name == "Count" && len(call.Args) == 2 && pkg != "strings":
		if noun, ok := m.text(dir, call.Args[1]); ok {
			m.places["%d "+noun] = m.files.Position(call.Pos()).String()
		}
		return
	case isCommand(dir) && (name == "WriteString" || pkg == "fmt" && strings.HasPrefix(name, "Fprint")):
		for _, arg := range call.Args {
			m.useEnglish(dir, arg)
		}
		return
	}
	if pkg != "fmt" {
		m.useFormat(dir, call, slices.Concat(m.doors[dir+"."+name], m.doors[pkg+"."+name], m.doors["."+name]))
	}
	for _, i := range moreFormats[dir][name] {
		if i < len(call.Args) {
			m.useText(dir, call.Args[i])
		}
	}
}

// calledName returns the name of the called function, and of the package or variable before it.
func calledName(call *ast.CallExpr) (pkg, name string) {
	switch f := call.Fun.(type) {
	case *ast.Ident:
		return "", f.Name
	case *ast.SelectorExpr:
		if x, ok := f.X.(*ast.Ident); ok {
			pkg = x.Name
		}
		return pkg, f.Sel.Name
	}
	return "", ""
}

// isLogged reports whether a call writes to a log, which is in English.
func isLogged(call *ast.CallExpr) bool {
	f, isMethod := call.Fun.(*ast.SelectorExpr)
	return isMethod && (isNamed(f.X, "log") || isNamed(f.X, "Log"))
}

// isCommand reports whether a folder has the commands, or their code for printing.
func isCommand(dir string) bool { return dir == "cmd/scheduler" || dir == "cmd/scheduler/terminal" }

// useEnglish notes a text that goes to a user unchanged.
func (m *messages) useEnglish(dir string, e ast.Expr) {
	if text, ok := m.text(dir, e); ok && hasWords(text) && printedAsIs[text] == "" {
		m.untold = append(m.untold, m.files.Position(e.Pos()).String())
	}
}

// useFormat notes the format of a call, which is the last text among the arguments that may be one: a code may
// precede it.
func (m *messages) useFormat(dir string, call *ast.CallExpr, at []int) {
	slices.Sort(at)
	for _, i := range slices.Backward(at) {
		if i >= len(call.Args) {
			continue
		}
		if _, ok := m.text(dir, call.Args[i]); ok {
			m.useText(dir, call.Args[i])
			return
		}
	}
}

// text returns the text of a constant expression.
func (m *messages) text(dir string, e ast.Expr) (string, bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		if e.Kind == token.STRING {
			text, err := strconv.Unquote(e.Value)
			return text, err == nil
		}
	case *ast.Ident:
		text, ok := m.consts[dir+"."+e.Name]
		return text, ok
	case *ast.ParenExpr:
		return m.text(dir, e.X)
	case *ast.BinaryExpr:
		left, ok := m.text(dir, e.X)
		right, ok2 := m.text(dir, e.Y)
		return left + right, ok && ok2 && e.Op == token.ADD
	}
	return "", false
}

var (
	formatVerb = regexp.MustCompile(`%(?:\[(\d+)\])?[-+# 0]*(?:\d*)(?:\.\d+)?([a-zA-Z])`)
	words      = regexp.MustCompile(`[a-zA-Z]{2,}`)
)

func hasWords(format string) bool { return words.MatchString(formatVerb.ReplaceAllString(format, "")) }

// verbsOf returns the verb of each argument that a format takes; %w is %v.
func verbsOf(format string) map[int]string {
	verbs, next := map[int]string{}, 1
	for _, found := range formatVerb.FindAllStringSubmatch(strings.ReplaceAll(format, "%%", ""), -1) {
		if found[1] != "" {
			next, _ = strconv.Atoi(found[1])
		}
		verbs[next] = strings.ReplaceAll(found[2], "w", "v")
		next++
	}
	return verbs
}

// Every message of the program has a Chinese format that takes the same arguments.
func TestMessagesInChinese(t *testing.T) {
	m := readMessages(t)
	for _, format := range slices.Sorted(maps.Keys(m.places)) {
		if _, known := m.chinese[format]; !known && hasWords(format) {
			t.Errorf("%s: %q has no Chinese text", m.places[format], format)
		}
	}
	for _, place := range m.untold {
		t.Errorf("%s: this message knows only English: make it with wording.Errorf, or by a format", place)
	}
	if len(m.places) < 800 {
		t.Errorf("found only %d formats", len(m.places))
	}
}

// The Chinese formats take the arguments of the English ones.
func TestChineseFormats(t *testing.T) {
	m := readMessages(t)
	for en, zh := range m.chinese {
		if got, want := verbsOf(zh), verbsOf(en); !maps.Equal(got, want) {
			t.Errorf("%q takes %v, but %q %v", zh, got, en, want)
		}
	}
}
