package server

import (
	"context"
	"net/http"
	"strconv"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/scheduler/server/store"
)

// inChatPath is the path of the one endpoint of the API that the call in-chat comes from.
const inChatPath = "/api/modules/smarttavern/in_chat_constructor/construct"

// registerInChatAPI adds the API that the call in-chat comes from, at its own path and at the paths of the
// settings: register_api in the documents.
func (s *Server) registerInChatAPI() {
	for i, path := range append([]string{inChatPath}, s.options.Aliases...) {
		id := "construct-in-chat"
		if i > 0 {
			id += "-" + strconv.Itoa(i)
		}
		addEndpoint(s, endpoint{
			method: http.MethodPost, path: path, id: id, summary: "Put presets and world-book entries into a dialogue", scope: store.CallsRun, anyMedia: true,
		}, s.constructDialogue)
	}
}

type constructInput struct {
	Body struct {
		History   value.Value `json:"history" doc:"Messages {role, content}."`
		Presets   value.Value `json:"presets_in_chat" doc:"Preset entries, or null."`
		Books     value.Value `json:"world_books" doc:"World-book entries or books, or null."`
		Variables value.Value `json:"variables,omitempty"`
	}
}

// constructOutput has exactly that API's answer.
type constructOutput struct {
	Messages value.Value `json:"messages" doc:"Messages {role, content, source}."`
}

// constructDialogue puts presets and world-book entries into a dialogue.
func (s *Server) constructDialogue(ctx context.Context, in *constructInput) (*body[constructOutput], error) {
	with := value.Pairs("history", in.Body.History)
	for name, v := range map[string]value.Value{"presets_in_chat": in.Body.Presets, "world_books": in.Body.Books, "variables": in.Body.Variables} {
		if !v.IsNull() {
			with.Set(name, v)
		}
	}
	output, _, _, err := s.callFor(ctx, "in-chat", value.OfMap(value.Pairs("with", value.OfMap(with))))
	if err != nil {
		return nil, err
	}
	messages, ok := output.Get("messages")
	if !ok {
		return nil, calls.Errorf(calls.Internal, "the call in-chat put out no messages")
	}
	return &body[constructOutput]{constructOutput{messages}}, nil
}
