package calls

import "github.com/callnode/scheduler/llm/value/wording"

// Say formats a message of a call in the built-in languages. The Chinese format is that of
// the catalog below, which has the messages of all calls; what it does not have stays English.
func Say(format string, args ...any) Text { return chinese.Say(format, args...) }

// chinese are the messages of calls by their English formats.
var chinese = wording.Catalog{}
