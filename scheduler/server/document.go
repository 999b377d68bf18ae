package server

import (
	"context"
	"maps"
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"
)

// withFlows returns the document with an operation for each flow that starts it.
func (s *Server) withFlows(doc *huma.OpenAPI) (*huma.OpenAPI, error) {
	all, err := s.library.Flows()
	if err != nil {
		return nil, err
	}
	whole := *doc
	whole.Paths = maps.Clone(doc.Paths)
	generic := doc.Paths[base+"/flows/{flow}/runs"].Post
	for _, f := range all {
		if f.Flow == nil {
			continue
		}
		op := *generic
		op.OperationID = "start-" + strings.ReplaceAll(f.ID, "~", "-")
		op.Summary = "Start a run of " + f.ID
		op.Description = f.Flow.Description
		op.Parameters = nil
		for _, p := range generic.Parameters {
			if p.In != "path" {
				op.Parameters = append(op.Parameters, p)
			}
		}
		var inputs any = f.Flow.Inputs.Doc()
		if strings.Contains(f.Flow.Inputs.Doc().JSON(), `"$ref"`) { // it would point into this document
			inputs = map[string]any{"type": "object"}
		}
		text := map[string]any{"type": "string"}
		op.RequestBody = &huma.RequestBody{Required: true, Content: map[string]*huma.MediaType{"application/json": {Schema: &huma.Schema{
			Type: huma.TypeObject, AdditionalProperties: false,
			Extensions: map[string]any{"properties": map[string]any{
				"inputs": inputs, "session": text, "llm": text,
				"labels": map[string]any{"type": "object", "additionalProperties": text},
			}},
		}}}}
		whole.Paths[base+"/flows/"+f.ID+"/runs"] = &huma.PathItem{Post: &op}
	}
	return &whole, nil
}

type openAPIInput struct {
	Flows bool `query:"flows" doc:"Add an operation for each flow that starts it, with its inputs."`
}

// openAPI returns the document.
func (s *Server) openAPI(_ context.Context, in *openAPIInput) (*stream, error) {
	doc := s.api.OpenAPI()
	if in.Flows {
		var err error
		doc, err = s.withFlows(doc)
		if err != nil {
			return nil, err
		}
	}
	return &stream{func(hctx huma.Context) {
		_, w := humago.Unwrap(hctx)
		writeJSON(w, http.StatusOK, "application/json", doc)
	}}, nil
}
