package temporal

import (
	"context"
	"errors"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/callnode/scheduler/llm/value/wording"
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

// SetUp registers the search attributes in the namespace. Those that are registered stay.
func (c *Client) SetUp(ctx context.Context) error {
	_, err := c.sdk.OperatorService().AddSearchAttributes(ctx, &operatorservice.AddSearchAttributesRequest{
		Namespace: c.options.Namespace,
		SearchAttributes: map[string]enums.IndexedValueType{
			attributeFlow.GetName():    enums.INDEXED_VALUE_TYPE_KEYWORD,
			attributeState.GetName():   enums.INDEXED_VALUE_TYPE_KEYWORD,
			attributeWaiting.GetName(): enums.INDEXED_VALUE_TYPE_KEYWORD_LIST,
			attributeTokens.GetName():  enums.INDEXED_VALUE_TYPE_INT,
		},
	})
	var exists *serviceerror.AlreadyExists
	if err == nil || errors.As(err, &exists) {
		return nil
	}
	return wording.Errorf("registering the search attributes: %w", err)
}
