package wording

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"os"
	"syscall"
	"testing"
)

type localError Text

func (e localError) Error() string             { return e.En }
func (e localError) In(language string) string { return Text(e).In(language) }

type listKind struct{}

func (listKind) String() string { return "list" }
func (listKind) Name() Text     { return Text{"list", "列表"} }

func TestSay(t *testing.T) {
	old := catalogs
	t.Cleanup(func() {
		catalogs = old
		together.Store(nil)
	})
	Add(Catalog{"%s has no %q": "%[2]q 不在%[1]s中", "in %s: %w": "%[2]w（位于 %[1]s）", "reading: %w": "读取：%w", "empty": "为空"})
	inner := localError{"there is no file", "没有这个文件"}
	for name, tt := range map[string]struct{ got, want Text }{
		"known":        {Say("%s has no %q", Text{"a list", "列表"}, "x"), Text{`a list has no "x"`, `"x" 不在列表中`}},
		"unknown":      {Say("%d left", 2), Text{"2 left", "2 left"}},
		"error":        {Say("reading: %w", inner), Text{"reading: there is no file", "读取：没有这个文件"}},
		"turned":       {Say("in %s: %w", "a", inner), Text{"in a: there is no file", "没有这个文件（位于 a）"}},
		"wrapped":      {Say("reading: %w", fmt.Errorf("a.txt: %w", inner)), Text{"reading: a.txt: there is no file", "读取：a.txt: 没有这个文件"}},
		"joined":       {OfError(errors.Join(errors.New("x"), inner)), Text{"x\nthere is no file", "x\n没有这个文件"}},
		"named":        {Say("%s has no %q", listKind{}, "x"), Text{`list has no "x"`, `"x" 不在列表中`}},
		"same":         {Say("%s has no %q", Same("a"), "b"), Text{`a has no "b"`, `"b" 不在a中`}},
		"formatted":    {OfError(Errorf("reading: %w", inner)), Text{"reading: there is no file", "读取：没有这个文件"}},
		"inside":       {OfError(fmt.Errorf("a: %w", Errorf("reading: %w", inner))), Text{"a: reading: there is no file", "a: 读取：没有这个文件"}},
		"with a text":  {OfError(Errorf("%s has no %q", Text{"a list", "列表"}, "x")), Text{`a list has no "x"`, `"x" 不在列表中`}},
		"path":         {OfError(&fs.PathError{Op: "open", Path: "a", Err: fs.ErrNotExist}), Text{"open a: file does not exist", "a：文件不存在"}},
		"of":           {Of("empty"), Text{"empty", "为空"}},
		"suggestion":   {Of(`did you mean "a b"?`), Text{`did you mean "a b"?`, `是否想写 "a b"？`}},
		"list":         {Of("there are a, b"), Text{"there are a, b", "可用的有 a, b"}},
		"error inside": {OfError(errors.New("x")), Text{"x", "x"}},
	} {
		if tt.got != tt.want {
			t.Errorf("%s: got %q, want %q", name, tt.got, tt.want)
		}
	}
	for language, want := range map[string]bool{"zh": true, "zh-CN": true, "ZH_TW": true, "en": false, "zhuang": false, "": false} {
		if IsChinese(language) != want {
			t.Errorf("%s: got %t", language, !want)
		}
	}
}

func TestIsTraditional(t *testing.T) {
	for language, want := range map[string]bool{"zh-TW": true, "zh_HK": true, "zh-Hant": true, "zh-Hant-MO": true, "zh": false, "zh-CN": false, "zh-Hans": false, "en-HK": false, "": false} {
		if IsTraditional(language) != want {
			t.Errorf("%s: got %t", language, !want)
		}
	}
}

func TestTypeName(t *testing.T) {
	if got, want := TypeName("integer"), (Text{"integer", "整数"}); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := TypeName("date"), Same("date"); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestErrorf(t *testing.T) {
	below := errors.New("below")
	err := Errorf("%s: %w", Text{"a", "甲"}, below)
	if err.Error() != "a: below" || !errors.Is(err, below) {
		t.Errorf("got %q, which wraps %v", err, errors.Unwrap(err))
	}
}

// Errors of the network are translated as a whole, even if wrapped.
func TestNetworkErrors(t *testing.T) {
	refused := &net.OpError{Op: "dial", Net: "tcp", Addr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 9}, Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
	unknown := &net.OpError{Op: "dial", Net: "tcp", Err: &net.DNSError{Err: "no such host", Name: "nope.invalid", Server: "10.0.0.1:53", IsNotFound: true}}
	for err, want := range map[error]string{
		refused: "127.0.0.1:9 拒绝连接",
		&url.Error{Op: "Get", URL: "http://127.0.0.1:9/", Err: refused}: `Get "http://127.0.0.1:9/": 127.0.0.1:9 拒绝连接`,
		Errorf("reading: %w", unknown):                                  "reading: 没有主机 nope.invalid（DNS 服务器 10.0.0.1:53）",
		errors.New("database or disk is full (13)"):                     "数据库或磁盘已满（13）",
		errors.New("no sentence of a library"):                          "no sentence of a library",
	} {
		if got := OfError(err).Zh; got != want {
			t.Errorf("%v: got %s, want %s", err, got, want)
		}
	}
}
