package journal

import (
	"slices"
	"strings"

	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/secret"
)

// AskedItem is the item of a for_each that people are asked about. [Fold] makes it; it is only data.
type AskedItem struct {
	// Number counts from 1 to Count; 0 means no item, or the only one.
	Number, Count int
	// Name is the item's name for people; "" if it has none.
	Name string
}

// maxItemName is how long the name of an item may be, in characters.
const maxItemName = 60

// itemNames are the members of an item that are its name, the first one that it has.
var itemNames = []string{"title", "name", "label", "名称", "姓名", "标题", "id"}

// askedItem returns the item that a step is for, or a step around it: "rows[2]" and "rows[2]/inner".
func (s *RunState) askedItem(path string) AskedItem {
	for path != "" {
		step, index := SplitPath(path)
		whole := s.Step(step)
		if index != nil && whole != nil {
			items := whole.Input.List()
			if *index >= len(items) || len(items) == 1 {
				return AskedItem{}
			}
			return AskedItem{Number: *index + 1, Count: len(items), Name: itemName(items[*index])}
		}
		cut := strings.LastIndexByte(path, '/')
		path = path[:max(cut, 0)]
	}
	return AskedItem{}
}

// itemName returns the name of an item for people: its text, or the text of a member such as name.
func itemName(item value.Value) string {
	if item.Kind() == value.Object {
		named := value.Value{}
		for _, key := range slices.Concat(itemNames, item.Map().Keys()) {
			member, _ := item.Get(key)
			isPlain := member.Kind() == value.String || member.Kind() == value.Int
			if isPlain && named.IsNull() {
				named = member
			}
		}
		item = named
	}
	if item.Kind() == value.List || item.IsNull() {
		return ""
	}
	name := strings.Join(strings.Fields(item.PlainText()), " ")
	if strings.Contains(name, secret.Mask) {
		return ""
	}
	return value.Truncate(name, maxItemName)
}
