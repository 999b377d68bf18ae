package server

import (
	"context"
	"encoding/base64"
	"errors"
	"maps"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/scheduler/explain"
	"github.com/callnode/scheduler/scheduler/flow"
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
		Usage: st.Usage, Error: st.Error, Reason: st.Reason, Child: st.Child, Params: st.Params, Input: st.Input, Output: st.Output,
		Prompts: st.Prompts, RemainingSchema: st.Remaining, Answers: st.Answers, Items: st.Items,
	}}, nil
}

// getRunGraph returns the flow of a run as nodes and edges.
func (s *Server) getRunGraph(ctx context.Context, in *RunID) (*body[*flow.Graph], error) {
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
	return &body[*flow.Graph]{details.Flow.Graph()}, nil
}

type getPromptsInput struct {
	RunID
	Step string `query:"step" doc:"The step; by default the last one that built a prompt."`
}

// getPrompts explains where each piece of a step's prompts comes from.
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
	return &body[shaped[service.Prompts]]{shaped[service.Prompts]{value.Must(prompts)}}, nil
}

// fileBody is a file of a run; of one in a list, Content is left out.
type fileBody struct {
	Path     string `json:"path"`
	Size     int    `json:"size"`
	Current  bool   `json:"current" doc:"Whether the file is shown as it is now: the run has not kept it."`
	Content  string `json:"content,omitempty"`
	Encoding string `json:"encoding,omitempty" enum:"utf-8,base64"`
}

type getFilesInput struct {
	RunID
	Path string `query:"path" doc:"The path of the file to read; without it, the files are listed."`
}

// filesBody is the files of a run, or one of them.
type filesBody struct {
	Items []fileBody `json:"items" nullable:"false"`
	Next  *string    `json:"next"`
}

// maxShownFile bounds a file that is shown, in bytes.
const maxShownFile = 4 << 20

// getFiles lists the files of a run with its flow first, or reads one of them.
func (s *Server) getFiles(ctx context.Context, in *getFilesInput) (*body[filesBody], error) {
	if _, err := s.findRun(ctx, in.ID); err != nil {
		return nil, err
	}
	file, kept, err := s.options.Service.Files(ctx, principalOf(ctx), in.ID)
	if err != nil {
		return nil, err
	}
	paths := append([]string{file}, slices.DeleteFunc(slices.Sorted(maps.Keys(kept)), func(p string) bool { return p == file })...)
	var current []namedFile
	if _, isKept := kept[in.Path]; !isKept { // to find the others, all prompts of the run are explained
		if current, err = s.namedFiles(ctx, in.ID, file, kept); err != nil {
			return nil, err
		}
	}
	out := &body[filesBody]{filesBody{Items: []fileBody{}}}
	for _, path := range paths {
		if in.Path == "" || in.Path == path {
			out.Body.Items = append(out.Body.Items, newFileBody(path, kept[path], false, in.Path != ""))
		}
	}
	for _, f := range current {
		if in.Path == "" || in.Path == f.path {
			out.Body.Items = append(out.Body.Items, newFileBody(f.path, f.content, true, in.Path != ""))
		}
	}
	if in.Path != "" && len(out.Body.Items) == 0 {
		return nil, notFound("there is no file of the run %q", value.Truncate(in.Path, 200))
	}
	return out, nil
}

func newFileBody(path string, content []byte, current, withContent bool) fileBody {
	f := fileBody{Path: path, Size: len(content), Current: current}
	if !withContent {
		return f
	}
	f.Content, f.Encoding = string(content), "utf-8"
	if !utf8.Valid(content) {
		f.Content, f.Encoding = base64.StdEncoding.EncodeToString(content), "base64"
	}
	return f
}

// namedFile is a file as it is now.
type namedFile struct {
	path    string
	content []byte
}

// namedFiles returns the files that prompts of the run name and that it has not kept, as far
// as they are there. What a prompt names may come from anywhere, so only files below the
// folder of the flow are shown, and none that are hidden.
func (s *Server) namedFiles(ctx context.Context, run, flowFile string, kept map[string][]byte) ([]namedFile, error) {
	details, _, err := s.options.Service.ShowRun(ctx, principalOf(ctx), run)
	if err != nil || details.Unreadable != nil {
		return nil, err
	}
	named := map[string]bool{}
	for _, st := range details.State.Steps {
		prompts, err := s.options.Service.Prompts(ctx, details, st.ID)
		if err != nil {
			continue // a step without a prompt names no files
		}
		for _, e := range prompts.Explanations {
			addNamedFiles(e, named)
		}
	}
	dir, err := calls.OpenRoot(filepath.Dir(flowFile))
	if err != nil {
		return nil, nil // the folder is gone, and its files with it
	}
	defer dir.Close()
	var files []namedFile
	for _, path := range slices.Sorted(maps.Keys(named)) {
		rel := path
		if filepath.IsAbs(path) {
			rel, err = filepath.Rel(filepath.Dir(flowFile), path)
		}
		isShown := err == nil && filepath.IsLocal(rel) && !isHidden(rel)
		if _, isKept := kept[path]; isKept || !isShown {
			continue
		}
		if content, err := calls.ReadFileIn(dir, rel, maxShownFile); err == nil {
			files = append(files, namedFile{path, content})
		}
	}
	return files, nil
}

// isHidden reports whether a part of a path begins with a dot.
func isHidden(path string) bool {
	return slices.ContainsFunc(strings.Split(filepath.ToSlash(path), "/"), func(part string) bool {
		return strings.HasPrefix(part, ".") && part != "." && part != ".."
	})
}

// addNamedFiles adds the files of an explanation.
func addNamedFiles(e *explain.Explanation, named map[string]bool) {
	for _, m := range e.Messages {
		for _, piece := range m.Pieces {
			for _, source := range piece.Sources {
				if source.Path != "" {
					named[source.Path] = true
				}
			}
		}
	}
}
