// Package manifest reads files about plugins, and starts nothing: the plugin.yaml in the folder of each ([Read],
// [Find]), the lock file of the plugins that the user trusts ([ReadLock]), and the SHA-256 that seals a program
// ([Digest]). Listing, linting and the question whether to trust a plugin need no more than this package: for
// example, lint reports a missing version. Package host runs the plugins.
package manifest

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/schema"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/llm/value/yaml"
)

// FileName is the name of the file that makes a folder a plugin.
const FileName = "plugin.yaml"

// misspelledFileName is a common slip for [FileName], reported instead of passed over.
const misspelledFileName = "plugin.yml"

// Manifest is a plugin.yaml: the author's description of the program. It does not list the plugin's functions; the
// program describes them itself (see [Entry]). [Read] makes one; it is not changed afterwards.
type Manifest struct {
	Name        string   `json:"name" doc:"kebab-case; flows write it before the dot" pattern:"^[a-z][a-z0-9]*(-[a-z0-9]+)*$"`
	Version     string   `json:"version" doc:"The same that the program reports" min:"1"`
	Description string   `json:"description,omitempty" doc:"One sentence"`
	Command     string   `json:"command" doc:"The program: a path relative to this folder, or a name that is looked for in PATH" min:"1"`
	Args        []string `json:"args,omitempty" doc:"Its arguments"`
	Env         []string `json:"env,omitempty" doc:"Names of environment variables that the program gets; it gets no others"`
	Services    []string `json:"services,omitempty" doc:"Services of the host that it uses" enum:"llm|memory|vars|log"`
	Data        []string `json:"data,omitempty" doc:"Files and folders, relative to this one, that change without a new version"`
	Limits      Limits   `json:"limits,omitzero"`

	content []byte // of the file; a [Seal] covers this text, not the file's content by then
}

// The services of the host that a manifest may list.
const (
	ServiceLLM    = "llm"    // ask the flow's model
	ServiceMemory = "memory" // search the memories of the flow's user
	ServiceVars   = "vars"   // read the data of the step
	ServiceLog    = "log"    // write to the log
)

// Limits bound one plugin. A limit that the manifest leaves out has the default.
type Limits struct {
	StartTimeout Duration `json:"start_timeout" default:"10s" doc:"From the start of the program to its description"`
	Timeout      Duration `json:"timeout" default:"30s" doc:"One request; of a call, the time between two chunks"`
	ExecTimeout  Duration `json:"exec_timeout" default:"10m" doc:"One execution of a call"`
	MaxMessage   int      `json:"max_message_mib" default:"16" min:"1" max:"1024" doc:"The size of a message in MiB, both ways"`
	MaxOutput    int      `json:"max_output_mib" default:"64" min:"1" max:"4096" doc:"All output of one execution in MiB"`
	MaxChunks    int      `json:"max_chunks" default:"100000" min:"1" doc:"The number of chunks of one execution"`
	Concurrency  int      `json:"concurrency" default:"256" min:"1" max:"10000" doc:"Requests that run at the same time; others wait"`
	Restarts     int      `json:"restarts" default:"3" min:"0" max:"100" doc:"How often in a row the program is started again after a failure"`
	HostCalls    int      `json:"host_calls" default:"1000" min:"1" doc:"How often one request may call the host"`
	Memory       Size     `json:"memory,omitempty" doc:"Private memory of each process, like 512MiB; without it there is no limit. Linux only"`
}

// MessageBytes returns the size of the largest message, in bytes.
func (l Limits) MessageBytes() int { return l.MaxMessage << 20 }

// DefaultLimits returns the limits of a manifest that sets none.
func DefaultLimits() Limits {
	var l Limits
	doc := schema.MustFor[Limits]().ApplyDefaults(value.OfMap(nil))
	if err := value.Decode(doc, &l); err != nil {
		panic(err) // the defaults are literals of this package
	}
	return l
}

// Duration is a time span written like 30s or 1m30s.
type Duration time.Duration

// MarshalText writes the span.
func (d Duration) MarshalText() ([]byte, error) { return []byte(time.Duration(d).String()), nil }

// UnmarshalText reads a span with a unit; it must be positive.
func (d *Duration) UnmarshalText(text []byte) error {
	span, err := time.ParseDuration(string(text))
	if err != nil || span <= 0 {
		return wording.Errorf("invalid duration %q (use 30s or 1m30s)", text)
	}
	*d = Duration(span)
	return nil
}

// Size is a number of bytes written like 512MiB or 2GiB.
type Size int64

// MarshalText writes the size.
func (s Size) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// String returns the size with the largest unit that divides it.
func (s Size) String() string {
	if s%(1<<30) == 0 {
		return fmt.Sprintf("%dGiB", s>>30)
	}
	return fmt.Sprintf("%dMiB", s>>20)
}

// UnmarshalText reads a size with a unit; it must be positive.
func (s *Size) UnmarshalText(text []byte) error {
	for unit, shift := range map[string]int{"MiB": 20, "GiB": 30} {
		number, ok := strings.CutSuffix(string(text), unit)
		n, err := strconv.ParseInt(number, 10, 32)
		if ok && err == nil && n > 0 {
			*s = Size(n << shift)
			return nil
		}
	}
	return wording.Errorf("invalid size %q (use 512MiB or 2GiB)", text)
}

// Read reads the plugin.yaml of a folder. The error has a line for each fault, with its
// place: file:line:col: fact (remedy).
func Read(dir string) (*Manifest, error) {
	file := filepath.Join(dir, FileName)
	content, err := calls.ReadFile(file, yaml.MaxBytes)
	if err != nil {
		if other := filepath.Join(dir, misspelledFileName); errors.Is(err, fs.ErrNotExist) && pathExists(other) {
			return nil, wording.Errorf("%s: the manifest of a plugin is called %s (rename it)", other, FileName)
		}
		return nil, wording.Errorf("reading a manifest: %w", err)
	}
	node, err := yaml.Parse(content)
	if err == nil && node == nil {
		err = &yaml.Error{Line: 1, Col: 1, Msg: "the file is empty (a plugin needs name, version and command)"}
	}
	var doc value.Value
	if err == nil {
		doc, err = yaml.Value(node)
	}
	if err != nil {
		return nil, wording.Errorf("%s:%w", file, err)
	}
	m, err := decodeManifest(document{file, node}, doc)
	if err == nil {
		m.content = content
	}
	return m, err
}

// pathExists reports whether a name is taken, also by a link that leads nowhere.
func pathExists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

func decodeManifest(from document, doc value.Value) (*Manifest, error) {
	form := schema.MustFor[Manifest]()
	doc = form.ApplyDefaults(withLimits(doc))
	problems := slices.Concat(findDeceptive(doc, ""), form.Check(doc), manifestProblems(doc))
	if len(problems) > 0 {
		return nil, from.joinProblems(form, problems)
	}
	m := new(Manifest)
	if err := value.Decode(doc, m); err != nil {
		return nil, wording.Errorf("%s: %w", from.file, err)
	}
	m.Description = oneLine(m.Description)
	return m, nil
}

// withLimits adds empty limits to a manifest without any, which the schema then fills
// with their defaults.
func withLimits(doc value.Value) value.Value {
	limits, _ := doc.Get("limits")
	if !limits.IsNull() || doc.Kind() != value.Object {
		return doc
	}
	completed := doc.Map().Clone()
	completed.Set("limits", value.OfMap(nil))
	return value.OfMap(completed)
}

var envName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// manifestProblems finds problems that the schema of a manifest cannot express.
func manifestProblems(doc value.Value) (all schema.Problems) {
	report := func(pointer, hint, format string, args ...any) {
		all = append(all, schema.Problem{Pointer: pointer, Hint: hint}.WithMessage(format, args...))
	}
	for _, key := range []string{"version", "command", "args", "data"} {
		for at, word := range textsAt(doc, key) {
			if strings.ContainsAny(word, "\n\t") {
				report(at, "put it on one line", "%q has a line break or a tab", value.Truncate(word, 60))
			}
		}
	}
	for at, name := range textsAt(doc, "name") {
		if name == "vars" {
			report(at, "give it another name", "a plugin cannot be called vars: flows name variables by that")
		}
	}
	for at, name := range textsAt(doc, "env") {
		if !canPassOn(name) {
			report(at, "list names of variables, such as TZ; the protocol sets PLUGIN_* and SCHEDULER_PLUGIN* itself", "the environment variable %q cannot be passed on", name)
		}
	}
	for at, path := range textsAt(doc, "data") {
		if !filepath.IsLocal(path) || filepath.Clean(path) == "." {
			report(at, "data is relative to plugin.yaml, and below it", "%q is not a path inside the plugin's folder", path)
		}
		if filepath.Clean(path) == FileName {
			report(at, "take it out", "%s is part of what is trusted and cannot be data", FileName)
		}
	}
	for at, command := range textsAt(doc, "command") {
		if isPath(command) && !filepath.IsAbs(command) && !filepath.IsLocal(filepath.Clean(command)) {
			report(at, "give a path below it, an absolute one, or a name in PATH", "%q leaves the plugin's folder", command)
		}
	}
	limits, _ := doc.Get("limits")
	for _, key := range []string{"start_timeout", "timeout", "exec_timeout"} {
		for at, span := range textsAt(limits, key) {
			if err := new(Duration).UnmarshalText([]byte(span)); err != nil {
				report("/limits"+at, "", "%v", err)
			}
		}
	}
	for at, size := range textsAt(limits, "memory") {
		if err := new(Size).UnmarshalText([]byte(size)); err != nil {
			report("/limits"+at, "", "%v", err)
		}
	}
	return all
}

// canPassOn reports whether a plugin may ask for an environment variable.
func canPassOn(name string) bool {
	ofProtocol := strings.HasPrefix(name, "PLUGIN_") || strings.HasPrefix(name, "SCHEDULER_PLUGIN")
	return envName.MatchString(name) && !ofProtocol
}

// Grants reports whether the plugin lists a service of the host.
func (m *Manifest) Grants(service string) bool { return slices.Contains(m.Services, service) }
