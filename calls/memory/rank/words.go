package rank

import (
	"strings"
	"sync"

	"github.com/callnode/scheduler/llm/value"
)

// stopWords are English words without a meaning of their own. They are neither indexed
// nor searched.
var stopWords = value.WordSet(`
a about after again all also am an and any are aren as at be because been before being but by can cannot could
couldn did didn do does doesn doing don down each for from further had hadn has hasn have haven having he her here
hers herself him himself his how i if in into is isn it its itself just me more most my myself no nor not now of off
on once only or other our ours ourselves out over own same she should shouldn so some such than that the their
theirs them themselves then there these they this those through to too under until up very was wasn we were weren
what when where which while who whom whose why will with won would wouldn you your yours yourself yourselves ain
ca wo im ive id dont much many lot lots really might ever still yet else`)

// generalWords are stems that say little. If no memory has them, that means nothing.
//
//nolint:misspell // stems, such as noth of nothing
var generalWords = value.WordSet(`happen say talk tell discuss mention speak remember know want need like love think feel give get go make
take come see look try use start kind type sort thing name call time latest newest current recent nowaday
done new since anyth someth everyth noth
现在 最新 最近 目前 如今 在最 新的 发生 生了`)

// irregular maps forms that the stemmer cannot know to their base form, and a few words
// to others that people use for the same thing.
var irregular = wordPairs(`
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
wives wife lives life knives knife leaf leave movie film movies film better good best good worse bad worst bad
mom mother mum mother mommy mother dad father daddy father pic photo picture photo pictures photo pics photo
bike bicycle bikes bicycle tv television fave favorite
fled flee froze freeze frozen freeze stole steal stolen steal swore swear sworn swear beaten beat bent bend bled
bleed blew blow blown blow bound bind bred breed burnt burn clung cling crept creep dreamt dream forgave forgive
forgiven forgive knelt kneel leapt leap learnt learn lit light lain lie laid lay mistook mistake mistaken mistake
overcame overcome proven prove sewn sew shook shake shaken shake shone shine shown show shrank shrink slid slide
spun spin spilt spill sprang spring swept sweep swung swing undertook undertake wept weep withdrew withdraw
wove weave woven weave strove strive sped speed spelt spell drunk drink
shelves shelf halves half wolves wolf loaves loaf scarves scarf thieves thief calves calf selves self
fam family fams family fest festival edu education vid video vids video convo conversation bday birthday fav favorite
favs favorite grandma grandmother granny grandmother nana grandmother grandpa grandfather granddad grandfather bro
brother sis sister hubby husband info information uni university veggie vegetable veggies vegetable mins minute min
minute hrs hour hr hour yrs year yr year coworker colleague coworkers colleague workmate colleague workmates colleague
mon monday tue tuesday tues tuesday wed wednesday thu thursday thur thursday thurs thursday fri friday
jan january feb february mar march apr april jun june jul july aug august sep september sept september oct october
nov november dec december
allergic allergy allergen allergy allergens allergy diabetic diabetes asthmatic asthma historic history historical history
economic economy strategic strategy energetic energy apologetic apology athletic athlete
grey gray tyre tire tyres tire programme program programmes program pyjamas pajamas aeroplane airplane maths math
licence license practise practice defence defense catalogue catalog jewellery jewelry doughnut donut doughnuts donut
yoghurt yogurt cosy cozy sceptical skeptical enrol enroll fulfil fulfill kerb curb plough plow`)

// questionWords are the ways in which Chinese questions ask, and stopCharacters are characters that carry no
// meaning of their own. Both are left out of queries only: in a memory they cost nothing.
var (
	questionWords = value.CompileLater(`请问|請問|(?:什[么麼]|啥)[时時]候|什[么麼][样樣]?|为啥|啥|咋样?|多少|在?哪[里裡儿兒些]?|[为爲為]什[么麼]|[谁誰]|怎[么麼][样樣]?|怎[样樣]|如何|何[时時]`)
	// dayQuestion matches how Chinese questions ask for the events of a day.
	dayQuestion    = value.CompileLater(`(?:[做干]过?了?(?:些|点)?|[发發]生了?些?|有)(?:什[么麼]|啥)(?:事情?)?|干[嘛吗]`)
	stopCharacters = value.WordSet(strings.Join(strings.Split("的了是在吗呢吧啊呀什么哪谁几怎何为有和与及或我你他她它们这那个之其也都就被把于对从到而且但因所以着过地得请问说很还又再才只会能要让给向嗎麼誰幾為與們這個對從過請問說還會讓給於著", ""), " "))
)

// lightCharacters often are words by themselves and say little: a query does not find a memory that shares only
// such characters with it.
const lightCharacters = "去来來到做干作里裡上下中内外前后後时時要能可以最近现今年月日天号號点點个個次大小多少好不没沒很用说說发發生"

// wordPairs returns a function that returns a map of the first word of each pair to the second.
func wordPairs(words string) func() map[string]string {
	return sync.OnceValue(func() map[string]string {
		m := map[string]string{}
		list := strings.Fields(words)
		for i := 0; i+1 < len(list); i += 2 {
			m[list[i]] = list[i+1]
		}
		return m
	})
}

// britishEndings are written with z in America.
var britishEndings = strings.Fields(`ise ised ises ising iser isers isation isations yse ysed yses ysing yser ysers`)
