package value

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
