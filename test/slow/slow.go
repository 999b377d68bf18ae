// Package slow keeps tests that take long (they build plugins, or kill processes) out of
// `make test`. `make test-slow` runs them, and so does CI.
package slow

import (
	"os"
	"testing"
)

// Variable is the environment variable that turns slow tests on.
const Variable = "SCHEDULER_SLOW_TESTS"

// Enabled reports whether slow tests run.
func Enabled() bool { return os.Getenv(Variable) != "" }

// Test skips a test, or a part of it, unless slow tests run.
func Test(t testing.TB) {
	t.Helper()
	if !Enabled() {
		t.Skip("slow: make test-slow runs it")
	}
}
