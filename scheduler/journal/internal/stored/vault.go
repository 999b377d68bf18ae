package stored

import (
	"crypto/aes"
	"crypto/cipher"
	"errors"
	"io/fs"
	"sync"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/value/wording"
)

// KeySize is the size of an image key in bytes: as for AES-256.
const KeySize = 32

// Vault encrypts the bytes of images with AES-256 in Galois/Counter Mode, under
// random nonces. A backend makes one when it opens; it is safe for concurrent use.
type Vault struct {
	// Source names the origin of the key in error messages: a file, a setting.
	Source wording.Text
	// Key returns the key, of KeySize bytes, and makes one if create is set and there
	// is none. Without one the error is [fs.ErrNotExist].
	Key func(create bool) ([]byte, error)

	mu   sync.Mutex
	aead cipher.AEAD // guarded by mu; nil until it is needed
}

// Seal encrypts. Its callers write to the database, so that no two of them make the key at the same time, even in
// different processes.
func (v *Vault) Seal(data []byte) ([]byte, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if err := v.loadLocked(true); err != nil {
		return nil, err
	}
	return v.aead.Seal(nil, nil, data, nil), nil
}

// Open decrypts the stored payload of that digest.
func (v *Vault) Open(d Digest, sealed []byte) ([]byte, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	err := v.loadLocked(false)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, calls.Errorf(calls.NotFound, "the image %s cannot be read: its key, %s, is missing", d, v.Source).
			WithHint("put the key back; without it the run cannot go on, start a new one")
	}
	if err != nil {
		return nil, err
	}
	data, err := v.aead.Open(nil, nil, sealed, nil)
	if err != nil {
		return nil, calls.Errorf(calls.Invalid, "the image %s cannot be read: %s is not the key that it was stored with, or the journal is damaged", d, v.Source).
			WithHint("put the key back that belongs to this journal; without it the run cannot go on, start a new one")
	}
	return data, nil
}

// LoadKey gets the key, if there is one: else the error is [fs.ErrNotExist].
func (v *Vault) LoadKey() error {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.loadLocked(false)
}

// loadLocked gets the key, once.
func (v *Vault) loadLocked(create bool) error {
	if v.aead != nil {
		return nil
	}
	key, err := v.Key(create)
	if err != nil {
		return err
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return wording.Errorf("using the key of the images: %w", err)
	}
	v.aead, err = cipher.NewGCMWithRandomNonce(block)
	return err
}
