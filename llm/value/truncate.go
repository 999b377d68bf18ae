package value

import "unicode/utf8"

// Truncate returns text, or its beginning followed by "..." when it has more than
// limit characters; the result has at most limit. It is for messages and labels.
func Truncate(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	runes := []rune(text)
	if len(runes) <= limit {
		return text
	}
	const dots = "..."
	return string(runes[:max(limit-len(dots), 0)]) + dots
}

// FirstBytes returns at most the first limit bytes of a text, in whole characters.
func FirstBytes(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	for limit > 0 && !utf8.RuneStart(text[limit]) {
		limit--
	}
	return text[:limit]
}
