package journal

import "slices"

// CodeFailed is the code of the warning that a step has failed and on_error: continue goes on.
const CodeFailed = "failed"

// addWarning keeps the warnings of a step until it begins again.
func (s *RunState) addWarning(step string, t EventType, data *Data) {
	switch t { //nolint:exhaustive // the others have to do with no warning
	case StepWarning:
		s.Warnings = append(s.Warnings, WarningInfo{step, data.Code, data.Text, data.Source})
	case StepFinished:
		if data.Error != nil {
			s.Warnings = append(s.Warnings, WarningInfo{step, CodeFailed, data.Error.Message, data.Error.Position})
		}
	case StepStarted, StepRetrying:
		s.Warnings = slices.DeleteFunc(s.Warnings, func(w WarningInfo) bool { return w.Step == step })
	}
}
