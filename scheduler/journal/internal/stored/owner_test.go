package stored

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

func TestDeadAndAlive(t *testing.T) {
	self := ThisProcess()
	if self.Identity == "" {
		t.Skip("this system does not tell processes apart")
	}
	child := exec.CommandContext(t.Context(), "sleep", "60")
	if err := child.Start(); err != nil {
		t.Skip(err)
	}
	space := pidSpace()
	alive := Process{PID: child.Process.Pid, Identity: space + " " + startOf(child.Process.Pid)}
	parts := strings.Fields(self.Identity)
	for name, test := range map[string]struct {
		process Process
		dead    bool
		alive   bool
	}{
		"this process":              {self, false, true},
		"a child":                   {alive, false, true},
		"another with its pid":      {Process{PID: self.PID, Identity: space + " 1"}, true, false},
		"a pid that nobody has":     {Process{PID: 1 << 30, Identity: space + " 1"}, true, false},
		"another container":         {Process{PID: 1 << 30, Identity: parts[0] + " pid:[1] 1"}, false, false},
		"before the machine's boot": {Process{PID: 1 << 30, Identity: "x " + parts[1] + " 1"}, false, false},
		"a system that says little": {Process{PID: 1 << 30}, false, false},
	} {
		if got := test.process.Dead(); got != test.dead {
			t.Errorf("%s: dead is %v", name, got)
		}
		if got := test.process.Alive(); got != test.alive {
			t.Errorf("%s: alive is %v", name, got)
		}
	}
	if err := child.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	for !alive.Dead() { // a zombie, as no process has waited for it
		if _, err := os.Stat("/proc/self/stat"); err != nil {
			t.Fatal(err)
		}
	}
	if alive.Alive() {
		t.Error("a zombie is alive")
	}
	_ = child.Wait()
	if !alive.Dead() || alive.Alive() {
		t.Error("the child is gone, and not dead")
	}
}
