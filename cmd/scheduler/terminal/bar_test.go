package terminal

import (
	"bytes"
	"strings"
	"testing"
	"time"
)

func TestBar(t *testing.T) {
	var out bytes.Buffer
	live := &Bar{out: &out, what: "importing", live: true}
	live.Show(50, 100)
	live.Show(7, 0)
	live.Close()
	if want := "\rimporting [###############---------------] 50 of 100\rimporting 7\r\x1b[K"; out.String() != want {
		t.Errorf("got %q", out.String())
	}
	out.Reset()
	plain := NewBar(&Terminal{Stderr: &out}, "exporting")
	plain.Show(1, 2)
	for range 2 {
		plain.next = time.Time{}
		plain.Show(1, 2)
		plain.next = time.Time{}
		plain.Show(1, 0)
	}
	plain.Close()
	if want := strings.Repeat("exporting: 1 of 2\nexporting: 1\n", 2); out.String() != want {
		t.Errorf("got %q", out.String())
	}
}
