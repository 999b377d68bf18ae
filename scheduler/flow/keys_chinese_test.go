package flow

import "testing"

// Every key and its type are described in Chinese, and nothing else is.
func TestChineseKeys(t *testing.T) {
	used := map[string]bool{}
	for _, k := range Keys() {
		used[k.Doc.En] = true
		if k.Doc.Zh == k.Doc.En {
			t.Errorf("%s: %q is not in keys_chinese.go", k.Path, k.Doc)
		}
		if k.Type.Zh == k.Type.En {
			t.Errorf("%s: the type %q is in no catalog", k.Path, k.Type)
		}
	}
	for doc := range chineseKeys {
		if !used[doc] {
			t.Errorf("no key says %q", doc)
		}
	}
}
