package sqljournal

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/database"
	"github.com/callnode/scheduler/llm/value/atomicfile"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/scheduler/journal/internal/stored"
)

// KeyName is the name of the file with the key of the images, in the directory of
// the database. It is made with the first image.
const KeyName = "runs.key"

// newFileVault returns a vault whose key is in a file, in hex.
func newFileVault(file string) *stored.Vault {
	return &stored.Vault{Source: wording.Say("the file %s", file), Key: func(create bool) ([]byte, error) {
		key, err := readKey(file)
		if create && errors.Is(err, fs.ErrNotExist) {
			key, err = createKey(file)
			if err != nil {
				return nil, wording.Errorf("making the key of the images: %w", err)
			}
		}
		return key, err
	}}
}

// newKeyWord is what somebody writes into the file of the key to have a new one made, since the key is lost.
const newKeyWord = "new"

// errNewKey means that the file asks for a new key.
var errNewKey = wording.Errorf("the file asks for a new key: %w", fs.ErrNotExist)

// checkKey refuses payloads to be encrypted while the key is gone with which others in the database are: a new key would hide that
// these cannot be read any more.
func (d *fileDialect) checkKey(c database.Conn, found stored.Blobs) error {
	isSecret := func(one stored.Payload) bool { return one.Secret }
	if !slices.ContainsFunc(slices.Collect(maps.Values(found)), isSecret) {
		return nil
	}
	err := d.vault.LoadKey()
	if isGone := errors.Is(err, fs.ErrNotExist) && !errors.Is(err, errNewKey); !isGone {
		return nil // encrypting makes the key, or tells the error
	}
	isEncrypted, err := hasEncrypted(c)
	if err != nil || !isEncrypted {
		return err
	}
	return calls.Errorf(calls.Invalid, "the key of the images in this journal, %s, is missing, and a new one is not made in its place", d.vault.Source).
		WithHint("put the key back, for example from a backup; if it is lost, write the word %s into that file: a new key is made then, and earlier runs with images cannot go on", newKeyWord)
}

// hasEncrypted reports whether the database has an encrypted payload. Others have the digest of their bytes.
func hasEncrypted(c database.Conn) (bool, error) {
	var digest, data []byte
	err := c.QueryRows("SELECT sha256, data FROM blob", nil, func(scan func(...any) error) error {
		if err := scan(&digest, &data); err != nil {
			return err
		}
		if sum := sha256.Sum256(data); !bytes.Equal(sum[:], digest) {
			return fs.SkipAll
		}
		return nil
	})
	if errors.Is(err, fs.SkipAll) {
		return true, nil
	}
	return false, err
}

// maxSpace is how much white space is allowed around a key.
const maxSpace = 1 << 10

func readKey(file string) ([]byte, error) {
	text, err := calls.ReadFile(file, 2*stored.KeySize+maxSpace)
	if err != nil {
		return nil, wording.Errorf("reading the key of the images: %w", err)
	}
	if strings.TrimSpace(string(text)) == newKeyWord {
		return nil, errNewKey
	}
	key, err := hex.DecodeString(strings.TrimSpace(string(text)))
	if err != nil || len(key) != stored.KeySize {
		return nil, calls.Errorf(calls.Invalid, "the file %s does not hold a key (%d bytes in hex)", file, stored.KeySize).
			WithHint("put the key back that belongs to this journal; if it is lost, write the word %s into the file: a new key is made then, and earlier runs with images cannot go on", newKeyWord)
	}
	return key, nil
}

// createKey makes the key. It is on the disk before anything that it encrypts is.
func createKey(file string) ([]byte, error) {
	key := make([]byte, stored.KeySize)
	_, _ = rand.Read(key) // it never fails
	dir := filepath.Dir(file)
	if err := atomicfile.Write(file, []byte(hex.EncodeToString(key)+"\n"), 0o600); err != nil { // for the user only
		return nil, err
	}
	if d, err := os.Open(dir); err == nil { // not every system can sync a directory
		_ = d.Sync()
		_ = d.Close()
	}
	return key, nil
}
