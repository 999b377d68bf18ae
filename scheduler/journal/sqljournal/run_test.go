package sqljournal_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/callnode/scheduler/calls"
	callcontext "github.com/callnode/scheduler/calls/context"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/scheduler"
	"github.com/callnode/scheduler/scheduler/journal/sqljournal"
	"github.com/callnode/scheduler/scheduler/schedulertest"
)

// noise returns a PNG that does not compress.
func noise(t *testing.T, side int) []byte {
	t.Helper()
	m := image.NewNRGBA(image.Rect(0, 0, side, side))
	seed := uint32(1)
	for i := range side * side {
		seed = seed*1664525 + 1013904223
		m.Set(i%side, i/side, color.NRGBA{byte(seed >> 24), byte(seed >> 16), byte(seed >> 8), 255})
	}
	var b bytes.Buffer
	if err := png.Encode(&b, m); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// A run with images from a file, from its inputs and from a tool leaves none of them readable, and continues with
// all of them after a failure.
func TestRunWithImages(t *testing.T) {
	state, desk := t.TempDir(), t.TempDir()
	file, given, tool := noise(t, 60), noise(t, 61), noise(t, 62)
	if err := os.WriteFile(filepath.Join(desk, "photo.png"), file, 0o600); err != nil {
		t.Fatal(err)
	}
	j := open(t, state, sqljournal.FileOptions{})
	defer j.Close()
	again := false
	var got value.Value
	last := schedulertest.Do("last", func(_ context.Context, _ *calls.Env, params value.Value) (any, error) {
		if !again {
			again = true
			return nil, errors.New("the first time fails")
		}
		got = params
		return params, nil
	})
	camera := schedulertest.Do("camera", func(context.Context, *calls.Env, value.Value) (any, error) {
		return value.Pairs("type", "base64", "data", base64.StdEncoding.EncodeToString(tool)), nil
	})
	flow := fmt.Sprintf(`
inputs: {type: object, properties: {photo: {type: string}}}
steps:
  - {id: prompt, call: context, with: {workspace: %q, identity: me, current_message: What, media: [photo.png]}}
  - {id: shot, call: camera}
  - {id: end, call: last, with: {messages: "{{ prompt.messages }}", shot: "{{ shot.data }}", photo: "{{ inputs.photo }}"}}
`, desk)
	url := func(data []byte) string {
		return "data:image/png;base64," + base64.StdEncoding.EncodeToString(data)
	}
	r := schedulertest.Run(t, flow, schedulertest.With(callcontext.Definition(), camera, last),
		schedulertest.Inputs(`{"photo":"`+url(given)+`"}`),
		schedulertest.Executor(func(e *scheduler.StepExecutor) { e.Journal = j }))
	if r.Err == nil {
		t.Fatal("the first time did not fail")
	}
	if err := os.Remove(filepath.Join(desk, "photo.png")); err != nil { // it is not read again
		t.Fatal(err)
	}
	r = r.Resume(scheduler.Resumption{})
	if r.Err != nil {
		t.Fatal(r.Err)
	}
	for _, want := range []string{url(file), url(given), base64.StdEncoding.EncodeToString(tool)} {
		if !strings.Contains(got.JSON(), want) {
			t.Errorf("an image did not come back: %.300s", got)
		}
	}
	for _, image := range [][]byte{file, given, tool} {
		mustNotHold(t, state, image)
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	for _, image := range [][]byte{file, given, tool} {
		mustNotHold(t, state, image)
	}
}
