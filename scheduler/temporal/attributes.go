package temporal

import (
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"
)

// The search attributes by which Temporal's pages find runs. They have to be registered
// ([Client.SetUp]): a workflow task that sets an unknown one fails.
var (
	attributeFlow    = temporal.NewSearchAttributeKeyKeyword("SchedulerFlow")
	attributeState   = temporal.NewSearchAttributeKeyKeyword("SchedulerState")
	attributeWaiting = temporal.NewSearchAttributeKeyKeywordList("SchedulerWaiting")
	attributeTokens  = temporal.NewSearchAttributeKeyInt64("SchedulerTokens")
)

// upsertAttributes sets the search attributes of a run.
func upsertAttributes(ctx workflow.Context, out Outcome) error {
	updates := []temporal.SearchAttributeUpdate{
		attributeState.ValueSet(string(out.State)), attributeWaiting.ValueSet(append([]string{}, out.Waiting...)), attributeTokens.ValueSet(int64(out.Tokens)),
	}
	if out.Flow != "" {
		updates = append(updates, attributeFlow.ValueSet(out.Flow))
	}
	return workflow.UpsertTypedSearchAttributes(ctx, updates...)
}
