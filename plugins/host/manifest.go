package host

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/schema"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/yaml"
)

// ManifestName is the name of the file by which a folder is a plugin.
const ManifestName = "plugin.yaml"

// misnamed is how the name of a manifest is written by mistake.
const misnamed = "plugin.yml"

// Manifest is what the author of a plugin writes. What the plugin offers is not in
// it: the plugin says so itself.
type Manifest struct {
	Name        string   `json:"name" doc:"kebab-case; flows write it before the dot" pattern:"^[a-z][a-z0-9]*(-[a-z0-9]+)*$"`
	Version     string   `json:"version" doc:"The same that the program says" min:"1"`
	Description string   `json:"description,omitempty" doc:"One sentence"`
	Command     string   `json:"command" doc:"The program: a path relative to this folder, or a name that is looked for in PATH" min:"1"`
	Args        []string `json:"args,omitempty" doc:"Its arguments"`
	Env         []string `json:"env,omitempty" doc:"Names of environment variables that the program gets; it gets no others"`
	Services    []string `json:"services,omitempty" doc:"What it uses of the host" enum:"llm|memory|vars|log"`
	Data        []string `json:"data,omitempty" doc:"Files and folders, relative to this one, that change without a new version"`
	Limits      Limits   `json:"limits,omitzero"`
}

// Limits bound one plugin. What is not given has the default.
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
}

func (l Limits) maxMessage() int { return l.MaxMessage << 20 }

// Duration is a time span written like 30s or 1m30s.
type Duration time.Duration

// MarshalText writes the span.
func (d Duration) MarshalText() ([]byte, error) { return []byte(time.Duration(d).String()), nil }

// UnmarshalText reads a span with a unit; it must be positive.
func (d *Duration) UnmarshalText(text []byte) error {
	span, err := time.ParseDuration(string(text))
	if err != nil || span <= 0 {
		return fmt.Errorf("%q is no time span: write it like 30s or 1m30s", text)
	}
	*d = Duration(span)
	return nil
}

var envName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// ReadManifest reads the plugin.yaml of a folder. The error has a line for each fault,
// with its place: file:line:col: what is wrong (what to do).
func ReadManifest(dir string) (*Manifest, error) {
	file := filepath.Join(dir, ManifestName)
	content, err := calls.ReadFile(file, yaml.MaxBytes)
	if err != nil {
		if other := filepath.Join(dir, misnamed); errors.Is(err, fs.ErrNotExist) && exists(other) {
			return nil, fmt.Errorf("%s: a manifest is called %s: rename it", other, ManifestName)
		}
		return nil, fmt.Errorf("reading a manifest: %w", err)
	}
	node, err := yaml.Parse(content)
	if err == nil && node == nil {
		err = &yaml.Error{Line: 1, Col: 1, Msg: "the file is empty: a plugin needs name, version and command"}
	}
	var doc value.Value
	if err == nil {
		doc, err = yaml.Value(node)
	}
	if err != nil {
		return nil, fmt.Errorf("%s:%w", file, err)
	}
	return parseManifest(text{file, node}, doc)
}

// exists says that there is something of that name, also a link that leads nowhere.
func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

func parseManifest(from text, doc value.Value) (*Manifest, error) {
	form := schema.MustFor[Manifest]()
	if limits, ok := doc.Get("limits"); !ok || limits.IsNull() {
		if doc.Kind() == value.Object {
			withLimits := doc.Map().Clone()
			withLimits.Set("limits", value.OfMap(nil))
			doc = value.OfMap(withLimits)
		}
	}
	doc = form.ApplyDefaults(doc)
	problems := slices.Concat(unreadable(doc, ""), form.Check(doc), manifestProblems(doc))
	if len(problems) > 0 {
		return nil, from.errors(form, problems)
	}
	m := new(Manifest)
	if err := value.Decode(doc, m); err != nil {
		return nil, fmt.Errorf("%s: %w", from.file, err)
	}
	m.Description = oneLine(m.Description)
	return m, nil
}

// manifestProblems finds what the schema of a manifest does not say.
func manifestProblems(doc value.Value) (all schema.Problems) {
	found := func(pointer, hint, format string, args ...any) {
		all = append(all, schema.Problem{Pointer: pointer, Message: fmt.Sprintf(format, args...), Hint: hint})
	}
	for _, key := range []string{"version", "command", "args", "data"} {
		for at, word := range texts(doc, key) {
			if strings.ContainsAny(word, "\n\t") {
				found(at, "put it on one line", "%q has a line break or a tab", cut(word, 60))
			}
		}
	}
	for at, name := range texts(doc, "name") {
		if name == "vars" {
			found(at, "give it another name", "flows name variables by vars")
		}
	}
	for at, name := range texts(doc, "env") {
		if !envName.MatchString(name) || strings.HasPrefix(name, "PLUGIN_") || strings.HasPrefix(name, "SCHEDULER_PLUGIN") {
			found(at, "list names of variables, such as TZ; those of the protocol are not for plugins to choose", "%q cannot be passed on", name)
		}
	}
	for at, path := range texts(doc, "data") {
		if !filepath.IsLocal(path) || filepath.Clean(path) == "." {
			found(at, "data is relative to plugin.yaml, and below it", "%q is no path inside the plugin's folder", path)
		}
		if filepath.Clean(path) == ManifestName {
			found(at, "take it out", "%s says what is trusted, and cannot change without it", ManifestName)
		}
	}
	for at, command := range texts(doc, "command") {
		if isPath(command) && !filepath.IsAbs(command) && !filepath.IsLocal(filepath.Clean(command)) {
			found(at, "give a path below it, an absolute one, or a name in PATH", "%q leaves the plugin's folder", command)
		}
	}
	limits, _ := doc.Get("limits")
	for _, key := range []string{"start_timeout", "timeout", "exec_timeout"} {
		for at, span := range texts(limits, key) {
			if err := new(Duration).UnmarshalText([]byte(span)); err != nil {
				found("/limits"+at, "", "%v", err)
			}
		}
	}
	return all
}

// isPath says that a command is a path, and no name to look for in PATH.
func isPath(command string) bool { return strings.ContainsRune(command, '/') }

// grants says whether the plugin wants a service of the host.
func (m *Manifest) grants(service string) bool { return slices.Contains(m.Services, service) }

// CommandLine is the program and its arguments, as people would write them.
func (m *Manifest) CommandLine() string {
	return strings.Join(append([]string{m.Command}, m.Args...), " ")
}

// errNotInstalled is the error of a plugin that is trusted but is in no folder.
var errNotInstalled = errors.New("its folder was not found")
