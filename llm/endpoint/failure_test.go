package endpoint

import (
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"syscall"
	"testing"
)

// refusingTransport fails every round trip with an error.
type refusingTransport struct{ err error }

func (r refusingTransport) RoundTrip(*http.Request) (*http.Response, error) { return nil, r.err }

// Errors of the network are in the language of the reader, and name no address: users of a server read them.
func TestBrokenConnection(t *testing.T) {
	server := &net.TCPAddr{IP: net.IPv4(10, 66, 0, 7), Port: 8066}
	dialed := func(err error) error { return &net.OpError{Op: "dial", Net: "tcp", Addr: server, Err: err} }
	tests := map[string]struct {
		err    error
		en, zh string
	}{
		"refused": {
			err: dialed(os.NewSyscallError("connect", syscall.ECONNREFUSED)),
			en:  "provider local: connect: connection refused", zh: "服务商 local：连接被拒绝",
		},
		"over a proxy": {
			err: &net.OpError{Op: "proxyconnect", Net: "tcp", Err: dialed(os.NewSyscallError("connect", syscall.ECONNREFUSED))},
			en:  "provider local: connect: connection refused", zh: "服务商 local：连接被拒绝",
		},
		"reset": {
			err: fmt.Errorf("reading: %w", &net.OpError{Op: "read", Net: "tcp", Source: server, Addr: server, Err: os.NewSyscallError("read", syscall.ECONNRESET)}),
			en:  "provider local: read: connection reset by peer", zh: "服务商 local：连接被对方重置",
		},
		"slow": {err: dialed(os.ErrDeadlineExceeded), en: "provider local: i/o timeout", zh: "服务商 local：读写超时"},
		"no host": {
			err: dialed(&net.DNSError{Err: "no such host", Name: "llm66.corp", Server: "10.66.0.1:53", IsNotFound: true}),
			en:  "provider local: there is no such host", zh: "服务商 local：没有这台主机",
		},
		"name server away": {
			err: dialed(&net.DNSError{Err: "server misbehaving", Name: "llm66.corp", Server: "10.66.0.1:53"}),
			en:  "provider local: the host cannot be looked up now", zh: "服务商 local：暂时无法查到主机",
		},
		"wrong port": {
			err: dialed(&net.AddrError{Err: "invalid port", Addr: "llm66.corp:99999"}),
			en:  "provider local: the server's address is invalid", zh: "服务商 local：服务器地址无效",
		},
		"another certificate": {
			err: x509.HostnameError{Host: "llm66.corp", Certificate: &x509.Certificate{DNSNames: []string{"66.corp"}}},
			en:  "provider local: the certificate of the server is for another host", zh: "服务商 local：服务器的证书属于另一台主机",
		},
		"other": {err: io.ErrUnexpectedEOF, en: "provider local: unexpected EOF", zh: "服务商 local：内容提前结束"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			client := NewClient(Options{Name: "local", Transport: refusingTransport{err: tt.err}})
			failed := client.Post(t.Context(), "http://llm66.corp:8066/v1", nil, func(io.Reader) error { return nil })
			if failed == nil || failed.Error() != tt.en || failed.In("zh") != tt.zh {
				t.Fatalf("got %v, in Chinese %s", failed, failed.In("zh"))
			}
			if strings.Contains(failed.Hint, "66") {
				t.Errorf("the hint names an address: %s", failed.Hint)
			}
		})
	}
}

// A redirect to another host names neither host.
func TestRedirectNamesNoAddress(t *testing.T) {
	server := httptest.NewServer(http.RedirectHandler("http://llm66.corp/v1?key=66", http.StatusMovedPermanently))
	defer server.Close()
	failed := NewClient(Options{Name: "local"}).Post(t.Context(), server.URL, nil, func(io.Reader) error { return nil })
	if failed == nil || strings.Contains(failed.Error(), "66") || !strings.Contains(failed.Error(), "redirects to another place") {
		t.Errorf("got %v", failed)
	}
}
