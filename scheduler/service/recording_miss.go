package service

import (
	"context"
	"errors"
	"strconv"
	"strings"

	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/scheduler/explain"
)

// differing is an error of a request that is not recorded: it has the step that asked, and the place and the byte
// at which the request differs first from the nearest recording.
type differing interface {
	error
	FirstDifference() (step, pointer string, offset int)
}

// ExplainMiss returns the origin of the first piece that differs from the recording, for a run that failed because
// a request to a model was not recorded; ok is false for other errors.
func (s *Session) ExplainMiss(ctx context.Context, err error) (note Note, ok bool) {
	var miss differing
	if !errors.As(err, &miss) {
		return Note{}, false
	}
	step, pointer, offset := miss.FirstDifference()
	parts := strings.Split(pointer, "/")
	if len(parts) < 3 || parts[1] != "messages" {
		return Note{}, false
	}
	message, err := strconv.Atoi(parts[2])
	if err != nil {
		return Note{}, false
	}
	prompts, err := s.Prompts(ctx, step)
	if err != nil {
		return Note{}, false
	}
	piece := pieceAt(prompts.Explanations, message, offset)
	if piece == nil {
		return Note{}, false
	}
	return Note{Level: LevelNote, Text: wording.Say("the first difference is in message %d at byte %d, from %s", message+1, offset, piece.Way())}, true
}

// pieceAt returns the piece of the last prompt that has a byte of a message; nil: there is none.
func pieceAt(all []*explain.Explanation, message, offset int) *explain.Piece {
	if len(all) == 0 || message >= len(all[len(all)-1].Messages) {
		return nil
	}
	pieces := all[len(all)-1].Messages[message].Pieces
	for i := range pieces {
		if offset < len(pieces[i].Text) || i == len(pieces)-1 {
			return &pieces[i]
		}
		offset -= len(pieces[i].Text)
	}
	return nil
}
