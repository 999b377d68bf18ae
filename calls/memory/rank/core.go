package rank

import (
	"slices"
	"strings"

	"github.com/callnode/scheduler/llm/value"
)

var (
	// clauseEnd is the end of a sentence or of a part of one.
	clauseEnd = value.CompileLater(`\.+(?:\s+|$)|[!?;…]+\s*|,\s*|\s[-–—]+\s|[\n。]+\s*`)
	// asks is how a clause begins that asks.
	asks = value.CompileLater(`(?i)^(?:(?:and|but|so|ok|okay|hey|hi|um|well|btw|anyway|now|please)\b[ ,]*)*(?:who|whom|whose|what|which|when|where|why|how|do|does|did|am|is|are|was|were|can|could|have|has|had|will|would|should|remind me|tell me|any idea|do you)(?:['’](?:s|re|d|m))?\b`)
	// asksInChinese is how a Chinese clause asks, wherever it does.
	asksInChinese = value.CompileLater(`什[么麼]|[谁誰]|哪|[几幾][号號月点點岁歲天次]|多少|怎|如何|[吗嗎呢]$|来着$|來著$|是不是|有[没沒]有|[为爲為]何|啥`)
	// talks matches the beginning of a part of a sentence that only gives the reason for a question.
	talks = value.CompileLater(`(?i)^(?:(?:and|but|so|ok|okay|hey|hi|well|btw|because|cause|since|as)\b[ ,]*)*(?:i|we|you|he|she|they|it|my|our|his|her|tomorrow|tonight|today|this (?:week|weekend|evening|afternoon)|next week|thanks|thank you|sorry|please|lol|haha|hey|hi|hello)(?:['’](?:s|re|d|m|ll|ve))?\b`)
	// leads matches the beginning of a part of a sentence that names the time, place or thing of the question.
	leads = value.CompileLater(`(?i)^(?:after|before|during|in|on|at|by|for|from|of|with|without|when|whenever|while|if|since|until|as|according|besides|regarding|concerning|about|between|among|under|apart|instead|given|\p{Han})`)
	// talksInChinese is talks in Chinese.
	talksInChinese = value.CompileLater(`^(?:因[为為]|正好|[刚剛]|[对對]了|[话話][说說]|[顺順]便|[谢謝]|不好意思|哎|唉|嗨|那[个個]|我|你|他|她|咱|明[天晚早]|今[天晚早]|后天|後天|[周週]末|下[周週]|待[会會]|等[会會])`)
)

// clause is a part of a text, with the mark at its end.
type clause struct {
	text       string
	isQuestion bool
	// endsSentence reports whether the mark at its end does.
	endsSentence bool
}

// splitQuestion returns the clauses of a normalized text that ask, and the talk around them: of "What is Ann
// allergic to? She comes for dinner tomorrow" the second sentence is talk. If either is missing, the whole text is
// the question. Clauses that neither ask nor are known to be talk belong to the question, for example "After the
// move to Berlin, who helped me?".
func splitQuestion(text string) (question, talk string) {
	clauses := splitClauses(text)
	var q, t strings.Builder
	hasQuestion := false
	for len(clauses) > 0 {
		n := 1 + slices.IndexFunc(clauses, func(c clause) bool { return c.endsSentence })
		sentence := clauses[:n]
		clauses = clauses[n:]
		isQuestion := slices.ContainsFunc(sentence, func(c clause) bool { return c.isQuestion })
		hasQuestion = hasQuestion || isQuestion
		for i, c := range sentence {
			isBeforeQuestion := i+1 < n && sentence[i+1].isQuestion && !leads().MatchString(c.text)
			isAside := !c.isQuestion && (isBeforeQuestion || talks().MatchString(c.text) || talksInChinese().MatchString(c.text))
			to := &q
			if !isQuestion || isAside {
				to = &t
			}
			to.WriteString(c.text + " ")
		}
	}
	if !hasQuestion || t.Len() == 0 {
		return text, ""
	}
	return q.String(), t.String()
}

// splitClauses splits a text at the ends of sentences, at commas and at dashes. The last clause ends a sentence.
func splitClauses(text string) (clauses []clause) {
	from := 0
	for _, end := range append(clauseEnd().FindAllStringIndex(text, -1), []int{len(text), len(text)}) {
		if isInNumber(text, end) || from == len(text) {
			continue
		}
		words, mark := text[from:end[0]], text[end[0]:end[1]]
		clauses = append(clauses, clause{
			text: text[from:end[1]], endsSentence: end[1] == len(text) || strings.ContainsAny(mark, ".!?;…\n。"),
			isQuestion: strings.Contains(mark, "?") || asks().MatchString(words) || asksInChinese().MatchString(words),
		})
		from = end[1]
	}
	return clauses
}

// isInNumber reports whether a comma is inside a number, as in 1,000.
func isInNumber(text string, at []int) bool {
	return at[0] > 0 && at[1] < len(text) && at[1] == at[0]+1 && isDigit(text[at[0]-1]) && isDigit(text[at[1]])
}
