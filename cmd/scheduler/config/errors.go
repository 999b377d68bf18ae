package config

import (
	"strconv"
	"strings"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/value/wording"
)

// settingError describes an error in one setting.
type settingError struct {
	pointer string // of the setting, such as /llm/providers/1/name
	unknown bool   // the setting does not exist
	message wording.Text
	hint    wording.Text
}

// settingErrors lists the errors in the settings.
type settingErrors []settingError

// wrongSetting returns the error of a setting, such as llm.providers[1].name.
func wrongSetting(setting, format string, args ...any) error {
	err := wording.Errorf(format, args...)
	pointer := "/" + strings.NewReplacer(".", "/", "[", "/", "]", "").Replace(setting)
	return settingErrors{{pointer: pointer, message: wording.OfError(err), hint: hintOf(err)}}
}

// hintOf returns the hint of an error.
func hintOf(err error) wording.Text {
	return wording.Text{En: calls.HintOf(err), Zh: calls.HintIn(err, "zh")}
}

// Error returns a line for each.
func (e settingErrors) Error() string { return e.In("en") }

// In returns a line for each, in a language.
func (e settingErrors) In(language string) string {
	lines := make([]string, len(e))
	for i := range e {
		lines[i] = e[i].text().In(language)
	}
	return strings.Join(lines, "\n")
}

// prefixPointers returns the errors with a pointer put before theirs.
func (e settingErrors) prefixPointers(pointer string) settingErrors {
	for i := range e {
		e[i].pointer = pointer + e[i].pointer
	}
	return e
}

// settingName returns the name of the setting; "" for the file as a whole.
func (e settingError) settingName() string {
	var name strings.Builder
	for token := range strings.SplitSeq(strings.TrimPrefix(e.pointer, "/"), "/") {
		if _, err := strconv.Atoi(token); err == nil {
			name.WriteString("[" + token + "]")
			continue
		}
		if name.Len() > 0 {
			name.WriteString(".")
		}
		name.WriteString(token)
	}
	return name.String()
}

// text returns the setting's name and the error.
func (e settingError) text() wording.Text {
	if e.pointer == "" {
		return e.message
	}
	if e.unknown {
		return wording.Say("unknown setting %q", e.settingName())
	}
	return wording.Say("%s: %s", e.settingName(), e.message)
}

// settingVariable returns the environment variable that overrides a setting.
func settingVariable(setting string) string {
	return "SCHEDULER_" + strings.ToUpper(strings.ReplaceAll(setting, ".", "_"))
}
