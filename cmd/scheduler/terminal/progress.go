package terminal

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"golang.org/x/term"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/scheduler/flow"
	"github.com/callnode/scheduler/scheduler/journal"
	"github.com/callnode/scheduler/scheduler/service"
)

// Progress shows a run to a person: text of to_user steps on stdout, events on stderr. On a terminal every running
// step has a live line; else a plain line is printed when a step is over. [NewProgress] makes one for a run, whose
// events one goroutine sends it; [Progress.Close] ends it.
type Progress struct {
	flow        *flow.Flow
	stdout      io.Writer
	language    Language
	outputsOnly bool
	toUser      bool // some step is to_user
	speech      *service.Speech
	outputs     *value.Value

	mu       sync.Mutex // guards the fields below: the ticker draws too
	stderr   io.Writer
	live     bool // stderr is a terminal
	running  []*row
	failed   map[string]int // by for_each step: its items that failed and were survived
	drawn    int            // lines of the last drawing
	isPaused bool           // text is streaming to the same terminal
	held     []string       // lines that wait until it has ended
	frame    int
	stop     chan struct{}
	stopped  sync.WaitGroup
}

// row is a step that runs.
type row struct {
	key, call string
	since     time.Time
	bytes     int // of text that came so far
	note      string
}

// NewProgress shows a run of f on t; with outputsOnly, stdout gets nothing but the outputs. speech is the text for
// the user. [Progress.Close] ends it.
func NewProgress(t *Terminal, f *flow.Flow, speech *service.Speech, outputsOnly bool) *Progress {
	p := &Progress{
		flow:   f,
		stdout: t.Stdout, language: t.Language, stderr: rawWriter(t.Stderr), outputsOnly: outputsOnly, speech: speech,
		live: IsTerminal(t.Stderr) && os.Getenv("TERM") != "dumb", stop: make(chan struct{}),
		failed: map[string]int{},
	}
	for _, s := range f.Steps {
		p.toUser = p.toUser || s.ToUser
	}
	if p.live {
		p.stopped.Go(p.animate)
	}
	return p
}

func (p *Progress) animate() {
	ticker := time.NewTicker(100 * time.Millisecond)
	defer ticker.Stop()
	for {
		select {
		case <-p.stop:
			return
		case <-ticker.C:
			p.mu.Lock()
			p.frame++
			p.drawRows()
			p.mu.Unlock()
		}
	}
}

// Event shows an event.
func (p *Progress) Event(e *journal.Event) error {
	if e.Type == journal.FlowFinished {
		p.outputs = e.Data.Outputs
	}
	text := p.speech.Add(e)
	if text != "" && !p.outputsOnly {
		p.pauseRows()
		if _, err := io.WriteString(p.stdout, text); err != nil {
			return err
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.showEvent(e)
	p.printHeldLines()
	return nil
}

// showEvent prints an event on stderr.
func (p *Progress) showEvent(e *journal.Event) {
	k := journal.StepPath(e.Step, e.Index)
	switch e.Type { //nolint:exhaustive // the others are not shown
	case journal.StepStarted:
		p.running = append(p.running, &row{key: k, call: e.Data.Call, since: time.Now()})
	case journal.StepDelta:
		for _, r := range p.running {
			if r.key == k {
				r.bytes += len(e.Data.Text)
				r.note = p.language.Say("about %s", wording.Count((r.bytes+3)/4, "token"))
			}
		}
	case journal.StepChild:
		p.showChild(k, e.Data)
	case journal.StepRetrying:
		p.addLine("↻", "33", p.language.Say("%s: attempt %d failed: %s; trying again in %s", k, e.Data.Attempt,
			e.Data.Error.Message, time.Duration(e.Data.DelayMS)*time.Millisecond))
	case journal.StepSkipped:
		p.addLine("-", "90", p.language.Say("%s skipped: %s", k, wording.Of(e.Data.Reason)))
	case journal.StepFailed, journal.StepFinished:
		p.addEndLine(k, p.removeRow(k), e)
	case journal.StepWarning:
		p.addLine("!", "33", p.language.Say("%s: warning: %s", k, FirstLine(e.Data.Text)))
	case journal.FlowWaiting, journal.FlowFailed, journal.FlowCancelled, journal.FlowFinished:
		p.running = nil
	}
}

// showChild prints the child run that a step waits for, and the reason why that run waits.
func (p *Progress) showChild(step string, d *journal.Data) {
	for _, r := range p.running {
		if r.key == step && d.Child != nil {
			r.note = p.language.Say("run %s on the queue %s", d.Child.Run, d.Child.Queue)
		}
	}
	if d.Text != "" {
		p.addLine("!", "33", fmt.Sprintf("%s: %s", step, FirstLine(d.Text)))
	}
}

// addEndLine prints how a step has ended.
func (p *Progress) addEndLine(step, call string, e *journal.Event) {
	label := step
	if call != "" {
		label += " (" + call + ")"
	}
	figures := label + p.stepFigures(e.Data)
	branch := p.outcomeOf(call, e.Data.Output)
	isFinished := e.Type == journal.StepFinished
	switch {
	case !isFinished && e.Data.Error.Kind == calls.Canceled:
		p.addLine("-", "90", p.language.Say("%s stopped", label))
	case !isFinished:
		p.addLine("✗", "31", p.language.Say("%s failed: %s", label, FirstLine(e.Data.Error.Message)))
	case e.Data.Error != nil && journal.IsPseudoStep(e.Step):
		p.addLine("✗", "31", p.language.Say("%s failed; continuing: %s", figures, FirstLine(e.Data.Error.Message)))
	case e.Data.Error != nil:
		if e.Index != nil {
			p.failed[e.Step]++
		}
		p.addLine("!", "33", p.language.Say("%s failed; continuing: %s", figures, e.Data.Error.Message))
	case e.Index == nil && p.failed[e.Step] > 0:
		p.addLine("!", "33", p.language.Say("%s: %s", figures, FailedItems(p.language, p.failed[e.Step], len(e.Data.Output.List()))))
	case branch != "":
		p.addLine("✓", "32", p.language.Say("%s: branch %s", figures, branch))
	default:
		p.addLine("✓", "32", figures)
	}
}

// FailedItems says how many items of a for_each step failed under on_error: continue.
func FailedItems(language Language, failed, all int) string {
	return language.Say("%s, of which %d failed", wording.Count(all, "item"), failed)
}

// outcomeOf returns how a step of a call has ended, in a word; "" if the call has none. output may be nil.
func (p *Progress) outcomeOf(call string, output *value.Value) string {
	def, isKnown := p.flow.FindCall(call)
	if !isKnown || output == nil {
		return ""
	}
	return def.Info.OutcomeOf(*output)
}

// removeRow deletes a step's live row and returns its call; "" if there is none.
func (p *Progress) removeRow(k string) string {
	for i, r := range p.running {
		if r.key == k {
			p.running = append(p.running[:i], p.running[i+1:]...)
			return r.call
		}
	}
	return ""
}

// stepFigures returns the time and the tokens of a finished step.
func (p *Progress) stepFigures(d *journal.Data) string {
	s := ""
	if d.DurationMS != nil {
		s += " " + Milliseconds(*d.DurationMS)
	}
	if d.Usage != nil {
		if d.LLM != nil && d.LLM.Estimated > 0 {
			s += p.language.Say(", about %d tokens in, %d out", d.Usage.InputTokens, d.Usage.OutputTokens)
		} else {
			s += p.language.Say(", %d tokens in, %d out", d.Usage.InputTokens, d.Usage.OutputTokens)
		}
	}
	if d.Output != nil {
		if n, ok := d.Output.Get("tokens"); ok {
			count, _ := n.Int()
			s += p.language.Say(", prompt of about %s", wording.Count(int(count), "token"))
		}
	}
	return s
}

// addLine prints a line that stays, at once or after the text that is streaming.
func (p *Progress) addLine(mark, colour, text string) {
	if p.live {
		mark = "\x1b[" + colour + "m" + mark + "\x1b[0m"
	}
	p.held = append(p.held, mark+" "+Visible(text)+"\n")
}

// printHeldLines prints the lines that waited, unless text is in the middle of a line.
func (p *Progress) printHeldLines() {
	if p.isPaused && p.speech.IsSpeaking() {
		return
	}
	p.isPaused = false
	if len(p.held) > 0 {
		p.clearRows()
		for _, line := range p.held {
			fmt.Fprint(p.stderr, line)
		}
		p.held = nil
	}
	p.drawRows()
}

// drawRows writes the lines of the running steps in place of the last ones.
func (p *Progress) drawRows() {
	if !p.live || p.isPaused {
		return
	}
	p.clearRows()
	spinner := []rune("⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏")
	width := 80
	if f, ok := fileBehind(p.stderr); ok {
		if w, _, err := term.GetSize(int(f.Fd())); err == nil && w > 0 {
			width = w
		}
	}
	const most = 12 // a wide fan must not scroll the terminal
	for i, r := range p.running {
		text := Visible(fmt.Sprintf("%c %s (%s) %.1fs %s", spinner[p.frame%len(spinner)], r.key, r.call, time.Since(r.since).Seconds(), r.note))
		if i == most {
			text = p.language.Say("  and %d more", len(p.running)-most)
		}
		fmt.Fprintf(p.stderr, "%s\n", cutColumns(text, width-1))
		p.drawn++
		if i == most {
			break
		}
	}
}

// clearRows takes the live lines off the terminal.
func (p *Progress) clearRows() {
	if p.drawn > 0 {
		fmt.Fprintf(p.stderr, "\x1b[%dA\x1b[J", p.drawn)
		p.drawn = 0
	}
}

// pauseRows keeps the live lines away while text streams to the same terminal.
func (p *Progress) pauseRows() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.clearRows()
	p.isPaused = p.live && IsTerminal(p.stdout)
}

// Close ends the live lines, and prints the outputs if they are wanted.
func (p *Progress) Close() error {
	if p.live {
		close(p.stop)
		p.stopped.Wait()
	}
	if p.speech.InLine() && !p.outputsOnly {
		fmt.Fprintln(p.stdout)
	}
	p.isPaused, p.running = false, nil
	p.printHeldLines()
	isShown := p.toUser && !p.outputsOnly // the text was the output
	if p.outputs == nil || isShown {
		return nil
	}
	_, err := fmt.Fprintln(p.stdout, JSONText(*p.outputs))
	return err
}
