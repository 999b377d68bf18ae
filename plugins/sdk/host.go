package sdk

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"

	"google.golang.org/grpc/status"

	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/plugins"
	"github.com/callnode/scheduler/plugins/proto"
)

// Host gives a function the services of the host while it answers a request: the services that plugin.yaml lists,
// and the user trusted. [HostOf] returns it; it ends with the request, and is safe for concurrent use.
type Host struct {
	client proto.HostClient
	token  string
	state  *proto.State
	key    string
}

type hostKey struct{}

// HostOf returns the host of the request that ctx belongs to.
func HostOf(ctx context.Context) *Host {
	if h, ok := ctx.Value(hostKey{}).(*Host); ok {
		return h
	}
	return &Host{}
}

// requestContext returns the context of a request, by which HostOf finds its host.
func (s *pluginServer) requestContext(ctx context.Context, token string, state *proto.State) context.Context {
	h := &Host{token: token, state: state}
	if c := s.host.Load(); c != nil {
		h.client = *c
	}
	return context.WithValue(ctx, hostKey{}, h)
}

// State returns a call's data about the dialogue: input, user, session, language and time.
func (h *Host) State() plugins.State { return proto.ToState(h.state) }

// IdempotencyKey returns the name of this use of a call in its run. It is the same when the
// step is tried again, and when the run goes on in another process: a service that knows
// such keys does the work once. It is "" outside of calls.
func (h *Host) IdempotencyKey() string { return h.key }

// checkGranted returns an error if the plugin was granted no services.
func (h *Host) checkGranted() error {
	if h.client == nil {
		return errors.New("the plugin was granted no services of the host (list them under services in plugin.yaml)")
	}
	return nil
}

// unwrapStatus returns the message of a gRPC error as an error.
func unwrapStatus(err error) error {
	if s, ok := status.FromError(err); ok && err != nil {
		return errors.New(s.Message())
	}
	return err
}

// Chat asks the flow's model; its tokens count for the step. The service llm must be granted. Importance functions
// and variables get the answer as a whole. Of req, Model, Messages, Temperature, MaxTokens and ResponseSchema are
// sent.
func (h *Host) Chat(ctx context.Context, req *llm.Request) iter.Seq2[llm.Delta, error] {
	return h.ChatWithParts(ctx, req)
}

// Part gives the source of a piece of a message. Start and End are its bytes in the text of the message; Kind and
// Name are shown to people.
type Part struct {
	Message int      `json:"message"`
	Start   int      `json:"start"`
	End     int      `json:"end"`
	Kind    string   `json:"kind,omitempty"`
	Name    string   `json:"name,omitempty"`
	Origins []Origin `json:"origins,omitempty"`
}

// Origin says that the bytes [Start, End) of a part were taken from the parameter of the call at the JSON pointer
// Pointer, from its byte From on. Computed is set if they are not a copy of it.
type Origin struct {
	Start    int    `json:"start"`
	End      int    `json:"end"`
	Pointer  string `json:"pointer"`
	From     int    `json:"from,omitempty"`
	Computed bool   `json:"computed,omitempty"`
}

// ChatWithParts is [Host.Chat] with the sources of the messages, for people who ask for the sources of a prompt.
// Bytes that no part covers are credited to the call.
func (h *Host) ChatWithParts(ctx context.Context, req *llm.Request, parts ...Part) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		if err := h.checkGranted(); err != nil {
			yield(llm.Delta{}, err)
			return
		}
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		out := &proto.ChatRequest{
			Token: h.token, Model: req.Model, Temperature: req.Temperature,
			MaxTokens: int64(req.MaxTokens), ResponseSchema: req.ResponseSchema,
		}
		for _, m := range req.Messages {
			out.Messages = append(out.Messages, m)
		}
		if len(parts) > 0 {
			out.Parts = value.Must(parts).AppendJSON(nil)
		}
		stream, err := h.client.Chat(ctx, out)
		for err == nil {
			var d *proto.ChatDelta
			d, err = stream.Recv()
			if err == nil && !yield(toDelta(d), nil) {
				return
			}
		}
		if !errors.Is(err, io.EOF) {
			yield(llm.Delta{}, fmt.Errorf("asking the model: %w", unwrapStatus(err)))
		}
	}
}

func toDelta(p *proto.ChatDelta) llm.Delta {
	d := llm.Delta{Text: p.GetText(), FinishReason: p.GetFinishReason()}
	if p.GetInputTokens() > 0 || p.GetOutputTokens() > 0 {
		d.Usage = &llm.Usage{InputTokens: int(p.GetInputTokens()), OutputTokens: int(p.GetOutputTokens())}
	}
	return d
}

// Ask is [Host.Chat] with one message of the user; it returns the whole answer.
func (h *Host) Ask(ctx context.Context, prompt string) (string, error) {
	text := ""
	for d, err := range h.Chat(ctx, &llm.Request{Messages: []llm.Message{llm.TextMessage("user", prompt)}}) {
		if err != nil {
			return "", err
		}
		text += d.Text
	}
	return text, nil
}

// Search looks for memories of the flow's user and session, best first. The service
// memory must be granted.
func (h *Host) Search(ctx context.Context, query string, limit int) ([]plugins.Recalled, error) {
	if err := h.checkGranted(); err != nil {
		return nil, err
	}
	reply, err := h.client.Search(ctx, &proto.SearchRequest{Token: h.token, Query: query, Limit: int32(min(max(limit, 0), 1<<20))})
	if err != nil {
		return nil, fmt.Errorf("searching memories: %w", unwrapStatus(err))
	}
	return proto.ToRecalled(reply.GetFound()), nil
}

// Vars returns the data that the step may see: for a call an object of inputs, question, vars, summary, facts,
// history, run and step. The service vars must be granted.
func (h *Host) Vars(ctx context.Context) (value.Value, error) {
	if err := h.checkGranted(); err != nil {
		return value.Value{}, err
	}
	reply, err := h.client.Vars(ctx, &proto.VarsRequest{Token: h.token})
	if err != nil {
		return value.Value{}, fmt.Errorf("reading vars: %w", unwrapStatus(err))
	}
	return value.ParseJSON(reply.GetVars())
}

// Log writes a line to the log of the host; level is debug, info, warn or error. The service log must be granted.
// Lines that a plugin writes to standard error get there too, without a level.
func (h *Host) Log(ctx context.Context, level, message string) error {
	if err := h.checkGranted(); err != nil {
		return err
	}
	_, err := h.client.Log(ctx, &proto.LogRequest{Token: h.token, Level: level, Message: message})
	return unwrapStatus(err)
}
