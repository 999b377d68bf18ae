package suite

import (
	"context"
	"net/http"
	"net/url"
	"time"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/memory"
	"github.com/callnode/scheduler/llm/prompt"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/llm/value/yaml"
	"github.com/callnode/scheduler/scheduler/flow"
	"github.com/callnode/scheduler/scheduler/trigger"
)

// triggered is the data that a trigger gives a run, by the templates of the flow. Each row makes its own.
type triggered struct {
	inputs       *value.Map
	conversation value.Value
	user         string
}

// readTrigger checks the rules for all rows: the flows have the trigger, and nothing else gives the inputs.
func (c *caseReader) readTrigger() {
	k := c.settings.Trigger
	if k == nil {
		return
	}
	at := c.at(c.place("trigger"))
	if isOne := (k.Webhook == "") != (k.Schedule == ""); !isOne {
		c.reportOnce(at, wording.Say("a trigger is a webhook or a schedule"), wording.Say("write trigger: {webhook: ID, body: ...}, or trigger: {schedule: ID}"))
		return
	}
	isRequest := !k.Body.IsNull() || len(k.Headers)+len(k.Query) > 0
	if k.Webhook != "" && k.At != "" || k.Schedule != "" && isRequest {
		c.reportOnce(at, wording.Say("a webhook has body, headers and query, and a schedule has at"), wording.Text{})
	}
	if c.has("inputs") {
		c.reportOnce(c.at(c.pointer+"/inputs"), wording.Say("the trigger gives the inputs"), wording.Say("take inputs out, or trigger"))
	}
	for _, f := range c.flows {
		known := triggerIDs(f.flow, k.Webhook != "")
		if id := k.Webhook + k.Schedule; !known[id] {
			names := make([]string, 0, len(known))
			for name := range known {
				names = append(names, name)
			}
			c.reportOnce(at, wording.Say("the flow %s has no trigger %q", f.name, id), wording.Of(value.DidYouMeanOrList(id, names)))
		}
	}
}

// triggerIDs returns the ids of the webhooks of a flow, or of its schedules.
func triggerIDs(f *flow.Flow, ofWebhooks bool) map[string]bool {
	ids := map[string]bool{}
	for _, w := range f.Triggers.Webhooks {
		ids[w.ID] = ofWebhooks
	}
	for _, s := range f.Triggers.Schedules {
		if !ofWebhooks {
			ids[s.ID] = true
		}
	}
	return ids
}

// fire returns the data that the trigger of the case gives a row; nil if there is none, or if it is wrong, which
// is reported.
func (c *caseReader) fire(f *flow.Flow, row *datasetRow) *triggered {
	k := c.settings.Trigger
	if k == nil {
		return nil
	}
	var err error
	made := &triggered{}
	if w := f.Triggers.Webhook(k.Webhook); w != nil {
		made.user = w.User
		err = c.deliver(w, row, made)
	}
	for _, s := range f.Triggers.Schedules {
		if s.ID == k.Schedule {
			made.user = s.User
			err = c.fireSchedule(s, made)
		}
	}
	if err != nil {
		c.reportOnce(c.at(c.place("trigger")), wording.Say("the trigger: %w", err), wording.Of(calls.HintOf(err)))
		return nil
	}
	if made.inputs == nil { // the flow has no such trigger, which is reported
		return nil
	}
	return made
}

// deliver renders the templates of a webhook with the request of the case.
func (c *caseReader) deliver(w *flow.Webhook, row *datasetRow, made *triggered) error {
	k := c.settings.Trigger
	header, query := http.Header{}, url.Values{}
	for name, v := range k.Headers {
		header.Set(name, v)
	}
	for name, v := range k.Query {
		query.Set(name, v)
	}
	content, err := c.body(row)
	if err != nil {
		return err
	}
	text, isText := content.Str()
	if !isText && !content.IsNull() {
		text = content.JSON()
		if header.Get("Content-Type") == "" {
			header.Set("Content-Type", "application/json")
		}
	}
	v := trigger.Verification{Way: w.Verify, Header: w.Header}
	scope, err := v.Scope(header, query, []byte(text), trigger.MaxBody)
	if err != nil {
		return err
	}
	names := prompt.Values{Map: value.Pairs("webhook", scope)}
	inputs, err := w.Inputs.Render(context.Background(), names)
	if err != nil {
		return err
	}
	made.inputs = inputs.Map().Clone()
	made.conversation, err = w.Conversation.Render(context.Background(), names)
	if err == nil && !made.conversation.IsNull() {
		err = calls.CheckConversation(made.conversation)
	}
	return err
}

// body returns the body of the request, with its templates rendered for a row.
func (c *caseReader) body(row *datasetRow) (value.Value, error) {
	node, _, found := yaml.Walk(c.root, c.place("trigger")+"/body")
	if !found {
		return value.Value{}, nil
	}
	cells := value.Value{}
	if row != nil {
		cells = value.OfMap(row.cells)
	}
	v, ok := c.render(node, cells)
	if !ok {
		return v, wording.Errorf("its body cannot be read")
	}
	return v, nil
}

// fireSchedule renders the templates of a schedule with its time.
func (c *caseReader) fireSchedule(s *flow.Schedule, made *triggered) error {
	at := c.now
	if text := c.settings.Trigger.At; text != "" {
		var err error
		at, err = memory.ParseTime(text)
		if err != nil {
			return err
		}
	}
	zone := time.UTC
	if s.Plan != nil {
		zone = s.Plan.Zone()
	}
	inputs, err := s.Inputs.Render(context.Background(), prompt.Values{Map: value.Pairs("schedule", trigger.ScheduleScope(s.ID, at, zone))})
	made.inputs = inputs.Map().Clone()
	return err
}
