package report_test

import (
	"bytes"
	"encoding/xml"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/scheduler/explain"
	"github.com/callnode/scheduler/scheduler/flowtest/compare"
	"github.com/callnode/scheduler/scheduler/flowtest/report"
	"github.com/callnode/scheduler/scheduler/flowtest/result"
)

const hostile = `</script><script>alert(1)</script> & "q" 'a' %0A ::error::`

// sample is a run with every outcome, and a hostile text in every possible place.
func sample() *result.Run {
	at := result.Position{File: "flows/a.test.yaml", Line: 4, Col: 7}
	prompt := &explain.Explanation{Step: "answer", Total: 12, Messages: []explain.ExplainedMessage{
		{Role: "system", Tokens: 6, Pieces: []explain.Piece{
			{Text: "Be kind.", Tokens: 2, Sources: []explain.Source{{Kind: explain.SourceFlow, File: "flows/a.yaml", Line: 3, Col: 1}}},
			{Text: hostile, Tokens: 4, Sources: []explain.Source{{Kind: explain.SourceInput, Name: "inputs.question"}}},
		}},
	}, LeftOut: []explain.LeftOut{{Step: "book", Kind: "world_book", Name: "Winter", Reason: "out of season", Tokens: 9}}}
	return &result.Run{Mode: result.Replay, Elapsed: time.Second, Suites: []*result.Suite{
		{File: "flows/a.test.yaml", Cases: []*result.Case{
			{
				Name: hostile, Position: at, Outcome: result.Fail, Rate: 0.8, Planned: 3, Variant: []result.Setting{{Key: "llm", Value: "small"}},
				Repeats: []result.Repeat{
					{Number: 1, Outcome: result.Pass, Usage: llm.Usage{InputTokens: 100, OutputTokens: 20, Cost: 0.25}, EmbeddingUsage: llm.Usage{InputTokens: 9}, Checks: []result.Check{{Name: "fine", Outcome: result.Pass}}},
					{
						Number: 2, Outcome: result.Fail, Prompts: []*explain.Explanation{prompt}, Outputs: `{"reply": "sesame"}`,
						Checks: []result.Check{{
							Name: "prompt answer includes", Outcome: result.Fail, Position: at, Message: "no piece is like this: " + hostile, Hint: "see --explain",
							Piece: &result.PieceRef{Step: "answer", Kind: "world_book", Name: "Winter", Message: -1, Reason: "out of season"}, Diff: "-opens at 11\n+opens at 12\n",
						}, {Name: "judged", Outcome: result.Pass, Judge: &result.Judge{Labels: 40, Agreement: 0.9, Kappa: 0.8, Criteria: []result.Criterion{{Text: "Names days", Reason: "it does", Met: true}}}}},
					},
				},
			},
			{Name: "later", Position: at, Outcome: result.Skip, Skipped: "not yet"},
			{Name: "lost", Position: at, Outcome: result.Error, Planned: 1, Repeats: []result.Repeat{{Number: 1, Outcome: result.Error, Problem: &result.Problem{Kind: "missing", Message: "the cassette has no take 1", Hint: "record it with --record"}}}},
		}},
		{File: "flows/b.test.yaml", Cases: []*result.Case{{Name: "b", Position: result.Position{File: "flows/b.test.yaml", Line: 1, Col: 1}, Outcome: result.Pass, Planned: 1, Repeats: []result.Repeat{{Number: 1, Outcome: result.Pass, Checks: []result.Check{{Name: "fine", Weight: 1, Outcome: result.Pass}}}}}}},
	}}
}

func write(t *testing.T, kind string, c *compare.Comparison, o report.Options) string {
	t.Helper()
	var out bytes.Buffer
	if err := report.Write(&out, kind, sample(), c, o); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// comparison is a comparison with every kind of line.
func comparison() *compare.Comparison {
	before := compare.NewBaseline(sample())
	after := compare.NewBaseline(sample())
	before.Mode, after.Mode = result.Live, result.Live
	before.Suites[0].Cases[0].Outcome = result.Pass
	before.Suites[0].Cases[0].Pieces = []result.Piece{{Step: "answer", Prompt: 1, Kind: "file", Name: "AGENTS.md", Role: "system", Tokens: 4, Digest: "a"}, {Step: "answer", Prompt: 1, Kind: "world_book", Name: "The keeper", Role: "system", Tokens: 31, Digest: "b"}}
	after.Suites[0].Cases[0].Pieces = []result.Piece{{Step: "answer", Prompt: 1, Kind: "file", Name: "AGENTS.md", Role: "system", Tokens: 42, Digest: "c"}, {Step: "answer", Kind: "world_book", Name: "The keeper", Reason: "budget 400", Detail: "needs 31, 12 left"}}
	return compare.Compare(before, after, "main", 1)
}

// TestVisibleEffect: a share changes by one at most; a number of tokens has no such end.
func TestVisibleEffect(t *testing.T) {
	for _, c := range []struct {
		metric  string
		visible float64
		want    string
	}{
		{compare.ScoreMeasure, 0.4, "; smallest visible effect 0.400\n"},
		{compare.ScoreMeasure, 7.04, "; so few cases show no effect\n"},
		{compare.TokensMeasure, 7.04, "; smallest visible effect 7.0\n"},
	} {
		changed := comparison()
		changed.Metrics = []compare.Metric{{Name: c.metric, Visible: &c.visible}}
		var out bytes.Buffer
		report.NewPrinter(&out, report.Options{}).PrintEnd(sample(), changed)
		if !strings.Contains(out.String(), c.want) {
			t.Errorf("%q is not in:\n%s", c.want, out.String())
		}
	}
}

func TestTerminal(t *testing.T) {
	var out bytes.Buffer
	p := report.NewPrinter(&out, report.Options{Path: func(file string) string { return strings.TrimPrefix(file, "flows/") }})
	run := sample()
	for _, s := range run.Suites {
		p.PrintSuite(s)
	}
	p.PrintEnd(run, comparison())
	for _, want := range []string{
		"FAIL  a.test.yaml  1 failed, 1 not decided, 1 skipped\n", "ok    b.test.yaml  1 passed\n",
		"  a.test.yaml:4:7: " + hostile + " [llm=small]: 1 of 2 repeats passed (95 %: 9 to 91 %); 80 % must pass; 1 more could not change the verdict\n",
		": prompt answer includes: no piece is like this: ", "      in 1 of 2 repeats\n", `      piece: world_book "Winter" of answer, left out: out of season`,
		"      -opens at 11\n      +opens at 12\n      see --explain\n", ": lost: the cassette has no take 1\n      record it with --record\n",
		"against main: 2 cases in both\n", "  not decided in one of them: lost\n", "was pass, is fail", "AGENTS.md: +38 tokens [file of answer;", "The keeper: out now, budget 400: needs 31, 12 left",
		"at least 6 cases must change", "1 passed, 1 failed, 1 not decided, 1 skipped  1.00s\n", "models: 100 tokens in, 20 out, $0.2500; embeddings: 9 tokens, as recorded\n",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not in:\n%s", want, out.String())
		}
	}
	out.Reset()
	chinese := report.NewPrinter(&out, report.Options{Language: "zh"})
	chinese.PrintSuite(run.Suites[0])
	chinese.PrintEnd(run, comparison())
	for _, want := range []string{"1 个失败", "2 次重复中 1 次通过（95 %：9 至 91 %）；须有 80 % 通过", "片段：answer 的 world_book \"Winter\"", "The keeper：现在略去"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not in:\n%s", want, out.String())
		}
	}
	if strings.Contains(out.String(), "%!") {
		t.Errorf("a format and its arguments differ:\n%s", out.String())
	}
}

// junitNode is an element of any name.
type junitNode struct {
	XMLName  xml.Name
	Attrs    []xml.Attr  `xml:",any,attr"`
	Text     string      `xml:",chardata"`
	Children []junitNode `xml:",any"`
}

// attr returns an attribute; "" if there is none.
func (n *junitNode) attr(name string) string {
	for _, a := range n.Attrs {
		if a.Name.Local == name {
			return a.Value
		}
	}
	return ""
}

// jenkinsRule lists the attributes that an element must and may have, its children, and whether it has text.
type jenkinsRule struct {
	must, may, children string
	text                bool
}

// jenkinsSchema has the rules of junit-10.xsd, by which Jenkins (its plugin xUnit) refuses or takes a report.
var jenkinsSchema = map[string]jenkinsRule{
	"testsuites": {may: "name time tests failures errors", children: "testsuite"},
	"testsuite": {
		must: "name tests failures errors", may: "group time skipped timestamp hostname id package file log url",
		children: "testsuite properties testcase system-out system-err",
	},
	"properties": {children: "property"},
	"property":   {must: "name value"},
	"testcase":   {must: "name", may: "time classname group", children: "skipped error failure system-out system-err"},
	"failure":    {may: "type message", text: true},
	"error":      {may: "type message", text: true},
	"skipped":    {may: "type message", text: true},
	"system-out": {text: true},
	"system-err": {text: true},
}

// surefireTime is the pattern of times of testsuites and testsuite.
var surefireTime = regexp.MustCompile(`^(([0-9]{0,3},)*[0-9]{3}|[0-9]{0,3})*(\.[0-9]*)?$`)

// findJenkinsFaults returns the parts below an element that the schema of Jenkins does not allow.
func findJenkinsFaults(n *junitNode) (faults []string) {
	name := n.XMLName.Local
	rule, isKnown := jenkinsSchema[name]
	if !isKnown || n.XMLName.Space != "" {
		return []string{"there is an element " + name}
	}
	must := strings.Fields(rule.must)
	seen := map[string]bool{}
	for _, a := range n.Attrs {
		seen[a.Name.Local] = true
		if !slices.Contains(slices.Concat(must, strings.Fields(rule.may)), a.Name.Local) {
			faults = append(faults, name+" has the attribute "+a.Name.Local)
		}
		if a.Name.Local == "time" && name != "testcase" && !surefireTime.MatchString(a.Value) {
			faults = append(faults, name+" has the time "+a.Value)
		}
	}
	for _, attr := range must {
		if !seen[attr] {
			faults = append(faults, name+" lacks the attribute "+attr)
		}
	}
	if !rule.text && strings.TrimSpace(n.Text) != "" {
		faults = append(faults, name+" has text")
	}
	for i := range n.Children {
		child := &n.Children[i]
		if !slices.Contains(strings.Fields(rule.children), child.XMLName.Local) {
			faults = append(faults, name+" has the child "+child.XMLName.Local)
		}
		faults = append(faults, findJenkinsFaults(child)...)
	}
	return faults
}

// parseJUnit reads a report with testsuites as its root.
func parseJUnit(t *testing.T, text string) *junitNode {
	t.Helper()
	var root junitNode
	if err := xml.Unmarshal([]byte(text), &root); err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	if root.XMLName.Local != "testsuites" {
		t.Errorf("the root is %s", root.XMLName.Local)
	}
	return &root
}

// TestJenkinsTakesReports: reports of every outcome fit the schema, whatever texts and times are in them.
func TestJenkinsTakesReports(t *testing.T) {
	const odd = "\x00\x1b[31m\u2028\ufffe]]> <b>&\" \xff"
	oddRun := &result.Run{Elapsed: 123456789 * time.Millisecond, Suites: []*result.Suite{{File: odd, Cases: []*result.Case{
		{Name: odd, Outcome: result.Skip, Skipped: odd},
		{Name: "", Outcome: result.Error, Planned: 1, Problem: &result.Problem{Message: odd, Hint: odd}},
		{Name: "a", Outcome: result.Fail, Repeats: []result.Repeat{{Outcome: result.Fail, Checks: []result.Check{{Name: odd, Outcome: result.Fail, Message: odd, Diff: odd}}}}},
	}}, {File: "empty.test.yaml"}}}
	for name, run := range map[string]*result.Run{"none": {}, "odd": oddRun} {
		var out bytes.Buffer
		if err := report.Write(&out, "junit", run, nil, report.Options{}); err != nil {
			t.Fatal(err)
		}
		if faults := findJenkinsFaults(parseJUnit(t, out.String())); len(faults) > 0 {
			t.Errorf("%s: %v in\n%s", name, faults, out.String())
		}
	}
	for text, want := range map[string]string{
		`<testsuites><testsuite name="a" tests="1" failures="0"/></testsuites>`: "testsuite lacks the attribute errors",
		`<testsuites time="1s"/>`: "testsuites has the time 1s",
		`<testsuites><testsuite name="a" tests="1" failures="0" errors="0"><testcase name="x" line="3"/></testsuite></testsuites>`:               "testcase has the attribute line",
		`<testsuites><testsuite name="a" tests="1" failures="0" errors="0"><testcase name="x"><properties/></testcase></testsuite></testsuites>`: "testcase has the child properties",
		`<testsuites><property name="x"/></testsuites>`: "testsuites has the child property; property lacks the attribute value",
		`<testsuites>text</testsuites>`:                 "testsuites has text",
	} {
		if got := strings.Join(findJenkinsFaults(parseJUnit(t, text)), "; "); got != want {
			t.Errorf("%s\ngave %q, want %q", text, got, want)
		}
	}
}

func TestJUnit(t *testing.T) {
	text := write(t, "junit", nil, report.Options{})
	got := parseJUnit(t, text)
	if faults := findJenkinsFaults(got); len(faults) > 0 {
		t.Errorf("%v in\n%s", faults, text)
	}
	if got.attr("tests") != "4" || got.attr("failures") != "1" || got.attr("errors") != "1" || len(got.Children) != 2 {
		t.Errorf("%+v", got.Attrs)
	}
	suite := got.Children[0]
	if suite.attr("skipped") != "1" || suite.Children[0].XMLName.Local != "properties" {
		t.Errorf("%+v", suite)
	}
	used := ""
	for _, p := range suite.Children[0].Children {
		used += p.attr("name") + "=" + p.attr("value") + " "
	}
	if used != "tokens=120 embedding_tokens=9 cost_usd=0.25 " {
		t.Errorf("tokens and cost: %s", used)
	}
	cases := suite.Children[1:]
	failed := cases[0].Children
	if cases[0].attr("name") != hostile+" [llm=small]" || failed[0].XMLName.Local != "failure" || !strings.Contains(failed[0].Text, "flows/a.test.yaml:4:7: prompt answer includes") {
		t.Errorf("%+v", cases[0])
	}
	if out := failed[len(failed)-1]; out.XMLName.Local != "system-out" || !strings.Contains(out.Text, "tokens: 120") || !strings.Contains(out.Text, "sesame") {
		t.Errorf("%+v", out)
	}
	if skipped := cases[1].Children; len(skipped) != 1 || skipped[0].Text != "not yet" || cases[2].Children[0].XMLName.Local != "error" {
		t.Errorf("%+v", cases[1:])
	}
}

func TestJSONAndMarkdown(t *testing.T) {
	text := write(t, "json", comparison(), report.Options{})
	if again := write(t, "json", comparison(), report.Options{}); again != text {
		t.Error("two reports of one run differ")
	}
	if n := strings.Count(text, "\n"); n != 6 || !strings.Contains(text, `{"type":"comparison","against":"main"`) || strings.Contains(strings.ToLower(text), "elapsed") {
		t.Errorf("%d lines:\n%s", n, text)
	}
	md := write(t, "md", comparison(), report.Options{})
	for _, want := range []string{"| flows/a.test.yaml | 0 | 1 | 1 | 1 |", `\<script\>`, "```\nagainst main: 2 cases in both\n"} {
		if !strings.Contains(md, want) {
			t.Errorf("%q is not in:\n%s", want, md)
		}
	}
	outside := strings.Split(md, "```")
	for i := 0; i < len(outside); i += 2 { // text in a fence is shown as it is
		if strings.Contains(outside[i], "<script>") {
			t.Errorf("markup of a text is markup of the report:\n%s", outside[i])
		}
	}
}

// The output counts messages from 0, as test files do, and mentions left out repeats only if the verdict was
// settled.
func TestTerminalOfMessagesAndLimits(t *testing.T) {
	c := &result.Case{Name: "a", Outcome: result.Error, Planned: 20, Rate: 1, Problem: &result.Problem{Message: "limit"}, Repeats: []result.Repeat{
		{Number: 1, Outcome: result.Pass, Checks: []result.Check{{Name: "in", Outcome: result.Fail, Message: "m", Piece: &result.PieceRef{Step: "s", Kind: "file", Name: "n", Role: "system"}}}},
	}}
	var out bytes.Buffer
	p := report.NewPrinter(&out, report.Options{})
	p.PrintSuite(&result.Suite{File: "a.test.yaml", Cases: []*result.Case{c}})
	if got := out.String(); !strings.Contains(got, "in message 0 (system)") || !strings.Contains(got, "1 of 1 repeats passed") || strings.Contains(got, "could not change") {
		t.Error(got)
	}
	c.Problem = nil
	out.Reset()
	p.PrintSuite(&result.Suite{File: "a.test.yaml", Cases: []*result.Case{c}})
	if !strings.Contains(out.String(), "19 more could not change the verdict") {
		t.Error(out.String())
	}
}

// Texts of models and files cannot steer a terminal, nor give commands to a runner of GitHub Actions.
func TestForeignText(t *testing.T) {
	const attack = "\x1b[31m\x07\x00\n::error::one\n \t::warning::two ##[error]three\n\u2028::notice::four"
	run := &result.Run{Suites: []*result.Suite{{File: "a.test.yaml", Cases: []*result.Case{
		{Name: "name" + attack, Outcome: result.Fail, Repeats: []result.Repeat{{Outcome: result.Fail, Problem: &result.Problem{Message: attack, Hint: attack}, Checks: []result.Check{
			{Name: attack, Outcome: result.Fail, Message: "m" + attack, Hint: attack, Diff: attack, Judge: &result.Judge{Criteria: []result.Criterion{{Text: attack, Reason: attack}}}},
		}}}},
		{Name: "s", Outcome: result.Skip, Skipped: attack},
	}}}}
	o := report.Options{InActions: true}
	shown := map[string]string{}
	var out bytes.Buffer
	p := report.NewPrinter(&out, o)
	p.Verbose = true
	p.PrintSuite(run.Suites[0])
	p.PrintEnd(run, nil)
	shown["terminal"] = out.String()
	for line := range strings.Lines(out.String() + o.ForeignText(attack)) {
		if strings.HasPrefix(strings.TrimSpace(line), "::") || strings.Contains(line, "##[") {
			t.Errorf("a command: %q", line)
		}
	}
	if !strings.Contains(out.String(), ": :error::one") || !strings.Contains(out.String(), `\u001b[31m`) {
		t.Error(out.String())
	}
	out.Reset()
	report.Annotate(&out, run, o)
	shown["annotations"] = out.String()
	if n := strings.Count(out.String(), "\n"); n != 2 || !strings.HasPrefix(out.String(), "::error file=") {
		t.Errorf("%d lines:\n%s", n, out.String())
	}
	for _, kind := range []string{"md", "html", "junit"} {
		out.Reset()
		if err := report.Write(&out, kind, run, nil, o); err != nil {
			t.Fatal(err)
		}
		shown[kind] = out.String()
	}
	for place, text := range shown {
		if strings.ContainsAny(text, "\x1b\x07\x00\u2028") && (place != "junit" || strings.ContainsAny(text, "\x1b\x07\x00")) {
			t.Errorf("%s has a control character:\n%q", place, text)
		}
	}
	out.Reset()
	plain := report.NewPrinter(&out, report.Options{})
	plain.PrintSuite(run.Suites[0])
	if !strings.Contains(out.String(), "::error::one") {
		t.Errorf("outside of a runner the text is changed:\n%s", out.String())
	}
}

func TestAnnotations(t *testing.T) {
	var out bytes.Buffer
	report.Annotate(&out, sample(), report.Options{})
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) != 2 {
		t.Fatalf("%d lines:\n%s", len(lines), out.String())
	}
	if !strings.HasPrefix(lines[0], "::error file=flows/a.test.yaml,line=4,col=7,title=") || !strings.Contains(lines[0], "%0Asee --explain") || !strings.Contains(lines[0], "%250A") {
		t.Error(lines[0])
	}
	if !strings.HasPrefix(lines[1], "::warning file=flows/a.test.yaml,line=4,col=7,title=lost::the cassette has no take 1") {
		t.Error(lines[1])
	}
	many := sample()
	for range 30 {
		many.Suites[0].Cases = append(many.Suites[0].Cases, sample().Suites[0].Cases[0])
	}
	out.Reset()
	report.Annotate(&out, many, report.Options{})
	if n := strings.Count(out.String(), "::error file="); n != 10 || !strings.Contains(out.String(), "::notice::21 more are in the log") {
		t.Errorf("%d annotations:\n%s", n, out.String())
	}
}

func TestSecretsAreMasked(t *testing.T) {
	o := report.Options{Mask: func(text string) string { return strings.ReplaceAll(text, "sesame", "***") }}
	for _, kind := range []string{"html", "json", "junit", "md"} {
		run := sample()
		check := &run.Suites[0].Cases[0].Repeats[1].Checks[0]
		check.Message, check.Diff, check.Piece.Name, run.Suites[0].Cases[0].Name = "sesame m", "+sesame d", "sesame p", "sesame n"
		run.Suites[0].Cases[0].Repeats[1].Prompts[0].Messages[0].Pieces[0].Text = "sesame t"
		var out bytes.Buffer
		if err := report.Write(&out, kind, run, nil, o); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(out.String(), "sesame") || !strings.Contains(out.String(), "*** n") && !strings.Contains(out.String(), `\*\*\* n`) {
			t.Errorf("%s shows a secret, or hides more:\n%s", kind, out.String())
		}
		if check.Message != "sesame m" {
			t.Errorf("%s changes the run", kind)
		}
	}
}

func TestTargets(t *testing.T) {
	got, err := report.ParseTargets([]string{"junit=a.xml, json=b.jsonl", "html=out/c.html"})
	if err != nil || len(got) != 3 || got[1] != (report.Target{Kind: "json", File: "b.jsonl"}) {
		t.Errorf("%+v, %v", got, err)
	}
	for _, bad := range [][]string{{"junit"}, {"junit="}, {"jnit=a"}, {"=a"}, {"junit=a", "json=./a"}} {
		if _, err := report.ParseTargets(bad); err == nil {
			t.Errorf("%v is accepted", bad)
		}
	}
	dir := t.TempDir()
	good, blocked := filepath.Join(dir, "new", "r.md"), filepath.Join(dir, "file")
	if err := os.WriteFile(blocked, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	err = report.WriteFiles([]report.Target{{Kind: "json", File: filepath.Join(blocked, "x")}, {Kind: "md", File: good}}, sample(), nil, report.Options{})
	if err == nil || !strings.Contains(err.Error(), "the report json was not written to ") {
		t.Errorf("error: %v", err)
	}
	if _, err := os.Stat(good); err != nil {
		t.Errorf("the other report: %v", err)
	}
}

// A failure with lines of its own has the first of them as the message of JUnit, and a piece beside the messages has no number.
func TestLinesOfFailures(t *testing.T) {
	check := result.Check{
		Name: "prompt clerk confined", Weight: 1, Outcome: result.Fail, Message: "asked was:\n  + more",
		Piece: &result.PieceRef{Step: "clerk", Kind: "input", Name: "inputs.town", Message: -1, Role: "tools"},
	}
	c := &result.Case{Name: "a", Outcome: result.Fail, Planned: 1, Repeats: []result.Repeat{{Number: 1, Outcome: result.Fail, Checks: []result.Check{check}}}}
	run := &result.Run{Suites: []*result.Suite{{File: "a.test.yaml", Cases: []*result.Case{c}}}}
	var out strings.Builder
	if err := report.Write(&out, "junit", run, nil, report.Options{Language: "en"}); err != nil {
		t.Fatal(err)
	}
	if text := out.String(); !strings.Contains(text, `message="prompt clerk confined: asked was:"`) || !strings.Contains(text, "+ more") || !strings.Contains(text, "beside the messages (tools)") {
		t.Error(text)
	}
}
