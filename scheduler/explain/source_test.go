package explain

import "testing"

// What a text was computed from is named in the language of the reader, names of the flow as they are.
func TestComputedText(t *testing.T) {
	s := Source{Kind: SourceComputed, File: "f.yaml", Line: 3, Col: 5, From: []string{"the model's answer", "inputs.town"}}
	text := s.Text()
	if want := "f.yaml:3:5 computed from the model's answer, inputs.town"; text.En != want {
		t.Errorf("got %q, want %q", text.En, want)
	}
	if want := "f.yaml:3:5 由 模型的回答、inputs.town 计算"; text.Zh != want {
		t.Errorf("got %q, want %q", text.Zh, want)
	}
}
