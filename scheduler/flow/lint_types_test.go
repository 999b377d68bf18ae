package flow

import "testing"

// The types that a parameter may have are named in Chinese, as other messages name them.
func TestJoinTypes(t *testing.T) {
	text := joinTypes([]string{"array", "null"})
	if text.En != "array or null" || text.Zh != "数组或空值" {
		t.Errorf("got %q, %q", text.En, text.Zh)
	}
}
