package compare

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/scheduler/flowtest/result"
)

// The history of a file has its runs, the newest first, and no more lines than are read in a moment.
func TestHistory(t *testing.T) {
	files := Files{Last: filepath.Join(t.TempDir(), "test", "last.jsonl")}
	if found, err := files.History("a.test.yaml", 5); err != nil || found != nil {
		t.Fatalf("without a run: %v, %v", found, err)
	}
	at := time.Date(2026, 11, 22, 9, 0, 0, 0, time.UTC)
	run := &result.Run{Mode: result.Replay, Suites: []*result.Suite{
		{File: "a.test.yaml", Cases: []*result.Case{
			{Name: "good", Outcome: result.Pass, Repeats: []result.Repeat{{Usage: llm.Usage{InputTokens: 3, OutputTokens: 4, Cost: 0.5}}}},
			{Name: "bad", Outcome: result.Fail},
		}},
		{File: "b.test.yaml"},
	}}
	for i := range 3 {
		if err := files.KeepHistory(run, at.Add(time.Duration(i)*time.Hour)); err != nil {
			t.Fatal(err)
		}
	}
	found, err := files.History("a.test.yaml", 2)
	if err != nil || len(found) != 2 {
		t.Fatalf("%v, %v", found, err)
	}
	past := found[0]
	if !past.At.Equal(at.Add(2*time.Hour)) || past.Passed != 1 || past.Failed != 1 || past.Tokens != 7 || past.Cost != 0.5 || fmt.Sprint(past.FailedCases) != "[bad]" {
		t.Errorf("the newest is %+v", past)
	}
	if other, _ := files.History("b.test.yaml", 5); other != nil {
		t.Errorf("a file without a case has %v", other)
	}
	many := &result.Run{}
	for range maxHistory {
		many.Suites = append(many.Suites, &result.Suite{File: "c.test.yaml", Cases: []*result.Case{{Outcome: result.Pass}}})
	}
	if err := files.KeepHistory(many, at); err != nil {
		t.Fatal(err)
	}
	if left, _ := files.History("a.test.yaml", 5); left != nil {
		t.Errorf("%d lines of before are kept", len(left))
	}
}
