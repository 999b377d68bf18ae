package prompt

import (
	"math/big"

	"github.com/callnode/scheduler/llm/prompt/internal/lettercase"
	"github.com/callnode/scheduler/llm/prompt/internal/pyvalue"
)

// ParseInt is Python's int(s): digits of any script with a sign, underscores between them and
// white space around.
func ParseInt(s string) (*big.Int, bool) { return pyvalue.ParseInt(s, 10) }

// ParseFloat is Python's float(s), which accepts inf and nan too. A number that is too large is an infinity.
func ParseFloat(s string) (float64, bool) { return pyvalue.ParseFloat(s) }

// RoundInt is Python's round(i, precision), halves to the even neighbour.
func RoundInt(i *big.Int, precision int) *big.Int { return pyvalue.RoundInt(i, precision) }

// RoundFloat is Python's round(f, precision), correct for the exact value of f.
func RoundFloat(f float64, precision int) float64 { return pyvalue.RoundFloat(f, precision) }

// Upper is Python's str.upper: one character may become several.
func Upper(s string) string { return lettercase.Upper(s) }

// Lower is Python's str.lower.
func Lower(s string) string { return lettercase.Lower(s) }
