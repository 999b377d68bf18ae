package suite

import (
	"bytes"
	"cmp"
	"encoding/csv"
	"errors"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/llm/value/yaml"
	"github.com/callnode/scheduler/scheduler/flow"
	"github.com/callnode/scheduler/scheduler/flowtest/result"
)

// dataset is the rows that every case runs with; rows is nil without one.
type dataset struct {
	columns []string
	// columnAt are the places of the columns in the file: in the header, or the first row that has them.
	columnAt map[string]flow.Position
	rows     []*datasetRow
	// isText is set if all cells are texts, which the flow's schema types.
	isText bool
}

type datasetRow struct {
	number int
	name   string
	pos    flow.Position // as problems show it
	cells  *value.Map
}

// nameRows names the rows by their column name or id. A name that several rows have gets the number of the row, as often as it takes
// for each row to be known by its own. A row without a name is known by its number.
func (d *dataset) nameRows() {
	counts := map[string]int{}
	for _, row := range d.rows {
		row.name = row.ownName()
		counts[cmp.Or(row.name, strconv.Itoa(row.number))]++
	}
	for _, row := range d.rows {
		if row.name == "" || counts[row.name] == 1 {
			continue
		}
		for counts[row.name] > 0 {
			row.name += " (" + strconv.Itoa(row.number) + ")"
		}
		counts[row.name]++
	}
}

// isRowName reports whether a column names rows.
func isRowName(column string) bool { return column == "name" || column == "id" }

// ownName returns the name of a row from its cells; "" if they have none.
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

// oneLine returns a space for a character that does not belong in a line of text.
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
	path     string
	content  []byte
	problems flow.Problems
}

func (d *datasetFile) report(line, col int, message, hint wording.Text) {
	d.problems = append(d.problems, flow.NewProblem(d.position(line, col), message, hint))
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
			if d.problems != nil {
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
