package config

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"

	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
)

// ByteSize is a number of bytes, more than zero: an integer, or text such as 256MiB.
type ByteSize int64

// byteUnits are the units that may end a size.
var byteUnits = []struct {
	name string
	size int64
}{{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}}

// JSONSchema describes the two forms.
func (ByteSize) JSONSchema() value.Value {
	return value.OfMap(value.Pairs("type", []string{"integer", "string"}))
}

// UnmarshalJSON reads both forms. A text without a unit is a number of bytes: variables of
// the environment are texts.
func (b *ByteSize) UnmarshalJSON(data []byte) error {
	text := string(data)
	if strings.HasPrefix(text, `"`) {
		if err := json.Unmarshal(data, &text); err != nil {
			return err
		}
	}
	number, unit := text, int64(1)
	for _, u := range byteUnits {
		if before, ok := strings.CutSuffix(text, u.name); ok {
			number, unit = strings.TrimSpace(before), u.size
		}
	}
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil || n <= 0 || n > math.MaxInt64/unit {
		return wording.Errorf("invalid size %q (use 256MiB, 1GiB or a number of bytes)", text)
	}
	*b = ByteSize(n * unit)
	return nil
}

// MarshalJSON writes the size with the largest unit that it is a multiple of.
func (b ByteSize) MarshalJSON() ([]byte, error) {
	text := strconv.FormatInt(int64(b), 10)
	for _, u := range byteUnits {
		if b > 0 && int64(b)%u.size == 0 {
			text = strconv.Quote(strconv.FormatInt(int64(b)/u.size, 10) + u.name)
		}
	}
	return []byte(text), nil
}
