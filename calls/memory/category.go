package memory

import (
	"strings"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// CategoryKey returns the form in which categories are compared: Food, food and " FOOD"
// are one.
func CategoryKey(category string) string {
	return cases.Fold().String(strings.TrimSpace(norm.NFKC.String(category)))
}

// ContentKey returns the form in which contents are compared to find exact duplicates:
// with the same spaces and characters, but upper and lower case as they are.
func ContentKey(content string) string {
	return strings.Join(strings.Fields(norm.NFKC.String(content)), " ")
}
