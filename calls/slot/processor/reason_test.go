package processor

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Every reason of this package can be said in Chinese.
func TestReasonsAreTranslated(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	reasons := regexp.MustCompile(`(?:because|\.say)\("((?:[^"\\\\]|\\\\.)*)"`)
	found := 0
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range reasons.FindAllStringSubmatch(string(source), -1) {
			found++
			if chineseReasons[m[1]] == "" {
				t.Errorf("%s: %q has no Chinese text", file, m[1])
			}
		}
	}
	if found < 15 {
		t.Errorf("only %d reasons were found", found)
	}
	p := (&Processor{}).In("zh")
	if got := p.explain(because("%v: the array at %q has %d items", because("the index %d is past the end", 7), "/a", 2)); got != `下标 7 超出末尾："/a" 处的数组有 2 项` {
		t.Error(got)
	}
}
