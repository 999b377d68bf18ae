package result

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"time"

	"github.com/callnode/scheduler/llm/value/wording"
)

// The types of lines.
const (
	lineCase    = "case"
	lineSummary = "summary"
	lineNote    = "note"
	lineWrong   = "wrong"
)

// caseLine is the line of a case.
type caseLine struct {
	Type string `json:"type"`
	// File is the file of the suite.
	File string `json:"file"`
	*Case
	// At and Elapsed are set in lines that are kept, from the case.
	At      time.Time     `json:"at,omitzero"`
	Elapsed time.Duration `json:"elapsed_ns,omitzero"`
}

// noteLine is the line of a note on a file, or of a problem for which it did not run.
type noteLine struct {
	Type string `json:"type"`
	File string `json:"file"`
	Problem
}

// summaryLine is the last line of a run.
type summaryLine struct {
	Type string `json:"type"`
	*Run
	Counts
	// Files are the files of all suites, those without a case too.
	Files []string `json:"files"`
}

// WriteLines writes a run as JSON lines: one for each case, and a last one that sums up. `scheduler test --json`
// prints them.
func WriteLines(w io.Writer, r *Run) error {
	return writeLines(w, r, func(file string, c *Case) caseLine { return caseLine{Type: lineCase, File: file, Case: c} })
}

// WriteTimedLines is [WriteLines] with the time at which each case ended, and its duration. The file of the last
// run has these lines, for `--rerun`, `--against last` and the page of the server.
func WriteTimedLines(w io.Writer, r *Run) error {
	return writeLines(w, r, func(file string, c *Case) caseLine { return caseLine{lineCase, file, c, c.At, c.Elapsed} })
}

func writeLines(w io.Writer, r *Run, lineOf func(file string, c *Case) caseLine) error {
	files := make([]string, 0, len(r.Suites))
	for _, s := range r.Suites {
		files = append(files, s.File)
		for _, c := range s.Cases {
			if err := WriteLine(w, lineOf(s.File, c)); err != nil {
				return err
			}
		}
		for _, note := range s.Notes {
			if err := WriteLine(w, noteLine{lineNote, s.File, note}); err != nil {
				return err
			}
		}
	}
	for _, p := range r.Wrong {
		if err := WriteLine(w, noteLine{lineWrong, p.Position.File, p}); err != nil {
			return err
		}
	}
	return WriteLine(w, summaryLine{lineSummary, r, r.Counts(), files})
}

// WriteLine writes a value as a line of JSON. A runner of GitHub Actions would carry out ##[COMMAND] anywhere in a line of a log,
// so that such text is escaped.
func WriteLine(w io.Writer, v any) error {
	var line bytes.Buffer
	out := json.NewEncoder(&line)
	out.SetEscapeHTML(false)
	if err := out.Encode(v); err != nil {
		return err
	}
	_, err := w.Write(bytes.ReplaceAll(line.Bytes(), []byte("##["), []byte(`\u0023#[`)))
	return err
}

// ReadLines reads the output of [WriteLines] or [WriteTimedLines]. Lines of other types are skipped. A file that
// ends without a summary comes from a run that was interrupted.
func ReadLines(r io.Reader) (*Run, error) {
	run := &Run{Interrupted: true}
	suites := map[string]*Suite{}
	suiteOf := func(file string) *Suite {
		s := suites[file]
		if s == nil {
			s = &Suite{File: file}
			suites[file] = s
			run.Suites = append(run.Suites, s)
		}
		return s
	}
	in := bufio.NewReader(r)
	for number := 1; ; number++ {
		line, err := in.ReadBytes('\n')
		if len(line) > 0 {
			if err := readLine(line, run, suiteOf); err != nil {
				return nil, wording.Errorf("line %d: %w", number, err)
			}
		}
		if errors.Is(err, io.EOF) {
			return run, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

// readLine adds a line to a run.
func readLine(line []byte, run *Run, suiteOf func(file string) *Suite) error {
	var kind struct {
		Type  string   `json:"type"`
		File  string   `json:"file"`
		Files []string `json:"files"`
	}
	if err := json.Unmarshal(line, &kind); err != nil {
		return err
	}
	switch kind.Type {
	case lineCase:
		read := caseLine{Case: &Case{}}
		if err := json.Unmarshal(line, &read); err != nil {
			return err
		}
		read.Case.At, read.Case.Elapsed = read.At, read.Elapsed
		s := suiteOf(kind.File)
		s.Cases = append(s.Cases, read.Case)
	case lineSummary:
		run.Interrupted = false
		for _, file := range kind.Files {
			suiteOf(file)
		}
		return json.Unmarshal(line, run)
	}
	return nil
}
