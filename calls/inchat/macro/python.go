package macro

import (
	"context"
	"errors"
	"math/big"
	"strings"
	"time"

	"github.com/callnode/scheduler/llm/prompt"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
)

// program is the code of a python macro: an expression, or assignments and ifs
// that leave something in the variable result.
type program struct {
	stmts    []stmt
	consts   *value.Map // the constants of the code, by the names that expressions use
	volatile bool
}

// stmt is an expression, an assignment to name, or an if.
type stmt struct {
	name  string
	expr  *prompt.Expr
	tuple bool // the expression is a tuple, which prints in parentheses
	isIf  bool
	body  []stmt
	rest  []stmt // else
}

// maxTime is for python macros; the others take no time worth measuring.
const maxTime = time.Second

type runKey struct{}

// runOf returns the run that a function is called in.
func runOf(ctx context.Context) *run { return ctx.Value(runKey{}).(*run) }

// execProgram runs a program and returns its result as text; "" after an error.
func (r *run) execProgram(p *program) string {
	ctx, cancel := context.WithTimeout(context.WithValue(r.ctx, runKey{}, r), maxTime)
	defer cancel()
	s := &pythonScope{consts: p.consts, locals: value.NewMap(2)}
	out, err := s.execStatements(ctx, p.stmts)
	if first := p.stmts[0]; len(p.stmts) > 1 || first.isIf || first.name != "" {
		result, _ := s.locals.Get("v_result")
		out = varText(result)
	}
	if err != nil {
		var e *prompt.Error
		if errors.As(err, &e) && e.Msg != "" {
			message, _ := e.Text()
			err = wording.Errorf("%s", message)
		}
		r.addError("python: %v", err)
		return ""
	}
	return out
}

// pythonScope holds the constants and the variables of a program that runs.
type pythonScope struct{ consts, locals *value.Map }

// Lookup finds a constant or a variable.
func (s *pythonScope) Lookup(name string) (value.Value, bool, error) {
	if v, ok := s.consts.Get(name); ok {
		return v, true, nil
	}
	v, ok := s.locals.Get(name)
	return v, ok, nil
}

// execStatements runs statements and prints the last expression.
func (s *pythonScope) execStatements(ctx context.Context, stmts []stmt) (out string, err error) {
	for _, st := range stmts {
		v, err := st.expr.Eval(ctx, s)
		if err != nil {
			return "", err
		}
		switch {
		case st.isIf:
			branch := st.rest
			if prompt.Truthy(v) {
				branch = st.body
			}
			if _, err := s.execStatements(ctx, branch); err != nil {
				return "", err
			}
		case st.name != "":
			s.locals.Set(st.name, v)
		case st.tuple:
			inner := strings.TrimSuffix(strings.TrimPrefix(prompt.Text(v), "["), "]")
			if len(v.List()) == 1 {
				inner += ","
			}
			out = "(" + inner + ")"
		default:
			out = varText(v)
		}
	}
	return out, nil
}

// bigOf returns an integer of a value that Python counts as one: true is 1.
func bigOf(v value.Value) (*big.Int, bool) {
	if b, ok := v.Bool(); ok {
		if b {
			return big.NewInt(1), true
		}
		return new(big.Int), true
	}
	return v.Big()
}
