package calls_test

import (
	"context"
	"testing"

	"github.com/callnode/scheduler/calls"
)

func TestCheckCall(t *testing.T) {
	def := calls.Define[repeat, repeat, repeated](calls.Info{Name: "say.repeat"})
	r, err := calls.NewRegistry(def)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"say.repeat":   "",
		"say.repat":    `there is no call "say.repat" (did you mean "say.repeat"?)`,
		"say.nothing":  `there is no call "say.nothing" (the plugin has say.repeat)`,
		"other.repeat": `there is no call "other.repeat" (the plugin "other" is not installed, or has no calls; ` + "`scheduler plugins list` shows the installed ones)",
		"elsewhere":    `there is no call "elsewhere" (there are say.repeat; ` + "`scheduler calls` describes them)",
	} {
		got := ""
		if err := r.CheckCall(name); err != nil {
			got = err.Error() + " (" + calls.HintOf(err) + ")"
		}
		if got != want {
			t.Errorf("got %s\nwant %s", got, want)
		}
	}
	r.AddCheck(func(string) error { return context.Canceled })
	if err := r.CheckCall("say.repeat"); err == nil || err.Error() != `the call "say.repeat" cannot be used: context canceled` {
		t.Errorf("got %v", err)
	}
	if err := (*calls.Registry)(nil).CheckPlugin("x"); err != nil {
		t.Error(err)
	}
}
