package explain

import (
	"iter"
	"strconv"
	"strings"

	"github.com/callnode/scheduler/llm/value"
)

func pointerTo(members []string) string {
	var pointer strings.Builder
	for _, m := range members {
		pointer.WriteString("/" + value.Escape(m))
	}
	return pointer.String()
}

// cutPointer returns the pointer relative to another; ok is false if it is not at or below it.
func cutPointer(pointer, above string) (below string, ok bool) {
	if !strings.HasPrefix(pointer, above) {
		return "", false
	}
	below = pointer[len(above):]
	return below, below == "" || below[0] == '/'
}

// pointersAbove yields a pointer and those above it, down to "".
func pointersAbove(pointer string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for yield(pointer) && pointer != "" {
			pointer = pointer[:strings.LastIndexByte(pointer, '/')]
		}
	}
}

// atoi reads an index.
func atoi(text string) (i int, ok bool) {
	i, err := strconv.Atoi(text)
	return i, err == nil && i >= 0
}

// textAt returns a member that is a text.
func textAt(v value.Value, name string) (text string, ok bool) {
	member, _ := v.Get(name)
	return member.Str()
}
