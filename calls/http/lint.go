package http

import (
	"errors"
	"slices"
	"strings"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/http/openapi"
	"github.com/callnode/scheduler/calls/schema"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/yaml"
)

// lint checks what is known already; null is what is known only later, and url may
// still be filled in.
func lint(params value.Value, env calls.LintEnv) []schema.Problem {
	if problems := lintPlaceholders(params); len(problems) > 0 {
		return problems
	}
	if problem := lintURL(params); problem != nil {
		return []schema.Problem{*problem}
	}
	if problems := lintDocument(params, env); len(problems) > 0 {
		return problems
	}
	var p Params
	for _, name := range []string{"url", "openapi", "operation", "timeout"} {
		if v, given := params.Get(name); given && v.IsNull() {
			return nil
		}
	}
	err := value.Decode(params, &p)
	hasTarget := p.URL != "" || p.Operation != ""
	if err != nil || !hasTarget {
		return nil
	}
	if p.Timeout == "" {
		p.Timeout = usualTimeout
	}
	if err := p.Validate(); err != nil {
		return []schema.Problem{calls.ProblemOf("", err)}
	}
	return nil
}

// lintURL finds a url to which no request can go. What path fills in comes after the host.
func lintURL(params value.Value) *schema.Problem {
	given, _ := params.Get("url")
	text, _ := given.Str()
	if text == "" {
		return nil
	}
	fixed, _, _ := strings.Cut(text, "{")
	if _, err := parseURL(fixed); err != nil {
		p := calls.ProblemOf("/url", err)
		return &p
	}
	return nil
}

// lintPlaceholders finds a {name} of the url that path does not give.
func lintPlaceholders(params value.Value) (problems []schema.Problem) {
	given, _ := params.Get("url")
	target, _ := given.Str()
	path, has := params.Get("path")
	if has && path.Kind() != value.Object { // known when the flow runs
		return nil
	}
	for _, m := range placeholder.FindAllStringSubmatchIndex(target, -1) {
		name := target[m[2]:m[3]]
		if _, ok := path.Get(name); ok {
			continue
		}
		problems = append(problems, schema.Problem{
			Pointer: "/url", Offset: m[0], Keyword: calls.UndefinedName,
		}.WithMessage("{%s} is not filled in: path does not give it", name).
			WithHint("write path: {%s: ...}; a brace that the url really has is written %%7B", name))
	}
	return problems
}

// lintDocument looks at the OpenAPI document and at the operation in it; nil where nothing is
// wrong with them, or nothing is known.
func lintDocument(params value.Value, env calls.LintEnv) []schema.Problem {
	doc, _ := params.Get("openapi")
	var err error
	switch name, isFile := doc.Str(); {
	case isFile && env.Dir == "", !isFile && doc.Kind() != value.Object:
		return nil
	case isFile:
		doc, err = loadDocument(env.Dir, name)
		if err != nil {
			return documentProblem(name, err)
		}
	default:
		doc, err = openapi.Upgrade(doc)
		if err != nil {
			return documentProblem("", err)
		}
	}
	operation, _ := params.Get("operation")
	name, _ := operation.Str()
	if name == "" {
		return nil
	}
	op, err := openapi.Find(doc, name)
	if err == nil {
		err = checkTarget(op, name, params)
	}
	if err != nil {
		return []schema.Problem{calls.ProblemOf("/operation", err)}
	}
	return lintRefused(op, name, params, env.IsOpen)
}

// lintRefused finds what the document describes in a way that is wrong or not supported. It is a warning where the request can go
// without it, if it may be given, and where the dialect of its schemas is unknown.
func lintRefused(op *openapi.Operation, name string, params value.Value, isOpen bool) (problems []schema.Problem) {
	group := func(name string) *value.Map { return memberOf(params, name).Map() }
	_, hasBody := params.Get("body")
	if op.UnknownDialect != "" {
		problems = append(problems, schema.Problem{Pointer: "/openapi", Warning: true}.WithMessage(unknownDialect, op.UnknownDialect))
	}
	given := Input{Operation: name, Path: group("path"), Query: group("query"), Headers: group("headers")}
	for _, q := range op.Refused {
		if given.has(q) || q.Required || hasBody && q.In == "body" {
			problems = append(problems, calls.ProblemOf("/operation", given.refusal(q)))
			continue
		}
		group, isGiven := params.Get(groupOf[q.In])
		mayBeGiven := isOpen || q.In == "" || isGiven && group.IsNull()
		if !mayBeGiven {
			continue
		}
		problems = append(problems, schema.Problem{Pointer: "/operation", Warning: true}.
			WithMessage("the operation %s: %v; it cannot be given", name, q.Err))
	}
	return problems
}

// groupOf are the parameters under which a request gives those of an operation, by where they are in the request.
var groupOf = map[string]string{"path": "path", "query": "query", "header": "headers", "body": "body"}

// checkTarget returns an error where no request can go to an operation, for the document leaves
// open to which server, or what a part of the path is.
func checkTarget(op *openapi.Operation, name string, params value.Value) error {
	if _, given := params.Get("url"); !given {
		if err := checkServer(op, name); err != nil {
			return err
		}
	}
	var inPath []string
	for _, m := range placeholder.FindAllStringSubmatch(op.Path, -1) {
		inPath = append(inPath, m[1])
	}
	for _, p := range op.Parameters {
		if p.In == "path" && p.Required && !slices.Contains(inPath, p.Name) {
			return calls.Errorf(calls.Invalid, "the operation needs the path parameter %q, and its path %s has no {%s}", p.Name, op.Path, p.Name).
				WithHint("mend the document")
		}
	}
	path, has := params.Get("path")
	if has && path.Kind() != value.Object { // known when the flow runs
		return nil
	}
	for _, part := range inPath {
		_, given := path.Get(part)
		isRefused := slices.ContainsFunc(op.Refused, func(r openapi.Refused) bool { return r.In == "path" && r.Name == part })
		if given || isRefused || findParameter(op, "path", part) != nil {
			continue
		}
		return calls.Errorf(calls.Invalid, "the path %s has {%s}, and the operation has no parameter of that name", op.Path, part).
			WithHint("give it under path, or add the parameter to the document")
	}
	return nil
}

// documentProblem returns the problem of a document that cannot be used, at the place in its
// file where that is known.
func documentProblem(file string, err error) []schema.Problem {
	p := calls.ProblemOf("/openapi", err)
	var fault *yaml.Error
	if errors.As(err, &fault) && file != "" {
		message, hint := fault.Text()
		p = schema.Problem{Pointer: "/openapi", File: file, Line: fault.Line, Col: fault.Col}.WithMessage("%s", message).WithHint("%s", hint)
	}
	return []schema.Problem{p}
}
