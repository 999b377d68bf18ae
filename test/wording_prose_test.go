package test

import (
	"go/ast"
	"go/token"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// englishFiles are the files, and the folders that end in /, whose texts are not messages, and
// why.
var englishFiles = map[string]string{
	"calls/builtin/functions.go":               "words of questions",
	"calls/builtin/reference.go":               "the reference, with its Chinese beside it",
	"calls/builtin/variables.go":               "the reference is in English",
	"calls/internal/date/":                     "words of dates that texts have",
	"calls/input/examples.go":                  "the reference is in English",
	"calls/memory/facts/":                      "words of texts and questions; its tables are files of the program",
	"calls/memory/rank/":                       "words of texts and questions",
	"calls/schema/utterance.go":                "words that answers have",
	"cmd/scheduler/chinesehelp/translate.go":   "the help of commands, with its Chinese beside it",
	"llm/prompt/internal/builtins/builtins.go": "the reference is in English",
	"llm/value/wording/libraries.go":           "what libraries say, with its Chinese beside it",
	"plugins/host/services/services.go":        "what a plugin is told, which knows English",
	"scheduler/flow/editor.go":                 "the schema for editors is in English",
	"scheduler/flow/keys_chinese.go":           "the docs of keys, with their Chinese beside them",
	"scheduler/flow/reference.go":              "the reference is in English",
	"scheduler/flowtest/check/editor.go":       "the schema for editors is in English",
	"scheduler/flowtest/suite/editor.go":       "the schema for editors is in English",
	"scheduler/server/metrics.go":              "the help of metrics is in English",
	"scheduler/server/ui.go":                   "headers",
	"scheduler/service/describe_call.go":       "parts of a flow file",
	"scheduler/telemetry/metrics.go":           "the help of metrics is in English",
	"scheduler/temporal/codec.go":              "texts of the SDK and of its protocol",
	"scheduler/temporal/watch.go":              "the log is in English",
	"scheduler/temporal/workflow.go":           "what the page of Temporal shows, which is in English",
}

// englishTexts are texts that stay English or that no user reads, and why.
var englishTexts = map[string]string{
	" Taken as written.": "the reference is in English",
	"Agrees with these facts, and contradicts none of them: ": "a criterion for a judge, in the file that is made",
	"Answers what was asked, and nothing else":                "a criterion for a judge, in the file that is made",
	"A call of a plugin.":                                     "the schema for editors is in English",
	"A tool of the MCP server ":                               "the reference is in English",
	"Base directory: ":                                        "what the model reads before a skill",
	"HTTP response to HTTPS client":                           "a text of the standard library, to find",
	"Takes the arguments that are still missing.":             "what the model reads of a tool",
	"The dialogue, oldest first: strings, {role, content} or {is_user, content, timestamp}.": "the reference is in English",
	"Memories, best first: strings, {text or content, score} or [text, score].":              "the reference is in English",
	"The parts of the answer that are not text: images, resources.":                          "the reference is in English",
	"The texts of the answer.": "the reference is in English",
	"a an the your our my this that of for is are it its which what who how many much to be": "words of descriptions that say nothing new",
	"number of ": "the beginning of an English name, which a question with How many leaves out",
	"Two words.": "a sample value, by which a check that cannot fail is found",
	"Values of the placeholders in the path.": "what the model reads of a tool",
	"Parameters of the query.":                "what the model reads of a tool",
	"Headers of the request.":                 "what the model reads of a tool",
	"Bearer realm=\"scheduler\"":              "a header",
	"a worker has another journal than the one that the run is in: all machines need the same store": "what the page of Temporal shows, which is in English",
	"%d workers died at the run: it pauses before the next try":                                      "what a worker tells other machines, which know the language",
	"500ms or 30s":                       "durations",
	"two words":                          "a text to try expressions on",
	"anthropic provider ":                "for the log",
	"openai provider ":                   "for the log",
	"openai-responses provider ":         "for the log",
	"encrypted content is not supported": "a text of a vendor, to find",
	"conn closed":                        "a text of a library, to find",
	"credit balance is too low":          "a text of a vendor, to find",
	"did you mean ":                      "the beginning of a hint, which wording.Of says",
	"there are ":                         "the beginning of a hint, which wording.Of says",
	"did you mean %q?":                   "a hint, which wording.Of says",
	"non-negative integer":               "a type, which wording.TypeName says",
	"exit code %d":                       "of an error that is not printed",
	"fatal error: ":                      "a text of the standard library, to find",
	"for each ":                          "a drawing has the words of the flow file",
	"form-data; name=\"%s\"":             "a header",
	"input config.jsonc":                 "the name of a text",
	"inputs and inputs":                  "an expression",
	"left out by %s: %s %s: %s (%s)\n":   "a line of a snapshot, which languages do not change",
	"no execution":                       "a fault of the program, for its authors",
	"prompt is too long":                 "a text of a vendor, to find",
	"second YAML document":               "a text of a package, to find",
	"# Recorded runs: answers of models, servers, tools and the memory. A request is found by its key; a\n# recording without a key gets it from its request, so that recordings can be written by hand.\n":         "the head of a file that languages do not change",
	"# Recorded runs: answers of models, servers, tools and the memory. A request is found by its key; a\n# recording without a key gets it from its request, so that recordings can be written by hand.\n;sha256,": "the head of a file that languages do not change",
	"hujson: line %d, column %d:":                          "a text of a library, to find",
	`json:"an entry of needs"`:                             "a tag of a field",
	"%ssubgraph cluster_%s {\n%slabel=%s;\n":               "a line of dot",
	"(output, context) =>":                                 "JavaScript",
	"server refused TLS connection":                        "a text of a library, to find",
	"signal: %s (core dumped)":                             "a text of the operating system",
	"exit status %d":                                       "a text of the operating system",
	"signal: killed":                                       "a text of the operating system, to find",
	"the step waits for values":                            "of an error that the engine takes for itself",
	"%s is started by scheduler itself, not by hand\n":     "before any language is known",
	"# Snapshots of scheduler test; --update writes them.": "the head of a file that languages do not change",
	"# scheduler test: %s\n\n":                             "a name",
	"scheduler test":                                       "a name",
	"scheduler plugins trust ":                             "a command",
	"scheduler plugins verify ":                            "a command",
	"scheduler serve\n\nThe API is described at ":          "for programs that ask the server for text",
	"Start a run of ":                                      "the document of the API is in English",
	"unknown keyword":                                      "a code",
	"missing input":                                        "a code",
	"not in":                                               "an operator",
	"list dict":                                            "names",
	"id, owner, number, category, body":                    "columns",
	"schedule, key, at, run, state, reason":                "columns",
	"id, name, hash, \"user\", scopes, created, expires":   "columns",
	"no-store, no-transform":                               "a header",
	"text/plain; charset=utf-8":                            "a header",
	"text/event-stream, application/json":                  "a header",
}

// englishArgs are the functions whose texts stay English, and why.
var englishArgs = map[string]string{
	"MustCompile": "a pattern",
	"addFlags":    "the help of commands, which the package chinesehelp has in Chinese",
	"panic":       "a fault of the program, for its authors",
}

// englishFields are the fields of composite literals whose texts stay English, and why.
var englishFields = map[string]string{
	"Description": "the reference is in English; where it has two languages it is a wording.Text",
	"Example":     "the help of commands, which the package chinesehelp has in Chinese",
	"Examples":    "the reference is in English",
	"Long":        "the help of commands, which the package chinesehelp has in Chinese",
	"Short":       "the help of commands, which the package chinesehelp has in Chinese",
	"Use":         "the help of commands, which the package chinesehelp has in Chinese",
	"advice":      "the document of the API is in English",
	"doc":         "the reference is in English",
	"summary":     "the document of the API is in English",
	"Event":       "what a vendor sends",
}

// flagMethod matches the methods of pflag that define a flag: the package chinesehelp has the help of commands in Chinese.
var flagMethod = regexp.MustCompile(`^(String|Bool|Int|Int64|Uint64|Float64|Duration|Count|StringSlice|StringArray|Var)(Var)?P?$`)

var (
	prose     = regexp.MustCompile(`[A-Za-z]{2,}[,:;]? [a-z]{2,}`)
	sqlWords  = regexp.MustCompile(`\b(SELECT|INSERT|UPDATE|DELETE|FROM|WHERE|PRAGMA|CREATE|ORDER BY|AND|VALUES|RETURNING|LIMIT|VACUUM|ALTER|LOCK|ROLLBACK|SAVEPOINT|RELEASE)\b`)
	hanLetter = regexp.MustCompile(`\p{Han}`)
)

// hasProse reports whether a text has English words in a row: not SQL, not Chinese with names in
// it, and not a document of several lines, such as an example or a list of words.
func hasProse(text string) bool {
	return strings.Count(text, "\n") < 3 && prose.MatchString(formatVerb.ReplaceAllString(text, " ")) && !sqlWords.MatchString(text) && !hanLetter.MatchString(text)
}

// untoldProse returns the English texts of a file that no catalog has, with their places.
func (m *messages) untoldProse(f source) (untold []string) {
	dir := f.dir
	visit := func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ImportSpec:
			return false
		case *ast.Field:
			return n.Tag == nil
		case *ast.CallExpr:
			if pkg, name := calledName(n); pkg == "fmt" && strings.HasPrefix(name, "Sprint") {
				untold = append(untold, m.joinedProse(dir, n.Args[0])...) // known or not: it is not said
			}
			return !m.keepsEnglish(n)
		case *ast.KeyValueExpr:
			key, isName := n.Key.(*ast.Ident)
			return !isName || englishFields[key.Name] == ""
		case *ast.CompositeLit:
			list, isList := n.Type.(*ast.ArrayType)
			isExamples := isList && isNamed(list.Elt, "Example")
			return !isExamples && !isNamed(n.Type, "Catalog") && !isNamed(n.Type, "Text")
		case *ast.BasicLit, *ast.BinaryExpr:
			text, isText := m.text(dir, n.(ast.Expr))
			if joined, isJoined := n.(*ast.BinaryExpr); !isText && isJoined && joined.Op == token.ADD {
				untold = append(untold, m.joinedProse(dir, joined.X)...)
				untold = append(untold, m.joinedProse(dir, joined.Y)...)
			}
			if !isText {
				return true
			}
			if _, known := m.chinese[text]; !known && m.chinese["%d "+text] == "" && hasProse(text) && englishTexts[text] == "" {
				untold = append(untold, m.files.Position(n.Pos()).String()+": "+strconv.Quote(text))
			}
			return false
		}
		return true
	}
	ast.Inspect(f.File, visit)
	return untold
}

// joinedProse returns the place of an English text that is a part of another one, which no
// catalog has as a whole.
func (m *messages) joinedProse(dir string, e ast.Expr) []string {
	text, isText := m.text(dir, e)
	if !isText || !hasProse(text) || englishTexts[text] != "" {
		return nil
	}
	return []string{m.files.Position(e.Pos()).String() + ": " + strconv.Quote(text)}
}

// keepsEnglish reports whether a call takes English texts.
func (m *messages) keepsEnglish(call *ast.CallExpr) bool {
	pkg, name := calledName(call)
	if isLogged(call) || englishArgs[name] != "" || pkg != "" && englishArgs[pkg+"."+name] != "" {
		return true
	}
	if f, isMethod := call.Fun.(*ast.SelectorExpr); isMethod { // p.log().Error(...)
		if from, isCall := f.X.(*ast.CallExpr); isCall {
			_, made := calledName(from)
			if slices.Contains([]string{"log", "GetLogger"}, made) {
				return true
			}
		}
	}
	return flagMethod.MatchString(name) && len(call.Args) >= 3
}

// staysEnglishFile reports whether a file, or a folder that it is in, is listed.
func staysEnglishFile(name string) bool {
	if englishFiles[name] != "" {
		return true
	}
	for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
		if englishFiles[dir+"/"] != "" {
			return true
		}
	}
	return false
}

// Every English text of the program that a user may read is in a catalog, however it gets to
// the user: as a format, as an argument, or put together.
func TestProseInChinese(t *testing.T) {
	m := readMessages(t)
	for _, f := range m.sources {
		if staysEnglish(f.dir) || staysEnglishFile(f.name) {
			continue
		}
		for _, place := range m.untoldProse(f) {
			t.Errorf("%s: this text knows only English: say it by wording, with its Chinese in a catalog, or list it with the reason", place)
		}
	}
	for text := range englishTexts {
		if !m.literals[text] {
			t.Errorf("%q is listed, and the program has no such text: take it out", text)
		}
	}
}
