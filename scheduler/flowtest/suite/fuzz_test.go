package suite

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
)

// fuzzFlow is the flow of fuzzed test files.
const fuzzFlow = `name: t
inputs: {type: object, properties: {question: {type: string}, count: {type: integer}}}
memory: {user: u, session: s}
steps:
  - {id: each, call: template, for_each: [1, 2], with: {template: hello}}
  - {id: answer, call: chat, with: {user: "{{ inputs.question }}", temperature: 0}}
`

// seedArchives calls use with the test file and the dataset of each archive of the goldens.
func seedArchives(f *testing.F, use func(test, rows []byte)) {
	f.Helper()
	names, err := filepath.Glob("testdata/load/*.txtar")
	if err != nil {
		f.Fatal(err)
	}
	for _, name := range names {
		archive, err := txtar.ParseFile(name)
		if err != nil {
			f.Fatal(err)
		}
		var test, rows []byte
		for _, file := range archive.Files {
			if file.Name == "t.test.yaml" {
				test = file.Data
			} else if strings.HasPrefix(file.Name, "d.") {
				rows = file.Data
			}
		}
		use(test, rows)
	}
}

// FuzzParse: whatever a test file has, reading it ends; it gives a suite or errors, and never both; and all errors
// have a place.
func FuzzParse(f *testing.F) {
	seedArchives(f, func(test, _ []byte) { f.Add(test) })
	dir := f.TempDir()
	for name, content := range map[string]string{"t.yaml": fuzzFlow, "u.yaml": fuzzFlow, "d.csv": "question,count\na,1\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			f.Fatal(err)
		}
	}
	l := newLoader(f, dir)
	f.Fuzz(func(t *testing.T, src []byte) {
		checkLoaded(t, l, filepath.Join(dir, "t.test.yaml"), src)
	})
}

// FuzzDataset: the same for rows of each format.
func FuzzDataset(f *testing.F) {
	seedArchives(f, func(_, rows []byte) { f.Add(rows) })
	dir := f.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "t.yaml"), []byte(fuzzFlow), 0o600); err != nil {
		f.Fatal(err)
	}
	l := newLoader(f, dir)
	f.Fuzz(func(t *testing.T, rows []byte) {
		for _, name := range []string{"d.csv", "d.jsonl", "d.yaml"} {
			if err := os.WriteFile(filepath.Join(dir, name), rows, 0o600); err != nil {
				t.Fatal(err)
			}
			src := "dataset: {file: " + name + "}\ncases: [{name: a, inputs: {question: \"{{ row }}\"}}]\n"
			checkLoaded(t, l, filepath.Join(dir, "t.test.yaml"), []byte(src))
		}
	})
}

func checkLoaded(t *testing.T, l *Loader, path string, src []byte) {
	t.Helper()
	s, problems := l.Parse(t.Context(), path, src)
	if (s == nil) != problems.HasErrors() {
		t.Errorf("a suite: %v, problems: %v", s != nil, problems)
	}
	for _, p := range problems {
		if p.Pos.File == "" || p.Pos.Line < 1 || p.Pos.Col < 1 || p.Message == "" {
			t.Errorf("a problem without a place or a message: %q", p)
		}
	}
	if s == nil {
		return
	}
	ids := map[string]bool{}
	for _, c := range s.Cases {
		if c.Flow == nil || c.Loader == nil || c.Repeat < 1 || c.Now.IsZero() {
			t.Errorf("the case %q is not complete", c.ID())
		}
		ids[c.ID()] = true
	}
	if len(s.Cases) == 0 || len(ids) > len(s.Cases) {
		t.Errorf("%d cases with %d ids", len(s.Cases), len(ids))
	}
}
