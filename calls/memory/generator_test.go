package memory_test

import (
	"context"
	"iter"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/memory"
	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/scripted"
	"github.com/callnode/scheduler/llm/value"
)

// partsModel keeps the last request with its parts.
type partsModel struct {
	llm.Provider
	request *llm.Request
	parts   []calls.Part
}

func (m *partsModel) Chat(ctx context.Context, req *llm.Request) iter.Seq2[llm.Delta, error] {
	asked := *req
	m.request, m.parts = &asked, calls.PartsOf(ctx)
	return m.Provider.Chat(ctx, req)
}

// The prompt for a snapshot credits each of its lines to its memory, even if two memories have the same text.
func TestSnapshotPromptParts(t *testing.T) {
	model := &partsModel{Provider: scripted.Texts("no JSON", `{"key_points": ["Tea."], "category": "taste", "importance": 0.5}`)}
	g := memory.SnapshotGenerator{LLM: model}
	at := time.Date(2026, 3, 5, 9, 0, 0, 0, time.UTC)
	memories := []memory.BaseMemory{{ID: "memory_1", Content: "I like tea.", Timestamp: at}, {ID: "memory_2", Content: "I like tea.", Timestamp: at}}
	if _, err := g.GenerateDetailSnapshot(t.Context(), memories, "snapshot_1"); err != nil {
		t.Fatal(err)
	}
	var texts []string
	for _, m := range model.request.Messages {
		v, err := value.ParseJSON(m)
		if err != nil {
			t.Fatal(err)
		}
		content, _ := v.Get("content")
		text, _ := content.Str()
		texts = append(texts, text)
	}
	var got []string
	for _, p := range model.parts {
		for _, o := range p.Origins {
			text := texts[*p.Message][p.Start:p.End][o.Start:o.End]
			switch {
			case o.Kind == calls.OriginAnswer:
				got = append(got, "the model: "+text)
			case o.Kind == calls.OriginMemory && o.Computed:
				got = append(got, "computed from "+o.Name+": "+text)
			case o.Kind == calls.OriginMemory:
				got = append(got, o.Name+": "+text)
			}
		}
	}
	want := []string{
		"computed from memory_1: 2026-03-05 09:00: ", "memory_1: I like tea.",
		"computed from memory_2: 2026-03-05 09:00: ", "memory_2: I like tea.", "the model: no JSON",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
