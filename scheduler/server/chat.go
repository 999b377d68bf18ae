package server

import (
	"context"
	"net/http"
	"reflect"

	"github.com/callnode/scheduler/scheduler/server/openai"
	"github.com/callnode/scheduler/scheduler/server/store"
	"github.com/callnode/scheduler/scheduler/service"
)

// registerOpenAI adds the OpenAI-compatible API.
func (s *Server) registerOpenAI() {
	addEndpoint(s, endpoint{method: http.MethodGet, path: "/v1/models", id: "list-models", summary: "List the flows that can be chatted with", noStore: true, scope: store.RunsWrite}, s.listModels)
	addEndpoint(s, endpoint{
		method: http.MethodGet, path: "/v1/models/{model...}", id: "get-model", summary: "Get a flow that can be chatted with", noStore: true, scope: store.RunsWrite,
		errors: []int{http.StatusNotFound},
	}, s.getModel)
	addEndpoint(s, endpoint{
		method: http.MethodPost, path: "/v1/chat/completions", id: "create-completion", summary: "Chat with a flow", scope: store.RunsWrite,
		errors: []int{http.StatusNotFound, http.StatusConflict, http.StatusBadGateway, http.StatusGatewayTimeout},
		media:  []string{"text/event-stream"}, json: anyType, bodyType: reflect.TypeFor[openai.ChatRequest](),
	}, s.createCompletion)
}

// listModels lists the flows that can be chatted with.
func (s *Server) listModels(context.Context, *none) (*body[*openai.Models], error) {
	models, err := s.openai.Models()
	return &body[*openai.Models]{models}, err
}

type modelName struct {
	Model string `path:"model" doc:"The name of a flow."`
}

// getModel returns a flow that can be chatted with.
func (s *Server) getModel(_ context.Context, in *modelName) (*body[*openai.Model], error) {
	model, err := s.openai.Model(in.Model)
	return &body[*openai.Model]{model}, err
}

// createCompletion chats with a flow.
func (s *Server) createCompletion(ctx context.Context, in *rawJSON) (*stream, error) {
	c := requestOf(ctx).caller
	by := openai.Caller{Principal: c.principal, Key: c.storeKey(), Language: s.languageOf(ctx)}
	if mayActForUsers := !c.principal.Bound && checkScope(c, store.RunsAs) == nil; mayActForUsers {
		by.ActAs = func(user string) (service.Principal, error) { return actAs(ctx, user) }
	}
	return s.openStream(func(w http.ResponseWriter, r *http.Request) {
		requestOf(ctx).run = s.openai.Chat(w, r, in.RawBody, by)
	})
}
