package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/callnode/scheduler/cmd/scheduler/config"
)

// writeCertificate writes a certificate of 127.0.0.1 and its key, and returns a pool that trusts it.
func writeCertificate(t *testing.T, cert, key string) *x509.CertPool {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	pool.AppendCertsFromPEM(text)
	for file, content := range map[string][]byte{cert: text, key: pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER})} {
		if err := os.WriteFile(file, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return pool
}

// With the files of a certificate the server speaks TLS and HTTP/2.
func TestListenTLS(t *testing.T) {
	dir := t.TempDir()
	files := config.TLS{Cert: filepath.Join(dir, "cert.pem"), Key: filepath.Join(dir, "key.pem")}
	pool := writeCertificate(t, files.Cert, files.Key)
	listener, err := openListener(t.Context(), config.Serve{Listen: "127.0.0.1:0", Auth: "token", TLS: files})
	if err != nil {
		t.Fatal(err)
	}
	h := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })}
	go func() { _ = h.Serve(listener) }() // it ends with Close
	t.Cleanup(func() { _ = h.Close() })
	client := &http.Client{Transport: &http.Transport{ForceAttemptHTTP2: true, TLSClientConfig: &tls.Config{RootCAs: pool}}}
	defer client.CloseIdleConnections()
	answer, err := client.Get("https://" + listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	_ = answer.Body.Close()
	if answer.ProtoMajor != 2 || answer.TLS == nil || answer.TLS.Version < tls.VersionTLS12 {
		t.Errorf("the answer comes by %s", answer.Proto)
	}
	files.Key = files.Cert
	if _, err := openListener(t.Context(), config.Serve{Listen: "127.0.0.1:0", Auth: "token", TLS: files}); err == nil {
		t.Error("a certificate without its key is taken")
	}
}
