package prompt

// Bounds of every template and rendering. They stop runaway templates long
// before memory or the stack run out, and are far above what a prompt needs.
const (
	maxSource    = 256 << 10 // bytes of a template
	maxNesting   = 300       // parentheses, operators and subscripts inside each other
	maxBlocks    = 100       // statements inside each other
	maxSteps     = 2_000_000 // loop iterations, elements walked, calls, and one per 256 bytes made
	maxCalls     = 100       // macros, callers and recursive loops inside each other
	maxBytes     = 16 << 20  // of the rendered text, and of any string made on the way
	maxItems     = 1_000_000 // of a list made on the way
	maxRange     = 100_000   // of a range, as in Jinja2's sandbox
	maxDigits    = 5000      // of an integer that is written or read
	maxValue     = 1200      // lists and objects inside each other
	maxArguments = 250       // of a call
	maxVars      = 1000      // of a frame or a namespace
	maxPad       = 1 << 20   // columns of a width, an indent or a precision
)
