package fault

// Bounds of every template and rendering. They stop runaway templates long
// before memory or the stack run out, and are far above what a prompt needs.
const (
	MaxSource    = 256 << 10 // bytes of a template
	MaxNesting   = 300       // parentheses, operators and subscripts inside each other
	MaxBlocks    = 100       // statements inside each other
	MaxSteps     = 2_000_000 // loop iterations, elements walked, calls, and one per 256 bytes made
	MaxCalls     = 100       // macros, callers and recursive loops inside each other
	MaxBytes     = 16 << 20  // of the rendered text, and of any string made on the way
	MaxItems     = 1_000_000 // of a list made on the way
	MaxRange     = 100_000   // of a range, as in Jinja2's sandbox
	MaxDigits    = 5000      // of an integer that is written or read
	MaxValue     = 1200      // lists and objects inside each other
	MaxArguments = 250       // of a call
	MaxVars      = 1000      // of a frame or a namespace
	MaxPad       = 1 << 20   // columns of a width, an indent or a precision
)
