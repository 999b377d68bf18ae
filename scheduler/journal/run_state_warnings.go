package journal

import "slices"

// addWarning keeps the warnings of a step until it begins again.
func (s *RunState) addWarning(step string, t EventType, data *Data) {
	switch t { //nolint:exhaustive // the others have to do with no warning
	case StepWarning:
		s.Warnings = append(s.Warnings, WarningInfo{step, data.Code, data.Text, data.Source})
	case StepStarted, StepRetrying:
		s.Warnings = slices.DeleteFunc(s.Warnings, func(w WarningInfo) bool { return w.Step == step })
	}
}
