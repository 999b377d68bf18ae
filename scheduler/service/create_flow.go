package service

import (
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/scheduler/flow"
)

// folderOrName matches a part of the path of a new flow that every file system and URL accepts.
var folderOrName = value.CompileLater(`^[\p{L}\p{N}_][\p{L}\p{N}_-]*$`)

// maxIDBytes bounds the id of a new flow.
const maxIDBytes = 200

// NewFile returns the path that a flow of that id would have if it were created: below the first folder.
func (l *Library) NewFile(id string) (string, error) {
	stem := pathOfID(id)
	for part := range strings.SplitSeq(stem, "/") {
		if !folderOrName().MatchString(part) || len(id) > maxIDBytes {
			return "", calls.Errorf(calls.Invalid, "%q cannot be the name of a flow", id).
				WithHint("use letters, digits, _ and -, and / between folders; %d bytes at most", maxIDBytes)
		}
	}
	if len(l.roots) == 0 {
		return "", calls.Errorf(calls.Invalid, "there is no folder of flows").WithHint("name one in the settings (serve.flows)")
	}
	return filepath.Join(l.roots[0], filepath.FromSlash(stem)+flow.FileSuffixes()[0]), nil
}

// CheckFlowText returns an error for a text that is not a flow: a [Library] would not have its file.
func CheckFlowText(text string) error {
	if !flow.HasSteps([]byte(text)) {
		return calls.Errorf(calls.Invalid, "the text has no steps, so it is not a flow")
	}
	return nil
}

// Create writes the text of a new flow below the first folder. The error is [fs.ErrExist] if a file has that name,
// in any of the folders and with any suffix of flows.
func (l *Library) Create(id, text string) error {
	if err := CheckFlowText(text); err != nil {
		return err
	}
	if _, err := l.NewFile(id); err != nil {
		return err
	}
	stem := filepath.FromSlash(pathOfID(id))
	for _, root := range l.roots {
		for _, suffix := range flow.FileSuffixes() {
			name := filepath.Join(root, stem+suffix)
			_, err := os.Lstat(name)
			if err == nil && suffix == ".json" && !isFlowFile(name) {
				continue // data beside flows
			}
			if err == nil {
				return fs.ErrExist
			}
			if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR) {
				return err
			}
		}
	}
	if err := os.MkdirAll(l.roots[0], 0o755); err != nil {
		return err
	}
	dir, err := calls.OpenRoot(l.roots[0])
	if err != nil {
		return err
	}
	defer dir.Close()
	return createFile(dir, stem+flow.FileSuffixes()[0], text)
}

// isFlowFile reports whether a file has the text of a flow.
func isFlowFile(name string) bool {
	text, err := calls.ReadFile(name, maxFlowBytes)
	return err == nil && flow.HasSteps(text)
}

// createFile writes a file that must not exist, and the folders around it. The file is there with its whole text
// or not at all, even if the process is killed.
func createFile(dir *os.Root, name, text string) error {
	folder := filepath.Dir(name)
	if err := dir.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	temporary := filepath.Join(folder, ".new-"+rand.Text())
	if err := writeNewFile(dir, temporary, text); err != nil {
		return err
	}
	err := dir.Link(temporary, name)
	if err != nil && !errors.Is(err, fs.ErrExist) { // the file system has no links
		err = writeNewFile(dir, name, text)
	}
	return errors.Join(err, dir.Remove(temporary))
}

// writeNewFile writes a file that must not exist; on an error it is removed.
func writeNewFile(dir *os.Root, name, text string) error {
	file, err := dir.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, err = file.WriteString(text)
	err = errors.Join(err, file.Sync(), file.Close())
	if err != nil {
		err = errors.Join(err, dir.Remove(name))
	}
	return err
}
