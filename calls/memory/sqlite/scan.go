package sqlite

import (
	"time"

	"github.com/google/uuid"

	"github.com/callnode/scheduler/calls/memory"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
)

// scanID scans the UUID of an id.
type scanID struct {
	kind memory.Kind
	to   *string
}

func (s scanID) Scan(src any) error {
	b, _ := src.([]byte)
	u, err := uuid.FromBytes(b)
	*s.to = string(s.kind) + "_" + u.String()
	return err
}

// scanTime scans ms since 1970.
type scanTime struct{ to *time.Time }

func (s scanTime) Scan(src any) error {
	ms, ok := src.(int64)
	if !ok {
		return wording.Errorf("a time is %T", src)
	}
	*s.to = time.UnixMilli(ms).UTC()
	return nil
}

// scanJSON scans JSON; it ignores NULL.
type scanJSON struct{ use func(value.Value) }

func (s scanJSON) Scan(src any) error {
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
		s.use(v)
	}
	return err
}
