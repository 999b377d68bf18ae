package flow

import "github.com/callnode/scheduler/llm/value/wording"

// say formats a message in the built-in languages.
func say(format string, args ...any) wording.Text { return chinese.Say(format, args...) }

// chinese are the messages of this package by their English formats.
var chinese = wording.Catalog{}
