package startup

import (
	"os"
	"runtime"
	"runtime/metrics"
	"testing"
	"time"
)

// After the first collection the heap is collected as usual.
func TestUsualAfterFirst(t *testing.T) {
	if os.Getenv("GOGC") != "" {
		t.Skip("GOGC is set")
	}
	percent := []metrics.Sample{{Name: "/gc/gogc:percent"}}
	for {
		runtime.GC()
		metrics.Read(percent)
		switch got := percent[0].Value.Uint64(); got {
		case usualPercent:
			return
		case firstPercent: // the cleanup runs in a goroutine
			time.Sleep(time.Millisecond)
		default:
			t.Fatalf("GOGC is %d", got)
		}
	}
}
