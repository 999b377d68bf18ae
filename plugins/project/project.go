// Package project writes the start of a plugin: a project in Go, Python or Node that
// works, with one function of every kind and a test.
package project

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

//go:embed go python node
var projects embed.FS

// The names that stand in the projects for that of the plugin.
const (
	sampleName  = "sample-plugin"
	sampleTitle = "Sample-plugin"
	sampleSnake = "sample_plugin"
)

const module = "github.com/callnode/scheduler"

// Options say what is written.
type Options struct {
	// Name is the plugin's, in kebab-case.
	Name string
	// Language is one of [Languages].
	Language string
	// Version is that of this module, for the go.mod of a plugin in Go; "" leaves it
	// to `go mod tidy`.
	Version string
	// Replace is the folder of this module's source, where a plugin in Go is to be
	// built with that.
	Replace string
}

// Languages lists the languages that there are projects for.
func Languages() []string { return []string{"go", "python", "node"} }

var nameForm = regexp.MustCompile(`^[a-z][a-z0-9]*(-[a-z0-9]+)*$`)

// Write writes a project into a folder, which it makes; one that has files is
// refused. It gives the commands that come next in the folder, for people.
func Write(dir string, o Options) (next []string, err error) {
	if !nameForm.MatchString(o.Name) {
		return nil, fmt.Errorf("%q is no name of a plugin: use small letters, digits and -", o.Name)
	}
	if o.Name == "vars" {
		return nil, errors.New("a plugin cannot be called vars: flows name variables by that")
	}
	if !slices.Contains(Languages(), o.Language) {
		return nil, fmt.Errorf("there is no project in %q; the languages are %s", o.Language, strings.Join(Languages(), ", "))
	}
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("making the project: %w", err)
	}
	if len(entries) > 0 {
		return nil, fmt.Errorf("%s is not empty: give another folder", dir)
	}
	files, err := files(o)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("making the project: %w", err)
	}
	for _, f := range files {
		if err := os.WriteFile(filepath.Join(dir, f.name), []byte(f.text), 0o644); err != nil { //nolint:gosec // a project is read by others
			return nil, fmt.Errorf("making the project: %w", err)
		}
	}
	return steps(o), nil
}

type file struct{ name, text string }

// files are those of a project, with the plugin's name in place.
func files(o Options) ([]file, error) {
	title := strings.ToUpper(o.Name[:1]) + o.Name[1:]
	names := strings.NewReplacer(sampleName, o.Name, sampleTitle, title, sampleSnake, strings.ReplaceAll(o.Name, "-", "_"))
	entries, err := projects.ReadDir(o.Language)
	if err != nil {
		return nil, err
	}
	var all []file
	for _, e := range entries {
		text, err := projects.ReadFile(path.Join(o.Language, e.Name()))
		if err != nil {
			return nil, err
		}
		all = append(all, file{e.Name(), names.Replace(string(text))})
	}
	switch o.Language {
	case "go":
		module, err := goModule(o)
		if err != nil {
			return nil, err
		}
		all = append(append(all, module...), file{".gitignore", "/" + o.Name + "\n"})
	case "python":
		all = append(all, file{".gitignore", "__pycache__/\n.venv/\n"})
	case "node":
		all = append(all, file{".gitignore", "node_modules/\n"})
	}
	return all, nil
}

// goModule is the go.mod and, where the plugin is built with a folder of source, the
// go.sum of that: then it builds without a network, as far as the source does.
func goModule(o Options) ([]file, error) {
	text := "module " + o.Name + "\n\ngo 1.26.0\n" // no lower than that of the source
	switch {
	case o.Replace != "":
		mod, err := os.ReadFile(filepath.Join(o.Replace, "go.mod"))
		if err != nil {
			return nil, fmt.Errorf("reading the source to build with: %w", err)
		}
		sum, err := os.ReadFile(filepath.Join(o.Replace, "go.sum"))
		if err != nil {
			return nil, fmt.Errorf("reading the source to build with: %w", err)
		}
		text += fmt.Sprintf("\nrequire %s v0.0.0\n\nreplace %s => %s\n", module, module, quoted(o.Replace))
		text += "\n// All that scheduler requires: go mod tidy takes out what this plugin does not.\n"
		for _, block := range requirements.FindAll(mod, -1) {
			text += string(block) + "\n"
		}
		return []file{{"go.mod", text}, {"go.sum", string(sum)}}, nil
	case o.Version != "":
		text += fmt.Sprintf("\nrequire %s %s\n", module, o.Version)
	}
	return []file{{"go.mod", text}}, nil
}

// requirements are the requirements in a go.mod.
var requirements = regexp.MustCompile(`(?m)^require (?:\([^)]*\)|[^(\n]*)`)

// quoted is a path as go.mod takes it.
func quoted(path string) string {
	if strings.ContainsAny(path, " \t\"'`()[]{},") || strings.Contains(path, "//") {
		return strconv.Quote(path)
	}
	return path
}

func steps(o Options) []string {
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
