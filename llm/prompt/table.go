package prompt

import "sync"

// tables holds everything that has a name in the language. They are built at
// their first use and never changed; a variable with an initializer could not
// hold them, for their functions look into them again.
var tables struct {
	once               sync.Once
	filters, tests     map[string]*builtin
	strs, lists, dicts map[string]*builtin
	globals            map[string]val
}

func buildTables() {
	tables.filters, tables.tests = newFilterTable(), newTestTable()
	tables.strs, tables.lists = newStrTable(), newListTable()
	tables.dicts = newDictTable()
	tables.globals = newGlobalTable()
}

func filterTable() map[string]*builtin { tables.once.Do(buildTables); return tables.filters }
func testTable() map[string]*builtin   { tables.once.Do(buildTables); return tables.tests }
func strTable() map[string]*builtin    { tables.once.Do(buildTables); return tables.strs }
func listTable() map[string]*builtin   { tables.once.Do(buildTables); return tables.lists }
func dictTable() map[string]*builtin   { tables.once.Do(buildTables); return tables.dicts }
func globalTable() map[string]val      { tables.once.Do(buildTables); return tables.globals }
