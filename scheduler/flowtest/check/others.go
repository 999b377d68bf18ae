package check

import (
	"context"

	"github.com/callnode/scheduler/calls"
)

// other finds other evidence; failed is an error where there is none.
func (e *Evidence) other(ctx context.Context, need Need) (*Evidence, *verdict) {
	name := need.Case + need.Flow
	if e.Other == nil {
		return nil, errorOf(calls.Errorf(calls.Missing, "there is nothing of %q to compare with", name))
	}
	other, err := e.Other(ctx, need)
	if err != nil {
		return nil, errorOf(err)
	}
	return other, nil
}
