package server

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"net/http"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/scheduler/server/triggers"
	"github.com/callnode/scheduler/scheduler/service"
)

// hooksPath is the path of the webhooks of flows.
const hooksPath = "/hooks/"

// registerHooks adds the webhooks of flows. A request needs no token: it is signed.
func (s *Server) registerHooks() {
	addEndpoint(s, endpoint{
		method: http.MethodPost, path: hooksPath + "{flow}/{id}", id: "deliver-webhook", summary: "Start a run by a webhook of a flow", open: true, status: http.StatusAccepted,
		errors:    []int{http.StatusNotFound, http.StatusConflict},
		bodyMedia: "*/*", mayBeEmpty: true,
	}, s.deliver)
}

type deliverInput struct {
	Flow    string `path:"flow" doc:"The id of the flow."`
	ID      string `path:"id" doc:"The id of the webhook in the flow."`
	RawBody []byte
}

// firedOutput is the answer to a delivery.
type firedOutput struct {
	Replayed string `header:"Idempotency-Replayed" doc:"true where the run was begun by an earlier delivery."`
	Body     shaped[firedBody]
}

// deliver starts a run for a request that is signed, once for each id of a delivery.
func (s *Server) deliver(ctx context.Context, in *deliverInput) (*firedOutput, error) {
	if s.options.NoTriggers {
		return nil, newProblem(http.StatusServiceUnavailable, "stopping", wording.Say("the server takes no webhooks"), wording.Say("start it without --no-triggers"))
	}
	r := requestOf(ctx).http
	hook, err := s.triggers.Webhook(in.Flow, in.ID)
	if err != nil {
		return nil, err
	}
	delivery := &triggers.Delivery{Header: r.Header, Query: r.URL.Query(), Body: in.RawBody}
	if err := s.checkDelivery(hook, delivery, r); err != nil {
		return nil, err
	}
	name := "hook:" + hook.Flow.ID + ":" + hook.ID
	if !s.limits.allowRequest(name) {
		return nil, newProblem(http.StatusTooManyRequests, "busy", wording.Say("the webhook gets too many requests"), wording.Say("at most 50 a second")).retryAfter(1)
	}
	begin := func(ctx context.Context, run string) (value.Value, error) {
		requestOf(ctx).run = run
		return value.Must(firedBody{run}), hook.Begin(ctx, delivery, run)
	}
	out := &firedOutput{}
	if id := hook.DeliveryID(delivery); id != "" {
		sum, key := sha256.Sum256(in.RawBody), sha256.Sum256([]byte(id)) // it may be of any length
		out.Body.Value, out.Replayed, err = s.beginOnce(ctx, onceRequest{owner: name, principal: hook.Principal(), key: hex.EncodeToString(key[:]), body: sum[:]}, begin, firedDoc)
		if err == nil {
			requestOf(ctx).run = textOf(out.Body.Value, "run") // of a repeat, too
		}
		return out, err
	}
	out.Body.Value, err = begin(ctx, service.NewRunID())
	return out, err
}

func firedDoc(_ context.Context, run, _ string) (value.Value, error) {
	return value.Must(firedBody{run}), nil
}

// checkDelivery refuses a delivery that is not signed as the flow wants it, and slows down clients that guess
// signatures.
func (s *Server) checkDelivery(hook *triggers.Webhook, delivery *triggers.Delivery, r *http.Request) error {
	err := hook.Check(delivery)
	if err == nil {
		return nil
	}
	if calls.KindOf(err) != calls.Invalid {
		return err
	}
	if !s.limits.allowsFailure(addressOf(r)) {
		return newProblem(http.StatusTooManyRequests, "busy", wording.Say("too many requests with a wrong signature from this address"), wording.Say("wait a minute")).retryAfter(60)
	}
	return newProblem(http.StatusUnauthorized, "unauthorized", wording.OfError(err), hintOf(err))
}
