package processor

import (
	"slices"
	"time"

	"github.com/callnode/scheduler/calls/date"
	"github.com/callnode/scheduler/llm/value"
)

// Format is a custom format, registered once and safe for concurrent use: what people write is converted to the one form that
// programs take. Schemas name it as a format of a string or a number, or as a type
// of its own.
type Format struct {
	// Name is what a schema writes under format or type.
	Name string
	// Type is the schema that the name stands for as a type.
	Type value.Value
	// Check reports whether v is in the form already.
	Check func(v value.Value) bool
	// Convert brings v, a string or a number, into the form. types are those that the
	// schema takes, maybe none; now is the time that relative values count from, in
	// the zone that they mean. ok is false where v is not understood; v is then
	// returned as it is.
	Convert func(v value.Value, types []string, now time.Time) (converted value.Value, ok bool)
}

// The layouts of the formats.
const (
	dateLayout      = "2006-01-02"
	timestampLayout = "2006-01-02 15:04:05"
)

// Formats returns the custom formats that there are:
//
//	date       2024-05-01
//	timestamp  2024-05-01 15:04:05 in the zone of the clock; where the schema takes
//	           numbers only, seconds since 1970
//	date-time  2024-05-01T15:04:05+08:00
//
// All understand what people write in Chinese and English: see [date.Parse].
func Formats() []Format {
	return []Format{
		{
			Name:    "date",
			Type:    value.OfMap(value.Pairs("type", "string", "pattern", `^\d{4}-\d{2}-\d{2}$`)),
			Check:   matchesLayout(dateLayout),
			Convert: timeConverter(dateLayout, date.Day),
		},
		{
			Name:    "timestamp",
			Type:    value.OfMap(value.Pairs("type", "string", "pattern", `^\d{4}-\d{2}-\d{2} \d{2}:\d{2}:\d{2}$`)),
			Check:   matchesLayout(timestampLayout),
			Convert: timeConverter(timestampLayout, date.Parse),
		},
		{
			Name:    "date-time",
			Type:    value.OfMap(value.Pairs("type", "string", "pattern", `^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?(Z|[+-]\d{2}:\d{2})$`)),
			Check:   matchesLayout(time.RFC3339),
			Convert: timeConverter(time.RFC3339, date.Parse),
		},
	}
}

func matchesLayout(layout string) func(value.Value) bool {
	return func(v value.Value) bool {
		text, ok := v.Str()
		if !ok {
			return false
		}
		_, err := time.Parse(layout, text)
		return err == nil
	}
}

// timeConverter converts a point in time that read understands. Schemas that take numbers
// but no text get seconds since 1970.
func timeConverter(layout string, read func(string, time.Time) (time.Time, bool)) func(value.Value, []string, time.Time) (value.Value, bool) {
	return func(v value.Value, types []string, now time.Time) (value.Value, bool) {
		numeric := !slices.Contains(types, "string") && takesNumbers(types)
		if numeric && isNumber(v) {
			return v, true
		}
		at, ok := read(v.PlainText(), now)
		if !ok {
			return v, false
		}
		if numeric {
			return value.OfInt(at.Unix()), true
		}
		return value.OfString(at.Format(layout)), true
	}
}

// takesNumbers reports whether a type of the list is a number.
func takesNumbers(types []string) bool {
	return slices.Contains(types, "number") || slices.Contains(types, "integer")
}

func isNumber(v value.Value) bool { return v.Kind() == value.Int || v.Kind() == value.Float }
