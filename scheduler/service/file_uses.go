package service

import (
	"context"
	"strings"
	"time"

	"github.com/callnode/scheduler/llm/value/secret"
	"github.com/callnode/scheduler/scheduler/explain"
)

// FileUse is a text of a prompt that a call has read from a file. [Service.FileUses] makes it; it is only data.
type FileUse struct {
	// Read is when the step began that has read it.
	Read time.Time

	text       string
	start, end int // of the text in the file; -1 if it is not a copy
}

// FileUses returns the parts of a run's prompts that come from files read by calls, by path.
func (s *Service) FileUses(ctx context.Context, details *RunDetails) map[string][]FileUse {
	uses := map[string][]FileUse{}
	for _, st := range details.State.Steps {
		prompts, err := s.Prompts(ctx, details, st.ID)
		if err != nil {
			continue // a step without a prompt names no files
		}
		for _, e := range prompts.Explanations {
			for _, m := range e.Messages {
				for i := range m.Pieces {
					addFileUses(details, e.Step, &m.Pieces[i], uses)
				}
			}
		}
	}
	return uses
}

// addFileUses adds the parts of a piece of a step's prompt that come from files.
func addFileUses(details *RunDetails, step string, piece *explain.Piece, uses map[string][]FileUse) {
	for _, source := range piece.Sources {
		if source.Path == "" {
			continue
		}
		use := FileUse{text: piece.Text, start: -1, end: -1}
		if source.Start != nil && source.End != nil {
			use.start, use.end = *source.Start, *source.End
		}
		for _, id := range []string{source.Step, step} {
			if st := details.State.Step(id); st != nil && use.Read.IsZero() {
				use.Read = st.StartedAt
			}
		}
		uses[source.Path] = append(uses[source.Path], use)
	}
}

// IsIn reports whether a file has the text at its place, as far as that is known. A text with the mask of a secret
// differs from the text read.
func (u *FileUse) IsIn(content []byte) bool {
	if u.start < 0 || strings.Contains(u.text, secret.Mask) {
		return true
	}
	return u.end <= len(content) && string(content[u.start:u.end]) == u.text
}
