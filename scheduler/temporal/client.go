package temporal

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	sdklog "go.temporal.io/sdk/log"
	"go.temporal.io/sdk/temporal"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/scheduler"
	"github.com/callnode/scheduler/scheduler/service"
)

// Options are how Temporal is reached, and how runs are carried out there.
type Options struct {
	// Address is host:port.
	Address   string
	Namespace string
	// Queue is the queue in which the tasks of new runs wait for workers.
	Queue string
	// TLS is nil for a connection in the clear.
	TLS *tls.Config
	// APIKey is "" if none is needed.
	APIKey string
	// PayloadKey, of [PayloadKeyBytes], encrypts data sent through Temporal; nil does not.
	PayloadKey []byte
	// Heartbeat is after how long without a sign of life a worker counts as dead.
	Heartbeat time.Duration
	// Attributes is true if [Client.SetUp] has registered the search attributes.
	Attributes bool
	// Log gets the log of the SDK; nil discards it.
	Log *slog.Logger
}

const (
	// connectTimeout bounds how long a connection may take, requestTimeout a request.
	connectTimeout = 10 * time.Second
	requestTimeout = 20 * time.Second
	// decisionTimeout is after how long a decision is made again that a worker has taken and
	// then died.
	decisionTimeout = 5 * time.Second
	// lookTimeout bounds a look for the obstacle of a run; the first look comes after firstLook, the others ever
	// later, at most longestLook after the one before.
	lookTimeout = 3 * time.Second
	firstLook   = time.Second
	longestLook = 5 * time.Second
)

// Client starts runs on Temporal and sends them answers. [Dial] makes one, Close ends it; it is safe for
// concurrent use.
type Client struct {
	options  Options
	sdk      client.Client
	failures converter.FailureConverter
}

var _ service.Remote = (*Client)(nil)

// Dial connects to Temporal.
func Dial(ctx context.Context, o Options) (*Client, error) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	given := client.Options{
		HostPort: o.Address, Namespace: o.Namespace, Logger: sdklog.NewStructuredLogger(o.Log), ConnectionOptions: client.ConnectionOptions{TLS: o.TLS},
		Identity: identityOf(o.PayloadKey),
	}
	if o.APIKey != "" {
		given.Credentials = client.NewAPIKeyStaticCredentials(o.APIKey)
	}
	given.FailureConverter = temporal.GetDefaultFailureConverter()
	if o.PayloadKey != nil {
		encrypt, err := newCodec(o.PayloadKey)
		if err != nil {
			return nil, wording.Errorf("the key of payloads: %w", err)
		}
		given.DataConverter = inputConverter{converter.NewCodecDataConverter(converter.GetDefaultDataConverter(), encrypt)}
		given.FailureConverter = temporal.NewDefaultFailureConverter(temporal.DefaultFailureConverterOptions{
			DataConverter: given.DataConverter, EncodeCommonAttributes: true,
		})
	}
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	sdk, err := client.DialContext(ctx, given)
	if err != nil {
		return nil, calls.Errorf(calls.Provider, "connecting to Temporal at %s: %w", o.Address, err).
			WithHint("is it running? on one machine: temporal server start-dev")
	}
	return &Client{options: o, sdk: sdk, failures: given.FailureConverter}, nil
}

// Close ends the connection.
func (c *Client) Close() { c.sdk.Close() }

// Ready returns an error if Temporal does not answer.
func (c *Client) Ready(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	_, err := c.sdk.CheckHealth(ctx, &client.CheckHealthRequest{})
	return c.explain(err)
}

// Check returns an error if Temporal takes no runs now, does not have the namespace, or if all workers of the usual queue have another key
// of payloads.
func (c *Client) Check(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	_, err := c.sdk.WorkflowService().DescribeNamespace(ctx, &workflowservice.DescribeNamespaceRequest{Namespace: cmp.Or(c.options.Namespace, client.DefaultNamespace)})
	if err != nil {
		return c.explain(err)
	}
	return c.CheckKey(ctx, c.options.Queue)
}

// explain returns an error of Temporal with the address.
func (c *Client) explain(err error) error {
	if err == nil {
		return nil
	}
	if isOver := errors.As(err, new(*serviceerror.DeadlineExceeded)) || errors.Is(err, context.DeadlineExceeded); isOver {
		return calls.Errorf(calls.Provider, "Temporal at %s gives no answer in time", c.options.Address).WithHint("is it running, and not overloaded?")
	}
	return calls.Errorf(calls.Provider, "asking Temporal at %s: %w", c.options.Address, err)
}

// Start lets a run of the journal begin or go on: it starts a workflow, unless one is under
// way. One that is about to end gets to know that the run was resumed.
func (c *Client) Start(ctx context.Context, run service.RemoteRun) error {
	if c.options.PayloadKey != nil && !run.IsChild { // the workers of a child have the key of this one
		if err := c.CheckKey(ctx, c.queueOf(run)); err != nil {
			return err
		}
	}
	if run.Seq == 0 {
		return c.startWorkflow(ctx, run)
	}
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	_, err := c.sdk.SignalWithStartWorkflow(ctx, run.ID, wakeSignal, run.Seq, c.startOptions(run), Workflow, c.newInput(run))
	return c.explain(err)
}

// startWorkflow starts the workflow of a run, unless it is under way.
func (c *Client) startWorkflow(ctx context.Context, run service.RemoteRun) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	_, err := c.sdk.ExecuteWorkflow(ctx, c.startOptions(run), Workflow, c.newInput(run))
	return c.explain(err)
}

func (c *Client) startOptions(run service.RemoteRun) client.StartWorkflowOptions {
	return client.StartWorkflowOptions{
		ID: run.ID, TaskQueue: c.queueOf(run), StaticSummary: run.Flow, WorkflowTaskTimeout: decisionTimeout,
		WorkflowIDConflictPolicy: enums.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING,
		WorkflowIDReusePolicy:    enums.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE,
		Memo:                     map[string]any{"flow": run.Flow, "sha256": run.Hash},
	}
}

func (c *Client) newInput(run service.RemoteRun) Input {
	return Input{
		Run: run.ID, Store: run.Store, Queue: c.queueOf(run), After: run.Seq, Since: run.Seq,
		Heartbeat: c.options.Heartbeat, Attributes: c.options.Attributes, Child: run.IsChild,
	}
}

// queueOf returns the queue in which the tasks of a run wait for workers.
func (c *Client) queueOf(run service.RemoteRun) string { return cmp.Or(run.Queue, c.options.Queue) }

// Answer puts answers of a waiting run on record; one that is not under way is started before.
func (c *Client) Answer(ctx context.Context, run service.RemoteRun, answers []scheduler.Answer, more bool) ([]scheduler.Answer, error) {
	if err := c.CheckKey(ctx, c.queueOf(run)); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	if err := c.startWorkflow(ctx, run); err != nil {
		return nil, err
	}
	handle, err := c.sdk.UpdateWorkflow(ctx, client.UpdateWorkflowOptions{
		WorkflowID: run.ID, UpdateName: answerUpdate, WaitForStage: client.WorkflowUpdateStageCompleted,
		Args: []any{answerRequest{Answers: formatAnswers(answers), More: more}},
	})
	var taken []answer
	if err == nil {
		err = handle.Get(ctx, &taken)
	}
	if err != nil {
		return nil, c.answerError(ctx, run, err)
	}
	return parseAnswers(taken)
}

// answerError returns why answers were not taken.
func (c *Client) answerError(ctx context.Context, run service.RemoteRun, err error) error {
	var own *temporal.ApplicationError
	switch {
	case errors.As(err, &own) && own.Type() == typeHeld:
		return calls.Errorf(calls.Invalid, "the run %s is at work: it does not wait for values now", run.ID)
	case errors.As(err, &own) && own.Type() == typeUnavailable:
		return calls.Errorf(calls.Provider, "no worker can take the answer: %s", own.Message())
	case errors.As(err, &own):
		return flowError(own)
	case ctx.Err() != nil:
		return calls.Errorf(calls.Provider, "no worker has taken the answer in %s: whether it will is not known", requestTimeout).
			WithHint("is a worker of the queue %s running? look at the run, and answer again", c.queueOf(run))
	}
	return c.explain(err)
}

// flowError returns an error of the engine that came through Temporal.
func flowError(e *temporal.ApplicationError) error {
	if e.Message() == unreadableFailure {
		return calls.Errorf(calls.Invalid, "%w", errOtherKey).WithHint("give all machines the same key, or none (setting temporal.payload_key_env)")
	}
	kind := calls.Kind(e.Type())
	hint := ""
	if e.HasDetails() {
		_ = e.Details(&hint) // without details there is no hint
	}
	err := calls.Errorf(kind, "%s", e.Message())
	if hint == "" {
		return err
	}
	return err.WithHint("%s", hint)
}

// Wake lets the workflow of a run look at the journal.
func (c *Client) Wake(ctx context.Context, run string) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	err := c.sdk.SignalWorkflow(ctx, run, "", wakeSignal, int64(0))
	var gone *serviceerror.NotFound
	if errors.As(err, &gone) {
		return nil
	}
	return c.explain(err)
}

// Wait waits until the workflow of a run has ended, and passes its obstacles to hint.
func (c *Client) Wait(ctx context.Context, run service.RemoteRun, hint func(wording.Text)) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go c.tellObstacles(ctx, run, hint)
	err := c.sdk.GetWorkflow(ctx, run.ID, "").Get(ctx, nil)
	var own *temporal.ApplicationError
	var gone *serviceerror.NotFound
	var cancelled *temporal.CanceledError
	switch {
	case err == nil, ctx.Err() != nil, errors.As(err, &cancelled):
		return nil
	case errors.As(err, &own):
		return workflowError(own)
	case errors.As(err, &gone):
		return calls.Errorf(calls.NotFound, "Temporal does not know the run %s any more", run.ID).WithHint("resume it")
	}
	return c.explain(err)
}

// workflowError returns why a workflow has given up its run; nil if the journal has the error.
func workflowError(own *temporal.ApplicationError) error {
	var out Outcome
	isOutcome := own.HasDetails() && own.Details(&out) == nil && out.State != ""
	switch {
	case isOutcome && out.State == Failed:
		return nil
	case own.Type() == typeUnavailable: // of an older program
		return calls.Errorf(calls.Provider, "no worker could carry the run out: %s", own.Message()).WithHint("start a worker that can, then resume the run")
	case own.Type() == typeStuck:
		return calls.Errorf(calls.Internal, "the run has brought down several workers without a step that finished").
			WithHint("find out why, then resume the run")
	}
	return flowError(own)
}

// tellObstacles looks for the obstacle of a run every now and then, and passes each to hint once.
func (c *Client) tellObstacles(ctx context.Context, run service.RemoteRun, hint func(wording.Text)) {
	told := wording.Text{}
	timer := time.NewTimer(firstLook)
	defer timer.Stop()
	for pause := firstLook; ; pause = min(pause+pause/4, longestLook) { // workers refuse a run within the first seconds, if at all
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		if text := c.findObstacle(ctx, run); text != told && ctx.Err() == nil {
			told = text
			if text.En != "" {
				hint(text)
			}
		}
		timer.Reset(pause)
	}
}

// findObstacle returns the obstacle of a run; "" if none is known.
func (c *Client) findObstacle(ctx context.Context, run service.RemoteRun) wording.Text {
	queue := c.queueOf(run)
	switch c.findWorkers(ctx, queue, run.Store) {
	case noWorkers:
		return wording.Say("no worker is there for the queue %s: start one with scheduler worker --on temporal://%s --queue %[1]s", queue, c.options.Address)
	case strangeWorkers:
		return wording.Say("the workers of the queue %s have another journal than the one that the run is in (all machines need the same store)", queue)
	case fittingWorkers:
	}
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	missing := c.lastRefusal(ctx, run.ID)
	if missing == "" {
		missing = c.askMissing(ctx, run.ID)
	}
	if missing == "" {
		return wording.Text{}
	}
	return wording.Say("no worker can carry the run out yet: %s", missing)
}

// fewRefusals is how many workers may refuse a run before its readers hear of it: another one may take it at once.
const fewRefusals = 2

// lastRefusal returns why workers refuse a run that is being offered to them one after the other; "" if they do not.
func (c *Client) lastRefusal(ctx context.Context, run string) string {
	found, err := c.sdk.DescribeWorkflowExecution(ctx, run, "")
	if err != nil {
		return ""
	}
	for _, pending := range found.GetPendingActivities() {
		var own *temporal.ApplicationError
		isRefused := pending.GetAttempt() > fewRefusals && errors.As(c.failures.FailureToError(pending.GetLastFailure()), &own)
		if isRefused && own.Type() == typeUnavailable {
			return own.Message()
		}
	}
	return ""
}

// askMissing asks the workflow of a run, which waits between two rounds of offers, for the things that the last worker lacked.
func (c *Client) askMissing(ctx context.Context, run string) (missing string) {
	answer, err := c.sdk.QueryWorkflow(ctx, run, "", missingQuery)
	if err != nil || answer.Get(&missing) != nil {
		return ""
	}
	return missing
}

// StrangeQueues returns the queues whose workers, as far as is known, all have another journal than the one with
// that id.
func (c *Client) StrangeQueues(ctx context.Context, store string, queues []string) (strange []string) {
	for _, queue := range queues {
		if c.findWorkers(ctx, queue, store) == strangeWorkers {
			strange = append(strange, queue)
		}
	}
	return strange
}

// presence says which workers a queue has, as far as is known.
type presence int

const (
	noWorkers presence = iota
	// strangeWorkers all have another journal.
	strangeWorkers
	fittingWorkers
)

// findWorkers looks for workers of a queue with the journal of that id.
func (c *Client) findWorkers(ctx context.Context, queue, store string) presence {
	if !c.hasWorker(ctx, queue, enums.TASK_QUEUE_TYPE_WORKFLOW) {
		return noWorkers
	}
	if !c.hasWorker(ctx, shortQueue(queue, store), enums.TASK_QUEUE_TYPE_ACTIVITY) {
		return strangeWorkers
	}
	return fittingWorkers
}

// hasWorker reports whether a worker has asked for tasks of the queue lately; it is true if that is not known.
func (c *Client) hasWorker(ctx context.Context, queue string, kind enums.TaskQueueType) bool {
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	found, err := c.sdk.DescribeTaskQueue(ctx, queue, kind)
	return err != nil || len(found.GetPollers()) > 0
}

// SetUp registers the search attributes in the namespace. Those that are registered stay.
func (c *Client) SetUp(ctx context.Context) error {
	_, err := c.sdk.OperatorService().AddSearchAttributes(ctx, &operatorservice.AddSearchAttributesRequest{
		Namespace: c.options.Namespace,
		SearchAttributes: map[string]enums.IndexedValueType{
			attributeFlow.GetName():    enums.INDEXED_VALUE_TYPE_KEYWORD,
			attributeState.GetName():   enums.INDEXED_VALUE_TYPE_KEYWORD,
			attributeWaiting.GetName(): enums.INDEXED_VALUE_TYPE_KEYWORD_LIST,
			attributeTokens.GetName():  enums.INDEXED_VALUE_TYPE_INT,
		},
	})
	var exists *serviceerror.AlreadyExists
	if err == nil || errors.As(err, &exists) {
		return nil
	}
	return wording.Errorf("registering the search attributes: %w", err)
}
