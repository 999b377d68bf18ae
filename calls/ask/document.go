package ask

import (
	"bytes"
	"encoding/json"
	"errors"
	"iter"
	"strings"

	"github.com/callnode/scheduler/llm/value"
)

// maxStarts bounds how many places are tried at which a document could begin.
const maxStarts = 200

// hasDocument reports whether there is a JSON document in a text.
func hasDocument(text string) bool {
	for range jsonDocuments(text) {
		return true
	}
	return false
}

// jsonDocuments returns the documents that could be meant, the likeliest first: the whole text, then each object
// or array in it.
func jsonDocuments(text string) iter.Seq[value.Value] {
	return func(yield func(value.Value) bool) {
		if i := strings.LastIndex(text, closing); i >= 0 {
			text = text[i+len(closing):]
		}
		if v, err := value.ParseJSON([]byte(text)); err == nil && !yield(v) {
			return
		}
		rest := []byte(text)
		for range maxStarts {
			start := bytes.IndexAny(rest, "{[")
			if start < 0 {
				return
			}
			rest = rest[start:]
			var document json.RawMessage
			dec := json.NewDecoder(bytes.NewReader(rest))
			if err := dec.Decode(&document); err != nil {
				var syntax *json.SyntaxError
				if !errors.As(err, &syntax) {
					return // the document is cut: a value inside it is not the answer
				}
				// Parts of a broken document are not the answer either: go on behind them.
				rest = rest[max(1, syntax.Offset-1):]
				continue
			}
			rest = rest[dec.InputOffset():]
			if v, err := value.ParseJSON(document); err == nil && !yield(v) {
				return
			}
		}
	}
}
