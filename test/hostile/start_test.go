//go:build unix

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/plugins/manifest"
)

func TestStart(t *testing.T) {
	for at, want := range map[string]string{
		"exit":                  "it ended before the handshake: exit status 3; it wrote:\nno licence was found",
		"exit 0":                "it ended before the handshake: exit status 0",
		"panic":                 "panic: at the start",
		"garbage":               `it printed "Welcome to the hostile plugin!" to standard output instead of the handshake line`,
		"long garbage":          `it printed "xxxxxxxx`,
		"silent":                "it did not print the handshake line within 2s",
		"close":                 "it closed standard output before the handshake line",
		"version":               "it speaks version 99 of the protocol, this program version 1",
		"nowhere":               "/nowhere/at/all",
		"children":              "it ended before the handshake: exit status 1",
		"daemons":               "it ended before the handshake: exit status 1",
		"describe hang":         "it did not describe itself within 2s",
		"describe exit":         "its process ended: exit status 4",
		"describe another name": `its name is "somebody-else" in the program and "hostile" in plugin.yaml`,
		"describe nothing":      "it has 0 functions",
		"describe bad schema":   "the schema params: not a JSON Schema",
		"describe twice":        `two functions are called "judge"`,
		"describe bad name":     "the name is not snake_case",
	} {
		t.Run(at, func(t *testing.T) {
			w := newWorld(t, at, "[]", strings.Contains(want, "within"))
			_, err := w.Trust(t.Context(), "hostile")
			says(t, err, calls.Plugin, want)
			if _, err := w.Trust(t.Context(), "healthy"); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestFloodAtStart(t *testing.T) {
	w := newWorld(t, "flood", "[]")
	w.trust(t)
	w.healthy(t, "hostile")
}

func TestDescribesItselfDifferently(t *testing.T) {
	w := newWorld(t, "describe differently", "[]")
	w.trust(t)
	_, err := w.judge(t.Context(), t, "hostile", "healthy")
	says(t, err, calls.Invalid, `it describes itself differently than when it was trusted: "judge" changed; if you know why, run: scheduler plugins trust hostile`)
	w.healthy(t, "healthy")
}

func TestChangedProgram(t *testing.T) {
	w := newWorld(t, "", "[]")
	w.trust(t)
	file := filepath.Join(w.dir, "plugins", "hostile", "module.py")
	if err := os.WriteFile(file, []byte("import os"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := w.judge(t.Context(), t, "hostile", "healthy")
	says(t, err, calls.Invalid, "its program changed since it was trusted (sha256 ")
	if statuses, _ := w.List(); statuses[1].State != manifest.Changed || statuses[0].State != manifest.Trusted {
		t.Errorf("the list says %v", statuses)
	}
	w.healthy(t, "healthy")
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	w.healthy(t, "hostile")
}
