package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"
	"unicode"

	"golang.org/x/term"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/scheduler/flow"
	"github.com/callnode/scheduler/scheduler/journal"
)

func newEventPrinter(w io.Writer) eventPrinter {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	return eventPrinter{enc}
}

// progress shows a run to a person: text of to_user steps on stdout, what happens
// on stderr. On a terminal every running step has a line that lives; else there
// is a plain line when a step is over.
type progress struct {
	stdout      io.Writer
	outputsOnly bool
	toUser      bool // some step is to_user
	speech      speech
	outputs     *value.Value

	mu      sync.Mutex // over what follows: the ticker draws too
	stderr  io.Writer
	live    bool // stderr is a terminal
	running []*row
	drawn   int      // lines that the last drawing took
	quiet   bool     // text is streaming to the same terminal
	held    []string // lines that wait until it has ended
	frame   int
	stop    chan struct{}
	stopped sync.WaitGroup
}

// row is a step that runs.
type row struct {
	key, call string
	since     time.Time
	bytes     int // of text that came so far
	note      string
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

func newProgress(a *app, flow *flow.Flow, outputsOnly bool) *progress {
	p := &progress{
		stdout: a.stdout, stderr: a.stderr, outputsOnly: outputsOnly,
		live: isTerminal(a.stderr) && os.Getenv("TERM") != "dumb", stop: make(chan struct{}),
	}
	for _, s := range flow.Steps {
		p.toUser = p.toUser || s.ToUser
	}
	p.speech = speech{texts: map[string]*strings.Builder{}}
	if p.live {
		p.stopped.Go(p.tick)
	}
	return p
}

func (p *progress) tick() {
	ticker := time.NewTicker(100 * time.Millisecond)
	defer ticker.Stop()
	for {
		select {
		case <-p.stop:
			return
		case <-ticker.C:
			p.mu.Lock()
			p.frame++
			p.draw()
			p.mu.Unlock()
		}
	}
}

// key tells the items of a step apart.
func key(e *journal.Event) string {
	if e.Index != nil {
		return fmt.Sprintf("%s[%d]", e.Step, *e.Index)
	}
	return e.Step
}

func (p *progress) event(e *journal.Event) error {
	if text := p.say(e); text != "" {
		p.pause()
		if isTerminal(p.stdout) {
			text = visible(text)
		}
		if _, err := io.WriteString(p.stdout, text); err != nil {
			return err
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.show(e)
	p.release()
	return nil
}

// say gives what stdout gets because of an event.
func (p *progress) say(e *journal.Event) string {
	if p.outputsOnly {
		if e.Type == journal.FlowFinished {
			p.outputs = e.Data.Outputs
		}
		return ""
	}
	switch e.Type { //nolint:exhaustive // the others say nothing
	case journal.StepStarted:
		return p.speech.start(key(e), e.Data.ToUser)
	case journal.StepDelta:
		return p.speech.add(key(e), e.Data.Text)
	case journal.StepRetrying:
		return p.speech.void(key(e))
	case journal.StepFinished:
		if e.Data.Error != nil { // the flow goes on after it; stderr tells of the error
			return p.speech.finish(key(e), nil)
		}
		return p.speech.finish(key(e), e.Data.Output)
	case journal.StepFailed, journal.StepSkipped:
		return p.speech.finish(key(e), nil)
	case journal.FlowWaiting:
		return p.speech.pause()
	case journal.FlowFailed:
		if e.Data.Text != "" { // the flow's own reply to the error
			return p.speech.note(p.speech.newline() + e.Data.Text + "\n")
		}
	case journal.FlowFinished:
		p.outputs = e.Data.Outputs
	}
	return ""
}

// show tells on stderr what an event means.
func (p *progress) show(e *journal.Event) {
	k := key(e)
	switch e.Type { //nolint:exhaustive // the others are not shown
	case journal.StepStarted:
		p.running = append(p.running, &row{key: k, call: e.Data.Call, since: time.Now()})
	case journal.StepDelta:
		for _, r := range p.running {
			if r.key == k {
				r.bytes += len(e.Data.Text)
				r.note = fmt.Sprintf("about %d tokens", (r.bytes+3)/4)
			}
		}
	case journal.StepRetrying:
		p.line("↻", "33", fmt.Sprintf("%s: attempt %d failed: %s; trying again in %s", k, e.Data.Attempt,
			e.Data.Error.Message, time.Duration(e.Data.DelayMS)*time.Millisecond))
	case journal.StepSkipped:
		p.line("-", "90", fmt.Sprintf("%s skipped: %s", k, e.Data.Reason))
	case journal.StepFailed:
		call := p.over(k)
		if e.Data.Error.Kind == calls.Canceled {
			p.line("-", "90", k+call+" stopped")
			break
		}
		p.line("✗", "31", fmt.Sprintf("%s%s failed: %s", k, call, firstLine(e.Data.Error.Message)))
	case journal.StepFinished:
		call := p.over(k)
		mark, colour, note := "✓", "32", ""
		if e.Data.Error != nil {
			mark, colour, note = "!", "33", " with an error that the flow goes on after: "+e.Data.Error.Message
		}
		p.line(mark, colour, fmt.Sprintf("%s%s%s%s", k, call, figures(e.Data), note))
		p.warnings(k, e.Data.Output)
	case journal.FlowWaiting, journal.FlowFailed, journal.FlowCancelled, journal.FlowFinished:
		p.running = nil
	}
}

// visible takes the control characters out of text from models and files, but for
// tabs and line breaks: it must not steer the terminal.
func visible(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' {
			return '\uFFFD'
		}
		return r
	}, text)
}

// firstLine is the head of a message that is told whole at the end.
func firstLine(text string) string {
	head, _, more := strings.Cut(text, "\n")
	if more {
		head += " ..."
	}
	return head
}

// warnings shows the warnings that a call put into its output.
func (p *progress) warnings(step string, output *value.Value) {
	if output == nil {
		return
	}
	list, _ := output.Get("warnings")
	for _, w := range list.List() {
		text, ok := w.Str()
		if !ok {
			text = w.JSON()
		}
		p.line("!", "33", fmt.Sprintf("%s: warning: %s", step, text))
	}
}

// over takes a row away and gives its call for the line that stays.
func (p *progress) over(k string) string {
	for i, r := range p.running {
		if r.key == k {
			p.running = append(p.running[:i], p.running[i+1:]...)
			return " (" + r.call + ")"
		}
	}
	return ""
}

// milliseconds is a duration for people.
func milliseconds(ms float64) string {
	if ms < 1000 {
		return fmt.Sprintf("%.1f ms", ms)
	}
	return fmt.Sprintf("%.1f s", ms/1000)
}

// figures is the time and the tokens of a finished step.
func figures(d *journal.Data) string {
	s := ""
	if d.DurationMS != nil {
		s += " " + milliseconds(*d.DurationMS)
	}
	if d.Usage != nil {
		s += fmt.Sprintf(", %d tokens in, %d out", d.Usage.InputTokens, d.Usage.OutputTokens)
	}
	if d.Output != nil {
		if n, ok := d.Output.Get("tokens"); ok {
			s += fmt.Sprintf(", prompt of %s tokens", n)
		}
	}
	return s
}

// line prints a line that stays, at once or after the text that is streaming.
func (p *progress) line(mark, colour, text string) {
	if p.live {
		mark = "\x1b[" + colour + "m" + mark + "\x1b[0m"
	}
	p.held = append(p.held, mark+" "+visible(text)+"\n")
}

// release prints the lines that waited, unless text is in the middle of a line.
func (p *progress) release() {
	if p.quiet && p.speech.speaking() {
		return
	}
	p.quiet = false
	if len(p.held) > 0 {
		p.clear()
		for _, line := range p.held {
			fmt.Fprint(p.stderr, line)
		}
		p.held = nil
	}
	p.draw()
}

// draw writes the lines of the running steps anew.
func (p *progress) draw() {
	if !p.live || p.quiet {
		return
	}
	p.clear()
	spinner := []rune("⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏")
	width := 80
	if f, ok := p.stderr.(*os.File); ok {
		if w, _, err := term.GetSize(int(f.Fd())); err == nil && w > 0 {
			width = w
		}
	}
	const most = 12 // a wide fan must not scroll the terminal
	for i, r := range p.running {
		text := fmt.Sprintf("%c %s (%s) %.1fs %s", spinner[p.frame%len(spinner)], r.key, r.call, time.Since(r.since).Seconds(), r.note)
		if i == most {
			text = fmt.Sprintf("  and %d more", len(p.running)-most)
		}
		if runes := []rune(text); len(runes) >= width {
			text = string(runes[:width-1])
		}
		fmt.Fprintf(p.stderr, "%s\n", text)
		p.drawn++
		if i == most {
			break
		}
	}
}

// clear takes the live lines off the terminal.
func (p *progress) clear() {
	if p.drawn > 0 {
		fmt.Fprintf(p.stderr, "\x1b[%dA\x1b[J", p.drawn)
		p.drawn = 0
	}
}

// pause keeps the live lines away while text streams to the same terminal.
func (p *progress) pause() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.clear()
	p.quiet = p.live && isTerminal(p.stdout)
}

func (p *progress) close() error {
	if p.live {
		close(p.stop)
		p.stopped.Wait()
	}
	if p.speech.tail != 0 && p.speech.tail != '\n' {
		fmt.Fprintln(p.stdout)
	}
	p.quiet, p.running = false, nil
	p.release()
	if p.outputs == nil || p.toUser && !p.outputsOnly {
		return nil
	}
	_, err := fmt.Fprintln(p.stdout, jsonText(*p.outputs))
	return err
}
