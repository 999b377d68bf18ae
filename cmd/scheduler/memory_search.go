package main

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/memory"
	"github.com/callnode/scheduler/calls/memory/archive"
	"github.com/callnode/scheduler/calls/memory/facts"
	"github.com/callnode/scheduler/cmd/scheduler/terminal"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
)

// memorySearch is the subcommand memory search.
type memorySearch struct {
	*app
	scope        scopeFlags
	jsonl, now   string
	limit        int
	minRelevance float64
	include      []string
	json         bool
}

func newMemorySearch(a *app) *cobra.Command {
	s := &memorySearch{app: a}
	cmd := &cobra.Command{
		Use:   "search QUERY",
		Short: "Find the memories that matter for a query, best first",
		Long: `Find the memories that matter for a query, best first. Shown are those whose
relevance, 0 to 1, is above --min-relevance; with 0 the best ones are shown however
little they matter.

With --jsonl every line {"query_id", "context": {"user_id", "session_id"}, "request":
{"current_query", "history", "timestamp"}} gives one line {"query_id", "ranked": [ids],
"scores": [...], "latency_ms"}. The user of each line is a wall. --user or --all-users
stand in for lines that name none. A line that is wrong is told on stderr with its
number, the others are answered, and the exit code is 1.`,
		Example: strings.Trim(`
  scheduler memory search --user lin "which tea do I like?"
  scheduler memory search --user lin --json --include content,context "tea" | jq .relevant_memories
  scheduler memory search --jsonl queries.jsonl --limit 10 --min-relevance 0 > ranked.jsonl`, "\n"),
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case s.jsonl != "" && len(args) > 0:
				return usageError(wording.Errorf("--jsonl reads the queries from its file: leave out QUERY"))
			case s.jsonl != "":
				return s.searchLines(cmd.Context())
			case len(args) == 0:
				return usageError(wording.Errorf("what shall be searched? give a QUERY, or --jsonl FILE"))
			}
			return s.searchOne(cmd.Context(), args[0])
		},
	}
	s.scope.addFlags(cmd, "the `session` in which it is asked: its memories count a little more")
	flags := cmd.Flags()
	flags.StringVar(&s.jsonl, "jsonl", "", "queries, one JSON object per line, a `file`, - for stdin")
	flags.IntVar(&s.limit, "limit", memory.DefaultLimit, "at most `N` memories")
	flags.Float64Var(&s.minRelevance, "min-relevance", memory.DefaultMinRelevance, "only memories whose relevance is above `X`; 0 cuts nothing off")
	flags.StringSliceVar(&s.include, "include", []string{"content", "timestamp"}, "what --json has besides id, score and reason: content, timestamp, snapshot_ids, context; neighbours adds memories that only stand near a hit")
	flags.StringVar(&s.now, "now", "", "the present, RFC 3339 or 2006-01-02T15:04:05 (default: now)")
	flags.BoolVar(&s.json, "json", false, "print JSON")
	return cmd
}

// checkFlags refuses flags that make no sense.
func (s *memorySearch) checkFlags() error {
	if s.limit < 1 {
		return usageError(wording.Errorf("--limit is %d, want at least 1", s.limit))
	}
	if !(s.minRelevance >= 0 && s.minRelevance <= 1) { // NaN is neither
		return usageError(wording.Errorf("--min-relevance is %g, want 0 to 1", s.minRelevance))
	}
	for _, name := range s.include {
		if known := memory.Included(); !slices.Contains(known, name) {
			return usageError(wording.Errorf("--include: there is no %q%s: want some of %s", name, value.DidYouMeanSuffix(name, known), strings.Join(known, ", ")))
		}
	}
	return nil
}

// setQuery completes a request by the flags.
func (s *memorySearch) setQuery(r *memory.Request, users memory.Users, session string, now time.Time) (*memory.Query, error) {
	q, err := r.Query(users, session, now)
	if err != nil {
		return nil, err
	}
	zone := time.Local
	if user, isOne := users.One(); isOne {
		zone = cmp.Or(s.settings.ZoneOf(user), zone)
	}
	q.Now = calls.TimeIn(q.Now, zone) // in whose days the query speaks
	q.Limit, q.MinRelevance = s.limit, s.minRelevance
	q.Neighbours = slices.Contains(s.include, memory.IncludeNeighbours)
	q.Language = cmp.Or(string(s.Language), "en")
	return q, nil
}

func (s *memorySearch) searchOne(ctx context.Context, text string) error {
	users, err := s.scope.namedUsers()
	if err != nil {
		return err
	}
	now, err := parseTime(s.now)
	if err != nil {
		return err
	}
	if now.IsZero() {
		now = time.Now()
	}
	if err := s.checkFlags(); err != nil {
		return err
	}
	q, err := s.setQuery(&memory.Request{CurrentQuery: text}, users, s.scope.session, now)
	if err != nil {
		return usageError(err)
	}
	return s.readMemory(ctx, func(p *memory.SnapshotProcessor) error {
		found, err := p.GetRelevantMemories(ctx, q)
		if err != nil {
			return exitFor(ctx, err, false)
		}
		if s.json {
			return s.PrintJSON(value.Must(found.Response(s.include...)))
		}
		return s.printFound(found)
	})
}

// printFound prints the results of a search for people.
func (s *memorySearch) printFound(found *memory.Found) error {
	var b strings.Builder
	for _, note := range found.Notes {
		s.Tellf("note: %s", note)
	}
	switch {
	case len(found.Memories) > 0:
	case s.minRelevance == 0:
		s.Tellf("nothing found")
	default:
		s.Tellf("nothing found (--min-relevance 0 shows what comes nearest)")
	}
	for i := range found.Memories {
		m := &found.Memories[i]
		whose := ""
		if s.scope.allUsers {
			whose = "  " + s.Language.Say("user %q", m.Memory.Context.UserID)
		}
		fmt.Fprintf(&b, "%.2f  %s\n      %s%s\n      %s\n", m.Relevance, memoryLine(&m.Memory), m.Memory.ID, whose, m.Reason)
	}
	return s.PrintText(b.String())
}

// memoryLine returns a memory in one line: its time, user and text.
func memoryLine(m *memory.BaseMemory) string {
	who := m.Speaker()
	if who == "" {
		who = m.Role()
	}
	if who != "" {
		who += ": "
	}
	return m.Timestamp.Local().Format(time.DateTime) + "  " + who + terminal.FirstLine(m.Content)
}

// memoryQuery is one line of --jsonl.
type memoryQuery struct {
	ID      value.Value `json:"query_id"`
	Context struct {
		User    *string `json:"user_id"`
		Session string  `json:"session_id"`
	} `json:"context"`
	Request memory.Request `json:"request"`
}

// memoryRanking answers it.
type memoryRanking struct {
	ID      value.Value `json:"query_id"`
	Ranked  []string    `json:"ranked"`
	Scores  []float64   `json:"scores"`
	Latency float64     `json:"latency_ms"`
	// Superseded are the ranked memories whose fact another one has replaced.
	Superseded []string `json:"superseded,omitempty"`
	Notes      []string `json:"notes,omitempty"`
}

// searchLines answers the queries of a file.
func (s *memorySearch) searchLines(ctx context.Context) error {
	if err := s.checkFlags(); err != nil {
		return err
	}
	now, err := parseTime(s.now)
	if err != nil {
		return err
	}
	var others *memory.Users // whose memories lines without a user mean
	if s.scope.userSaid() || s.scope.allUsers {
		users, err := s.scope.namedUsers()
		if err != nil {
			return err
		}
		others = &users
	}
	in := s.Input()
	if s.jsonl != "-" {
		f, err := calls.OpenFile(s.jsonl)
		if err != nil {
			return usageError(wording.Errorf("reading --jsonl: %w", err))
		}
		defer f.Close()
		in = f
	}
	return s.readMemory(ctx, func(p *memory.SnapshotProcessor) error {
		wrong, n := 0, 0
		lines := bufio.NewScanner(in)
		lines.Buffer(make([]byte, 0, 1<<16), maxLine)
		for number := 1; lines.Scan(); number++ {
			text := strings.TrimSpace(string(value.WithoutMark(lines.Bytes())))
			if text == "" {
				continue
			}
			n++
			ranking, err := s.answerLine(ctx, p, text, others, now)
			if ctx.Err() != nil {
				return exitError{exitInterrupted, wording.Errorf("interrupted")}
			}
			if err != nil {
				wrong++
				s.PrintError(wording.Errorf("%s:%d: %w", s.jsonl, number, err))
				continue
			}
			if _, err := s.Stdout.Write(append(value.Must(ranking).AppendJSON(nil), '\n')); err != nil {
				return exitError{exitFailed, err}
			}
		}
		if err := lines.Err(); err != nil {
			return exitError{exitFailed, wording.Errorf("reading --jsonl: %w", err)}
		}
		if wrong > 0 {
			return exitError{exitFailed, wording.Errorf("%d of %s not answered", wrong, wording.Count(n, "line"))}
		}
		return nil
	})
}

// answerLine answers one line.
func (s *memorySearch) answerLine(ctx context.Context, p *memory.SnapshotProcessor, text string, others *memory.Users, now time.Time) (*memoryRanking, error) {
	started := time.Now()
	if now.IsZero() {
		now = started
	}
	parsed, err := value.ParseStrictJSON([]byte(text))
	if err != nil {
		return nil, archive.ErrJSON(err)
	}
	request, ok := parsed.Get("request")
	if !ok || request.Kind() != value.Object {
		return nil, wording.Errorf(`there is no "request", an object with current_query`)
	}
	if _, ok := request.Get("current_query"); !ok {
		return nil, wording.Errorf(`the request has no "current_query"`)
	}
	var line memoryQuery
	if err := value.Decode(parsed, &line); err != nil {
		return nil, err
	}
	var users memory.Users
	switch {
	case line.Context.User != nil:
		users = memory.User(*line.Context.User)
	case others != nil:
		users = *others
	default:
		return nil, wording.Errorf("it does not say whose memories: give context.user_id, or say --user or --all-users for such lines")
	}
	q, err := s.setQuery(&line.Request, users, line.Context.Session, now)
	if err != nil {
		return nil, err
	}
	found, err := p.GetRelevantMemories(ctx, q)
	if err != nil {
		return nil, err
	}
	r := &memoryRanking{ID: line.ID, Ranked: []string{}, Scores: []float64{}, Notes: found.Notes}
	for i := range found.Memories {
		r.Ranked = append(r.Ranked, found.Memories[i].Memory.ID)
		r.Scores = append(r.Scores, found.Memories[i].Relevance)
		if f := found.Memories[i].Fact; f != nil && f.Standing == facts.Until {
			r.Superseded = append(r.Superseded, found.Memories[i].Memory.ID)
		}
	}
	r.Latency = float64(time.Since(started).Microseconds()) / 1000
	return r, nil
}
