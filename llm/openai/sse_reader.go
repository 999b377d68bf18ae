package openai

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"

	"github.com/callnode/scheduler/llm/endpoint"
	"github.com/callnode/scheduler/llm/value/wording"
)

// maxEvent bounds one event of a stream, in bytes.
const maxEvent = 16 << 20

// event is one server-sent event.
type event struct {
	name string
	data []byte
	// partial reports that the stream ended before the event did.
	partial bool
}

// sseReader splits a text/event-stream into events: lines end with LF, CRLF or
// CR, a line that begins with a colon is a comment, a blank line ends an event,
// several data lines are one text.
type sseReader struct {
	r      *bufio.Reader
	skipLF bool
	ended  bool
	// any reports that something of an event stream was seen; until then junk keeps
	// the beginning of what was sent instead.
	any  bool
	junk []byte
}

// nextEvent returns the next event that has data; io.EOF at the end.
func (e *sseReader) nextEvent() (event, error) {
	var data []byte
	name, has := "", false
	for {
		line, err := e.nextLine(maxEvent - len(data))
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
			if !e.any && len(e.junk) < endpoint.MaxErrorBody {
				e.junk = append(append(e.junk, line...), '\n')
			}
		}
	}
}

// nextLine returns the next line without its end. At the end of the stream it returns
// what is left, then empty lines.
func (e *sseReader) nextLine(limit int) ([]byte, error) {
	var line []byte
	for {
		if _, err := e.r.Peek(1); errors.Is(err, io.EOF) {
			e.ended = true
			return line, nil
		} else if err != nil {
			return nil, err
		}
		buffered, err := e.r.Peek(e.r.Buffered())
		if err != nil {
			return nil, err
		}
		skip := 0
		if e.skipLF && buffered[0] == '\n' {
			skip = 1
		}
		e.skipLF = false
		piece, used := buffered[skip:], len(buffered)
		end := bytes.IndexAny(piece, "\r\n")
		if end >= 0 {
			e.skipLF = piece[end] == '\r'
			piece, used = piece[:end], skip+end+1
		}
		if len(line)+len(piece) > limit {
			return nil, wording.Errorf("%w: an event of more than %d MB", endpoint.ErrTooLong, maxEvent>>20)
		}
		line = append(line, piece...)
		if _, err := e.r.Discard(used); err != nil {
			return nil, err
		}
		if end >= 0 {
			return line, nil
		}
	}
}

// cutValue splits off the first JSON value of data; nil where there is none.
func cutValue(data []byte) (first, rest []byte) {
	dec := json.NewDecoder(bytes.NewReader(data))
	var raw json.RawMessage
	if dec.Decode(&raw) != nil {
		return nil, data
	}
	return raw, bytes.TrimSpace(data[dec.InputOffset():])
}
