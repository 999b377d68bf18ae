package endpoint

import (
	"io"
	"net"
	"strings"
	"testing"
)

// Errors of the network are in the language of the reader.
func TestRefusedConnection(t *testing.T) {
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	client := NewClient(Options{Name: "local"})
	refused := client.Post(t.Context(), "http://"+address, nil, func(io.Reader) error { return nil })
	if refused == nil {
		t.Fatal("no error")
	}
	if !strings.Contains(refused.Error(), "connection refused") || refused.In("zh") != "服务商 local："+address+" 拒绝连接" {
		t.Errorf("got %v, in Chinese %s", refused, refused.In("zh"))
	}
}
