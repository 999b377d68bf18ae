package memorytest

import (
	"slices"
	"time"

	"github.com/callnode/scheduler/calls/memory"
)

// chatter is a small store of chat lines, a question, and the line that answers it; "" if none does.
type chatter struct {
	name, question, want string
	lines                []string
	// never are lines that must not be in the answer.
	never []string
}

// testChatter asks questions of small stores, such as a user has after a week of chat.
func testChatter(t *fixture) {
	for _, test := range slices.Concat(saidTwice, chattyQuestions, phrases, endings) {
		user := "chatter " + test.name
		for i, line := range test.lines {
			m := newMemory(line, "", time.Duration(i)*25*time.Hour)
			m.Context.UserID = user
			m.SetRole("user")
			t.mustSave(m)
		}
		found := contentsOf(t.mustSearch(memory.Query{
			Users: memory.User(user), Text: test.question, Now: Start.AddDate(0, 1, 0), MinRelevance: memory.DefaultMinRelevance,
		}))
		if got := slices.Concat(found, []string{""})[0]; got != test.want {
			t.Errorf("%s: %q finds %q, want %q first", test.name, test.question, found, test.want)
		}
		for _, line := range test.never {
			if slices.Contains(found, line) {
				t.Errorf("%s: %q finds %q", test.name, test.question, line)
			}
		}
	}
}

// A subject that is said more than once must not lose weight because a few memories are all that there is.
var saidTwice = []chatter{
	{
		name: "antibiotics", question: "when do I have to take my antibiotics?", want: "antibiotics are twice a day, always with food",
		lines: []string{
			"picked up the antibiotics from the pharmacy, ten days of them", "antibiotics are twice a day, always with food",
			"my coffee machine told me to take a break today, very funny", "rain again", "we painted the hallway",
		},
	},
	{
		name: "passport", question: "where is my passport?", want: "the passport is in the blue folder on the shelf",
		lines: []string{
			"need to renew the passport before summer", "the passport is in the blue folder on the shelf",
			"where is everybody today, the office is empty", "bought a shelf",
		},
	},
	{
		name: "药", question: "降压药怎么吃？", want: "降压药每天早上吃一片",
		lines: []string{"降压药快没了，要去开", "降压药每天早上吃一片", "今天吃了火锅", "周末去看电影"},
	},
}

// The talk around a question must not hide the memory that the question alone finds.
var chattyQuestions = []chatter{
	{
		name: "dinner", question: "what was Priya allergic to again? tomorrow she comes for dinner with her parents and I still need to buy everything", want: "Priya is allergic to sesame",
		lines: []string{"Priya is allergic to sesame", "the oven is broken again", "my parents liked the new flat", "tomorrow never comes, they say"},
	},
	{
		name: "keys", question: "ugh what a day, trains late, boss in a mood, and it's pouring. which drawer did I put the spare key in?", want: "spare key is in the bottom drawer of the desk",
		lines: []string{"spare key is in the bottom drawer of the desk", "trains were late on Monday", "it's pouring since the morning", "lunch was soup"},
	},
	{
		name: "plumber", question: "the kitchen is flooding lol, what's the number of the plumber?", want: "number of the plumber: 555 0142",
		lines: []string{"number of the plumber: 555 0142", "repainted the kitchen in green", "lol the cat fell off the sofa", "the concert was great"},
	},
	{
		name: "过敏", question: "明天她来家里吃饭，我想做几个菜，小雨对什么过敏来着？", want: "小雨对芒果过敏",
		lines: []string{"小雨对芒果过敏", "家里的锅坏了", "做菜好累", "今天下雨了"},
	},
}

// A proverb that has the word does not answer.
var phrases = []chatter{
	{
		name: "doctor", question: "who is my doctor?", want: "",
		lines: []string{"an apple a day keeps the doctor away, haha", "watered the plants", "the bus was full"},
	},
	{
		name: "cake", question: "which cake did I bake?", want: "I baked a carrot cake for Lena",
		lines: []string{"you can't have your cake and eat it", "I baked a carrot cake for Lena", "the bus was full"},
		never: []string{"you can't have your cake and eat it"},
	},
	{
		name: "醋", question: "家里的醋放在哪？", want: "", lines: []string{"他吃醋了，一晚上没说话", "周末爬山去", "买了新手机"},
	},
}

// A memory that says that something has ended is first if the question asks whether it goes on.
var endings = []chatter{
	{
		name: "smoking", question: "do I still smoke?", want: "quit smoking for good, day one",
		lines: []string{"I smoke about ten a day, mostly on the balcony", "the balcony needs a new door", "quit smoking for good, day one", "had a smoke alarm installed"},
	},
	{
		name: "gym", question: "am I still a member of the gym?", want: "cancelled the gym, never went anyway",
		lines: []string{"became a member of the gym on Baker Street", "gym on Baker Street was packed", "cancelled the gym, never went anyway", "made pasta"},
	},
	{
		name: "弹琴", question: "我现在还学钢琴吗？", want: "钢琴课停了，太贵",
		lines: []string{"我每周三学钢琴", "今天学钢琴学得很开心", "钢琴课停了，太贵", "晚饭吃面"},
	},
}
