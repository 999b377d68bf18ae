package service

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/scheduler"
	"github.com/callnode/scheduler/scheduler/explain"
	"github.com/callnode/scheduler/scheduler/flow"
	"github.com/callnode/scheduler/scheduler/journal"
)

// Runs yields the runs of the journal that the principal sees, the newest first. Without a journal there are none.
func (s *Service) Runs(ctx context.Context, p Principal, filter journal.RunFilter) iter.Seq2[*journal.RunInfo, error] {
	return func(yield func(*journal.RunInfo, error) bool) {
		labels, ok := p.ownRuns(filter.Labels)
		j, err := s.openJournal(ctx, false)
		if !ok || errors.Is(err, ErrNoJournal) {
			return
		}
		filter.Labels = labels
		if err != nil {
			yield(nil, err)
			return
		}
		for info, err := range j.Runs(ctx, filter) {
			if !yield(info, markUnavailable(err)) {
				return
			}
		}
	}
}

// FindRun returns the id of a run by its id, the beginning or the end of one that fits no
// other, or last: among those that the principal sees.
func (s *Service) FindRun(ctx context.Context, p Principal, name string) (string, error) {
	_, info, err := s.visibleRun(ctx, p, name)
	if err == nil {
		return info.ID, nil
	}
	if calls.KindOf(err) != calls.NotFound {
		return "", err
	}
	var ids, fits []string
	for info, err := range s.Runs(ctx, p, journal.RunFilter{}) {
		if err != nil {
			return "", err
		}
		if name == "last" {
			return info.ID, nil
		}
		ids = append(ids, info.ID)
		if strings.HasPrefix(info.ID, name) || strings.HasSuffix(info.ID, name) {
			fits = append(fits, info.ID)
		}
	}
	switch {
	case len(fits) == 1:
		return fits[0], nil
	case len(fits) > 1:
		return "", calls.Errorf(calls.Invalid, "%q fits %d runs: write more of the id", name, len(fits))
	case len(ids) == 0:
		return "", calls.Errorf(calls.NotFound, "the journal has no runs")
	}
	hint := "list the runs with: scheduler runs list"
	if near := nearestRun(name, append(ids, "last")); near != "" {
		hint = fmt.Sprintf("did you mean %q?", near)
	}
	return "", calls.Errorf(calls.NotFound, "the journal has no run %q", name).WithHint("%s", hint)
}

// nearestRun returns the run whose id, or the beginning or the end of it, is most like name; "" if none is near.
func nearestRun(name string, ids []string) string {
	whole := map[string]string{}
	var words []string
	for _, id := range slices.Backward(ids) { // of two that are alike, the newest
		n := min(len(name), len(id))
		for _, word := range []string{id[:n], id[len(id)-n:]} {
			words = append(words, word)
			whole[word] = id
		}
	}
	return whole[value.Nearest(name, words)]
}

// Run returns the state of a run. One that the principal does not see is an error of kind NotFound, in every use
// case of one run.
func (s *Service) Run(ctx context.Context, p Principal, id string) (*journal.RunInfo, error) {
	_, info, err := s.visibleRun(ctx, p, id)
	return info, err
}

// LookUpRun is [Service.Run], with nil for a run that does not exist for the principal: with an error it is not known
// whether it does.
func (s *Service) LookUpRun(ctx context.Context, p Principal, id string) (*journal.RunInfo, error) {
	info, err := s.Run(ctx, p, id)
	if calls.KindOf(err) == calls.NotFound || errors.Is(err, ErrNoJournal) {
		return nil, nil
	}
	return info, err
}

// visibleRun returns the journal and a run of it that the principal sees.
func (s *Service) visibleRun(ctx context.Context, p Principal, id string) (journal.Journal, *journal.RunInfo, error) {
	j, err := s.openJournal(ctx, false)
	if err != nil {
		return nil, nil, err
	}
	info, err := j.Run(ctx, id)
	isGone := calls.KindOf(err) == calls.NotFound
	isHidden := err == nil && !p.CanSee(info)
	if isGone || isHidden {
		return nil, nil, calls.Errorf(calls.NotFound, "the journal has no run %q", id).WithHint("list the runs with: scheduler runs list")
	}
	return j, info, markUnavailable(err)
}

// Totals is a run's usage until now. [Service.Totals] makes them for its caller.
type Totals struct {
	Usage llm.Usage
	// Duration is the time between its beginning and its last event.
	Duration time.Duration
}

// Totals returns a run's usage. If its last event does not have it, because the run is under way, was cancelled or
// its process died, it is counted from the steps.
func (s *Service) Totals(ctx context.Context, info *journal.RunInfo) (*Totals, error) {
	t := &Totals{Duration: info.UpdatedAt.Sub(info.StartedAt)}
	j, err := s.openJournal(ctx, false)
	if err != nil {
		return nil, err
	}
	for event, err := range j.Events(ctx, info.ID, info.LastSeq) {
		if err != nil {
			return nil, markUnavailable(err)
		}
		if event.Data != nil && event.Step == "" && event.Data.Usage != nil {
			t.Usage = *event.Data.Usage
			return t, nil
		}
	}
	state, err := journal.Fold(j.Events(ctx, info.ID, 1))
	if err != nil {
		return nil, markUnavailable(err)
	}
	t.Usage = state.Usage
	return t, nil
}

// RunDetails are a run with all its steps. [Service.ShowRun] makes them for its caller.
type RunDetails struct {
	Info *journal.RunInfo
	// State has the waiting steps in the order of the flow.
	State *journal.RunState
	// Flow is nil if it cannot be read any more, and Unreadable is the reason.
	Flow       *flow.Flow
	Unreadable error

	earlier []explain.EarlierFlow // the versions of Flow before it was edited
	options runOptions
}

// RemoteAddress returns the server that distributes the run, as its starter reaches it; "" if not known.
func (d *RunDetails) RemoteAddress() string { return d.options.Address }

// ShowRun returns a run with all its steps, including steps that have not begun. It works even if plugins have
// changed.
func (s *Service) ShowRun(ctx context.Context, p Principal, id string) (*RunDetails, []Note, error) {
	j, info, err := s.visibleRun(ctx, p, id)
	if err != nil {
		return nil, nil, err
	}
	state, err := journal.Fold(j.Events(ctx, id, 1))
	if err != nil {
		return nil, nil, markUnavailable(err)
	}
	details := &RunDetails{Info: info, State: state}
	var notes []Note
	header, err := j.Header(ctx, id)
	if err == nil {
		err = s.addFlow(details, header)
	} else { // a copy, or another user's journal, comes without the key of its images
		notes = append(notes, newWarning("steps that have not begun are not shown, for the flow cannot be read: %v", err))
	}
	if err != nil {
		details.Unreadable = err
	}
	if details.Flow != nil {
		state.Complete(scheduler.DeclaredSteps(details.Flow))
		state.Waiting = scheduler.InFileOrder(details.Flow, state.Waiting)
	}
	for i, w := range state.Waiting {
		state.Waiting[i].Question = s.QuestionOf(details, w)
	}
	return details, notes, nil
}

// Progress returns the progress of a run. It reads the events of a run once for each number of its last event.
func (s *Service) Progress(ctx context.Context, p Principal, info *journal.RunInfo) (*Progress, error) {
	if known := s.progress.get(info); known != nil {
		return known, nil
	}
	details, _, err := s.ShowRun(ctx, p, info.ID)
	if err != nil {
		return nil, err
	}
	progress := progressOf(details.State)
	s.progress.put(details.Info, progress)
	return progress, nil
}

// addFlow reads the flow kept by the journal, for display.
func (s *Service) addFlow(details *RunDetails, h *journal.RunHeader) error {
	loader, err := s.parts.Viewer()
	if err != nil {
		return err
	}
	details.options, err = optionsOf(h)
	if err != nil {
		return err
	}
	load := func(text journal.FlowText) (*flow.Flow, error) {
		file, files := scheduler.LocalFiles(s.localDir(details.options.Dir), h.File, text)
		f, err := s.viewed.load(loader, file, text.Source, files)
		if err != nil {
			err = wording.Errorf("the flow of the run cannot be read any more: %w", err)
		}
		return f, err
	}
	for text := &h.Text; text.Before != nil; text = text.Before {
		before, err := load(*text.Before)
		if err != nil {
			return err
		}
		details.earlier = slices.Insert(details.earlier, 0, explain.EarlierFlow{Flow: before, Until: text.Since - 1})
	}
	details.Flow, err = load(h.Text)
	return err
}

// Prompts explains the prompts of a step of a recorded run.
func (s *Service) Prompts(ctx context.Context, details *RunDetails, step string) (*Prompts, error) {
	if details.Unreadable != nil {
		return nil, markUnavailable(details.Unreadable)
	}
	j, err := s.openJournal(ctx, false)
	if err != nil {
		return nil, err
	}
	run := recordedRun{j, details.Info.ID, details.Flow, details.earlier, details.State}
	return promptsOf(ctx, run, step, s.parts.Counter(details.Flow, step, details.options.LLM))
}

// Events yields the events of a run with a seq of at least from.
func (s *Service) Events(ctx context.Context, p Principal, id string, from int64) iter.Seq2[*journal.Event, error] {
	return s.eventsOf(ctx, p, id, func(j journal.Journal) iter.Seq2[*journal.Event, error] { return j.Events(ctx, id, from) })
}

// Follow yields the events of a run with a seq above after, including future ones from any process, until the run
// is over, or waits without a process that holds it.
func (s *Service) Follow(ctx context.Context, p Principal, id string, after int64) iter.Seq2[*journal.Event, error] {
	return s.eventsOf(ctx, p, id, func(j journal.Journal) iter.Seq2[*journal.Event, error] { return j.Follow(ctx, id, after) })
}

// eventsOf yields the events that read returns for a run that the principal may see.
func (s *Service) eventsOf(ctx context.Context, p Principal, id string, read func(journal.Journal) iter.Seq2[*journal.Event, error]) iter.Seq2[*journal.Event, error] {
	return func(yield func(*journal.Event, error) bool) {
		j, _, err := s.visibleRun(ctx, p, id)
		if err != nil {
			yield(nil, err)
			return
		}
		for event, err := range read(j) {
			if err != nil && ctx.Err() == nil {
				err = markUnavailable(err)
			}
			if !yield(event, err) {
				return
			}
		}
	}
}

// Release takes a run from a process that cannot be alive, and returns its holder; nil if there was none. A
// process of this machine that is alive keeps it, which is an error of kind Invalid.
func (s *Service) Release(ctx context.Context, p Principal, id string) (*journal.Holder, error) {
	j, info, err := s.visibleRun(ctx, p, id)
	if err != nil || info.Holder == nil {
		return nil, err
	}
	if err := j.Release(ctx, id); err != nil {
		if calls.KindOf(err) == calls.Invalid {
			return nil, err
		}
		return nil, markUnavailable(err)
	}
	return info.Holder, nil
}

// Prune deletes runs permanently, among the ones that the principal may see.
func (s *Service) Prune(ctx context.Context, p Principal, which journal.Prune) (*journal.Pruned, error) {
	j, err := s.openJournal(ctx, false)
	if errors.Is(err, ErrNoJournal) && len(which.Runs) == 0 {
		return &journal.Pruned{}, nil
	}
	if err != nil {
		return nil, err
	}
	labels, ok := p.ownRuns(which.Labels)
	if !ok {
		return &journal.Pruned{}, nil
	}
	which.Labels = labels
	pruned, err := j.Prune(ctx, which)
	return pruned, markUnavailable(err)
}

// WaitsFor returns the values that a waiting run asks for.
func (s *Service) WaitsFor(ctx context.Context, p Principal, info *journal.RunInfo) ([]journal.WaitingFor, error) {
	waits, err := s.recordedWaits(ctx, p, info)
	if err != nil || len(waits) == 0 {
		return waits, err
	}
	j, _, err := s.visibleRun(ctx, p, info.ID)
	if err != nil {
		return nil, err
	}
	details := &RunDetails{Info: info}
	if header, err := j.Header(ctx, info.ID); err == nil {
		_ = s.addFlow(details, header) // without its flow, the question is in the language of the settings
	}
	asked := slices.Clone(waits)
	for i, w := range asked {
		asked[i].Question = s.QuestionOf(details, w)
	}
	return asked, nil
}

// recordedWaits returns the waiting steps of a run by its journal.
func (s *Service) recordedWaits(ctx context.Context, p Principal, info *journal.RunInfo) ([]journal.WaitingFor, error) {
	for event, err := range s.Events(ctx, p, info.ID, info.LastSeq) {
		if err != nil {
			return nil, err
		}
		if event.Type == journal.FlowWaiting {
			return event.Data.Waiting, nil
		}
	}
	state, err := journal.Fold(s.Events(ctx, p, info.ID, 1)) // answers have come since
	if err != nil {
		return nil, err
	}
	return state.Waiting, nil
}
