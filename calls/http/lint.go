package http

import (
	"cmp"
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/http/openapi"
	"github.com/callnode/scheduler/calls/schema"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/yaml"
)

// ownHeaders are made by the program, of the URL and the body.
var ownHeaders = []string{"Host", "Content-Length", "Transfer-Encoding", "Connection", "Trailer", "Upgrade"}

// checkParams finds parameters that lack another one, and headers that cannot be sent.
func checkParams(params value.Value, env calls.LintEnv) []schema.Problem {
	problems := env.CheckTogether(params, "openapi", "operation")
	if problems == nil && !env.HasOneOf(params, "url", "operation") {
		problems = []schema.Problem{schema.Problem{}.WithMessage("there is nowhere to send the request").WithHint("give url, or openapi with operation")}
	}
	problems = append(problems, checkHeaders(params)...)
	return append(problems, env.CheckDuration(params, "timeout", "500ms or 30s")...)
}

// checkHeaders finds headers that the program makes, and names and values that are not of HTTP, for example a name of blanks. An
// idempotency_header of "" names none, and says that a second request does no harm.
func checkHeaders(params value.Value) (problems []schema.Problem) {
	headers, _ := params.Get("headers")
	for name, v := range headers.Map().All() {
		text, _ := v.Str()
		if p := checkHeader("/headers/"+value.Escape(name), name, text); p != nil {
			problems = append(problems, *p)
		}
	}
	if name, _ := memberOf(params, "idempotency_header").Str(); name != "" {
		if p := checkHeader("/idempotency_header", name, ""); p != nil {
			problems = append(problems, *p)
		}
	}
	return problems
}

// checkHeader returns why a header cannot be given at a pointer of the parameters; nil if it can.
func checkHeader(at, name, text string) *schema.Problem {
	if slices.Contains(ownHeaders, http.CanonicalHeaderKey(name)) {
		p := schema.Problem{Pointer: at}.WithMessage("the header %s is made by the program", name).WithHint("take it out")
		return &p
	}
	if why := headerFault(name, text); why != nil {
		p := calls.ProblemOf(at, why)
		return &p
	}
	return nil
}

// Validate checks rules that the parameters' schema cannot express.
func (p Params) Validate() error {
	if p.OpenAPI.Kind() == value.Object {
		_, err := p.findOperation(nil)
		return err
	}
	return nil
}

// lint checks parameters that are known already; null means a value that is known only later, and url may still be
// filled in.
func lint(params value.Value, env calls.LintEnv) []schema.Problem {
	if problems := lintPlaceholders(params); len(problems) > 0 {
		return problems
	}
	if problem := lintURL(params); problem != nil {
		return []schema.Problem{*problem}
	}
	op, problems := findLinted(params, env)
	if op != nil {
		problems = slices.Concat(problems, lintRefused(op, params, env.IsOpen), lintArguments(op, params, env), lintMisspelt(op, params))
	}
	problems = slices.Concat(problems, lintHost(op, params, env), lintRepeated(op, params, env.Tries))
	isError := func(p schema.Problem) bool { return !p.Warning }
	if _, hasURL := params.Get("url"); (hasURL || !env.IsOpen) && !slices.ContainsFunc(problems, isError) {
		problems = append(problems, lintUnusedPath(params, op)...)
	}
	if slices.ContainsFunc(problems, isError) {
		return problems
	}
	var p Params
	for _, name := range []string{"url", "openapi", "operation", "timeout"} {
		if v, given := params.Get(name); given && v.IsNull() {
			return problems
		}
	}
	err := value.Decode(params, &p)
	hasTarget := p.URL != "" || p.Operation != ""
	if err != nil || !hasTarget {
		return problems
	}
	if p.Timeout == "" {
		p.Timeout = usualTimeout
	}
	if err := p.Validate(); err != nil {
		problems = append(problems, calls.ProblemOf("", err))
	}
	return problems
}

// lintRepeated warns of a request that may do its work twice, because the step may run again: for example an order that is placed, while
// its answer is lost. An idempotency_header of "" says that this does no harm.
func lintRepeated(op *openapi.Operation, params value.Value, tries int) []schema.Problem {
	at, method := "/method", ""
	if op != nil {
		at, method = "/operation", op.Method
	}
	if given, _ := memberOf(params, "method").Str(); given != "" {
		at, method = "/method", strings.ToUpper(given)
	}
	_, isDecided := params.Get("idempotency_header")
	isUnsafe := method == http.MethodPost || method == http.MethodPatch
	if tries == 0 || isDecided || !isUnsafe {
		return nil
	}
	problem := schema.Problem{
		Pointer: at, Warning: true, Hint: `give idempotency_header if the service knows such keys; idempotency_header: "" says that a second request does no harm`,
	}
	if tries > 1 {
		return []schema.Problem{problem.WithMessage("this %s may reach the service again: retry tries the step up to %d times, and a run that goes on repeats what was at work", method, tries)}
	}
	return []schema.Problem{problem.WithMessage("this %s may reach the service again: a run that goes on after a failure repeats what was at work", method)}
}

// lintURL finds a url to which no request can go. Values of path come after the host.
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

// lintHost warns of a host that the network policy is sure to refuse when the step runs, for example localhost.
func lintHost(op *openapi.Operation, params value.Value, env calls.LintEnv) []schema.Problem {
	given, hasURL := params.Get("url")
	target, _ := given.Str()
	at := "/url"
	switch {
	case hasURL && given.IsNull():
		target = env.Beginnings["/url"]
	case !hasURL && op != nil:
		at, target = "/openapi", op.Server
	}
	scheme, rest, _ := strings.Cut(target, "://")
	end := strings.IndexAny(rest, "/?#")
	isWhole := end >= 0 || hasURL && !given.IsNull() || at == "/openapi" // else more of the host comes later
	if env.CheckHost == nil || !isWhole {
		return nil
	}
	if end >= 0 {
		rest = rest[:end]
	}
	u, err := parseURL(scheme + "://" + rest)
	if err != nil {
		return nil // lintURL reports it
	}
	port := cmp.Or(u.Port(), map[string]string{"http": "80", "https": "443"}[u.Scheme])
	if err := env.CheckHost(u.Hostname(), port); err != nil {
		p := calls.ProblemOf(at, err)
		p.Warning = true
		return []schema.Problem{p}
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

// lintUnusedPath finds members of path for which the URL, with the path of the operation if there is one, has no
// place.
func lintUnusedPath(params value.Value, op *openapi.Operation) (problems []schema.Problem) {
	given, hasURL := params.Get("url")
	target, isText := given.Str()
	if hasURL && !isText { // known when the flow runs
		return nil
	}
	if _, hasOperation := params.Get("operation"); hasOperation && op == nil {
		return nil
	}
	if op != nil {
		target += op.Path
	}
	for name := range memberOf(params, "path").Map().All() {
		if !strings.Contains(target, "{"+name+"}") {
			problems = append(problems, schema.Problem{Pointer: "/path/" + value.Escape(name)}.
				WithMessage("path/%s is given, but {%s} is not in the url", name, name))
		}
	}
	return problems
}

// findLinted returns the operation that the parameters name, or the problems of it and its document. It returns
// neither if that is not known.
func findLinted(params value.Value, env calls.LintEnv) (*openapi.Operation, []schema.Problem) {
	doc, _ := params.Get("openapi")
	file, isFile := doc.Str()
	if isFile && env.Dir == "" || !isFile && doc.Kind() != value.Object {
		return nil, nil
	}
	if isFile {
		var err error
		doc, err = loadDocument(env.Dir, file)
		if err != nil {
			return nil, documentProblem(file, err)
		}
	}
	name := operationOf(params)
	if name == "" {
		return nil, nil
	}
	op, err := openapi.Find(doc, name)
	if err == nil {
		err = checkTarget(op, name, params)
	}
	if err != nil {
		return nil, []schema.Problem{calls.ProblemOf("/operation", err)}
	}
	keyHeader, isGiven := params.Get("idempotency_header")
	for _, q := range op.Parameters {
		if text, _ := keyHeader.Str(); isGiven && (keyHeader.IsNull() || strings.EqualFold(text, q.Name)) {
			waiveHeader(op, q.Name) // if it is computed, it may be any of them
		}
	}
	return op, nil
}

// operationOf returns the name of the operation.
func operationOf(params value.Value) string {
	name, _ := memberOf(params, "operation").Str()
	return name
}

// lintArguments checks the known parts of path, query, headers and body against the schemas of the operation.
func lintArguments(op *openapi.Operation, params value.Value, env calls.LintEnv) []schema.Problem {
	isKnown := func(pointer string, v value.Value) bool {
		mayGrow := env.IsOpen && v.Kind() == value.Object // by members that come later
		return !v.IsNull() && !mayGrow && !env.IsComputed(pointer)
	}
	known := func(group string) *value.Map {
		m := value.NewMap(0)
		for key, v := range memberOf(params, group).Map().All() {
			if isKnown("/"+group+"/"+value.Escape(key), v) {
				m.Set(key, v)
			}
		}
		return m
	}
	in := Input{Operation: operationOf(params), Path: known("path"), Query: known("query"), Headers: known("headers")}
	if body := memberOf(params, "body"); isKnown("/body", body) {
		in.Body = body
	}
	problems, err := in.findMisfits(op)
	if err != nil {
		return []schema.Problem{calls.ProblemOf("/operation", err)}
	}
	for i, p := range problems { // the place is in the flow's own spelling
		for key := range memberOf(params, "headers").Map().All() {
			if at := "/headers/" + value.Escape(key); strings.EqualFold(at, p.Pointer) {
				problems[i].Pointer = at
			}
		}
	}
	mayCome := func(p schema.Problem) bool {
		group, member, _ := strings.Cut(strings.TrimPrefix(p.Pointer, "/"), "/")
		given, isGiven := params.Get(group)
		isLater := isGiven && (given.IsNull() || member != "" && hasNull(given, member)) || env.IsComputed(p.Pointer)
		return p.Keyword == "required" && (env.IsOpen || isLater)
	}
	problems = slices.DeleteFunc(problems, mayCome)
	for i, p := range problems {
		group, missing, isMember := strings.Cut(strings.TrimPrefix(p.Pointer, "/"), "/")
		if isParameter := isMember && group != "body"; p.Keyword == "required" && isParameter && !strings.Contains(missing, "/") {
			problems[i] = schema.Problem{Pointer: "/" + group}.WithMessage("the operation %s needs the parameter %q", in.Operation, value.Unescape(missing))
		}
	}
	return problems
}

// hasNull reports whether a member, as a pointer has it, is given and null.
func hasNull(group value.Value, member string) bool {
	v, isGiven := group.At("/" + member)
	return isGiven && v.IsNull()
}

// lintMisspelt warns of parameters of the query that the operation does not have and that are spelt like one that
// it has. Others may be missing in the document, for example a key.
func lintMisspelt(op *openapi.Operation, params value.Value) (problems []schema.Problem) {
	query, operation := memberOf(params, "query").Map(), operationOf(params)
	var names []string
	for _, q := range op.Parameters {
		if _, given := query.Get(q.Name); q.In == "query" && !given {
			names = append(names, q.Name)
		}
	}
	for key := range query.All() {
		isRefused := slices.ContainsFunc(op.Refused, func(r openapi.Refused) bool { return r.In == "query" && r.Name == key })
		if findParameter(op, "query", key) != nil || isRefused {
			continue
		}
		if near := value.DidYouMean(key, names); near != "" {
			problems = append(problems, schema.Problem{Pointer: "/query/" + value.Escape(key), Warning: true}.
				WithMessage("the operation %s has no parameter %q", operation, key).WithHint("%s", near))
		}
	}
	return problems
}

// lintRefused finds parts that the document describes in a wrong or unsupported way. It is a warning if the
// request can go without the part, if the part may be given, and for parts that are read otherwise than the
// document says.
func lintRefused(op *openapi.Operation, params value.Value, isOpen bool) (problems []schema.Problem) {
	group := func(name string) *value.Map { return memberOf(params, name).Map() }
	name := operationOf(params)
	_, hasBody := params.Get("body")
	for _, warning := range op.Warnings {
		problems = append(problems, schema.Problem{Pointer: "/openapi", Warning: true}.WithMessage("%v", warning))
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

// groupOf lists the parameters under which a request gives the operation's parameters, by their place in the
// request.
var groupOf = map[string]string{"path": "path", "query": "query", "header": "headers", "body": "body"}

// checkTarget returns an error if no request can go to an operation, because the document leaves the server or a
// part of the path open.
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

// documentProblem returns the problem of a document that cannot be used, at the place in its file if that is
// known.
func documentProblem(file string, err error) []schema.Problem {
	p := calls.ProblemOf("/openapi", err)
	var fault *yaml.Error
	if errors.As(err, &fault) && file != "" {
		message, hint := fault.Text()
		p = schema.Problem{Pointer: "/openapi", File: file, Line: fault.Line, Col: fault.Col}.WithMessage("%s", message).WithHint("%s", hint)
	}
	return []schema.Problem{p}
}
