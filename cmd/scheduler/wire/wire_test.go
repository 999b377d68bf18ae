package wire

import (
	"io"
	"testing"

	"github.com/callnode/scheduler/cmd/scheduler/config"
)

// TestViewLoaderIsMadeOnce: the loader for viewing is needed with every request for a run, and making the schemas
// of all calls takes longer than the rest of such a request.
func TestViewLoaderIsMadeOnce(t *testing.T) {
	t.Chdir(t.TempDir())
	settings, err := config.Load(config.Place{}, ProviderTypes())
	if err != nil {
		t.Fatal(err)
	}
	rt := New(settings, "test", io.Discard)
	t.Cleanup(func() {
		if err := rt.Close(); err != nil {
			t.Error(err)
		}
	})
	one, err := rt.newViewLoader()
	if err != nil {
		t.Fatal(err)
	}
	other, err := rt.newViewLoader()
	if err != nil {
		t.Fatal(err)
	}
	if one.Registry != other.Registry {
		t.Error("the registry was made twice")
	}
}
