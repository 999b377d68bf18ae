package result

import (
	"encoding/json"

	"github.com/callnode/scheduler/llm/value"
)

// Data is a value as JSON; "" is none. As a text it can be masked like all others.
type Data string

// MaxData bounds the bytes of a value that a result keeps of a check. A longer one is kept as the beginning of its text.
const MaxData = 8 << 10

// NewData returns a value as data, the whole of it.
func NewData(v value.Value) Data {
	if v.IsNull() {
		return ""
	}
	return Data(v.JSON())
}

// Shortened returns the data, or the beginning of its text if it is long.
func (d Data) Shortened() Data {
	if len(d) <= MaxData {
		return d
	}
	return Data(value.OfString(value.Truncate(d.Text(), MaxData/4)).JSON())
}

// value returns the data as a value; data that is no longer JSON after masking is a text.
func (d Data) value() value.Value {
	v, err := value.ParseJSON([]byte(d))
	if err != nil {
		return value.OfString(string(d))
	}
	return v
}

// Text returns the data as people read it: a text as it is, the only text of an object alone, anything else as indented JSON.
func (d Data) Text() string {
	if d == "" {
		return ""
	}
	v := d.value()
	if v.Kind() == value.Object && v.Map().Len() == 1 {
		for _, only := range v.Map().All() {
			if text, isText := only.Str(); isText {
				return text
			}
		}
	}
	if text, isText := v.Str(); isText {
		return text
	}
	return string(v.AppendIndented(nil, "  "))
}

// MarshalJSON writes the value itself.
func (d Data) MarshalJSON() ([]byte, error) {
	if d == "" {
		return []byte("null"), nil
	}
	if json.Valid([]byte(d)) {
		return []byte(d), nil
	}
	return d.value().MarshalJSON()
}

// UnmarshalJSON reads any value.
func (d *Data) UnmarshalJSON(data []byte) error {
	*d = Data(data)
	if string(data) == "null" {
		*d = ""
	}
	return nil
}
