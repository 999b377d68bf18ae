package prompt

import "sync"

// builtins holds everything that has a name in the language. They are built at
// their first use and never changed; a variable with an initializer could not
// hold them, for their functions look into them again.
var builtins struct {
	once               sync.Once
	filters, tests     map[string]*builtin
	strs, lists, dicts map[string]*builtin
	globals            map[string]val
}

func buildTables() {
	builtins.filters, builtins.tests = newFilterTable(), newTestTable()
	builtins.strs, builtins.lists = newStrTable(), newListTable()
	builtins.dicts = newDictTable()
	builtins.globals = newGlobalTable()
}

func filterTable() map[string]*builtin { builtins.once.Do(buildTables); return builtins.filters }
func testTable() map[string]*builtin   { builtins.once.Do(buildTables); return builtins.tests }
func strTable() map[string]*builtin    { builtins.once.Do(buildTables); return builtins.strs }
func listTable() map[string]*builtin   { builtins.once.Do(buildTables); return builtins.lists }
func dictTable() map[string]*builtin   { builtins.once.Do(buildTables); return builtins.dicts }
func globalTable() map[string]val      { builtins.once.Do(buildTables); return builtins.globals }
