package memory

import (
	"cmp"
	"strings"
	"unicode"

	"github.com/callnode/scheduler/calls"
)

// CheckScope refuses a call without a user: all callers without a user would share such memories. It refuses names
// with control characters, too. The error is an [*calls.Error] of kind Invalid.
func CheckScope(vars *calls.Vars) error {
	if !vars.Scope.IsNone() {
		return checkNames(vars)
	}
	if vars.Run.ID == "" {
		return calls.Errorf(calls.Invalid, "no user is named whose memories are meant").
			WithHint("name one: --user of scheduler call, or user in the vars of a request")
	}
	return calls.Errorf(calls.Invalid, "the flow names no user whose memories would be meant").
		WithHint(`write memory: {user: "{{ run.user }}"} in the flow, and name the user of the run, as run --user does`)
}

// CheckScopeOfSave is [CheckScope] for a call that only saves: alone, it may save for no user, as
// `scheduler memory add` does.
func CheckScopeOfSave(vars *calls.Vars) error {
	if vars.Run.ID == "" {
		return checkNames(vars)
	}
	return CheckScope(vars)
}

// checkNames refuses names of the scope that cannot be shown unchanged.
func checkNames(vars *calls.Vars) error {
	return cmp.Or(CheckUser(vars.Scope.User), CheckLine("memory.user", vars.Scope.User), CheckLine("memory.session", vars.Scope.Session))
}

// CheckLine refuses a name with control characters, because no command line and no list could show it unchanged.
// what names the parameter in the error, which is an [*calls.Error] of kind Invalid.
func CheckLine(what, name string) error {
	if !strings.ContainsFunc(name, unicode.IsControl) {
		return nil
	}
	return calls.Errorf(calls.Invalid, "%s %q has a control character: names are text in one line", what, name)
}

// CheckUser refuses names of users that are not text: after a conversion, several of them
// could be the same. The error is an [*calls.Error] of kind Invalid.
func CheckUser(name string) error { return checkName("user", name) }

// CheckSession does that for names of sessions.
func CheckSession(name string) error { return checkName("session", name) }

// checkName refuses a name that is not [calls.IsValidText].
func checkName(what, name string) error {
	if calls.IsValidText(name) {
		return nil
	}
	return calls.Errorf(calls.Invalid, "the %s %q is not valid UTF-8", what, name).
		WithHint("convert it first, as iconv does: `iconv -f LATIN1 -t UTF-8`; in JSON, a surrogate escape such as \\ud83d needs its second half")
}

// ExampleVars returns the variables for the examples of the family's calls: a user and a session.
func ExampleVars() *calls.Vars {
	return &calls.Vars{Scope: calls.Scope{User: "lin", Session: "main"}}
}
