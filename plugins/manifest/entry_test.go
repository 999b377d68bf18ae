package manifest

import (
	"testing"

	"github.com/callnode/scheduler/plugins/proto"
)

// The differences between two descriptions are listed for people.
func TestChanges(t *testing.T) {
	entry := func(version string, functions ...*proto.Function) *Entry {
		e, err := NewEntry(&Manifest{Name: "x", Version: version}, "", &proto.Description{Name: "x", Version: version, Functions: functions})
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	function := func(name, doc string) *proto.Function {
		return &proto.Function{Name: name, Kind: proto.Kind_IMPORTANCE, DocEn: doc}
	}
	old := entry("1", function("a", "A"), function("b", "B"), function("c", "C"))
	if got := old.Changes(old).En; got != "" {
		t.Errorf("with itself: %s", got)
	}
	now := entry("2", function("b", "B2"), function("c", "C"), function("d", "D"))
	now.Session = true
	if got, want := old.Changes(now).En, `its version is 2, not 1, whether it serves Session changed, "b" changed, "d" is new, "a" is gone`; got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
}
