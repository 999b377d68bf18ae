package importer

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/value/wording"
)

// ReportSuffix is the end of a report's file name, after the name of the import.
const ReportSuffix = ".import.json"

// record is the file of a report. Hashes are the hashes of the files that were written: a later import replaces
// only files that have not changed since.
type record struct {
	Report
	Hashes map[string]string `json:"hashes"`
}

// Written is a file that [Write] wrote. IsBeside reports whether somebody has changed the file since the last
// import, so that the new one has .new at the end of its name.
type Written struct {
	Path     string
	IsBeside bool
}

// Write writes the files of a plan into a folder, and its report as NAME.import.json. Files that are as a
// plan has them already are not touched.
func Write(plan *Plan, dir, name string) (written []Written, err error) {
	reportFile := filepath.Join(dir, name+ReportSuffix)
	old, err := readRecord(reportFile)
	if err != nil {
		return nil, err
	}
	now := record{Report: plan.Report, Hashes: map[string]string{}}
	for _, f := range plan.Files {
		if !filepath.IsLocal(filepath.FromSlash(f.Path)) {
			return written, wording.Errorf("the file %s is outside of the folder of the import", f.Path)
		}
		isBeside, err := writeFile(filepath.Join(dir, filepath.FromSlash(f.Path)), f.Data, old.Hashes[f.Path])
		if err != nil {
			return written, err
		}
		now.Hashes[f.Path] = hashOf(f.Data)
		if isBeside {
			f.Path += ".new"
			now.Hashes[strings.TrimSuffix(f.Path, ".new")] = old.Hashes[strings.TrimSuffix(f.Path, ".new")]
		}
		written = append(written, Written{f.Path, isBeside})
	}
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", " ")
	if err := enc.Encode(now); err != nil {
		return written, err
	}
	return append(written, Written{Path: name + ReportSuffix}), calls.WriteFile(reportFile, out.Bytes(), 0o644)
}

// writeFile writes a file; if the file has changed since the last import, it writes beside it.
func writeFile(path string, data []byte, recorded string) (isBeside bool, err error) {
	have, err := calls.ReadFile(path, calls.AnyLength)
	if err == nil && bytes.Equal(have, data) {
		return false, nil
	}
	if err == nil && hashOf(have) != recorded {
		return true, calls.WriteFile(path+".new", data, 0o644)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return false, err
	}
	return false, calls.WriteFile(path, data, 0o644)
}

// readRecord reads the record of an earlier import; nothing if there was none.
func readRecord(file string) (r record, err error) {
	data, err := calls.ReadFile(file, calls.AnyLength)
	if errors.Is(err, fs.ErrNotExist) {
		return r, nil
	}
	if err != nil {
		return r, err
	}
	if err := json.Unmarshal(data, &r); err != nil {
		return r, wording.Errorf("%s is not the report of an import: %w", file, err)
	}
	return r, nil
}

func hashOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// IsRecorded reports whether a file is as the import with this report wrote it.
func IsRecorded(report []byte, path string, data []byte) bool {
	var r record
	return json.Unmarshal(report, &r) == nil && r.Hashes[path] == hashOf(data)
}
