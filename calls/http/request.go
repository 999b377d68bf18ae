package http

import (
	"context"
	"mime"
	"net/http"
	"net/url"
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

// newRequest makes the request, of the operation where there is one.
func (in Input) newRequest(ctx context.Context, op *openapi.Operation) (*http.Request, error) {
	method, contentType := in.Method, ""
	if op != nil {
		if err := in.checkParams(op); err != nil {
			return nil, err
		}
		if method == "" {
			method = op.Method
		}
		if op.Body != nil {
			contentType = op.Body.ContentType
		}
	}
	if method == "" {
		method = http.MethodGet
	}
	target, err := in.targetURL(op)
	if err != nil {
		return nil, err
	}
	if given, has := lookupHeader(in.Headers, "Content-Type"); has {
		contentType, _ = given.Str()
	}
	body, contentType, err := encodeBody(in.Body, contentType, op)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, method, target.String(), strings.NewReader(body))
	if err != nil {
		return nil, calls.Errorf(calls.Invalid, "the request to %s cannot be made", target.Host)
	}
	if in.Body.IsNull() {
		req.Body, req.GetBody, req.ContentLength = nil, nil, 0
	} else {
		req.Header.Set("Content-Type", contentType)
	}
	for name, v := range in.Headers.All() {
		text, ok := parameterTexts(v, findParameter(op, "header", name))
		if !ok {
			return nil, calls.Errorf(calls.Invalid, "headers/%s: %w", name, errNoScalar)
		}
		if len(text) > 0 {
			req.Header.Set(name, strings.Join(text, ","))
		}
		if why := headerFault(name, req.Header.Get(name)); why != nil {
			return nil, calls.Errorf(calls.Invalid, "headers/%q: %w", name, why) // the value may be a secret
		}
	}
	return req, nil
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
		return wording.Errorf("this is not a valid header name")
	}
	if strings.ContainsFunc(text, func(r rune) bool { return !inValue(r) }) {
		return wording.Errorf("the value has a line break or another control character")
	}
	return nil
}

// targetURL returns the URL with path and query filled in.
func (in Input) targetURL(op *openapi.Operation) (*url.URL, error) {
	raw := in.URL
	if op != nil {
		if raw == "" {
			raw = op.Server
			if err := checkServer(op, in.Operation); err != nil {
				return nil, err
			}
		}
		raw = strings.TrimRight(raw, "/") + op.Path
	}
	raw, err := in.fillPath(raw, op)
	if err != nil {
		return nil, err
	}
	u, err := parseURL(raw)
	if err != nil {
		return nil, err
	}
	query := []string{}
	if u.RawQuery != "" {
		query = append(query, u.RawQuery)
	}
	for name, v := range in.Query.All() {
		pairs, ok := queryPairs(name, v, findParameter(op, "query", name))
		if !ok {
			return nil, calls.Errorf(calls.Invalid, "query/%s: %w", name, errNoScalar)
		}
		query = append(query, pairs...)
	}
	u.RawQuery = strings.Join(query, "&")
	return u, nil
}

// checkServer returns an error where the document does not say to which server the operation
// with that name goes.
func checkServer(op *openapi.Operation, name string) error {
	if strings.ContainsAny(op.Server, "{}") {
		return calls.Errorf(calls.Invalid, "the server %s of the OpenAPI document has a {name} that no variable with a default fills in", op.Server).
			WithHint("give the server as url")
	}
	if u, err := url.Parse(op.Server); err == nil && u.Host == "" {
		return calls.Errorf(calls.Invalid, "the OpenAPI document does not say on which server %s is", name).
			WithHint("give the server as url")
	}
	return nil
}

// parseURL reads the URL of a request.
func parseURL(raw string) (*url.URL, error) {
	u, err := url.Parse(raw)
	switch {
	case err != nil:
		return nil, calls.Errorf(calls.Invalid, "the url is not understood") // it may hold a secret
	case u.Scheme != "http" && u.Scheme != "https", u.Host == "":
		return nil, calls.Errorf(calls.Invalid, "the url must begin with http:// or https:// and a host")
	}
	return u, nil
}

// fillPath puts the values of path in the place of the {name}s. Only the path has some:
// elsewhere a value could name another host, or another parameter.
func (in Input) fillPath(raw string, op *openapi.Operation) (string, error) {
	rest, query, _ := strings.Cut(raw, "?")
	start := 0
	if i := strings.Index(rest, "://"); i >= 0 {
		start = len(rest)
		if slash := strings.IndexByte(rest[i+3:], '/'); slash >= 0 {
			start = i + 3 + slash
		}
	}
	if in.Path == nil && op == nil && !strings.Contains(rest[start:], "{") {
		return raw, nil
	}
	if strings.Contains(rest[:start], "{") || strings.Contains(query, "{") {
		return "", calls.Errorf(calls.Invalid, "the url has a {name} outside of its path").WithHint("for the query there is the parameter query")
	}
	var b strings.Builder
	var used []string
	for {
		before, after, found := strings.Cut(rest, "{")
		b.WriteString(before)
		name, after, closed := strings.Cut(after, "}")
		if found && !closed {
			return "", calls.Errorf(calls.Invalid, "the url has a { without its }")
		}
		if found {
			text, err := in.pathSegment(name, op)
			if err != nil {
				return "", err
			}
			b.WriteString(text)
			used, rest = append(used, name), after
			continue
		}
		break
	}
	for name := range in.Path.All() {
		if !slices.Contains(used, name) {
			return "", calls.Errorf(calls.Invalid, "path/%s is given, but {%s} is not in the url", name, name)
		}
	}
	if query != "" {
		b.WriteString("?" + query)
	}
	return b.String(), nil
}

// pathSegment returns the value of a placeholder, escaped.
func (in Input) pathSegment(name string, op *openapi.Operation) (string, error) {
	v, ok := in.Path.Get(name)
	if !ok {
		return "", calls.Errorf(calls.Missing, "path/%s is not given, and the url needs it", name).
			WithHint("give it under path; a brace that the url really has is written %%7B")
	}
	list, ok := parameterTexts(v, findParameter(op, "path", name))
	for i := range list {
		list[i] = url.PathEscape(list[i])
	}
	switch text := strings.Join(list, ","); {
	case !ok || text == "":
		return "", calls.Errorf(calls.Invalid, "path/%s is empty, or no text, number, boolean or list of them", name)
	case text == "." || text == "..":
		return "", calls.Errorf(calls.Invalid, "path/%s: %q would lead elsewhere", name, text)
	default:
		return text, nil
	}
}

// findParameter returns the operation's own description of a parameter; nil where there is
// none.
func findParameter(op *openapi.Operation, in, name string) *openapi.Parameter {
	if op == nil {
		return nil
	}
	for i, p := range op.Parameters {
		isNamed := p.Name == name
		if in == "header" {
			isNamed = strings.EqualFold(p.Name, name)
		}
		if p.In == in && isNamed {
			return &op.Parameters[i]
		}
	}
	return nil
}

// parameterTexts writes a scalar, a list of scalars or, where the operation has objects, an
// object in the simple style; none for null.
func parameterTexts(v value.Value, p *openapi.Parameter) (list []string, ok bool) {
	if p != nil && p.JSON {
		return []string{v.JSON()}, true
	}
	switch v.Kind() {
	case value.Null:
		return nil, true
	case value.List:
		for _, item := range v.List() {
			text, ok := scalarText(item)
			if !ok {
				return nil, false
			}
			list = append(list, text)
		}
		return list, true
	case value.Object:
		if p == nil {
			return nil, false
		}
		for key, member := range v.Map().All() {
			text, ok := scalarText(member)
			switch {
			case !ok:
				return nil, false
			case p.Explode:
				list = append(list, key+"="+text)
			default:
				list = append(list, key, text)
			}
		}
		return list, true
	}
	text, ok := scalarText(v)
	return []string{text}, ok
}

func scalarText(v value.Value) (string, bool) {
	switch v.Kind() {
	case value.String:
		text, _ := v.Str()
		return text, true
	case value.Int, value.Float, value.Bool:
		return v.JSON(), true
	}
	return "", false
}

// queryPairs writes name=value, once or several times.
func queryPairs(name string, v value.Value, p *openapi.Parameter) (pairs []string, ok bool) {
	escape := url.QueryEscape
	if p != nil && p.Reserved {
		escape = escapeButReserved
	}
	pair := func(name, text string) { pairs = append(pairs, url.QueryEscape(name)+"="+text) }
	isStyled := p != nil && !p.JSON
	if v.Kind() == value.Object && isStyled && p.Explode {
		for key, member := range v.Map().All() {
			list, ok := parameterTexts(member, nil)
			if !ok {
				return nil, false
			}
			if p.Style == "deepObject" {
				key = name + "[" + key + "]"
			}
			for _, text := range list {
				pair(key, escape(text))
			}
		}
		return pairs, true
	}
	list, ok := parameterTexts(v, p)
	for i := range list {
		list[i] = escape(list[i])
	}
	if isStyled && !p.Explode && len(list) > 1 {
		list = []string{strings.Join(list, separatorOf(p.Style))}
	}
	for _, text := range list {
		pair(name, text)
	}
	return pairs, ok
}

// separatorOf returns what stands between the values of a list that is one parameter. It
// is not escaped like a comma inside a value.
func separatorOf(style string) string {
	switch style {
	case "spaceDelimited":
		return "%20"
	case "pipeDelimited":
		return "%7C"
	}
	return ","
}

// escapeButReserved escapes a text for the query and leaves what RFC 3986 reserves, but for
// what would end the value or be read as something else: & # + and %.
func escapeButReserved(text string) string {
	const kept = ":/?[]@!$'()*,;="
	var b strings.Builder
	for _, r := range text {
		if strings.ContainsRune(kept, r) {
			b.WriteRune(r)
		} else {
			b.WriteString(url.QueryEscape(string(r)))
		}
	}
	return b.String()
}

// encodeBody writes a body as its content type wants it, and returns the type where none
// was given.
func encodeBody(body value.Value, contentType string, op *openapi.Operation) (text, kind string, err error) {
	text, isText := body.Str()
	media, _, _ := mime.ParseMediaType(contentType) // "" where it is not understood
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
		return encodeParts(body, op)
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
