package config

import (
	"encoding/hex"
	"net/url"
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

// readStore takes the URL of the store from its variable, and checks it and what belongs to
// it. No error shows the URL, which may hold a password.
func (c *Settings) readStore() error {
	setting := "store"
	if text := os.Getenv(c.StoreEnv); c.StoreEnv != "" && text != "" {
		c.Store = text
		if c.StoreEnv != settingVariable("store") {
			setting = "store_env"
		}
	} else if c.Store == "" && c.StoreEnv != "" && c.StoreEnv != settingVariable("store") {
		return wrongSetting("store_env", "the environment variable %s is not set", c.StoreEnv)
	}
	if c.Store == "" || c.Store == StoreLocal {
		c.Store = ""
		return nil
	}
	if _, err := url.Parse(c.Store); err != nil || !IsStoreURL(c.Store) {
		return wrongSetting(setting, "this is not the URL of a Postgres database (use postgres://USER:PASSWORD@HOST:PORT/DATABASE, with special characters of the password as %%XX, or local)")
	}
	if c.Memory.Mirror != "" {
		return wrongSetting("memory.mirror", "a mirror does not see what other machines save in the store (leave it out, and use scheduler memory export)")
	}
	_, err := c.Journal.ImageKey()
	return err
}

// ImageKey returns the key of images in a journal that machines share; nil where there is
// none.
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
