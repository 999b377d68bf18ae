package http

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/http/openapi"
)

// newRequest makes the request, with the operation if there is one.
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
	body, sentType, err := encodeBody(in.Body, contentType, op)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, method, target.String(), strings.NewReader(body))
	if err != nil {
		return nil, calls.Errorf(calls.Invalid, "the request to %s cannot be made", target.Host)
	}
	if in.Body.IsNull() {
		req.Body, req.GetBody, req.ContentLength = nil, nil, 0
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
	isSaid := req.Header.Get("Content-Type") != "" && sentType == contentType
	if !in.Body.IsNull() && !isSaid { // a form in parts has its boundary in the type
		req.Header.Set("Content-Type", sentType)
	}
	return req, nil
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

// checkServer returns an error if the document does not name the server of the operation with that name.
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

// fillPath replaces the {name}s by the values of path. Only the path has some: elsewhere a value could name
// another host, or another parameter.
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
