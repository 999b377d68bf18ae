package http_test

import (
	"context"
	"net/http"
	"testing"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/callstest"
	httpcall "github.com/callnode/scheduler/calls/http"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/yaml"
)

func TestConformance(t *testing.T) { callstest.Run(t, httpcall.Definition()) }

// doer answers requests without a network.
type doer func(*http.Request) (*http.Response, error)

func (d doer) Do(req *http.Request) (*http.Response, error) { return d(req) }

func env(t *testing.T, d calls.HTTP) *calls.Env {
	t.Helper()
	e := calls.NewEnv()
	e.Dir, e.HTTP = t.TempDir(), d
	return e
}

func params(t *testing.T, with string) value.Value {
	t.Helper()
	if v, err := value.ParseJSON([]byte(with)); err == nil {
		return v
	}
	v, err := yaml.ParseValue([]byte(with))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func run(ctx context.Context, t *testing.T, e *calls.Env, with string) (value.Value, error) {
	t.Helper()
	def, v := httpcall.Definition(), params(t, with)
	if problems := def.Info.Params.Check(v); problems != nil {
		return value.Value{}, problems
	}
	call, err := def.New(v)
	if err != nil {
		return value.Value{}, err
	}
	input, err := call.Init(ctx, e.Vars)
	if err != nil {
		return value.Value{}, err
	}
	output, err := callstest.CollectOutput(call.Exec(ctx, e, input))
	if err == nil {
		if problems := def.Info.Output.Check(output); problems != nil {
			t.Errorf("the output does not fit its schema: %v", problems)
		}
	}
	return output, err
}
