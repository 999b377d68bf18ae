package server

import (
	"context"
	"errors"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/atomicfile"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/scheduler/explain"
	"github.com/callnode/scheduler/scheduler/flow"
	"github.com/callnode/scheduler/scheduler/flow/graph"
	"github.com/callnode/scheduler/scheduler/server/store"
	"github.com/callnode/scheduler/scheduler/service"
	"github.com/callnode/scheduler/scheduler/service/preview"
)

// registerFlows adds the endpoints for flow files.
func (s *Server) registerFlows() {
	const one = base + "/flows/{flow}"
	gone := []int{http.StatusNotFound}
	addEndpoint(s, endpoint{method: http.MethodGet, path: base + "/flows", id: "list-flows", summary: "List the flows", noStore: true, scope: store.FlowsRead}, s.listFlows)
	addEndpoint(s, endpoint{method: http.MethodGet, path: one, id: "get-flow", summary: "Get a flow with its problems", noStore: true, scope: store.FlowsRead, errors: gone}, s.getFlow)
	addEndpoint(s, endpoint{method: http.MethodGet, path: one + "/graph", id: "get-graph", summary: "Get a flow as nodes and edges", noStore: true, scope: store.FlowsRead, errors: gone}, s.getGraph)
	addEndpoint(s, endpoint{method: http.MethodGet, path: one + "/source", id: "get-source", summary: "Get the text of a flow", noStore: true, scope: store.FlowsRead, errors: gone}, s.getSource)
	if s.options.Edit {
		addEndpoint(s, endpoint{
			method: http.MethodPut, path: one + "/source", id: "put-source", summary: "Replace the text of a flow, or create a flow", noStore: true, scope: store.FlowsWrite,
			errors: []int{http.StatusNotFound, http.StatusPreconditionFailed, http.StatusPreconditionRequired, http.StatusGatewayTimeout},
		}, s.putSource)
		answers := s.api.OpenAPI().Paths[one+"/source"].Put.Responses
		created := *answers["200"]
		created.Description = http.StatusText(http.StatusCreated)
		answers["201"] = &created
	}
	addEndpoint(s, endpoint{method: http.MethodPost, path: base + "/lint", id: "lint-text", summary: "Report the problems of a text that is not saved", noStore: true, scope: store.FlowsRead, errors: []int{http.StatusGatewayTimeout}}, s.lintText)
	addEndpoint(s, endpoint{
		method: http.MethodPost, path: base + "/preview", id: "preview-prompt", summary: "Render the prompt of one step of a text that is not saved", scope: store.FlowsRead,
		advice: "No model is asked and nothing is written: steps that reach beyond the flow have what an earlier run or a test gave, or placeholders like ‹recall.text›.", errors: []int{http.StatusNotFound, http.StatusGatewayTimeout},
	}, s.previewPrompt)
	addEndpoint(s, endpoint{method: http.MethodGet, path: base + "/flow.schema.json", id: "get-flow-schema", summary: "Get the JSON Schema of flow files", noStore: true, scope: store.FlowsRead}, s.getFlowSchema)
}

// ProblemBody is something wrong in a flow file.
type ProblemBody struct {
	File     string `json:"file"`
	Line     int    `json:"line"`
	Col      int    `json:"col"`
	Severity string `json:"severity" enum:"error,warning"`
	Message  string `json:"message"`
	Hint     string `json:"hint,omitempty"`
}

// problemBodies returns problems in the language of the request.
func (s *Server) problemBodies(ctx context.Context, problems flow.Problems) []ProblemBody {
	all := make([]ProblemBody, len(problems))
	for i, p := range problems.ForReader(s.languageOf(ctx)) {
		all[i] = ProblemBody{s.folders.Hide(p.Pos.File), p.Pos.Line, p.Pos.Col, "error", s.folders.Hide(p.Message), s.folders.Hide(p.Hint)}
		if p.Warning {
			all[i].Severity = "warning"
		}
	}
	return all
}

// FlowItem is a flow in a list.
type FlowItem struct {
	Flow        string `json:"flow" doc:"The id of the flow."`
	Name        string `json:"name,omitempty"`
	Description string `json:"description,omitempty"`
	File        string `json:"file" doc:"Its path below the folder of flows."`
	Errors      int    `json:"errors" doc:"How many errors it has; with one it does not run."`
	Warnings    int    `json:"warnings"`
	Hash        string `json:"hash" doc:"The hash of all its files."`
	Model       bool   `json:"model" doc:"Whether it is a model of /v1."`
	// LLM has no name for the default.
	LLM []string `json:"llm,omitempty" doc:"The names of the model providers that the flow and its steps name; without any they ask the default."`
}

func (s *Server) flowItemOf(f *service.LibraryFlow) FlowItem {
	item := FlowItem{Flow: f.ID, File: s.folders.Hide(f.File), Errors: len(f.Problems.Errors()), Warnings: len(f.Problems.Warnings()), Hash: f.Hash}
	if f.Flow != nil {
		item.Name, item.Description = f.Flow.Name, f.Flow.Description
		item.Model, item.LLM = s.openai.IsModel(f.Flow), providersOf(f.Flow)
	}
	return item
}

// providersOf returns the names of the providers that a flow and its steps name, each once.
func providersOf(f *flow.Flow) []string {
	names := slices.Clone(f.LLM)
	for _, st := range f.Steps {
		names = append(names, st.LLM...)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// listFlows lists the flows by their ids.
func (s *Server) listFlows(_ context.Context, in *Listing) (*body[page[FlowItem]], error) {
	all, err := s.library.Flows()
	if err != nil {
		return nil, err
	}
	var items []FlowItem
	for _, f := range all {
		if f.ID <= in.Cursor && in.Cursor != "" {
			continue
		}
		if len(items) == in.Limit {
			return newPage(items, items[len(items)-1].Flow), nil
		}
		items = append(items, s.flowItemOf(f))
	}
	return newPage(items, ""), nil
}

// FlowID is the input of endpoints about one flow.
type FlowID struct {
	Flow string `path:"flow" doc:"The id of the flow: its path without suffix, with ~ for the slash."`
}

// flowBody is a flow.
type flowBody struct {
	FlowItem
	Language          string        `json:"language,omitempty"`
	Inputs            value.Value   `json:"inputs,omitzero" doc:"The JSON Schema of the inputs."`
	Outputs           []string      `json:"outputs,omitempty" doc:"The names of the outputs."`
	Steps             []stepItem    `json:"steps" nullable:"false"`
	Triggers          []triggerItem `json:"triggers" nullable:"false" doc:"What starts runs of the flow by itself."`
	Problems          []ProblemBody `json:"problems" nullable:"false"`
	ReadsConversation bool          `json:"reads_conversation" doc:"Whether it reads the messages before the question; else a chat gives it the last message only."`
}

// stepItem is a step of a flow.
type stepItem struct {
	ID          string   `json:"id"`
	Name        string   `json:"name,omitempty"`
	Description string   `json:"description,omitempty"`
	Call        string   `json:"call"`
	Needs       []string `json:"needs" nullable:"false"`
	ToUser      bool     `json:"to_user,omitempty"`
	Line        int      `json:"line"`
	Col         int      `json:"col"`
}

// triggerItem is a schedule or a webhook of a flow.
type triggerItem struct {
	Kind     string `json:"kind" enum:"schedule,webhook"`
	ID       string `json:"id"`
	Schedule string `json:"schedule,omitempty" doc:"The id of a schedule below /schedules."`
	Cron     string `json:"cron,omitempty"`
	Timezone string `json:"timezone,omitempty"`
	Path     string `json:"path,omitempty" doc:"The path that takes the requests of a webhook."`
	Verify   string `json:"verify,omitempty" enum:"standard,github,header,none"`
	Line     int    `json:"line"`
	Col      int    `json:"col"`
}

// triggerItems returns the triggers of a flow that the principal may see.
func triggerItems(p service.Principal, flowID string, f *flow.Flow) []triggerItem {
	all := []triggerItem{}
	isSeen := func(user string) bool { return !p.Bound || user == "" || user == p.User }
	for _, s := range f.Triggers.Schedules {
		if isSeen(s.User) {
			all = append(all, triggerItem{
				Kind: "schedule", ID: s.ID, Schedule: flowID + ":" + s.ID, Cron: s.Cron, Timezone: s.Plan.Zone().String(), Line: s.Pos.Line, Col: s.Pos.Col,
			})
		}
	}
	for _, w := range f.Triggers.Webhooks {
		if isSeen(w.User) {
			all = append(all, triggerItem{
				Kind: "webhook", ID: w.ID, Path: hooksPath + flowID + "/" + w.ID, Verify: w.Verify, Line: w.Pos.Line, Col: w.Pos.Col,
			})
		}
	}
	return all
}

type getFlowOutput struct {
	ETag string `header:"ETag" doc:"The hash of all files of the flow."`
	Body flowBody
}

// getFlow returns a flow.
func (s *Server) getFlow(ctx context.Context, in *FlowID) (*getFlowOutput, error) {
	found, err := s.library.Flow(in.Flow)
	if err != nil {
		return nil, err
	}
	out := flowBody{FlowItem: s.flowItemOf(found), Steps: []stepItem{}, Triggers: []triggerItem{}, Problems: s.problemBodies(ctx, found.Problems)}
	if f := found.Flow; f != nil {
		out.ReadsConversation = service.ReadsConversation(f)
		out.Language, out.Inputs = f.Language, f.Inputs.Doc()
		if f.Outputs != nil {
			for _, m := range f.Outputs.Map {
				out.Outputs = append(out.Outputs, m.Key)
			}
		}
		out.Triggers = triggerItems(principalOf(ctx), found.ID, f)
		for _, st := range f.Steps {
			item := stepItem{ID: st.ID, Name: st.Name, Description: st.Description, Call: st.Call, Needs: []string{}, ToUser: st.ToUser, Line: st.Pos.Line, Col: st.Pos.Col}
			for _, n := range st.Needs {
				item.Needs = append(item.Needs, f.Steps[n].ID)
			}
			out.Steps = append(out.Steps, item)
		}
	}
	return &getFlowOutput{quotedTag(found.Hash), out}, nil
}

// getGraph returns a flow as nodes and edges.
func (s *Server) getGraph(ctx context.Context, in *FlowID) (*body[*graph.Graph], error) {
	found, err := s.library.Flow(in.Flow)
	if err != nil {
		return nil, err
	}
	if found.Flow == nil {
		return nil, brokenFlow(found.Problems)
	}
	return &body[*graph.Graph]{graph.Of(found.Flow).WithPaths(s.pathsFor(principalOf(ctx)))}, nil
}

// sourceBody is the text of a flow file.
type sourceBody struct {
	File string `json:"file,omitempty" readOnly:"true"`
	Text string `json:"text"`
}

type sourceOutput struct {
	ETag string `header:"ETag" doc:"The hash of the text and of the files that it names."`
	Body sourceBody
}

// getSource returns the text of a flow.
func (s *Server) getSource(_ context.Context, in *FlowID) (*sourceOutput, error) {
	found, err := s.library.Flow(in.Flow)
	if err != nil {
		return nil, err
	}
	return &sourceOutput{quotedTag(found.Hash), sourceBody{s.folders.Hide(found.File), string(found.Source)}}, nil
}

type putSourceInput struct {
	FlowID
	IfMatch     string `header:"If-Match" doc:"The ETag of the text that was edited."`
	IfNoneMatch string `header:"If-None-Match" enum:"*" doc:"* creates the flow, in the first folder of flows, and never overwrites a file."`
	Force       bool   `query:"force" doc:"Write a text with errors, too, where it has steps."`
	Body        sourceBody
}

type putSourceOutput struct {
	Status   int
	Location string `header:"Location" doc:"The path of a flow that was created."`
	ETag     string `header:"ETag" doc:"The hash of the text and of the files that it names."`
	Body     sourceBody
}

// putSource replaces the text of a flow, unless that has changed meanwhile, or creates a flow. A text with errors is written
// with Force only, one without steps never.
func (s *Server) putSource(ctx context.Context, in *putSourceInput) (*putSourceOutput, error) {
	s.editing.Lock()
	defer s.editing.Unlock()
	if in.IfNoneMatch != "" {
		return s.createFlow(ctx, in)
	}
	found, err := s.library.Flow(in.Flow)
	if err != nil {
		return nil, err
	}
	tags := tagsOf(ctx, "If-Match")
	if len(tags) == 0 {
		return nil, newProblem(http.StatusPreconditionRequired, "precondition", wording.Say("If-Match is missing"), wording.Say("send the ETag of the text that was edited"))
	}
	if !slices.Contains(tags, "*") && !slices.Contains(tags, quotedTag(found.Hash)) {
		return nil, newProblem(http.StatusPreconditionFailed, "precondition", wording.Say("the flow has changed since"), wording.Say("read it again"))
	}
	f, problems, err := s.checkText(ctx, found.File, in.Body.Text)
	if err != nil {
		return nil, err
	}
	if f == nil && !mayForce(ctx, in) {
		return nil, brokenFlow(problems)
	}
	if err := service.CheckFlowText(in.Body.Text); err != nil {
		return nil, err // the flow could not be found again
	}
	if err := checkTriggers(principalOf(ctx), f, found.Flow); err != nil {
		return nil, err
	}
	if err := replaceText(found.File, in.Body.Text); err != nil {
		return nil, err
	}
	out, err := s.getSource(ctx, &in.FlowID)
	if err != nil {
		return nil, err
	}
	return &putSourceOutput{Status: http.StatusOK, ETag: out.ETag, Body: out.Body}, nil
}

// createFlow writes the file of a flow that does not exist. A text with errors is written with Force only.
func (s *Server) createFlow(ctx context.Context, in *putSourceInput) (*putSourceOutput, error) {
	if in.IfMatch != "" {
		return nil, newProblem(http.StatusPreconditionFailed, "precondition",
			wording.Say("If-Match and If-None-Match are both given"), wording.Say("send If-Match to replace a flow, If-None-Match: * to create one"))
	}
	file, err := s.library.NewFile(in.Flow)
	if err != nil {
		return nil, err
	}
	f, problems, err := s.checkText(ctx, file, in.Body.Text)
	if err != nil {
		return nil, err
	}
	if f == nil && !mayForce(ctx, in) {
		return nil, brokenFlow(problems)
	}
	if err := checkTriggers(principalOf(ctx), f, nil); err != nil {
		return nil, err
	}
	err = s.library.Create(in.Flow, in.Body.Text)
	if errors.Is(err, fs.ErrExist) {
		return nil, newProblem(http.StatusPreconditionFailed, "precondition", wording.Say("the file %s exists", filepath.Base(file)), wording.Say("choose another name, or edit that flow"))
	}
	if err != nil {
		return nil, err
	}
	found, err := s.library.Flow(in.Flow)
	if err != nil {
		return nil, err
	}
	return &putSourceOutput{http.StatusCreated, base + "/flows/" + url.PathEscape(found.ID), quotedTag(found.Hash), sourceBody{s.folders.Hide(found.File), string(found.Source)}}, nil
}

// mayForce reports whether a text with errors is saved. A bound user's text is not: its triggers cannot be read,
// and they may begin runs once its errors are gone, for example when a missing file exists.
func mayForce(ctx context.Context, in *putSourceInput) bool {
	return in.Force && !principalOf(ctx).Bound
}

// checkTriggers refuses triggers of other users in a flow that a bound user saves: they would begin runs as those
// users, and triggers without a user begin runs with access to all memories. For the same reason a flow that has
// such triggers keeps its steps. before is the previous flow; nil for a new one, or if it has errors.
func checkTriggers(p service.Principal, f, before *flow.Flow) error {
	if !p.Bound {
		return nil
	}
	if before != nil && !before.Triggers.AreOf(p.User) {
		return newProblem(http.StatusForbidden, "forbidden", wording.Say("the flow has triggers of others, and the token is bound to a user"), wording.Say("use one that is not"))
	}
	if !f.Triggers.AreOf(p.User) {
		return newProblem(http.StatusUnprocessableEntity, string(calls.Invalid),
			wording.Say("a trigger begins runs of another user than that of the token, or of none"), wording.Say("write user: %s in each trigger, or use a token that is not bound to a user", p.User))
	}
	return nil
}

// replaceText replaces the text of a file, which keeps its mode; a link leads to the file that is replaced.
func replaceText(file, text string) error {
	mode := fs.FileMode(0o644)
	if info, err := os.Stat(file); err == nil {
		mode = info.Mode().Perm()
	}
	target, err := filepath.EvalSymlinks(file)
	if err != nil {
		return err
	}
	return atomicfile.Write(target, []byte(text), mode)
}

type lintTextInput struct {
	Body struct {
		File string `json:"file" minLength:"1" doc:"The path that the text is to have: an id of a flow, or a path below a folder of flows."`
		Text string `json:"text"`
	}
}

// lintBody is the problems of a text.
type lintBody struct {
	Problems []ProblemBody `json:"problems" nullable:"false"`
	Errors   int           `json:"errors"`
	Warnings int           `json:"warnings"`
}

// checkText returns the problems of a text of the caller that is to become the file, and the flow if it has no error.
func (s *Server) checkText(ctx context.Context, file, text string) (*flow.Flow, flow.Problems, error) {
	return s.options.Service.LintText(ctx, s.editedText(ctx, file, text))
}

// editedText returns a text of the caller, with the files that it may name.
func (s *Server) editedText(ctx context.Context, file, text string) service.EditedText {
	return service.EditedText{File: file, Text: text, ReadFile: s.readerOf(ctx), TimeLimit: s.options.MaxCheck}
}

// lintText reports the problems of a text that is not saved.
func (s *Server) lintText(ctx context.Context, in *lintTextInput) (*body[lintBody], error) {
	file, ok := s.library.FileOf(in.Body.File)
	if !ok {
		return nil, calls.Errorf(calls.Invalid, "file: %s is not a path below a folder of flows", quoteText(in.Body.File))
	}
	_, problems, err := s.checkText(ctx, file, in.Body.Text)
	if err != nil {
		return nil, err
	}
	return &body[lintBody]{lintBody{s.problemBodies(ctx, problems), len(problems.Errors()), len(problems.Warnings())}}, nil
}

type previewInput struct {
	Body struct {
		File string `json:"file" minLength:"1" doc:"The path that the text is to have: an id of a flow, or a path below a folder of flows."`
		Text string `json:"text" maxLength:"1048576"`
		Line int    `json:"line,omitempty" minimum:"0" doc:"The line of the cursor, from 1: the step that it is in is shown; before the first step, the one that answers the user."`
		From string `json:"from,omitempty" enum:"run,test,none" default:"run" doc:"Which values are shown: those of a run, of a case of a test, or placeholders alone."`
		Run  string `json:"run,omitempty" doc:"The run; by default the last one of the flow."`
		Test string `json:"test,omitempty" doc:"The test file, as GET /tests lists it, and case the id of its case."`
		Case string `json:"case,omitempty"`
	}
}

// previewBody is the prompt of a step of a text that is not saved.
type previewBody struct {
	Step     string                        `json:"step,omitempty" doc:"The step that is shown; none if the text has errors."`
	Call     string                        `json:"call,omitempty"`
	From     string                        `json:"from" enum:"run,test,none" doc:"Which values are shown."`
	Run      string                        `json:"run,omitempty"`
	Unknown  []string                      `json:"unknown" nullable:"false" doc:"The inputs and steps that placeholders stand for."`
	Prompts  []shaped[explain.Explanation] `json:"prompts" nullable:"false"`
	NoPrompt string                        `json:"no_prompt,omitempty" doc:"Why there is no prompt."`
	Hint     string                        `json:"hint,omitempty"`
	Errors   int                           `json:"errors" doc:"How many errors the text has; with one nothing is rendered."`
}

// previewPrompt renders the prompt of one step of a text that is not saved.
func (s *Server) previewPrompt(ctx context.Context, in *previewInput) (*body[previewBody], error) {
	file, ok := s.library.FileOf(in.Body.File)
	if !ok {
		return nil, calls.Errorf(calls.Invalid, "file: %s is not a path below a folder of flows", quoteText(in.Body.File))
	}
	out := previewBody{From: "none", Unknown: []string{}, Prompts: []shaped[explain.Explanation]{}}
	values := func(f *flow.Flow) (known preview.Values, err error) {
		known, err = s.previewValues(ctx, f, in, &out)
		return known, err
	}
	edited := s.editedText(ctx, file, in.Body.Text)
	mayRun := checkScope(requestOf(ctx).caller, store.RunsWrite) == nil // else the files of a run are not for this caller
	isFree := edited.ReadFile == nil || principalOf(ctx).Bound && s.isServed(file, in.Body.Text)
	made, err := s.options.Service.Preview(ctx, principalOf(ctx), &service.PreviewRequest{
		EditedText: edited, Line: in.Body.Line, ReadsFiles: isFree && mayRun, Values: values,
	})
	if err != nil {
		return nil, err
	}
	out.Errors = len(made.Problems.Errors())
	if made.Step != nil {
		out.Step, out.Call = made.Step.ID, made.Step.Call
	}
	if made.NoPrompt != nil {
		language := s.languageOf(ctx)
		out.NoPrompt = s.folders.Hide(wording.OfError(made.NoPrompt).In(language))
		out.Hint = s.folders.Hide(hintOf(made.NoPrompt).In(language))
	}
	if made.Result != nil {
		out.Unknown = append(out.Unknown, made.Unknown...)
		for _, one := range made.Prompts {
			out.Prompts = append(out.Prompts, shaped[explain.Explanation]{value.Must(one.WithPaths(s.pathsFor(principalOf(ctx))).InLanguage(s.languageOf(ctx)))})
		}
	}
	return &body[previewBody]{out}, nil
}

// previewValues returns the values that the caller has asked for, as far as the token may read them, and notes in out which they are.
func (s *Server) previewValues(ctx context.Context, f *flow.Flow, in *previewInput, out *previewBody) (known preview.Values, err error) {
	switch in.Body.From {
	case "none":
		return known, nil
	case "test":
		file, err := s.tests.File(ctx, in.Body.Test, s.languageOf(ctx))
		if err != nil {
			return known, err
		}
		c, err := file.Case(in.Body.Case)
		if err != nil {
			return known, err
		}
		out.From = "test"
		return service.ValuesOfCase(c), nil
	}
	if checkScope(requestOf(ctx).caller, store.RunsRead) != nil {
		return known, nil //nolint:nilerr // the preview shows placeholders instead of values
	}
	known, out.Run, err = s.options.Service.ValuesOfRun(ctx, principalOf(ctx), f.Name, in.Body.Run)
	if out.Run != "" {
		out.From = "run"
	}
	return known, err
}

// readerOf returns how the check of a caller's text reads the files that the text names; nil reads any. Callers who may not save
// flows, and bound callers, get the served flows and the files that these name, as served: the problems of a text,
// and its prompts, quote the files in it, for example {call: flow, with: {path: /etc/passwd}}. Nothing is read
// from the disk for them, so no link, no .. and no later change leads elsewhere.
func (s *Server) readerOf(ctx context.Context) func(path string) ([]byte, error) {
	mayRead := s.options.Edit && checkScope(requestOf(ctx).caller, store.FlowsWrite) == nil && !principalOf(ctx).Bound
	if mayRead {
		return nil
	}
	served := sync.OnceValues(s.library.ServedFiles)
	return func(path string) ([]byte, error) {
		files, err := served()
		if err != nil {
			return nil, err
		}
		content, isServed := files[flow.Absolute(path)]
		if !isServed {
			return nil, fs.ErrNotExist
		}
		return content, nil
	}
}

// isServed reports whether a text is the text of the served flow in the file.
func (s *Server) isServed(file, text string) bool {
	id, ok := s.library.IDOf(file)
	if !ok {
		return false
	}
	found, err := s.library.Flow(id)
	return err == nil && string(found.Source) == text
}

// getFlowSchema returns the JSON Schema of flow files, for editors.
func (s *Server) getFlowSchema(context.Context, *none) (*body[value.Value], error) {
	schema, err := s.options.Service.FlowSchema()
	return &body[value.Value]{schema}, err
}
