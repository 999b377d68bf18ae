package flow

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/callnode/scheduler/scheduler/flow/internal/yamltext"
)

// FuzzFlow reads any text as a flow: it never panics, and every problem has a
// place in the file.
func FuzzFlow(f *testing.F) {
	files, _ := filepath.Glob("testdata/*/*.yaml")
	for _, file := range files {
		src, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(src))
	}
	f.Add("steps: [{id: a, call: chat, with: {user: {{ x }} y}}]")
	f.Add("steps: [{id: a, call: chat, when: \"{{ inputs. }}\", for_each: \"{{ ( }}\", with: \"{{ ) }}\"}]\noutputs: {a: \"{{ | }}\"}")
	loader := fakeLoader(f)
	loader.ReadFile = func(path string) ([]byte, error) {
		return nil, fmt.Errorf("%s: nothing is read here", path)
	}
	f.Fuzz(func(t *testing.T, src string) {
		flow, problems := loader.Parse("f.yaml", []byte(src))
		if (flow == nil) != problems.HasErrors() {
			t.Fatalf("flow is nil: %v, problems: %v", flow == nil, problems)
		}
		lines := bytes.Split(bytes.TrimPrefix([]byte(src), yamltext.ByteOrderMark), []byte("\n"))
		for _, p := range problems {
			if p.Pos.File != "f.yaml" || p.Pos.Line < 1 || p.Pos.Line > len(lines) ||
				p.Pos.Col < 1 || p.Pos.Col > utf8.RuneCount(lines[p.Pos.Line-1])+1 {
				t.Fatalf("no such place: %s", p)
			}
		}
		checkOrder(t, problems)
	})
}

// bigFlow returns a flow of n steps in a chain, or in a fan that one step joins; each
// uses the output of one before.
func bigFlow(n int, fan bool) []byte {
	var b strings.Builder
	b.WriteString("inputs: {type: object, properties: {x: {type: string}}}\nsteps:\n")
	b.WriteString("  - {id: s0, call: chat, with: {user: \"{{ inputs.x }}\"}}\n")
	for i := 1; i < n-1; i++ {
		before, needs := i-1, ""
		if fan {
			before, needs = 0, "\n    needs: [s0]"
		}
		fmt.Fprintf(&b, "  - id: s%d\n    call: chat%s\n    with: {user: \"{{ s%d.text }} and {{ s0.text }}\", temperature: 1}\n", i, needs, before)
	}
	needs := ""
	if fan {
		ids := make([]string, 0, n)
		for i := 1; i < n-1; i++ {
			ids = append(ids, fmt.Sprintf("s%d", i))
		}
		needs = ", needs: [" + strings.Join(ids, ", ") + "]"
	}
	fmt.Fprintf(&b, "  - {id: last, call: chat%s, with: {user: \"{{ s1.text }}\"}}\n", needs)
	return []byte(b.String())
}

// A flow of many steps is read whole; the benchmark says how fast.
func TestBigFlow(t *testing.T) {
	for _, fan := range []bool{false, true} {
		flow, problems := fakeLoader(t).Parse("f.yaml", bigFlow(2000, fan))
		if flow == nil || len(flow.Steps) != 2000 || len(problems) > 0 {
			t.Fatalf("fan %v: %v", fan, problems)
		}
	}
}

func BenchmarkLoad(b *testing.B) {
	for _, shape := range []string{"chain", "fan"} {
		for _, n := range []int{100, 1000, 10000} {
			b.Run(fmt.Sprintf("%s/%d", shape, n), func(b *testing.B) {
				loader := fakeLoader(b)
				src := bigFlow(n, shape == "fan")
				b.ReportAllocs()
				for b.Loop() {
					if flow, problems := loader.Parse("f.yaml", src); flow == nil {
						b.Fatal(problems)
					}
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n)/1000, "us/step")
			})
		}
	}
}
