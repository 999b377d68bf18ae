package telemetry

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"net/url"
	"slices"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	semconv "go.opentelemetry.io/otel/semconv/v1.41.0"
	oteltrace "go.opentelemetry.io/otel/trace"

	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/scheduler/journal"
)

// Attributes of our own.
const (
	keyRun    = attribute.Key("scheduler.run.id")
	keyFlow   = attribute.Key("scheduler.flow")
	keyOrigin = attribute.Key("scheduler.run.origin")
	keyState  = attribute.Key("scheduler.run.state")
	keyStep   = attribute.Key("scheduler.step.id")
	keyCall   = attribute.Key("scheduler.call")
	keyReason = attribute.Key("scheduler.step.skip_reason")
	// The names of OpenInference for content.
	keyInput  = attribute.Key("input.value")
	keyOutput = attribute.Key("output.value")
)

// maxContent bounds the text of one attribute, in bytes.
const maxContent = 32 << 10

// runTrace has the open spans of a run. The observer makes it with the run's first event; the
// goroutine that carries the run out uses it.
type runTrace struct {
	tracer           oteltrace.Tracer
	operationOf      func(call string) string
	content          bool // spans have the inputs and outputs of steps
	id, flow, origin string
	root             oteltrace.Span // nil before the first event
	ctx              context.Context
	steps            map[string]*stepSpan // those that have started, by their path
	counted          llm.Usage
	hasCounted       bool
}

// stepSpan is the open span of a step.
type stepSpan struct {
	span oteltrace.Span
	ctx  context.Context
	call string
}

// freshUsage returns the addition to the usage of the run since the last event. Usage in earlier processes is not
// part of it.
func (r *runTrace) freshUsage(total llm.Usage) llm.Usage {
	fresh := total.Minus(r.counted)
	if !r.hasCounted {
		fresh = llm.Usage{}
	}
	r.counted, r.hasCounted = total, true
	return fresh
}

// observe starts and ends spans.
func (r *runTrace) observe(e *journal.Event) {
	if r.root == nil {
		r.startRoot(e.Time)
	}
	path := journal.StepPath(e.Step, e.Index)
	switch e.Type {
	case journal.StepStarted:
		r.startStep(path, e)
	case journal.StepInput:
		r.addContent(path, keyInput, e.Data.Input)
	case journal.StepRetrying:
		r.addRetry(path, e)
	case journal.StepWarning:
		r.addWarning(path, e)
	case journal.StepSkipped:
		r.startStep(path, e)
		r.steps[path].span.SetAttributes(keyReason.String(e.Data.Reason))
		r.endStep(path, e)
	case journal.StepWaiting, journal.StepFailed, journal.StepFinished:
		r.endStep(path, e)
	default:
		if e.StopsRun() {
			r.endRoot(e)
		}
	}
}

// startRoot starts the span of the run, or of this process's part of it.
func (r *runTrace) startRoot(at time.Time) {
	ctx := context.WithValue(context.Background(), traceKey{}, traceID(r.id))
	r.ctx, r.root = r.tracer.Start(ctx, "invoke_workflow "+r.flow, oteltrace.WithTimestamp(at), oteltrace.WithAttributes(
		semconv.GenAIOperationNameKey.String("invoke_workflow"), keyRun.String(r.id), keyFlow.String(r.flow), keyOrigin.String(r.origin)))
}

// TraceID returns the trace of a run, 32 hexadecimal digits: the first half of the SHA-256 of
// its id.
func TraceID(run string) string { return traceID(run).String() }

func traceID(run string) oteltrace.TraceID {
	sum := sha256.Sum256([]byte(run))
	return oteltrace.TraceID(sum[:16])
}

// startStep starts the span of a step below the span of the step or run around it.
func (r *runTrace) startStep(path string, e *journal.Event) {
	if open := r.steps[path]; open != nil { // a further attempt
		return
	}
	parent := r.ctx
	for outer := journal.OuterPath(path); outer != ""; outer = journal.OuterPath(outer) {
		if s := r.steps[outer]; s != nil {
			parent = s.ctx
			break
		}
	}
	call := e.Data.Call
	ctx, span := r.tracer.Start(parent, r.spanName(path, call, ""), oteltrace.WithTimestamp(e.Time), oteltrace.WithAttributes(
		semconv.GenAIOperationNameKey.String(r.operationOf(call)), keyRun.String(r.id), keyStep.String(path), keyCall.String(call)))
	r.steps[path] = &stepSpan{span, ctx, call}
}

// endStep ends the span of a step, and the spans of steps that it ran inside itself.
func (r *runTrace) endStep(path string, e *journal.Event) {
	open := r.steps[path]
	if open == nil {
		return
	}
	r.endInner(path, e.Time)
	delete(r.steps, path)
	r.addModel(open, path, e.Data)
	r.addContentTo(open, keyOutput, e.Data.Output)
	setError(open.span, e.Data.Error)
	open.span.End(oteltrace.WithTimestamp(e.Time))
}

// endInner ends the spans of steps that a step runs inside itself.
func (r *runTrace) endInner(path string, at time.Time) {
	for inner, s := range r.steps {
		if strings.HasPrefix(inner, path+"/") || strings.HasPrefix(inner, path+"[") {
			s.span.End(oteltrace.WithTimestamp(at))
			delete(r.steps, inner)
		}
	}
}

// endRoot ends the span of the run.
func (r *runTrace) endRoot(e *journal.Event) {
	r.root.SetAttributes(keyState.String(string(journal.RunRunning.After(e.Type))))
	setError(r.root, e.Data.Error)
	if e.Data.Usage != nil {
		r.root.SetAttributes(usageAttributes(*e.Data.Usage)...)
	}
	r.end(e.Time)
}

// end ends all open spans. It may be called twice.
func (r *runTrace) end(at time.Time) {
	if r.root == nil {
		return
	}
	for path, s := range r.steps {
		s.span.End(oteltrace.WithTimestamp(at))
		delete(r.steps, path)
	}
	r.root.End(oteltrace.WithTimestamp(at))
}

// addModel sets the attributes of the model that a step asked.
func (r *runTrace) addModel(open *stepSpan, path string, data *journal.Data) {
	if data.LLM == nil {
		return
	}
	open.span.SetName(r.spanName(path, open.call, data.LLM.Model))
	open.span.SetAttributes(semconv.GenAIProviderNameKey.String(data.LLM.Provider), semconv.GenAIRequestModelKey.String(data.LLM.Model))
	if data.Usage != nil {
		open.span.SetAttributes(usageAttributes(*data.Usage)...)
	}
}

func usageAttributes(u llm.Usage) []attribute.KeyValue {
	return []attribute.KeyValue{semconv.GenAIUsageInputTokensKey.Int(u.InputTokens), semconv.GenAIUsageOutputTokensKey.Int(u.OutputTokens)}
}

// setError sets the status of a span from its error; nil changes nothing. The message stays out: it may quote a
// user's text.
func setError(span oteltrace.Span, e *journal.ErrorInfo) {
	if e == nil {
		return
	}
	span.SetStatus(codes.Error, string(e.Kind))
	span.SetAttributes(semconv.ErrorTypeKey.String(string(e.Kind)))
}

func (r *runTrace) addRetry(path string, e *journal.Event) {
	if open := r.steps[path]; open != nil && e.Data.Error != nil {
		open.span.AddEvent("retry", oteltrace.WithTimestamp(e.Time), oteltrace.WithAttributes(
			attribute.Int("attempt", e.Data.Attempt), semconv.ErrorTypeKey.String(string(e.Data.Error.Kind))))
	}
}

func (r *runTrace) addWarning(path string, e *journal.Event) {
	if open := r.steps[path]; open != nil {
		open.span.AddEvent("warning", oteltrace.WithTimestamp(e.Time), oteltrace.WithAttributes(attribute.String("code", e.Data.Code)))
	}
}

func (r *runTrace) addContent(path string, key attribute.Key, content *value.Value) {
	if open := r.steps[path]; open != nil {
		r.addContentTo(open, key, content)
	}
}

// addContentTo sets an attribute to a value as JSON, if the settings allow it. Events have no secrets in them.
func (r *runTrace) addContentTo(open *stepSpan, key attribute.Key, content *value.Value) {
	if !r.content || content == nil {
		return
	}
	text, err := content.MarshalJSON()
	if err != nil {
		return
	}
	open.span.SetAttributes(key.String(strings.ToValidUTF8(string(text[:min(len(text), maxContent)]), "")))
}

// spanName returns the name of a step's span by the conventions.
func (r *runTrace) spanName(path, call, model string) string {
	operation := r.operationOf(call)
	switch {
	case operation == semconv.GenAIOperationNameChat.Value.AsString():
		return strings.TrimSpace(operation + " " + model)
	case operation == stepOperation && journal.IsPseudoStep(path):
		return "execute_tool " + call
	default:
		return operation + " " + path
	}
}

// stepOperation is the operation of a call that the conventions have no name for.
const stepOperation = "step"

// traceKey is the key of the trace id that a root span gets.
type traceKey struct{}

// idGenerator makes ids: the trace's from the context, the others at random.
type idGenerator struct{}

// NewIDs returns the ids of a root span.
func (g idGenerator) NewIDs(ctx context.Context) (oteltrace.TraceID, oteltrace.SpanID) {
	id, _ := ctx.Value(traceKey{}).(oteltrace.TraceID)
	return id, g.NewSpanID(ctx, id)
}

// NewSpanID returns the id of a span.
func (idGenerator) NewSpanID(context.Context, oteltrace.TraceID) (id oteltrace.SpanID) {
	for !id.IsValid() {
		_, _ = rand.Read(id[:]) // it never fails
	}
	return id
}

// tracesURL returns the address that spans are sent to: the endpoint, with the path of the protocol if it has
// none. For example, http://collector:4318 becomes http://collector:4318/v1/traces.
func tracesURL(endpoint string) (string, error) {
	u, err := url.Parse(endpoint)
	if err != nil || u.Host == "" || !slices.Contains([]string{"http", "https"}, u.Scheme) {
		return "", wording.Errorf("invalid endpoint %q of traces (write http://HOST:4318)", endpoint)
	}
	if strings.Trim(u.Path, "/") == "" {
		u.Path = "/v1/traces"
	}
	return u.String(), nil
}
