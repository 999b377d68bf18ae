package processor_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os/exec"
	"testing"

	"github.com/callnode/scheduler/calls/slot/processor"
	"github.com/callnode/scheduler/llm/value"
)

// tool is a schema of a tool with seven fields, as tools usually have.
const tool = `{"type":"object","required":["title","start","attendees","room"],"properties":{
	"title":{"type":"string","minLength":1,"maxLength":200,"description":"What it is about"},
	"start":{"type":"string","pattern":"^\\d{4}-\\d{2}-\\d{2}T\\d{2}:\\d{2}$"},
	"minutes":{"type":"integer","minimum":5,"maximum":480,"default":30},
	"attendees":{"type":"array","minItems":1,"items":{"type":"object","required":["email"],"properties":{"email":{"type":"string"},"optional":{"type":"boolean"}}}},
	"room":{"type":"object","required":["building"],"properties":{"building":{"type":"string"},"floor":{"type":"integer"}}},
	"priority":{"enum":["low","normal","high"]},
	"remote":{"type":"boolean"}}}`

var instances = map[string]string{
	"valid": `{"title":"Review","start":"2026-03-06T10:00","minutes":45,"attendees":[{"email":"a@b.c"},{"email":"d@e.f","optional":true},{"email":"g@h.i"}],
		"room":{"building":"North","floor":3},"priority":"high","remote":false}`,
	"two missing": `{"title":"Review","minutes":45,"attendees":[{"email":"a@b.c"},{"optional":true},{"email":"g@h.i"}],
		"room":{"building":"North","floor":3},"priority":"high","remote":false}`,
}

// BenchmarkCheck checks data, and writes the schema of the missing values; x-python is how many times as long
// Python's jsonschema takes to find the faults.
func BenchmarkCheck(b *testing.B) {
	for _, name := range []string{"valid", "two missing"} {
		b.Run(name, func(b *testing.B) {
			p, err := processor.New(parse(b, tool))
			if err != nil {
				b.Fatal(err)
			}
			data := parse(b, instances[name])
			var remaining value.Value
			b.ReportAllocs()
			for b.Loop() {
				remaining = p.Check(data)
			}
			ours := float64(b.Elapsed().Nanoseconds()) / float64(b.N)
			theirs, faults, err := pythonCheck(tool, instances[name])
			if err != nil {
				b.Logf("no comparison: %v", err)
				return
			}
			if have := len(get(remaining, "required").List()); have != faults {
				b.Fatalf("Python finds %d faults, we %d", faults, have)
			}
			b.ReportMetric(theirs/ours, "x-python")
		})
	}
}

const python = `
import json, sys, timeit
from jsonschema import Draft7Validator
job = json.load(sys.stdin)
v = Draft7Validator(job["schema"])
run = lambda: list(v.iter_errors(job["data"]))
n = 500
best = min(timeit.repeat(run, number=n, repeat=5)) / n
json.dump({"ns": best * 1e9, "faults": len(run())}, sys.stdout)
`

// pythonCheck returns the best time of a check in nanoseconds, and the number of
// errors.
func pythonCheck(schema, data string) (ns float64, faults int, err error) {
	job, err := json.Marshal(map[string]json.RawMessage{"schema": json.RawMessage(schema), "data": json.RawMessage(data)})
	if err != nil {
		return 0, 0, err
	}
	cmd := exec.Command("python3", "-c", python)
	cmd.Stdin = bytes.NewReader(job)
	out, err := cmd.Output()
	if err != nil {
		return 0, 0, fmt.Errorf("python3 with jsonschema is not installed (%w)", err)
	}
	var result struct {
		NS     float64
		Faults int
	}
	err = json.Unmarshal(out, &result)
	return result.NS, result.Faults, err
}
