package explain

import (
	"github.com/callnode/scheduler/llm/prompt"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/secret"
	"github.com/callnode/scheduler/scheduler/flow"
)

// recordedNames are the values that the run recorded under the names of a site's templates. The explainer makes them for a site.
type recordedNames struct {
	*sharedNames
	own *value.Map // those that only this item of the step sees
}

// sharedNames are the names that all items of a step see alike. The explainer makes one for a step of a frame: a step may have
// many thousands of items.
type sharedNames struct {
	names   *value.Map
	history func() value.Value // it has the input of every item, and few templates mention it
}

// stepOfFrame is the key of [sharedNames]: a step of a flow as it ran, or the flow's outputs.
type stepOfFrame struct {
	*frame
	step *flow.Step
}

// valueOf returns the value of a name as it is on record.
func (s recordedNames) valueOf(name string) (v value.Value, ok bool) {
	if name == "history" {
		return s.history(), true
	}
	v, ok = s.own.Get(name)
	if !ok {
		v, ok = s.names.Get(name)
	}
	return v, ok
}

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
