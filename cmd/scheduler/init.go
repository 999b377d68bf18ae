package main

import (
	"embed"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/callnode/scheduler/configs"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/scheduler/flow"
	"github.com/callnode/scheduler/skills"
)

// project is the new project that init writes.
//
//go:embed all:project
var project embed.FS

func newInit(a *app) *cobra.Command {
	var settings, schema bool
	cmd := &cobra.Command{
		Use:   "init DIR",
		Short: "Make a new project with a flow that runs, and its tests",
		Long: `Make a new project: settings, a flow that runs without a key, its workspace and its
tests, and the schemas that let an editor complete flows and tests. Files that exist are
left alone.

The schema knows what is built in. That of --schema has the calls and importance
functions of trusted plugins too.`,
		Example: "  scheduler init my-app\n  scheduler init --settings    # print all settings with their defaults\n  scheduler init --schema > flow.schema.json",
		Args: func(cmd *cobra.Command, args []string) error {
			if settings || schema {
				return cobra.NoArgs(cmd, args)
			}
			return cobra.ExactArgs(1)(cmd, args)
		},
		RunE: func(_ *cobra.Command, args []string) error {
			if settings {
				_, err := a.Stdout.Write(configs.Defaults)
				return err
			}
			if schema {
				return a.printSchema()
			}
			return a.initProject(args[0])
		},
	}
	cmd.Flags().BoolVar(&settings, "settings", false, "print all settings with their defaults, and write nothing")
	cmd.Flags().BoolVar(&schema, "schema", false, "print the JSON Schema of flows for editors, plugins and all, and write nothing")
	cmd.MarkFlagsMutuallyExclusive("settings", "schema")
	return cmd
}

// printSchema prints the schema of flows with what trusted plugins give, and the names of model providers.
func (a *app) printSchema() (err error) {
	if err := a.open(); err != nil {
		return err
	}
	registry, err := a.runtime.Registry("")
	if err != nil {
		return err
	}
	return a.PrintJSON(flow.EditorSchema(registry, a.settings.LLM.Names()...))
}

func (a *app) initProject(dir string) error {
	files, err := projectFiles()
	if err != nil {
		return err
	}
	for _, f := range files {
		target := filepath.Join(dir, filepath.FromSlash(f.name))
		if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
			return exitError{exitFailed, err}
		}
		// O_EXCL: what somebody wrote stays.
		out, err := os.OpenFile(target, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
		if errors.Is(err, fs.ErrExist) {
			a.Tellf("kept    %s", target)
			continue
		}
		if err != nil {
			return exitError{exitFailed, err}
		}
		_, err = out.Write(f.content)
		if err := errors.Join(err, out.Close()); err != nil {
			return exitError{exitFailed, wording.Errorf("writing %s: %w", target, err)}
		}
		a.Tellf("created %s", target)
	}
	a.Tellf("\nTry it:\n  cd %s\n  scheduler run flows/hello.yaml --explain\n  scheduler test\n  scheduler serve --open\n\nYour own model: name its server in scheduler.yaml, as in scheduler help models.", dir)
	return nil
}

type projectFile struct {
	name    string
	content []byte
}

// projectFiles lists the files of a new project in the order they are written.
func projectFiles() ([]projectFile, error) {
	files := []projectFile{{"schemas/flow.schema.json", configs.FlowSchema}, {"schemas/test.schema.json", configs.TestSchema}}
	add := func(source fs.FS, folder string) error {
		return fs.WalkDir(source, ".", func(name string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			content, err := fs.ReadFile(source, name)
			if name == "gitignore" { // a real .gitignore would hide files of this repository
				name = ".gitignore"
			}
			files = append(files, projectFile{path.Join(folder, name), content})
			return err
		})
	}
	written, err := fs.Sub(project, "project")
	if err != nil {
		return nil, err
	}
	return files, errors.Join(add(written, ""), add(skills.Files, ".agents/skills"))
}
