package openai

import (
	"errors"
	"io"

	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/endpoint"
)

// readAnswer reads an answer in one piece, or as a stream of chunks.
func (p *Provider) readAnswer(body io.Reader, emit func(llm.Delta) bool) error {
	a := answer{provider: p, emit: emit}
	return endpoint.ReadBody(body, a.readJSON, a.readEvents)
}

// readJSON reads a body that is one whole answer.
func (a *answer) readJSON(data []byte) error {
	if err := a.addChunk(data); err != nil {
		return err
	}
	if !a.begun {
		return a.provider.invalidAnswer(data)
	}
	return a.finishAnswer()
}

// readEvents reads a stream of chunks up to its end mark.
func (a *answer) readEvents(events *endpoint.EventReader) error {
	for {
		event, err := events.Next()
		if err != nil {
			return a.endOfStream(events, err)
		}
		done, err := a.readEvent(event)
		if err != nil {
			return err
		}
		if done {
			return a.finishAnswer()
		}
	}
}

// endOfStream judges a stream after err prevented reading its next event.
func (a *answer) endOfStream(events *endpoint.EventReader, err error) error {
	switch {
	case a.finishReason != "" && !errors.Is(err, endpoint.ErrTooLong):
		return a.finishAnswer() // the answer is whole, whatever became of its end mark
	case !errors.Is(err, io.EOF):
		return err
	case events.Junk() != nil:
		return a.provider.invalidAnswer(events.Junk())
	}
	return endpoint.ErrCut()
}

// readEvent reads the chunks of one event. done reports that it was the end mark.
func (a *answer) readEvent(event endpoint.Event) (done bool, err error) {
	chunks, done, rest := event.Values()
	for _, chunk := range chunks {
		if event.Name == "error" {
			return false, a.provider.client.Reported(chunk)
		}
		if err := a.addChunk(chunk); err != nil {
			return false, err
		}
	}
	switch {
	case rest != nil && event.Partial:
		return false, endpoint.ErrCut()
	case rest != nil:
		return false, a.provider.invalidAnswer(rest)
	case done && !a.begun:
		return false, endpoint.Incomplete("the stream ended without an answer")
	}
	return done, nil
}
