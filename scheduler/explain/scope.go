package explain

import (
	"github.com/callnode/scheduler/llm/prompt"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/secret"
	"github.com/callnode/scheduler/scheduler/flow"
)

// recordedScope is what the run recorded under the names of a site's templates. The explainer makes one for a site.
type recordedScope struct {
	*sharedNames
	own        *value.Map // what only this item of the step sees
	hasSecrets bool
	seed       uint64 // of the filter random
}

// sharedNames are the names that all items of a step see alike. The explainer makes one for a step of a frame: a step may have
// many thousands of items.
type sharedNames struct {
	names   *value.Map
	history func() value.Value // it has the input of every item, and few templates mention it
	skipped map[string]bool
}

// stepOfFrame is what [sharedNames] are of: a step of a flow as it ran, or its outputs.
type stepOfFrame struct {
	*frame
	step *flow.Step
}

var (
	_ prompt.SecretScope = recordedScope{}
	_ prompt.SeedScope   = recordedScope{}
)

// valueOf returns the value of a name as it is on record.
func (s recordedScope) valueOf(name string) (v value.Value, ok bool) {
	if name == "history" {
		return s.history(), true
	}
	v, ok = s.own.Get(name)
	if !ok {
		v, ok = s.names.Get(name)
	}
	return v, ok
}

// Lookup returns the value of a name, in which masks are secrets.
func (s recordedScope) Lookup(name string) (v value.Value, ok bool, err error) {
	v, ok = s.valueOf(name)
	if s.hasSecrets {
		v = secret.MarkMasks(v)
	}
	return v, ok, nil
}

// HoldsSecrets reports whether the run had secrets.
func (s recordedScope) HoldsSecrets() bool { return s.hasSecrets }

// RandomSeed returns the seed of the filter random in the templates of the site.
func (s recordedScope) RandomSeed() uint64 { return s.seed }

// IsAbsent reports whether the name is that of a step that was skipped.
func (s recordedScope) IsAbsent(name string) bool { return s.skipped[name] }

// maskedSecrets returns the secrets that the templates of a step, or the outputs of a flow, mention,
// as events show them.
func maskedSecrets(at site) value.Value {
	templates := []*flow.Param{at.flow.Outputs}
	if at.step != nil {
		templates = []*flow.Param{at.step.With, at.step.ForEach}
	}
	secrets := value.NewMap(0)
	for _, p := range templates {
		p.EachRef(func(ref prompt.Ref) {
			if ref.Path[0] == "secrets" && len(ref.Path) > 1 {
				secrets.Set(ref.Path[1], value.OfString(secret.Mask))
			}
		})
	}
	return value.OfMap(secrets)
}
