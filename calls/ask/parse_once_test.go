package ask

import "testing"

// A built-in text is parsed once; a user's text, whose file may change, at each use.
func TestParseOnce(t *testing.T) {
	for _, isBuiltIn := range []bool{true, false} {
		first, err := parseOnce(isBuiltIn, "lang/en/a.txt", "{{ name }} once")
		if err != nil {
			t.Fatal(err)
		}
		again, err := parseOnce(isBuiltIn, "lang/en/a.txt", "{{ name }} once")
		if err != nil {
			t.Fatal(err)
		}
		if isSame := first == again; isSame != isBuiltIn {
			t.Errorf("built in: %v; the second use has the same template: %v", isBuiltIn, isSame)
		}
	}
	if _, err := parseOnce(true, "lang/en/b.txt", "{% if %}"); err == nil {
		t.Error("a text with a fault is parsed")
	}
}
