package sqlite

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/callnode/scheduler/calls"
)

// KeyName is the name of the file with the key of the images, in the directory of
// the database. It is made with the first image.
const KeyName = "runs.key"

// keySize is that of AES-256, in bytes.
const keySize = 32

// vault encrypts with AES-256 in Galois/Counter Mode, under random nonces.
type vault struct {
	file string

	mu   sync.Mutex
	aead cipher.AEAD // nil until it is needed
}

// seal encrypts. Its callers write to the database, so that no two of them make
// the key at the same time, whatever process they are in.
func (v *vault) seal(data []byte) ([]byte, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if err := v.load(); err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		if err := v.create(); err != nil {
			return nil, fmt.Errorf("making the key of the images: %w", err)
		}
	}
	return v.aead.Seal(nil, nil, data, nil), nil
}

// open decrypts what was stored as a payload of that digest.
func (v *vault) open(d digest, sealed []byte) ([]byte, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if err := v.load(); errors.Is(err, fs.ErrNotExist) {
		return nil, calls.Errorf(calls.NotFound, "the image %s cannot be read: its key, the file %s, is not there", d, v.file).
			WithHint("put the file back; without it the run cannot go on, start a new one")
	} else if err != nil {
		return nil, err
	}
	data, err := v.aead.Open(nil, nil, sealed, nil)
	if err != nil {
		return nil, calls.Errorf(calls.Invalid, "the image %s cannot be read: the file %s is not the key that it was stored with, or the journal is damaged", d, v.file).
			WithHint("put the key back that belongs to this journal; without it the run cannot go on, start a new one")
	}
	return data, nil
}

// load reads the key, once. The error is [fs.ErrNotExist] where there is none.
func (v *vault) load() error {
	if v.aead != nil {
		return nil
	}
	text, err := os.ReadFile(v.file)
	if err != nil {
		return fmt.Errorf("reading the key of the images: %w", err)
	}
	key, err := hex.DecodeString(strings.TrimSpace(string(text)))
	if err != nil || len(key) != keySize {
		return calls.Errorf(calls.Invalid, "the file %s is no key", v.file).
			WithHint("put the key back that belongs to this journal, or move the file away: then runs with images cannot go on")
	}
	return v.use(key)
}

func (v *vault) use(key []byte) error {
	block, err := aes.NewCipher(key)
	if err == nil {
		v.aead, err = cipher.NewGCMWithRandomNonce(block)
	}
	return err
}

// create makes the key. It is on the disk before anything that it encrypts is.
func (v *vault) create() error {
	key := make([]byte, keySize)
	_, _ = rand.Read(key) // it never fails
	dir := filepath.Dir(v.file)
	f, err := os.CreateTemp(dir, KeyName+".*") // readable by the user only
	if err != nil {
		return err
	}
	_, err = f.WriteString(hex.EncodeToString(key) + "\n")
	if err == nil {
		err = f.Sync()
	}
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = os.Rename(f.Name(), v.file)
	}
	if err != nil {
		_ = os.Remove(f.Name()) // the error that led here says more
		return err
	}
	if d, err := os.Open(dir); err == nil { // not every system can sync a directory
		_ = d.Sync()
		_ = d.Close()
	}
	return v.use(key)
}
