package inchat_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/inchat"
	"github.com/callnode/scheduler/llm/value"
)

// BenchmarkConstruct puts 200 presets and a world book of conditional entries into a long chat, parameters
// and output included. The ratio compares with the measured time of the Python original for these sizes.
func BenchmarkConstruct(b *testing.B) {
	for _, size := range []struct {
		messages, entries int
		original          time.Duration
	}{{1_000, 2_000, 490 * time.Millisecond}, {10_000, 20_000, 31 * time.Second}} {
		b.Run(fmt.Sprintf("%dx%dx200", size.messages, size.entries), func(b *testing.B) {
			params := chat(size.messages, size.entries, 200)
			def := inchat.Definition()
			for b.Loop() {
				if _, err := run(b, def, params, calls.NewEnv()); err != nil {
					b.Fatal(err)
				}
			}
			each := b.Elapsed() / time.Duration(b.N)
			b.ReportMetric(float64(size.original)/float64(each), "x_faster")
		})
	}
}

// chat makes parameters of messages with 77 characters each.
func chat(messages, entries, presets int) value.Value {
	r := rand.New(rand.NewPCG(1, 1))
	han := func(n int) string {
		var s strings.Builder
		for range n {
			s.WriteRune(rune(0x4e00 + r.IntN(2000)))
		}
		return s.String()
	}
	list := func(n int, item func(i int) *value.Map) value.Value {
		items := make([]value.Value, n)
		for i := range items {
			items[i] = value.OfMap(item(i))
		}
		return value.OfList(items...)
	}
	return value.OfMap(value.Pairs(
		"history", list(messages, func(i int) *value.Map {
			return value.Pairs("role", []string{"user", "assistant"}[i%2], "content", han(77))
		}),
		"presets_in_chat", list(presets, func(i int) *value.Map {
			return value.Pairs("identifier", fmt.Sprint("p", i), "position", "in-chat", "role", "system",
				"depth", r.IntN(20), "order", r.IntN(200), "content", han(30))
		}),
		"world_books", list(entries, func(i int) *value.Map {
			word := func() string { return han(2 + r.IntN(2)) }
			condition := ""
			switch i % 4 {
			case 0:
				condition = "<<keywords:" + word() + "," + word() + ">>"
			case 1:
				condition = "<<keywords:(" + word() + " | " + word() + ") & !" + word() + ">>"
			case 2:
				condition = "<<keywords:none::" + word() + "," + word() + ">>"
			case 3:
				condition = fmt.Sprintf("{{python:legacy_num(getvar('stat.mood[0]'),0) >= %d}}", i%60)
			}
			return value.Pairs("id", i, "name", "词条", "mode", "conditional", "position", "user", "depth", r.IntN(50),
				"order", r.IntN(200), "content", han(30), "condition", condition)
		}),
		"variables", value.Pairs("stat", value.Pairs("mood", []int{35})),
	))
}
