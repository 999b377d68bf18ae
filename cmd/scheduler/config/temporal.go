package config

import (
	"encoding/hex"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
)

// Temporal is the settings of runs on Temporal.
type Temporal struct {
	Namespace     string         `json:"namespace,omitempty" min:"1"`
	Queue         string         `json:"queue,omitempty" min:"1"`
	TLS           TemporalTLS    `json:"tls,omitempty"`
	APIKeyEnv     string         `json:"api_key_env,omitempty"`
	PayloadKeyEnv string         `json:"payload_key_env,omitempty"`
	Heartbeat     value.Duration `json:"heartbeat,omitempty"`
	Attributes    bool           `json:"attributes,omitempty"`
	// Program is the path of scheduler-temporal; "" looks for it.
	Program string `json:"program,omitempty"`
}

// TemporalTLS is how the connection to Temporal is encrypted.
type TemporalTLS struct {
	Enabled bool   `json:"enabled,omitempty"`
	CA      string `json:"ca,omitempty"`
	Cert    string `json:"cert,omitempty"`
	Key     string `json:"key,omitempty"`
}

// Worker is the settings of the subcommand worker.
type Worker struct {
	Queues []string       `json:"queues,omitempty"`
	Slots  int            `json:"slots,omitempty" min:"1"`
	Root   string         `json:"root,omitempty"`
	Drain  value.Duration `json:"drain,omitempty"`
	Listen string         `json:"listen,omitempty"`
}

const (
	// OnLocal is the value of the setting on for runs that this process carries out, as with "".
	OnLocal = "local"
	// temporalScheme begins the address of Temporal in the setting on.
	temporalScheme = "temporal://"
	// defaultTemporalPort is the one that Temporal listens at.
	defaultTemporalPort = "7233"
	// minHeartbeat is the shortest sensible heartbeat, in seconds; the lease of a run takes 5.
	minHeartbeat = 5e9
)

// TemporalAddress reads the setting on: the host:port of Temporal, "" for runs of this process.
func TemporalAddress(on string) (string, error) {
	if on == "" || on == OnLocal {
		return "", nil
	}
	address, ok := strings.CutPrefix(on, temporalScheme)
	if !ok || address == "" || strings.ContainsAny(address, "/@? ") {
		return "", wrongSetting("on", "%q is not an address (use temporal://HOST:PORT, or local)", on)
	}
	if _, _, err := net.SplitHostPort(address); err != nil {
		address = net.JoinHostPort(strings.Trim(address, "[]"), defaultTemporalPort)
	}
	return address, nil
}

// SetOn puts the flag --on over the setting.
func (c *Settings) SetOn(on string) error {
	if _, err := TemporalAddress(on); err != nil {
		return wording.Errorf("--on: %q is not an address (use temporal://HOST:PORT, or local)", on)
	}
	c.On = on
	return nil
}

// IsRemote reports whether new runs are carried out by other machines.
func (c *Settings) IsRemote() bool {
	address, err := TemporalAddress(c.On)
	return err == nil && address != ""
}

// RemoteAddress returns the host:port of Temporal; the error says how to set it.
func (c *Settings) RemoteAddress() (string, error) {
	address, err := TemporalAddress(c.On)
	if err == nil && address == "" {
		err = calls.Errorf(calls.Invalid, "the run is carried out on Temporal, whose address is not known").
			WithHint("name it with --on temporal://HOST:PORT, or the setting on")
	}
	return address, err
}

// FlowFolders returns the folders of the setting serve.flows.
func (c *Settings) FlowFolders() []string {
	var all []string
	for _, dir := range c.Serve.Flows {
		if !filepath.IsAbs(dir) {
			dir = filepath.Join(c.Root, dir)
		}
		all = append(all, dir)
	}
	return all
}

// IsLoopbackAddress reports whether host:port is of this machine.
func IsLoopbackAddress(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return false
	}
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
}

// PayloadKeyBytes is how long the key of temporal.payload_key_env is.
const PayloadKeyBytes = 32

// PayloadKey reads the key that encrypts the payloads that pass through Temporal; nil if there is none.
func (c *Temporal) PayloadKey() ([]byte, error) {
	if c.PayloadKeyEnv == "" {
		return nil, nil
	}
	key, err := hex.DecodeString(strings.TrimSpace(os.Getenv(c.PayloadKeyEnv)))
	if err != nil || len(key) != PayloadKeyBytes {
		return nil, calls.Errorf(calls.Invalid, "temporal.payload_key_env: the variable %s is not %d hexadecimal digits", c.PayloadKeyEnv, 2*PayloadKeyBytes).
			WithHint("make one with: openssl rand -hex 32")
	}
	return key, nil
}

// check refuses settings that make no sense.
func (c *Temporal) check(on string) error {
	if _, err := TemporalAddress(on); err != nil {
		return err
	}
	if c.Heartbeat < minHeartbeat {
		return wrongSetting("temporal.heartbeat", "the heartbeat must be at least 5s: a run is free that long after its process died")
	}
	if (c.TLS.Cert == "") != (c.TLS.Key == "") {
		return wrongSetting("temporal.tls", "cert and key belong together: give both or neither")
	}
	for setting, name := range map[string]string{"temporal.api_key_env": c.APIKeyEnv, "temporal.payload_key_env": c.PayloadKeyEnv} {
		if name == "" || on == "" || on == OnLocal {
			continue
		}
		if os.Getenv(name) == "" {
			return wrongSetting(setting, "the environment variable %s is not set", name)
		}
	}
	return nil
}
