package store_test

import (
	"testing"
	"time"

	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/scheduler/fleet"
)

// A worker is listed by every process of the store; without beats it is lost, and then forgotten.
func TestWorkers(t *testing.T) { onEach(t, testWorkers) }

func testWorkers(t *bench) {
	began := t.now
	here, there := t.open(), t.open()
	put := func(w fleet.Worker) {
		t.Helper()
		if err := here.PutWorker(t.Context(), &w); err != nil {
			t.Fatal(err)
		}
	}
	list := func() []*fleet.Worker {
		t.Helper()
		all, err := there.Workers(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return all
	}
	a := fleet.Worker{
		ID: "a", Kind: fleet.RunWorker, Version: "v1", Host: "host\x00", PID: 7, On: "temporal://t:7233", State: fleet.Working,
		Queues: []fleet.Queue{{Name: "gpu", Slots: 4, Used: 1, Children: 2}}, Since: began,
		Left: []fleet.Left{{Run: "r", Reason: wording.Text{En: "no", Zh: "不"}, At: began}},
	}
	put(a)
	put(fleet.Worker{ID: "b", Kind: fleet.Server, Host: "host\ufffd", State: fleet.Stopping, Since: began.Add(-time.Hour)})
	all := list()
	if len(all) != 2 || all[0].ID != "b" || all[0].State != fleet.Stopping {
		t.Fatalf("got %+v", all)
	}
	got := all[1]
	if got.Host != "host\ufffd" || got.PID != 7 || got.State != fleet.Working || !got.LastBeat.Equal(began) || !got.Since.Equal(began) || got.On != a.On ||
		len(got.Queues) != 1 || got.Queues[0] != a.Queues[0] || len(got.Left) != 1 || got.Left[0].Run != "r" || got.Left[0].Reason.Zh != "不" {
		t.Errorf("got %+v", got)
	}
	t.now = began.Add(fleet.LostAfter + time.Second)
	a.Queues = []fleet.Queue{{Name: "gpu", Slots: 4}}
	put(a)
	all = list()
	if all[0].State != fleet.Lost || all[1].State != fleet.Working || all[1].Queues[0].Used != 0 {
		t.Errorf("after missed beats: %+v, %+v", all[0], all[1])
	}
	t.now = began.Add(fleet.ForgetAfter + time.Second)
	put(a)
	if all = list(); len(all) != 1 || all[0].ID != "a" {
		t.Errorf("a day later: %+v", all)
	}
	for range 2 {
		if err := there.RemoveWorker(t.Context(), "a"); err != nil {
			t.Error(err)
		}
	}
	if all = list(); len(all) != 0 {
		t.Errorf("removed: %+v", all)
	}
}
