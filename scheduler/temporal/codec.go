package temporal

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"

	"go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/converter"
	"google.golang.org/protobuf/proto"

	"github.com/callnode/scheduler/llm/value/wording"
)

// encodingEncrypted marks payloads that [codec] has encrypted.
const encodingEncrypted = "binary/aes-gcm"

// PayloadKeyBytes is the length of the key that payloads are encrypted with.
const PayloadKeyBytes = 32

// codec encrypts what passes through Temporal, with AES-GCM and a key that all machines have.
// It is safe for concurrent use.
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
			return nil, wording.Errorf("a payload cannot be decrypted: this machine has another key (setting temporal.payload_key_env)")
		}
		all[i] = &common.Payload{}
		if err := proto.Unmarshal(plain, all[i]); err != nil {
			return nil, err
		}
	}
	return all, nil
}
