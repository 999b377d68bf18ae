package clients

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
)

// conversation has a customer's messages to the support desk of flows/, and the expected replies: each want is a
// regular expression.
type conversation struct {
	name  string
	turns []string
	want  []string
}

var english = []conversation{
	{"all in one message", []string{"The mug of order A-1042 came broken."}, []string{`Order A-1042.*The problem, .*broken`}},
	{"an answer as a sentence", []string{"My order is late.", "It is A-1042, I think."},
		[]string{`(?i)order number.*A-1042`, `Order A-1042 .* late`}},
	{"two values in one message", []string{"I have trouble with an order.", "A-1042, and it came broken."},
		[]string{`(?i)order number`, `Order A-1042.*broken`}},
	{"a wrong value, then the right one", []string{"My order is late.", "the blue one", "A-1042"},
		[]string{`(?i)order number`, `(?i)could not find.*order number.*A-1042`, `Order A-1042 .* late`}},
	{"a change of subject", []string{"My order is late.", "When are you open?", "A-1042"},
		[]string{`(?i)order number`, `(?i)order number`, `Order A-1042 .* late`}},
	{"cancel", []string{"My order is late.", "cancel", "When are you open?"},
		[]string{`(?i)order number`, `(?i)stopped`, `turn \d, $`}},
	{"an order that does not exist", []string{"Order Z-9999 is late."}, []string{`There is no order Z-9999`}},
	{"a refund", []string{"The mug of order A-1042 came broken. Please refund it."}, []string{`refunded 48`}},
	{"the talk goes on", []string{"Hello!", "When are you open?"}, []string{`turn 1`, `turn 2`}},
	{"memory", []string{"Please remember that I collect blue bowls.", "Thanks!"}, []string{`noted`, `turn 2`}},
}

var chinese = []conversation{
	{"一句话里的回答", []string{"我的订单坏了。", "是 A-1042。"}, []string{`[订编]单?号`, `A-1042 .* broken`}},
	{"答错、再取消", []string{"我的订单坏了。", "蓝色的那个", "取消"}, []string{`号`, `A-1042`, `取消`}},
}

// forbidden are shapes that no customer may read: pointers, patterns, keys, paths, Go's and JSON's words.
var forbidden = regexp.MustCompile(`\^|\\d|\{[0-9,]+\}|order_number|/problem|/order|slot|schema|pattern|required|JSON|provider|\.ya?ml|127\.0\.0\.1|http:|dial |%!|<nil>|panic`)

// TestDesk talks to the support desk as its customers do, through the client of npm, while the model
// that is asked first is dead and another one steps in.
func TestDesk(t *testing.T) {
	requireNode(t)
	dir := installNode(t)
	for _, group := range []struct {
		language string
		talks    []conversation
	}{{"en", english}, {"zh", chinese}} {
		t.Run(group.language, func(t *testing.T) {
			base, token, dead := serveDesk(t, group.language)
			replies := talk(t, dir, base, token, group.talks)
			for i, c := range group.talks {
				for k, want := range c.want {
					if got := replies[i][k]; !regexp.MustCompile(`(?s)` + want).MatchString(got) {
						t.Errorf("%s: to %q the desk says %q, want %s", c.name, c.turns[k], got, want)
					}
					if found := forbidden.FindString(replies[i][k]); found != "" {
						t.Errorf("%s: the customer reads %q in %q", c.name, found, replies[i][k])
					}
				}
			}
			if dead.Load() == 0 {
				t.Error("the model that is dead was never asked")
			}
		})
	}
}

// talk holds conversations with the client of npm.
func talk(t *testing.T, dir, base, token string, talks []conversation) (replies [][]string) {
	t.Helper()
	type request struct {
		Model string   `json:"model"`
		Turns []string `json:"turns"`
	}
	requests := make([]request, len(talks))
	for i, c := range talks {
		requests[i] = request{"support", c.turns}
	}
	text, err := json.Marshal(requests)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("node", "talk.mjs", base, token)
	cmd.Dir, cmd.Stdin, cmd.Stderr = dir, strings.NewReader(string(text)), os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(out, &replies); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return replies
}

// serveDesk starts the program in a project with the desk, its orders and its models.
func serveDesk(t *testing.T, language string) (base, token string, deadRequests *atomic.Int64) {
	t.Helper()
	orders, model := httptest.NewServer(http.HandlerFunc(serveOrders)), httptest.NewServer(http.HandlerFunc(serveModel))
	t.Cleanup(orders.Close)
	t.Cleanup(model.Close)
	deadRequests = new(atomic.Int64)
	dead := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		deadRequests.Add(1)
		http.Error(w, `{"error": {"message": "overloaded"}}`, http.StatusUnauthorized)
	}))
	t.Cleanup(dead.Close)
	project := t.TempDir()
	words := map[string]string{"http://127.0.0.1:8480": orders.URL}
	if language == "zh" {
		words["order number"], words["It stands at the top of the confirmation mail."] = "订单号", "在确认邮件的最上面。"
		words["title: problem"], words["What is wrong with the order."] = "title: 问题", "订单出了什么问题。"
	}
	copyDesk(t, filepath.Join(project, "flows"), words)
	settings := fmt.Sprintf(`
language: %s
llm:
  default: [first, second]
  providers:
    - {name: first, base_url: %q, model: m}
    - {name: second, base_url: %q, model: m}
http: {allow_hosts: ["127.0.0.1:*"]}
`, language, dead.URL, model.URL)
	if err := os.WriteFile(filepath.Join(project, "scheduler.yaml"), []byte(settings), 0o600); err != nil {
		t.Fatal(err)
	}
	base, token = serveProject(t, project)
	return base, token, deadRequests
}

// copyDesk copies the desk out of flows/, with words in place of others: its orders at another address, and its
// fields as a Chinese shop names them.
func copyDesk(t *testing.T, to string, words map[string]string) {
	t.Helper()
	from := os.DirFS(filepath.Join("..", "..", "flows"))
	err := fs.WalkDir(from, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || !strings.HasPrefix(name, "support") || entry.IsDir() {
			return err
		}
		text, err := fs.ReadFile(from, name)
		if err != nil {
			return err
		}
		for old, replacement := range words {
			text = []byte(strings.ReplaceAll(string(text), old, replacement))
		}
		target := filepath.Join(to, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(target), 0o700); err != nil {
			return err
		}
		return os.WriteFile(target, text, 0o600)
	})
	if err != nil {
		t.Fatal(err)
	}
}

// serveOrders plays the shop: one order with two parcels.
func serveOrders(w http.ResponseWriter, r *http.Request) {
	answer, status := "", http.StatusOK
	switch {
	case r.Method == http.MethodGet && r.URL.Path == "/orders/A-1042":
		answer = `{"number": "A-1042", "ordered": "2026-02-20", "items": ["mug", "bowl"], "paid": 48, "currency": "EUR", "parcels": ["P-7", "P-8"]}`
	case r.Method == http.MethodPost && r.URL.Path == "/orders/A-1042/refund":
		answer = `{"refunded": 48}`
	case strings.HasPrefix(r.URL.Path, "/parcels/"):
		answer = `{"state": "delivered", "day": "2026-03-01"}`
	default:
		answer, status = `{"message": "no such order"}`, http.StatusNotFound
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write([]byte(answer))
}

// chatRequest is as much of a request to a model as its player reads.
type chatRequest struct {
	Stream   bool `json:"stream"`
	Messages []struct {
		Role    string          `json:"role"`
		Content json.RawMessage `json:"content"`
	} `json:"messages"`
}

// text returns the text of a message, of its parts if it has parts.
func (r *chatRequest) text(i int) string {
	var text string
	if json.Unmarshal(r.Messages[i].Content, &text) == nil {
		return text
	}
	var parts []struct{ Text string }
	_ = json.Unmarshal(r.Messages[i].Content, &parts)
	for _, part := range parts {
		text += part.Text
	}
	return text
}

// serveModel plays a model: it picks the branch, fills the slot and answers by words in the request.
func serveModel(w http.ResponseWriter, r *http.Request) {
	var request chatRequest
	if err := json.NewDecoder(r.Body).Decode(&request); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	last := request.text(len(request.Messages) - 1)
	message := map[string]any{"role": "assistant"}
	switch {
	case strings.Contains(last, "<branches>"):
		message["content"] = pickBranch(tagged(last, "question"))
	case strings.Contains(last, "<tool_info>"):
		message["content"] = fillSlot(last)
	default:
		reply(&request, message)
	}
	finish := "stop"
	if message["tool_calls"] != nil {
		finish = "tool_calls"
	}
	w.Header().Set("Content-Type", "application/json")
	usage := map[string]any{"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
	if !request.Stream {
		_ = json.NewEncoder(w).Encode(map[string]any{"id": "c", "object": "chat.completion", "model": "m", "usage": usage,
			"choices": []any{map[string]any{"index": 0, "finish_reason": finish, "message": message}}})
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	for _, chunk := range []map[string]any{
		{"choices": []any{map[string]any{"index": 0, "delta": message}}},
		{"choices": []any{map[string]any{"index": 0, "delta": map[string]any{}, "finish_reason": finish}}, "usage": usage},
	} {
		text, _ := json.Marshal(chunk)
		_, _ = fmt.Fprintf(w, "data: %s\n\n", text)
	}
	_, _ = fmt.Fprint(w, "data: [DONE]\n\n")
}

// tagged returns the text of <name>...</name> in a prompt, "" if there is none.
func tagged(prompt, name string) string {
	_, rest, _ := strings.Cut(prompt, "<"+name+">")
	text, _, found := strings.Cut(rest, "</"+name+">")
	if !found {
		return ""
	}
	return text
}

var (
	orderNumber = regexp.MustCompile(`[A-Z]-[0-9]{4}`)
	aboutOrder  = regexp.MustCompile(`(?i)order|refund|订单`)
	problems    = map[string]*regexp.Regexp{"broken": regexp.MustCompile(`(?i)broken|坏`), "late": regexp.MustCompile(`(?i)late|迟`)}
)

func pickBranch(question string) string {
	if aboutOrder.MatchString(question) {
		return `{"reason": "an order", "branch": "order"}`
	}
	return `{"reason": "no order", "branch": "talk"}`
}

// fillSlot answers with the fields in the customer's words, the newest first.
func fillSlot(prompt string) string {
	found := map[string]string{}
	for _, words := range []string{tagged(prompt, "message"), tagged(prompt, "question")} {
		if number := orderNumber.FindString(words); number != "" && found["/order_number"] == "" {
			found["/order_number"] = number
		}
		for problem, pattern := range problems {
			if pattern.MatchString(words) && found["/problem"] == "" {
				found["/problem"] = problem
			}
		}
	}
	if found["/order_number"] != "" && found["/problem"] == "" && strings.Contains(prompt, "trouble") {
		found["/problem"] = "other"
	}
	text, _ := json.Marshal(found)
	return string(text)
}

// reply answers the customer with the prompt's text about the order, and uses the tools.
func reply(request *chatRequest, message map[string]any) {
	newest, turns := "", 0
	for i, m := range request.Messages {
		if m.Role == "user" {
			newest = request.text(i)
			turns++
		}
	}
	last := request.Messages[len(request.Messages)-1]
	system := request.text(0)
	use := func(name, arguments string) {
		message["tool_calls"] = []any{map[string]any{"index": 0, "id": "call_1", "type": "function",
			"function": map[string]any{"name": name, "arguments": arguments}}}
	}
	switch {
	case last.Role == "tool" && strings.Contains(request.text(len(request.Messages)-1), "refunded"):
		message["content"] = "We have refunded 48 EUR."
	case last.Role == "tool":
		message["content"] = "I have noted that."
	case strings.Contains(newest, "refund"):
		use("refund", `{"number": "A-1042", "amount": 48, "reason": "broken"}`)
	case strings.Contains(newest, "remember"):
		use("remember", `{"content": "The customer collects blue bowls."}`)
	default:
		about := ""
		identity, _, _ := strings.Cut(system, "\n\n")
		for _, line := range strings.SplitAfter(identity, "\n") {
			if strings.HasPrefix(line, "Order ") || strings.HasPrefix(line, "There is no order") || strings.HasPrefix(line, "The problem") {
				about += line
			}
		}
		message["content"] = fmt.Sprintf("turn %d, %s", turns, about)
	}
}
