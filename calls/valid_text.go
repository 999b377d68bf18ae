package calls

import (
	"strings"
	"unicode/utf8"
)

// IsValidText reports whether a name is valid UTF-8, and was so before a parser replaced invalid bytes: after a
// conversion, several names could be the same.
func IsValidText(name string) bool {
	return utf8.ValidString(name) && !strings.ContainsRune(name, utf8.RuneError)
}
