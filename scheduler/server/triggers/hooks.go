package triggers

import (
	"context"
	"errors"
	"net/http"
	"net/url"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/prompt"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/scheduler/flow"
	"github.com/callnode/scheduler/scheduler/service"
	"github.com/callnode/scheduler/scheduler/trigger"
)

// MaxHookBody bounds the body of a request of a webhook, in bytes.
const MaxHookBody = trigger.MaxBody

// Webhook is a webhook of a flow that is served. [Triggers.Webhook] makes one for each request;
// it does not change.
type Webhook struct {
	*flow.Webhook
	Flow *service.LibraryFlow

	triggers     *Triggers
	verification trigger.Verification
}

// Delivery is a request of a webhook.
type Delivery struct {
	Header http.Header
	Query  url.Values
	Body   []byte
}

// Webhook returns a webhook of a flow. The error for an unknown one is of kind NotFound.
func (t *Triggers) Webhook(flowID, id string) (*Webhook, error) {
	found, err := t.Library.Flow(flowID)
	if err != nil && calls.KindOf(err) != calls.NotFound {
		return nil, err
	}
	var w *flow.Webhook
	if err == nil && found.Flow != nil {
		w = found.Flow.Triggers.Webhook(id)
	}
	if w == nil { // strangers do not learn which flows there are
		return nil, calls.Errorf(calls.NotFound, "there is no webhook %q of a flow %q", value.Truncate(id, 80), value.Truncate(flowID, 80))
	}
	v := trigger.Verification{Way: w.Verify, Header: w.Header}
	if w.Secret != "" {
		v.Secret, _ = t.Secret(w.Secret)
	}
	return &Webhook{Webhook: w, Flow: found, triggers: t, verification: v}, nil
}

// Check returns an error if the sender of a delivery does not know the secret.
func (w *Webhook) Check(d *Delivery) error {
	return w.verification.Check(d.Header, d.Body, w.triggers.Clock())
}

// DeliveryID returns a name for a delivery, so that a repeat of it is known; "" for none.
func (w *Webhook) DeliveryID(d *Delivery) string { return w.verification.DeliveryID(d.Header, d.Body) }

// Principal returns the owner of the webhook's runs.
func (w *Webhook) Principal() service.Principal { return principalOf(w.User) }

// Begin begins the run of a delivery that was checked, with an id.
func (w *Webhook) Begin(ctx context.Context, d *Delivery, run string) error {
	scope, err := w.scopeOf(d)
	if err != nil {
		return err
	}
	inputs, err := renderInputs(ctx, w.Flow.Flow, w.Inputs, "webhook", scope)
	if err != nil {
		return withoutPlace(err)
	}
	conversation, err := w.Conversation.Render(ctx, prompt.Values{Map: value.Pairs("webhook", scope)})
	if err == nil {
		err = calls.CheckConversation(conversation)
	}
	if err != nil {
		return calls.Errorf(calls.Invalid, "the conversation of the trigger: %w", withoutPlace(err))
	}
	_, err = w.triggers.Dispatcher.Start(ctx, w.Principal(), service.StartRequest{
		ID: run, Flow: w.Flow.Flow, Inputs: inputs, Conversation: conversation, StartedBy: service.StartedByTrigger, Labels: map[string]string{"webhook": w.Flow.ID + ":" + w.ID},
	}, 0)
	return err
}

// withoutPlace returns the error of a template without the file that has it: senders do not learn the
// paths of the server.
func withoutPlace(err error) error {
	var fault *prompt.Error
	if !errors.As(err, &fault) {
		return err
	}
	message, hint := fault.Text()
	return calls.Errorf(calls.Invalid, "the delivery does not have what the webhook takes: %s", message).WithHint("%s", hint)
}

// scopeOf returns the data of a delivery that the templates of the inputs can use.
func (w *Webhook) scopeOf(d *Delivery) (value.Value, error) {
	return w.verification.Scope(d.Header, d.Query, d.Body, MaxHookBody)
}
