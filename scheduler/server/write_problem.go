package server

import (
	"context"
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/scheduler/server/openai"
)

// maxFaults limits the faults in a problem: a body may have hundreds of thousands of unknown members.
const maxFaults = 100

// fromHuma returns the library's errors about a request as a problem.
func fromHuma(e *huma.ErrorModel) *Problem {
	kind := string(calls.Invalid)
	if e.Status >= http.StatusInternalServerError {
		kind = string(calls.Internal)
	}
	p := newProblem(e.Status, kind, wording.RecognizeOr(e.Detail), wording.Text{})
	for _, one := range e.Errors[:min(len(e.Errors), maxFaults)] {
		f := newFault("", wording.RecognizeOr(one.Message), wording.Text{})
		where, rest, _ := strings.Cut(one.Location, ".")
		switch where {
		case "body":
			if rest != "" {
				f.Pointer = pointerOf(rest, one.Value)
			}
		case "":
		default:
			f = newFault("", wording.Say("%s parameter %s: %s", where, rest, wording.RecognizeOr(one.Message)), wording.Text{})
		}
		p.Errors = append(p.Errors, f)
	}
	return p
}

// pointerOf returns the JSON pointer of a place that the library writes as a.b[0].c. If the place is an unknown
// member's, v is the object that has it: its name may be any text. For example, items[0].id gives
// /items/0/id.
func pointerOf(place string, v any) string {
	name := ""
	object, _ := v.(map[string]any)
	for key := range object {
		isLast := place == key || strings.HasSuffix(place, "."+key)
		if isLast && len(key) > len(name) {
			name = key
		}
	}
	pointer := ""
	if above := strings.TrimSuffix(strings.TrimSuffix(place, name), "."); above != "" {
		pointer = "/" + strings.NewReplacer(".", "/", "[", "/", "]", "", "~", "~0", "/", "~1").Replace(above)
	}
	if name != "" {
		pointer += value.FormatPointer(name)
	}
	return pointer
}

// transformError makes a problem of every error that the library writes, with the id of
// its request.
func (s *Server) transformError(ctx huma.Context, _ string, v any) (any, error) {
	var p *Problem
	switch e := v.(type) {
	case *Problem:
		p = e
	case *huma.ErrorModel:
		p = fromHuma(e)
		if requestOf(ctx.Context()).isBroken && e.Status == http.StatusInternalServerError {
			p = brokenBody()
		}
	default:
		return v, nil
	}
	p = s.finishProblem(ctx.Context(), p)
	ctx.AppendHeader("Vary", "Accept-Language")
	ctx.SetHeader("Content-Language", s.languageOf(ctx.Context()))
	if isOpenAI(requestOf(ctx.Context()).http) {
		return map[string]any{"error": openai.NewError(p.Status, wording.Same(p.Detail), "", p.Kind)}, nil
	}
	return p, nil
}

// finishProblem returns a problem with the id of its request, and logs it if it is the server's fault.
func (s *Server) finishProblem(ctx context.Context, p *Problem) *Problem {
	whole := p.in(s.languageOf(ctx)).without(s.folders)
	id := requestOf(ctx).id
	whole.Instance = "/requests/" + id
	if p.Status == http.StatusInternalServerError {
		s.options.Log.Error("a request failed", "request", id, "error", p.cause)
	}
	return whole
}

// writeProblem answers a request outside of the library's handlers.
func (s *Server) writeProblem(w http.ResponseWriter, r *http.Request, p *Problem) {
	for name, values := range p.header {
		w.Header()[name] = values
	}
	w.Header().Add("Vary", "Accept-Language")
	w.Header().Set("Content-Language", s.languageOf(r.Context()))
	if isOpenAI(r) {
		p = p.in(s.languageOf(r.Context())).without(s.folders)
		openai.NewError(p.Status, wording.Same(p.Detail), "", p.Kind).Write(w)
		return
	}
	writeJSON(w, p.Status, p.ContentType(""), s.finishProblem(r.Context(), p))
}

// isOpenAI reports whether the client of a request reads errors in the form of that API.
func isOpenAI(r *http.Request) bool { return strings.HasPrefix(r.URL.Path, "/v1/") }
