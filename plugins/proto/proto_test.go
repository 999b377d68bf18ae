package proto_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	pb "google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"github.com/callnode/scheduler/plugins"
	"github.com/callnode/scheduler/plugins/proto"
)

// wire returns a message as it arrives.
func wire[M pb.Message](t *rapid.T, m, into M) M {
	b, err := pb.Marshal(m)
	if err == nil {
		err = pb.Unmarshal(b, into)
	}
	if err != nil {
		t.Fatal(err)
	}
	return into
}

func drawTime(t *rapid.T) time.Time {
	if rapid.Bool().Draw(t, "no time") {
		return time.Time{}
	}
	zone := time.FixedZone("", rapid.IntRange(-12, 14).Draw(t, "zone")*3600)
	return time.Unix(rapid.Int64Range(0, 4e9).Draw(t, "seconds"), rapid.Int64Range(0, 999_999_999).Draw(t, "nanoseconds")).In(zone)
}

func TestStateArrives(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.String()
		s := plugins.State{
			Input: text.Draw(t, "input"), User: text.Draw(t, "user"), Session: text.Draw(t, "session"),
			Language: text.Draw(t, "language"), Now: drawTime(t),
		}
		for range rapid.IntRange(0, 3).Draw(t, "turns") {
			s.History = append(s.History, plugins.Turn{Role: text.Draw(t, "role"), Content: text.Draw(t, "content"), Timestamp: drawTime(t)})
		}
		for range rapid.IntRange(0, 3).Draw(t, "vars") {
			if s.Vars == nil {
				s.Vars = map[string]json.RawMessage{}
			}
			s.Vars[text.Draw(t, "name")] = json.RawMessage("1")
		}
		got := proto.ToState(wire(t, proto.FromState(s), &proto.State{}))
		if diff := cmp.Diff(s, got); diff != "" {
			t.Fatal(diff)
		}
	})
}

func TestItemsAndVerdictsArrive(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 5).Draw(t, "items")
		items, verdicts := make([]plugins.Item, n), make([]plugins.Verdict, n)
		for i := range n {
			items[i] = plugins.Item{Name: rapid.String().Draw(t, "name"), Text: rapid.String().Draw(t, "text")}
			verdicts[i] = plugins.Verdict{Include: rapid.Bool().Draw(t, "include"), Reason: rapid.String().Draw(t, "reason")}
			if rapid.Bool().Draw(t, "scored") {
				score := rapid.Float64Range(0, 1).Draw(t, "score")
				verdicts[i].Score = &score
			}
		}
		judge := wire(t, &proto.Judge{Items: proto.FromItems(items)}, &proto.Judge{})
		judged := wire(t, &proto.Judged{Verdicts: proto.FromVerdicts(verdicts)}, &proto.Judged{})
		if diff := cmp.Diff(items, proto.ToItems(judge.GetItems())) + cmp.Diff(verdicts, proto.ToVerdicts(judged.GetVerdicts())); diff != "" {
			t.Fatal(diff)
		}
	})
}

// Bytes that are not UTF-8 do not end the connection.
func TestTextIsMended(t *testing.T) {
	bad := "a\xffb"
	want := "a\uFFFDb"
	s := proto.FromState(plugins.State{Input: bad, History: []plugins.Turn{{Content: bad}}})
	item := proto.FromItems([]plugins.Item{{Text: bad}})[0]
	verdict := proto.FromVerdicts([]plugins.Verdict{{Reason: bad}})[0]
	found := proto.FromRecalled([]plugins.Recalled{{Text: bad, Score: 1}})
	if s.GetInput() != want || s.GetHistory()[0].GetContent() != want || item.GetText() != want || verdict.GetReason() != want {
		t.Errorf("got %v, %v, %v", s, item, verdict)
	}
	if got := proto.ToRecalled(found); got[0].Text != want || got[0].Score != 1 {
		t.Errorf("got %v", got)
	}
	if got := proto.ToState(&proto.State{Now: "yesterday"}); !got.Now.IsZero() {
		t.Errorf("got %v", got.Now)
	}
}
