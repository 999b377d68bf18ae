package fault

import "github.com/callnode/scheduler/llm/value"

// Source is the text of a template and its place. The caller makes it; it is copied
// and never changed.
type Source struct {
	// File is the name of the file for messages; "" if there is none.
	File string
	// Text is the template.
	Text string
	// At returns the line and column in File of a byte offset in Text. When it is
	// nil, lines and columns are counted in Text itself.
	At func(offset int) (line, col int)
}

// Locate turns the offset of an error into file, line and column. Every error that leaves package prompt has gone
// through it.
func Locate(s *Source, err error) error {
	e, ok := WithPosition(err, 0).(*Error) //nolint:errorlint // WithPosition returns nothing else
	if !ok {
		return err
	}
	e.File = s.File
	e.Line, e.Col = lineCol(s, e.Offset)
	return e
}

func lineCol(s *Source, offset int) (line, col int) {
	offset = min(max(offset, 0), len(s.Text))
	if s.At != nil {
		return s.At(offset)
	}
	return value.LineCol(s.Text, offset)
}

// LocatedError is [Locate] as *[Error].
func LocatedError(s *Source, err error) *Error {
	e, ok := Locate(s, err).(*Error) //nolint:errorlint // Locate returns nothing else
	if !ok {
		return Errorf(Other, "%v", err)
	}
	return e
}
