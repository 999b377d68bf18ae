package eval

import (
	"context"

	"github.com/callnode/scheduler/llm/prompt/internal/ast"
	"github.com/callnode/scheduler/llm/prompt/internal/fault"
	"github.com/callnode/scheduler/llm/prompt/internal/pongo2tree"
	"github.com/callnode/scheduler/llm/prompt/internal/pyvalue"
	"github.com/callnode/scheduler/llm/prompt/internal/trace"
	"github.com/callnode/scheduler/llm/value"
)

// TemplateCode is a template that can be rendered. It is immutable.
type TemplateCode struct {
	Src   fault.Source
	Prog  *ast.Program
	Tree  *pongo2tree.Tree // nil if the template has no statements
	Slots int
}

// ExprCode is an expression that can be evaluated. It is immutable.
type ExprCode struct {
	Src   fault.Source
	Root  ast.Node
	Slots int
}

// Render returns the text that the template makes of the names in scope. Errors are
// of type *[fault.Error].
func (t *TemplateCode) Render(ctx context.Context, scope Scope) (string, error) {
	m, err := t.evaluate(ctx, scope, nil)
	defer m.release()
	if err != nil {
		return "", err
	}
	return string(m.out), nil
}

// evaluate renders into the evaluator that it returns, and which the caller releases. prepare,
// unless it is nil, sets it up.
func (t *TemplateCode) evaluate(ctx context.Context, scope Scope, prepare func(*evaluator)) (*evaluator, error) {
	m := newEvaluator(ctx, scope, &t.Src, t.Slots)
	m.prog, m.Soft = t.Prog, t.Prog.Lenient
	if prepare != nil {
		prepare(m)
	}
	m.frame = &frame{}
	var err error
	if t.Tree != nil {
		err = t.Tree.Run(&m.walk, m)
	} else if len(t.Prog.Runs) > 0 {
		err = m.writeSegments(t.Prog.Runs[0])
	}
	if err != nil {
		return m, fault.Locate(&t.Src, err)
	}
	return m, nil
}

// RenderValue renders like Render. In the text that it returns, the parts that come from secrets of a
// [SecretScope] are secret.
func (t *TemplateCode) RenderValue(ctx context.Context, scope Scope) (value.Value, error) {
	isTraced := holdsSecrets(scope)
	m, text, err := t.renderMarked(ctx, scope, isTraced)
	m.release()
	return text, err
}

// RenderTraced renders like RenderValue and returns the origin of every byte of the text.
func (t *TemplateCode) RenderTraced(ctx context.Context, scope Scope) (value.Value, []trace.Span, error) {
	m, text, err := t.renderMarked(ctx, scope, true)
	defer m.release()
	if err != nil {
		return value.Value{}, nil, err
	}
	return text, trace.SpansOf(m.parts, 0, 0, false), nil
}

// renderMarked renders a text in which secrets are marked, and returns the evaluator, for its caller to release.
func (t *TemplateCode) renderMarked(ctx context.Context, scope Scope, isTraced bool) (*evaluator, value.Value, error) {
	m, err := t.evaluate(ctx, scope, func(m *evaluator) { m.Trace = isTraced })
	if err != nil {
		return m, value.Value{}, m.hideSecrets(err, func(masked Scope) error {
			m, err := t.evaluate(ctx, masked, nil)
			m.release()
			return err
		})
	}
	text := value.OfString(string(m.out))
	if !holdsSecrets(scope) {
		return m, text, nil
	}
	return m, markRanges(text, trace.SecretRanges(m.parts)), nil
}

// Trace renders like Render and returns the origin of every byte of the text. It takes about twice the time;
// Render pays nothing for it. Masks replace the secrets of a [SecretScope]: an expression that fails with a mask
// yields a mask.
func (t *TemplateCode) Trace(ctx context.Context, scope Scope) (string, []trace.Span, error) {
	m, err := t.evaluate(ctx, scope, func(m *evaluator) { m.traceMasked(scope) })
	defer m.release()
	if err != nil {
		return "", nil, err
	}
	return string(m.out), trace.SpansOf(m.parts, 0, 0, m.Masked), nil
}

// Eval returns the typed value. An undefined name is an error, except in the forms
// of Jinja2 that allow it. Errors are of type *[fault.Error].
func (e *ExprCode) Eval(ctx context.Context, scope Scope) (value.Value, error) {
	m := newEvaluator(ctx, scope, &e.Src, e.Slots)
	defer m.release()
	m.Trace = holdsSecrets(scope)
	_, out, err := e.evalMarked(m)
	return out, err
}

// EvalTraced evaluates like Eval and returns the origins of the texts and values in the result, in its order.
func (e *ExprCode) EvalTraced(ctx context.Context, scope Scope) (value.Value, []trace.Member, error) {
	m := newEvaluator(ctx, scope, &e.Src, e.Slots)
	defer m.release()
	m.Trace = true
	v, out, err := e.evalMarked(m)
	if err != nil {
		return value.Value{}, nil, err
	}
	t := memberTracer{stop: len(e.Src.Text)}
	t.add("", v, out, nil)
	return out, t.list, nil
}

// evalMarked evaluates to a value in which secrets are marked.
func (e *ExprCode) evalMarked(m *evaluator) (v pyvalue.Val, out value.Value, err error) {
	v, err = m.evalTraced(e.Root)
	if err == nil && v.Py() == nil && !m.Trace {
		return v, v.V, nil
	}
	if err == nil {
		out, err = m.exportMarked(v)
		if err != nil {
			err = fault.WithPosition(err, e.Root.Pos())
		}
	}
	if err != nil {
		return v, value.Value{}, m.hideSecrets(fault.Locate(&e.Src, err), func(masked Scope) error {
			_, err := e.Eval(m.Ctx, masked)
			return err
		})
	}
	return v, out, nil
}

// Trace evaluates like Eval and returns the origins of the texts and values in the result, in the order of the
// result.
func (e *ExprCode) Trace(ctx context.Context, scope Scope) (value.Value, []trace.Member, error) {
	m := newEvaluator(ctx, scope, &e.Src, e.Slots)
	defer m.release()
	m.traceMasked(scope)
	v, err := m.evalTraced(e.Root)
	if err != nil {
		return value.Value{}, nil, fault.Locate(&e.Src, err)
	}
	out, err := m.ExportValue(v)
	if err != nil {
		return value.Value{}, nil, fault.Locate(&e.Src, fault.WithPosition(err, e.Root.Pos()))
	}
	t := memberTracer{masked: m.Masked, stop: len(e.Src.Text)}
	t.add("", v, out, nil)
	return out, t.list, nil
}
