package sqljournal_test

import (
	"bytes"
	"encoding/base64"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/scheduler/journal"
	"github.com/callnode/scheduler/scheduler/journal/sqljournal"
)

// photo returns the bytes of an image.
func photo(n int) []byte {
	image := []byte("\x89PNG\r\n\x1a\n")
	for i := range n {
		image = append(image, byte(i*i>>3+i))
	}
	return image
}

// withImage records a run of one step, whose output has an image, and closes the
// journal.
func withImage(t *testing.T, dir, id string, image []byte) value.Value {
	t.Helper()
	j := open(t, dir, sqljournal.FileOptions{})
	url := "data:image/png;base64," + base64.StdEncoding.EncodeToString(image)
	log, err := j.Begin(t.Context(), &journal.RunHeader{
		ID: id, StartedAt: time.Now(), Inputs: value.OfMap(value.Pairs("photo", url)),
		Text: journal.FlowText{Source: []byte("# " + url)},
	})
	if err != nil {
		t.Fatal(err)
	}
	output := value.OfMap(value.Pairs("messages", []any{value.Pairs("content", []any{value.Pairs("image_url", value.Pairs("url", url))})}))
	ev := &journal.Event{Seq: 1, Time: time.Now(), Run: id, Type: journal.StepFinished, Step: "one", Data: &journal.Data{Output: &output}}
	if err := log.Append(t.Context(), ev); err != nil {
		t.Fatal(err)
	}
	mustNotHold(t, dir, image) // the log of SQLite
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	mustNotHold(t, dir, image)
	return output
}

// mustNotHold looks into all files of the directory for pieces of an image, as bytes
// and as base64 text, wherever it may begin.
func mustNotHold(t *testing.T, dir string, image []byte) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for at := 0; at+48 <= len(image); at += 16 {
			piece := image[at : at+48]
			if bytes.Contains(content, piece) {
				t.Fatalf("%s holds bytes %d to %d of the image", file, at, at+48)
			}
			for shift := range 3 {
				text := base64.StdEncoding.EncodeToString(piece[shift:])
				if bytes.Contains(content, []byte(text[:56])) {
					t.Fatalf("%s holds bytes %d to %d of the image as text", file, at, at+48)
				}
			}
		}
	}
}

// read returns the output of the run as a resumed run gets it.
func read(t *testing.T, dir, id string) (value.Value, error) {
	t.Helper()
	j := open(t, dir, sqljournal.FileOptions{})
	defer j.Close()
	log, err := j.Reopen(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	for ev, err := range log.Events(t.Context(), 1) {
		if err != nil {
			return value.Value{}, err
		}
		if _, err := log.Header(t.Context()); err != nil {
			return value.Value{}, err
		}
		return *ev.Data.Output, nil
	}
	t.Fatal("there are no events")
	return value.Value{}, nil
}

func TestImagesAreEncrypted(t *testing.T) {
	dir := t.TempDir()
	image := photo(20_000)
	key := filepath.Join(dir, sqljournal.KeyName)
	begin(t, open(t, dir, sqljournal.FileOptions{}), "no image")
	if _, err := os.Stat(key); err == nil {
		t.Error("there is a key without an image")
	}
	output := withImage(t, dir, "r1", image)
	withImage(t, dir, "r2", image)
	for _, id := range []string{"r1", "r2"} {
		got, err := read(t, dir, id)
		if err != nil || !value.Equal(got, output) {
			t.Errorf("%s comes back as %.200s, %v", id, got, err)
		}
	}
	info, err := os.Stat(key)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the key: %v, %v", info.Mode(), err)
	}
	mine, err := os.ReadFile(key)
	if err != nil {
		t.Fatal(err)
	}

	for _, tt := range []struct {
		name, key, want string
		kind            calls.Kind
	}{
		{"gone", "", "is missing", calls.NotFound},
		{"another", strings.Repeat("ab", 32), "is not the key that it was stored with", calls.Invalid},
		{"none", "hello", "does not hold a key", calls.Invalid},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if err := os.Remove(key); err != nil {
				t.Fatal(err)
			}
			if tt.key != "" {
				if err := os.WriteFile(key, []byte(tt.key), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			_, err := read(t, dir, "r1")
			if err == nil || calls.KindOf(err) != tt.kind || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), key) || calls.HintOf(err) == "" {
				t.Errorf("%v (%s)", err, calls.HintOf(err))
			}
			// The recorded events can still be viewed.
			j := open(t, dir, sqljournal.FileOptions{})
			defer j.Close()
			for ev, err := range j.Events(t.Context(), "r1", 1) {
				if err != nil || !strings.Contains(ev.Data.Output.JSON(), "data:image/png;sha256=") {
					t.Errorf("%v, %v", ev, err)
				}
			}
			if err := os.WriteFile(key, mine, 0o600); err != nil {
				t.Fatal(err)
			}
		})
	}
	if _, err := read(t, dir, "r1"); err != nil {
		t.Errorf("with its key again: %v", err)
	}
}

// TestKeyIsNotReplaced stores an image in a journal whose key is gone: only a person who says so gets a new key.
func TestKeyIsNotReplaced(t *testing.T) {
	dir := t.TempDir()
	image := photo(5000)
	withImage(t, dir, "r1", image)
	key := filepath.Join(dir, sqljournal.KeyName)
	mine, err := os.ReadFile(key)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(key); err != nil {
		t.Fatal(err)
	}
	add := func(id string) error {
		j := open(t, dir, sqljournal.FileOptions{})
		defer j.Close()
		log, err := j.Begin(t.Context(), &journal.RunHeader{
			ID: id, StartedAt: time.Now(), Inputs: value.OfString("data:image/png;base64," + base64.StdEncoding.EncodeToString(photo(6000))),
		})
		if err != nil {
			return err
		}
		return log.Close()
	}
	err = add("r2")
	if err == nil || calls.KindOf(err) != calls.Invalid || !strings.Contains(err.Error(), key) || !strings.Contains(calls.HintOf(err), "the word new") {
		t.Errorf("%v (%s)", err, calls.HintOf(err))
	}
	if _, err := os.Stat(key); err == nil {
		t.Error("a key was made")
	}
	begin(t, open(t, dir, sqljournal.FileOptions{}), "without an image")
	if err := os.WriteFile(key, mine, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := add("r3"); err != nil {
		t.Errorf("with the key again: %v", err)
	}
	if err := os.WriteFile(key, []byte("new\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := read(t, dir, "r1"); calls.KindOf(err) != calls.NotFound {
		t.Errorf("before there is a new key: %v", err)
	}
	if err := add("r4"); err != nil {
		t.Errorf("with a new key: %v", err)
	}
	if _, err := read(t, dir, "r1"); calls.KindOf(err) != calls.Invalid {
		t.Errorf("with another key: %v", err)
	}
	made, err := os.ReadFile(key)
	if err != nil || len(bytes.TrimSpace(made)) != 64 || bytes.Equal(made, mine) {
		t.Errorf("the new key is %q, %v", made, err)
	}
}

// A key that cannot be made costs the image, and says so.
func TestNoPlaceForTheKey(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, sqljournal.KeyName), 0o700); err != nil {
		t.Fatal(err)
	}
	j := open(t, dir, sqljournal.FileOptions{})
	_, err := j.Begin(t.Context(), &journal.RunHeader{
		ID: "r", StartedAt: time.Now(), Inputs: value.OfString("data:image/png;base64," + base64.StdEncoding.EncodeToString(photo(100))),
	})
	if err == nil || !strings.Contains(err.Error(), "the key of the images") {
		t.Error(err)
	}
}
