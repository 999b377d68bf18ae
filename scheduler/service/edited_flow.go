package service

import (
	"context"
	"strings"
	"time"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/scheduler"
	"github.com/callnode/scheduler/scheduler/flow"
	"github.com/callnode/scheduler/scheduler/flowtest/suite"
	"github.com/callnode/scheduler/scheduler/journal"
	"github.com/callnode/scheduler/scheduler/service/preview"
)

// EditedText is the text of a flow that is not saved. Its caller makes one for one use of the Service; it is only read.
type EditedText struct {
	// File is the path that the text is to have.
	File, Text string
	// ReadFile reads the files that the text names; nil reads any file of the machine.
	ReadFile func(path string) ([]byte, error)
	// TimeLimit bounds how long the check of the text takes, with the wait for its turn.
	TimeLimit time.Duration
}

// maxTexts bounds how many texts that are not saved are looked at at once: any client may send some that take long.
const maxTexts = 2

// ErrManyTexts means that in its time a text did not have its turn.
var ErrManyTexts = wording.Errorf("too many texts of flows are being checked")

// awaitTurn waits until a text may be looked at, for which there is the time limit, or until ctx ends. done ends the turn; turn is the
// context of the work, and the cause of its end is tooLong once the time is over.
func (s *Service) awaitTurn(ctx context.Context, limit time.Duration, tooLong error) (turn context.Context, done func(), err error) {
	turn, cancel := context.WithTimeoutCause(ctx, limit, tooLong)
	select {
	case s.texts <- struct{}{}:
		return turn, func() { <-s.texts; cancel() }, nil
	case <-turn.Done():
		cancel()
		if ctx.Err() != nil {
			return nil, nil, context.Cause(ctx)
		}
		return nil, nil, ErrManyTexts
	}
}

// LintText returns the problems of a text, and the flow if there is no error among them.
func (s *Service) LintText(ctx context.Context, r EditedText) (*flow.Flow, flow.Problems, error) {
	return s.parseText(ctx, Surroundings{}, r)
}

// LoadEditedText reads an edited flow for a run from its text, whose File is that of the flow that the run began with. The files
// that it names are found beside that one; those that the run has kept may be read in any case.
func (s *Service) LoadEditedText(ctx context.Context, p Principal, run string, r EditedText) (*flow.Flow, flow.Problems, error) {
	_, header, began, err := s.begunRun(ctx, p, run)
	if err != nil {
		return nil, nil, err
	}
	dir := s.localDir(began.Dir)
	file, kept := scheduler.LocalFiles(dir, header.File, header.Text)
	r.File = file
	if others := r.ReadFile; others != nil {
		r.ReadFile = func(path string) ([]byte, error) {
			if content, isKept := kept[path]; isKept {
				return content, nil
			}
			return others(path)
		}
	}
	return s.parseText(ctx, Surroundings{Dir: dir, Language: began.Language}, r)
}

// parseText reads an edited flow. The work ends with ctx, and after the time limit: then the error is of the kind Timeout.
func (s *Service) parseText(ctx context.Context, from Surroundings, r EditedText) (*flow.Flow, flow.Problems, error) {
	limit := r.TimeLimit
	tooLong := calls.Errorf(calls.Timeout, "the check of the flow takes longer than %s", limit).
		WithHint("make the flow smaller, for example by steps in a flow of their own (call: flow), or raise serve.max_check")
	turn, done, err := s.awaitTurn(ctx, limit, tooLong)
	if err != nil {
		return nil, nil, err
	}
	defer done()
	loader, _, err := s.parts.Loader(from)
	if err != nil {
		return nil, nil, err
	}
	loader.ReadFile = r.ReadFile
	return loader.ParseContext(turn, r.File, []byte(r.Text))
}

// PreviewRequest is a text whose prompt is shown while a user types. Its caller makes one for one
// [Service.Preview]; it is only read.
type PreviewRequest struct {
	EditedText
	// Line is the line of the cursor, from 1: the step that it is in is shown.
	Line int
	// ReadsFiles is set if steps may read the files that their parameters name.
	ReadsFiles bool
	// Values are the outputs of the steps before it. See [Service.ValuesOfRun] and [ValuesOfCase].
	Values func(f *flow.Flow) (preview.Values, error)
}

// Preview is the prompt of a step of an edited text. [Service.Preview] makes it for its caller.
type Preview struct {
	// Step is the one that is shown; nil if the text has errors.
	Step *flow.Step
	*preview.Result
	// NoPrompt is why there is none; nil if there is one.
	NoPrompt error
	Problems flow.Problems
}

// maxPreviewTime bounds how long a preview takes.
const maxPreviewTime = 5 * time.Second

// Preview renders the prompt of the step that the cursor is in. No model is asked and nothing is written.
func (s *Service) Preview(ctx context.Context, p Principal, r *PreviewRequest) (*Preview, error) {
	tooLong := calls.Errorf(calls.Timeout, "the prompt takes longer than %s", maxPreviewTime)
	ctx, done, err := s.awaitTurn(ctx, maxPreviewTime, tooLong)
	if err != nil {
		return nil, err
	}
	defer done()
	loader, _, err := s.parts.Loader(Surroundings{})
	if err != nil {
		return nil, err
	}
	loader.ReadFile = r.ReadFile
	f, problems, err := loader.ParseContext(ctx, r.File, []byte(r.Text))
	if err != nil {
		return nil, err
	}
	if f == nil {
		return &Preview{Problems: problems}, nil
	}
	values, err := r.Values(f)
	if err != nil {
		return nil, err
	}
	env, err := s.previewEnv(r.ReadsFiles)
	if err != nil {
		return nil, err
	}
	step := stepAt(f, r.Line)
	result, err := preview.Render(ctx, f, &preview.Options{
		Step: step.ID, Values: values, Env: env, Loader: loader, ReadsFiles: r.ReadsFiles, Owner: p.Owner(),
		Journal: s.parts.EphemeralJournal, Counter: s.parts.Counter(f, step.ID, ""),
	})
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return &Preview{step, result, err, problems}, nil
}

// previewEnv returns the services that the calls of a preview may use: texts in further languages, and media files
// if readsFiles.
func (s *Service) previewEnv(readsFiles bool) (*calls.Env, error) {
	known, err := s.parts.CallEnv(false)
	if err != nil {
		return nil, err
	}
	env := calls.NewEnv()
	env.Languages, env.Tokens = known.Languages, known.Tokens
	if readsFiles {
		env.MediaRoots = known.MediaRoots
	}
	return env, nil
}

// stepAt returns the step that a line of the text is in: before the first one, the one whose prompt people want to see.
func stepAt(f *flow.Flow, line int) *flow.Step {
	var at *flow.Step
	for _, step := range f.Steps {
		if step.Pos.Line <= line {
			at = step
		}
	}
	if at == nil {
		at = PromptStep(f)
	}
	if at == nil {
		at = f.Steps[len(f.Steps)-1]
	}
	return at
}

// ValuesOfRun returns the inputs and outputs of a run that the principal sees; id "" is the last run of the flow. run is
// the run that was found, "" if there is none.
func (s *Service) ValuesOfRun(ctx context.Context, p Principal, flowName, id string) (known preview.Values, run string, err error) {
	if id == "" {
		for info, err := range s.Runs(ctx, p, journal.RunFilter{Flow: flowName, Limit: 1}) {
			if err != nil {
				return known, "", err
			}
			id = info.ID
		}
	}
	if id == "" {
		return known, "", nil
	}
	j, _, err := s.visibleRun(ctx, p, id)
	if err != nil {
		return known, "", err
	}
	state, err := journal.Fold(j.Events(ctx, id, 1))
	if err != nil {
		return known, "", markUnavailable(err)
	}
	known = preview.Values{Inputs: state.Inputs, Conversation: state.Conversation, Steps: map[string]preview.Step{}, Variables: map[string]value.Value{}}
	for _, st := range state.Steps {
		vars, _ := st.Names.Get("vars")
		for name, v := range vars.Map().All() {
			known.Variables[name] = v
		}
		isOver := st.State == journal.StepStatusFinished || st.State == journal.StepStatusSkipped
		if isInside := strings.ContainsAny(st.ID, "/["); isOver && !isInside {
			known.Steps[st.ID] = preview.Step{
				Call: st.Call, Params: st.Params, Input: st.Input, Output: st.Output, IsSkipped: st.State == journal.StepStatusSkipped, Reason: st.Reason,
			}
		}
	}
	return known, id, nil
}

// ValuesOfCase returns the values that a case of a test gives: its inputs, the steps of its state, and the first reply of each mock.
func ValuesOfCase(c *suite.Case) preview.Values {
	known := preview.Values{Inputs: c.Inputs, Conversation: c.Conversation, Steps: map[string]preview.Step{}, Variables: map[string]value.Value{}}
	for i := range c.Mocks {
		m := &c.Mocks[i]
		isReply := len(m.Replies) > 0 && m.Replies[0].Error == nil && !m.Replies[0].PassesOn
		switch {
		case !isReply:
		case m.Variable != "":
			known.Variables[m.Variable] = m.Replies[0].Value
		case m.Step != "" && !m.IsList:
			known.Steps[m.Step] = preview.Step{Output: m.Replies[0].Value}
		case m.Call != "":
			for _, step := range c.Flow.Steps {
				if _, has := known.Steps[step.ID]; step.Call == m.Call && !has && step.ForEach == nil {
					known.Steps[step.ID] = preview.Step{Call: m.Call, Output: m.Replies[0].Value}
				}
			}
		}
	}
	for _, ended := range c.State {
		known.Steps[ended.Step] = preview.Step{Input: ended.Input, Output: ended.Output, IsSkipped: ended.IsSkipped, Reason: ended.Reason}
	}
	return known
}

// RunFiles are the files that a run has kept, with its flow. [Service.Files] makes them for its caller.
type RunFiles struct {
	// Flow is the path of the flow file, and Kept has it and the others by their paths on this machine.
	Flow string
	Kept map[string][]byte
	// Until has the last event for which the run had that text of a file, if its flow was edited later.
	Until map[string]int64
}

// Files returns the files that a run had for the event seq. For 0 they are its current files, and those of an
// earlier text of the flow under paths that no current file has.
func (s *Service) Files(ctx context.Context, p Principal, run string, seq int64) (*RunFiles, error) {
	_, header, began, err := s.begunRun(ctx, p, run)
	if err != nil {
		return nil, err
	}
	files := &RunFiles{Kept: map[string][]byte{}, Until: map[string]int64{}}
	until := int64(0)
	for text := &header.Text; text != nil; text = text.Before {
		if isOf := seq == 0 || seq >= text.Since; isOf {
			files.add(s.localDir(began.Dir), header.File, text, until)
			if seq > 0 {
				break
			}
		}
		until = text.Since - 1
	}
	return files, nil
}

// add adds the files of a text whose paths are not used yet.
func (f *RunFiles) add(dir, recorded string, text *journal.FlowText, until int64) {
	path, kept := scheduler.LocalFiles(dir, recorded, *text)
	kept[path] = text.Source
	if f.Flow == "" {
		f.Flow = path
	}
	for path, content := range kept {
		if _, isKnown := f.Kept[path]; isKnown {
			continue
		}
		f.Kept[path] = content
		if until > 0 {
			f.Until[path] = until
		}
	}
}
