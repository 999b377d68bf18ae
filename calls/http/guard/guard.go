// Package guard makes HTTP clients that reach the hosts of the public Internet, and of the others only the allowed
// ones. For example, a client may reach example.com, but 127.0.0.1:8080 only if the settings allow it.
//
// It checks the address that is dialled, after the name was resolved: a name that suddenly resolves to a private
// address does not get through, and neither does a redirect. Proxies are not used: behind one, addresses cannot be
// checked.
package guard

import (
	"context"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/value/wording"
)

// maxHeader bounds the headers of an answer, in bytes.
const maxHeader = 256 << 10

// NewClient makes a client. allow lists hosts that are reached although they are not
// public, as HOST or HOST:PORT. HOST is a name, *.DOMAIN for all names below a
// domain, an address, or a network such as 10.1.0.0/16; PORT a number or *. An
// address or a network counts for names too that resolve to it.
func NewClient(allow []string) (*http.Client, error) {
	g, err := newGuard(allow)
	if err != nil {
		return nil, err
	}
	return &http.Client{
		CheckRedirect: checkRedirect,
		Transport: &http.Transport{
			DialContext:            g.dial,
			ForceAttemptHTTP2:      true,
			MaxIdleConns:           100,
			IdleConnTimeout:        90 * time.Second,
			TLSHandshakeTimeout:    10 * time.Second,
			ExpectContinueTimeout:  time.Second,
			MaxResponseHeaderBytes: maxHeader,
		},
	}, nil
}

// NewHostCheck returns a function that reports before a request whether it is sure to be refused: its error is the
// error of the request for an address, or for localhost, that is neither public nor allowed. Other names are only
// known when they are dialled. allow is as for [NewClient].
func NewHostCheck(allow []string) (check func(host, port string) error, err error) {
	g, err := newGuard(allow)
	if err != nil {
		return nil, err
	}
	return g.checkHost, nil
}

func newGuard(allow []string) (*guard, error) {
	g := &guard{}
	for _, pattern := range allow {
		r, err := parseRule(pattern)
		if err != nil {
			return nil, wording.Errorf("the allowed host %q: %w", pattern, err)
		}
		g.rules = append(g.rules, r)
	}
	return g, nil
}

type guard struct{ rules []rule }

// checkHost is the function of [NewHostCheck].
func (g *guard) checkHost(host, port string) error {
	if slices.ContainsFunc(g.rules, func(r rule) bool { return r.coversName(host, port) }) {
		return nil
	}
	address := host
	name := strings.TrimSuffix(strings.ToLower(host), ".")
	if name == "localhost" || strings.HasSuffix(name, ".localhost") {
		address = "127.0.0.1"
	}
	if _, err := netip.ParseAddr(address); err != nil {
		return nil //nolint:nilerr // a name, whose address is looked at when it is dialed
	}
	return g.checkAddress(host, net.JoinHostPort(address, port))
}

// dial connects to a host of the rules, or to a public address.
func (g *guard) dial(ctx context.Context, network, address string) (net.Conn, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	dialer := &net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second}
	if !slices.ContainsFunc(g.rules, func(r rule) bool { return r.coversName(host, port) }) {
		dialer.ControlContext = func(_ context.Context, _, resolved string, _ syscall.RawConn) error {
			return g.checkAddress(host, resolved)
		}
	}
	return dialer.DialContext(ctx, network, address)
}

// checkAddress refuses an address that is neither public nor allowed; host is the name from which it was resolved.
func (g *guard) checkAddress(host, resolved string) error {
	at, err := netip.ParseAddrPort(resolved)
	if err != nil {
		return calls.Errorf(calls.Invalid, "the address %s of %s is not understood: %w", resolved, host, err)
	}
	if Public(at.Addr()) || slices.ContainsFunc(g.rules, func(r rule) bool { return r.coversAddr(at) }) {
		return nil
	}
	of := ""
	if host != at.Addr().String() {
		of = " (" + at.Addr().String() + ")"
	}
	return calls.Errorf(calls.Invalid, "%s%s is not a public host, and requests to it are not allowed", host, of).
		WithHint("whoever runs this can allow it: http.allow_hosts in scheduler.yaml")
}

// rule is one allowed host.
type rule struct {
	name   string // "" if network counts
	below  bool   // all names that end in .name
	prefix netip.Prefix
	port   string // "" is any
}

var errPattern = wording.Errorf("write a name, *.domain, an address or a network, without a scheme or a path")

func parseRule(pattern string) (rule, error) {
	host, port := strings.ToLower(strings.TrimSpace(pattern)), ""
	if strings.Contains(host, "://") {
		return rule{}, errPattern
	}
	if h, p, err := net.SplitHostPort(host); err == nil {
		host, port = h, p
		if port == "*" {
			port = ""
		} else if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
			return rule{}, wording.Errorf("%q is not a port: write a number or *", port)
		}
	}
	host = strings.Trim(host, "[]")
	if prefix, err := netip.ParsePrefix(host); err == nil {
		return rule{prefix: prefix.Masked(), port: port}, nil
	}
	if addr, err := netip.ParseAddr(host); err == nil {
		addr = addr.Unmap()
		return rule{prefix: netip.PrefixFrom(addr, addr.BitLen()), port: port}, nil
	}
	name, below := strings.CutPrefix(strings.TrimSuffix(host, "."), "*.")
	if name == "" || strings.ContainsAny(name, "*/:@ ") {
		return rule{}, errPattern
	}
	return rule{name: name, below: below, port: port}, nil
}

func (r rule) coversName(host, port string) bool {
	host = strings.TrimSuffix(strings.ToLower(host), ".")
	isOtherPort := r.port != "" && r.port != port
	if r.name == "" || isOtherPort {
		return false
	}
	if r.below {
		return strings.HasSuffix(host, "."+r.name)
	}
	return host == r.name
}

func (r rule) coversAddr(at netip.AddrPort) bool {
	coversPort := r.port == "" || r.port == strconv.Itoa(int(at.Port()))
	return r.name == "" && coversPort && r.prefix.Contains(at.Addr().Unmap().WithZone(""))
}
