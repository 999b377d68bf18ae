package guard_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"testing"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/http/guard"
)

func TestPublic(t *testing.T) {
	for text, want := range map[string]bool{
		"8.8.8.8": true, "1.1.1.1": true, "172.15.0.1": true, "172.32.0.1": true, "192.167.1.1": true, "100.63.0.1": true, "100.128.0.1": true,
		"2606:4700::1111": true, "2a00:1450::1": true, "::ffff:8.8.8.8": true, "64:ff9b::8.8.8.8": true, "2001:4860:4860::8888": true,
		"0.0.0.0": false, "10.1.2.3": false, "100.64.0.1": false, "100.100.100.200": false, "127.0.0.1": false, "127.9.9.9": false,
		"169.254.169.254": false, "168.63.129.16": false, "172.16.0.1": false, "172.31.255.255": false, "192.0.0.192": false, "192.0.2.1": false,
		"192.168.0.1": false, "198.18.0.1": false, "198.51.100.1": false, "203.0.113.9": false, "224.0.0.1": false, "255.255.255.255": false,
		"::": false, "::1": false, "::ffff:127.0.0.1": false, "::ffff:10.0.0.1": false, "64:ff9b::127.0.0.1": false, "64:ff9b:1::1": false,
		"fc00::1": false, "fd00:ec2::254": false, "fe80::1": false, "fe80::1%eth0": false, "fec0::1": false, "ff02::1": false,
		"2001::1": false, "2001:db8::1": false, "2002:7f00:1::": false, "3fff::1": false, "4000::1": false, "100::1": false,
	} {
		if got := guard.Public(netip.MustParseAddr(text)); got != want {
			t.Errorf("Public(%s) = %v", text, got)
		}
	}
	if guard.Public(netip.Addr{}) {
		t.Error("no address is public")
	}
}

func get(t *testing.T, client *http.Client, target string, header ...string) (string, error) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, target, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := client.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	return string(data), err
}

func client(t *testing.T, allow ...string) *http.Client {
	t.Helper()
	c, err := guard.NewClient(allow)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.CloseIdleConnections)
	return c
}

func TestAllow(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "in") }))
	defer server.Close()
	at, _ := url.Parse(server.URL)
	port := at.Port()
	byName := "http://localhost:" + port
	for _, c := range []struct {
		allow  []string
		target string
		want   bool
	}{
		{nil, server.URL, false},
		{nil, byName, false},
		{nil, "http://[::ffff:127.0.0.1]:" + port, false},
		{[]string{"127.0.0.1:*"}, server.URL, true},
		{[]string{"127.0.0.1"}, server.URL, true},
		{[]string{"127.0.0.1:" + port}, server.URL, true},
		{[]string{"127.0.0.1:1"}, server.URL, false},
		{[]string{"127.0.0.0/8"}, server.URL, true},
		{[]string{"127.0.0.0/8:" + port}, server.URL, true},
		{[]string{"::ffff:127.0.0.1"}, server.URL, true},
		{[]string{"[::1]:*", "10.0.0.0/8"}, server.URL, false},
		{[]string{"127.0.0.1:*"}, byName, true}, // the name resolves to an allowed address
		{[]string{"LOCALHOST."}, byName, true},
		{[]string{"localhost"}, server.URL, false},
		{[]string{"*.localhost"}, byName, false},
		{[]string{"localhost:1"}, byName, false},
	} {
		check, err := guard.NewHostCheck(c.allow)
		if err != nil {
			t.Fatal(err)
		}
		target, _ := url.Parse(c.target)
		if err := check(target.Hostname(), target.Port()); (err == nil) != c.want {
			t.Errorf("%v: before a request to %s: %v", c.allow, c.target, err)
		}
		text, err := get(t, client(t, c.allow...), c.target)
		switch {
		case c.want && (err != nil || text != "in"):
			t.Errorf("%v: %s: %v", c.allow, c.target, err)
		case !c.want && err == nil:
			t.Errorf("%v: %s was reached", c.allow, c.target)
		case !c.want && (calls.KindOf(err) != calls.Invalid || !strings.Contains(calls.HintOf(err), "http.allow_hosts")):
			t.Errorf("%v: %s: %v", c.allow, c.target, err)
		}
	}
}

// A proxy of the environment would hide the targets of requests.
func TestNoProxy(t *testing.T) {
	proxy := httptest.NewServer(http.NotFoundHandler())
	defer proxy.Close()
	t.Setenv("HTTP_PROXY", proxy.URL)
	if _, err := get(t, client(t), "http://192.168.77.77:9"); calls.KindOf(err) != calls.Invalid {
		t.Errorf("got %v", err)
	}
}

func TestWrongPatterns(t *testing.T) {
	for _, pattern := range []string{"", "*", "*.", "http://x", "a.*.b", "x:0", "x:99999", "x:http", "x/y", "a b"} {
		if _, err := guard.NewClient([]string{pattern}); err == nil || !strings.Contains(err.Error(), "the allowed host") {
			t.Errorf("%q: %v", pattern, err)
		}
	}
}

func TestNamesBelow(t *testing.T) {
	// No server answers there; the test is about which part refuses.
	for target, refused := range map[string]bool{"http://a.localhost:1": false, "http://localhost:1": true} {
		_, err := get(t, client(t, "*.localhost"), target)
		if got := calls.KindOf(err) == calls.Invalid; err == nil || got != refused {
			t.Errorf("%s: %v", target, err)
		}
	}
}

func TestRedirects(t *testing.T) {
	var seen http.Header
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen = r.Header.Clone()
		io.WriteString(w, "other")
	}))
	defer other.Close()
	var first *httptest.Server
	first = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/same":
			http.Redirect(w, r, "/here", http.StatusFound)
		case "/here":
			seen = r.Header.Clone()
		case "/other":
			http.Redirect(w, r, other.URL, http.StatusTemporaryRedirect)
		case "/private":
			http.Redirect(w, r, "http://192.168.7.7/", http.StatusFound)
		case "/loop":
			http.Redirect(w, r, first.URL+"/loop", http.StatusFound)
		case "/file":
			http.Redirect(w, r, "file:///etc/passwd", http.StatusFound)
		}
	}))
	defer first.Close()
	c := client(t, "127.0.0.1:*")
	secret := []string{"X-Key", "k", "Authorization", "a", "Cookie", "c=d", "Accept", "text/plain"}

	if _, err := get(t, c, first.URL+"/same", secret...); err != nil || seen.Get("X-Key") != "k" || seen.Get("Cookie") == "" {
		t.Errorf("to the same host: %v, %v", err, seen)
	}
	if text, err := get(t, c, first.URL+"/other?token=t", secret...); err != nil || text != "other" {
		t.Errorf("to another host: %q, %v", text, err)
	}
	for _, name := range []string{"X-Key", "Authorization", "Cookie", "Referer"} {
		if seen.Get(name) != "" {
			t.Errorf("another host got %s: %s", name, seen.Get(name))
		}
	}
	if seen.Get("Accept") != "text/plain" {
		t.Error("another host did not get Accept")
	}
	for path, want := range map[string]string{"/private": "is not a public host", "/loop": "redirects more than 5 times", "/file": "unsupported protocol"} {
		if _, err := get(t, c, first.URL+path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", path, err)
		}
	}
	req, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, first.URL+"/other", strings.NewReader("secret"))
	if _, err := c.Do(req); err == nil || !strings.Contains(err.Error(), "with its body to another host") {
		t.Errorf("a body: %v", err)
	}
}

func FuzzPattern(f *testing.F) {
	for _, seed := range []string{"127.0.0.1:*", "*.corp.example", "[::1]:80", "10.0.0.0/8:443", "a:b:c", "[", "::ffff:1.2.3.4"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, pattern string) {
		if c, err := guard.NewClient([]string{pattern}); (c == nil) == (err == nil) {
			t.Errorf("%q: %v, %v", pattern, c, err)
		}
	})
}

// Names other than localhost are known when they are dialled only.
func TestHostCheckOfNames(t *testing.T) {
	check, err := guard.NewHostCheck(nil)
	if err != nil {
		t.Fatal(err)
	}
	for host, isRefused := range map[string]bool{
		"shop.example.com": false, "intranet": false, "93.184.215.14": false, "2606:2800::1": false,
		"localhost": true, "LOCALHOST.": true, "api.localhost": true, "10.0.0.1": true, "::1": true, "169.254.169.254": true,
	} {
		if err := check(host, "80"); (err != nil) != isRefused {
			t.Errorf("%s: %v", host, err)
		}
	}
	if _, err := guard.NewHostCheck([]string{"http://x"}); err == nil {
		t.Error("a wrong pattern is taken")
	}
}
