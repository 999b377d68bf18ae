package temporal

import (
	"flag"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/history/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	sdklog "go.temporal.io/sdk/log"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
	"google.golang.org/protobuf/encoding/protojson"
)

// record is the address of a server with workflows that become histories in testdata: one of each name of a flow
// and status. Each release adds its own, in a folder with its name; the histories of earlier ones stay.
var record = flag.String("record", "", "host:port of a Temporal server whose histories are recorded")

const histories = "testdata/histories"

// Code of the workflow that would do other things than it once did fails here, without a
// server: with such a change, runs under way would break.
func TestReplay(t *testing.T) {
	if *record != "" {
		recordHistories(t)
	}
	files, err := filepath.Glob(filepath.Join(histories, "*", "*.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no histories in %s, %v", histories, err)
	}
	quiet := sdklog.NewStructuredLogger(slog.New(slog.DiscardHandler))
	replayer := worker.NewWorkflowReplayer()
	replayer.RegisterWorkflowWithOptions(runWorkflow, workflow.RegisterOptions{Name: Workflow})
	for _, file := range files {
		if err := replayer.ReplayWorkflowHistoryFromJSONFile(quiet, file); err != nil {
			t.Errorf("%s: %v", file, err)
		}
	}
}

// A change of the workflow's behaviour is found: TestReplay can fail.
func TestReplayFindsChanges(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(histories, "*", "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	quiet := sdklog.NewStructuredLogger(slog.New(slog.DiscardHandler))
	replayer := worker.NewWorkflowReplayer()
	replayer.RegisterWorkflowWithOptions(func(ctx workflow.Context, in Input) (Outcome, error) {
		return Outcome{}, workflow.Sleep(ctx, refusedDelay)
	}, workflow.RegisterOptions{Name: Workflow})
	for _, file := range files {
		if err := replayer.ReplayWorkflowHistoryFromJSONFile(quiet, file); err == nil {
			t.Errorf("%s is replayed by another workflow", file)
		}
	}
}

// identity matches the names of machines in a history.
var identity = regexp.MustCompile(`"identity":\s*"[^"]*"`)

func recordHistories(t *testing.T) {
	c, err := client.Dial(client.Options{HostPort: *record})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	listed, err := c.ListWorkflow(t.Context(), &workflowservice.ListWorkflowExecutionsRequest{Query: "WorkflowType = '" + Workflow + "'"})
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(histories, "new")
	if err := os.MkdirAll(dir, 0o750); err != nil {
		t.Fatal(err)
	}
	for _, w := range listed.GetExecutions() {
		var all history.History
		for events := c.GetWorkflowHistory(t.Context(), w.GetExecution().GetWorkflowId(), w.GetExecution().GetRunId(), false, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT); events.HasNext(); {
			e, err := events.Next()
			if err != nil {
				t.Fatal(err)
			}
			all.Events = append(all.Events, e)
		}
		text, err := protojson.Marshal(&all)
		if err != nil {
			t.Fatal(err)
		}
		text = identity.ReplaceAll(text, []byte(`"identity":"worker"`))
		var flow string
		if err := dataConverter().FromPayload(w.GetMemo().GetFields()["flow"], &flow); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, flow+"-"+w.GetStatus().String()+".json"), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}
