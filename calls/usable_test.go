package calls_test

import (
	"context"
	"testing"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/plugins"
)

// few knows importance functions and nothing else.
type few struct{}

func (few) Importance(string) (plugins.Importance, bool) { return nil, false }
func (few) Resolver(string) (plugins.Resolver, bool)     { return nil, false }
func (few) ImportanceNames() []string                    { return nil }
func (few) VariableNames() []string                      { return nil }

func TestUnknownCall(t *testing.T) {
	def := calls.Define[repeat, repeat, repeated](calls.Info{Name: "say.repeat"})
	r, err := calls.NewRegistry(def)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"say.repeat":   "",
		"say.repat":    `there is no call "say.repat" (did you mean "say.repeat"?)`,
		"say.nothing":  `there is no call "say.nothing" (the plugin has say.repeat)`,
		"other.repeat": `there is no call "other.repeat" (the plugin "other" is not installed, or has no calls; ` + "`scheduler plugins list` shows what there is)",
		"elsewhere":    `there is no call "elsewhere" (` + "`scheduler calls` lists them)",
	} {
		got := ""
		if err := calls.UnknownCall(r, name); err != nil {
			got = err.Error() + " (" + calls.HintOf(err) + ")"
		}
		if got != want {
			t.Errorf("got %s\nwant %s", got, want)
		}
		if err := calls.UnknownCall(few{}, name); err != nil {
			t.Errorf("who knows no calls says %v", err)
		}
	}
	r.SetCheck(func(string) error { return context.Canceled })
	if err := calls.UnknownCall(r, "say.repeat"); err == nil || err.Error() != `the call "say.repeat" cannot be used: context canceled` {
		t.Errorf("got %v", err)
	}
	if err := (*calls.Registry)(nil).Unusable("x"); err != nil {
		t.Error(err)
	}
}
