package rank

import (
	"slices"
	"testing"
)

// The words that a query and a memory share are whole: text that may be a part of a longer word is left out.
func TestCommonPhrases(t *testing.T) {
	for _, test := range []struct {
		query, memory string
		want          []string
	}{
		{"我们去哪里玩", "我们去了青岛", []string{"去"}},
		{"我的猫", "我家的猫叫豆豆", []string{"猫"}},
		{"我的猫叫什么", "我家的猫叫豆豆", nil},
		{"我去了杭州吗", "我去了杭州，看了西湖。", []string{"去", "杭州"}},
		{"周三要做什么", "周末三要去爬山，别忘了带水。", nil},
		{"什么过敏", "我对花生过敏。", []string{"过敏"}},
		{"发展中国家", "中国家庭", nil},
		{"最初学什么专业", "起初学习的是化学专业。", []string{"专业"}},
		{"青石桥一共有多少个桥孔？", "桥身长六十二米，共有七个桥孔。", []string{"共有", "桥孔"}},
		{"年会抽到了什么奖品？", "年会抽奖我抽中了一台咖啡机。", nil},
		{"给妈妈买了什么礼物？", "我给妈买了条披肩。", nil},
		{"阿哲想去哪个城市工作？", "通过考试就可以申请调过去。", nil},
		{"Kevin现在用什么数据库？", "我现在设了提醒。", []string{"现在"}},
		{"和平饭店", "住在和平饭店", []string{"和平饭店"}},
		{"学生会主席是谁", "学生会的主席", []string{"学生会", "主席"}},
		{"小王吃什么", "小王吃海鲜会过敏", []string{"小王", "吃"}},
		{"卖小吃的", "街上卖小吃", []string{"卖小吃"}},
		{"会社の電話番号", "電話は会社にある", []string{"会社", "電話"}},
		{"東京へ行く", "東京タワー", []string{"東京"}},
		{"회사 전화번호", "회사에서 전화번호를 알려줬다", []string{"회사", "전화번호"}},
		{"国内第一台大口径反射望远镜建在哪里？", "主持建造了国内第一台大口径反射望远镜。", []string{"国内第一台大口径反射望远镜"}},
	} {
		if got := commonPhrases(test.query, test.memory); !slices.Equal(got, test.want) {
			t.Errorf("%s / %s: got %q, want %q", test.query, test.memory, got, test.want)
		}
	}
}

// One character that says little finds nothing; a word of such characters does, and so does the whole question.
func TestTelling(t *testing.T) {
	for _, test := range []struct {
		query, memory string
		want          bool
	}{
		{"去哪里", "去公园跑步很开心。", false},
		{"去哪里", "周末去哪里玩还没决定。", true},
		{"生日", "我的生日是5月7日。", true},
		{"生日快乐", "我的生日是5月7日。", true},
		{"三次", "我去过三次北京", true},
		{"7点", "每天7点起床跑步", true},
		{"7点", "每天17点跑步，写7行，点灯", false},
		{"15", "花了15元。", false},
		{"五一", "去年的五一之后去看牙。", true},
		{"5月7日发生了什么", "我的生日是5月8日。", false},
	} {
		doc := Analyze(test.memory, "")
		a := analyzeQuery(&Query{Text: test.query, Now: wednesday, Session: None}, NewIndex(nil))
		if got := a.MatchMemory(&doc, test.memory, wednesday); got.Telling != test.want {
			t.Errorf("%s / %s: %+v, want %v", test.query, test.memory, got, test.want)
		}
	}
}
