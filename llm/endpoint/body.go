package endpoint

import (
	"bufio"
	"errors"
	"io"
	"strings"
)

// blank are the bytes to skip before a body: white space and a byte order mark.
const blank = " \t\r\n\xef\xbb\xbf"

// ReadBody reads an answer with one of its two functions. It judges by the first character,
// for servers ignore the form that was asked for and mislabel the one they send: JSON begins
// with a brace, and an event stream never does. Halves of characters in data are marked
// (markHalves).
func ReadBody(body io.Reader, whole func(data []byte) error, stream func(*EventReader) error) error {
	r := bufio.NewReaderSize(body, 16<<10)
	for {
		c, err := r.ReadByte()
		if errors.Is(err, io.EOF) {
			return Incomplete("the server sent an empty body")
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
		if strings.IndexByte("{[<", c) < 0 {
			return stream(&EventReader{r: r})
		}
		data, err := io.ReadAll(r)
		if err != nil {
			return err
		}
		return whole(markHalves(data))
	}
}

// ErrCut returns the error of a stream that ends in the middle of the answer.
func ErrCut() error {
	return Incomplete("the stream was cut before the answer was complete")
}
