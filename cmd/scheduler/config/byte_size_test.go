package config_test

import (
	"encoding/json"
	"testing"

	"github.com/callnode/scheduler/cmd/scheduler/config"
)

// TestByteSize reads sizes, and writes them back in their shortest form.
func TestByteSize(t *testing.T) {
	for text, want := range map[string]string{
		`1`: `1`, `"1"`: `1`, `1024`: `"1KiB"`, `"256MiB"`: `"256MiB"`, `"2 GiB"`: `"2GiB"`, `"1536MiB"`: `"1536MiB"`,
		`0`: "", `-1`: "", `1.5`: "", `"1MB"`: "", `""`: "", `"9999999999GiB"`: "", `"MiB"`: "", `null`: "", `true`: "",
	} {
		var size config.ByteSize
		err := json.Unmarshal([]byte(text), &size)
		if want == "" {
			if err == nil {
				t.Errorf("%s is read as %d", text, size)
			}
			continue
		}
		if got, _ := json.Marshal(size); err != nil || string(got) != want {
			t.Errorf("%s is %s, %v, want %s", text, got, err, want)
		}
	}
}
