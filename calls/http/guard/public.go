package guard

import "net/netip"

// Public reports whether an address belongs to the public Internet: it is not one of the special-purpose ones that
// IANA lists (RFC 6890 and later), neither as itself nor inside an IPv6 address that maps an IPv4 one.
func Public(addr netip.Addr) bool {
	addr = addr.Unmap().WithZone("")
	if inside, ok := embeddedIPv4(addr); ok {
		return Public(inside)
	}
	nets := special4()
	if addr.Is6() {
		if !netip.MustParsePrefix("2000::/3").Contains(addr) { // all that was ever given out
			return false
		}
		nets = special6()
	}
	for _, text := range nets {
		if netip.MustParsePrefix(text).Contains(addr) {
			return false
		}
	}
	return addr.IsValid()
}

// embeddedIPv4 returns the IPv4 address inside the IPv6 address of a NAT64 gateway.
func embeddedIPv4(addr netip.Addr) (netip.Addr, bool) {
	if !netip.MustParsePrefix("64:ff9b::/96").Contains(addr) {
		return netip.Addr{}, false
	}
	b := addr.As16()
	return netip.AddrFrom4([4]byte(b[12:])), true
}

func special4() []string {
	return []string{
		"0.0.0.0/8",        // this network
		"10.0.0.0/8",       // private
		"100.64.0.0/10",    // carriers' address sharing
		"127.0.0.0/8",      // loopback
		"169.254.0.0/16",   // link-local, used by clouds for their metadata
		"168.63.129.16/32", // a cloud's metadata under a public address
		"172.16.0.0/12",    // private
		"192.0.0.0/24",     // protocol assignments
		"192.0.2.0/24",     // documentation
		"192.88.99.0/24",   // 6to4 relays
		"192.168.0.0/16",   // private
		"198.18.0.0/15",    // benchmarks
		"198.51.100.0/24",  // documentation
		"203.0.113.0/24",   // documentation
		"224.0.0.0/4",      // multicast
		"240.0.0.0/4",      // reserved, and broadcast
	}
}

func special6() []string {
	return []string{
		"2001::/23",     // protocol assignments, Teredo among them
		"2001:db8::/32", // documentation
		"2002::/16",     // 6to4: an IPv4 address inside
		"3fff::/20",     // documentation
	}
}
