package suite

import (
	"time"

	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/yaml"
)

// caseReader makes the cases of one entry under cases. It lives while that is read.
type caseReader struct {
	*reader
	pointer string // of the entry
	entry   *caseKeys
	// settings are the settings of the entry over the defaults.
	settings settingKeys
	mocks    []*Mock
	memory   []*memoryRecord
	state    []EndedStep
	// recorded are the inputs of the run that state is taken from; nil without one.
	recorded *value.Map
	now      time.Time
	scripts  []Script
	answers  []Answer
}

// place returns the pointer of a setting: in the case, else in the defaults.
func (c *caseReader) place(key string) string {
	if c.has(key) {
		return c.pointer + "/" + key
	}
	return "/defaults/" + key
}

// hasAxis reports whether a setting of the matrix replaces the case's.
func (c *caseReader) hasAxis(key string) bool {
	_, is := c.keys.Matrix.Get(key)
	return is && !c.has(key)
}

// has reports whether the case itself has a key.
func (c *caseReader) has(key string) bool {
	_, _, found := yaml.Walk(c.root, c.pointer+"/"+key)
	return found
}
