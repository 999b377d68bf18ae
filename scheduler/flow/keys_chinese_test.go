package flow

import (
	"strings"
	"testing"
)

// Every key and its type are described in Chinese, and nothing else is.
func TestChineseKeys(t *testing.T) {
	used := map[string]bool{}
	for _, k := range Keys() {
		used[k.Doc] = true
		if text := k.Text(); text.Zh == text.En {
			t.Errorf("%s: %q is not in keys_chinese.go", k.Path, k.Doc)
		}
		isEnum := strings.Contains(k.Type, " or ") && k.Type != "true or false"
		if text := k.TypeText(); !isEnum && text.Zh == text.En {
			t.Errorf("%s: the type %q is in no catalog", k.Path, k.Type)
		}
	}
	for doc := range chineseKeys {
		if !used[doc] {
			t.Errorf("no key says %q", doc)
		}
	}
}
