package suite

import (
	"path/filepath"
	"strings"
	"time"

	"github.com/callnode/scheduler/llm/prompt"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/llm/value/yaml"
	"github.com/callnode/scheduler/scheduler/flow"
	"github.com/callnode/scheduler/scheduler/flowtest/check"
	"github.com/callnode/scheduler/scheduler/flowtest/files"
)

// reader reads one test file. Places in it are JSON pointers until they are reported.
type reader struct {
	loader *Loader
	// shown is the path that problems name, file the one that results name.
	shown, file, dir string
	root             *yaml.Node
	places           *flow.Places
	keys             fileKeys
	// literals are the values of nodes with !raw or !file; templates the templates of texts that were compiled.
	literals  map[*yaml.Node]value.Value
	templates map[*yaml.Node]*template
	flows     []*loadedFlow
	variants  map[string]*loadedFlow // flows with parameters of the matrix, by both
	data      dataset
	// defaults and cases are the checks, in the order of the file.
	defaults []*check.Check
	cases    [][]*check.Check
	problems flow.Problems
	mocked   map[string]*Mock       // by their pointers
	seen     map[flow.Position]bool // places at which rows and variants have found a problem
	// dataFiles are the files of rows, memories and events that were read.
	dataFiles map[string]bool
	// otherFiles are files of !file, and of the runs that state is taken from.
	otherFiles map[string]bool
	wrong      map[string]bool // pointers of cases whose keys do not fit
}

// report adds a problem at a place of the file.
func (r *reader) report(pointer string, message, hint wording.Text) {
	r.problems = append(r.problems, flow.NewProblem(r.at(pointer), message, hint))
}

// reportOnce is report for a problem that each row or variant finds again.
func (r *reader) reportOnce(pos flow.Position, message, hint wording.Text) {
	if r.seen[pos] {
		return
	}
	r.seen[pos] = true
	r.problems = append(r.problems, flow.NewProblem(pos, message, hint))
}

// at returns the start of the value at a pointer, or of the nearest one around it.
func (r *reader) at(pointer string) flow.Position {
	node, _, _ := yaml.Walk(r.root, pointer)
	return r.position(node, 0)
}

// keyAt returns the start of the key of the value at a pointer.
func (r *reader) keyAt(pointer string) flow.Position {
	node, key, found := yaml.Walk(r.root, pointer)
	if found && key != nil {
		node = key
	}
	return r.position(node, 0)
}

// position returns the place of a byte of the text of a node; of the node with 0.
func (r *reader) position(n *yaml.Node, offset int) flow.Position {
	if n == nil || n.Line < 1 {
		return flow.Position{File: r.shown, Line: 1, Col: 1}
	}
	if offset == 0 || n.Kind != yaml.Scalar {
		return r.places.Of(n)
	}
	return r.places.Within(n, offset)
}

// folder returns the folder that paths in the test file start from.
func (r *reader) folder() files.Folder { return files.Folder{Dir: r.dir, Root: r.loader.Root} }

// checkText reports whether a file of data is UTF-8, and adds a problem at the first place that is not.
func (r *reader) checkText(path string, content []byte) bool {
	wrong := value.FindEncodingError(content)
	if wrong == nil {
		return true
	}
	message, hint := wrong.Text()
	if strings.EqualFold(filepath.Ext(path), ".csv") {
		hint = wording.Say("save it as UTF-8; Excel calls that CSV UTF-8")
	}
	r.reportOnce(flow.Position{File: path, Line: wrong.Line, Col: wrong.Col}, message, hint)
	return false
}

// duration reads a duration; 0 if the file has none, or a value of another type, which another check reports.
func (r *reader) duration(pointer, text string) time.Duration {
	if node, _, isGiven := yaml.Walk(r.root, pointer); text == "" && (!isGiven || yaml.Resolve(node).ShortTag() != "!!str") {
		return 0
	}
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 {
		r.reportOnce(r.at(pointer), wording.Say("invalid duration %q", text), wording.Say("use 500ms, 30s, 2m or 1h30m"))
	}
	return d
}

// loadedFlow is a flow of the file: its path as the file writes it, its real path, and its loader.
type loadedFlow struct {
	name, path string
	flow       *flow.Flow
	loader     *flow.Loader
}

// template is a compiled text: one {{ expression }}, which keeps its type, or a template.
type template struct {
	expr *prompt.Expr
	text *prompt.Template
}
