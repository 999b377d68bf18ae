//go:build unix

package cluster

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/callnode/scheduler/scheduler/journal"
)

const talkFlow = "name: talk\n" + looseInputs + "steps: [{id: answer, call: chat, to_user: true, with: {user: hi}}]\n"

// TestStreamMoves cuts a stream of events again and again, by an end of the connection and by the death of its
// server, and continues at another one: the events are the journal's, each once.
func TestStreamMoves(t *testing.T) {
	rounds(t)
	c := newCluster(t)
	c.startWorker()
	c.write("talk", talkFlow)
	servers := []*server{c.startServer(), c.startServer(), c.startServer()}
	id := c.postOne(servers[0].base, "talk")
	var got []journal.Event
	isOver := func() bool { return len(got) > 0 && got[len(got)-1].Type == journal.FlowFinished }
	for at := 0; !isOver(); at++ {
		s := servers[at%len(servers)]
		got = append(got, c.readSome(s, id, got, 20)...)
		if at == 0 { // the server on which the run began
			s.kill()
			servers = servers[1:]
		}
	}
	var want []journal.Event
	for e, err := range c.journal.Events(context.Background(), id, 1) {
		if err != nil {
			t.Fatal(err)
		}
		want = append(want, *e)
	}
	if len(got) != len(want) {
		t.Fatalf("%d events came, the journal has %d", len(got), len(want))
	}
	for i := range want {
		if got, want := lineOf(got[i]), lineOf(want[i]); got != want {
			t.Errorf("the event %d is %s, want %s", i+1, got, want)
		}
	}
}

// lineOf returns the parts of an event that must be the same for every reader.
func lineOf(e journal.Event) string {
	text := ""
	if e.Data != nil {
		text = e.Data.Text
	}
	return fmt.Sprintf("%d %s %s %q", e.Seq, e.Type, e.Step, text)
}

// readSome reads at most n more events of a run than were read before, from a server.
func (c *cluster) readSome(s *server, id string, before []journal.Event, n int) (more []journal.Event) {
	c.t.Helper()
	req, err := http.NewRequest(http.MethodGet, s.base+"/api/v1/runs/"+id+"/events", http.NoBody)
	if err != nil {
		c.t.Fatal(err)
	}
	req.Header.Set("Accept", "text/event-stream")
	if len(before) > 0 {
		req.Header.Set("Last-Event-ID", strconv.FormatInt(before[len(before)-1].Seq, 10))
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		c.t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		c.t.Fatalf("the stream answers %s", resp.Status)
	}
	for lines := bufio.NewScanner(resp.Body); len(more) < n && lines.Scan(); {
		text, isData := strings.CutPrefix(lines.Text(), "data: ")
		if !isData {
			continue
		}
		var e journal.Event
		if err := json.Unmarshal([]byte(text), &e); err != nil {
			c.t.Fatalf("%v: %s", err, text)
		}
		more = append(more, e)
	}
	return more
}

// server is a process of scheduler serve.
type server struct {
	base string // its address
	cmd  *exec.Cmd
}

// startServer starts a server that hands runs over. It ends with the test.
func (c *cluster) startServer() *server {
	c.t.Helper()
	s := &server{cmd: exec.Command(c.program, "serve", "--listen", "127.0.0.1:0", "--auth", "none", "--no-triggers")}
	s.cmd.Dir, s.cmd.Env = c.dir, c.environ()
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		c.t.Fatal(err)
	}
	if err := s.cmd.Start(); err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(s.kill)
	line, err := bufio.NewReader(out).ReadString('\n')
	base, ok := strings.CutPrefix(strings.TrimSpace(line), "listening at ")
	if err != nil || !ok {
		c.t.Fatalf("the server says %q, %v", line, err)
	}
	s.base = base
	go io.Copy(io.Discard, out)
	return s
}

func (s *server) kill() {
	_ = s.cmd.Process.Kill() // it may have ended
	_ = s.cmd.Wait()
}
