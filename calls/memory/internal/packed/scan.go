package packed

import (
	"database/sql"
	"time"

	"github.com/google/uuid"

	"github.com/callnode/scheduler/calls/memory"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
)

// ScanID scans the UUID of an id.
type ScanID struct {
	Kind memory.Kind
	To   *string
}

var _ sql.Scanner = ScanID{}

// Scan is part of [sql.Scanner].
func (s ScanID) Scan(src any) error {
	b, _ := src.([]byte)
	u, err := uuid.FromBytes(b)
	*s.To = string(s.Kind) + "_" + u.String()
	return err
}

// ScanTime scans ms since 1970.
type ScanTime struct{ To *time.Time }

// Scan is part of [sql.Scanner].
func (s ScanTime) Scan(src any) error {
	ms, ok := src.(int64)
	if !ok {
		return wording.Errorf("a time is %T", src)
	}
	*s.To = time.UnixMilli(ms).UTC()
	return nil
}

// ScanJSON scans JSON; it ignores NULL.
type ScanJSON struct{ Use func(value.Value) }

// Scan is part of [sql.Scanner].
func (s ScanJSON) Scan(src any) error {
	var data []byte
	switch src := src.(type) {
	case nil:
		return nil
	case string:
		data = []byte(src)
	case []byte:
		data = src
	}
	v, err := value.ParseJSON(data)
	if err == nil {
		s.Use(v)
	}
	return err
}

// Collect returns a function that adds each row of a query to a list; targets returns the destinations for the
// columns of a row, as [Column] does for a single column.
func Collect[T any](list *[]T, targets func(row *T) []any) func(scan func(...any) error) error {
	return func(scan func(...any) error) error {
		var row T
		err := scan(targets(&row)...)
		*list = append(*list, row)
		return err
	}
}

// Column returns the target of the only column of a row.
func Column[T any](row *T) []any { return []any{row} }
