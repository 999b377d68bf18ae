package sqljournal

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/callnode/scheduler/calls"
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

// maxSpace is how much white space is allowed around a key.
const maxSpace = 1 << 10

func readKey(file string) ([]byte, error) {
	text, err := calls.ReadFile(file, 2*stored.KeySize+maxSpace)
	if err != nil {
		return nil, wording.Errorf("reading the key of the images: %w", err)
	}
	key, err := hex.DecodeString(strings.TrimSpace(string(text)))
	if err != nil || len(key) != stored.KeySize {
		return nil, calls.Errorf(calls.Invalid, "the file %s does not hold a key (%d bytes in hex)", file, stored.KeySize).
			WithHint("put the key back that belongs to this journal, or move the file away: then runs with images cannot go on")
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
