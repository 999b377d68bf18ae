package sqlite

import (
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"syscall"
	"testing"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/value"
)

// decoder reads what was encoded.
func (b blobs) decoder(clear bool) *decoder {
	return &decoder{clear: clear, get: b.get}
}

// Whatever is stored comes back, and storing it twice gives the same text.
func FuzzEncode(f *testing.F) {
	image := "data:image/png;base64," + base64.StdEncoding.EncodeToString([]byte(strings.Repeat("image", 50)))
	for _, seed := range []string{
		`{}`, `[1.50,null,{"$blob":"x"}]`, `{"$media":["a",{}],"b":1}`, `{"$media":["data:"]}`, `{"$$$blob":{"$blob":1}}`,
		`"` + image + `"`, `{"a":["` + image + `","see ` + image + ` and ` + image + `"]}`,
		`"iVBORw0KGgo` + strings.Repeat("A", 100) + `"`, `["/9j/` + strings.Repeat("A/b+", 40) + `="]`, strings.Repeat(`{"$media":[`, 300) + strings.Repeat(`]}`, 300),
		strings.Repeat("[", 990) + strings.Repeat("]", 990),
		`"data:image/png;base64,AA=="`, `"data:image/png;base64,AAA"`, `"DATA:;BASE64,\u0000"`, `";base64,AAAA"`, `"data:x;base64,A\\/B"`,
		`{"$blob":"` + strings.Repeat("long ", 1000) + `"}`, `["` + strings.Repeat("x", 5000) + `",["` + strings.Repeat("y", 5000) + `"]]`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		v, err := value.ParseJSON(data)
		if err != nil {
			return
		}
		b := blobs{}
		stored := b.encode(v)
		if again := (blobs{}).encode(v); string(again) != string(stored) {
			t.Fatalf("%s is stored as %s and as %s", v, stored, again)
		}
		back, err := b.decoder(true).decode(stored)
		if err != nil || back.JSON() != v.JSON() {
			t.Fatalf("%s is stored as %s and comes back as %s, %v", v, stored, back, err)
		}
		wrapped := value.OfMap(value.Pairs("data", value.Pairs("output", []value.Value{v})))
		if back, err := b.decoder(true).decode(b.encode(wrapped)); err != nil || back.JSON() != wrapped.JSON() {
			t.Fatalf("%s is not read as it was written: %v", wrapped, err)
		}
		if _, err := b.decoder(false).decode(stored); err != nil {
			t.Fatalf("%s cannot be shown: %v", stored, err)
		}
	})
}

// Damaged text is an error, never a panic.
func FuzzDecode(f *testing.F) {
	b := blobs{}
	for _, seed := range []string{
		`{"$blob":"00"}`, `{"$blob":1}`, `{"$media":["x"]}`, `{"$media":1}`, `{"$media":[1,2,3]}`, `{"$media":["",{"sha256":"x"},""]}`,
		string(b.encode(value.Must([]string{strings.Repeat("x", 5000), "data:image/png;base64,AAAA"}))),
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, clear := range []bool{true, false} {
			_, _ = b.decoder(clear).decode(data)
			_, _ = b.decoder(clear).decodeEvent(data)
		}
	})
}

// The messages that step after step hands on are stored once, and a conversation
// that grows does not store its long messages again.
func TestSharedPayloads(t *testing.T) {
	long := strings.Repeat("a long message. ", 1000)
	b := blobs{}
	var messages []value.Value
	for i := range 20 {
		messages = append(messages, value.OfMap(value.Pairs("role", "user", "content", fmt.Sprint(i, long))))
		stored := b.encode(value.OfMap(value.Pairs("messages", value.OfList(messages...), "n", i)))
		if len(stored) > bigPayload {
			t.Errorf("%d messages are stored in %d bytes", i, len(stored))
		}
	}
	total := 0
	for _, one := range b {
		total += len(one.data)
	}
	if once := 20 * len(long); total > once+once/10 {
		t.Errorf("%d bytes are stored, the messages have %d", total, once)
	}
}

func TestDecoderForgets(t *testing.T) {
	b := blobs{}
	var stored [][]byte
	for i := range 5 {
		stored = append(stored, b.encode(value.Must([]string{fmt.Sprint(i, strings.Repeat("x", maxSeen/3))})))
	}
	d := b.decoder(true)
	for range 2 {
		for _, text := range stored {
			if _, err := d.decode(text); err != nil {
				t.Fatal(err)
			}
			if len(d.seen) > 3 || d.seenSize > maxSeen {
				t.Fatalf("%d payloads of %d bytes are kept", len(d.seen), d.seenSize)
			}
		}
	}
}

func TestExplain(t *testing.T) {
	plain := errors.New("what")
	for _, test := range []struct {
		err        error
		kind, hint string
	}{
		{&fs.PathError{Op: "mkdir", Path: "x", Err: syscall.EACCES}, "internal", "permissions"},
		{&fs.PathError{Op: "mkdir", Path: "x", Err: syscall.EROFS}, "internal", "permissions"},
		{&fs.PathError{Op: "mkdir", Path: "x", Err: syscall.ENOSPC}, "internal", "disk is full"},
		{errNoWAL("f", "delete"), "internal", "local disk"},
		{plain, "internal", ""},
	} {
		err := explain("runs.db", "opening", test.err)
		if !errors.Is(err, test.err) || string(calls.KindOf(err)) != test.kind || !strings.Contains(calls.HintOf(err), test.hint) {
			t.Errorf("%v is told as %v (%s)", test.err, err, calls.HintOf(err))
		}
	}
	if explain("f", "opening", nil) != nil {
		t.Error("no error became one")
	}
}
