package sqlite

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

func TestDead(t *testing.T) {
	self := thisProcess()
	if self.identity == "" {
		t.Skip("this system does not tell processes apart")
	}
	child := exec.CommandContext(t.Context(), "sleep", "60")
	if err := child.Start(); err != nil {
		t.Skip(err)
	}
	space := pidSpace()
	alive := process{pid: child.Process.Pid, identity: space + " " + startOf(child.Process.Pid)}
	parts := strings.Fields(self.identity)
	for name, test := range map[string]struct {
		process process
		dead    bool
	}{
		"this process":              {self, false},
		"a child":                   {alive, false},
		"another with its pid":      {process{pid: self.pid, identity: space + " 1"}, true},
		"a pid that nobody has":     {process{pid: 1 << 30, identity: space + " 1"}, true},
		"another container":         {process{pid: 1 << 30, identity: parts[0] + " pid:[1] 1"}, false},
		"before the machine's boot": {process{pid: 1 << 30, identity: "x " + parts[1] + " 1"}, false},
		"a system that says little": {process{pid: 1 << 30}, false},
	} {
		if got := test.process.dead(); got != test.dead {
			t.Errorf("%s: dead is %v", name, got)
		}
	}
	if err := child.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	for !alive.dead() { // a zombie, as nobody has waited for it
		if _, err := os.Stat("/proc/self/stat"); err != nil {
			t.Fatal(err)
		}
	}
	_ = child.Wait()
	if !alive.dead() {
		t.Error("the child is gone, and not dead")
	}
}
