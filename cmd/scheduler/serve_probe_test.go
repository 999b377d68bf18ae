package main

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/callnode/scheduler/cmd/scheduler/config"
	"github.com/callnode/scheduler/cmd/scheduler/terminal"
)

func TestProbeServer(t *testing.T) {
	for status, want := range map[int]string{http.StatusOK: "", http.StatusServiceUnavailable: "/health/ready answers 503"} {
		for _, encrypted := range []bool{false, true} {
			server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path != "/health/ready" {
					t.Errorf("the probe asks for %s", r.URL.Path)
				}
				w.WriteHeader(status)
			}))
			c := config.Serve{}
			if encrypted {
				server.StartTLS()
				c.TLS.Cert = "cert.pem"
			} else {
				server.Start()
			}
			c.Listen = server.Listener.Addr().String()
			var out bytes.Buffer
			err := (&app{Terminal: &terminal.Terminal{Stdout: &out}}).probeServer(t.Context(), c)
			if want == "" && (err != nil || out.String() != "ready at "+c.Listen+"\n") {
				t.Errorf("%v, %q", err, out.String())
			}
			if want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
				t.Errorf("%v, want %s", err, want)
			}
			server.Close()
		}
	}
}

func TestProbeAddress(t *testing.T) {
	for listen, want := range map[string]string{
		"127.0.0.1:8050": "tcp 127.0.0.1:8050", ":8050": "tcp 127.0.0.1:8050", "0.0.0.0:8050": "tcp 127.0.0.1:8050", "[::]:8050": "tcp localhost:8050",
		"flows.example.com:80": "tcp flows.example.com:80", "unix:run/s.sock": "unix run/s.sock",
	} {
		if network, address := probeAddress(listen); network+" "+address != want {
			t.Errorf("%s: %s %s, want %s", listen, network, address, want)
		}
	}
}
