package input_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/builtin"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/plugins"
)

// exceptions are the recorded answers that are not ours, with ours: a prompt, or
// the beginning of an error.
var exceptions = map[string]struct{ reason, prompt, err string }{
	"load-empty-path":        {reason: "no placeholder for missing memory: the module is left out", prompt: "你是一个友好的AI助手，请根据上下文提供有用的回答。\n\n用户输入：\n你好"},
	"load-bad-json":          {reason: "a file that is wrong is an error, not an empty prompt", err: "cfg.json:1:23: "},
	"load-empty-file":        {reason: "a file that is wrong is an error, not an empty prompt", err: "cfg.json:1:1: the text is empty"},
	"load-no-template-key":   {reason: "a file that is wrong is an error, not an empty prompt", err: "cfg.json:1:1: context_template: the required property"},
	"dup-module-name":        {reason: "names of modules are unique", err: `cfg.json:1:107: context_template[1].module_name: duplicate module name "a"`},
	"unknown-segment-type":   {reason: "a wrong segment is an error", err: "cfg.json:1:66: context_template[0].segments[0].type: "},
	"missing-segment-type":   {reason: "a wrong segment is an error", err: "cfg.json:1:57: context_template[0].segments[0].type: "},
	"imp-null":               {reason: "null is the default, true", prompt: "A\n\n你好"},
	"imp-zero":               {reason: "a number is no importance_func", err: "cfg.json:1:"},
	"imp-one":                {reason: "a number is no importance_func", err: "cfg.json:1:"},
	"imp-list":               {reason: "a list is no importance_func", err: "cfg.json:1:"},
	"imp-empty-string":       {reason: "an empty name is no importance_func", err: "cfg.json:1:"},
	"imp-unknown":            {reason: "an unknown function is an error", err: `cfg.json:1:109: context_template[0].importance_func: unknown importance function "no_such"`},
	"var-unknown":            {reason: "an unknown variable is an error", err: `cfg.json:1:120: context_template[0].segments[1].value: unknown variable "nope"`},
	"var-func-raises":        {reason: "the text of a failure does not go into the prompt", err: `module "a", segments[0]: variable "bad": boom`},
	"var-short-empty":        {reason: "no placeholder for an empty memory"},
	"var-short-8":            {reason: "all that the bounds allow, not the last five", prompt: "句0\n句1\n句2\n句3\n句4\n句5\n句6\n句7"},
	"var-short-raises":       {reason: "no placeholder for a failing memory, but a warning"},
	"var-long-none":          {reason: "no placeholder for an empty memory"},
	"var-long-empty":         {reason: "no placeholder for an empty memory"},
	"var-long-raises":        {reason: "no placeholder for a failing memory, but a warning"},
	"var-long-empty-input":   {reason: "memories that are given are shown", prompt: "- 甲 (相关度: 0.90)"},
	"missing-variable-value": {reason: "an error in both, ours when the file is read", err: "cfg.json:1:57: context_template[0].segments[0].value: "},
}

type vector struct {
	ID        string  `json:"id"`
	Path      string  `json:"path"`
	Raw       *string `json:"raw"`
	Config    json.RawMessage
	UserInput string `json:"user_input"`
	Memory    map[string]json.RawMessage
	Functions map[string]struct {
		Returns json.RawMessage
		Raises  string
	}
	Result string
	Error  string
}

// failing is a memory that cannot be read.
type failing struct{}

var errMemory = errors.New("the store is gone")

func (failing) Recent(context.Context, calls.Scope, int) ([]plugins.Turn, error) {
	return nil, errMemory
}

func (failing) Retrieve(context.Context, calls.Scope, string, int) ([]plugins.Recalled, error) {
	return nil, errMemory
}

func TestVectors(t *testing.T) {
	file, err := os.Open("../../test/vectors/input.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	seen := 0
	for lines := bufio.NewScanner(file); lines.Scan(); {
		var v vector
		if err := json.Unmarshal(lines.Bytes(), &v); err != nil {
			t.Fatal(err)
		}
		t.Run(v.ID, func(t *testing.T) {
			got, err := v.run(t)
			exception, isException := exceptions[v.ID]
			switch {
			case !isException && err != nil:
				t.Fatal(err)
			case !isException:
				exception.prompt = v.Result
			case exception.err == "" && exception.prompt == v.Result && v.Error == "":
				t.Error("this is no exception")
			case exception.err != "":
				if err == nil || !strings.HasPrefix(err.Error(), exception.err) {
					t.Errorf("got the error %v, want %s", err, exception.err)
				}
				return
			}
			if err != nil || got.Prompt != exception.prompt {
				t.Errorf("got %q (%v)\nwant %q", got.Prompt, err, exception.prompt)
			}
		})
		seen++
	}
	if seen != 41 {
		t.Errorf("%d vectors, want 41", seen)
	}
}

// run puts a vector into the parameters and variables of a call, as a user of
// scheduler call would; functions that fail are registered.
func (v vector) run(t *testing.T) (result, error) {
	t.Helper()
	with := value.NewMap(4)
	env := calls.NewEnv()
	env.Dir = t.TempDir()
	env.Vars = &calls.Vars{Question: v.UserInput, Language: "zh", Resolved: map[string]value.Value{}}
	with.Set("user_input", value.OfString(v.UserInput))
	if v.Path == "file" {
		content := string(v.Config)
		if v.Raw != nil {
			content = *v.Raw
		}
		if err := os.WriteFile(filepath.Join(env.Dir, "cfg.json"), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		with.Set("config_path", value.OfString("cfg.json"))
	}
	memory := value.NewMap(2)
	for from, to := range map[string]string{"short": "short_term", "long": "long_term"} {
		switch text := string(v.Memory[from]); text {
		case `"raise"`:
			env.Memory = failing{}
		case "":
			memory.Set(to, value.OfList())
		default:
			memory.Set(to, value.Must(v.Memory[from]))
		}
	}
	with.Set("memory", value.OfMap(memory))
	registry, err := builtin.Registry()
	if err != nil {
		t.Fatal(err)
	}
	for name, f := range v.Functions {
		if f.Raises == "" {
			env.Vars.Resolved[name] = value.Must(f.Returns)
			continue
		}
		if err := errors.Join(
			registry.AddImportance(name, plugins.ImportanceFunc(func(context.Context, plugins.State, plugins.Item) (plugins.Verdict, error) {
				return plugins.Verdict{}, errors.New(f.Raises)
			})),
			registry.AddResolver(plugins.ResolverFunc(func(context.Context, plugins.State, string) (any, error) {
				return nil, errors.New(f.Raises)
			}), name),
		); err != nil {
			t.Fatal(err)
		}
	}
	env.Registry = registry
	return exec(t, value.OfMap(with), env)
}
