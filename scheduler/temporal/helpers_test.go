package temporal

import "go.temporal.io/sdk/converter"

// converterValue and converterValues are the argument types of listeners of the SDK.
type (
	converterValue  = converter.EncodedValue
	converterValues = converter.EncodedValues
)

func dataConverter() converter.DataConverter { return converter.GetDefaultDataConverter() }
