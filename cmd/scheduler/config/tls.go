package config

import (
	"crypto/tls"
	"crypto/x509"

	"github.com/callnode/scheduler/calls"
)

// maxPEM bounds the files of a certificate and of its key, in bytes.
const maxPEM = 1 << 20

// ReadKeyPair is [tls.LoadX509KeyPair] for regular files: a pipe would be waited for.
func ReadKeyPair(certFile, keyFile string) (tls.Certificate, error) {
	cert, err := calls.ReadFile(certFile, maxPEM)
	if err != nil {
		return tls.Certificate{}, err
	}
	key, err := calls.ReadFile(keyFile, maxPEM)
	if err != nil {
		return tls.Certificate{}, err
	}
	return tls.X509KeyPair(cert, key)
}

// Config returns how the connection to Temporal is encrypted; nil: it is not.
func (c *TemporalTLS) Config() (*tls.Config, error) {
	if !c.Enabled && c.CA == "" && c.Cert == "" {
		return nil, nil
	}
	settings := &tls.Config{MinVersion: tls.VersionTLS12}
	if c.Cert != "" {
		pair, err := ReadKeyPair(c.Cert, c.Key)
		if err != nil {
			return nil, calls.Errorf(calls.Invalid, "reading temporal.tls: %w", err)
		}
		settings.Certificates = []tls.Certificate{pair}
	}
	if c.CA == "" {
		return settings, nil
	}
	text, err := calls.ReadFile(c.CA, maxPEM)
	if err != nil {
		return nil, calls.Errorf(calls.Invalid, "reading temporal.tls: %w", err)
	}
	settings.RootCAs = x509.NewCertPool()
	if !settings.RootCAs.AppendCertsFromPEM(text) {
		return nil, calls.Errorf(calls.Invalid, "temporal.tls.ca: %s has no certificate", c.CA)
	}
	return settings, nil
}
