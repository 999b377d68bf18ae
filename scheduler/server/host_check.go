package server

import (
	"net"
	"net/netip"
	"slices"
	"strings"
)

// hostCheck knows which names a server has: a page of another name whose address was changed to the server's must
// not reach it. It does not change. For example, a request for evil.example is refused even if that name resolves
// to 127.0.0.1.
type hostCheck struct {
	addr  netip.Addr // of the listener; invalid for a socket
	name  string
	names []string
}

func newHostCheck(listen string, names []string) *hostCheck {
	host, _, err := net.SplitHostPort(listen)
	if err != nil {
		host = listen
	}
	addr, _ := netip.ParseAddr(host)
	return &hostCheck{addr: addr, name: host, names: names}
}

// allows reports whether a Host header names the server.
func (h *hostCheck) allows(header string) bool {
	host, _, err := net.SplitHostPort(header)
	if err != nil {
		host = header
	}
	host = strings.ToLower(strings.Trim(host, "[]"))
	isNamed := slices.Contains(h.names, header) || slices.Contains(h.names, host)
	isOwnName := host != "" && host == h.name
	if isNamed || isOwnName {
		return true
	}
	isLocal := !h.addr.IsValid() || h.addr.IsUnspecified() || h.addr.IsLoopback()
	if host == "localhost" {
		return isLocal
	}
	addr, err := netip.ParseAddr(host)
	if err != nil {
		return false
	}
	bothLoopback := h.addr.IsLoopback() && addr.IsLoopback()
	if h.addr.IsValid() && !h.addr.IsUnspecified() && !bothLoopback {
		return addr.Unmap() == h.addr.Unmap()
	}
	return true // names can be made to point here, addresses cannot
}
