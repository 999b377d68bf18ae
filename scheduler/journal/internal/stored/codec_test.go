package stored

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"

	"github.com/callnode/scheduler/llm/value"
)

// decoder reads the encoded payloads.
func (b Blobs) decoder(clear bool) *Decoder {
	return &Decoder{WithMedia: clear, Get: b.Get}
}

// Every stored value comes back, and storing it twice gives the same text.
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
		b := Blobs{}
		stored := b.Encode(v)
		if again := (Blobs{}).Encode(v); string(again) != string(stored) {
			t.Fatalf("%s is stored as %s and as %s", v, stored, again)
		}
		back, err := b.decoder(true).Decode(stored)
		if err != nil || back.JSON() != v.JSON() {
			t.Fatalf("%s is stored as %s and comes back as %s, %v", v, stored, back, err)
		}
		wrapped := value.OfMap(value.Pairs("data", value.Pairs("output", []value.Value{v})))
		if back, err := b.decoder(true).Decode(b.Encode(wrapped)); err != nil || back.JSON() != wrapped.JSON() {
			t.Fatalf("%s is not read as it was written: %v", wrapped, err)
		}
		if _, err := b.decoder(false).Decode(stored); err != nil {
			t.Fatalf("%s cannot be shown: %v", stored, err)
		}
	})
}

// Damaged text is an error, never a panic.
func FuzzDecode(f *testing.F) {
	b := Blobs{}
	for _, seed := range []string{
		`{"$blob":"00"}`, `{"$blob":1}`, `{"$media":["x"]}`, `{"$media":1}`, `{"$media":[1,2,3]}`, `{"$media":["",{"sha256":"x"},""]}`,
		string(b.Encode(value.Must([]string{strings.Repeat("x", 5000), "data:image/png;base64,AAAA"}))),
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, clear := range []bool{true, false} {
			_, _ = b.decoder(clear).Decode(data)
			_, _ = b.decoder(clear).DecodeEvent(data)
		}
	})
}

// The messages that step after step hands on are stored once, and a conversation
// that grows does not store its long messages again.
func TestSharedPayloads(t *testing.T) {
	long := strings.Repeat("a long message. ", 1000)
	b := Blobs{}
	var messages []value.Value
	for i := range 20 {
		messages = append(messages, value.OfMap(value.Pairs("role", "user", "content", fmt.Sprint(i, long))))
		stored := b.Encode(value.OfMap(value.Pairs("messages", value.OfList(messages...), "n", i)))
		if len(stored) > bigPayload {
			t.Errorf("%d messages are stored in %d bytes", i, len(stored))
		}
	}
	total := 0
	for _, one := range b {
		total += len(one.Data)
	}
	if once := 20 * len(long); total > once+once/10 {
		t.Errorf("%d bytes are stored, the messages have %d", total, once)
	}
}

func TestDecoderForgets(t *testing.T) {
	b := Blobs{}
	var stored [][]byte
	for i := range 5 {
		stored = append(stored, b.Encode(value.Must([]string{fmt.Sprint(i, strings.Repeat("x", maxSeen/3))})))
	}
	d := b.decoder(true)
	for range 2 {
		for _, text := range stored {
			if _, err := d.Decode(text); err != nil {
				t.Fatal(err)
			}
			if len(d.seen) > 3 || d.seenSize > maxSeen {
				t.Fatalf("%d payloads of %d bytes are kept", len(d.seen), d.seenSize)
			}
		}
	}
}
