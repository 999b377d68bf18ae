package replay

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strconv"

	"github.com/callnode/scheduler/llm/value"
)

// keyOf returns the digest of a request in its canonical form: it does not depend on
// the order of keys or the spelling of numbers.
func keyOf(request value.Value) string {
	sum := sha256.Sum256(appendCanonical(nil, request))
	return hex.EncodeToString(sum[:])
}

// appendCanonical appends JSON with sorted keys, in which equal numbers are spelt alike.
func appendCanonical(b []byte, v value.Value) []byte {
	switch v.Kind() {
	case value.List:
		b = append(b, '[')
		for i, item := range v.List() {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendCanonical(b, item)
		}
		return append(b, ']')
	case value.Object:
		b = append(b, '{')
		for i, key := range slices.Sorted(slices.Values(v.Map().Keys())) {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(value.AppendQuoted(b, key), ':')
			member, _ := v.Get(key)
			b = appendCanonical(b, member)
		}
		return append(b, '}')
	case value.Float:
		// 1.0 is 1, and numbers with the same float64 are equal.
		if f, _ := v.Float(); f < 1<<53 && f > -1<<53 && f == float64(int64(f)) {
			return strconv.AppendInt(b, int64(f), 10)
		} else if text := strconv.FormatFloat(f, 'g', -1, 64); json.Valid([]byte(text)) {
			return append(b, text...)
		}
	case value.Int:
		if i, ok := v.Big(); ok {
			return i.Append(b, 10)
		}
	}
	return v.AppendJSON(b)
}
