package prompt

import (
	"context"
	"strings"
	"time"

	"github.com/callnode/scheduler/llm/prompt/internal/eval"
	"github.com/callnode/scheduler/llm/prompt/internal/fault"
	"github.com/callnode/scheduler/llm/prompt/internal/pongo2tree"
	"github.com/callnode/scheduler/llm/prompt/internal/strftime"
	"github.com/callnode/scheduler/llm/prompt/internal/syntax"
	"github.com/callnode/scheduler/llm/value"
)

// Template is a compiled template, made by [Parse]. It is immutable and safe for
// concurrent use, for as long as its user likes.
type Template struct {
	code eval.TemplateCode
	refs []Ref
}

// Parse compiles a template. Errors are of type *[Error].
func Parse(src Source) (*Template, error) { return ParseWith(src, Options{}) }

// ParseWith compiles a template in another dialect. Errors are of type *[Error].
func ParseWith(src Source, opts Options) (*Template, error) {
	made, err := syntax.CompileText(src.Text, opts)
	if err != nil {
		return nil, fault.Locate(&src, err)
	}
	t := &Template{code: eval.TemplateCode{Src: src, Prog: made.Prog, Slots: made.Slots}, refs: made.Refs}
	if made.Tree == "" {
		return t, nil
	}
	t.code.Tree, err = pongo2tree.ParseTree(made.Tree)
	if err != nil {
		return nil, fault.Locate(&src, err)
	}
	return t, nil
}

// LiteralSource returns the source of a template that renders to the text, whatever is in it: for {{ x }} it is
// {{ "{" }}{{ "{" }} x }}.
func LiteralSource(text string) string {
	source := literals.Replace(text)
	if strings.HasSuffix(text, "\n") { // one at the end of a template is left out
		source += `{{ "" }}`
	}
	return source
}

// literals prints the characters that a template does not print as they are.
var literals = strings.NewReplacer("{", `{{ "{" }}`, "\r", `{{ "\r" }}`)

// Render returns the text that the template makes of the names in scope. Errors are
// of type *[Error].
func (t *Template) Render(ctx context.Context, scope Scope) (string, error) {
	return t.code.Render(ctx, scope)
}

// RenderValue renders like [Template.Render]. The parts of the text that come from secrets of a [SecretScope] are
// secret.
func (t *Template) RenderValue(ctx context.Context, scope Scope) (value.Value, error) {
	return t.code.RenderValue(ctx, scope)
}

// RenderTraced renders like [Template.RenderValue] and returns the source of every byte of the text, for a record.
func (t *Template) RenderTraced(ctx context.Context, scope Scope) (value.Value, []Span, error) {
	return t.code.RenderTraced(ctx, scope)
}

// Trace renders like [Template.Render] and returns the source of every byte of the text. It needs about twice the
// time; Render pays nothing for it. The secrets of a [SecretScope] must be masks here, as in the record of a run:
// an operation that fails on a mask gives a mask.
func (t *Template) Trace(ctx context.Context, scope Scope) (string, []Span, error) {
	return t.code.Trace(ctx, scope)
}

// Source returns the source that the template was parsed from.
func (t *Template) Source() Source { return t.code.Src }

// Refs lists the outer names that the template mentions, in order.
func (t *Template) Refs() []Ref { return t.refs }

// Check reports every error that [Parse] refuses instead of only the first: every tag is read by itself if the
// ones before allow it. refs are the outer names that the correct tags mention. errs is nil exactly when Parse
// succeeds.
func Check(src Source) (refs []Ref, errs []*Error) { return CheckWith(src, Options{}) }

// CheckWith is [Check] for a template in another dialect.
func CheckWith(src Source, opts Options) (refs []Ref, errs []*Error) {
	refs, faults := syntax.CheckText(src.Text, opts)
	for _, err := range faults {
		errs = append(errs, fault.LocatedError(&src, err))
	}
	if len(errs) > 0 {
		return refs, errs
	}
	t, err := ParseWith(src, opts) // parts that the structure refuses are left
	if err != nil {
		return refs, []*Error{fault.LocatedError(&src, err)}
	}
	return t.refs, nil
}

// Strftime formats a time by the directives of C's strftime. Those it does not know
// stay as they are; %-d and its like drop leading zeros.
func Strftime(t time.Time, format string) string { return strftime.Format(t, format) }
