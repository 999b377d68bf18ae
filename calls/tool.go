package calls

// Tool is a tool that a call offers to the model that it asks. [Definition.Tools] lists them.
type Tool struct {
	Name string
	// Call is the call that the tool runs, such as flow for a flow. "" is none: the caller runs the tool, or, with
	// IsOwn, the call itself does, for example an agent that reads a file.
	Call  string
	IsOwn bool
	// Pointer is the JSON pointer of the parameter that lists it, "" for an own one.
	Pointer string
	// Maybe is set for a tool that only some runs have, such as read_skill: a workspace may have no skills.
	Maybe bool
}
