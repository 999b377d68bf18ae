package main

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// docsBlock is a fenced block of a guide: its language, its text, and its first line.
type docsBlock struct {
	kind, text string
	line       int
}

// fileOf returns the file that a block is: named in its first line, as in "# hello.yaml", or behind its kind, as in
// "csv questions.csv", for files that have no comments.
func (b docsBlock) fileOf() (name, text string) {
	if _, name, ok := strings.Cut(b.kind, " "); ok {
		return name, b.text
	}
	if m := namedFile.FindStringSubmatch(b.text); m != nil {
		return m[1], strings.TrimPrefix(b.text, m[0])
	}
	return "", b.text
}

func docsBlocks(t *testing.T, page string) (blocks []docsBlock) {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	line := 1
	for i, block := range strings.Split(string(text), "```") {
		if kind, body, ok := strings.Cut(block, "\n"); ok && i%2 == 1 {
			blocks = append(blocks, docsBlock{kind, body, line})
		}
		line += strings.Count(block, "\n")
	}
	return blocks
}

func docsPages(t *testing.T) []string {
	t.Helper()
	docs, err := filepath.Abs("../../docs") // guides are read after the working directory has changed
	if err != nil {
		t.Fatal(err)
	}
	pages, err := filepath.Glob(filepath.Join(docs, "*.md"))
	chinese, errChinese := filepath.Glob(filepath.Join(docs, "zh", "*.md"))
	if err != nil || errChinese != nil || len(pages) == 0 {
		t.Fatalf("there are no guides: %v %v", err, errChinese)
	}
	readme, errReadme := filepath.Glob(filepath.Join(docs, "..", "README*.md"))
	if errReadme != nil {
		t.Fatal(errReadme)
	}
	skill := filepath.Join(docs, "..", "skills", "scheduler", "SKILL.md")
	return slices.Concat(pages, chinese, readme, []string{skill})
}

// TestDocs works through each guide as a reader would. A block that begins with the name of a file, as in "# hello.yaml",
// is written to that file; flows among them have to lint clean, tests to pass, settings to load. Other YAML has to
// parse. The commands of console blocks are run in their order, and the lines below a command have to be in its
// output, in which … matches anything. A block of kind sh needs the outside world (a server, a package manager);
// the test only checks that its scheduler commands exist. https://api.example.com/v1 answers as a model.
func TestDocs(t *testing.T) {
	for _, page := range docsPages(t) {
		name := filepath.Join(filepath.Base(filepath.Dir(page)), filepath.Base(page))
		t.Run(name, func(t *testing.T) {
			r := &docsReader{page: name, model: answerAs(t).URL}
			blocks := docsBlocks(t, page)
			t.Chdir(t.TempDir())
			t.Setenv("SCHEDULER_LLM_DEFAULT", "echo")
			t.Setenv("EXAMPLE_API_KEY", keyOfGuides)
			for _, b := range blocks {
				r.read(t, b)
			}
			r.runTests(t)
			r.checkKey(t)
		})
	}
}

const keyOfGuides = "a-key-of-the-guides"

// docsReader carries out the blocks of one guide in their order.
type docsReader struct {
	page, model string
	// tests are the test files of the guide, which are run at its end: a command may record their answers.
	tests []string
}

// runTests runs the test files of the guide.
func (r *docsReader) runTests(t *testing.T) {
	t.Helper()
	for _, file := range r.tests {
		if code, out := runDocs("test", file); code != exitDone {
			t.Errorf("%s: %s: exit code %d\n%s", r.page, file, code, out)
		}
	}
}

// checkKey looks for the key of the model server in everything that was written, such as reports and cassettes.
func (r *docsReader) checkKey(t *testing.T) {
	t.Helper()
	err := filepath.WalkDir(".", func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := os.ReadFile(path) // below a temporary folder of the test
		if bytes.Contains(text, []byte(keyOfGuides)) {
			t.Errorf("%s: the key is in %s", r.page, path)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

func (r *docsReader) read(t *testing.T, b docsBlock) {
	t.Helper()
	switch kind, _, _ := strings.Cut(b.kind, " "); kind {
	case "yaml", "json", "jsonl", "csv", "text", "markdown":
		r.writeFile(t, b)
	case "console":
		r.runConsole(t, b)
	case "sh":
		r.checkCommands(t, b)
	case "go", "mermaid", "":
	default:
		t.Errorf("%s:%d: blocks of %s are not tested", r.page, b.line, b.kind)
	}
}

// namedFile matches the first line of a block that is a file.
var namedFile = regexp.MustCompile(`^(?:#|//|<!--) ?([\w./-]+\.[a-z]+)(?: -->)?\n`)

func (r *docsReader) writeFile(t *testing.T, b docsBlock) {
	t.Helper()
	name, text := b.fileOf()
	if name == "" {
		if err := yaml.Unmarshal([]byte(b.text), new(any)); b.kind == "yaml" && err != nil && !strings.Contains(b.text, "# ERROR") {
			t.Errorf("%s:%d: %v", r.page, b.line, err)
		}
		return
	}
	text = strings.ReplaceAll(text, "https://api.example.com/v1", r.model)
	if err := os.MkdirAll(filepath.Dir(name), 0o750); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	var code int
	var out string
	switch {
	case filepath.Base(name) == "scheduler.yaml":
		code, out = runDocs("runs", "--config", name)
	case strings.HasSuffix(name, ".test.yaml"):
		r.tests = append(r.tests, name)
	case strings.Contains("\n"+text, "\nsteps:"):
		if code, out = runDocs("lint", name); strings.Contains(out, "last message only") {
			code = exitFailed
		}
	}
	if code != exitDone {
		t.Errorf("%s:%d: %s: exit code %d\n%s", r.page, b.line, name, code, out)
	}
}

func runDocs(args ...string) (code int, output string) {
	var out bytes.Buffer
	code = runProgram(args, strings.NewReader(""), &out, &out)
	return code, out.String()
}

// exitComment matches the note at a command that does not end with 0, as in "# exit code 3".
var exitComment = regexp.MustCompile(`\s+#(?:.*exit code (\d+))?.*$`)

// runConsole runs the commands of a console block.
func (r *docsReader) runConsole(t *testing.T, b docsBlock) {
	t.Helper()
	output, last := "", ""
	for line := range strings.SplitSeq(strings.TrimRight(strings.ReplaceAll(b.text, "\\\n", " "), "\n"), "\n") {
		command, ok := strings.CutPrefix(line, "$ ")
		if !ok {
			if !printed(output, line) {
				t.Errorf("%s:%d: %s does not print %q\n%s", r.page, b.line, last, line, output)
			}
			continue
		}
		last = command
		want := exitDone
		if m := exitComment.FindStringSubmatch(command); m != nil {
			command = strings.TrimSuffix(command, m[0])
			if m[1] != "" {
				want, _ = strconv.Atoi(m[1]) // digits
			}
		}
		words := wordsOf(command)
		switch words[0] {
		case "cd":
			t.Chdir(words[1])
		case "export":
			name, v, _ := strings.Cut(words[1], "=")
			t.Setenv(name, v)
		case "scheduler":
			var code int
			if code, output = runDocs(words[1:]...); code != want {
				t.Errorf("%s:%d: %s: exit code %d, want %d\n%s", r.page, b.line, command, code, want, output)
			}
		default:
			t.Errorf("%s:%d: %s cannot be run here: a block of kind sh is for what needs the world", r.page, b.line, command)
		}
	}
}

// aTime matches a duration, which differs from run to run.
var aTime = regexp.MustCompile(`\b[0-9.]+ (ms|s)\b`)

// printed reports whether a line of a guide is in the output; … in it matches any text.
func printed(output, line string) bool {
	pattern := []string{}
	for part := range strings.SplitSeq(aTime.ReplaceAllString(strings.TrimSpace(line), "…"), "…") {
		pattern = append(pattern, regexp.QuoteMeta(part))
	}
	return regexp.MustCompile(strings.Join(pattern, ".*")).MatchString(output)
}

// aCommand matches a command of scheduler in a shell's line: at its beginning, after variables, in a pipe or in $(...).
var aCommand = regexp.MustCompile(`(?m)(?:^|&& |\| |\(|^[A-Z_]+=\S+ )scheduler ([^|&)\n]*)`)

// checkCommands checks that the commands of scheduler in a block, and their flags, exist.
func (r *docsReader) checkCommands(t *testing.T, b docsBlock) {
	t.Helper()
	for _, m := range aCommand.FindAllStringSubmatch(strings.ReplaceAll(b.text, "\\\n", " "), -1) {
		command := m[1]
		words := wordsOf(exitComment.ReplaceAllString(command, ""))
		path := []string{}
		for _, w := range words {
			if strings.HasPrefix(w, "-") {
				break
			}
			path = append(path, w)
		}
		_, help := runDocs(append(path, "--help")...)
		for _, w := range words {
			if flag, _, _ := strings.Cut(w, "="); strings.HasPrefix(flag, "-") && !strings.Contains(help, flag) {
				t.Errorf("%s:%d: %s: no flag %s", r.page, b.line, command, flag)
			}
		}
	}
}

// answerAs is a server that answers as a model, and as a judge who finds all criteria met.
func answerAs(t *testing.T) *httptest.Server {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		text := "On Sunday from 11:00 to 16:00."
		if n := strings.Count(string(asked), "Invents nothing"); n > 0 || strings.Contains(string(asked), "Names the opening hours") {
			verdicts := []map[string]any{{"reason": "It does.", "met": true}}
			if n > 0 {
				verdicts = append(verdicts, verdicts[0])
			}
			judged, err := json.Marshal(map[string]any{"criteria": verdicts})
			if err != nil {
				t.Error(err)
			}
			text = string(judged)
		}
		w.Header().Set("Content-Type", "text/event-stream")
		delta, err := json.Marshal(map[string]any{"choices": []any{map[string]any{"index": 0, "delta": map[string]any{"content": text}, "finish_reason": "stop"}}})
		if err != nil {
			t.Error(err)
		}
		_, _ = w.Write([]byte("data: " + string(delta) + "\n\ndata: [DONE]\n\n")) // a test that ended does not read it
	}))
	t.Cleanup(server.Close)
	return server
}

// wordsOf splits a command line into its words; quotes hold words together.
func wordsOf(line string) (words []string) {
	word, quote, within := strings.Builder{}, rune(0), false
	for _, c := range line {
		switch {
		case quote != 0 && c == quote:
			quote = 0
		case quote == 0 && (c == '"' || c == '\''):
			quote, within = c, true
		case quote == 0 && c == ' ':
			if within {
				words = append(words, word.String())
			}
			word.Reset()
			within = false
		default:
			word.WriteRune(c)
			within = true
		}
	}
	if within {
		words = append(words, word.String())
	}
	return words
}

// TestDocsGo compiles the Go blocks of the guides, each a package of its own inside the module.
func TestDocsGo(t *testing.T) {
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	replace, packages := map[string]string{}, []string{}
	for _, page := range docsPages(t) {
		for i, b := range docsBlocks(t, page) {
			if b.kind != "go" {
				continue
			}
			name := "guide_" + strings.TrimSuffix(filepath.Base(page), ".md") + strconv.Itoa(i)
			file := filepath.Join(t.TempDir(), name+".go")
			if err := os.WriteFile(file, []byte(b.text), 0o600); err != nil {
				t.Fatal(err)
			}
			replace[filepath.Join(root, "docs", name, "block.go")] = file
			packages = append(packages, "./docs/"+name)
		}
	}
	if len(packages) == 0 {
		t.Fatal("no guide has a block of Go")
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "overlay.json")
	if err := os.WriteFile(file, overlay, 0o600); err != nil {
		t.Fatal(err)
	}
	build := exec.Command("go", append([]string{"build", "-trimpath", "-overlay", file}, packages...)...)
	build.Dir, build.Env = root, append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
