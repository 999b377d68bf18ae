// Package slow keeps tests that take long (they build plugins, kill processes, or fill stores) out of
// `make test`. `make test-slow` runs them, and so does CI. For example, [Rounds]
// returns a small number without it.
package slow

import (
	"flag"
	"os"
	"strconv"
	"testing"
)

// Variable is the environment variable that turns slow tests on.
const Variable = "SLOW_TESTS"

// Enabled reports whether slow tests run.
func Enabled() bool { return os.Getenv(Variable) != "" }

// Test skips a test, or a part of it, unless slow tests run.
func Test(t testing.TB) {
	t.Helper()
	if !Enabled() {
		t.Skip("slow: make test-slow runs it")
	}
}

// Rounds returns how often a test repeats its work: few times, or all if slow tests run.
func Rounds(few, all int) int {
	if Enabled() {
		return all
	}
	return few
}

// Checks sets how many cases rapid tries in a test whose cases are expensive, from now until the test ends: n, or
// rapid's own number if slow tests run. The test may not run in parallel with others.
func Checks(t testing.TB, n int) {
	t.Helper()
	if Enabled() {
		return
	}
	checks := flag.Lookup("rapid.checks")
	before := checks.Value.String()
	if err := flag.Set(checks.Name, strconv.Itoa(n)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = flag.Set(checks.Name, before) })
}
