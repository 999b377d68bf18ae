package explain

import (
	"slices"

	"github.com/callnode/scheduler/llm/prompt"
)

// alignSecrets returns the trace with the text at a pointer as it is on record. A parameter is
// rendered again with masks in the place of secrets, so whatever was made of one may differ: its
// mask, or its length. ok is false where the rest does not stand in the recorded text, or may
// stand there in more than one way.
func (t *trace) alignSecrets(pointer, rendered, recorded string) (aligned *trace, ok bool) {
	at := slices.IndexFunc(t.members, func(m prompt.Member) bool { return m.Pointer == pointer })
	if at < 0 {
		return nil, false
	}
	placed, ok := prompt.AlignSpans(t.members[at].Spans, rendered, recorded, isOfSecret)
	if !ok {
		return nil, false
	}
	copied := *t
	copied.members = slices.Clone(t.members)
	copied.members[at].Spans = placed
	return &copied, true
}

// isOfSecret reports whether a secret has gone into a span.
func isOfSecret(span prompt.Span) bool {
	return slices.ContainsFunc(span.Sources, func(from prompt.ValueRef) bool { return from.Name == "secrets" })
}
