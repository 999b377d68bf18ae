package openai

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
)

// event is one server-sent event.
type event struct {
	name string
	data []byte
	// partial says that the stream ended before the event did.
	partial bool
}

// eventReader splits a text/event-stream into events: lines end with LF, CRLF or
// CR, a line that begins with a colon is a comment, a blank line ends an event,
// several data lines are one text.
type eventReader struct {
	r      *bufio.Reader
	skipLF bool
	ended  bool
	// any says that something of an event stream was seen; until then junk keeps
	// the beginning of what was sent instead.
	any  bool
	junk []byte
}

// next gives the next event that has data; io.EOF where there is none.
func (e *eventReader) next() (event, error) {
	var data []byte
	name, has := "", false
	for {
		line, err := e.line(maxEvent - len(data))
		if err != nil {
			return event{}, err
		}
		if len(line) == 0 && has {
			return event{name, data, e.ended}, nil
		}
		if e.ended && len(line) == 0 {
			return event{}, io.EOF
		}
		field, text, _ := bytes.Cut(line, []byte(":"))
		text = bytes.TrimPrefix(text, []byte(" "))
		switch string(field) {
		case "data":
			if has {
				data = append(data, '\n')
			}
			data = append(data, text...)
			has, e.any = true, true
		case "event":
			name, e.any = string(text), true
		case "", "id", "retry":
			e.any = e.any || len(line) > 0
		default:
			if !e.any && len(e.junk) < maxErrorBody {
				e.junk = append(append(e.junk, line...), '\n')
			}
		}
	}
}

// line gives the next line without its end. At the end of the stream it gives
// what is left, then empty lines.
func (e *eventReader) line(limit int) ([]byte, error) {
	var line []byte
	for {
		c, err := e.r.ReadByte()
		switch {
		case err == io.EOF: //nolint:errorlint // bufio passes it on as it is
			e.ended = true
			return line, nil
		case err != nil:
			return nil, err
		}
		afterCR := e.skipLF
		e.skipLF = c == '\r'
		switch {
		case c == '\n' && afterCR:
		case c == '\n' || c == '\r':
			return line, nil
		case len(line) >= limit:
			return nil, fmt.Errorf("%w: an event of more than %d MB", errTooLong, maxEvent>>20)
		default:
			line = append(line, c)
		}
	}
}

// firstValue splits off the first JSON value of data; nil where there is none.
func firstValue(data []byte) (first, rest []byte) {
	dec := json.NewDecoder(bytes.NewReader(data))
	var raw json.RawMessage
	if dec.Decode(&raw) != nil {
		return nil, data
	}
	return raw, bytes.TrimSpace(data[dec.InputOffset():])
}
