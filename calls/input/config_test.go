package input

import (
	"regexp"
	"testing"
)

var placed = regexp.MustCompile(`^c:\d+:\d+: `)

func FuzzConfig(f *testing.F) {
	for _, seed := range []string{
		`{"context_template": []}`,
		"\uFEFF{\"context_template\": [{\"module_name\": \"a\", \"segments\": [{\"type\": \"text\", \"value\": \"x\"},],},] // end\n}",
		`{"context_template": [{"module_name": "a", "segments": [{"type": "variable", "value": "v"}], "importance_func": "true", "omit_if_empty": false}], "settings": {"function_timeout": "1s"}}`,
		`{"context_template": {"main": []}}`,
		`{"context_template": [1, {"module_name": 3}], "settings": {"max_short_term_memory": 1e999}}`,
		`{`, ``, `[]`, `null`,
	} {
		f.Add([]byte(seed), false)
		f.Add([]byte(seed), true)
	}
	f.Fuzz(func(t *testing.T, data []byte, lenient bool) {
		cfg, warnings, faults := parseConfig("c", data, lenient)
		if (cfg == nil) == (len(faults) == 0) {
			t.Fatalf("config %v with the faults %q", cfg, faults)
		}
		for _, text := range append(warnings, faults...) {
			if !placed.MatchString(text.En) {
				t.Fatalf("%q has no place", text)
			}
		}
		if cfg != nil && cfg.Settings.timeout <= 0 {
			t.Fatalf("the timeout is %s", cfg.Settings.timeout)
		}
	})
}

func TestBuiltInConfigsAreWhole(t *testing.T) {
	for language, cfg := range builtIn() {
		s := cfg.Settings
		for _, text := range []string{s.TurnFormat, s.MemoryFormat, s.UnscoredFormat, s.UserLabel, s.AssistantLabel} {
			if text == "" {
				t.Errorf("a setting is missing in lang/%s", language)
			}
		}
	}
}
