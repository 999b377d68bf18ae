// Package sdk makes a plugin from Go functions. For example, this is a whole plugin:
//
//	func main() {
//		sdk.Serve(sdk.Plugin{Name: "recency", Version: "1.0.0", Functions: []sdk.Function{
//			sdk.Importance("is_fresh", sdk.Doc{En: "Includes what is younger than a week."}, isFresh),
//		}})
//	}
//
//	func isFresh(ctx context.Context, state plugins.State, item plugins.Item) (plugins.Verdict, error) { ... }
//
// Functions have typed parameters and results; their JSON Schemas are inferred from the types (see the struct tags
// of [schema.MustFor]). Functions are called from many goroutines at once. A panic in one is an error of that
// request; the plugin lives on. A plugin.yaml belongs beside the program: `scheduler plugins init` writes both.
package sdk

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"regexp"

	"github.com/callnode/scheduler/calls/schema"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/plugins"
	"github.com/callnode/scheduler/plugins/proto"
)

// Plugin describes the functions of a program; its main passes it to [Serve]. Name and Version are as in
// plugin.yaml. It lives as long as the program and must not change once Serve has it: its functions are called by
// many goroutines at once.
type Plugin struct {
	Name, Version string
	Functions     []Function
}

// Doc is one sentence about a function, in English and in Chinese.
type Doc struct{ En, Zh string }

// Function is one function that flows, or test files, can name. [Importance], [Ranking], [Check],
// [Variable], [Call], [InitCall] and [Stream] make it.
type Function struct {
	info *proto.Function
	// One of these is set, by the kind.
	judge   plugins.Importance
	resolve func(ctx context.Context, state plugins.State) (any, error)
	call    callPhases
}

// callPhases are the two phases of a call, on JSON.
type callPhases struct {
	init func(ctx context.Context, params value.Value) (any, error)
	exec func(ctx context.Context, input value.Value) iter.Seq2[outputPart, error]
}

// outputPart is text, or data if that is not nil.
type outputPart struct {
	text string
	data any
}

// Option adds to the description of a function.
type Option func(*proto.Function)

// Retrieves declares that an importance function or a variable calls State.Retrieve.
// Without it that call returns an error: memories are fetched only for functions that
// declare it.
func Retrieves() Option { return func(f *proto.Function) { f.Retrieved = true } }

// AsksModel declares that a call uses [Host.Chat] or [Host.Ask].
func AsksModel() Option { return func(f *proto.Function) { f.Llm = true } }

// Literal names parameters of a call that are used exactly as a flow writes them, because
// {{ in them is data and not a template.
func Literal(parameters ...string) Option {
	return func(f *proto.Function) { f.Literal = append(f.Literal, parameters...) }
}

// Example shows a use of a call: its parameters in YAML, and the model's answers. People see the first; the
// conformance suite runs them all.
func Example(title, with string, answers ...string) Option {
	return func(f *proto.Function) {
		f.Examples = append(f.Examples, &proto.Example{Title: title, With: with, Answers: answers})
	}
}

func newFunction(kind proto.Kind, name string, doc Doc, options []Option) Function {
	f := Function{info: &proto.Function{Name: name, Kind: kind, DocEn: doc.En, DocZh: doc.Zh}}
	for _, option := range options {
		option(f.info)
	}
	return f
}

// Importance makes an importance function that judges one item at a time.
func Importance(name string, doc Doc, judge plugins.ImportanceFunc, options ...Option) Function {
	return Ranking(name, doc, judge, options...)
}

// Ranking makes an importance function that gets all items of a step at once.
func Ranking(name string, doc Doc, judge plugins.Importance, options ...Option) Function {
	f := newFunction(proto.Kind_IMPORTANCE, name, doc, options)
	f.judge = judge
	return f
}

// Check makes a function that test files check runs with, as plugin: NAME. An item has the text that is checked,
// and in Data {value, with, inputs, outputs, row}, of which with comes from the test file. Include says that it
// passes, and Reason why not.
func Check(name string, doc Doc, judge plugins.ImportanceFunc) Function {
	f := newFunction(proto.Kind_CHECK, name, doc, nil)
	f.judge = judge
	return f
}

// ErrNoValue is returned by the function of a variable that has no value now.
var ErrNoValue = errors.New("the variable has no value")

// Variable makes a function that resolves vars.name.
func Variable[T any](name string, doc Doc, resolve func(ctx context.Context, state plugins.State) (T, error), options ...Option) Function {
	f := newFunction(proto.Kind_VARIABLE, name, doc, options)
	f.info.Output = schemaOf[T]()
	f.resolve = func(ctx context.Context, state plugins.State) (any, error) { return resolve(ctx, state) }
	return f
}

// Call makes a call that puts out one object. P and O are structs.
func Call[P, O any](name string, doc Doc, exec func(ctx context.Context, params P) (O, error), options ...Option) Function {
	f := newFunction(proto.Kind_CALL, name, doc, options)
	f.info.Params, f.info.Output = schemaOf[P](), schemaOf[O]()
	f.info.Input = f.info.Params
	f.call.exec = execData(exec)
	return f
}

// InitCall makes a call that computes its input from its parameters before it works. The
// input is recorded; init does no I/O.
func InitCall[P, I, O any](name string, doc Doc, init func(ctx context.Context, params P) (I, error), exec func(ctx context.Context, input I) (O, error), options ...Option) Function {
	f := newFunction(proto.Kind_CALL, name, doc, options)
	f.info.Params, f.info.Input, f.info.Output = schemaOf[P](), schemaOf[I](), schemaOf[O]()
	f.info.Init = true
	f.call.init = func(ctx context.Context, params value.Value) (any, error) {
		var p P
		if err := value.Decode(params, &p); err != nil {
			return nil, &Error{Kind: "invalid", Message: err.Error()}
		}
		return init(ctx, p)
	}
	f.call.exec = execData(exec)
	return f
}

func execData[I, O any](exec func(context.Context, I) (O, error)) func(context.Context, value.Value) iter.Seq2[outputPart, error] {
	return func(ctx context.Context, input value.Value) iter.Seq2[outputPart, error] {
		return func(yield func(outputPart, error) bool) {
			var in I
			if err := value.Decode(input, &in); err != nil {
				yield(outputPart{}, &Error{Kind: "invalid", Message: err.Error()})
				return
			}
			out, err := exec(ctx, in)
			yield(outputPart{data: out}, err)
		}
	}
}

// Stream makes a call that puts out text part by part; a flow reads it as {text: ...}.
func Stream[P any](name string, doc Doc, exec func(ctx context.Context, params P) iter.Seq2[string, error], options ...Option) Function {
	f := newFunction(proto.Kind_CALL, name, doc, options)
	f.info.Params, f.info.Output = schemaOf[P](), schemaOf[struct {
		Text string `json:"text"`
	}]()
	f.info.Input = f.info.Params
	f.call.exec = func(ctx context.Context, input value.Value) iter.Seq2[outputPart, error] {
		return func(yield func(outputPart, error) bool) {
			var in P
			if err := value.Decode(input, &in); err != nil {
				yield(outputPart{}, &Error{Kind: "invalid", Message: err.Error()})
				return
			}
			for text, err := range exec(ctx, in) {
				if !yield(outputPart{text: text}, err) || err != nil {
					return
				}
			}
		}
	}
	return f
}

func schemaOf[T any]() json.RawMessage { return schema.MustFor[T]().Doc().AppendJSON(nil) }

// Error is an error with a kind, which decides whether the step is tried again, and a hint
// for the user.
type Error struct {
	// Kind is invalid, notfound, missing, provider, timeout or plugin.
	Kind, Message, Hint string
}

// Error returns the message.
func (e *Error) Error() string { return e.Message }

var (
	kebabCase = regexp.MustCompile(`^[a-z][a-z0-9]*(-[a-z0-9]+)*$`)
	snakeCase = regexp.MustCompile(`^[a-z][a-z0-9_]*$`)
)

// Check returns an error if a name or the version is wrong, or two functions have one name.
func (p Plugin) Check() error {
	if !kebabCase.MatchString(p.Name) {
		return fmt.Errorf("the plugin's name %q is not kebab-case", p.Name)
	}
	if p.Version == "" {
		return errors.New("the plugin has no version")
	}
	seen := map[string]bool{}
	for _, f := range p.Functions {
		if f.info == nil {
			return errors.New("a function is empty: make it with sdk.Importance, sdk.Check, sdk.Variable or sdk.Call")
		}
		form, formName := snakeCase, "snake_case"
		if f.info.Kind == proto.Kind_CALL {
			form, formName = kebabCase, "kebab-case"
		}
		if !form.MatchString(f.info.Name) {
			return fmt.Errorf("the name %q is not %s", f.info.Name, formName)
		}
		if seen[f.info.Name] {
			return fmt.Errorf("two functions are called %q", f.info.Name)
		}
		seen[f.info.Name] = true
	}
	return nil
}
