package http

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"maps"
	"mime"
	"mime/multipart"
	"net/textproto"
	"slices"
	"strings"
	"unicode"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/http/openapi"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
)

const (
	typeJSON  = "application/json"
	typeForm  = "application/x-www-form-urlencoded"
	typeParts = "multipart/form-data"
	typeText  = "text/plain; charset=utf-8"
)

// encodeBody writes a body as its content type wants it, and returns the type that is sent: the
// given one, with the boundary of a form in parts.
func encodeBody(body value.Value, contentType string, op *openapi.Operation) (text, kind string, err error) {
	text, isText := body.Str()
	media, params, _ := mime.ParseMediaType(contentType) // "" if it is not understood
	switch {
	case body.IsNull():
		return "", "", nil
	case isText && contentType == "":
		return text, typeText, nil
	case isText:
		return text, contentType, nil
	case media == typeForm:
		text, err = encodeForm(body, op)
		return text, contentType, err
	case media == typeParts:
		return encodeParts(body, params, op)
	case contentType == "":
		return body.JSON(), typeJSON, nil
	case media == typeJSON || media == "text/json" || strings.HasSuffix(media, "+json"):
		return body.JSON(), contentType, nil
	}
	return "", "", calls.Errorf(calls.Invalid, "the body is of type %s, which cannot be sent as %s", body.Kind(), contentType).
		WithHint("give the body as text")
}

func encodeForm(body value.Value, op *openapi.Operation) (string, error) {
	var pairs []string
	if body.Kind() != value.Object {
		return "", calls.Errorf(calls.Invalid, "a form is made of an object, not of type %s", body.Kind())
	}
	for name, v := range body.Map().All() {
		var style *openapi.Parameter
		if op != nil && op.Body != nil {
			if p, ok := op.Body.Styles[name]; ok {
				style = &p
			}
		}
		more, ok := queryPairs(name, v, style)
		if !ok {
			return "", calls.Errorf(calls.Invalid, "body/%s: %w", name, errNoScalar)
		}
		pairs = append(pairs, more...)
	}
	return strings.Join(pairs, "&"), nil
}

// headerFault returns why a header cannot be sent.
func headerFault(name, text string) error {
	inName := func(r rune) bool {
		if r >= 0x7f {
			return false
		}
		isWord := unicode.IsLetter(r) || unicode.IsDigit(r)
		isMark := strings.ContainsRune("!#$%&'*+-.^_`|~", r)
		return isWord || isMark
	}
	inValue := func(r rune) bool { return r == '\t' || !unicode.IsControl(r) || r >= 0x80 }
	if name == "" || strings.ContainsFunc(name, func(r rune) bool { return !inName(r) }) {
		return calls.Errorf(calls.Invalid, "%q is not a header name", name).WithHint("write letters, digits and - without blanks, as in X-Request-Id")
	}
	if strings.ContainsFunc(text, func(r rune) bool { return !inValue(r) }) {
		return wording.Errorf("the value has a line break or another control character")
	}
	return nil
}

// encodeParts writes an object as a form whose members are parts, and returns its content type: with params, the
// parameters of the given type, and a boundary if they have none. A member that the operation calls a file gets a
// name; each element of a list is a part.
func encodeParts(body value.Value, params map[string]string, op *openapi.Operation) (text, kind string, err error) {
	if body.Kind() != value.Object {
		return "", "", calls.Errorf(calls.Invalid, "a form is made of an object, not of type %s", body.Kind())
	}
	form := &openapi.Body{}
	if op != nil && op.Body != nil {
		form = op.Body
	}
	var b strings.Builder
	w := multipart.NewWriter(&b)
	boundary, isGiven := params["boundary"]
	if !isGiven {
		// The same body is the same request: a boundary by chance would make it another.
		sum := sha256.Sum256([]byte(body.JSON()))
		boundary = "form-" + hex.EncodeToString(sum[:16])
	}
	if err := w.SetBoundary(boundary); err != nil {
		return "", "", calls.Errorf(calls.Invalid, "the boundary %q of the content type cannot be used", boundary)
	}
	for name, v := range body.Map().All() {
		items := v.List()
		if v.Kind() != value.List {
			items = []value.Value{v}
		}
		for _, item := range items {
			if item.IsNull() {
				continue
			}
			if err := writePart(w, name, item, form); err != nil {
				return "", "", calls.Errorf(calls.Invalid, "body/%s: %w", name, err)
			}
		}
	}
	if err := w.Close(); err != nil {
		return "", "", calls.Errorf(calls.Internal, "writing a form: %w", err)
	}
	params = maps.Clone(params)
	if params == nil {
		params = map[string]string{}
	}
	params["boundary"] = boundary
	return b.String(), mime.FormatMediaType(typeParts, params), nil
}

// writePart writes one part: a text, a number or a boolean as text, a data URL as its
// bytes, anything else as JSON.
func writePart(w *multipart.Writer, name string, v value.Value, form *openapi.Body) error {
	content, isText := scalarText(v)
	kind := form.Types[name]
	isFile := slices.Contains(form.Files, name)
	if !isText {
		content = v.JSON()
		if kind == "" {
			kind = typeJSON
		}
	}
	data, dataType, isData, err := dataURL(content)
	if err != nil {
		return err
	}
	if isData {
		content, isFile = data, true
		if kind == "" {
			kind = dataType
		}
	}
	disposition := fmt.Sprintf(`form-data; name="%s"`, quotes.Replace(name))
	if isFile {
		disposition += fmt.Sprintf(`; filename="%s"`, quotes.Replace(name))
		if kind == "" {
			kind = "application/octet-stream"
		}
	}
	header := textproto.MIMEHeader{"Content-Disposition": {disposition}}
	for name, text := range map[string]string{"Content-Disposition": disposition, "Content-Type": kind} {
		if why := headerFault(name, text); why != nil {
			return wording.Errorf("%s: %w", name, why)
		}
	}
	if kind != "" {
		header.Set("Content-Type", kind)
	}
	part, err := w.CreatePart(header)
	if err == nil {
		_, err = part.Write([]byte(content))
	}
	return err
}

var quotes = strings.NewReplacer(`\`, `\\`, `"`, `\"`)

// dataURL takes the URL data:TYPE;base64,DATA apart; isData is false for any other text.
func dataURL(text string) (data, kind string, isData bool, err error) {
	head, encoded, found := strings.Cut(text, ";base64,")
	kind, isURL := strings.CutPrefix(head, "data:")
	if !found || !isURL || strings.ContainsAny(kind, " \n") {
		return "", "", false, nil
	}
	decoded, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		return "", "", false, wording.Errorf("the data URL is not base64: %w", err)
	}
	return string(decoded), kind, true, nil
}
