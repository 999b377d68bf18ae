package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/cmd/scheduler/wire"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/llm/value/yaml"
	"github.com/callnode/scheduler/scheduler/flow"
	"github.com/callnode/scheduler/scheduler/flowtest/suite"
)

func newLint(a *app) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "lint [PATH | DIR/...]...",
		Short: "Report all problems of flows and test files, before anything runs",
		Long: `Report all problems of flows and test files (NAME.test.yaml) as
file:line:col: message (hint), in file order. A folder stands for the flows and test files
in it, DIR/... for those of all folders below it too. Without a path it is flows/... or,
without such a folder, the working directory; the first line says which. Sub-flows are looked
through, and so are all texts in the directory of the setting languages. Exit code 2 means that there is
an error; warnings alone give 0. Where runs are carried out by workers (the setting on),
files that steps read and that other machines may not have are warned of on stderr.`,
		Example: "  scheduler lint flows/*.yaml\n  scheduler lint    # the flows of the project\n  scheduler lint ./...\n  scheduler lint --json flow.yaml flow.test.yaml",
		Args:    cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, paths []string) error {
			a.noteSimplified()
			if len(paths) == 0 {
				paths = []string{a.projectFlows()}
			}
			flows, tests, err := a.lintedFiles(paths)
			if err != nil {
				return usageError(err)
			}
			all, notes, err := a.service.Lint(cmd.Context(), flows)
			a.printNotes(notes)
			if err != nil {
				return a.beforeRun(err)
			}
			found, err := a.lintTests(cmd.Context(), tests)
			if err != nil {
				return a.beforeRun(err)
			}
			for _, p := range found {
				if !slices.Contains(all, p) { // the flow itself was checked
					all = append(all, p)
				}
			}
			if err := a.printProblems(all, asJSON); err != nil {
				return err
			}
			if all.HasErrors() {
				return exitError{code: exitUsage}
			}
			return a.warnOfFiles(cmd.Context(), flows)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the problems as one JSON array")
	return cmd
}

// warnOfFiles warns of files that flows read while they run, and that the workers of the
// setting on may not have.
func (a *app) warnOfFiles(ctx context.Context, flows []string) error {
	if a.remoteName() == "" {
		return nil
	}
	for _, file := range flows {
		f, _, _, err := a.service.Load(ctx, file)
		if err != nil {
			return a.beforeRun(err)
		}
		if f != nil {
			a.printNotes(a.service.FilesElsewhere(f))
		}
	}
	return nil
}

// projectFlows returns the path of the flows of the project, and tells it: all below the folder flows, else those of the working directory.
func (a *app) projectFlows() string {
	path := "."
	if info, err := os.Stat("flows"); err == nil && info.IsDir() {
		path = "flows/..."
	}
	a.Tellf("no path is given: looking at the flows and tests of %s", path)
	return path
}

// lintedFiles returns the flows and the test files of paths.
func (a *app) lintedFiles(paths []string) (flows, tests []string, err error) {
	for _, path := range paths {
		files := []string{path}
		dir, isTree := strings.CutSuffix(filepath.ToSlash(path), "...")
		if isTree {
			files, err = filesBelow(cmp.Or(filepath.FromSlash(strings.TrimSuffix(dir, "/")), "."), isLinted)
		} else if info, statErr := os.Stat(path); statErr == nil && info.IsDir() {
			files, err = filesIn(path, isLinted)
		}
		if err != nil {
			return nil, nil, err
		}
		for _, file := range files {
			switch {
			case strings.HasSuffix(file, wire.CassetteSuffix): // lint flows/*.yaml should just work
				a.Tellf("note: %s is a cassette, not a flow: left out", file)
			case strings.HasSuffix(file, suite.SnapshotSuffix):
				a.Tellf("note: %s has snapshots of tests, not a flow: left out", file)
			case strings.HasSuffix(file, suite.Suffix):
				tests = append(tests, file)
			default:
				flows = append(flows, file)
			}
		}
	}
	return uniqueFiles(flows), uniqueFiles(tests), nil
}

// isLinted reports whether a file of a folder is a flow or a test file.
func isLinted(path string) bool {
	if strings.HasSuffix(path, suite.Suffix) {
		return true
	}
	if !slices.Contains(flow.FileSuffixes(), filepath.Ext(path)) || strings.HasSuffix(path, wire.CassetteSuffix) {
		return false
	}
	text, err := calls.ReadFile(path, yaml.MaxBytes)
	return err == nil && flow.HasSteps(text)
}

// lintTests returns the problems of test files and of the flows that they test.
func (a *app) lintTests(ctx context.Context, files []string) (all flow.Problems, err error) {
	if len(files) == 0 {
		return nil, nil
	}
	loader, _, err := a.runtime.TestLoader(string(a.Language)) // its notes are the same as for the flows
	if err != nil {
		return nil, err
	}
	for _, file := range files {
		_, problems := loader.Load(ctx, file)
		if ctx.Err() != nil {
			return nil, exitError{exitInterrupted, wording.Errorf("interrupted")}
		}
		all = append(all, problems...)
	}
	return all, nil
}

func (a *app) printProblems(problems flow.Problems, asJSON bool) error {
	if !asJSON {
		for _, p := range problems {
			if _, err := fmt.Fprintln(a.Stdout, p.WithSnippet()); err != nil {
				return err
			}
		}
		return nil
	}
	enc := json.NewEncoder(a.Stdout)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(slices.Concat(flow.Problems{}, problems)) // [] if there are none
}
