package wording

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
)

func TestRecognize(t *testing.T) {
	for sentence, want := range map[string]string{
		"unknown flag: --nope": "没有选项 --nope",
		"unknown command \"rum\" for \"scheduler\"\n\nDid you mean this?\n\trun\n\truns\n": "\"scheduler\" 没有命令 \"rum\"\n\n是否想写：\n\trun\n\truns",
		`unknown command "x" for "scheduler run"`:                                          `"scheduler run" 没有命令 "x"`,
		"accepts 1 arg(s), received 2":                                                     "应有 1 个参数，实有 2 个",
		`required flag(s) "lang" not set`:                                                  `缺少必填的选项 "lang"`,
		"if any flags in the group [record replay] are set none of the others can be; [record replay] were all set": "选项 record replay 只能给出一个；同时给出了 record replay",
		`invalid argument "x" for "-n, --limit" flag: strconv.ParseInt: parsing "x": invalid syntax`:                `"x" 不能作为选项 "-n, --limit" 的值："x" 的写法不对`,
		`invalid argument "x for y" for "--limit" flag: strconv.ParseInt: parsing "x for y": value out of range`:    `"x for y" 不能作为选项 "--limit" 的值："x for y" 超出范围`,
		`invalid argument "5x" for "--wait" flag: time: unknown unit "x" in duration "5x"`:                          `"5x" 不能作为选项 "--wait" 的值：时长 "5x" 的单位 "x" 不可用（可用 30s 或 5m）`,
		`invalid argument "5x" for "--wait" flag: this library is new`:                                              `"5x" 不能作为选项 "--wait" 的值：this library is new`,
		"expected string":                    "应为字符串",
		`expected value to be one of "a, b"`: "应为以下之一：a, b",
		"Not Found":                          "不存在",
		"dial tcp 127.0.0.1:9: connect: connection refused":                                "127.0.0.1:9 拒绝连接",
		"dial tcp 10.0.0.1:80: connect: no route to host":                                  "无法连接 10.0.0.1:80（没有通往主机的路由）",
		"dial tcp: lookup nope.invalid on 10.2.5.53:53: no such host":                      "没有主机 nope.invalid（DNS 服务器 10.2.5.53:53）",
		"read tcp 1.2.3.4:5->6.7.8.9:443: read: connection reset by peer":                  "连接被 6.7.8.9:443 重置",
		"tls: failed to verify certificate: x509: certificate signed by unknown authority": "证书未通过验证：证书由未知的机构签发",
		"database or disk is full (13)":                                                    "数据库或磁盘已满（13）",
	} {
		if got, ok := Recognize(sentence); !ok || got != (Text{sentence, want}) {
			t.Errorf("%q: got %q, %v, want %q", sentence, got.Zh, ok, want)
		}
	}
	for _, sentence := range []string{"", "something else", "unknown flag:"} {
		if got, ok := Recognize(sentence); ok || got != Same(sentence) {
			t.Errorf("%q is recognised as %q", sentence, got.Zh)
		}
	}
}

// Errors of the system and of libraries are in Chinese as a whole, even if they wrap others.
func TestOfLibraryErrors(t *testing.T) {
	pathOf := func(err error) error { return &fs.PathError{Op: "open", Path: "a", Err: err} }
	_, parseErr := url.Parse("http://a:" + strings.Repeat("b", 1))
	_, lookErr := exec.LookPath("no-such-program")
	for _, c := range []struct {
		err  error
		want string
	}{
		{pathOf(syscall.EMFILE), "a：打开的文件过多"},
		{pathOf(syscall.ENOSPC), "a：磁盘空间不足"},
		{pathOf(syscall.EIO), "a：读写出错"},
		{&os.LinkError{Op: "rename", Old: "a", New: "b", Err: syscall.EXDEV}, "a → b：不能跨文件系统移动或链接"},
		{os.NewSyscallError("bind", syscall.EADDRNOTAVAIL), "本机没有这个地址"},
		{&net.OpError{Op: "dial", Net: "tcp", Addr: &net.TCPAddr{IP: net.IPv4(1, 2, 3, 4), Port: 5}, Err: os.NewSyscallError("connect", syscall.EHOSTUNREACH)}, "无法连接 1.2.3.4:5（没有通往主机的路由）"},
		{&tls.CertificateVerificationError{Err: x509.UnknownAuthorityError{}}, "证书未通过验证：证书由未知的机构签发"},
		{&tls.CertificateVerificationError{Err: errors.New("x509: new")}, "证书未通过验证：证书有误（new）"},
		{fmt.Errorf("net/http: HTTP/1.x transport connection broken: %w", fmt.Errorf("malformed HTTP response %q", "SSH")), "应答无法读懂：不是 HTTP 应答：\"SSH\""},
		{parseErr, `网址 "http://a:b"：主机后的端口 ":b" 不对`},
		{lookErr, "no-such-program：在 $PATH 中找不到该程序"},
		{errors.New("exit status 3"), "退出码 3"},
	} {
		if got := OfError(c.err); got.Zh != c.want || got.En != c.err.Error() {
			t.Errorf("%v: got %q, want %q", c.err, got.Zh, c.want)
		}
	}
}

// Every form is recognised, has a place in Chinese for all it takes, and is hidden by none
// above it.
func TestLibraryForms(t *testing.T) {
	for i, f := range libraryForms {
		sentence := strings.NewReplacer("%s", "12", "%q", `"12"`, "%v", "x: y", "%T", "string").Replace(f.En)
		got, ok := Recognize(sentence)
		if !ok || strings.Contains(got.Zh, "%") {
			t.Errorf("%q: got %q, %v", sentence, got.Zh, ok)
		}
		first := slices.IndexFunc(compiledForms(), func(c form) bool { return c.pattern.MatchString(sentence) })
		if first != i {
			t.Errorf("%q is taken for %q", sentence, libraryForms[first].En)
		}
	}
}
