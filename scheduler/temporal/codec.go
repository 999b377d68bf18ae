package temporal

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"strconv"
	"strings"
	"time"

	"go.temporal.io/api/common/v1"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/converter"
	"google.golang.org/protobuf/proto"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/value/wording"
)

// encodingEncrypted marks payloads that [codec] has encrypted.
const encodingEncrypted = "binary/aes-gcm"

// errOtherKey is the error of a payload that was encrypted with another key.
var errOtherKey = wording.Errorf("a payload cannot be decrypted: this machine has another key (setting temporal.payload_key_env)")

// unreadableFailure is the message of a failure that the SDK cannot decrypt.
const unreadableFailure = "Encoded failure"

// PayloadKeyBytes is the length of the key that payloads are encrypted with.
const PayloadKeyBytes = 32

// codec encrypts data sent through Temporal, with AES-GCM and a key that all machines have. It is safe for
// concurrent use.
type codec struct{ gcm cipher.AEAD }

var _ converter.PayloadCodec = codec{}

func newCodec(key []byte) (codec, error) {
	block, err := aes.NewCipher(key)
	if err != nil {
		return codec{}, err
	}
	gcm, err := cipher.NewGCM(block)
	return codec{gcm}, err
}

// Encode encrypts payloads, each with a nonce of its own.
func (c codec) Encode(payloads []*common.Payload) ([]*common.Payload, error) {
	all := make([]*common.Payload, len(payloads))
	for i, p := range payloads {
		plain, err := proto.Marshal(p)
		if err != nil {
			return nil, err
		}
		nonce := make([]byte, c.gcm.NonceSize())
		_, _ = rand.Read(nonce) // it never fails
		all[i] = &common.Payload{
			Metadata: map[string][]byte{converter.MetadataEncoding: []byte(encodingEncrypted)},
			Data:     c.gcm.Seal(nonce, nonce, plain, []byte(encodingEncrypted)),
		}
	}
	return all, nil
}

// Decode decrypts payloads. Those that were not encrypted stay: they are older than the key.
func (c codec) Decode(payloads []*common.Payload) ([]*common.Payload, error) {
	all := make([]*common.Payload, len(payloads))
	for i, p := range payloads {
		if string(p.GetMetadata()[converter.MetadataEncoding]) != encodingEncrypted {
			all[i] = p
			continue
		}
		if len(p.GetData()) < c.gcm.NonceSize() {
			return nil, wording.Errorf("an encrypted payload is too short")
		}
		nonce, text := p.GetData()[:c.gcm.NonceSize()], p.GetData()[c.gcm.NonceSize():]
		plain, err := c.gcm.Open(nil, nonce, text, []byte(encodingEncrypted))
		if err != nil {
			return nil, errOtherKey
		}
		all[i] = &common.Payload{}
		if err := proto.Unmarshal(plain, all[i]); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// inputConverter lets a workflow begin although its input cannot be read, because this machine has another key: it
// leaves the workflow to other workers, while the SDK would fail it.
type inputConverter struct{ converter.DataConverter }

// FromPayload reads a payload.
func (c inputConverter) FromPayload(p *common.Payload, target any) error {
	err := c.DataConverter.FromPayload(p, target)
	in, isInput := target.(*Input)
	if err == nil || !isInput {
		return err
	}
	*in = Input{unreadable: err}
	return nil
}

// FromPayloads reads payloads.
func (c inputConverter) FromPayloads(all *common.Payloads, targets ...any) error {
	if len(targets) == 1 && len(all.GetPayloads()) == 1 {
		return c.FromPayload(all.GetPayloads()[0], targets[0])
	}
	return c.DataConverter.FromPayloads(all, targets...)
}

const (
	// markSeparator precedes the mark of the key in the identity of a worker, as Temporal's pages show it.
	markSeparator = "@key-"
	// plainMark is the mark of a machine without a key.
	plainMark = "none"
	// pollInterval is after how long without a request a worker is gone: each one waits for a minute.
	pollInterval = 75 * time.Second
)

// identityOf returns the identity of this process: with a mark by which machines find out whether they have the same key.
func identityOf(key []byte) string {
	host, _ := os.Hostname() // without one the number of the process is enough
	return strconv.Itoa(os.Getpid()) + "@" + host + markSeparator + markOf(key)
}

// markOf returns a mark of a key, from which the key cannot be found out.
func markOf(key []byte) string {
	if key == nil {
		return plainMark
	}
	sum := hmac.New(sha256.New, key)
	sum.Write([]byte("scheduler: the mark of a key of payloads"))
	return hex.EncodeToString(sum.Sum(nil)[:8])
}

// CheckKey returns an error if all workers of a queue have another key of payloads than this machine. It is nil if that is not known.
func (c *Client) CheckKey(ctx context.Context, queue string) error {
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	found, err := c.sdk.DescribeTaskQueue(ctx, queue, enums.TASK_QUEUE_TYPE_WORKFLOW)
	if err != nil {
		return nil // the request that follows finds the error
	}
	isOther := false
	for _, poller := range found.GetPollers() {
		_, mark, isMarked := strings.Cut(poller.GetIdentity(), markSeparator)
		if !isMarked || time.Since(poller.GetLastAccessTime().AsTime()) > pollInterval {
			continue
		}
		if mark == markOf(c.options.PayloadKey) {
			return nil
		}
		isOther = true
	}
	if !isOther {
		return nil
	}
	return calls.Errorf(calls.Invalid, "the workers of the queue %s have another key of payloads than this machine", queue).
		WithHint("give all machines the same key, or none (setting temporal.payload_key_env)")
}
