package value

import (
	"time"

	"github.com/callnode/scheduler/llm/value/wording"
)

// Duration is a time.Duration of zero or more that JSON and YAML write as text: 30s, 5m. A settings struct uses it
// for a time limit that a user sets.
type Duration time.Duration

// UnmarshalText reads 30s, 500ms or 1h30m; 0 needs no unit.
func (d *Duration) UnmarshalText(text []byte) error {
	parsed, err := time.ParseDuration(string(text))
	if err != nil {
		return wording.Errorf("invalid duration %q (use 30s or 5m)", text)
	}
	if parsed < 0 {
		return wording.Errorf("invalid duration %q (it must not be negative)", text)
	}
	*d = Duration(parsed)
	return nil
}

// MarshalText returns the duration as UnmarshalText reads it.
func (d Duration) MarshalText() ([]byte, error) { return []byte(time.Duration(d).String()), nil }
