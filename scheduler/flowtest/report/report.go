// Package report prints the results of a test run: lines for people ([Printer]), and files for continuous
// integration and browsers ([WriteFiles]), for example a JUnit file for Jenkins. It decides nothing and reads only
// [result.Run] and [compare.Comparison].
package report

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/scheduler/flowtest/compare"
	"github.com/callnode/scheduler/scheduler/flowtest/result"
)

// writer writes a report of one kind.
type writer func(w io.Writer, run *result.Run, c *compare.Comparison, o *Options) error

// kinds are the reports that go to a file.
func kinds() map[string]writer {
	return map[string]writer{"junit": writeJUnit, "json": writeJSON, "md": writeMarkdown, "html": writeHTML}
}

// Target is a report and its file, from --report junit=out.xml.
type Target struct{ Kind, File string }

// Extension returns the ending of the names of such reports: JUnit is XML.
func (t Target) Extension() string {
	if t.Kind == "junit" {
		return "xml"
	}
	return t.Kind
}

// ParseTargets reads the values of --report: each is a comma-separated list of kind=FILE.
func ParseTargets(values []string) (targets []Target, err error) {
	for _, list := range values {
		for item := range strings.SplitSeq(list, ",") {
			kind, file, ok := strings.Cut(strings.TrimSpace(item), "=")
			if !ok || file == "" {
				return nil, calls.Errorf(calls.Invalid, "invalid report %q", item).WithHint("write KIND=FILE, as in junit=report.xml")
			}
			if kinds()[kind] == nil {
				return nil, calls.Errorf(calls.Invalid, "unknown report %q", kind).WithHint("%s", value.DidYouMeanOrList(kind, []string{"html", "json", "junit", "md"}))
			}
			if slices.ContainsFunc(targets, func(t Target) bool { return filepath.Clean(t.File) == filepath.Clean(file) }) {
				return nil, calls.Errorf(calls.Invalid, "two reports go to the file %s", file).WithHint("give each a file of its own")
			}
			targets = append(targets, Target{kind, file})
		}
	}
	return targets, nil
}

// WriteFiles writes the reports, with the folders that they need. c may be nil. A report that
// cannot be written does not keep the others from being written.
func WriteFiles(targets []Target, run *result.Run, c *compare.Comparison, o Options) error {
	var problems []error
	for _, t := range targets {
		var out bytes.Buffer
		err := Write(&out, t.Kind, run, c, o)
		if err == nil {
			err = os.MkdirAll(filepath.Dir(t.File), 0o755)
		}
		if err == nil {
			err = calls.WriteFile(t.File, out.Bytes(), 0o644)
		}
		if err != nil {
			problems = append(problems, calls.Errorf(calls.Invalid, "the report %s was not written to %s: %w", t.Kind, t.File, calls.WithoutPath(err)))
		}
	}
	return errors.Join(problems...)
}

// Write writes a report of a kind: html, json, junit or md. c may be nil.
func Write(w io.Writer, kind string, run *result.Run, c *compare.Comparison, o Options) error {
	write := kinds()[kind]
	if write == nil {
		return calls.Errorf(calls.Invalid, "unknown report %q", kind)
	}
	switch kind {
	case "html", "md":
		run, c = masked(run, o.visible), masked(c, o.visible)
	default: // JSON and XML have escapes of their own
		if o.Mask != nil {
			run, c = masked(run, o.Mask), masked(c, o.Mask)
		}
	}
	return write(w, run, c, &o)
}

// writeJSON writes the lines of the run, and one of the comparison. Paths stay as they are: they are the
// same from every folder.
func writeJSON(w io.Writer, run *result.Run, c *compare.Comparison, _ *Options) error {
	if err := result.WriteLines(w, run); err != nil {
		return err
	}
	if c == nil {
		return nil
	}
	return c.WriteLine(w)
}
