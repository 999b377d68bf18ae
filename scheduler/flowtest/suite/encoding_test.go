package suite

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Data that is not UTF-8, as spreadsheets save it, is refused with the place: as Latin-1, GBK or UTF-16 it would be other texts.
func TestDataIsUTF8(t *testing.T) {
	for name, c := range map[string]struct {
		rows      string
		line, col int
	}{
		"Latin-1":                      {"question\ncaf\xe9\n", 2, 4},
		"GBK":                          {"question\nplain\n\xc4\xe3\xba\xc3\n", 3, 1},
		"UTF-16 with a mark":           {"\xff\xfeq\x00\n\x00", 1, 1},
		"UTF-16 without one":           {"q\x00u\x00\n\x00", 1, 1},
		"after other characters":       {"question\n你好\xff\n", 2, 3},
		"right, beginning with a mark": {"\ufeffquestion\ncafé\n", 0, 0},
	} {
		dir := t.TempDir()
		for file, text := range map[string]string{
			"a.yaml":      "inputs: {type: object, properties: {question: {type: string}}}\nsteps: [{id: say, call: template, with: {template: hello}}]\n",
			"a.test.yaml": "dataset: {file: rows.csv}\ncases: [{name: one, expect: [{step: say.text, equals: hello}]}]\n",
			"rows.csv":    c.rows,
		} {
			if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		_, problems := newLoader(t, dir).Load(t.Context(), filepath.Join(dir, "a.test.yaml"))
		if c.line == 0 {
			if problems.HasErrors() {
				t.Errorf("%s: %v", name, problems)
			}
			continue
		}
		if len(problems) != 1 || !strings.HasPrefix(problems[0].Message, "the text is not UTF-8") || problems[0].Pos.Line != c.line || problems[0].Pos.Col != c.col {
			t.Errorf("%s: %v", name, problems)
		}
	}
}
