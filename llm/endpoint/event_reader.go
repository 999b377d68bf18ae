package endpoint

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"

	"github.com/callnode/scheduler/llm/value/wording"
)

// maxEvent bounds one event of a stream, in bytes.
const maxEvent = 16 << 20

// Event is one server-sent event.
type Event struct {
	Name string
	// Data is the text of the event, in which halves of characters are marked (markHalves).
	Data []byte
	// Partial reports that the stream ended before the event did.
	Partial bool
}

// Values returns the JSON values in Data: servers that forget the blank line between events put several into one.
// isDone reports that [DONE] follows them; rest is any other text, or nil.
func (e *Event) Values() (values []json.RawMessage, isDone bool, rest []byte) {
	data := bytes.TrimSpace(e.Data)
	for len(data) > 0 {
		if bytes.HasPrefix(data, []byte("[DONE]")) {
			return values, true, nil
		}
		first, after := cutValue(data)
		if first == nil {
			return values, false, data
		}
		values, data = append(values, first), after
	}
	return values, false, nil
}

// EventReader splits a text/event-stream into events: lines end with LF, CRLF or
// CR, a line that begins with a colon is a comment, a blank line ends an event,
// several data lines are one text. [ReadBody] makes one for each answer; it is for one
// goroutine.
type EventReader struct {
	r      *bufio.Reader
	skipLF bool
	ended  bool
	// any reports that a part of an event stream was seen; until then junk keeps the beginning of the data
	// instead.
	any  bool
	junk []byte
}

// Junk returns the beginning of a body that was no event stream; nil if it was one.
func (e *EventReader) Junk() []byte {
	if e.any {
		return nil
	}
	return append([]byte{}, e.junk...)
}

// Next returns the next event that has data; io.EOF at the end.
func (e *EventReader) Next() (Event, error) {
	var data []byte
	name, has := "", false
	for {
		line, err := e.nextLine(maxEvent - len(data))
		if err != nil {
			return Event{}, err
		}
		if len(line) == 0 && has {
			return Event{name, markHalves(data), e.ended}, nil
		}
		if e.ended && len(line) == 0 {
			return Event{}, io.EOF
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
			if !e.any && len(e.junk) < MaxErrorBody {
				e.junk = append(append(e.junk, line...), '\n')
			}
		}
	}
}

// nextLine returns the next line without its end. At the end of the stream it returns the rest, then empty lines.
func (e *EventReader) nextLine(limit int) ([]byte, error) {
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
			return nil, wording.Errorf("%w: an event of more than %d MB", ErrTooLong, maxEvent>>20)
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

// cutValue splits off the first JSON value of data; nil if there is none.
func cutValue(data []byte) (first, rest []byte) {
	dec := json.NewDecoder(bytes.NewReader(data))
	var raw json.RawMessage
	if dec.Decode(&raw) != nil {
		return nil, data
	}
	return raw, bytes.TrimSpace(data[dec.InputOffset():])
}
