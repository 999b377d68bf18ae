package input

import (
	"embed"
	"errors"
	"slices"
	"sync"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/schema"
	"github.com/callnode/scheduler/llm/value/jsonc"
	"github.com/callnode/scheduler/llm/value/wording"
)

//go:embed lang/en lang/zh
var languages embed.FS

// builtIn is the default configs by language.
var builtIn = sync.OnceValue(func() map[string]*config {
	configs := map[string]*config{}
	folders, err := languages.ReadDir("lang")
	if err != nil {
		panic(err) // embedded
	}
	for _, folder := range folders {
		name := "lang/" + folder.Name() + "/" + configName
		data, err := languages.ReadFile(name)
		if err != nil {
			panic(err)
		}
		cfg, warnings, faults := parseConfig(name, data, false)
		faults = slices.Concat(warnings, faults)
		if len(faults) > 0 {
			panic(wording.Join(faults, "\n", "\n").En)
		}
		cfg.setOrigin(func(string) calls.Origin {
			return calls.Origin{Kind: calls.OriginText, Name: "input " + configName, Computed: true}
		})
		configs[name] = cfg
	}
	return configs
})

const configName = "config.jsonc"

// configTexts returns the default configs.
func configTexts() calls.Texts {
	return calls.Texts{Folder: "input", BuiltIn: languages, Check: checkText}
}

// checkText finds faults in a user's default config.
func checkText(_ string, text []byte) []schema.Problem {
	doc, err := jsonc.Parse(text)
	if err != nil {
		p := schema.Problem{Line: 1, Col: 1}.WithMessage("%v", err)
		if fault := (*jsonc.Error)(nil); errors.As(err, &fault) {
			p = schema.Problem{Line: fault.Line, Col: fault.Col}.WithMessage("%s", fault.Text())
		}
		return []schema.Problem{p}
	}
	cfg, problems, duplicates := checkConfig(doc.Value)
	problems = append(problems, duplicates...)
	if cfg != nil {
		for _, p := range cfg.warnings {
			p.Warning = true
			problems = append(problems, p)
		}
	}
	for i, p := range problems {
		problems[i].Line, problems[i].Col = doc.At(p.Pointer)
		if p.Pointer != "" {
			message, _ := p.Text()
			problems[i] = problems[i].WithMessage("%s: %s", dottedPath(p.Pointer), message)
		}
	}
	return problems
}

// defaultConfig returns the default of the language. A user's config need not have all the settings that depend on
// it: the built-in ones are used.
func defaultConfig(env *calls.Env, language string) (*config, error) {
	own := configTexts()
	data, path, err := own.Read(env.Languages, language, configName)
	if err != nil {
		return nil, err
	}
	if cfg, ok := builtIn()[path]; ok {
		return cfg, nil
	}
	cfg, _, faults := parseConfig(path, data, false)
	if len(faults) > 0 {
		return nil, calls.Errorf(calls.Invalid, "%s", wording.Join(faults, "\n", "\n"))
	}
	general, err := defaultConfig(&calls.Env{}, language)
	if err != nil {
		return nil, err
	}
	cfg.Settings = cfg.Settings.withDefaults(general.Settings)
	return cfg, nil
}
