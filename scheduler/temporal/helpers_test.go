package temporal

import "go.temporal.io/sdk/converter"

// converterValue and converterValues are what listeners of the SDK are given.
type (
	converterValue  = converter.EncodedValue
	converterValues = converter.EncodedValues
)

func dataConverter() converter.DataConverter { return converter.GetDefaultDataConverter() }
