package docs

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestList holds the table of contents to the files: each guide is listed once, begins with its title and ends
// with a next step.
func TestList(t *testing.T) {
	for _, language := range []string{"en", "zh"} {
		var listed []string
		for _, guide := range List(language) {
			text, ok := Read(guide.Topic, language)
			if !ok {
				t.Errorf("%s: %s is listed and is no file", language, guide.Topic)
			}
			if language == "en" && !strings.HasPrefix(text, "# "+guide.Title+"\n") {
				t.Errorf("%s does not begin with its title %q", guide.Topic, guide.Title)
			}
			if !strings.Contains(text, "\nNext: ") && !strings.Contains(text, "\n下一步：") {
				t.Errorf("%s: %s has no next step", language, guide.Topic)
			}
			listed = append(listed, guide.Topic+".md")
		}
		slices.Sort(listed)
		if language == "zh" {
			continue // its list links to English guides where there is no Chinese one
		}
		if have, err := fs.Glob(files, "*.md"); err != nil || !slices.Equal(slices.DeleteFunc(have, isContents), listed) {
			t.Errorf("listed are %v, and the files are %v (%v)", listed, have, err)
		}
	}
}

func isContents(name string) bool { return name == "README.md" }

// link matches a relative link of Markdown to a file.
var link = regexp.MustCompile(`\]\(((?:\.\./)*[A-Za-z][^:)#]*\.md)[)#]`)

// TestLinks checks that links between guides lead to files, from the folder of each language.
func TestLinks(t *testing.T) {
	for _, folder := range []string{".", "zh"} {
		names, err := fs.Glob(files, path.Join(folder, "*.md"))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			text, err := fs.ReadFile(files, name)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range link.FindAllStringSubmatch(string(text), -1) {
				if _, err := os.Stat(filepath.Join(folder, filepath.FromSlash(m[1]))); err != nil {
					t.Errorf("%s links to %s, which is no file", name, m[1])
				}
			}
		}
	}
}
