package naming

import (
	"path"
	"path/filepath"
	"strings"
)

// Matches reports whether a name fits a pattern, in which * matches any text. For example, inputs.* matches
// inputs.question.
func Matches(pattern, name string) bool {
	if pattern == name {
		return name != ""
	}
	if !strings.Contains(pattern, "*") {
		return false
	}
	parts := strings.Split(pattern, "*")
	if !strings.HasPrefix(name, parts[0]) {
		return false
	}
	name = name[len(parts[0]):]
	for _, part := range parts[1 : len(parts)-1] {
		i := strings.Index(name, part)
		if i < 0 {
			return false
		}
		name = name[i+len(part):]
	}
	return strings.HasSuffix(name, parts[len(parts)-1])
}

// MatchesPath reports whether a pattern matches a file: its name, its path, or the end of its path. Paths of
// sources begin at the working directory or at a flow, so that their beginning says nothing.
func MatchesPath(pattern, file string) bool {
	if file == "" {
		return false
	}
	file = filepath.ToSlash(file)
	if Matches(pattern, file) || Matches(pattern, path.Base(file)) {
		return true
	}
	pattern = strings.TrimPrefix(pattern, "./")
	if !strings.Contains(pattern, "/") {
		return false
	}
	full, err := filepath.Abs(filepath.FromSlash(file))
	return err == nil && Matches("*/"+pattern, filepath.ToSlash(full))
}

// firstName returns the start of a path: the name before its first member or item.
func firstName(path string) string {
	name, _, _ := strings.Cut(path, ".")
	name, _, _ = strings.Cut(name, "[")
	return name
}
