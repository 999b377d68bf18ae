package server

import (
	"context"
	"encoding/base64"
	"errors"
	"maps"
	"net/http"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/scheduler/flow/graph"
	"github.com/callnode/scheduler/scheduler/journal"
	"github.com/callnode/scheduler/scheduler/service"
)

// stepBody is a step with its payloads.
type stepBody struct {
	ID              string               `json:"id"`
	Call            string               `json:"call"`
	State           journal.StepStatus   `json:"state" enum:"pending,running,waiting,skipped,failed,cancelled,finished"`
	Attempts        int                  `json:"attempts"`
	StartedAt       time.Time            `json:"started_at,omitzero" doc:"When the last attempt began."`
	DurationMS      float64              `json:"duration_ms"`
	Usage           llm.Usage            `json:"usage"`
	Error           *journal.ErrorInfo   `json:"error,omitempty"`
	Reason          string               `json:"reason,omitempty" doc:"Why it was skipped."`
	Child           string               `json:"child,omitempty" doc:"The run of its own that it has run its flow as."`
	Params          value.Value          `json:"params,omitzero" doc:"The rendered parameters."`
	Input           value.Value          `json:"input,omitzero"`
	Output          value.Value          `json:"output,omitzero"`
	Prompts         []journal.Prompt     `json:"prompts,omitempty" doc:"What models were asked beyond the input."`
	RemainingSchema value.Value          `json:"remaining_schema,omitzero" doc:"What the step waits for."`
	Answers         value.Value          `json:"answers,omitzero" doc:"What users gave it so far, by pointer."`
	Items           []*journal.StepState `json:"items,omitempty"`
}

type getStepInput struct {
	RunID
	Step string `path:"step" doc:"The id of the step: answer, each[2], outer/inner."`
}

// getStep returns a step with its payloads.
func (s *Server) getStep(ctx context.Context, in *getStepInput) (*body[stepBody], error) {
	if _, err := s.findRun(ctx, in.ID); err != nil {
		return nil, err
	}
	details, _, err := s.options.Service.ShowRun(ctx, principalOf(ctx), in.ID)
	if err != nil {
		return nil, err
	}
	st := details.State.Step(in.Step)
	if i := slices.IndexFunc(details.State.Steps, func(x *journal.StepState) bool { return x.ID == in.Step }); st == nil && i >= 0 {
		st = details.State.Steps[i] // one that has not begun
	}
	if st == nil {
		return nil, notFound("there is no step %q", value.Truncate(in.Step, 80))
	}
	return &body[stepBody]{stepBody{
		ID: st.ID, Call: st.Call, State: st.State, Attempts: st.Attempts, StartedAt: st.StartedAt, DurationMS: st.DurationMS,
		Usage: st.Usage, Error: st.Error, Reason: wording.Restate(st.Reason).In(s.languageOf(ctx)), Child: st.Child, Params: st.Params, Input: st.Input, Output: st.Output,
		Prompts: st.Prompts, RemainingSchema: st.Remaining, Answers: st.Answers, Items: st.Items,
	}}, nil
}

// getRunGraph returns the flow of a run as nodes and edges.
func (s *Server) getRunGraph(ctx context.Context, in *RunID) (*body[*graph.Graph], error) {
	if _, err := s.findRun(ctx, in.ID); err != nil {
		return nil, err
	}
	details, _, err := s.options.Service.ShowRun(ctx, principalOf(ctx), in.ID)
	if err != nil {
		return nil, err
	}
	if details.Flow == nil {
		return nil, newProblem(http.StatusNotFound, string(calls.NotFound), wording.OfError(details.Unreadable), wording.Text{})
	}
	return &body[*graph.Graph]{graph.Of(details.Flow).WithPaths(s.pathsFor(principalOf(ctx)))}, nil
}

type getPromptsInput struct {
	RunID
	Step string `query:"step" doc:"The step; by default the last one that built a prompt."`
}

// getPrompts explains the origin of each piece of a step's prompts.
func (s *Server) getPrompts(ctx context.Context, in *getPromptsInput) (*body[shaped[service.Prompts]], error) {
	if _, err := s.findRun(ctx, in.ID); err != nil {
		return nil, err
	}
	details, _, err := s.options.Service.ShowRun(ctx, principalOf(ctx), in.ID)
	if err != nil {
		return nil, err
	}
	prompts, err := s.options.Service.Prompts(ctx, details, in.Step)
	if errors.Is(err, service.ErrNoPrompt) || calls.KindOf(err) == calls.Missing {
		return nil, newProblem(http.StatusNotFound, string(calls.NotFound), wording.OfError(err), hintOf(err))
	}
	if err != nil {
		return nil, err
	}
	return &body[shaped[service.Prompts]]{shaped[service.Prompts]{value.Must(prompts.WithPaths(s.pathsFor(principalOf(ctx))).InLanguage(s.languageOf(ctx)))}}, nil
}

// pathsFor returns how files are called in answers to a principal: by their paths below the folders of the server.
func (s *Server) pathsFor(p service.Principal) func(path string) string {
	return func(path string) string { return s.folders.HidePath(path, p.Bound) }
}

// fileBody is a file of a run; of one in a list, Content is left out.
type fileBody struct {
	Path     string `json:"path"`
	Size     int    `json:"size"`
	Current  bool   `json:"current" doc:"Whether the file is shown as it is now: the run has not kept it."`
	Changed  bool   `json:"changed,omitempty" doc:"Whether a current file is another than the one that the run has read, or may be: a text that a prompt has from it is not at its place any more, or it was written after the step began."`
	Until    int64  `json:"until,omitempty" doc:"The last event for which the run had this text; it was edited later."`
	Content  string `json:"content,omitempty"`
	Encoding string `json:"encoding,omitempty" enum:"utf-8,base64"`
}

type getFilesInput struct {
	RunID
	Path string `query:"path" doc:"The path of the file to read; without it, the files are listed."`
	Seq  int64  `query:"seq" minimum:"0" doc:"The event whose files are asked for, as the seq of a source says; by default those that the run has now."`
}

// filesBody is the files of a run, or one of them.
type filesBody struct {
	Items []fileBody `json:"items" nullable:"false"`
	Next  *string    `json:"next"`
}

// getFiles lists the files of a run with its flow first, or reads one of them.
func (s *Server) getFiles(ctx context.Context, in *getFilesInput) (*body[filesBody], error) {
	if _, err := s.findRun(ctx, in.ID); err != nil {
		return nil, err
	}
	files, err := s.options.Service.Files(ctx, principalOf(ctx), in.ID, in.Seq)
	if err != nil {
		return nil, err
	}
	by := principalOf(ctx)
	shown := s.pathsFor(by)
	isAsked := func(path string) bool {
		return in.Path == "" || in.Path == shown(path) || in.Path == path && !by.Bound
	}
	isKept := in.Path != "" && slices.ContainsFunc(slices.Collect(maps.Keys(files.Kept)), isAsked)
	var current []namedFile
	if !isKept { // to find the others, all prompts of the run are explained
		current, err = s.namedFiles(ctx, in.ID, files)
		if err != nil {
			return nil, err
		}
	}
	out := &body[filesBody]{filesBody{Items: []fileBody{}}}
	add := func(f fileBody, content []byte) {
		if isAsked(f.Path) {
			f.Path = shown(f.Path)
			out.Body.Items = append(out.Body.Items, f.withContent(content, in.Path != ""))
		}
	}
	isFlow := func(path string) bool { return path == files.Flow }
	for _, path := range append([]string{files.Flow}, slices.DeleteFunc(slices.Sorted(maps.Keys(files.Kept)), isFlow)...) {
		add(fileBody{Path: path, Until: files.Until[path]}, files.Kept[path])
	}
	for _, f := range current {
		add(fileBody{Path: f.path, Current: true, Changed: f.isChanged}, f.content)
	}
	if in.Path != "" && len(out.Body.Items) == 0 {
		return nil, notFound("there is no file of the run %q", value.Truncate(in.Path, 200))
	}
	return out, nil
}

// withContent returns the file with its size, and its content if that was asked for.
func (f fileBody) withContent(content []byte, isAsked bool) fileBody {
	f.Size = len(content)
	if !isAsked {
		return f
	}
	f.Content, f.Encoding = string(content), "utf-8"
	if !utf8.Valid(content) {
		f.Content, f.Encoding = base64.StdEncoding.EncodeToString(content), "base64"
	}
	return f
}
