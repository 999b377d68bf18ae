package eval

import (
	"github.com/callnode/scheduler/llm/prompt/internal/pyvalue"
	"github.com/callnode/scheduler/llm/value"
)

// Scope holds the values of names.
type Scope = pyvalue.Scope

// LenientScope is a Scope in which members of some undefined names are undefined again, although Jinja2 fails. For
// example, {{ step.text | default("") }} works when the step was skipped. Printing such a member is still an
// error. It lives and is used as a [Scope].
type LenientScope interface {
	Scope
	// IsAbsent reports whether the undefined name is one of these.
	IsAbsent(name string) bool
}

// SeedScope is a Scope that seeds the filter random: renderings of one text with the same seed choose
// the same items. Other scopes have the seed 0. It lives and is used as a [Scope].
type SeedScope interface {
	Scope
	// RandomSeed returns the seed.
	RandomSeed() uint64
}

// Values is a Scope of known values: the members of an object. It does not change, so that
// several renderings may share it.
type Values struct{ Map *value.Map }

// Lookup returns the member of that name.
func (v Values) Lookup(name string) (value.Value, bool, error) {
	x, ok := v.Map.Get(name)
	return x, ok, nil
}

// SecretScope is a Scope whose values may be secrets ([value.OfSecret]). Results of Eval and RenderValue that use
// them are secrets too: a text in the bytes that are the secret's or were computed from it, a number as a whole.
// Some results are not, because they reveal next to nothing, and flows use them in checks: true and false, a
// length, the keys of a dict, and the template's own text that a condition chose. It lives and is used as a
// [Scope].
type SecretScope interface {
	Scope
	// HoldsSecrets reports whether any value may be, or hold, a secret.
	HoldsSecrets() bool
}

// SecretValues are [Values] that may hold secrets.
type SecretValues struct{ Values }

var _ SecretScope = SecretValues{}

// HoldsSecrets reports whether one of the values is, or holds, a secret.
func (v SecretValues) HoldsSecrets() bool { return value.OfMap(v.Map).HasSecret() }

func holdsSecrets(scope Scope) bool {
	s, ok := scope.(SecretScope)
	return ok && s.HoldsSecrets()
}

// maskedScope is a scope without its secrets.
type maskedScope struct{ Scope }

var (
	_ LenientScope = maskedScope{}
	_ SeedScope    = maskedScope{}
)

// Lookup returns the value of the name with stars in place of secrets.
func (s maskedScope) Lookup(name string) (value.Value, bool, error) {
	v, ok, err := s.Scope.Lookup(name)
	return v.MaskedDeep("***"), ok, err
}

// RandomSeed asks the scope.
func (s maskedScope) RandomSeed() uint64 {
	if seeded, ok := s.Scope.(SeedScope); ok {
		return seeded.RandomSeed()
	}
	return 0
}

// IsAbsent asks the scope.
func (s maskedScope) IsAbsent(name string) bool {
	lenient, ok := s.Scope.(LenientScope)
	return ok && lenient.IsAbsent(name)
}
