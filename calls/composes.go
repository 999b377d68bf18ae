package calls

// PromptPiece is a stretch of a text that a call puts together of its parameters, as far as that is known before a flow runs: one
// of its fields is set. [Definition.Composes] makes it.
type PromptPiece struct {
	// Size is a text that stays the same, in bytes.
	Size int
	// Text is the JSON pointer of the parameter that is the text, or a list of texts; Messages the pointer of a list
	// of messages.
	Text, Messages string
	// Template is the pointer of the parameter that is a template, Values the pointer of the parameter with the
	// values of its names.
	Template, Values string
	// Variable is a built-in variable that the call prints, such as current_time; Of is the pointer of the parameter that
	// names it.
	Variable, Of string
	// IsFiles is set for files of the machine.
	IsFiles bool
}

// PromptTexts returns the pieces of texts that are parameters, in order.
func PromptTexts(pointers ...string) []PromptPiece {
	pieces := make([]PromptPiece, len(pointers))
	for i, pointer := range pointers {
		pieces[i].Text = pointer
	}
	return pieces
}
