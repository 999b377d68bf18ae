package docs

import (
	"io/fs"
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
var link = regexp.MustCompile(`\]\(([a-z][^:)#]*\.md)[)#]`)

// TestLinks checks that links between guides lead to guides.
func TestLinks(t *testing.T) {
	for _, guide := range List("en") {
		text, _ := Read(guide.Topic, "en")
		for _, m := range link.FindAllStringSubmatch(text, -1) {
			if _, ok := Read(strings.TrimSuffix(m[1], ".md"), "en"); !ok && m[1] != "README.md" {
				t.Errorf("%s links to %s, which is no guide", guide.Topic, m[1])
			}
		}
	}
}
