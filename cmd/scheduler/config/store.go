package config

import (
	"encoding/hex"
	"os"
	"slices"
	"strings"
)

// StoreLocal is the value of the setting store for the state directory, as with "".
const StoreLocal = "local"

// ImageKeyBytes is how long the key of journal.key_env is.
const ImageKeyBytes = 32

// IsStoreURL reports whether a text is the URL of a Postgres database, going by its beginning.
func IsStoreURL(text string) bool {
	scheme, _, ok := strings.Cut(text, "://")
	return ok && slices.Contains([]string{"postgres", "postgresql"}, scheme)
}

// ImageKey returns the key of images in a journal that machines share; nil if there is none.
func (c *Journal) ImageKey() ([]byte, error) {
	if c.KeyEnv == "" {
		return nil, nil
	}
	text := os.Getenv(c.KeyEnv)
	if text == "" {
		return nil, wrongSetting("journal.key_env", "the environment variable %s is not set", c.KeyEnv)
	}
	key, err := hex.DecodeString(strings.TrimSpace(text))
	if err != nil || len(key) != ImageKeyBytes {
		return nil, wrongSetting("journal.key_env", "the environment variable %s does not hold %d hexadecimal digits (make a key with openssl rand -hex %d)", c.KeyEnv, 2*ImageKeyBytes, ImageKeyBytes)
	}
	return key, nil
}

// Journal is how runs are recorded.
type Journal struct {
	Durability string `json:"durability,omitempty" enum:"sync|async"`
	KeyEnv     string `json:"key_env,omitempty"`
}
