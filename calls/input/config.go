package input

import (
	"fmt"
	"maps"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/schema"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/jsonc"
	"github.com/callnode/scheduler/llm/value/wording"
)

// config is a checked configuration: a context_template with its settings.
type config struct {
	Modules  []module `json:"context_template" doc:"The modules of the prompt, in order."`
	Settings settings `json:"settings,omitzero" doc:"How memories, separators and failures are treated." example:"{max_long_term_memory_results: 5}"`

	warnings schema.Problems
	// place formats a problem with its position.
	place func(schema.Problem) wording.Text
	// origin returns the origin of the text at a pointer into the configuration.
	origin func(pointer string) calls.Origin
	// written are the keys of the settings that the configuration has.
	written []string
}

// setOrigin sets the origins of the texts of the configuration.
func (c *config) setOrigin(origin func(pointer string) calls.Origin) {
	c.origin = origin
	c.Settings.origins = make(map[string]calls.Origin, len(c.written))
	for _, key := range c.written {
		c.Settings.origins[key] = origin("/settings/" + value.Escape(key))
	}
}

// module is one part of the prompt that is in or out as a whole, as its importance_func
// decides. It has a module_name and segments.
type module struct {
	Name        string     `json:"module_name" min:"1" doc:"The unique name of the module."`
	Segments    []segment  `json:"segments" doc:"The pieces of the module's text, in order."`
	Importance  importance `json:"importance_func,omitzero" doc:"true (the default): always in. false: never. A name: that importance function decides, or a variable whose value is true or false."`
	OmitIfEmpty *bool      `json:"omit_if_empty,omitempty" doc:"Leave the module out when all its variables are empty. By default so for modules whose variables all come from memory."`
}

// fixedText returns the module's text without its variables: their values are fetched
// when it is known that the module is in.
func (m module) fixedText(separator string) string {
	var texts []string
	for _, s := range m.Segments {
		if !s.isVariable() && s.Value != "" {
			texts = append(texts, s.Value)
		}
	}
	return strings.Join(texts, separator)
}

// segment is a piece of a module's text.
type segment struct {
	Type  string `json:"type" enum:"text|variable" doc:"text is taken as it is; variable gives a name whose value is inserted."`
	Value string `json:"value" doc:"The text, or the name of the variable."`
}

func (s segment) isVariable() bool { return s.Type == "variable" }

// settings are the members of a configuration beside its template. Those
// without a default here have one per language, in lang/.
type settings struct {
	MaxTurns        int    `json:"max_short_term_memory" default:"200" min:"0" max:"200" doc:"How many utterances of the dialogue are shown."`
	MaxTokens       int    `json:"max_short_term_tokens" default:"5000" min:"1" max:"5000" doc:"How many tokens these may have."`
	MaxMemories     int    `json:"max_long_term_memory_results" default:"3" min:"0" max:"1000" doc:"How many memories are shown."`
	Separator       string `json:"prompt_separator" default:"\n\n" doc:"Stands between modules."`
	SegmentSep      string `json:"segment_separator" default:"" doc:"Stands between the segments of a module that are not empty."`
	TurnFormat      string `json:"short_term_format,omitempty" doc:"A line of the dialogue whose role is known: {role}, {content}, {time}." example:"'{role}: {content}'"`
	MemoryFormat    string `json:"long_term_format,omitempty" doc:"A line of the memories: {text}, {score}." example:"'- {text} ({score})'"`
	UnscoredFormat  string `json:"long_term_format_unscored,omitempty" doc:"A line of the memories that have no score: {text}." example:"'- {text}'"`
	UserLabel       string `json:"user_label,omitempty" doc:"What {role} says for the user." example:"Guest"`
	AssistantLabel  string `json:"assistant_label,omitempty" doc:"What {role} says for the assistant." example:"Guide"`
	OnImportanceErr string `json:"on_importance_error" default:"exclude" enum:"exclude|include|fail" doc:"What becomes of a module whose importance function fails."`
	FunctionTimeout string `json:"function_timeout" default:"10s" doc:"How long one function, resolver or look-up may take."`

	timeout time.Duration
	// origins are the origins of the texts of settings, by their keys. A setting without one is a default of the
	// call.
	origins map[string]calls.Origin
}

// traced returns the text of a setting.
func (s settings) traced(key, text string) calls.Traced {
	o, isGiven := s.origins[key]
	if !isGiven || text == "" {
		return calls.Traced{Text: text}
	}
	o.End = len(text)
	return calls.Traced{Text: text, Origins: []calls.Origin{o}}
}

// withDefaults fills the missing settings that depend on the language from the settings of the language.
func (s settings) withDefaults(local settings) settings {
	s.origins = maps.Clone(s.origins)
	for _, field := range []struct {
		key        string
		own, other *string
	}{
		{keyTurnFormat, &s.TurnFormat, &local.TurnFormat},
		{keyMemoryFormat, &s.MemoryFormat, &local.MemoryFormat},
		{keyUnscoredFormat, &s.UnscoredFormat, &local.UnscoredFormat},
		{keyUserLabel, &s.UserLabel, &local.UserLabel},
		{keyAssistantLabel, &s.AssistantLabel, &local.AssistantLabel},
	} {
		if *field.own == "" {
			*field.own = *field.other
			delete(s.origins, field.key)
			if o, isGiven := local.origins[field.key]; isGiven {
				s.origins[field.key] = o
			}
		}
	}
	return s
}

// The keys of settings with texts that go into the prompt.
const (
	keySeparator      = "prompt_separator"
	keySegmentSep     = "segment_separator"
	keyTurnFormat     = "short_term_format"
	keyMemoryFormat   = "long_term_format"
	keyUnscoredFormat = "long_term_format_unscored"
	keyUserLabel      = "user_label"
	keyAssistantLabel = "assistant_label"
)

// importance is the value of importance_func; zero is always.
type importance struct {
	never bool
	name  string
}

// JSONSchema allows a boolean, a name and null, which is the default.
func (importance) JSONSchema() value.Value {
	return value.OfMap(value.Pairs(
		"type", value.OfList(value.OfString("boolean"), value.OfString("string"), value.OfString("null")),
		"minLength", 1, "default", true))
}

// DecodeValue reads a boolean, "true" and "false" in any case, a name or null.
func (i *importance) DecodeValue(v value.Value) error {
	if text, ok := v.Str(); ok {
		truth, isTruth := truthText(text)
		if !isTruth {
			i.name = text
			return nil
		}
		v = value.OfBool(truth)
	}
	include, ok := v.Bool()
	i.never = ok && !include
	return nil
}

func truthText(text string) (truth, ok bool) {
	truth = strings.EqualFold(text, "true")
	return truth, truth || strings.EqualFold(text, "false")
}

var configSchema = sync.OnceValue(schema.MustFor[config])

// checkConfig makes a config from a document. Unknown keys are warnings; every other fault is a problem, all of
// them together. Duplicate names are returned separately, because a lenient reader keeps both modules.
func checkConfig(doc value.Value) (cfg *config, problems, duplicates schema.Problems) {
	cfg = &config{}
	for _, p := range configSchema().Check(doc) {
		switch {
		case p.Keyword == "additionalProperties":
			p.Message += " is ignored"
			cfg.warnings = append(cfg.warnings, p)
			continue
		case p.Pointer == "/context_template" && p.Keyword == "type":
			p.Hint = "a template must be a list of modules, [{module_name, segments}, ...]; names as keys are the old form"
		case p.Keyword == "required" && p.Pointer == "/context_template":
			p.Hint = "context_template is the list of the prompt's modules"
		}
		problems = append(problems, p)
	}
	if len(problems) > 0 {
		return nil, problems, nil
	}
	written, ok := doc.Get("settings")
	cfg.written = written.Map().Keys()
	if !ok {
		m := doc.Map().Clone()
		m.Set("settings", value.OfMap(nil))
		doc = value.OfMap(m)
	}
	if err := value.Decode(configSchema().ApplyDefaults(doc), cfg); err != nil {
		return nil, schema.Problems{calls.ProblemOf("", err)}, nil
	}
	var err error
	cfg.Settings.timeout, err = time.ParseDuration(cfg.Settings.FunctionTimeout)
	if err != nil || cfg.Settings.timeout <= 0 {
		problems = append(problems, schema.Problem{
			Pointer: "/settings/function_timeout", Keyword: "format", Hint: "use 500ms, 10s or 1m",
		}.WithMessage("invalid duration %q", cfg.Settings.FunctionTimeout))
	}
	list, _ := doc.Get("context_template")
	first := map[string]int{}
	for i, m := range cfg.Modules {
		at := fmt.Sprintf("/context_template/%d", i)
		if j, seen := first[m.Name]; seen {
			duplicates = append(duplicates, schema.Problem{
				Pointer: at + "/module_name", Keyword: "unique", Hint: "rename one of them",
			}.WithMessage("duplicate module name %q (first in context_template[%d])", m.Name, j))
		} else {
			first[m.Name] = i
		}
		written, _ := list.List()[i].Get("importance_func")
		if text, ok := written.Str(); ok && m.Importance.name == "" {
			cfg.warnings = append(cfg.warnings, schema.Problem{
				Pointer: at + "/importance_func", Hint: "write it without quotes",
			}.WithMessage("the text %q is taken as a boolean", text))
		}
	}
	return cfg, problems, duplicates
}

// inlineConfig is a config given in the parameters. It is checked when they are
// decoded, so that a flow with a wrong one does not load.
type inlineConfig struct{ *config }

// JSONSchema returns the schema of a config that allows unknown keys: they are
// warnings.
func (inlineConfig) JSONSchema() value.Value {
	return schema.Rewrite(configSchema().Annotated(), func(keywords *value.Map) { keywords.Delete("additionalProperties") })
}

// DecodeValue checks the config; the error is of type [schema.Problems].
func (c *inlineConfig) DecodeValue(v value.Value) error {
	cfg, problems, duplicates := checkConfig(v)
	problems = append(problems, duplicates...)
	if len(problems) > 0 {
		for i := range problems {
			problems[i].Pointer = "/config" + problems[i].Pointer
		}
		return problems
	}
	cfg.place = func(p schema.Problem) wording.Text {
		p.Pointer = "/config" + p.Pointer
		return describeProblem(p)
	}
	cfg.setOrigin(func(pointer string) calls.Origin { return calls.Origin{Pointer: "/config" + pointer} })
	c.config = cfg
	return nil
}

// dottedPath writes a JSON pointer as people write paths: context_template[1].type.
func dottedPath(pointer string) string {
	var b strings.Builder
	for token := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
		switch {
		case token != "" && strings.Trim(token, "0123456789") == "":
			b.WriteString("[" + token + "]")
		case b.Len() > 0:
			b.WriteString("." + token)
		default:
			b.WriteString(token)
		}
	}
	return b.String()
}

// describeProblem returns a problem with its place as people write it.
func describeProblem(p schema.Problem) wording.Text {
	p.Pointer = dottedPath(p.Pointer)
	return wording.OfError(p)
}

// maxFile bounds a config file.
const maxFile = 1 << 20

// loadConfig reads the config file at path. For a file that cannot be
// read it returns the default config of the language, local, and a warning, unless
// strict; one that can be read and is wrong is an error, unless lenient.
func loadConfig(env *calls.Env, path string, local *config, strict, lenient bool) (*config, []wording.Text, error) {
	file := path
	if !filepath.IsAbs(file) {
		file = filepath.Join(env.Dir, file)
	}
	data, err := calls.ReadFile(file, maxFile)
	if err != nil {
		if strict {
			return nil, nil, calls.Errorf(calls.NotFound, "reading the config file: %w", err).
				WithHint("correct config_path, or leave strict out to use the default template")
		}
		return local, []wording.Text{wording.Say("the default template is used: reading the config file: %v", err)}, nil
	}
	cfg, warnings, faults := parseConfig(path, data, lenient)
	if strict {
		faults = append(faults, warnings...)
	}
	if len(faults) > 0 {
		all := wording.Join(faults, "\n", "\n")
		if lenient {
			return local, []wording.Text{wording.Say("the default template is used: %s", all)}, nil
		}
		return nil, nil, calls.Errorf(calls.Invalid, "%s", all).
			WithHint("correct the file, or set on_invalid: default to go on with the default template")
	}
	return cfg, warnings, nil
}

// parseConfig reads the text of a config file; name is for messages, which all begin
// with name:line:col.
func parseConfig(name string, data []byte, lenient bool) (cfg *config, warnings, faults []wording.Text) {
	if len(data) > maxFile {
		return nil, nil, []wording.Text{wording.Say("%s:1:1: the file has more than %d bytes", name, maxFile)}
	}
	doc, err := jsonc.Parse(data)
	if err != nil {
		return nil, nil, []wording.Text{wording.Say("%s:%v", name, err)}
	}
	place := func(p schema.Problem) wording.Text {
		line, col := doc.At(p.Pointer)
		return wording.Say("%s:%d:%d: %s", name, line, col, describeProblem(p))
	}
	cfg, problems, duplicates := checkConfig(doc.Value)
	if !lenient {
		problems = append(problems, duplicates...)
		duplicates = nil
	}
	if len(problems) > 0 {
		return nil, nil, describeAll(problems, place)
	}
	cfg.place = place
	cfg.setOrigin(func(pointer string) calls.Origin {
		line, _ := doc.At(pointer)
		return calls.Origin{File: name, Line: line, Computed: true} // JSON has escapes
	})
	return cfg, describeAll(append(duplicates, cfg.warnings...), place), nil
}

func describeAll(problems schema.Problems, place func(schema.Problem) wording.Text) (texts []wording.Text) {
	for _, p := range problems {
		texts = append(texts, place(p))
	}
	return texts
}
