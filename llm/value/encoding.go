package value

import "bytes"

// maxGuessed limits the bytes that a guess reads.
const maxGuessed = 64 << 10

// guessEncoding names the encoding that a text which is not UTF-8 probably has; "" for bytes that look like none,
// for example the bytes of a picture. A short text is a guess: two Chinese characters of GBK are also four letters
// of Windows-1252.
func guessEncoding(data []byte) string {
	data = data[:min(len(data), maxGuessed)]
	switch {
	case isWide(data):
		return "UTF-16"
	case bytes.IndexByte(data, 0) >= 0:
		return ""
	}
	gbk, pairs := countPairs(data, isPairOfGBK, isCommonGBK)
	big5, _ := countPairs(data, isPairOfBig5, isCommonBig5)
	kana, pairsOfJIS := countPairs(data, isPairOfJIS, isKanaOfJIS)
	hangul, _ := countPairs(data, isPairOfGBK, isHangulOfEUC)
	const few = 8 // characters, which may all be of one part of the Chinese alphabet
	switch {
	case kana > 0 && kana*3 >= pairsOfJIS:
		return "Shift_JIS"
	case big5 > gbk:
		return "Big5"
	case hangul >= few && hangul == pairs:
		return "EUC-KR"
	case gbk > 0 && gbk*3 >= pairs*2:
		return "GBK"
	case countHigh(data)*2 > len(data):
		return ""
	}
	return "Windows-1252"
}

// isWide reports whether a text is UTF-16: by its byte-order mark, or by the zero of each letter
// of English.
func isWide(data []byte) bool {
	if bytes.HasPrefix(data, []byte{0xff, 0xfe}) || bytes.HasPrefix(data, []byte{0xfe, 0xff}) {
		return true
	}
	if len(data) < 4 || len(data)%2 != 0 {
		return false
	}
	isLittle := data[0] != 0 && data[1] == 0 && data[2] != 0 && data[3] == 0
	isBig := data[0] == 0 && data[1] != 0 && data[2] == 0 && data[3] != 0
	return isLittle || isBig
}

// countPairs counts the characters of two bytes, and the common ones among them; both are 0 if a
// byte above ASCII begins none. The last byte may be half of a character: the text may be cut.
func countPairs(data []byte, isPair, isCommon func(lead, trail byte) bool) (common, pairs int) {
	for i := 0; i < len(data); i++ {
		if data[i] < 0x80 {
			continue
		}
		if i+1 == len(data) {
			break
		}
		if !isPair(data[i], data[i+1]) {
			return 0, 0
		}
		pairs++
		if isCommon(data[i], data[i+1]) {
			common++
		}
		i++
	}
	return common, pairs
}

// countHigh counts the bytes above ASCII.
func countHigh(data []byte) (n int) {
	for _, b := range data {
		if b >= 0x80 {
			n++
		}
	}
	return n
}

func isPairOfGBK(lead, trail byte) bool {
	return lead >= 0x81 && lead < 0xff && trail >= 0x40 && trail < 0xff && trail != 0x7f
}

// isCommonGBK reports whether a pair is one of the 3755 common characters, or punctuation.
func isCommonGBK(lead, trail byte) bool {
	return trail >= 0xa1 && (lead >= 0xb0 && lead <= 0xd7 || lead == 0xa1 || lead == 0xa3)
}

// isHangulOfEUC reports whether a pair is a syllable of Korean, which GBK has Chinese for.
func isHangulOfEUC(lead, trail byte) bool { return lead >= 0xb0 && lead <= 0xc8 && trail >= 0xa1 }

func isPairOfBig5(lead, trail byte) bool {
	return lead >= 0xa1 && lead < 0xfa && (trail >= 0x40 && trail < 0x7f || trail >= 0xa1 && trail < 0xff)
}

// isCommonBig5 reports whether a pair is one of the common characters, or punctuation.
func isCommonBig5(lead, _ byte) bool { return lead >= 0xa4 && lead <= 0xc6 || lead == 0xa1 }

func isPairOfJIS(lead, trail byte) bool {
	isLead := lead >= 0x81 && lead < 0xa0 || lead >= 0xe0 && lead < 0xf0
	return isLead && trail >= 0x40 && trail < 0xfd && trail != 0x7f
}

// isKanaOfJIS reports whether a pair is a syllable, which is frequent in Japanese texts.
func isKanaOfJIS(lead, trail byte) bool {
	return lead == 0x82 && trail >= 0x9f && trail <= 0xf1 || lead == 0x83 && trail >= 0x40 && trail <= 0x96
}
