package journal

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// StepPath names a step, or an item of it: step[3].
func StepPath(step string, index *int) string {
	if index == nil {
		return step
	}
	return fmt.Sprintf("%s[%d]", step, *index)
}

// SplitPath returns the inverse of stepPath.
func SplitPath(path string) (step string, index *int) {
	open := strings.LastIndexByte(path, '[')
	if open < 0 || !strings.HasSuffix(path, "]") {
		return path, nil
	}
	n, err := strconv.Atoi(path[open+1 : len(path)-1])
	if err != nil {
		return path, nil
	}
	return path[:open], &n
}

// OuterPath returns the step that another runs in: outer for outer[3] and outer/inner, ""
// for one of the flow itself.
func OuterPath(id string) string {
	if strings.HasSuffix(id, "]") {
		return id[:strings.LastIndexByte(id, '[')]
	}
	return id[:max(strings.LastIndexByte(id, '/'), 0)]
}

// pseudoStep matches the id of a part that a step runs inside itself, a piece of its work or a call: outer/slot-1,
// outer/mcp.shop.getPrice-2. The id of a step has no hyphen.
var pseudoStep = regexp.MustCompile(`/[^/]+-[0-9]+$`)

// IsPseudoStep reports whether id belongs to a part that a step runs inside itself, for example outer/slot-1.
func IsPseudoStep(id string) bool { return pseudoStep.MatchString(id) }
