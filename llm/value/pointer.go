package value

import "strings"

// The escaping and unescaping of RFC 6901, used by all code that makes or reads a JSON pointer. The key "" is an
// empty token: its pointer is "/", and its member a has the pointer "//a".

var (
	escaper   = strings.NewReplacer("~", "~0", "/", "~1")
	unescaper = strings.NewReplacer("~1", "/", "~0", "~")
)

// Escape makes one RFC 6901 reference token of a key: ~ becomes ~0, / becomes
// ~1.
func Escape(key string) string { return escaper.Replace(key) }

// Unescape returns the key of one reference token.
func Unescape(token string) string {
	if !strings.Contains(token, "~") {
		return token
	}
	return unescaper.Replace(token)
}

// FormatPointer returns the pointer that leads through the keys and indexes; without
// any it is "", which names the whole value.
func FormatPointer(keys ...string) string {
	var b strings.Builder
	for _, key := range keys {
		b.WriteByte('/')
		b.WriteString(Escape(key))
	}
	return b.String()
}

// SplitPointer returns the keys and indexes that a pointer leads through, without their escapes; none for "". ok
// is false if it is not an RFC 6901 pointer: it does not begin with /, or a ~ is followed by neither 0 nor 1.
func SplitPointer(pointer string) (keys []string, ok bool) {
	if pointer == "" {
		return nil, true
	}
	if pointer[0] != '/' {
		return nil, false
	}
	keys = strings.Split(pointer[1:], "/")
	for i, token := range keys {
		if strings.Count(token, "~") != strings.Count(token, "~0")+strings.Count(token, "~1") {
			return nil, false
		}
		keys[i] = Unescape(token)
	}
	return keys, true
}
