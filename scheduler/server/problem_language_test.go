package server_test

import (
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/callnode/scheduler/scheduler/server/store"
)

// TestProblemsInTheLanguageOfTheClient asks for the same mistakes in each language: sentences of the server, and
// of the libraries below it.
func TestProblemsInTheLanguageOfTheClient(t *testing.T) {
	dir := t.TempDir()
	f := newFixture(t, dir, nil, nil)
	chinese := "language: zh\nsteps:\n  - {id: a, call: chta}\n"
	if err := os.WriteFile(filepath.Join(dir, "flows", "chinese.yaml"), []byte(chinese), 0o600); err != nil {
		t.Fatal(err)
	}
	token := f.token("lin", store.Admin)
	for _, tt := range []struct{ method, path, body, en, zh string }{
		{"GET", "/api/v1/runs?limit=0", "", "validation failed", "请求的内容不符合要求"},
		{"GET", "/api/v1/runs?limit=0", "", `"message":"query parameter limit: expected number >= 1"`, `"message":"query 参数 limit：应为不小于 1 的数字"`},
		{"GET", "/api/v1/runs?limit=x", "", "query parameter limit: invalid integer", "query 参数 limit：不是整数"},
		{"GET", "/api/v1/runs/nope", "", `"title":"Not Found"`, `"title":"不存在"`},
		{"POST", "/api/v1/calls/template", `{"nope": 1}`, `"message":"unexpected property"`, `"message":"没有这个属性"`},
		{"POST", "/api/v1/calls/template", `{`, "unexpected end of JSON input", "JSON 提前结束"},
		{"GET", "/api/v1/nothing", "", "there is no such path", "没有这个路径"},
		{"POST", "/api/v1/runs", `{"flow": "echo", "inputs": 5}`, "must be an object", "必须是对象"},
		{"POST", "/api/v1/tokens", `{"name": 5}`, "expected required property scopes to be present", "缺少必填属性 scopes"},
		{"POST", "/api/v1/runs", `{"flow": "broken"}`, `did you mean \"chat\"?`, `是否想写 \"chat\"？`},
		{"POST", "/api/v1/runs", `{"flow": "chinese"}`, `did you mean \"chat\"?`, `是否想写 \"chat\"？`},
		{"GET", "/api/v1/flows/broken", "", `did you mean \"chat\"?`, `是否想写 \"chat\"？`},
		{"GET", "/api/v1/flows/chinese", "", `did you mean \"chat\"?`, `是否想写 \"chat\"？`},
		{"GET", "/api/v1/flows/chinese/graph", "", `did you mean \"chat\"?`, `是否想写 \"chat\"？`},
		{"GET", "/api/v1/tests", "", `did you mean \"chat\"?`, `是否想写 \"chat\"？`},
		{"POST", "/v1/chat/completions", `{"model": "broken", "messages": [{"role": "user", "content": "q"}]}`, "Something went wrong here", "这里出了点问题"},
		{"POST", "/v1/chat/completions", `{"model": "chinese", "messages": [{"role": "user", "content": "q"}]}`, "这里出了点问题", "这里出了点问题"}, // the language of the flow
		{"POST", "/api/v1/lint", `{"file": "echo", "text": "steps: [{id: a, call: chta}]"}`, `did you mean \"chat\"?`, `是否想写 \"chat\"？`},
	} {
		for language, want := range map[string]string{"": tt.en, "en": tt.en, "zh-CN,zh;q=0.9,en;q=0.1": tt.zh} {
			got := f.do(token, tt.method, tt.path, tt.body, "Accept-Language", language)
			content := "en"
			if language != "" && language != "en" {
				content = "zh"
			}
			isError := got.status >= http.StatusBadRequest && tt.path != "/v1/chat/completions" // that has the form of another API
			if isError && got.header.Get("Content-Language") != content {
				t.Errorf("%s %s in %q: status %d, Content-Language %q", tt.method, tt.path, language, got.status, got.header.Get("Content-Language"))
			}
			if isError && !slices.Contains(got.header.Values("Vary"), "Accept-Language") {
				t.Errorf("%s %s: Vary %q", tt.method, tt.path, got.header.Values("Vary"))
			}
			if !strings.Contains(got.text, want) {
				t.Errorf("%s %s in %q: want %q in %s", tt.method, tt.path, language, want, got.text)
			}
		}
	}
}

// TestPointersOfUnknownMembers: a name may have slashes, dots and brackets.
func TestPointersOfUnknownMembers(t *testing.T) {
	f := newFixture(t, t.TempDir(), nil, nil)
	token := f.token("lin", store.Admin)
	for _, tt := range []struct{ path, body, want string }{
		{"/api/v1/calls/template", `{"/city": 1}`, `"pointer":"/~1city"`},
		{"/api/v1/calls/template", `{"a.b~[0]": 1}`, `"pointer":"/a.b~0[0]"`},
		{"/api/v1/calls/template", `{"nope": 1}`, `"pointer":"/nope"`},
		{"/api/v1/tokens", `{"name": "n", "scopes": [5]}`, `"pointer":"/scopes/0"`},
	} {
		if got := f.do(token, "POST", tt.path, tt.body); !strings.Contains(got.text, tt.want) {
			t.Errorf("%s: want %s in %s", tt.body, tt.want, got.text)
		}
	}
}
