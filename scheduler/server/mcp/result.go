package mcp

import (
	"errors"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/scheduler"
	"github.com/callnode/scheduler/scheduler/journal"
)

// argumentsOf returns the arguments of a call.
func argumentsOf(r *sdk.CallToolRequest) (value.Value, error) {
	if len(r.Params.Arguments) == 0 {
		return value.OfMap(nil), nil
	}
	doc, err := value.ParseStrictJSON(r.Params.Arguments)
	if err != nil {
		return doc, calls.Errorf(calls.Invalid, "the arguments are not JSON: %w", err)
	}
	if doc.IsNull() {
		return value.OfMap(nil), nil
	}
	if doc.Kind() != value.Object {
		return doc, calls.Errorf(calls.Invalid, "the arguments are not an object")
	}
	return doc, nil
}

// documentResult answers with a document, also for clients that know texts alone.
func documentResult(doc value.Value) *sdk.CallToolResult {
	return &sdk.CallToolResult{StructuredContent: doc, Content: []sdk.Content{&sdk.TextContent{Text: doc.JSON()}}}
}

// failureResult answers with an error, for the model to read. run is "" for a call without one.
func failureResult(err error, run string) *sdk.CallToolResult {
	info := journal.ErrorInfo{Kind: calls.KindOf(err), Message: err.Error(), Hint: calls.HintOf(err)}
	var failed *scheduler.Failure
	if errors.As(err, &failed) { // its own text may hold secrets
		info = failed.Info
	}
	doc := value.Pairs("error", value.Must(info))
	if run != "" {
		doc = value.Pairs("run", run, "error", value.Must(info))
	}
	return &sdk.CallToolResult{IsError: true, Content: []sdk.Content{&sdk.TextContent{Text: value.OfMap(doc).JSON()}}}
}
