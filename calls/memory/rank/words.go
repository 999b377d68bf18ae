package rank

import "strings"

// stopWords carry no meaning of their own in English: they are neither indexed nor
// asked for.
var stopWords = set(`
a about after again all also am an and any are aren as at be because been before being but by can cannot could
couldn did didn do does doesn doing don down each for from further had hadn has hasn have haven having he her here
hers herself him himself his how i if in into is isn it its itself just me more most my myself no nor not now of off
on once only or other our ours ourselves out over own same she should shouldn so some such than that the their
theirs them themselves then there these they this those through to too under until up very was wasn we were weren
what when where which while who whom whose why will with won would wouldn you your yours yourself yourselves ain
ca wo im ive id dont`)

// generalWords ask for anything that happened or was said, in stemmed form.
var generalWords = set(`happen say talk tell discuss mention speak remember know 发生 生了`)

// irregular forms that the stemmer cannot know, and a few pairs of words that
// people use for the same thing.
var irregular = pairs(`
went go gone go goes go did do bought buy brought bring thought think taught teach caught catch fought fight
sought seek felt feel kept keep slept sleep left leave met meet told tell sold sell said say made make paid pay
heard hear held hold stood stand understood understand found find lost lose won win sent send spent spend built
build lent lend ran run began begin begun begin swam swim swum swim sang sing sung sing drank drink drunk drink
rang ring sank sink came come became become gave give given give took take taken take wrote write written write
rode ride ridden ride drove drive driven drive rose rise risen rise chose choose chosen choose spoke speak spoken
speak broke break broken break woke wake woken wake wore wear worn wear tore tear torn tear ate eat eaten eat fell
fall fallen fall saw see seen see knew know known know grew grow grown grow threw throw thrown throw flew fly flown
fly drew draw drawn draw forgot forget forgotten forget got get gotten get hid hide hidden hide bit bite bitten bite
shot shoot led lead fed feed read read met meet dealt deal meant mean hung hang stuck stick struck strike dug dig
children child kids child kid child men man women woman people person feet foot teeth tooth mice mouse geese goose
wives wife lives life knives knife leaves leaf movie film movies film better good best good worse bad worst bad
mom mother mum mother mommy mother dad father daddy father pic photo picture photo pictures photo pics photo
bike bicycle bikes bicycle tv television fave favorite favourite favorite colour color`)

// questionWords are pairs of characters that ask in Chinese, and stopCharacters
// single ones that carry no meaning of their own. Both are left out of queries
// only: in a memory they cost nothing.
var (
	questionWords  = set(`什么 么时 时候 哪些 哪个 哪里 哪儿 哪年 哪天 多少 怎么 么样 怎样 为什 如何 是谁 是什 请问 何时 几个 吗?`)
	stopCharacters = set(strings.Join(strings.Split("的了是在吗呢吧啊呀什么哪谁几怎何为有和与及或我你他她它们这那个之其也都就被把于对从到而且但因所以着过地得请问说很还又再才只会能要让给向", ""), " "))
)

func set(words string) map[string]bool {
	m := map[string]bool{}
	for _, w := range strings.Fields(words) {
		m[w] = true
	}
	return m
}

func pairs(words string) map[string]string {
	m := map[string]string{}
	list := strings.Fields(words)
	for i := 0; i+1 < len(list); i += 2 {
		m[list[i]] = list[i+1]
	}
	return m
}
