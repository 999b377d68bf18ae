package trigger

import (
	"bytes"
	"compress/gzip"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/charset"
	"github.com/callnode/scheduler/llm/value/wording"
)

// Why the body of a request cannot be read. Errors of [ReadBody] wrap one of them, or are of kind
// Invalid.
var (
	ErrUnknownEncoding = wording.Errorf("the body is written in a way that is not read")
	ErrTooLarge        = wording.Errorf("the body is too large")
)

// bodyError is an error with one of the classes above.
type bodyError struct{ err, class error }

func (e bodyError) Error() string             { return e.err.Error() }
func (e bodyError) In(language string) string { return wording.OfError(e.err).In(language) }
func (e bodyError) Unwrap() []error           { return []error{e.err, e.class} }

// ReadBody returns the body of a request as the templates of a webhook know it: its text, unpacked
// and in UTF-8; of JSON the value, of a form the first value of each name. The member payload of a
// form that is JSON is the JSON of the request: GitHub sends its events so.
//
// limit bounds the text: a kilobyte of gzip may be a gigabyte.
func ReadBody(header http.Header, raw []byte, limit int) (*value.Map, error) {
	raw, err := unpack(header.Get("Content-Encoding"), raw, limit)
	if err != nil {
		return nil, err
	}
	media, named := charset.SplitContentType(header.Get("Content-Type"))
	text, err := charset.Decode(raw, named)
	if err != nil {
		return nil, bodyError{calls.Errorf(calls.Invalid, "the body of the request: %w", err), ErrUnknownEncoding}
	}
	if wrong := value.FindEncodingError(text); wrong != nil {
		message, _ := wrong.Text()
		return nil, bodyError{calls.Errorf(calls.Invalid, "the body of the request: %d:%d: %s", wrong.Line, wrong.Col, message).
			WithHint("name its charset: Content-Type: text/plain; charset=iso-8859-1"), ErrUnknownEncoding}
	}
	body := value.Pairs("text", string(text))
	if media == "application/x-www-form-urlencoded" {
		return body, addForm(body, string(text))
	}
	return body, addJSON(body, text)
}

// unpack undoes the compression of a body.
func unpack(encoding string, raw []byte, limit int) ([]byte, error) {
	switch strings.ToLower(strings.TrimSpace(encoding)) {
	case "", "identity":
		return raw, nil
	case "gzip", "x-gzip":
	default:
		return nil, bodyError{calls.Errorf(calls.Invalid, "the body is compressed as %q", encoding).WithHint("send it plain, or with Content-Encoding: gzip"), ErrUnknownEncoding}
	}
	in, err := gzip.NewReader(bytes.NewReader(raw))
	if err != nil {
		return nil, calls.Errorf(calls.Invalid, "the body is not gzip, as its Content-Encoding says: %w", err)
	}
	data, err := io.ReadAll(io.LimitReader(in, int64(limit)+1))
	if err != nil {
		return nil, calls.Errorf(calls.Invalid, "unpacking the body: %w", err)
	}
	if len(data) > limit {
		return nil, bodyError{calls.Errorf(calls.Invalid, "the body has more than %d bytes, unpacked", limit), ErrTooLarge}
	}
	return data, nil
}

// addForm adds the values of a form.
func addForm(body *value.Map, text string) error {
	values, err := url.ParseQuery(text)
	if err != nil {
		return calls.Errorf(calls.Invalid, "the body is not a form, as its Content-Type says: %w", err)
	}
	form := value.NewMap(len(values))
	for _, name := range slices.Sorted(maps.Keys(values)) {
		plain := values.Get(name)
		if value.FindInvalidUTF8([]byte(name+plain)) >= 0 {
			return calls.Errorf(calls.Invalid, "the form has a value that is not UTF-8")
		}
		form.Set(name, value.OfString(plain))
	}
	body.Set("form", value.OfMap(form))
	return addJSON(body, []byte(values.Get("payload")))
}

// addJSON adds the value of a text that is JSON. Nothing in such a text is replaced: half a character or a
// repeated key is an error.
func addJSON(body *value.Map, text []byte) error {
	if _, err := value.ParseJSON(text); err != nil {
		return nil //nolint:nilerr // it is another text
	}
	parsed, err := value.ParseStrictJSON(text)
	if err != nil {
		return calls.Errorf(calls.Invalid, "the JSON of the body: %w", err)
	}
	body.Set("json", parsed)
	return nil
}

// MaxBody bounds the body of a request of a webhook, in bytes.
const MaxBody = 1 << 20

// Scope returns the data of a request for the templates of a webhook, as webhook: {body: {text, json}, headers,
// query}. limit bounds the bytes of the body once it is unpacked.
func (v *Verification) Scope(header http.Header, query url.Values, body []byte, limit int) (value.Value, error) {
	read, err := ReadBody(header, body, limit)
	if err != nil {
		return value.Value{}, err
	}
	first := map[string]string{}
	for name := range query {
		first[name] = query.Get(name)
	}
	return value.OfMap(value.Pairs("body", value.OfMap(read), "headers", v.ShownHeaders(header), "query", first)), nil
}

// ScheduleScope returns the data of a fire for the templates of a schedule, as schedule: {id, time}.
func ScheduleScope(id string, at time.Time, zone *time.Location) value.Value {
	return value.OfMap(value.Pairs("id", id, "time", at.In(zone).Format(time.RFC3339)))
}
