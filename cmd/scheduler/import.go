package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/cmd/scheduler/config"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/llm/value/yaml"
	"github.com/callnode/scheduler/scheduler/flowtest/check"
	"github.com/callnode/scheduler/scheduler/flowtest/suite"
	"github.com/callnode/scheduler/scheduler/importer"
	"github.com/callnode/scheduler/scheduler/importer/promptfoo"
)

// importFlags are the flags of all imports.
type importFlags struct {
	dir            string
	dryRun, strict bool
	asJSON         bool
}

func newImportPromptfoo(a *app) *cobra.Command {
	var f importFlags
	cmd := &cobra.Command{
		Use:   "promptfoo FILE...",
		Short: "Turn configurations of promptfoo into flows, tests and providers",
		Long: `Turn configurations of promptfoo into flows, test files and providers of the settings.
Beside them, NAME.import.json tells what became of each leaf. Files that you have changed
since an import are left alone: the new ones get .new at the end.

Prompts become flows, their templates those of flows. Tests become cases; one that loses an
assertion is skipped and says why, so that nothing passes for want of a check. Conditions
in JavaScript that are expressions become checks; other code is kept as files, unused.`,
		Example: "  scheduler import promptfoo promptfooconfig.yaml -o evals/\n  scheduler import promptfoo promptfooconfig.yaml --dry-run --strict",
		Args:    cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, files []string) error {
			isLossy := false
			for _, file := range files {
				plan, err := a.importPromptfoo(file, &f)
				if err != nil {
					return usageError(err)
				}
				isLossy = isLossy || plan.Report.NotKept > 0
			}
			if f.strict && isLossy {
				return exitError{code: exitFailed}
			}
			return nil
		},
	}
	flags := cmd.Flags()
	flags.StringVarP(&f.dir, "output", "o", ".", "the folder to write into")
	flags.BoolVar(&f.dryRun, "dry-run", false, "tell what would be written, and write nothing")
	flags.BoolVar(&f.strict, "strict", false, "fail with exit code 1 where anything is not kept")
	flags.BoolVar(&f.asJSON, "json", false, "print the report as one JSON document")
	return cmd
}

// wrongInCheck returns the fault of an item of expect; zero for none.
func wrongInCheck(item value.Value) wording.Text {
	node, err := yaml.Parse([]byte(item.JSON()))
	if err != nil {
		return wording.OfError(err)
	}
	if _, problems := check.Parse(node, &check.Scope{}); len(problems) > 0 {
		return wording.Text{En: problems[0].Message, Zh: problems.Localized("zh")[0].Message}
	}
	return wording.Text{}
}

// importPromptfoo imports one configuration and prints the result.
func (a *app) importPromptfoo(file string, f *importFlags) (*importer.Plan, error) {
	name := importName(file)
	o := promptfoo.Options{Name: name, Settings: settingsOfImport(f.dir, name), Language: string(a.Language), CheckItem: wrongInCheck}
	plan, err := promptfoo.Read(os.DirFS(filepath.Dir(file)), filepath.Base(file), o)
	if err != nil {
		return nil, calls.Errorf(calls.Invalid, "%s was not imported: %w", file, err)
	}
	var written []importer.Written
	if !f.dryRun {
		written, err = importer.Write(plan, f.dir, name)
		if err != nil {
			return nil, err
		}
	}
	if f.asJSON {
		enc := json.NewEncoder(a.Stdout)
		enc.SetEscapeHTML(false)
		return plan, enc.Encode(plan.Report)
	}
	return plan, a.printImport(plan, written, f.dir)
}

// printImport prints the files that were written, and each change and loss with its place.
func (a *app) printImport(plan *importer.Plan, written []importer.Written, dir string) error {
	r := &plan.Report
	for _, l := range r.Leaves {
		if l.Verdict == importer.Kept {
			continue
		}
		word := "changed"
		if l.Verdict == importer.NotKept {
			word = "not kept"
		}
		fmt.Fprintf(a.Stdout, "%s:%d:%d: %s: %s: %s\n", l.File, l.Line, l.Col, wording.Of(word).In(string(a.Language)), l.Pointer, l.Note)
	}
	for _, w := range written {
		path := filepath.Join(dir, filepath.FromSlash(w.Path))
		if w.IsBeside {
			a.Tellf("wrote %s, for you have changed the file beside it", path)
			continue
		}
		a.Tellf("wrote %s", path)
		if strings.HasSuffix(path, suite.ProvidersSuffix) {
			a.Tellf("the project has settings: copy llm of %[1]s into them, or add --config %[1]s", path)
		}
	}
	_, err := fmt.Fprintln(a.Stdout, wording.Say("%s: %d kept, %d changed, %d not kept", r.Source, r.Kept, r.Changed, r.NotKept).In(string(a.Language)))
	return err
}

// importName returns the name for the files of an import: the name of the source, or of its folder if the source
// has the standard name that all configurations share. For example, shop/promptfooconfig.yaml gives shop.
func importName(file string) string {
	name := strings.TrimSuffix(filepath.Base(file), filepath.Ext(file))
	abs, err := filepath.Abs(file)
	if folder := filepath.Base(filepath.Dir(abs)); err == nil && name == "promptfooconfig" {
		name = folder
	}
	return cmp.Or(strings.Trim(notInFileName.ReplaceAllString(name, "-"), "-."), "imported")
}

// notInFileName matches characters that names of flows and files should not have.
var notInFileName = regexp.MustCompile(`[^\p{L}\p{N}._-]+`)

// settingsOfImport returns the file for the providers: the settings of a new project, or one beside an existing
// project's, to be merged by hand.
func settingsOfImport(dir, name string) string {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "scheduler.yaml"
	}
	for at := range config.FoldersUp(abs) {
		data, readErr := calls.ReadFile(filepath.Join(at, "scheduler.yaml"), calls.AnyLength)
		isOurs := at == abs && readErr == nil && isSettingsOfImport(abs, name, data)
		if readErr == nil && !isOurs {
			return name + suite.ProvidersSuffix
		}
		if !errors.Is(readErr, fs.ErrNotExist) {
			break
		}
	}
	return "scheduler.yaml"
}

// isSettingsOfImport reports whether an earlier import of that name wrote the settings.
func isSettingsOfImport(dir, name string, data []byte) bool {
	report, err := calls.ReadFile(filepath.Join(dir, name+importer.ReportSuffix), calls.AnyLength)
	return err == nil && importer.IsRecorded(report, "scheduler.yaml", data)
}
