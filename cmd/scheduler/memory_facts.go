package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/memory"
	"github.com/callnode/scheduler/calls/memory/facts"
	"github.com/callnode/scheduler/cmd/scheduler/terminal"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
)

// memoryFacts shows what the memories of a user state.
type memoryFacts struct {
	*app
	user, subject, attribute, asOf string
	all, json                      bool
}

// addFlags adds the flags that all commands about facts have.
func (m *memoryFacts) addFlags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&m.user, "user", "", "the `user` whose memories they are")
	cmd.Flags().StringVar(&m.asOf, "as-of", "", "what held at this `time`, RFC 3339, or 2006-01-02T15:04:05 in local time (default: now)")
	cmd.Flags().BoolVar(&m.json, "json", false, "print JSON")
}

func newMemoryFacts(a *app) *cobra.Command {
	m := &memoryFacts{app: a}
	cmd := &cobra.Command{
		Use:   "facts",
		Short: "Show what the memories of a user state, and since when",
		Long: `Show what the memories of a user state, and since when: the home, the work, the budget of
the kitchen. Facts are read from memories by rules, without a model; the memories stay as
they were said. Only what holds is shown, --all has what held before too. The subject self
is the user.`,
		Example: strings.Trim(`
  scheduler memory facts --user lin
  scheduler memory facts --user lin --subject self --attribute home --all
  scheduler memory facts rebuild --user lin`, "\n"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := onlySubcommands(cmd, args); err != nil {
				return err
			}
			return m.show(cmd.Context(), func(j *facts.Judged) bool { return m.all || isCurrent(j) })
		},
	}
	m.addFlags(cmd)
	cmd.Flags().StringVar(&m.subject, "subject", "", "only of this `subject`: self, anna, \"my sister\"")
	cmd.Flags().StringVar(&m.attribute, "attribute", "", "only this `attribute`, or noun of this name: home, \"kitchen budget\"")
	cmd.Flags().BoolVar(&m.all, "all", false, "also what no longer holds")
	cmd.AddCommand(newFactsRebuild(a))
	return cmd
}

func newFactsRebuild(a *app) *cobra.Command {
	var scope scopeFlags
	cmd := &cobra.Command{
		Use:     "rebuild",
		Short:   "Read the facts of all memories again",
		Long:    "Read the facts of all memories again, for example after an import by an older version.",
		Example: "  scheduler memory facts rebuild\n  scheduler memory facts rebuild --user lin",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			users, err := scope.usersOrAll()
			if err != nil {
				return err
			}
			if !a.settings.Memory.Facts.Enabled {
				return usageError(wording.Errorf("facts are off: set memory.facts.enabled to true"))
			}
			return a.readMemory(cmd.Context(), func(p *memory.SnapshotProcessor) error {
				if err := p.Store.RebuildFacts(cmd.Context(), users); err != nil {
					return exitFor(cmd.Context(), err, false)
				}
				return nil
			})
		},
	}
	scope.addFlags(cmd, "")
	return cmd
}

func newMemoryHistory(a *app) *cobra.Command {
	m := &memoryFacts{app: a, all: true}
	cmd := &cobra.Command{
		Use:   "history SUBJECT ATTRIBUTE",
		Short: "Show how a fact changed, the oldest first",
		Long: `Show how a fact changed, the oldest first, with the memories that say so. SUBJECT is self
for the user, or a name; ATTRIBUTE is as memory facts shows it.`,
		Example: "  scheduler memory history --user lin self home\n  scheduler memory history --user lin self \"kitchen budget\"",
		Args:    cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			m.subject, m.attribute = args[0], args[1]
			return m.show(cmd.Context(), func(*facts.Judged) bool { return true })
		},
	}
	m.addFlags(cmd)
	return cmd
}

func newMemoryConflicts(a *app) *cobra.Command {
	m := &memoryFacts{app: a, all: true}
	cmd := &cobra.Command{
		Use:     "conflicts",
		Short:   "Show facts that contradict each other",
		Long:    "Show facts that contradict each other: two values of the same time, of which neither says that the other has changed.",
		Example: "  scheduler memory conflicts --user lin",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return m.show(cmd.Context(), func(j *facts.Judged) bool { return j.Standing == facts.Conflicting })
		},
	}
	m.addFlags(cmd)
	return cmd
}

// isCurrent reports whether a fact is how things are.
func isCurrent(j *facts.Judged) bool {
	return j.Standing == facts.Current || j.Standing == facts.Conflicting || j.Standing == facts.Ended
}

// show prints the facts that are wanted.
func (m *memoryFacts) show(ctx context.Context, isWanted func(*facts.Judged) bool) error {
	if strings.TrimSpace(m.user) == "" {
		return usageError(wording.Errorf("no user is given: name the user whose memory it is with --user"))
	}
	now, err := parseTime(m.asOf)
	if err != nil {
		return err
	}
	if now.IsZero() {
		now = time.Now()
	}
	return m.readMemory(ctx, func(p *memory.SnapshotProcessor) error {
		found, err := p.Store.Facts(ctx, m.user, now)
		if err != nil {
			return exitFor(ctx, err, false)
		}
		var lines []factLine
		for i := range found.Timelines {
			line := &found.Timelines[i]
			if !m.isOf(line, found.Aliases) {
				continue
			}
			for k := range line.Facts {
				if isWanted(&line.Facts[k]) {
					lines = append(lines, newFactLine(line, &line.Facts[k], found.IDs))
				}
			}
		}
		return m.print(lines)
	})
}

// isOf reports whether a timeline is of the subject and the attribute that are asked for.
func (m *memoryFacts) isOf(t *facts.Timeline, aliases []facts.Alias) bool {
	subject := facts.FoldName(m.subject)
	isSubject := subject == "" || subject == t.Subject || slices.Contains(aliases, facts.Alias{Alias: subject, Name: t.Subject})
	isAttribute := m.attribute == "" || m.attribute == t.Attribute || m.attribute == t.Topic
	return isSubject && isAttribute
}

// factLine is a fact as commands print it.
type factLine struct {
	Subject   string `json:"subject"`
	Attribute string `json:"attribute"`
	Topic     string `json:"topic,omitempty"`
	Value     string `json:"value"`
	State     string `json:"state"`
	From      string `json:"from"`
	To        string `json:"to,omitempty"`
	Memory    string `json:"memory"`
	Next      string `json:"superseded_by,omitempty"`
}

func newFactLine(t *facts.Timeline, j *facts.Judged, ids map[uint32]string) factLine {
	f := factLine{
		Subject: t.Subject, Attribute: t.Attribute, Topic: t.Topic, Value: strings.TrimSpace(j.Value), State: string(j.Standing),
		From: memory.FormatTime(j.From), Memory: ids[j.Seq],
	}
	if !j.Until.IsZero() {
		f.To = memory.FormatTime(j.Until)
	}
	if j.Next != nil {
		f.Next = ids[j.Next.Seq]
	}
	return f
}

// print writes facts as a table.
func (m *memoryFacts) print(lines []factLine) error {
	if m.json {
		list := []value.Value{}
		for _, f := range lines {
			list = append(list, value.Must(f))
		}
		return m.PrintJSON(value.OfList(list...))
	}
	if len(lines) == 0 {
		m.Tellf("no facts")
		return nil
	}
	w := terminal.NewTable(m.Stdout)
	fmt.Fprintln(w, m.Language.Say("subject\tattribute\tvalue\tsince\tuntil\tstate\tmemory"))
	for _, f := range lines {
		until := ""
		if f.To != "" {
			until = f.To[:len(time.DateOnly)]
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", f.Subject, cmp.Or(f.Topic, f.Attribute), terminal.FirstLine(f.Value), f.From[:len(time.DateOnly)], until, m.Language.Say(f.State), f.Memory)
	}
	return w.Flush()
}

func newMemoryWhy(a *app) *cobra.Command {
	m := &memoryFacts{app: a}
	cmd := &cobra.Command{
		Use:   "why ID",
		Short: "Show what a memory states, and whether that holds",
		Long: `Show what a memory states, and whether that holds: its text with [brackets] around the values
that were read, each fact with its timeline, and the memory that replaced it.`,
		Example: "  scheduler memory why memory_0199f0c2-6d2c-7a31-9c54-0d6f2c1e8a77",
		Args:    cobra.ExactArgs(1),
		RunE:    func(cmd *cobra.Command, args []string) error { return m.explain(cmd.Context(), args[0]) },
	}
	cmd.Flags().StringVar(&m.asOf, "as-of", "", "what held at this `time`, RFC 3339, or 2006-01-02T15:04:05 in local time (default: now)")
	return cmd
}

// explain prints what a memory states.
func (m *memoryFacts) explain(ctx context.Context, id string) error {
	now, err := parseTime(m.asOf)
	if err != nil {
		return err
	}
	if now.IsZero() {
		now = time.Now()
	}
	return m.readMemory(ctx, func(p *memory.SnapshotProcessor) error {
		one, err := p.Store.LoadMemory(ctx, id)
		if err != nil && calls.KindOf(err) == calls.Invalid {
			return usageError(err)
		}
		if err != nil {
			return exitFor(ctx, err, false)
		}
		if one == nil {
			return exitError{exitFailed, wording.Errorf("there is no memory %s", id)}
		}
		found, err := p.Store.Facts(ctx, one.Context.UserID, now)
		if err != nil {
			return exitFor(ctx, err, false)
		}
		own := timelinesOf(found, one.ID)
		if _, err := fmt.Fprintln(m.Stdout, memoryLine(markValues(one, own, found.IDs))); err != nil {
			return exitError{exitFailed, err}
		}
		if run := m.runOfMemory(one); run != "" {
			fmt.Fprintln(m.Stdout, strings.TrimSpace(run))
		}
		var lines []factLine
		for _, t := range own {
			for k := range t.Facts {
				lines = append(lines, newFactLine(t, &t.Facts[k], found.IDs))
			}
		}
		return m.print(lines)
	})
}

// timelinesOf returns the timelines in which a memory has a fact.
func timelinesOf(found *memory.StatedFacts, id string) (own []*facts.Timeline) {
	for i := range found.Timelines {
		t := &found.Timelines[i]
		if slices.ContainsFunc(t.Facts, func(j facts.Judged) bool { return found.IDs[j.Seq] == id }) {
			own = append(own, t)
		}
	}
	return own
}

// markValues returns a memory with brackets around the values that were read from it.
func markValues(m *memory.BaseMemory, own []*facts.Timeline, ids map[uint32]string) *memory.BaseMemory {
	var spans []facts.Span
	for _, t := range own {
		for _, j := range t.Facts {
			if ids[j.Seq] == m.ID && j.ValueSpan.End <= len(m.Content) {
				spans = append(spans, j.ValueSpan)
			}
		}
	}
	slices.SortFunc(spans, func(a, b facts.Span) int { return cmp.Or(a.Start-b.Start, a.End-b.End) })
	marked := *m
	var b strings.Builder
	at := 0
	for _, s := range spans {
		if s.Start < at {
			continue // two facts have the same value
		}
		b.WriteString(m.Content[at:s.Start] + "[" + m.Content[s.Start:s.End] + "]")
		at = s.End
	}
	marked.Content = b.String() + m.Content[at:]
	return &marked
}
