package promptfoo

import (
	"encoding/csv"
	"errors"
	"io"
	"regexp"
	"strings"

	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/llm/value/yaml"
	"github.com/callnode/scheduler/scheduler/importer"
)

// readCSV reads tests from a file of CSV: columns are variables, except columns that begin with two underscores,
// which hold expectations: __expected, for example.
func (r *reader) readCSV(s *importer.Source, n *yaml.Node, file string) {
	data, at, err := r.readFile(file)
	if err != nil {
		s.Drop(n, wording.Say("%s was not read: %w", file, err))
		return
	}
	root, err := csvNode(data)
	if err != nil {
		s.Drop(n, wording.Say("%s was not read: %w", file, err))
		return
	}
	s.Keep(n)
	rows := r.addSource(r.shown(at), root)
	for _, row := range root.Content {
		r.tests = append(r.tests, r.readRow(rows, row))
	}
}

// csvNode returns the rows of a file as a list of maps, each cell with its place.
func csvNode(data []byte) (*yaml.Node, error) {
	text, err := value.DecodeText(data)
	if err != nil {
		return nil, err
	}
	in := csv.NewReader(strings.NewReader(text))
	in.TrimLeadingSpace = true
	header, err := in.Read()
	if err != nil {
		return nil, err
	}
	root := &yaml.Node{Kind: yaml.Sequence, Tag: "!!seq"}
	for {
		cells, err := in.Read()
		if errors.Is(err, io.EOF) {
			return root, nil
		}
		if err != nil {
			return nil, err
		}
		row := &yaml.Node{Kind: yaml.Mapping, Tag: "!!map"}
		for i, cell := range cells {
			line, col := in.FieldPos(i)
			row.Content = append(row.Content,
				&yaml.Node{Kind: yaml.Scalar, Tag: "!!str", Value: strings.TrimSpace(header[i]), Line: line, Column: col},
				&yaml.Node{Kind: yaml.Scalar, Tag: "!!str", Value: cell, Line: line, Column: col})
		}
		root.Content = append(root.Content, row)
	}
}

var expectedColumn = regexp.MustCompile(`^__expected\d*$`)

// readRow reads a row of a file of CSV.
func (r *reader) readRow(s *importer.Source, row *yaml.Node) *test {
	t := &test{vars: value.NewMap(0)}
	keys := membersOf(row)
	metric, _ := textOf(keys["__metric"])
	for i := 0; i+1 < len(row.Content); i += 2 {
		column, node := row.Content[i].Value, row.Content[i+1]
		switch {
		case expectedColumn.MatchString(column):
			if node.Value == "" {
				s.Keep(node)
				continue
			}
			r.readExpected(s, t, node, metric)
		case column == "__description":
			t.name = node.Value
			s.Keep(node)
		case column == "__metric":
			s.Keep(node)
		case column == "__threshold":
			if threshold, err := value.OfNumber(node.Value); err == nil {
				t.threshold = threshold
				s.Keep(node)
			}
		case strings.HasPrefix(column, "__metadata:"):
			if node.Value != "" {
				t.tags = append(t.tags, strings.TrimPrefix(column, "__metadata:")+"="+node.Value)
			}
			s.Change(node, wording.Say("it is a tag"))
		case strings.HasPrefix(column, "__"):
			s.Drop(node, wording.Say("nothing here takes it"))
			if node.Value != "" {
				t.lose(column)
			}
		default:
			t.vars.Set(inputName(column), value.OfString(node.Value))
			s.Keep(node)
		}
	}
	return t
}

// expectation matches a cell of an expected column: type: value, or type(threshold): value.
var expectation = regexp.MustCompile(`(?s)^(not-)?([a-z][a-z-]*)(?:\(([\d.]+)\))?\s*:\s*(.*)$`)

// readExpected reads a cell of an expected column: an assertion in a line, or the text that the answer equals.
func (r *reader) readExpected(s *importer.Source, t *test, node *yaml.Node, metric string) {
	a := &assertion{kind: "equals", node: node, value: value.OfString(node.Value), weight: value.OfInt(1), metric: metric}
	for _, code := range []string{"fn:", "eval:", "javascript:"} {
		if body, ok := strings.CutPrefix(node.Value, code); ok {
			a.kind, a.value = "javascript", value.OfString(body)
		}
	}
	m := expectation.FindStringSubmatch(node.Value)
	if a.kind == "equals" && m != nil && isAssertType(m[2]) {
		a.isNegated, a.kind, a.value = m[1] != "", m[2], value.OfString(strings.TrimSpace(m[4]))
		if a.kind == "grade" {
			a.kind = "llm-rubric"
		}
		if threshold, err := value.OfNumber(m[3]); err == nil {
			a.threshold = threshold
		}
	}
	r.addAssertion(s, t, a)
}
