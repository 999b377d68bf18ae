package naming

import "testing"

// A file matches by the end of its path, wherever the program was started.
func TestMatchesPath(t *testing.T) {
	for _, c := range []struct {
		pattern, file string
		want          bool
	}{
		{"a.txt", "flows/sub/a.txt", true},
		{"sub/a.txt", "flows/sub/a.txt", true},
		{"./sub/a.txt", "sub/a.txt", true},
		{"sub/*.txt", "flows/sub/a.txt", true},
		{"naming/a.txt", "a.txt", true}, // of this folder
		{"ub/a.txt", "flows/sub/a.txt", false},
		{"sub", "flows/sub/a.txt", false},
		{"other/a.txt", "flows/sub/a.txt", false},
		{"a.txt", "", false},
	} {
		if got := MatchesPath(c.pattern, c.file); got != c.want {
			t.Errorf("%s and %s: %v", c.pattern, c.file, got)
		}
	}
}
