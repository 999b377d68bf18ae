package skill

import (
	"cmp"
	"regexp"
	"runtime"
	"slices"
	"strings"

	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/llm/value/yaml"
)

// Skill is one skill that was found.
type Skill struct {
	// Name is the directory's; the name in the front matter does not count.
	Name string
	// Description is taken from the front matter, or is the name.
	Description string
	// Location is the path of the SKILL.md as it is shown to the model.
	Location string
	// Body is the instructions.
	Body string
	// Content is the unchanged file, and BodyStart the byte at which Body begins in it when it has no byte-order
	// mark, and LF for CRLF and CR.
	Content   string
	BodyStart int
	// Folder is the directory's path relative to its [Source], for example letters or writing/letters.
	Folder string
	// Dir is the directory of Location, which paths in Body start at; "" if it has no other file.
	Dir string
	// AllowedTools names the tools that may be used with the skill; nil if it allows all.
	AllowedTools []string
	// Always reports whether the body belongs into every prompt.
	Always bool
	// Hidden reports whether the skill is hidden from the model: only people use it.
	Hidden bool
	// Missing lists the requirements that the machine lacks: "CLI: gh", "CLI: curl or wget", "ENV: TOKEN", "OS:
	// darwin".
	Missing []string
}

// Available reports whether everything that the skill needs is there.
func (s *Skill) Available() bool { return len(s.Missing) == 0 }

// Host answers questions about the machine. The caller of [Load] makes it.
type Host struct {
	// OS is the operating system as Go names it; "" is this one.
	OS string
	// LookPath finds a program; an error means that there is none.
	LookPath func(name string) (string, error)
	// Getenv is the value of an environment variable, "" if it is not set.
	Getenv func(name string) string
}

// Interpret makes a Skill of a file. The warnings are about repairs, departures from the standard, and clients'
// metadata without a meaning.
func Interpret(dir, location string, f File, host Host) (*Skill, []wording.Text) {
	s := &Skill{
		Name:        dir,
		Description: strings.TrimSpace(scalarText(memberOf(f.Meta, "description"))),
		Location:    location,
		Body:        f.Body,
		Hidden:      isTruthy(memberOf(f.Meta, "disable-model-invocation")),
	}
	s.AllowedTools = allowedTools(f.Meta)
	warnings := f.Repaired
	for _, p := range Validate(dir, f) {
		// Clients add fields of their own; that is not a fault of the skill.
		if p.Rule != UnknownField {
			warnings = append(warnings, p.Message)
		}
	}
	if s.Description == "" {
		s.Description = dir
	}
	client, problems := clientData(f.Meta)
	warnings = append(warnings, problems...)
	s.Always = isTruthy(memberOf(f.Meta, "always")) || client.active
	s.Missing = client.missing(host)
	return s, warnings
}

// Instructions returns the body, below the directory that its paths start at.
func (s *Skill) Instructions() string {
	if s.Dir == "" {
		return s.Body
	}
	return "Base directory: " + s.Dir + "\n\n" + s.Body
}

// allowedTool is one of a list of tools apart by spaces or commas; parentheses may limit its use, as in Bash(git
// add:*).
var allowedTool = regexp.MustCompile(`[^\s,()]+(?:\([^)]*\))?`)

// allowedTools returns the names in allowed-tools, a text or a list; nil without it.
func allowedTools(meta *value.Map) []string {
	v, ok := meta.Get("allowed-tools")
	if !ok || v.IsNull() {
		return nil
	}
	names := []string{}
	for _, text := range append(stringList(value.OfMap(meta), "allowed-tools"), "") {
		for _, name := range allowedTool.FindAllString(text, -1) {
			name, _, _ = strings.Cut(name, "(")
			names = append(names, name)
		}
	}
	return names
}

// client is the requirements in a client's member of metadata.
type client struct {
	bins, env []string
	// anyBins are programs, one of which is enough; systems the operating systems that it works on.
	anyBins, systems []string
	// active is nanobot's always: the body belongs into every prompt.
	active bool
	// ungated is OpenClaw's always: the skill's requirements are not checked.
	ungated bool
}

// clientNames are the members of metadata that have a skill's requirements, the first of which counts: nanobot's,
// and OpenClaw's under all its names so far.
func clientNames() []string { return []string{"nanobot", "openclaw", "clawdbot", "moltbot", "clawdis"} }

// clientData reads the client's member of metadata. metadata may be a mapping or a string of JSON.
func clientData(meta *value.Map) (c client, warnings []wording.Text) {
	metadata := memberOf(meta, "metadata")
	if s := strings.TrimSpace(scalarText(metadata)); s != "" {
		var err error
		metadata, err = jsonText(s)
		if err != nil {
			return c, []wording.Text{wording.Say("metadata is neither a mapping nor JSON, and is ignored")}
		}
	}
	name := metadata.Map().FirstKey(clientNames()...)
	data, ok := metadata.Get(name)
	if !ok {
		return c, nil
	}
	isNanobot := name == "nanobot"
	if data.Kind() != value.Object {
		return c, []wording.Text{wording.Say("the client's part of metadata is not a mapping and is ignored")}
	}
	always, _ := data.Get("always")
	c.active, c.ungated = isNanobot && isTruthy(always), !isNanobot && isTruthy(always)
	requires, isGiven := data.Get("requires")
	if isGiven && requires.Kind() != value.Object {
		return c, []wording.Text{wording.Say("requires in metadata is not a mapping and is ignored")}
	}
	c.bins, c.env = stringList(requires, "bins"), stringList(requires, "env")
	known := []string{"bins", "env"}
	if !isNanobot {
		c.anyBins, c.systems = stringList(requires, "anyBins"), stringList(data, "os")
		known = append(known, "anyBins")
	}
	if c.ungated {
		return c, nil
	}
	return c, unreadRequirements(requires, known)
}

// unreadRequirements warns of members of requires that are not known, for example config: settings
// of OpenClaw's own file, such as channels.slack, which exist there alone.
func unreadRequirements(requires value.Value, known []string) (warnings []wording.Text) {
	for key, v := range requires.Map().All() {
		named := strings.Join(stringList(requires, key), ", ")
		if slices.Contains(known, key) || isNothing(v) {
			continue
		}
		warnings = append(warnings, wording.Say("requires.%s in metadata is not read, the skill is offered without it: %s", key, value.Truncate(cmp.Or(named, v.String()), 200)))
	}
	return warnings
}

// isNothing reports whether a member asks for nothing, for example [] or null.
func isNothing(v value.Value) bool {
	switch v.Kind() {
	case value.List:
		return len(v.List()) == 0
	case value.Object:
		return v.Map().Len() == 0
	default:
		return scalarText(v) == ""
	}
}

// jsonText reads JSON with all scalars as text, like front matter: JSON is YAML.
func jsonText(s string) (value.Value, error) {
	root, err := yaml.Parse([]byte(s))
	if err != nil || root == nil {
		return value.Value{}, err
	}
	return (&reader{left: maxNodes}).read(root)
}

// stringList returns a list of names; a single one need not be a list.
func stringList(v value.Value, key string) []string {
	v, _ = v.Get(key)
	if s := scalarText(v); s != "" {
		return []string{s}
	}
	var list []string
	for _, item := range v.List() {
		if s := scalarText(item); s != "" {
			list = append(list, s)
		}
	}
	return list
}

func (c *client) missing(host Host) []string {
	var missing []string
	if c.ungated {
		return nil
	}
	isAbsent := func(name string) bool {
		_, err := host.LookPath(name)
		return err != nil
	}
	for _, name := range c.bins {
		if isAbsent(name) {
			missing = append(missing, "CLI: "+name)
		}
	}
	if len(c.anyBins) > 0 && !slices.ContainsFunc(c.anyBins, func(name string) bool { return !isAbsent(name) }) {
		missing = append(missing, "CLI: "+strings.Join(c.anyBins, " or "))
	}
	for _, name := range c.env {
		if host.Getenv(name) == "" {
			missing = append(missing, "ENV: "+name)
		}
	}
	if !c.worksOn(cmp.Or(host.OS, runtime.GOOS)) {
		missing = append(missing, "OS: "+strings.Join(c.systems, " or "))
	}
	return missing
}

// worksOn reports whether a skill works on an operating system. Skills name them as Node.js does,
// for example darwin and win32.
func (c *client) worksOn(system string) bool {
	other := map[string]string{"darwin": "macos", "windows": "win32"}[system]
	return len(c.systems) == 0 || slices.ContainsFunc(c.systems, func(name string) bool {
		return strings.EqualFold(name, system) || other != "" && strings.EqualFold(name, other)
	})
}

// isTruthy reads a boolean as YAML 1.1 and people write it.
func isTruthy(v value.Value) bool {
	switch strings.ToLower(scalarText(v)) {
	case "true", "yes", "on", "y", "1":
		return true
	}
	return false
}
