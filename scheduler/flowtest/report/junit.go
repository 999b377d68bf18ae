package report

import (
	"encoding/xml"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/scheduler/flowtest/compare"
	"github.com/callnode/scheduler/scheduler/flowtest/result"
)

// The shape of JUnit's XML, as the schema of Jenkins takes it (junit-10.xsd of the plugin xUnit), which is the strictest: a testcase has
// no properties, no file and no line, for example.
type (
	junitRun struct {
		XMLName  xml.Name     `xml:"testsuites"`
		Name     string       `xml:"name,attr"`
		Tests    int          `xml:"tests,attr"`
		Failures int          `xml:"failures,attr"`
		Errors   int          `xml:"errors,attr"`
		Time     string       `xml:"time,attr"`
		Suites   []junitSuite `xml:"testsuite"`
	}
	junitSuite struct {
		Name       string           `xml:"name,attr"`
		Tests      int              `xml:"tests,attr"`
		Failures   int              `xml:"failures,attr"`
		Errors     int              `xml:"errors,attr"`
		Skipped    int              `xml:"skipped,attr"`
		Time       string           `xml:"time,attr"`
		Properties *junitProperties `xml:"properties"`
		Cases      []junitCase      `xml:"testcase"`
	}
	junitCase struct {
		Name    string        `xml:"name,attr"`
		Class   string        `xml:"classname,attr"`
		Time    string        `xml:"time,attr"`
		Failure *junitMessage `xml:"failure"`
		Error   *junitMessage `xml:"error"`
		Skipped *junitText    `xml:"skipped"`
		Output  *junitText    `xml:"system-out"`
	}
	junitProperties struct {
		Properties []junitProperty `xml:"property"`
	}
	junitProperty struct {
		Name  string `xml:"name,attr"`
		Value string `xml:"value,attr"`
	}
	junitMessage struct {
		Message string `xml:"message,attr"`
		Type    string `xml:"type,attr,omitempty"`
		Text    string `xml:",chardata"`
	}
	junitText struct {
		Text string `xml:",chardata"`
	}
)

// writeJUnit writes one testcase for each case, row and variant.
func writeJUnit(w io.Writer, run *result.Run, _ *compare.Comparison, o *Options) error {
	counts := run.Counts()
	all := junitRun{Name: "scheduler test", Tests: counts.Total(), Failures: counts.Failed, Errors: counts.Errors, Time: seconds(run.Elapsed)}
	for _, s := range run.Suites {
		counts := s.Counts()
		suite := junitSuite{Name: o.path(s.File), Tests: counts.Total(), Failures: counts.Failed, Errors: counts.Errors, Skipped: counts.Skipped, Time: seconds(s.Elapsed)}
		if used := o.suiteProperties(s); used != nil {
			suite.Properties = &junitProperties{used}
		}
		for _, c := range s.Cases {
			suite.Cases = append(suite.Cases, o.junitCase(s, c))
		}
		all.Suites = append(all.Suites, suite)
	}
	for _, p := range run.Wrong {
		all.addWrong(o, &p)
	}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	out := xml.NewEncoder(w)
	out.Indent("", "  ")
	if err := out.Encode(all); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}

// addWrong adds a problem for which a test file did not run: an error of a testcase that is the file itself.
func (r *junitRun) addWrong(o *Options, p *result.Problem) {
	file := o.path(p.Position.File)
	last := len(r.Suites) - 1
	if last >= 0 && r.Suites[last].Name == file {
		message := r.Suites[last].Cases[0].Error
		message.Text += o.place(p.Position) + ": " + p.Message + "\n"
		return
	}
	text := o.place(p.Position) + ": " + p.Message + "\n"
	r.Tests, r.Errors = r.Tests+1, r.Errors+1
	r.Suites = append(r.Suites, junitSuite{Name: file, Tests: 1, Errors: 1, Time: seconds(0), Cases: []junitCase{
		{Name: file, Class: file, Time: seconds(0), Error: &junitMessage{Message: p.Message, Type: string(result.Error), Text: text}},
	}})
}

// junitCase returns the testcase of a case.
func (o *Options) junitCase(s *result.Suite, c *result.Case) junitCase {
	t := junitCase{Name: c.ID(), Class: o.path(s.File), Time: seconds(c.Elapsed), Output: o.junitOutput(c)}
	switch c.Outcome {
	case result.Pass:
	case result.Skip:
		t.Skipped = &junitText{c.Skipped}
	case result.Fail:
		t.Failure = o.junitMessage(c)
	default:
		t.Error = o.junitMessage(c)
	}
	return t
}

// junitOutput returns the answer of a case, its grades and its use of tokens and time; nil if there is none of
// them.
func (o *Options) junitOutput(c *result.Case) *junitText {
	var lines []string
	if line := o.gradesLine(c); line != "" {
		lines = append(lines, line)
	}
	for _, note := range o.noteLines(c) {
		lines = append(lines, note.message)
	}
	for _, p := range o.usageProperties(c.Usage()) {
		lines = append(lines, p.Name+": "+p.Value)
	}
	if r := repeatToShow(c); r != nil && r.Outputs != "" {
		lines = append(lines, r.Outputs.Text())
	}
	if lines == nil {
		return nil
	}
	return &junitText{o.place(c.Position) + "\n" + strings.Join(lines, "\n") + "\n"}
}

// junitMessage returns all findings of a case; the first line is the message.
func (o *Options) junitMessage(c *result.Case) *junitMessage {
	m := &junitMessage{Type: string(c.Outcome)}
	var text strings.Builder
	if line := o.rateLine(c); line != "" {
		fmt.Fprintln(&text, line)
	}
	for _, f := range findings(c) {
		if m.Message == "" {
			m.Message, _, _ = strings.Cut(f.title(), "\n")
		}
		fmt.Fprintf(&text, "%s: %s\n", o.place(f.at), f.title())
		for _, line := range o.details(c, f) {
			fmt.Fprintf(&text, "    %s\n", line)
		}
	}
	m.Text = text.String()
	return m
}

// suiteProperties returns tokens and cost of a suite with cases that asked a model.
func (o *Options) suiteProperties(s *result.Suite) []junitProperty {
	one := result.Run{Suites: []*result.Suite{s}}
	return o.usageProperties(one.Usage())
}

// usageProperties returns tokens and cost by their names; none if no model was asked.
func (o *Options) usageProperties(u, embedded llm.Usage) (all []junitProperty) {
	if u.Total() > 0 {
		all = append(all, junitProperty{"tokens", strconv.Itoa(u.Total())})
	}
	if embedded.Total() > 0 {
		all = append(all, junitProperty{"embedding_tokens", strconv.Itoa(embedded.Total())})
	}
	u.Add(embedded)
	if u.Cost > 0 {
		all = append(all, junitProperty{"cost_" + strings.ToLower(o.Currency.Code()), strconv.FormatFloat(u.Cost, 'f', -1, 64)})
	}
	return all
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.3f", d.Seconds()) }
