package openai

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"strings"

	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/endpoint"
)

// blank are the bytes to skip before a body: white space and a byte order mark.
const blank = " \t\r\n\xef\xbb\xbf"

// readAnswer judges by its first character what the body is, for servers ignore what
// they were asked for and mislabel what they send: JSON begins with a brace, and
// an event stream never does.
func (p *Provider) readAnswer(body io.Reader, emit func(llm.Delta) bool) error {
	r := bufio.NewReaderSize(body, 16<<10)
	for {
		c, err := r.ReadByte()
		if errors.Is(err, io.EOF) {
			return endpoint.Incomplete("the server sent an empty body")
		}
		if err != nil {
			return err
		}
		if strings.IndexByte(blank, c) >= 0 {
			continue
		}
		if err := r.UnreadByte(); err != nil {
			return err
		}
		a := answer{provider: p, emit: emit}
		if strings.IndexByte("{[<", c) >= 0 {
			return p.readJSON(r, &a)
		}
		return p.readEvents(r, &a)
	}
}

// readJSON reads a body that is one whole answer.
func (p *Provider) readJSON(r io.Reader, a *answer) error {
	data, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	if err := a.addChunk(data); err != nil {
		return err
	}
	if !a.begun {
		return p.invalidAnswer(data)
	}
	return a.finishAnswer()
}

// readEvents reads a stream of chunks up to its end mark.
func (p *Provider) readEvents(r *bufio.Reader, a *answer) error {
	events := sseReader{r: r}
	for {
		event, err := events.nextEvent()
		if err != nil {
			return p.endOfStream(&events, a, err)
		}
		done, err := p.readEvent(event, a)
		if err != nil {
			return err
		}
		if done {
			return a.finishAnswer()
		}
	}
}

// endOfStream judges a stream whose next event cannot be read because of err.
func (p *Provider) endOfStream(events *sseReader, a *answer, err error) error {
	switch {
	case a.finishReason != "" && !errors.Is(err, endpoint.ErrTooLong):
		return a.finishAnswer() // the answer is whole, whatever became of its end mark
	case !errors.Is(err, io.EOF):
		return err
	case !events.any:
		return p.invalidAnswer(events.junk)
	}
	return errCut()
}

// errCut returns the error of a stream that ends in the middle of the answer.
func errCut() error {
	return endpoint.Incomplete("the stream was cut before the answer was complete")
}

// readEvent reads the chunks of one event: servers that forget the blank line put
// several into one. done reports that it was the end mark.
func (p *Provider) readEvent(event event, a *answer) (done bool, err error) {
	for data := bytes.TrimSpace(event.data); len(data) > 0; {
		if bytes.HasPrefix(data, []byte("[DONE]")) {
			if !a.begun {
				return false, endpoint.Incomplete("the stream ended without an answer")
			}
			return true, nil
		}
		chunk, rest := cutValue(data)
		if chunk == nil {
			if event.partial {
				return false, errCut()
			}
			return false, p.invalidAnswer(data)
		}
		if event.name == "error" {
			return false, p.client.Reported(chunk)
		}
		if err := a.addChunk(chunk); err != nil {
			return false, err
		}
		data = rest
	}
	return false, nil
}
