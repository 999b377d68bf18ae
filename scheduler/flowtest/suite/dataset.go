package suite

import (
	"iter"
	"math/rand/v2"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/llm/value/yaml"
	"github.com/callnode/scheduler/scheduler/flow"
	"github.com/callnode/scheduler/scheduler/flowtest/files"
)

// readDataset reads the file of the dataset, and takes its sample. It reports false for a text in
// another encoding: nothing can be said of its columns.
func (r *reader) readDataset() bool {
	k := r.keys.Dataset
	if k == nil {
		return true
	}
	path, content, err := r.folder().Read(k.File)
	if err != nil {
		r.report("/dataset/file", wording.Say("cannot read the dataset %s: %w", k.File, calls.WithoutPath(err)), files.Hint(err))
		return true
	}
	r.dataFiles[path] = true
	d := &datasetFile{path: path, content: value.WithoutMark(content)}
	d.columnAt = map[string]flow.Position{}
	if !r.checkText(path, content) {
		return false
	}
	switch strings.ToLower(filepath.Ext(path)) {
	case ".csv":
		d.readCSV()
	case ".jsonl":
		d.readLines()
	case ".yaml", ".yml", ".json":
		d.readYAML()
	default:
		r.report("/dataset/file", wording.Say("a dataset is a file of CSV, JSON lines or YAML, not %s", filepath.Base(path)), wording.Say("call it NAME.csv, NAME.jsonl or NAME.yaml"))
		return true
	}
	if len(d.rows) == 0 && d.problems == nil {
		d.report(1, 1, wording.Say("the dataset has no rows"), wording.Text{})
	}
	r.problems = append(r.problems, d.problems...)
	r.data = d.dataset
	if len(r.data.rows) == 0 {
		r.data.rows = []*datasetRow{}
		return true
	}
	r.data.nameRows()
	r.checkColumns(k)
	r.checkUnusedColumns(k)
	r.takeSample(k)
	return true
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
	_, usedInTrigger := r.usedColumns("/trigger")
	givesInput := len(usedInInputs)+len(usedInTrigger) > 0 || hasInputs
	for _, column := range r.data.columns {
		if usesAll || used[column] || r.isMapped(k, column) {
			continue
		}
		near := value.DidYouMean(column, free)
		isIdle := !givesInput && len(free) > 0 && !isRowName(column)
		givesInput = givesInput || near != "" || isIdle // one problem covers it
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

// freeInputs returns the inputs of the flows for which there is neither a column nor a value in the cases, and
// whether a column gives one.
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

// isMapped reports whether a column fills an input, or groups the rows.
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

// usedColumns returns the columns that texts of the defaults and the cases refer to, below a key of theirs, or
// anywhere if the key is "". all is set if a text uses the row as a whole.
func (r *reader) usedColumns(key string) (all bool, used map[string]bool) {
	used = map[string]bool{}
	pointers := []string{"/defaults" + key}
	for i := range r.keys.Cases {
		pointers = append(pointers, "/cases/"+strconv.Itoa(i)+key)
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

// scalarsOf returns the texts of a node and of the nodes below it.
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
