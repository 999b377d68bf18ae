package trigger_test

import (
	"net/http"
	"testing"

	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/scheduler/trigger"
)

func TestReadBody(t *testing.T) {
	for name, test := range map[string]struct{ media, body, want string }{
		"a text":             {"text/plain", "hi", `{"text":"hi"}`},
		"nothing":            {"", "", `{"text":""}`},
		"JSON as any type":   {"", `{"a":1}`, `{"text":"{\"a\":1}","json":{"a":1}}`},
		"a form":             {"application/x-www-form-urlencoded", "b=x+y&a=1&a=2", `{"text":"b=x+y&a=1&a=2","form":{"a":"1","b":"x y"}}`},
		"a form with JSON":   {"application/x-www-form-urlencoded; charset=utf-8", "payload=%7B%22a%22%3A1%7D", `{"text":"payload=%7B%22a%22%3A1%7D","form":{"payload":"{\"a\":1}"},"json":{"a":1}}`},
		"a payload of words": {"application/x-www-form-urlencoded", "payload=hi", `{"text":"payload=hi","form":{"payload":"hi"}}`},
	} {
		t.Run(name, func(t *testing.T) {
			header := http.Header{}
			header.Set("Content-Type", test.media)
			body, err := trigger.ReadBody(header, []byte(test.body), 1<<10)
			if err != nil || value.OfMap(body).JSON() != test.want {
				t.Errorf("got %s, %v", value.OfMap(body).JSON(), err)
			}
		})
	}
}
