package mcp

import (
	"context"
	"errors"
	"net/url"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/scheduler/service"
)

// The schemes of resources.
const (
	runScheme  = "run://"
	flowScheme = "flow://"
	yamlType   = "application/yaml"
	jsonType   = "application/json"
)

// addResources adds the readable resources.
func (c *client) addResources() {
	if c.by.CanReadRuns {
		c.server.AddResourceTemplate(&sdk.ResourceTemplate{
			URITemplate: runScheme + "{id}", Name: "run", MIMEType: jsonType, Description: "A run: its state, its steps, its outputs, and what it waits for.",
		}, c.readRun)
		c.server.AddResourceTemplate(&sdk.ResourceTemplate{
			URITemplate: runScheme + "{id}/prompts/{+step}", Name: "prompts", MIMEType: jsonType,
			Description: "The prompts of a step of a run, with the source of each piece.",
		}, c.readPrompts)
	}
	if c.by.CanReadFlows {
		c.server.AddResourceTemplate(&sdk.ResourceTemplate{
			URITemplate: flowScheme + "{id}", Name: "flow", MIMEType: yamlType, Description: "The text of a flow.",
		}, c.readFlow)
	}
}

// listResources lists the flows: runs are found by their ids.
func (c *client) listResources() (*sdk.ListResourcesResult, error) {
	list := &sdk.ListResourcesResult{Resources: []*sdk.Resource{}, Cacheable: sdk.Cacheable{CacheScope: "private"}}
	if !c.by.CanReadFlows {
		return list, nil
	}
	flows, err := c.api.options.Library.Flows()
	if err != nil {
		return nil, err
	}
	for _, f := range flows {
		one := &sdk.Resource{URI: flowScheme + url.PathEscape(f.ID), Name: f.ID, MIMEType: yamlType}
		if f.Flow != nil {
			one.Title, one.Description = f.Flow.Name, f.Flow.Description
		}
		list.Resources = append(list.Resources, one)
	}
	return list, nil
}

// readRun reads a run.
func (c *client) readRun(ctx context.Context, r *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
	details, err := c.showRun(ctx, r.Params.URI)
	if err != nil {
		return nil, err
	}
	doc := value.Pairs("run", details.Info.ID, "flow", details.Info.Flow, "started_at", value.Must(details.Info.StartedAt), "updated_at", value.Must(details.Info.UpdatedAt))
	for name, v := range value.Must(details.State).Map().All() {
		doc.Set(name, v)
	}
	if !details.State.Inputs.IsNull() {
		doc.Set("inputs", details.State.Inputs)
	}
	if !details.State.Conversation.IsNull() {
		doc.Set("conversation", details.State.Conversation)
	}
	return readResult(r, jsonType, value.OfMap(doc).JSON()), nil
}

// readPrompts reads the prompts of a step.
func (c *client) readPrompts(ctx context.Context, r *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
	details, err := c.showRun(ctx, r.Params.URI)
	if err != nil {
		return nil, err
	}
	_, step, _ := strings.Cut(strings.TrimPrefix(r.Params.URI, runScheme), "/prompts/")
	step, err = url.PathUnescape(step)
	if err != nil || details.State.Step(step) == nil {
		return nil, sdk.ResourceNotFoundError(r.Params.URI)
	}
	prompts, err := c.api.options.Service.Prompts(ctx, details, step)
	if err != nil {
		return nil, err
	}
	if paths := c.api.options.PathsFor; paths != nil {
		prompts = prompts.WithPaths(paths(c.by.Principal))
	}
	return readResult(r, jsonType, value.Must(prompts).JSON()), nil
}

// showRun returns the run of an address. One that the caller does not see is not there.
func (c *client) showRun(ctx context.Context, uri string) (*service.RunDetails, error) {
	id, _, _ := strings.Cut(strings.TrimPrefix(uri, runScheme), "/")
	details, _, err := c.api.options.Service.ShowRun(ctx, c.by.Principal, id)
	return details, orNotFound(err, uri)
}

// readFlow reads the text of a flow.
func (c *client) readFlow(_ context.Context, r *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
	id, err := url.PathUnescape(strings.TrimPrefix(r.Params.URI, flowScheme))
	if err != nil {
		return nil, sdk.ResourceNotFoundError(r.Params.URI)
	}
	f, err := c.api.options.Library.Flow(id)
	if err != nil {
		return nil, orNotFound(err, r.Params.URI)
	}
	return readResult(r, yamlType, string(f.Source)), nil
}

// orNotFound returns the protocol's error for a missing resource, and other errors unchanged.
func orNotFound(err error, uri string) error {
	isMissing := calls.KindOf(err) == calls.NotFound || errors.Is(err, service.ErrNoJournal)
	if err != nil && isMissing {
		return sdk.ResourceNotFoundError(uri)
	}
	return err
}

// readResult answers with a text.
func readResult(r *sdk.ReadResourceRequest, media, text string) *sdk.ReadResourceResult {
	return &sdk.ReadResourceResult{
		Cacheable: sdk.Cacheable{CacheScope: "private"},
		Contents:  []*sdk.ResourceContents{{URI: r.Params.URI, MIMEType: media, Text: text}},
	}
}
