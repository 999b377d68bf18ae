package scheduler

import (
	"slices"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/scheduler/internal/order"
)

// upstream has the results of a step's finished ancestors; for step -1, of all steps.
type upstream struct {
	run  *run
	step int
}

var _ calls.Upstream = upstream{}

// History returns the finished upstream steps in file order. Secrets in inputs are
// masked: it goes into prompts and to plugins as a whole.
func (p upstream) History() []calls.FinishedStep {
	var records []calls.FinishedStep
	for _, i := range p.finishedSteps() {
		step, st := p.run.flow.Steps[i], &p.run.states[i]
		records = append(records, calls.FinishedStep{
			ID: step.ID, Name: step.Name, Description: step.Description,
			Input: p.run.secrets.maskValue(st.input), Output: st.output,
		})
	}
	return records
}

// Summary returns the text of the newest upstream summary, else the input summary.
func (p upstream) Summary() string {
	output, ok := p.newestOutput("summary")
	if !ok {
		v, _ := p.run.vars.Inputs.Get("summary")
		text, _ := v.Str()
		return text
	}
	for _, key := range []string{"summary", "text"} {
		v, _ := output.Get(key)
		if text, ok := v.Str(); ok {
			return text
		}
	}
	return ""
}

// Facts returns the facts of the newest upstream facts step, else the input facts.
func (p upstream) Facts() []string {
	output, ok := p.newestOutput("facts")
	if !ok {
		output = p.run.vars.Inputs
	}
	v, _ := output.Get("facts")
	var facts []string
	for _, item := range v.List() {
		if text, ok := item.Str(); ok {
			facts = append(facts, text)
		}
	}
	return facts
}

// newestOutput returns the output of the last finished upstream step whose call provides a built-in name.
func (p upstream) newestOutput(name string) (value.Value, bool) {
	for _, i := range slices.Backward(p.finishedSteps()) {
		if p.run.flow.Steps[i].Def.Info.Provides == name {
			return p.run.states[i].output, true
		}
	}
	return value.Value{}, false
}

// finishedSteps lists the finished upstream steps in file order. They are over before the
// step begins, and change no more, so that their states can be read without the lock.
func (p upstream) finishedSteps() []int {
	if p.run.states == nil {
		return nil
	}
	var upstream []int
	if p.step >= 0 {
		upstream = p.run.flow.Ancestors(p.step)
	} else {
		for i := range p.run.flow.Steps {
			upstream = append(upstream, i)
		}
	}
	return slices.DeleteFunc(upstream, func(i int) bool { return p.run.order.Status(i) != order.Finished })
}
