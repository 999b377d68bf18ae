package packed

import (
	"fmt"
	"math"
)

// Token identifies a reserved job: its subject and the end of the reservation.
type Token struct {
	// User is the user's number, Number the session's, or [NoSession] for a category.
	User, Number int64
	Category     string
	// Until is in ms since 1970.
	Until int64
}

// NoSession is the number in the token of a category.
const NoSession = math.MinInt32

// String returns the form that [ParseToken] reads.
func (t Token) String() string {
	return fmt.Sprintf("%d %d %d %q", t.User, t.Number, t.Until, t.Category)
}

// ParseToken reads a token.
func ParseToken(s string) (t Token, err error) {
	_, err = fmt.Sscanf(s, "%d %d %d %q", &t.User, &t.Number, &t.Until, &t.Category)
	return t, err
}
