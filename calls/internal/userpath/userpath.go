// Package userpath resolves paths that users write in parameters, for example ~/notes,
// and keeps resolved ones out of errors.
package userpath

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/callnode/scheduler/llm/value/wording"
)

// Resolve makes a path absolute: a relative one starts at dir, ~ is the home directory.
func Resolve(dir, given string) (string, error) {
	rest, hasTilde := strings.CutPrefix(filepath.ToSlash(given), "~")
	isHome := rest == "" || rest[0] == '/' // ~name is a file of that name
	if hasTilde && isHome {
		home, err := os.UserHomeDir()
		if err != nil {
			return "", wording.Errorf("expanding ~: %w", err)
		}
		given = filepath.Join(home, filepath.FromSlash(rest))
	}
	if !filepath.IsAbs(given) {
		given = filepath.Join(dir, given)
	}
	return filepath.Abs(given)
}

// WithoutPath returns an error of a file without the path: the message around it names the file
// as the user wrote it, and a model must not learn of folders outside of its own.
func WithoutPath(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		err = p.Err
	}
	if errors.Is(err, fs.ErrNotExist) {
		return fs.ErrNotExist
	}
	return err
}
