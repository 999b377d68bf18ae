package calls

// Warning informs the user about a call that still continues: for example that it left out or cut something, or
// worked in another way than requested.
type Warning struct {
	// Code is a short word for programs, such as fallback. It stays the same even if the words of Text change.
	Code string
	// Text is for people.
	Text string
	// Source is the subject of the warning: a file, the name of an entry. "" is the place in the flow that Pointer
	// names.
	Source string
	// Pointer is the JSON pointer of the parameter that the warning is about; "" is the step
	// as a whole.
	Pointer string
}

// Warner takes the warnings of a call. It may be used concurrently.
type Warner interface{ Warn(w Warning) }
