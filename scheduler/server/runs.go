package server

import (
	"context"
	"errors"
	"iter"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/scheduler/fleet"
	"github.com/callnode/scheduler/scheduler/journal"
	"github.com/callnode/scheduler/scheduler/service"
)

// RunItem is a run in a list.
type RunItem struct {
	Run       string            `json:"run"`
	Flow      string            `json:"flow" doc:"The name of the flow."`
	State     journal.RunStatus `json:"state" enum:"running,waiting,failed,cancelled,finished"`
	StartedAt time.Time         `json:"started_at"`
	UpdatedAt time.Time         `json:"updated_at" doc:"The time of the last event."`
	Labels    map[string]string `json:"labels,omitempty"`
	Owner     string            `json:"owner,omitempty" doc:"Whose run it is."`
	Origin    string            `json:"origin,omitempty" doc:"What began it: api, openai, cli."`
	Session   string            `json:"session,omitempty"`
	Queued    bool              `json:"queued" doc:"Whether it waits for a run slot."`
	Stuck     bool              `json:"stuck,omitempty" doc:"Whether it was taken up in vain so often that it pauses before the next try; resume it to try at once."`
	LastSeq   int64             `json:"last_seq" doc:"The number of the last event."`
	// WaitsBecause is not in the events of many runs, which all readers share.
	WaitsBecause *waitReason       `json:"waits_because,omitempty" doc:"Why no server or worker is at the run, which is to go on by itself."`
	Progress     *service.Progress `json:"progress,omitempty" doc:"How far it has come, with view=progress or view=live."`
	Summary      *runSummary       `json:"summary,omitempty" doc:"The question, the reply and the usage, with secrets masked; runs that older programs began have none."`
}

// runSummary is a run in two lines.
type runSummary struct {
	Question string    `json:"question,omitempty" doc:"What the user asked, or the first text among the inputs, cut to a line."`
	Reply    string    `json:"reply,omitempty" doc:"What the run replied so far, cut to a line."`
	Error    string    `json:"error,omitempty" doc:"Why it failed, cut to a line."`
	Usage    llm.Usage `json:"usage" doc:"What its steps have spent that are over."`
}

// summaryOf returns the summary of a run; nil if its journal has none.
func summaryOf(s journal.Summary) *runSummary {
	if s == (journal.Summary{}) {
		return nil
	}
	return &runSummary{Question: s.Question, Reply: s.Reply, Error: s.Error, Usage: s.Usage}
}

// itemOf returns a run as lists show it.
func itemOf(info *journal.RunInfo) *RunItem {
	return &RunItem{
		Run: info.ID, Flow: info.Flow, State: info.State, StartedAt: info.StartedAt, UpdatedAt: info.UpdatedAt, Labels: info.Labels,
		Owner: info.Labels[journal.LabelOwner], Session: info.Labels[journal.LabelSession],
		Queued: info.Queued(), LastSeq: info.LastSeq, Origin: info.Labels[journal.LabelOrigin], Summary: summaryOf(info.Summary),
	}
}

// encodeLine returns the item as JSON of one line.
func (i *RunItem) encodeLine() []byte { return value.Must(i).AppendJSON(nil) }

// isUnknownRun reports whether a look-up failed because the run does not exist for the caller.
func isUnknownRun(err error) bool {
	return calls.KindOf(err) == calls.NotFound || errors.Is(err, service.ErrNoJournal)
}

// findRun returns a run that exists for the caller, and notes it for the audit.
func (s *Server) findRun(ctx context.Context, id string) (*journal.RunInfo, error) {
	info, err := s.options.Service.Run(ctx, principalOf(ctx), id)
	if isUnknownRun(err) {
		return nil, notFound("there is no run %q", value.Truncate(id, 80))
	}
	if err != nil {
		return nil, err
	}
	requestOf(ctx).run = id
	return info, nil
}

// RunID is the input of endpoints about one run. Like all inputs it is exported for the
// library, which reads its fields by reflection.
type RunID struct {
	ID string `path:"id" doc:"The id of the run."`
}

type listRunsInput struct {
	Listing
	RunsWanted
	View string `query:"view" enum:"progress,live" doc:"progress adds how far each run has come, live how far those that are not over have."`
}

// RunsWanted are the filters of lists of runs. Like all inputs it is exported for the library.
type RunsWanted struct {
	State   string `query:"state" doc:"States, with commas: running, waiting, failed, cancelled, finished."`
	Flow    string `query:"flow" doc:"The name of the flow."`
	User    string `query:"user" doc:"The owner."`
	Session string `query:"session"`
	Origin  string `query:"origin" doc:"What began the run: api, openai, cli."`
	Since   string `query:"since" doc:"A time (RFC 3339), or how long ago: 24h."`
	Query   string `query:"q" doc:"A part of the id, the flow, a label, the question or the reply."`
}

// listRuns lists the runs that the caller can see.
func (s *Server) listRuns(ctx context.Context, in *listRunsInput) (*body[page[*RunItem]], error) {
	filter, err := in.readFilter(time.Now())
	if err != nil {
		return nil, err
	}
	filter.After = in.Cursor
	var items []*RunItem
	next := ""
	for info, err := range s.runsFor(ctx, filter, in) {
		if err != nil {
			return nil, err
		}
		if !matchesQuery(info, in.Query) {
			continue
		}
		if len(items) == in.Limit {
			next = filter.After
			break
		}
		item := itemOf(info)
		item.Stuck, err = s.dispatcher.IsStuck(ctx, info)
		if err != nil {
			return nil, err
		}
		item.WaitsBecause, err = s.whyWaiting(ctx, info)
		if err != nil {
			return nil, err
		}
		if in.View == "progress" || in.View == "live" && !info.State.IsOver() {
			item.Progress, err = s.options.Service.Progress(ctx, principalOf(ctx), info)
			if err != nil && calls.KindOf(err) != calls.NotFound {
				return nil, err
			}
		}
		items = append(items, item)
		s.feed.watch(info)
		filter.After = info.Cursor
	}
	return newPage(items, next), nil
}

// runsFor yields the runs of a filter; no more than needed if each of them counts.
func (s *Server) runsFor(ctx context.Context, filter journal.RunFilter, in *listRunsInput) iter.Seq2[*journal.RunInfo, error] {
	if in.Query == "" {
		filter.Limit = in.Limit + 1
	}
	return s.options.Service.Runs(ctx, principalOf(ctx), filter)
}

// Bounds of the counts by hour.
const (
	defaultHours = 24
	maxHours     = 7 * 24
	countedRuns  = 5000 // the newest of them: older ones are left out
)

// runHours are counts of runs by hour.
type runHours struct {
	Hours   []runHour `json:"hours" nullable:"false" doc:"The hours up to now, the oldest first."`
	Partial bool      `json:"partial" doc:"Whether there are so many runs that some of the oldest were not counted."`
}

// runHour counts the runs that began in an hour.
type runHour struct {
	Start   time.Time `json:"start"`
	Runs    int       `json:"runs"`
	Failed  int       `json:"failed"`
	Waiting int       `json:"waiting"`
}

// countRuns counts the runs that the caller can see by the hours in which they began: the runs of a day, or since
// a time, for example of a week with since=168h.
func (s *Server) countRuns(ctx context.Context, in *RunsWanted) (*body[runHours], error) {
	now := time.Now()
	filter, err := in.readFilter(now)
	if err != nil {
		return nil, err
	}
	hours := emptyHours(filter.Since, now)
	filter.Since, filter.Limit = time.Time{}, countedRuns // a journal looks through all runs for a time
	seen := 0
	for info, err := range s.options.Service.Runs(ctx, principalOf(ctx), filter) {
		if err != nil {
			return nil, err
		}
		seen++
		at := int(info.StartedAt.Sub(hours[0].Start) / time.Hour)
		isWithin := !info.StartedAt.Before(hours[0].Start) && at < len(hours)
		if !isWithin || !matchesQuery(info, in.Query) {
			continue
		}
		hours[at].Runs++
		switch info.State { //nolint:exhaustive // the others are not counted apart
		case journal.RunFailed:
			hours[at].Failed++
		case journal.RunWaiting:
			hours[at].Waiting++
		}
	}
	return &body[runHours]{runHours{Hours: hours, Partial: seen == countedRuns}}, nil
}

// emptyHours returns the hours since a time, without runs; the zero time is a day ago.
func emptyHours(since, now time.Time) []runHour {
	last := now.Truncate(time.Hour)
	n := defaultHours
	if !since.IsZero() {
		n = min(max(int(last.Sub(since.Truncate(time.Hour))/time.Hour)+1, 1), maxHours)
	}
	hours := make([]runHour, n)
	for i := range hours {
		hours[i].Start = last.Add(time.Duration(i-n+1) * time.Hour).UTC()
	}
	return hours
}

// readFilter reads the filter of a list.
func (in *RunsWanted) readFilter(now time.Time) (journal.RunFilter, error) {
	f := journal.RunFilter{Flow: in.Flow, Labels: map[string]string{}}
	if in.State != "" {
		known := []string{"running", "waiting", "failed", "cancelled", "finished"}
		for name := range strings.SplitSeq(in.State, ",") {
			if !slices.Contains(known, name) {
				return f, calls.Errorf(calls.Invalid, "state: there is no state %q%s", name, value.DidYouMeanSuffix(name, known))
			}
			f.States = append(f.States, journal.RunStatus(name))
		}
	}
	for label, text := range map[string]string{
		journal.LabelOwner: in.User, journal.LabelSession: in.Session, journal.LabelOrigin: in.Origin,
	} {
		if text != "" {
			f.Labels[label] = text
		}
	}
	if in.Since == "" {
		return f, nil
	}
	if ago, err := time.ParseDuration(in.Since); err == nil {
		f.Since = now.Add(-ago)
		return f, nil
	}
	since, err := time.Parse(time.RFC3339Nano, in.Since)
	if err != nil {
		return f, calls.Errorf(calls.Invalid, "since: %s is neither a time nor a duration", quoteText(in.Since)).WithHint("write 2026-03-05T09:07:00Z or 24h")
	}
	f.Since = since
	return f, nil
}

// matchesQuery reports whether a text occurs in the data about a run. For example, "refund" finds a run whose
// question has that word.
func matchesQuery(info *journal.RunInfo, query string) bool {
	query = strings.ToLower(query)
	for _, text := range []string{info.ID, info.Flow, info.Summary.Question, info.Summary.Reply, info.Summary.Error} {
		if strings.Contains(strings.ToLower(text), query) {
			return true
		}
	}
	for _, text := range info.Labels {
		if strings.Contains(strings.ToLower(text), query) {
			return true
		}
	}
	return false
}

// runBody is a run with its steps: the output of `runs show --json`, and more.
type runBody struct {
	RunItem
	Steps   []*journal.StepState `json:"steps"`
	Waiting []journal.WaitingFor `json:"waiting"`
	Outputs value.Value          `json:"outputs,omitzero"`
	Error   *journal.ErrorInfo   `json:"error,omitempty"`
	Reply   string               `json:"reply,omitempty"`
	Usage   llm.Usage            `json:"usage"`
	Inputs  value.Value          `json:"inputs,omitzero"`
	// Conversation is a list.
	Conversation value.Value `json:"conversation,omitzero" doc:"The messages before the question, a list of {role, content}."`
	// Workers are not shown to bound principals.
	Workers []journal.Stretch `json:"workers,omitempty" doc:"The servers and workers that carried the run out, each with the first of its events."`
}

// waitReason is why a run waits for a server or a worker.
type waitReason struct {
	Code  fleet.Code `json:"code" enum:"no_worker,busy,user_busy,missing,paused,away,turn"`
	Text  string     `json:"text"`
	Queue string     `json:"queue"`
	Until time.Time  `json:"until,omitzero" doc:"When it is tried again."`
}

// whyWaiting returns why a run waits for a server or a worker, as the caller may know it; nil for one that does not.
func (s *Server) whyWaiting(ctx context.Context, info *journal.RunInfo) (*waitReason, error) {
	r, err := s.queues.Why(ctx, info)
	if r == nil || err != nil {
		return nil, err
	}
	text := r.Text
	if principalOf(ctx).Bound {
		text = r.ForUser()
	}
	return &waitReason{Code: r.Code, Text: text.In(s.languageOf(ctx)), Queue: r.Queue, Until: r.Until}, nil
}

// tagOfRun returns the ETag of a run: the number of its last event, and why it waits for a server or a worker.
func tagOfRun(seq int64, waits *waitReason) string {
	tag := strconv.FormatInt(seq, 10)
	if waits != nil {
		tag += "-" + string(waits.Code)
	}
	return quotedTag(tag)
}

type getRunInput struct {
	RunID
	IfNoneMatch string `header:"If-None-Match" doc:"The ETag that is known: 304 where it still holds."`
}

type getRunOutput struct {
	Status int
	ETag   string `header:"ETag" doc:"The number of the last event."`
	Body   shaped[runBody]
}

// getRun returns a run with its steps.
func (s *Server) getRun(ctx context.Context, in *getRunInput) (*getRunOutput, error) {
	info, err := s.findRun(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	waits, err := s.whyWaiting(ctx, info)
	if err != nil {
		return nil, err
	}
	etag := tagOfRun(info.LastSeq, waits)
	if hasTag(tagsOf(ctx, "If-None-Match"), etag) {
		return &getRunOutput{Status: http.StatusNotModified, ETag: etag}, nil
	}
	whole, etag, err := s.wholeRun(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	return &getRunOutput{Status: http.StatusOK, ETag: etag, Body: shaped[runBody]{whole}}, nil
}

// wholeRun returns a run with its steps, and its ETag.
func (s *Server) wholeRun(ctx context.Context, id string) (whole value.Value, etag string, err error) {
	details, _, err := s.options.Service.ShowRun(ctx, principalOf(ctx), id)
	if err != nil {
		return whole, "", err
	}
	item := itemOf(details.Info)
	item.Stuck, err = s.dispatcher.IsStuck(ctx, details.Info)
	if err != nil {
		return whole, "", err
	}
	item.WaitsBecause, err = s.whyWaiting(ctx, details.Info)
	if err != nil {
		return whole, "", err
	}
	doc := value.Must(item).Map().Clone()
	for name, v := range value.Must(details.State).Map().All() {
		doc.Set(name, v)
	}
	if principalOf(ctx).Bound {
		doc.Delete("workers")
	}
	doc.Set("last_seq", value.OfInt(details.State.LastSeq))
	if !details.State.Inputs.IsNull() {
		doc.Set("inputs", details.State.Inputs)
	}
	if !details.State.Conversation.IsNull() {
		doc.Set("conversation", details.State.Conversation)
	}
	if details.Unreadable != nil {
		doc.Set("unreadable", value.OfString(details.Unreadable.Error()))
	}
	return value.OfMap(doc), tagOfRun(details.State.LastSeq, item.WaitsBecause), nil
}

// deleteRun deletes a run for good.
func (s *Server) deleteRun(ctx context.Context, in *RunID) (*none, error) {
	info, err := s.findRun(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	if info.Holder != nil {
		return nil, &journal.HeldError{Run: in.ID, Holder: info.Holder}
	}
	pruned, err := s.options.Service.Prune(ctx, principalOf(ctx), journal.Prune{Runs: []string{in.ID}, Force: true})
	if err != nil {
		return nil, err
	}
	if len(pruned.Runs) == 0 { // another process has taken it in the meantime
		return nil, &journal.HeldError{Run: in.ID}
	}
	return &none{}, nil
}

// cancelRun cancels a run.
func (s *Server) cancelRun(ctx context.Context, in *RunID) (*body[*RunItem], error) {
	info, err := s.findRun(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	if info.State.IsOver() {
		return nil, overProblem(info)
	}
	if err := s.dispatcher.Cancel(ctx, principalOf(ctx), in.ID); err != nil {
		if calls.KindOf(err) == calls.Invalid { // it ended in the meantime
			return nil, newProblem(http.StatusConflict, "over", wording.OfError(err), wording.Text{})
		}
		return nil, err
	}
	info, err = s.findRun(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	return &body[*RunItem]{itemOf(info)}, nil
}

// overProblem is the answer if a run is over.
func overProblem(info *journal.RunInfo) *Problem {
	p := newProblem(http.StatusConflict, "over", wording.Say("the run is %s", wording.Of(string(info.State))), wording.Text{})
	p.Run = info.ID
	return p
}
