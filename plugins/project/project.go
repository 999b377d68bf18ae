// Package project writes the start of a plugin: a project in Go, Python or Node that works, with one function of
// every kind and a test. For example, `scheduler plugins init` calls it.
package project

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/plugins/proto"
	"github.com/callnode/scheduler/plugins/sdk/node"
	"github.com/callnode/scheduler/plugins/sdk/python"
)

//go:embed go python node
var templates embed.FS

// The placeholders for the plugin's name in the templates.
const (
	sampleName  = "sample-plugin"
	sampleTitle = "Sample-plugin"
	sampleSnake = "sample_plugin"
)

// Module is the path of the module that a plugin in Go builds with.
const Module = "github.com/callnode/scheduler"

// Options describe the files to write.
type Options struct {
	// Name is the plugin's, in kebab-case.
	Name string
	// Language is one of [Languages].
	Language string
	// Version is the version of this module, for the go.mod of a plugin in Go; "" leaves it to `go mod tidy`.
	Version string
	// Replace is the folder of this module's source, if a plugin in Go is to be built with that.
	Replace string
}

// Languages lists the languages that there are projects for.
func Languages() []string { return []string{"go", "python", "node"} }

var nameForm = regexp.MustCompile(`^[a-z][a-z0-9]*(-[a-z0-9]+)*$`)

// Write writes a project into a folder, which it makes; one that has files is refused. It
// returns the commands that come next in the folder, for people.
func Write(dir string, o Options) (next []string, err error) {
	if !nameForm.MatchString(o.Name) {
		return nil, wording.Errorf("%q cannot be the name of a plugin (use small letters, digits and -)", o.Name)
	}
	if o.Name == "vars" {
		return nil, wording.Errorf("a plugin cannot be called vars: flows name variables by that")
	}
	if !slices.Contains(Languages(), o.Language) {
		return nil, wording.Errorf("unknown language %q (there are %s)", o.Language, strings.Join(Languages(), ", "))
	}
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, wording.Errorf("making the project: %w", err)
	}
	if len(entries) > 0 {
		return nil, wording.Errorf("%s is not empty (give another folder)", dir)
	}
	files, err := projectFiles(o)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, wording.Errorf("making the project: %w", err)
	}
	for _, f := range files {
		if err := os.WriteFile(filepath.Join(dir, f.name), []byte(f.text), 0o644); err != nil { //nolint:gosec // a project is read by others
			return nil, wording.Errorf("making the project: %w", err)
		}
	}
	return nextCommands(o), nil
}

type file struct{ name, text string }

// projectFiles returns the files of a project.
func projectFiles(o Options) ([]file, error) {
	templates, err := fs.Sub(templates, o.Language)
	if err != nil {
		return nil, err
	}
	all, err := readFiles(templates, o.renamer().Replace)
	if err != nil {
		return nil, err
	}
	for _, files := range sdkFiles(o.Language) {
		more, err := readFiles(files, nil)
		if err != nil {
			return nil, err
		}
		all = append(all, more...)
	}
	if o.Language == "go" {
		module, err := goModule(o)
		if err != nil {
			return nil, err
		}
		all = append(all, module...)
	}
	return append(all, file{".gitignore", o.ignored()}), nil
}

// sdkFiles returns the files of the SDK beside a plugin: in Go that is a module instead.
func sdkFiles(language string) []fs.FS {
	switch language {
	case "python":
		return []fs.FS{python.Files()}
	case "node":
		return []fs.FS{node.Files(), proto.Sources()}
	default:
		return nil
	}
}

// ignored returns the .gitignore of a project.
func (o Options) ignored() string {
	switch o.Language {
	case "go":
		return "/" + o.Name + "\n"
	case "python":
		return "__pycache__/\n.venv/\n"
	default:
		return "node_modules/\n"
	}
}

// renamer replaces the sample's name by the plugin's.
func (o Options) renamer() *strings.Replacer {
	title := strings.ToUpper(o.Name[:1]) + o.Name[1:]
	return strings.NewReplacer(sampleName, o.Name, sampleTitle, title, sampleSnake, strings.ReplaceAll(o.Name, "-", "_"))
}

// readFiles reads the files of a folder; edit, if given, changes their text.
func readFiles(files fs.FS, edit func(string) string) (all []file, err error) {
	entries, err := fs.ReadDir(files, ".")
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		text, err := fs.ReadFile(files, e.Name())
		if err != nil {
			return nil, err
		}
		f := file{e.Name(), string(text)}
		if edit != nil {
			f.text = edit(f.text)
		}
		all = append(all, f)
	}
	return all, nil
}

// goModule returns the go.mod and, if the plugin is built with a folder of source, the go.sum of that: then it
// builds without a network, as far as the source does.
func goModule(o Options) ([]file, error) {
	text := "module " + o.Name + "\n\ngo 1.26.0\n" // no lower than the source's
	if o.Replace != "" {
		mod, err := calls.ReadFile(filepath.Join(o.Replace, "go.mod"), calls.AnyLength)
		if err != nil {
			return nil, wording.Errorf("reading the source to build with: %w", err)
		}
		sum, err := calls.ReadFile(filepath.Join(o.Replace, "go.sum"), calls.AnyLength)
		if err != nil {
			return nil, wording.Errorf("reading the source to build with: %w", err)
		}
		text += fmt.Sprintf("\nrequire %s v0.0.0\n\nreplace %s => %s\n", Module, Module, quotePath(o.Replace))
		text += "\n// All that scheduler requires: go mod tidy takes out what this plugin does not.\n"
		for _, block := range requirements.FindAll(mod, -1) {
			text += string(block) + "\n"
		}
		return []file{{"go.mod", text}, {"go.sum", string(sum)}}, nil
	}
	if o.Version != "" {
		text += fmt.Sprintf("\nrequire %s %s\n", Module, o.Version)
	}
	return []file{{"go.mod", text}}, nil
}

// requirements matches the requirements in a go.mod.
var requirements = regexp.MustCompile(`(?m)^require (?:\([^)]*\)|[^(\n]*)`)

// quotePath returns a path as go.mod accepts it.
func quotePath(path string) string {
	if strings.ContainsAny(path, " \t\"'`()[]{},") || strings.Contains(path, "//") {
		return strconv.Quote(path)
	}
	return path
}

// nextCommands returns the commands that test and build a project.
func nextCommands(o Options) []string {
	switch o.Language {
	case "go":
		build := []string{"go test ./...", "go build -o " + o.Name + " ."}
		if o.Replace == "" {
			build = append([]string{"go mod tidy"}, build...)
		}
		return build
	case "python":
		return []string{"python3 -m unittest    # with grpcio and protobuf (Debian: apt install python3-grpcio)"}
	default:
		return []string{"npm install", "npm test"}
	}
}
