package openai

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/callnode/scheduler/llm"
)

// Limits of what a server may send.
const (
	maxBody  = 64 << 20
	maxEvent = 16 << 20
	// maxText bounds what the model writes in one answer: text, thoughts and the
	// arguments of tool calls. No model writes a tenth of it; one that has fallen
	// into a loop behind a server without a limit does.
	maxText = 4 << 20
	// maxToolCalls bounds the tool calls of one answer.
	maxToolCalls = 1024
	// maxErrorBody is how much of an error's body is read.
	maxErrorBody = 64 << 10
)

// attempt sends the request once and passes on the pieces of the answer. It gives
// nil when the answer is complete or nobody wants more of it.
func (p *Provider) attempt(outer context.Context, body []byte, emit func(llm.Delta) bool) *llm.Error {
	return p.send(outer, p.endpoint, body, func(r io.Reader) error { return p.read(r, emit) })
}

// send posts a body once and lets read have what comes back.
func (p *Provider) send(outer context.Context, endpoint string, body []byte, read func(io.Reader) error) *llm.Error {
	ctx, cancel := context.WithCancelCause(outer)
	defer cancel(nil)
	silence := time.AfterFunc(p.config.Timeout, func() { cancel(errSilence) })
	defer silence.Stop()

	req, err := http.NewRequestWithContext(ctx, http.MethodPost, endpoint, bytes.NewReader(body))
	if err != nil {
		return p.failure(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "text/event-stream, application/json")
	req.Header.Set("User-Agent", "scheduler")
	if p.config.APIKey != "" {
		req.Header.Set("Authorization", "Bearer "+p.config.APIKey)
	}
	for _, h := range p.config.Headers {
		req.Header.Set(h.Name, h.Value)
	}
	resp, err := p.client.Do(req)
	if err != nil {
		return p.broken(outer, ctx, err)
	}
	defer resp.Body.Close()
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		return p.refusal(resp)
	}
	err = read(&watched{r: resp.Body, silence: silence, timeout: p.config.Timeout})
	if err == nil || errors.Is(err, errStopped) {
		return nil
	}
	return p.broken(outer, ctx, err)
}

var (
	errSilence = errors.New("the server fell silent")
	errTooLong = errors.New("the server's answer is too long")
)

// watched puts off the silence timer whenever something arrives, and bounds the
// whole.
type watched struct {
	r       io.Reader
	silence *time.Timer
	timeout time.Duration
	n       int
}

func (w *watched) Read(b []byte) (int, error) {
	n, err := w.r.Read(b)
	w.silence.Reset(w.timeout)
	if w.n += n; w.n > maxBody {
		return 0, fmt.Errorf("%w: more than %d MB", errTooLong, maxBody>>20)
	}
	return n, err
}

// blank is what may stand before a body: white space and the bytes of a byte order
// mark.
const blank = " \t\r\n\xef\xbb\xbf"

// read tells by its first character what the body is, for servers ignore what
// they were asked for and mislabel what they send: JSON begins with a brace, and
// no event stream does.
func (p *Provider) read(body io.Reader, emit func(llm.Delta) bool) error {
	r := bufio.NewReaderSize(body, 16<<10)
	for {
		c, err := r.ReadByte()
		switch {
		case errors.Is(err, io.EOF):
			return cut("the server sent an empty body")
		case err != nil:
			return err
		case strings.IndexByte(blank, c) >= 0:
			continue
		}
		if err := r.UnreadByte(); err != nil {
			return err
		}
		a := answer{provider: p, emit: emit}
		if c == '{' || c == '[' || c == '<' {
			return p.readJSON(r, &a)
		}
		return p.readEvents(r, &a)
	}
}

func (p *Provider) readJSON(r io.Reader, a *answer) error {
	data, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	if err := a.chunk(data); err != nil {
		return err
	}
	if !a.begun {
		return p.invalid(data)
	}
	return a.end()
}

func (p *Provider) readEvents(r *bufio.Reader, a *answer) error {
	events := eventReader{r: r}
	for {
		event, err := events.next()
		if err != nil {
			switch {
			case a.finish != "" && !errors.Is(err, errTooLong):
				return a.end() // the answer is whole, whatever became of its end mark
			case !errors.Is(err, io.EOF):
				return err
			case !events.any:
				return p.invalid(events.junk)
			}
			return cut("the stream was cut before the answer was complete")
		}
		for data := bytes.TrimSpace(event.data); len(data) > 0; {
			if bytes.HasPrefix(data, []byte("[DONE]")) {
				if !a.begun {
					return cut("the stream ended without an answer")
				}
				return a.end()
			}
			// Servers that forget the blank line put several chunks into one event.
			chunk, rest := firstValue(data)
			if chunk == nil {
				if event.partial {
					return cut("the stream was cut before the answer was complete")
				}
				return p.invalid(data)
			}
			if event.name == "error" {
				return p.reported(chunk)
			}
			if err := a.chunk(chunk); err != nil {
				return err
			}
			data = rest
		}
	}
}
