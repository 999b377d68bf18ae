package replay

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/callnode/scheduler/llm/value"
)

// FuzzCassette checks that the reader accepts anything, and that the parts it understood survive writing and
// reading.
func FuzzCassette(f *testing.F) {
	f.Add([]byte("scheduler: cassette/1\nrecordings:\n  - request: {messages: [{role: user, content: a}], extra: {n: 1.50}}\n    response: b\n"))
	f.Add([]byte("scheduler: cassette/1\nrecordings:\n  - request: {}\n    deltas: [a, {reasoning: |\n        b\n        c\n      , extra: {x: [1]}}]\n"))
	f.Add([]byte("scheduler: cassette/1\nrecordings:\n  - request: {}\n    deltas: [{tool_calls: [{index: 1, name: f, arguments: '{}'}], usage: {input_tokens: 3}}]\n"))
	f.Add([]byte("scheduler: cassette/2\nruns:\n  - now: 2026-11-28T09:00:00Z\n    seed: -1\n    inputs: ab\n    resumed: ['2026-11-29T09:00:00+01:00']\n    models: {'': {provider: p}}\n    recordings:\n      - {kind: http, name: GET x, step: 'a[1]', part: 2, request: {url: x}, answer: {result: {status: 200}}}\n"))
	f.Add([]byte("scheduler: cassette/2\nrecordings:\n  - {name: main, request: {}, error: {status: 500, temporary: true}, deltas: [a]}\n  - {request: {texts: [a]}, vectors: [AAAAAA==], take: 2, ms: 4}\n"))
	f.Fuzz(func(t *testing.T, src []byte) {
		c, err := parseCassette(src)
		if err != nil {
			return
		}
		text, err := c.encodeFile()
		if err != nil {
			t.Fatal(err)
		}
		again, err := parseCassette(text)
		if err != nil {
			t.Fatalf("%v in\n%s", err, text)
		}
		sameValue := cmp.Comparer(func(a, b value.Value) bool { return a.JSON() == b.JSON() })
		if diff := cmp.Diff(c, again, cmp.AllowUnexported(cassette{}, recordedRun{}, recording{}), sameValue, cmpopts.EquateEmpty(), cmp.Comparer(time.Time.Equal)); diff != "" {
			t.Errorf("(-before +after)\n%s\n%s", diff, text)
		}
	})
}

func TestCanonical(t *testing.T) {
	for a, b := range map[string]string{
		`{"b":1,"a":[1.0,{"d":2,"c":3}]}`: `{"a":[1,{"c":3,"d":2}],"b":1e0}`,
		`[1.50, 15e-1, -0, -0.0, 1e3]`:    `[1.5, 1.5, 0, 0, 1000]`,
		`[1e400, 12345678901234567890]`:   `[1e400, 12345678901234567890]`,
	} {
		x, err := value.ParseJSON([]byte(a))
		if err != nil {
			t.Fatal(err)
		}
		y, err := value.ParseJSON([]byte(b))
		if err != nil {
			t.Fatal(err)
		}
		if keyOf(x) != keyOf(y) {
			t.Errorf("%s and %s differ: %s, %s", a, b, appendCanonical(nil, x), appendCanonical(nil, y))
		}
	}
	if keyOf(value.Must("1")) == keyOf(value.Must(1)) {
		t.Error("a text and a number have one key")
	}
}
