package server_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/callnode/scheduler/llm/scripted"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/scheduler/server/store"
)

// playForms calls the tool of a flow with a client that does not judge forms by itself, as the library of the other tests does, and returns
// the result.
func (f *fixture) playForms(token, era string, p *person) value.Value {
	f.t.Helper()
	if era >= "2026" {
		return f.playStateless(token, era, p)
	}
	client := sdk.NewClient(&sdk.Implementation{Name: "lenient", Version: "1"}, &sdk.ClientOptions{ElicitationHandler: p.elicit})
	client.AddReceivingMiddleware(func(next sdk.MethodHandler) sdk.MethodHandler {
		return func(ctx context.Context, method string, r sdk.Request) (sdk.Result, error) {
			if asked, ok := r.GetParams().(*sdk.ElicitParams); ok {
				return p.elicit(ctx, &sdk.ElicitRequest{Params: asked})
			}
			return next(ctx, method, r)
		}
	})
	transport := &sdk.StreamableClientTransport{Endpoint: f.base + "/mcp", HTTPClient: &http.Client{Transport: bearer{token}}, MaxRetries: -1}
	session, err := client.Connect(f.t.Context(), transport, &sdk.ClientSessionOptions{ProtocolVersion: era})
	if err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(func() { _ = session.Close() })
	test, _ := f.t.(*testing.T)
	_, doc := callTool(test, session, "flow_ends", nil)
	return doc
}

// playStateless is playForms in the era without sessions: the result of a call asks, and the next call has the answers.
func (f *fixture) playStateless(token, era string, p *person) value.Value {
	f.t.Helper()
	more := ""
	for range 20 {
		meta := `"_meta": {"io.modelcontextprotocol/protocolVersion": "` + era + `", "io.modelcontextprotocol/clientCapabilities": {"elicitation": {}}}`
		r := f.do(token, "POST", "/mcp", `{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "flow_ends", "arguments": {}, `+meta+more+`}}`,
			"Accept", "application/json, text/event-stream", "Mcp-Protocol-Version", era, "Mcp-Method", "tools/call", "Mcp-Name", "flow_ends")
		_, data, _ := strings.Cut(r.text, "data: ")
		reply, err := value.ParseJSON([]byte(strings.SplitN(data, "\n", 2)[0]))
		if err != nil {
			f.t.Fatalf("got %d %s", r.status, r.text)
		}
		result, _ := reply.Get("result")
		if textAt(result, "/resultType") != "input_required" {
			doc, _ := result.Get("structuredContent")
			return doc
		}
		params, _ := result.At("/inputRequests/desk/params")
		asked := &sdk.ElicitParams{Message: textAt(params, "/message")}
		asked.RequestedSchema, _ = params.Get("requestedSchema")
		filled, err := p.elicit(f.t.Context(), &sdk.ElicitRequest{Params: asked})
		if err != nil {
			f.t.Fatal(err)
		}
		answer, err := json.Marshal(map[string]any{"desk": filled})
		if err != nil {
			f.t.Fatal(err)
		}
		more = fmt.Sprintf(`, "requestState": %q, "inputResponses": %s`, textAt(result, "/requestState"), answer)
	}
	f.t.Fatal("it asks for ever")
	return value.Value{}
}

type content = map[string]any

const (
	orderEn = `required: [name, size, day, colour], properties: {name: {type: string, title: Name}, size: {type: integer, title: Size, minimum: 1, maximum: 8}, day: {type: string, format: date, title: Day}, colour: {enum: [red, blue], title: Colour}}`
	orderZh = `required: [name, size, day, colour], properties: {name: {type: string, title: 姓名}, size: {type: integer, title: 尺码, minimum: 1, maximum: 8}, day: {type: string, format: date, title: 日期}, colour: {oneOf: [{const: r_1, title: 红色}, {const: b_1, title: 蓝色}], title: 颜色}}`
)

// TestMCPFormsTellEachReason: each field that was filled in and is asked for again says why, also as a model reads the words and finds
// nothing, and says it once.
func TestMCPFormsTellEachReason(t *testing.T) {
	const schema = `required: [name, note, size, day, colour], properties: {name: {type: string, title: 姓名, minLength: 2}, note: {type: string, title: 备注}, size: {type: integer, title: 尺码}, day: {type: string, format: date, title: 日期}, colour: {enum: [红, 蓝], title: 颜色}}`
	const asks = "请问姓名是什么？\n请问备注是什么？\n请问尺码是什么（一个数）？\n请问日期是什么（日期，例如 2026-05-01）？\n请问颜色是红还是蓝？"
	for _, c := range []struct {
		name   string
		filled content
		tells  string
	}{
		{"words in each", content{"name": "为什么？", "note": "不想说", "size": "大", "day": "改天", "colour": "绿"},
			"姓名：这看起来不像姓名。\n备注：这看起来不像备注。\n尺码：必须是一个数。\n日期：这看起来不像日期（日期，例如 2026-05-01）。\n颜色：只能是：红、蓝。\n" + asks},
		{"blanks beside words", content{"name": "   ", "note": "跳过", "size": "大", "day": "改天", "colour": "绿"},
			"姓名：请填写此项。\n备注：这看起来不像备注。\n尺码：必须是一个数。\n日期：这看起来不像日期（日期，例如 2026-05-01）。\n颜色：只能是：红、蓝。\n" + asks},
	} {
		for _, era := range eras() {
			t.Run(c.name+" "+era, func(t *testing.T) {
				t.Parallel()
				flow := "language: zh\nllm: slow\nsteps: [{id: desk, call: slot, with: {stages: [llm], current_schema: {type: object, " + schema + "}}}]\n"
				f := serveFlow(t, flow, scripted.Texts("{}", "{}", "{}", "{}"))
				p := &person{answers: []*sdk.ElicitResult{{Action: "accept", Content: c.filled}, {Action: "decline"}}}
				f.playForms(f.token("lin", store.RunsRead, store.RunsWrite), era, p)
				if len(p.asked) != 2 || p.asked[1].Message != c.tells {
					t.Errorf("%d forms; the last one tells\n%s\nwant\n%s", len(p.asked), p.asked[len(p.asked)-1].Message, c.tells)
				}
			})
		}
	}
}

// TestMCPForms: forms of the protocol are read like messages of a chat, and unfit values are reported in the words
// of the flow, only for their fields.
func TestMCPForms(t *testing.T) {
	whole := content{"name": "Lin", "size": 3, "day": "2026-05-01", "colour": "blue"}
	with := func(name string, v any) content {
		changed := content{}
		for key, value := range whole {
			changed[key] = value
		}
		changed[name] = v
		return changed
	}
	for _, c := range []struct {
		name, language, schema string
		filled                 []any      // each round's content, or the action of a user who does not accept
		asked                  [][]string // the fields of each round
		tells                  []string   // beginnings of the messages of the rounds after the first
		want                   string     // the data at the end; "" if the run still waits
		state                  string
		each, era              string // the items of for_each, and the only era
	}{
		{name: "all at once", language: "en", schema: orderEn, filled: []any{whole}, want: `{"name":"Lin","size":3,"day":"2026-05-01","colour":"blue"}`},
		{name: "one wrong value", language: "en", schema: orderEn, filled: []any{with("size", 9), content{"size": "7"}}, asked: [][]string{nil, {"size"}},
			tells: []string{"Size: It can be at most 8.\n"}, want: `{"name":"Lin","day":"2026-05-01","colour":"blue","size":7}`},
		{name: "a wrong value in Chinese", language: "zh", schema: orderZh, filled: []any{with("size", 9), content{"size": 7}}, asked: [][]string{nil, {"size", "colour"}},
			tells: []string{"尺码：不能大于 8。\n颜色：只能是：红色、蓝色。\n"}, state: "waiting"},
		{name: "texts for numbers", language: "en", schema: orderEn, filled: []any{with("size", "3")}, want: `{"name":"Lin","size":3,"day":"2026-05-01","colour":"blue"}`},
		{name: "a text that is no number", language: "zh", schema: orderZh, filled: []any{content{"name": "林", "size": "大", "day": "2026年5月1日", "colour": "红色"}, content{"size": "2"}}, asked: [][]string{nil, {"size"}},
			tells: []string{"尺码：必须是一个数。\n"}, want: `{"name":"林","day":"2026-05-01","colour":"r_1","size":2}`},
		{name: "a question", language: "zh", schema: orderZh, filled: []any{content{"name": "为什么？", "size": 2, "day": "2026-05-01", "colour": "b_1"}, content{"name": "林"}}, asked: [][]string{nil, {"name"}},
			tells: []string{"姓名：这看起来不像姓名。\n"}, want: `{"size":2,"day":"2026-05-01","colour":"b_1","name":"林"}`},
		{name: "a question in English", language: "en", schema: orderEn, filled: []any{with("name", "why?"), content{"name": "skip"}, content{"name": "Lin"}}, asked: [][]string{nil, {"name"}, {"name"}},
			tells: []string{"Name: That does not look like a name.\n", "Name: That does not look like a name.\n"}, want: `{"size":3,"day":"2026-05-01","colour":"blue","name":"Lin"}`},
		{name: "blank texts", language: "en", schema: orderEn, filled: []any{with("name", "  "), content{}, content{"name": "Lin"}}, asked: [][]string{nil, {"name"}, {"name"}},
			tells: []string{"Name: Please fill this in.\n", "Name: Please fill this in.\n"}, want: `{"size":3,"day":"2026-05-01","colour":"blue","name":"Lin"}`},
		{name: "a question for a day", language: "en", schema: orderEn, filled: []any{with("day", "when?"), content{"day": "2026-05-01"}}, asked: [][]string{nil, {"day"}},
			tells: []string{"Day: That does not look like a day (a date, such as 2026-05-01).\n"}, want: `{"name":"Lin","size":3,"colour":"blue","day":"2026-05-01"}`},
		{name: "declined", language: "en", schema: orderEn, filled: []any{"decline"}, state: "waiting"},
		{name: "closed", language: "zh", schema: orderZh, filled: []any{"cancel"}, state: "waiting"},
		{name: "a wrong value, then declined", language: "en", schema: orderEn, filled: []any{with("size", 9), "decline"}, asked: [][]string{nil, {"size"}}, tells: []string{"Size: "}, state: "waiting"},
		{name: "a word that cancels", language: "zh", schema: orderZh, filled: []any{content{"name": "取消"}}, state: "cancelled"},
		{name: "numbers as choices", language: "en", schema: `required: [seats], properties: {seats: {enum: [2, 4], title: Seats}}`, filled: []any{content{"seats": "3"}, content{"seats": "4"}}, asked: [][]string{{"seats"}, {"seats"}},
			tells: []string{"Seats: It is one of: 2, 4.\n"}, want: `{"seats":4}`},
		{name: "lists", language: "en", schema: `required: [toppings, sizes], properties: {toppings: {type: array, title: Toppings, items: {enum: [ham, corn]}, minItems: 1}, sizes: {type: array, title: Sizes, items: {type: integer}}}`,
			filled: []any{content{"toppings": []string{"ham", "tar"}, "sizes": "1, 2"}, content{"toppings": []string{"ham"}}}, asked: [][]string{{"toppings", "sizes"}, {"toppings"}},
			tells: []string{"Toppings: tar is none of: ham, corn.\n"}, want: `{"sizes":[1,2],"toppings":["ham"]}`},
		{name: "an object", language: "en", schema: `required: [address], properties: {address: {type: object, title: Address, required: [street, town], properties: {street: {type: string}, town: {type: string}, floor: {type: integer}}}}`,
			filled: []any{content{"address_street": "Elm 1", "address_floor": "top"}, content{"address_town": "Lyon"}}, asked: [][]string{{"address_street", "address_town", "address_floor"}, {"address_town"}},
			tells: []string{"Town: Please fill this in.\nFloor: It must be a number.\n"}, want: `{"address":{"street":"Elm 1","town":"Lyon"}}`},
		{name: "a union", language: "en", schema: `required: [shape], properties: {shape: {title: Shape, oneOf: [{title: Circle, required: [kind, radius], properties: {kind: {const: circle}, radius: {type: number}}}, {title: Square, required: [kind, side], properties: {kind: {const: square}, side: {type: number}}}]}}`,
			filled: []any{content{"shape_kind": "circle"}, content{"shape_radius": 2}}, asked: [][]string{{"shape_kind"}, {"shape_radius"}}, tells: []string{""}, want: `{"shape":{"kind":"circle","radius":2}}`},
		{name: "one of several", language: "en", schema: `required: [contact], properties: {contact: {type: object, anyOf: [{required: [email]}, {required: [phone]}], properties: {email: {type: string, format: email}, phone: {type: string}}}}`,
			filled: []any{content{"contact": "lin@example.com"}}, want: `{"contact":{"email":"lin@example.com"}}`},
		{name: "objects in a list", language: "en", schema: `required: [stops], properties: {stops: {type: array, title: Stops, items: {type: object, required: [town], properties: {town: {type: string}}}}}`,
			filled: []any{content{"stops": "Lyon"}, content{"stops": `[{"town": "Lyon"}]`}}, asked: [][]string{{"stops"}, {"stops"}}, tells: []string{"Stops: Lyon cannot be used there."}, want: `{"stops":[{"town":"Lyon"}]}`},
		{name: "items", era: eras()[0], language: "zh", schema: `required: [size], properties: {size: {type: integer, title: 尺码, maximum: 8}}`, each: `[{sku: A-1, name: 红衬衫}, [7]]`,
			filled: []any{content{"size": 9}, content{"size": 8}, content{"size": 2}}, tells: []string{"第 2 项（共 2 项）：请问尺码是什么", "尺码：不能大于 8。\n关于“红衬衫”：请问尺码是什么"}, state: "finished"},
		{name: "left alone", language: "en", schema: `required: [gift, note], properties: {gift: {type: boolean, title: Gift}, note: {type: string, default: none, title: Note}}`,
			filled: []any{content{"gift": "yes"}}, want: `{"note":"none","gift":true}`},
		{name: "the same wrong value for ever", language: "en", schema: `required: [size], properties: {size: {type: integer, title: Size}}`, filled: slices.Repeat([]any{content{"size": "x"}}, 9), state: "waiting"},
	} {
		for _, era := range eras() {
			if c.era != "" && c.era != era {
				continue
			}
			t.Run(c.name+" "+era, func(t *testing.T) {
				t.Parallel()
				flow := fmt.Sprintf("language: %s\nsteps: [{id: desk, call: slot, with: {stages: [default], current_schema: {type: object, %s}}}]\noutputs: {data: '{{ desk.slot_data }}'}\n", c.language, c.schema)
				if c.each != "" {
					flow = strings.NewReplacer("call: slot", "call: slot, for_each: "+c.each, "desk.slot_data", "desk").Replace(flow)
				}
				f := serveFlow(t, flow, scripted.Texts())
				p := &person{}
				for _, one := range c.filled {
					answer := &sdk.ElicitResult{Action: "accept"}
					if action, isAction := one.(string); isAction {
						answer.Action = action
					} else {
						answer.Content = one.(content)
					}
					p.answers = append(p.answers, answer)
				}
				doc := f.playForms(f.token("lin", store.RunsRead, store.RunsWrite), era, p)
				for i, asked := range p.asked {
					form := value.Must(asked.RequestedSchema)
					fields, _ := form.Get("properties")
					if i < len(c.asked) && c.asked[i] != nil && !slices.Equal(slices.Sorted(slices.Values(fields.Map().Keys())), slices.Sorted(slices.Values(c.asked[i]))) {
						t.Errorf("form %d asks for %v", i+1, fields.Map().Keys())
					}
					if i > 0 && i <= len(c.tells) && !strings.HasPrefix(asked.Message, c.tells[i-1]) {
						t.Errorf("form %d tells %q", i+1, asked.Message)
					}
					texts := []string{asked.Message}
					for _, field := range fields.Map().All() {
						texts = append(texts, textAt(field, "/title"))
					}
					for _, text := range texts {
						if forbidden.MatchString(text) {
							t.Errorf("form %d says %q", i+1, text)
						}
					}
				}
				if len(p.asked) < len(c.asked) {
					t.Errorf("%d forms", len(p.asked))
				}
				got := textAt(doc, "/outputs/data")
				if c.want != "" && got != c.want || c.want == "" && textAt(doc, "/state") != c.state {
					t.Errorf("got %s", doc.JSON())
				}
				if told := textAt(doc, "/question") + textAt(doc, "/text"); forbidden.MatchString(strings.ReplaceAll(told, "null", "")) {
					t.Errorf("the result says %q", told)
				}
			})
		}
	}
}
