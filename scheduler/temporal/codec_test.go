package temporal

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"strings"
	"testing"

	"go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"
	"google.golang.org/protobuf/proto"

	"github.com/callnode/scheduler/calls"
)

// Encrypted data is decrypted with the same key, and with no other; data from before the key stays readable.
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

// TestInputOfAnotherKey: a workflow begins here and is left to other workers even if this machine cannot decrypt
// its input; the SDK would fail it. The errors of other values stay errors.
func TestInputOfAnotherKey(t *testing.T) {
	converters := make([]converter.DataConverter, 2)
	for i := range converters {
		c, err := newCodec(bytes.Repeat([]byte{byte(i)}, PayloadKeyBytes))
		if err != nil {
			t.Fatal(err)
		}
		converters[i] = inputConverter{converter.NewCodecDataConverter(converter.GetDefaultDataConverter(), c)}
	}
	payloads, err := converters[0].ToPayloads(input())
	if err != nil {
		t.Fatal(err)
	}
	var in Input
	if err := converters[0].FromPayloads(payloads, &in); err != nil || in != input() {
		t.Errorf("with the same key: %+v, %v", in, err)
	}
	if err := converters[1].FromPayloads(payloads, &in); err != nil || !errors.Is(in.unreadable, errOtherKey) {
		t.Errorf("with another key: %+v, %v", in, err)
	}
	if err := converters[1].FromPayloads(payloads, &stretchInput{}); !errors.Is(err, errOtherKey) {
		t.Errorf("another value with another key: %v", err)
	}
	th := newTheater(t, func(context.Context, int, stretchInput) (Outcome, error) { return Outcome{State: Finished}, nil })
	in.unreadable = errOtherKey
	th.RegisterWorkflowWithOptions(func(ctx workflow.Context) (Outcome, error) { return runWorkflow(ctx, in) }, workflow.RegisterOptions{Name: "unreadable"})
	th.ExecuteWorkflow("unreadable")
	var panicked *temporal.PanicError
	if err := th.GetWorkflowError(); !errors.As(err, &panicked) || len(th.stretches) > 0 {
		t.Errorf("the workflow ends with %v after %d stretches", err, len(th.stretches))
	}
}

// TestMarkOf: the identity of a worker distinguishes keys, and contains no part of a key.
func TestMarkOf(t *testing.T) {
	key := bytes.Repeat([]byte{7}, PayloadKeyBytes)
	other := bytes.Repeat([]byte{8}, PayloadKeyBytes)
	if mark := markOf(bytes.Clone(key)); mark != markOf(key) || markOf(key) == markOf(other) || markOf(nil) == markOf(key) {
		t.Errorf("the marks are %s, %s and %s", markOf(key), markOf(other), markOf(nil))
	}
	if strings.Contains(identityOf(key), hex.EncodeToString(key[:4])) || !strings.HasSuffix(identityOf(key), markSeparator+markOf(key)) {
		t.Errorf("the identity is %s", identityOf(key))
	}
	var unreadable *temporal.ApplicationError
	if !errors.As(temporal.NewApplicationError(unreadableFailure, ""), &unreadable) {
		t.Fatal("the SDK makes another error")
	}
	for _, err := range []error{workflowError(unreadable), flowError(unreadable)} {
		if calls.KindOf(err) != calls.Invalid || !strings.Contains(calls.HintOf(err), "temporal.payload_key_env") {
			t.Errorf("an end that cannot be decrypted: %v", err)
		}
	}
}
