package calls

// Warning is what a user should know of a call that goes on all the same: what was left
// out, cut, or done in another way than was asked for.
type Warning struct {
	// Code is a short word for programs, such as fallback. It stays the same where the
	// words of Text change.
	Code string
	// Text is for people.
	Text string
	// Source is what the warning is about: a file, the name of an entry. "" is the place in
	// the flow that Pointer names.
	Source string
	// Pointer is the JSON pointer of the parameter that the warning is about; "" is the step
	// as a whole.
	Pointer string
}

// Warner takes the warnings of a call. It may be used concurrently.
type Warner interface{ Warn(w Warning) }
