package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/scheduler/flow"
)

func newLint(a *app) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "lint FLOW...",
		Short: "Report all problems of flows, before anything runs",
		Long: `Report all problems of flows as file:line:col: message (hint), in file order.
Sub-flows are looked through, and so are all texts in the directory of the setting
languages. Exit code 2 means that there is an error; warnings
alone give 0.`,
		Example: "  scheduler lint flows/*.yaml\n  scheduler lint --json flow.yaml",
		Args:    cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, files []string) error {
			a.noteSimplified()
			var flows []string
			for _, file := range files {
				if strings.HasSuffix(file, cassetteSuffix) { // lint flows/*.yaml should just work
					a.Tellf("note: %s is a cassette, not a flow: left out", file)
					continue
				}
				flows = append(flows, file)
			}
			all, notes, err := a.service.Lint(flows)
			a.printNotes(notes)
			if err != nil {
				return a.beforeRun(err)
			}
			if err := a.printProblems(all, asJSON); err != nil {
				return err
			}
			if all.HasErrors() {
				return exitError{code: exitUsage}
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the problems as one JSON array")
	return cmd
}

// noteSimplified says that messages are in simplified Chinese where the setting language, or
// LANG, asks for traditional.
func (a *app) noteSimplified() {
	locale, _, _ := strings.Cut(os.Getenv("LANG"), ".")
	asked := cmp.Or(a.settings.Language, locale)
	if wording.IsTraditional(asked) && wording.IsChinese(string(a.Language)) {
		a.Tellf("note: the messages in %s are in simplified Chinese", asked)
	}
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
	return enc.Encode(slices.Concat(flow.Problems{}, problems)) // [] where there are none
}
