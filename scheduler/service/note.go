package service

import "github.com/callnode/scheduler/llm/value/wording"

// Note is a remark for the user, returned with a result.
type Note struct {
	// Level is "note", "warning" if something may be wrong, or "" for a report of work done.
	Level string
	Text  wording.Text
	// Code and Source are copied from the [calls.Warning] that the note comes from.
	Code, Source string
}

// The levels of a [Note].
const (
	LevelNote    = "note"
	LevelWarning = "warning"
)

// newWarning returns a [Note] of level warning.
func newWarning(format string, args ...any) Note {
	return Note{Level: LevelWarning, Text: wording.Say(format, args...)}
}

// In returns the note as a line, in a language.
func (n Note) In(language string) string {
	text := n.Text
	if n.Source != "" {
		text = wording.Text{En: n.Source + ": " + text.En, Zh: n.Source + "：" + text.Zh}
	}
	switch n.Level {
	case LevelNote:
		text = wording.Say("note: %s", text)
	case LevelWarning:
		text = wording.Say("warning: %s", text)
	}
	return text.In(language)
}
