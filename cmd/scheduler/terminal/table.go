package terminal

import (
	"io"
	"strings"
	"text/tabwriter"

	"golang.org/x/text/width"
)

// Table writes rows of cells, which end in tabs, as columns. Chinese characters count as the
// two columns that a terminal shows them in.
type Table struct {
	rows *tabwriter.Writer
}

// NewTable returns a Table that [Table.Flush] writes to out.
func NewTable(out io.Writer) *Table {
	return &Table{tabwriter.NewWriter(fillerRemover{out}, 0, 0, 2, ' ', 0)}
}

// filler follows each wide character on its way through a tabwriter, which counts every character as one column.
// It is not a character of any text.
const filler = '\uffff'

// Write takes whole rows.
func (t *Table) Write(p []byte) (int, error) {
	var b strings.Builder
	for _, r := range strings.ReplaceAll(string(p), string(filler), "") {
		b.WriteRune(r)
		if isWide(r) {
			b.WriteRune(filler)
		}
	}
	if _, err := io.WriteString(t.rows, b.String()); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Flush writes the rows.
func (t *Table) Flush() error { return t.rows.Flush() }

// isWide reports whether a terminal shows a character in two columns.
func isWide(r rune) bool {
	kind := width.LookupRune(r).Kind()
	return kind == width.EastAsianWide || kind == width.EastAsianFullwidth
}

// cutColumns returns the start of a text that a terminal shows in so many columns.
func cutColumns(text string, columns int) string {
	for i, r := range text {
		columns--
		if isWide(r) {
			columns--
		}
		if columns < 0 {
			return text[:i]
		}
	}
	return text
}

// fillerRemover takes the fillers out again.
type fillerRemover struct{ out io.Writer }

// Write writes p without fillers.
func (f fillerRemover) Write(p []byte) (int, error) {
	if _, err := io.WriteString(f.out, strings.ReplaceAll(string(p), string(filler), "")); err != nil {
		return 0, err
	}
	return len(p), nil
}
