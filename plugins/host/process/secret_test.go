package process

import (
	"log/slog"
	"strings"
	"testing"

	"github.com/callnode/scheduler/llm/value/secret"
)

// A secret that a process writes is masked in its last words and in its log, wherever they are cut.
func TestSecretsInOutput(t *testing.T) {
	const key = "sk-Qw7z9-Plmokn-4711"
	for offset := range 60 {
		for _, limit := range []int{tailBytes, tailKept, maxLineBytes, maxLineKept} {
			var log strings.Builder
			o := NewOutput(slog.New(slog.NewTextHandler(&log, nil)), secret.SetOf(key))
			_, _ = o.Write([]byte(strings.Repeat("a", limit-offset)))
			_, _ = o.Write([]byte(key + strings.Repeat("b", limit-offset) + "\n"))
			for _, text := range []string{log.String(), o.Tail(0), o.Tail(int64(limit - offset + 3))} {
				for i := range len(key) - 4 {
					if part := key[i : i+5]; strings.Contains(text, part) {
						t.Fatalf("%d before %d: %q is shown", offset, limit, part)
					}
				}
			}
		}
	}
}
