package tokens

import (
	_ "embed" // for the table of the vocabulary
	"math"
)

// table is o200k, the vocabulary of OpenAI's models since gpt-4o: about 200,000 tokens, each a
// text with its rank. It is read in place, because a map of it took 20 ms of each start.
// test/bench/tokens writes it, in this form: first the offset of each bucket and of the end, 4
// bytes each with the lowest first; then the buckets, lists of tokens; a token is a byte with the
// length of its text, 3 bytes with its rank, and the text.
//
//go:embed o200k.bin
var table string

const (
	// buckets is how many buckets the table has: a token is in the one that [hashToken] returns.
	buckets = 1 << 16
	// tokenHead is how many bytes a token has before its text.
	tokenHead = 4
	// noRank is the rank of a text that is not a token: higher than all.
	noRank = math.MaxUint32
)

// rankOf returns the rank of a token, [noRank] for any other text.
func rankOf(text string) uint32 {
	bucket := hashToken(text)
	for at, end := offsetOf(bucket), offsetOf(bucket+1); at < end; {
		size := int(table[at])
		if size == len(text) && table[at+tokenHead:at+tokenHead+size] == text {
			return uint32(table[at+1]) | uint32(table[at+2])<<8 | uint32(table[at+3])<<16
		}
		at += tokenHead + size
	}
	return noRank
}

// offsetOf returns the start of a bucket in the table.
func offsetOf(bucket int) int {
	entry := table[4*bucket : 4*bucket+4]
	return int(entry[0]) | int(entry[1])<<8 | int(entry[2])<<16 | int(entry[3])<<24
}

// hashToken returns the bucket of a text: its FNV-1a sum of 32 bits, folded.
func hashToken(text string) int {
	sum := uint32(2166136261)
	for i := range len(text) {
		sum = (sum ^ uint32(text[i])) * 16777619
	}
	return int(sum>>16^sum) & (buckets - 1)
}
