package temporal

import (
	"bytes"
	"testing"

	"go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/converter"
	"google.golang.org/protobuf/proto"
)

// What is encrypted comes back with the same key, and with no other; what came before the key
// stays readable.
func TestCodec(t *testing.T) {
	c, err := newCodec(bytes.Repeat([]byte{7}, PayloadKeyBytes))
	if err != nil {
		t.Fatal(err)
	}
	payloads, err := converter.GetDefaultDataConverter().ToPayloads(answerRequest{Answers: []answer{{Value: `"s3cret"`}}}, "second")
	if err != nil {
		t.Fatal(err)
	}
	given := payloads.GetPayloads()
	encrypted, err := c.Encode(given)
	if err != nil {
		t.Fatal(err)
	}
	for i, p := range encrypted {
		if bytes.Contains(p.GetData(), []byte("s3cret")) || bytes.Contains(p.GetData(), []byte("second")) {
			t.Errorf("payload %d can be read", i)
		}
	}
	again, err := c.Encode(given)
	if err != nil || bytes.Equal(again[0].GetData(), encrypted[0].GetData()) {
		t.Errorf("the same payload is encrypted in the same way twice, %v", err)
	}
	back, err := c.Decode(append(encrypted, given[0]))
	if err != nil || len(back) != 3 {
		t.Fatal(len(back), err)
	}
	for i, want := range []*common.Payload{given[0], given[1], given[0]} {
		if !proto.Equal(want, back[i]) {
			t.Errorf("payload %d came back as %v", i, back[i])
		}
	}
	other, err := newCodec(bytes.Repeat([]byte{8}, PayloadKeyBytes))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := other.Decode(encrypted); err == nil {
		t.Error("another key decrypts it")
	}
	encrypted[0].Data = encrypted[0].GetData()[:5]
	if _, err := c.Decode(encrypted); err == nil {
		t.Error("a payload that was cut is taken")
	}
	if _, err := newCodec([]byte("short")); err == nil {
		t.Error("a short key is taken")
	}
}
