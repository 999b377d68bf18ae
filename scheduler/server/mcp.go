package server

import (
	"bytes"
	"context"
	"io"
	"net/http"

	"github.com/callnode/scheduler/scheduler/server/mcp"
	"github.com/callnode/scheduler/scheduler/server/store"
)

// registerMCP adds the Model Context Protocol.
func (s *Server) registerMCP() {
	const path = "/mcp"
	errors := []int{http.StatusBadRequest, http.StatusNotFound}
	addEndpoint(s, endpoint{
		method: http.MethodPost, path: path, id: "send-mcp", summary: "Send a message of the Model Context Protocol: flows are its tools", scope: store.RunsWrite,
		errors: errors, media: []string{"text/event-stream"}, json: anyType, bodyType: anyType,
	}, s.sendMCP)
	addEndpoint(s, endpoint{
		method: http.MethodGet, path: path, id: "follow-mcp", summary: "Follow the messages of an MCP session, in versions before 2026-07-28", scope: store.RunsWrite,
		errors: append(errors, http.StatusMethodNotAllowed), media: []string{"text/event-stream"},
	}, s.followMCP)
	addEndpoint(s, endpoint{
		method: http.MethodDelete, path: path, id: "end-mcp", summary: "End an MCP session, in versions before 2026-07-28", scope: store.RunsWrite,
		errors: append(errors, http.StatusMethodNotAllowed), status: http.StatusNoContent,
	}, s.followMCP)
}

// sendMCP answers a message.
func (s *Server) sendMCP(ctx context.Context, in *rawJSON) (*stream, error) {
	return s.serveMCP(ctx, in.RawBody)
}

// followMCP answers requests without a message.
func (s *Server) followMCP(ctx context.Context, _ *none) (*stream, error) {
	return s.serveMCP(ctx, nil)
}

// serveMCP hands a request to the protocol.
func (s *Server) serveMCP(ctx context.Context, body []byte) (*stream, error) {
	by := s.mcpCaller(requestOf(ctx))
	return s.openStream(func(w http.ResponseWriter, r *http.Request) {
		r.Body = io.NopCloser(bytes.NewReader(body))
		s.mcp.ServeHTTP(w, r, by)
	})
}

// mcpCaller returns the caller of a request.
func (s *Server) mcpCaller(r *request) mcp.Caller {
	allows := r.caller.token.Allows
	by := mcp.Caller{
		Principal: r.caller.principal, Key: r.caller.storeKey(),
		CanCall: allows(store.CallsRun), CanReadRuns: allows(store.RunsRead), CanReadFlows: allows(store.FlowsRead),
	}
	if s.page != nil {
		scheme := "http://"
		if s.usesTLS(r.http) {
			scheme = "https://"
		}
		by.Address = scheme + r.http.Host
	}
	return by
}
