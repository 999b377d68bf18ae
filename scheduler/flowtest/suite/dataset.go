package suite

import (
	"bytes"
	"cmp"
	"encoding/csv"
	"errors"
	"io"
	"iter"
	"math/rand/v2"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/llm/value/yaml"
	"github.com/callnode/scheduler/scheduler/flow"
	"github.com/callnode/scheduler/scheduler/flowtest/files"
	"github.com/callnode/scheduler/scheduler/flowtest/result"
)

// dataset is the rows that every case runs with; rows is nil without one.
type dataset struct {
	columns []string
	// columnAt are the places of the columns in the file: in the header, or the first row that has them.
	columnAt map[string]flow.Position
	rows     []*datasetRow
	// isText is set where all cells are texts, which the flow's schema types.
	isText bool
}

type datasetRow struct {
	number int
	name   string
	pos    flow.Position // as problems show it
	cells  *value.Map
}

// readDataset reads the file of the dataset, and takes its sample.
func (r *reader) readDataset() {
	k := r.keys.Dataset
	if k == nil {
		return
	}
	path, content, err := r.folder().Read(k.File)
	if err != nil {
		r.report("/dataset/file", wording.Say("cannot read the dataset %s: %w", k.File, withoutPath(err)), files.Hint(err))
		return
	}
	r.dataFiles[path] = true
	d := &datasetFile{reader: r, path: path, content: bytes.TrimPrefix(content, []byte("\ufeff"))}
	d.columnAt = map[string]flow.Position{}
	switch strings.ToLower(filepath.Ext(path)) {
	case ".csv":
		d.readCSV()
	case ".jsonl":
		d.readLines()
	case ".yaml", ".yml", ".json":
		d.readYAML()
	default:
		r.report("/dataset/file", wording.Say("a dataset is a file of CSV, JSON lines or YAML, not %s", filepath.Base(path)), wording.Say("call it NAME.csv, NAME.jsonl or NAME.yaml"))
		return
	}
	r.data = d.dataset
	if len(r.data.rows) == 0 {
		if !d.isWrong {
			d.report(1, 1, wording.Say("the dataset has no rows"), wording.Text{})
		}
		r.data.rows = []*datasetRow{}
		return
	}
	r.data.nameRows()
	r.checkColumns(k)
	r.checkUnusedColumns(k)
	r.takeSample(k)
}

// checkColumns reports columns that the file names and the dataset does not have.
func (r *reader) checkColumns(k *datasetKeys) {
	missing := func(pointer, column string) {
		if !slices.Contains(r.data.columns, column) {
			r.report(pointer, wording.Say("the dataset has no column %q", column), wording.Of(value.DidYouMeanOrList(column, r.data.columns)))
		}
	}
	if k.Cluster != "" {
		missing("/dataset/cluster", k.Cluster)
	}
	for input, v := range k.Inputs.All() {
		pointer := "/dataset/inputs/" + value.Escape(input)
		column, isText := v.Str()
		if !isText {
			r.report(pointer, wording.Say("the column of an input is a text"), wording.Say("write inputs: {question: COLUMN}"))
			continue
		}
		missing(pointer, column)
		r.checkInputName(pointer, input)
	}
}

// checkUnusedColumns reports columns that nothing uses and that look like inputs, and datasets that give no input: every row would
// run with the defaults of the flow. Other columns may be notes: they are warned of.
func (r *reader) checkUnusedColumns(k *datasetKeys) {
	free, hasInputs := r.freeInputs(k)
	usesAll, used := r.usedColumns("")
	_, usedInInputs := r.usedColumns("/inputs")
	givesInput := len(usedInInputs) > 0 || hasInputs
	for _, column := range r.data.columns {
		if usesAll || used[column] || r.isMapped(k, column) {
			continue
		}
		near := value.DidYouMean(column, free)
		isIdle := !givesInput && len(free) > 0 && !isRowName(column)
		givesInput = givesInput || near != "" || isIdle // one problem tells of it
		switch {
		case near != "":
			r.reportOnce(r.data.columnAt[column], wording.Say("nothing uses the column %q", column), wording.Of(near))
		case isIdle:
			r.reportOnce(r.data.columnAt[column], wording.Say("no input comes from the dataset, and nothing uses the column %q", column),
				wording.Say("name the input that it gives: dataset: {inputs: {%s: %s}}", free[0], column))
		case !isRowName(column):
			note := flow.NewProblem(r.data.columnAt[column], wording.Say("nothing uses the column %q", column), wording.Say("use row.%s in a check, or take the column out", column))
			note.Warning = true
			r.problems = append(r.problems, note)
		}
	}
}

// isGivenByCases reports whether the defaults or all cases give an input.
func (r *reader) isGivenByCases(input string) bool {
	if d := r.keys.Defaults; d != nil && d.Inputs != nil {
		if _, given := d.Inputs.Get(input); given {
			return true
		}
	}
	return !slices.ContainsFunc(r.keys.Cases, func(c caseKeys) bool {
		_, given := c.Inputs.Get(input)
		return !given
	})
}

// freeInputs returns the inputs of the flows that neither a column nor the cases give, and whether a column gives one.
func (r *reader) freeInputs(k *datasetKeys) (free []string, hasInputs bool) {
	for _, f := range r.flows {
		names, _ := inputNames(f.flow)
		for _, name := range names {
			_, isMapped := k.Inputs.Get(name)
			if isMapped || slices.Contains(r.data.columns, name) {
				hasInputs = true
			} else if !slices.Contains(free, name) && !r.isGivenByCases(name) {
				free = append(free, name)
			}
		}
	}
	return free, hasInputs || k.Inputs.Len() > 0
}

// isMapped reports whether a column is that of an input, or groups the rows.
func (r *reader) isMapped(k *datasetKeys, column string) bool {
	if column == k.Cluster {
		return true
	}
	for _, v := range k.Inputs.All() {
		if text, isText := v.Str(); isText && text == column {
			return true
		}
	}
	return slices.ContainsFunc(r.flows, func(f *loadedFlow) bool {
		return slices.Contains(columnInputs(f.flow), column)
	})
}

// rowReference is a column of the row in a template, or the row itself.
var rowReference = regexp.MustCompile(`\brow\b(?:\.([\pL_][\pL\d_-]*))?`)

// usedColumns returns the columns that texts of the defaults and the cases refer to, below a key of theirs, or anywhere where the key is
// "". all is set where a text takes the row as a whole.
func (r *reader) usedColumns(key string) (all bool, used map[string]bool) {
	used = map[string]bool{}
	pointers := []string{"/defaults" + key}
	for i := range r.keys.Cases {
		pointers = append(pointers, "/cases/"+itoa(i)+key)
	}
	for _, pointer := range pointers {
		node, _, found := yaml.Walk(r.root, pointer)
		if !found {
			continue
		}
		for text := range scalarsOf(node) {
			for _, match := range rowReference.FindAllStringSubmatch(text, -1) {
				used[match[1]] = true
			}
		}
	}
	return used[""], used
}

// scalarsOf returns the texts of a node and of those below it.
func scalarsOf(n *yaml.Node) iter.Seq[string] {
	return func(yield func(string) bool) { yieldScalars(n, yield) }
}

func yieldScalars(n *yaml.Node, yield func(string) bool) bool {
	n = yaml.Resolve(n)
	if n.Kind == yaml.Scalar {
		return yield(n.Value)
	}
	for _, below := range n.Content {
		if !yieldScalars(below, yield) {
			return false
		}
	}
	return true
}

// takeSample keeps some of the rows, in their order.
func (r *reader) takeSample(k *datasetKeys) {
	if k.Sample == 0 || k.Sample >= len(r.data.rows) {
		return
	}
	picked := rand.New(rand.NewPCG(k.Seed, uint64(len(r.data.rows)))).Perm(len(r.data.rows))[:k.Sample] //nolint:gosec // which rows are drawn is no secret
	slices.Sort(picked)
	rows := make([]*datasetRow, len(picked))
	for i, at := range picked {
		rows[i] = r.data.rows[at]
	}
	r.data.rows = rows
}

// nameRows names the rows by their column name or id. A name that several rows have gets the number of the row, as often as it takes
// for each row to be known by its own. A row without a name is known by its number.
func (d *dataset) nameRows() {
	counts := map[string]int{}
	for _, row := range d.rows {
		row.name = row.ownName()
		counts[cmp.Or(row.name, itoa(row.number))]++
	}
	for _, row := range d.rows {
		if row.name == "" || counts[row.name] == 1 {
			continue
		}
		for counts[row.name] > 0 {
			row.name += " (" + itoa(row.number) + ")"
		}
		counts[row.name]++
	}
}

// isRowName reports whether a column names rows.
func isRowName(column string) bool { return column == "name" || column == "id" }

// ownName returns what the cells of a row name it; "" where they do not.
func (row *datasetRow) ownName() string {
	for _, column := range []string{"name", "id"} {
		v, ok := row.cells.Get(column)
		if !ok || v.IsNull() {
			continue
		}
		if text, isText := v.Str(); isText {
			return strings.Map(oneLine, text)
		}
		return v.JSON()
	}
	return ""
}

// oneLine returns a space for a character that does not stand in a line of text.
func oneLine(r rune) rune {
	if unicode.IsControl(r) {
		return ' '
	}
	return r
}

// result returns the row as a result names it.
func (row *datasetRow) result(file string) *result.Row {
	return &result.Row{Name: row.name, Number: row.number, Position: result.Position{File: file, Line: row.pos.Line, Col: row.pos.Col}}
}

// datasetFile is a dataset that is being read.
type datasetFile struct {
	dataset
	reader  *reader
	path    string
	content []byte
	isWrong bool
}

func (d *datasetFile) report(line, col int, message, hint wording.Text) {
	d.isWrong = true
	d.reader.problems = append(d.reader.problems, flow.NewProblem(d.position(line, col), message, hint))
}

func (d *datasetFile) position(line, col int) flow.Position {
	return flow.Position{File: d.path, Line: max(line, 1), Col: max(col, 1)}
}

// add adds a row.
func (d *datasetFile) add(line, col int, cells *value.Map) {
	for _, column := range cells.Keys() {
		if !slices.Contains(d.columns, column) {
			d.columns = append(d.columns, column)
			d.columnAt[column] = d.position(line, col)
		}
	}
	d.rows = append(d.rows, &datasetRow{number: len(d.rows) + 1, pos: d.position(line, col), cells: cells})
}

// readCSV reads rows below a line of names.
func (d *datasetFile) readCSV() {
	d.isText = true
	lines := csv.NewReader(bytes.NewReader(d.content))
	lines.FieldsPerRecord = -1 // rows that are ragged are all reported, and not the first alone
	for {
		record, err := lines.Read()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			d.reportCSV(err)
			return
		}
		line, col := lines.FieldPos(0)
		if d.columns == nil {
			d.columns = record
			for i, column := range record {
				line, col := lines.FieldPos(i)
				d.columnAt[column] = d.position(line, col)
			}
			d.checkHeader(line, col)
			if d.isWrong {
				return
			}
			continue
		}
		if len(record) != len(d.columns) {
			d.report(line, col, wording.Say("the row has %d fields, and there are %d columns", len(record), len(d.columns)), wording.Say("put a field with a comma or a line break into quotes"))
			continue
		}
		cells := value.NewMap(len(record))
		for i, text := range record {
			cells.Set(d.columns[i], value.OfString(text))
		}
		d.add(line, col, cells)
	}
}

func (d *datasetFile) reportCSV(err error) {
	var wrong *csv.ParseError
	if !errors.As(err, &wrong) {
		d.report(1, 1, wording.OfError(err), wording.Text{})
		return
	}
	hint := wording.Text{}
	if errors.Is(err, csv.ErrQuote) || errors.Is(err, csv.ErrBareQuote) {
		hint = wording.Say(`write a quote inside a quoted field twice: "a ""b"" c"`)
	}
	d.report(wrong.Line, wrong.Column, wording.Say("the CSV cannot be read: %w", wrong.Err), hint)
}

func (d *datasetFile) checkHeader(line, col int) {
	for i, name := range d.columns {
		if name == "" {
			d.report(line, col, wording.Say("column %d has no name", i+1), wording.Say("the first line has the names of the columns"))
		} else if slices.Contains(d.columns[:i], name) {
			d.report(line, col, wording.Say("there are two columns %q", name), wording.Text{})
		}
	}
}

// readLines reads an object in each line.
func (d *datasetFile) readLines() {
	line := 0
	for text := range strings.Lines(string(d.content)) {
		line++
		if strings.TrimSpace(text) == "" {
			continue
		}
		v, err := value.ParseStrictJSON([]byte(strings.TrimSpace(text)))
		if err != nil {
			d.report(line, 1, wording.Say("the line is not JSON: %w", err), wording.Text{})
			continue
		}
		if v.Kind() != value.Object {
			d.report(line, 1, wording.Say("a row is an object"), wording.Say(`write {"question": "..."}`))
			continue
		}
		d.add(line, 1, v.Map())
	}
}

// readYAML reads a list of objects.
func (d *datasetFile) readYAML() {
	root, err := yaml.Parse(d.content)
	if err == nil && root != nil {
		_, err = yaml.Value(root)
	}
	if err != nil {
		line, col := 1, 1
		message, hint := wording.OfError(err), wording.Text{}
		if wrong, ok := err.(*yaml.Error); ok { //nolint:errorlint // the package returns it as it is
			line, col = wrong.Line, wrong.Col
			message, hint = wrong.Text()
		}
		d.report(line, col, message, hint)
		return
	}
	if root == nil || yaml.Resolve(root).Kind != yaml.Sequence {
		d.report(1, 1, wording.Say("a dataset is a list of rows"), wording.Say("write - {question: ...}"))
		return
	}
	for _, n := range yaml.Resolve(root).Content {
		v, _ := yaml.Value(n)
		if v.Kind() != value.Object {
			d.report(n.Line, n.Column, wording.Say("a row is an object"), wording.Say("write - {question: ...}"))
			continue
		}
		d.add(n.Line, n.Column, v.Map())
	}
}
