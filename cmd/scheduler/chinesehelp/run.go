package chinesehelp

import "github.com/callnode/scheduler/llm/value/wording"

// runHelp has the help of the commands from resume to worker in Chinese, by the English one.
var runHelp = wording.Add(wording.Catalog{
	"Go on with a run that waits, failed or died": "继续一个等待中、失败或中断的运行",
	`Go on with a run that waits, failed, was cancelled or died. Steps that finished are
not run again, and nothing that they asked a model is paid again; a step that was at
work runs again. RUN is a run's id, the beginning or the end of one, or last.

What a step waits for is given with --set /pointer=value, or STEP:/pointer=value
where several wait (STEP[3] is an item of a for_each step), or as a JSON object with
--input. Fields that need not be given can be given as well. Values are typed and
checked by the step's schema; a wrong one is refused and the run goes on waiting. On
a terminal, it asks for what is still missing.

The run keeps the text of its flow. --flow goes on with an edited one: first until it
waits again, then with the answers.

A run that another process is at is refused. --steal takes it from one that cannot be
alive though it still seems to hold the run, as after a restart of the machine; a process
of this machine that is alive keeps it: end it, and the run is free.

A run that workers carry out (run --on) goes on there, and is followed here: also one that
is under way. Answers go to the workers, which check them.

Exit codes: 0 done, 1 the run failed again, or the store or the server that carries it out
cannot be reached, 2 an answer or the edited flow was refused (nothing ran), 3 the run
still waits, 130 interrupted.`: `继续一个等待中、失败、已取消或中断的运行。已完成的步骤不会再次运行，向模型询问过的也不会
再次付费；正在进行的步骤会再次运行。RUN 是运行的 id、id 的开头或结尾，或 last。

步骤等待的值用 --set /pointer=value 给出，多个步骤等待时用 STEP:/pointer=value（STEP[3] 是
for_each 步骤的一项），或用 --input 以 JSON 对象给出。可以不填的字段也可以给出。值按步骤的
schema 确定类型并检查；有误的会被拒绝，运行继续等待。在终端上，没有给出的会当场询问。

运行保留其流程的文本。--flow 以改过的流程继续：先运行到再次等待，然后使用回答。

另一个进程正在运行的会被拒绝。--steal 从不可能还在运行、但看起来仍占用它的进程那里取走，
例如机器重启之后；本机上仍在运行的进程会保留它：结束该进程，运行即被释放。

由 worker 执行的运行（run --on）在那里继续，并在这里跟踪：正在进行的也可以。回答交给 worker
检查。

退出码：0 完成，1 再次失败，或无法访问存储或执行运行的服务器，2 回答或改过的流程被拒绝（没有运行
任何内容），3 仍在等待，130 被中断。`,
	"show the final prompt of a `step` (of the last chat where none is named), every piece with its source and tokens":      "显示 `step` 的最终提示词（未指明时为最后一个 chat），每个片段带来源和 token 数",
	"go on with an edited flow `file`; steps that finished must be unchanged":                                               "以改过的流程 `file` 继续；已完成的步骤必须不变",
	"answers as a JSON `file`, - for stdin: {\"/pointer\": value}, or {STEP: {...}}":                                        "回答的 JSON `file`，- 表示标准输入：{\"/pointer\": value} 或 {STEP: {...}}",
	"print every event as a JSON line on stdout, and nothing else":                                                          "在标准输出中以 JSON 行输出每个事件，不输出其他内容",
	"the `time` of the run's clock (default: now)":                                                                          "运行的时钟的 `time`（默认为现在）",
	"`where` runs are carried out: temporal://HOST:PORT, or local (default the setting on)":                                 "`where` 表示运行在哪里执行：temporal://HOST:PORT，或 local（默认为设置 on）",
	"print only the outputs on stdout, as one JSON document":                                                                "在标准输出中只以一个 JSON 文档输出结果",
	"an answer, `[STEP:]/pointer=value`":                                                                                    "一个回答，`[STEP:]/pointer=value`",
	"approve the use of a call that waits, `STEP`; it may be left out if one waits; changes with --set STEP:/pointer=value": "批准正在等待的调用，`步骤`；只有一个在等待时可不写；用 --set 步骤:/指针=值 修改参数",
	"deny it, `STEP`; it may be left out if one waits":                                                                      "拒绝，`步骤`；只有一个在等待时可不写",
	"why it is denied, a `text`":                                                                                            "拒绝的原因，`文本`",
	"take the run from a process that cannot be alive, as after a restart of the machine":                                   "从不可能还在运行的进程那里取走运行，例如机器重启之后",
	"fail the run at its end where a step gave a warning, or failed with on_error: continue":                                "有步骤给出警告，或以 on_error: continue 失败时，运行结束时视为失败",
	"Run a flow": "运行一个流程",
	`Run a flow. The text of its to_user steps streams to stdout, progress goes to
stderr. Where no step is to_user, stdout gets the outputs as one JSON document.

Runs are recorded in the state directory, so that one that waits, fails or dies can
be resumed; --ephemeral leaves no record. On a terminal, what a run waits for is
asked right here.

With --on temporal://HOST:PORT the run is recorded here and carried out by the workers
of that server (scheduler worker), while its events are shown as always. Ctrl-C leaves
the run alone, which goes on; --detach does not follow it at all and prints its id.

Exit codes: 0 done, 1 the run failed, or the store or the server that carries it out
cannot be reached, 2 the flow, the settings or the inputs are wrong (nothing ran), 3 the
run waits for input (the message says for what, and how to go on), 130 interrupted.`: `运行一个流程。to_user 步骤的文本以流的方式写到标准输出，进度写到标准错误。没有 to_user 步骤
时，标准输出得到一个 JSON 文档形式的结果。

运行记录在状态目录中，因此等待、失败或中断的可以继续；--ephemeral 不留记录。在终端上，运行
等待的值会当场询问。

用 --on temporal://HOST:PORT 时，运行记录在这里，由该服务器的 worker 执行（scheduler worker），
事件照常显示。Ctrl-C 不影响运行，它会继续；--detach 完全不跟踪，只输出其 id。

退出码：0 完成，1 运行失败，或无法访问存储或执行运行的服务器，2 流程、设置或输入有误（没有运行
任何内容），3 运行等待输入（消息说明等待什么以及如何继续），130 被中断。`,
	"with --on: print the id of the run, and do not follow it":                                                                                     "与 --on 一起使用：输出运行的 id，不跟踪",
	"leave no record of the run behind; its memory is empty at the beginning, and gone at the end":                                                 "不留下运行的记录；开始时记忆为空，结束后消失",
	"read the inputs from a JSON `file`, - for stdin; -i goes over it":                                                                             "从 JSON `file` 读取输入，- 表示标准输入；-i 优先",
	"a `name=value` that runs list finds the run by":                                                                                               "供 runs list 查找运行的 `name=value`",
	"the model provider's `name`, or main,backup to ask the next one when one fails (default: llm of step and flow, then the setting llm.default)": "模型服务商的 `name`；写 main,backup 则在前者失败时改问后者（默认为步骤和流程的 llm，其次为设置 llm.default）",
	"the `time` of the run's clock, RFC 3339 or 2006-01-02T15:04:05 (default: now)":                                                                "运行的时钟的 `time`，RFC 3339 或 2006-01-02T15:04:05（默认为现在）",
	"the input question, - for stdin":                                                                                                              "输入 question，- 表示标准输入",
	"read the messages before the question from a JSON or YAML `file`, - for stdin: a list of {role, content}":                                     "从 JSON 或 YAML `文件` 读取问题之前的消息，- 表示标准输入：{role, content} 的列表",
	"keep the run in FLOW.cassette.yaml, as llm.mode record does: all that models, servers, tools and the memory answer":                           "把运行保存到 FLOW.cassette.yaml，同 llm.mode record：包括模型、服务器、工具和记忆给出的一切",
	"play the run of these inputs from FLOW.cassette.yaml, as llm.mode replay does: at its time, without network, plugins and memory":              "从 FLOW.cassette.yaml 播放使用这些输入的运行，同 llm.mode replay：用其当时的时间，不用网络、插件和记忆",
	"seed of the run's random numbers":                                                                                                             "运行的随机数的种子",
	"an input, `key=value` or key=@file; typed by the flow's input schema":                                                                         "一个输入，`key=value` 或 key=@file；类型由流程的输入 schema 决定",
	"whose run it is: run.user in the flow, the label owner in the journal":                                                                        "属于谁的运行：流程中的 run.user，日志中的标签 owner",
	"Look at the runs in the journal":                                                                                                              "查看日志中的运行",
	`Look at the runs that the journal keeps in the state directory. RUN is a run's id,
the beginning or the end of one that fits no other, or last.`: "查看日志保存在状态目录中的运行。RUN 是运行的 id、只符合一个运行的 id 开头或结尾，或 last。",
	"only runs with that label, `name=value`: owner=lin, origin=cli":                                      "只要有该标签的运行，`name=value`：owner=lin、origin=cli",
	"at most that many; 0 is all":                                                                         "最多这么多；0 为全部",
	"only runs in these `states`: running, waiting, failed, cancelled, finished":                          "只要处于这些 `states` 的运行：running、waiting、failed、cancelled、finished",
	"only runs that wait, or waited, for workers in the queue of that `name`; may be given several times": "只要在名为 `name` 的队列中等待或等待过 worker 的运行；可以多次给出",
	"only runs of the flow of that `name`":                                                                "只要名为 `name` 的流程的运行",
	"no runs that another run has begun, for a step of it":                                                "不要由另一个运行为其步骤开始的运行",
	"Go on with runs, one after another":                                                                  "逐个继续运行",
	`Go on with the runs that are named, or that fit every flag (failed ones, unless --state
says otherwise), the oldest first. It is scheduler resume for many runs, without answers:
one that waits still waits.

Exit code 0 if all runs ended well, else that of the first run that did not.`: `继续给出的运行，或符合每个选项的运行（没有 --state 时为失败的运行），最早的先继续。它是不带回答的、
针对多个运行的 scheduler resume：等待中的仍然等待。

所有运行都正常结束时退出码为 0，否则为第一个没有正常结束的运行的退出码。`,
	"Cancel runs, also those that another process is at": "取消运行，包括另一个进程正在运行的",
	`Cancel the runs that are named, or that fit every flag (running and waiting ones, unless
--state says otherwise). One that another process is at is stopped by that process, within a
second or two. What finished is kept, and resume goes on with a cancelled run too.

--force takes the run from its process first. It is for a process that cannot be alive
though it still seems to hold the run: the machine was started again, its container is
gone, its clock was set back. A process of this machine that is alive keeps the run: end
it, and the run is free. One of another machine that is alive after all stops at its next
step.`: `取消给出的运行，或符合每个选项的运行（没有 --state 时为运行中和等待中的）。另一个进程正在运行的由该进程在一两秒内停止。已完成的会保留，取消的运行也可以用
resume 继续。

--force 先从其进程取走运行。它用于不可能还在运行、但看起来仍占用它的进程：机器已重启、容器
已消失、时钟被拨回。本机上仍在运行的进程会保留它：结束该进程，运行即被释放。其他机器上仍在
运行的进程会在下一个步骤停止。`,
	"take the run from a process that cannot be alive":                 "从不可能还在运行的进程那里取走运行",
	"print JSON: the run as runs list has it":                          "输出 JSON：与 runs list 中相同的运行",
	"Print the events of a run as JSON lines":                          "以 JSON 行输出运行的事件",
	"go on with those to come, until the run is over or waits":         "继续输出之后的事件，直到运行结束或等待",
	"begin with that `seq`":                                            "从该 `seq` 开始",
	"print JSON lines, as always: for commands that are written alike": "输出 JSON 行，与平时相同：供写法一致的命令使用",
	"List the runs, the newest first":                                  "列出运行，最新的在前",
	"Delete runs for good":                                             "永久删除运行",
	`Delete runs for good: those that fit every flag, and are named where some are.
Without flags and names nothing is deleted. Runs that are waiting or running stay
unless --force says otherwise; one that a process is at always stays.`: `永久删除运行：即符合每个选项的，并且给出名称时在其中的。没有选项和名称时不删除任何内容。等待中
或运行中的保留，除非写了 --force；正由某个进程运行的总是保留。`,
	"also runs that are waiting, or whose process died":                                    "也包括等待中的，或其进程已中断的运行",
	"print JSON: {deleted, kept, bytes}":                                                   "输出 JSON：{deleted, kept, bytes}",
	"keep the newest `N` of those that fit":                                                "保留符合条件的最新 `N` 个",
	"that no process was at for that `age`, whatever the clock of the run: 90m, 24h, 30d":  "已有 `age` 没有进程运行过的，不论运行的时钟：90m、24h、30d",
	"in these `states` (default finished, failed, cancelled)":                              "处于这些 `states`（默认为 finished、failed、cancelled）",
	"Show a run: its steps, what it waits for, its error":                                  "显示一个运行：步骤、等待的值、错误",
	"show the prompts that a `step` sent or built, every piece with its source and tokens": "显示 `step` 发出或构建的提示词，每个片段带来源和 token 数",
	"Serve the flows of the project over HTTP":                                             "通过 HTTP 提供项目的流程",
	`Serve the flows of the project over HTTP: start runs, follow, answer and explain them,
make single calls, keep memory, and chat with flows by the OpenAI-compatible API below
/v1. The API is described at /api/v1/openapi.json; for people the server has a page.

The server prints a link to the page that logs in once. Programs need a token: scheduler token
create. Runs that were interrupted are gone on with. On Ctrl-C or SIGTERM, runs at work
get a while to end; the others are gone on with at the next start.`: `通过 HTTP 提供项目的流程：启动、跟踪、回答和解释运行，单独执行调用，保存记忆，并通过 /v1 下与
OpenAI 兼容的 API 和流程对话。API 的说明在 /api/v1/openapi.json；供人使用的是服务器的页面。

服务器输出一个可登录页面一次的链接。程序需要令牌：scheduler token create。被中断的运行会继续。
收到 Ctrl-C 或 SIGTERM 后，进行中的运行有一段时间结束；其余的在下次启动时继续。`,
	"token, or none on a loopback address (default the setting serve.auth)":    "token，或在本机地址上为 none（默认为设置 serve.auth）",
	"let clients change flow files":                                            "允许客户端更改流程文件",
	"`host:port` or unix:path to listen at (default the setting serve.listen)": "监听的 `host:port` 或 unix:路径（默认为设置 serve.listen）",
	"leave the schedules and webhooks of flows alone":                          "不启用流程的定时和 webhook",
	"serve the API alone, without the page":                                    "只提供 API，不提供页面",
	"open the page in the browser":                                             "在浏览器中打开页面",
	"ask the server that runs whether it is ready, and exit with 0 or 1":       "询问正在运行的服务器是否就绪，以 0 或 1 退出",
	"Test what is in prompts, and what models answer":                          "测试提示词中有什么，以及模型如何回答",
	`Run test files: NAME.test.yaml beside NAME.yaml has cases with inputs and what is
expected of the run. PATH is a test file, its flow, or a folder; DIR/... is a folder with
all below it, and ./... is what is tested where no path is given.

A case that stops before the model (until: STEP) looks at the prompt: what is in it,
where each piece comes from, and what was left out and why. It needs no model and no key.
Other cases play recorded answers: of models in NAME.test.PROVIDER.cassette.yaml, of
servers, tools and plugins in NAME.test.cassette.yaml. --record asks for those that are
missing, for real: a tool that sends a mail sends it. --live asks for all. Otherwise tests
reach no network, run no calls of plugins and write nothing, unless a case mocks or allows it.

Where run --record has kept a run with the inputs of the case, in NAME.cassette.yaml, the
case plays it: its time and seed, unless the case gives others, and all answers that the
case does not mock, of models, servers, tools, plugins and the memory.

Exit code 0: all passed. 1: a case failed, or got worse than --against. 2: settings, flows or
test files are wrong; the other files ran. 4: something could not be decided, such as an answer
that is not recorded, a case has no check that counts, or all cases of a file are skipped, and
nothing failed. 130: interrupted; --rerun goes on.`: `运行测试文件：NAME.yaml 旁边的 NAME.test.yaml 含有用例，即输入和对运行的预期。PATH 是测试文件、
其流程或文件夹；DIR/... 是文件夹及其下所有内容，没有给出路径时测试 ./... 。

在模型之前停止的用例（until: STEP）检查提示词：其中有什么，每个片段来自哪里，略去了什么及原因。
它不需要模型和密钥。其他用例播放录制的回答：模型的在 NAME.test.PROVIDER.cassette.yaml 中，服务器、
工具和插件的在 NAME.test.cassette.yaml 中。--record 真正询问缺少的：发邮件的工具会发出邮件。--live
全部询问。此外测试不访问网络，不运行插件的调用，也不写入任何内容，除非用例模拟或允许。

如果 run --record 在 NAME.cassette.yaml 中保存了使用该用例输入的运行，用例就播放它：使用其时间和种子
（除非用例另有给出），以及用例没有模拟的一切回答，包括模型、服务器、工具、插件和记忆。

退出码 0：全部通过。1：有用例失败，或比 --against 差。2：设置、流程或测试文件有误；其余文件照常运行。
4：有内容无法判定，例如没有录制的回答、某用例没有计入的检查，或某文件的用例全部被跳过，但没有失败。130：被中断；--rerun 继续。`,
	"compare with an earlier `run`: a name given to --bless, a file, or last":                                    "与早先的 `run` 比较：给 --bless 的名称、文件或 last",
	"keep the run as the baseline of that `name`":                                                                "把此次运行保存为该 `name` 的基准",
	"what of --against is a failure: significant, any or none":                                                   "与 --against 比较时什么算失败：significant、any 或 none",
	"run cases whose name, row or variant matches a regular `expression`":                                        "运行名称、行或变体符合正则表达式 `expression` 的用例",
	"print a JSON line for each case, and one that sums up":                                                      "每个用例输出一个 JSON 行，最后输出一行汇总",
	"stop when the models have cost that `amount`, in the setting llm.currency":                                  "模型的费用达到这个`金额`时停止，单位见设置 llm.currency",
	"ask the models for all answers, and record none; cases may reach the network":                               "向模型询问全部回答，不录制；用例可以访问网络",
	"run the variants with a setting of the matrix: `key=value`":                                                 "运行矩阵中有此设置的变体：`key=value`",
	"drop snapshots and recorded answers that nothing asks for":                                                  "删去没有用到的快照和录制的回答",
	"ask models, servers, tools and plugins for answers that are not recorded, and record them":                  "向模型、服务器、工具和插件询问没有录制的回答，并录制",
	"run each case `N` times, whatever the files say":                                                            "每个用例运行 `N` 次，不论文件如何写",
	"write reports: `kind=FILE`, with kind junit, json, html or md; several with commas":                         "写入报告：`kind=FILE`，kind 为 junit、json、html 或 md；多个以逗号分隔",
	"run cases that failed, or had errors, in the last run, and those that it did not come to: failed or errors": "运行上次失败或出错的用例，以及没有轮到的用例：failed 或 errors",
	"run cases with the `tag`; several are alternatives":                                                         "运行有此 `tag` 的用例；多个为或的关系",
	"write snapshots that differ or are missing":                                                                 "写入不同的或缺少的快照",
	"take a file whose cases are all skipped as passed":                                                          "把用例全部跳过的文件视为通过",
	"fail (exit code 1) if a smaller `share` of the verdicts is equal":                                           "若相同判断的比例 `share` 更小则失败（退出码 1）",
	"fail (exit code 1) if the judge passes a larger `share` of what people fail":                                "若评判放过人判失败的比例 `share` 更大则失败（退出码 1）",
	"run again whenever a file that the tests read changes, until Ctrl-C":                                        "测试所读的文件一有变化就重新运行，直到 Ctrl-C",
	"print a line for every case":                                                                                "每个用例输出一行",
	"Find out how far a judge agrees with people":                                                                "了解评判模型与人的判断有多一致",
	`Have a judge judge answers that people have passed or failed, and print how far both
agree: the share of equal verdicts, Cohen's kappa, which leaves out agreement by chance,
and how many bad answers the judge lets pass. It is kept in judges.calibration.json, and
reports show it beside what the judge finds.

Each line has {"text": "the answer", "pass": true}, and if you like question, id, and
judge: {criteria: [...]} as in a test file; lines without a judge go by the flags. Verdicts of
the judge are played from LABELS.PROVIDER.cassette.yaml, as in tests.`: `让评判模型评判已由人判定通过或不通过的回答，并输出两者的一致程度：相同判定的比例、排除偶然一致的
Cohen's kappa，以及评判模型放过了多少不好的回答。结果保存在 judges.calibration.json，报告会在评判
结果旁显示它。

每行有 {"text": "回答", "pass": true}，还可以有 question、id，以及测试文件中那样的 judge:
{criteria: [...]}；没有 judge 的行按选项评判。评判从 LABELS.PROVIDER.cassette.yaml 播放，与测试相同。`,
	"what an answer must do, a `sentence`; can be repeated":                                       "回答必须做到的一个 `sentence`；可以重复",
	"print the calibration as one JSON document":                                                  "以一个 JSON 文档输出校准结果",
	"ask the judge for all verdicts, and record none":                                             "向评判模型询问全部判定，不录制",
	"the `provider` that judges (default the setting llm.default)":                                "评判所用的 `provider`（默认为设置 llm.default）",
	"the share of criteria, or of the grade, that is enough":                                      "达到多少比例的标准，或多少评分即为足够",
	"criteria that are built in: relevancy, correctness, refusal, harmless, coherence or concise": "内置的标准：relevancy、correctness、refusal、harmless、coherence 或 concise",
	"ask the judge for verdicts that are not recorded, and record them":                           "向评判模型询问没有录制的判定，并录制",
	"how to grade an answer from 0 to 10":                                                         "如何以 0 到 10 给回答评分",
	"Create, list and revoke tokens of the server":                                                "创建、列出和撤销服务器的令牌",
	`Tokens let programs use scheduler serve. A token with a user is bound to that user: it
reaches only the runs and memories of the user, and other runs do not exist for it.`: `令牌让程序可以使用 scheduler serve。带有用户的令牌只属于该用户：它只能访问该用户的运行和记忆，其他
运行对它来说不存在。`,
	"Create a token and print it: it is not shown again": "创建一个令牌并输出：之后不再显示",
	`Create a token and print it on stdout; it is not shown again. Scopes are runs:read,
runs:write, runs:as, flows:read, flows:write, memory:read, memory:write, calls:run,
metrics and admin, which allows everything. With runs:as beside runs:write, a token
without a user begins runs for the user that a request names: run.user in the flow,
and bound to that user as a token of theirs would be.`: `创建一个令牌并写到标准输出；之后不再显示。权限有 runs:read、runs:write、runs:as、flows:read、
flows:write、memory:read、memory:write、calls:run、metrics，以及允许一切的 admin。同时有 runs:write 和
runs:as 时，没有用户的令牌可以为请求中指明的用户启动运行：流程中的 run.user 即该用户，
运行只属于该用户，与用其令牌启动时一样。`,
	"how `long` it lasts, 90d or 12h (default: for good)":                    "有效期 `long`，90d 或 12h（默认为永久）",
	"what it allows, a `list` with commas":                                   "允许的权限 `list`，以逗号分隔",
	"bind the token to a `user`; without one it reaches what belongs to all": "把令牌限于一个 `user`；没有时可访问所有人的内容",
	"List the tokens": "列出令牌",
	"Revoke a token: servers refuse it within seconds": "撤销令牌：服务器在几秒内拒绝它",
	"Print the version":                "输出版本",
	"Carry out runs of other machines": "执行其他机器的运行",
	`Carry out the runs that scheduler run --on and scheduler serve --on give to a Temporal
server. Any number of workers on any number of machines share the runs; one that dies or
stops leaves its runs to the others. All of them need the same store, and what the flows
use: plugins, secrets, files below the folder of the project.

--check prints what this machine cannot carry out, and why: of the flows of the project and
of the runs that wait for a worker. What is for workers of other queues it only names.
--setup registers the search attributes by which Temporal's pages find runs. Both end then.

On Ctrl-C or SIGTERM no further step begins; those at work get a while to end (the setting
worker.drain), and other workers go on.

The work is done by a second program, scheduler-temporal, which is in the archives of a
release beside scheduler.

Exit codes: 0 done, 1 Temporal or the store cannot be reached, or --check found something
missing, 2 the settings or the usage is wrong.`: `执行 scheduler run --on 和 scheduler serve --on 交给 Temporal 服务器的运行。任意多台机器上的任意多个
worker 分担运行；中断或停止的把其运行留给其他 worker。它们都需要同一个 store，以及流程所用的内容：
插件、密钥、项目文件夹下的文件。

--check 输出本机无法执行的内容及原因：包括项目的流程和等待 worker 的运行。由其他队列的 worker 执行的
只列出名称。--setup 注册 Temporal 页面查找运行所用的搜索属性。两者之后即结束。

收到 Ctrl-C 或 SIGTERM 后不再开始新的步骤；进行中的有一段时间结束（设置 worker.drain），其他 worker
继续。

工作由第二个程序 scheduler-temporal 完成，它在发行版的压缩包中，与 scheduler 放在一起。

退出码：0 完成，1 无法连接 Temporal 或 store，或 --check 发现缺少内容，2 设置或用法有误。`,
	"List the servers and workers that carry runs out": "列出执行运行的服务器和 worker",
	`List the processes of the store that carry runs out: servers (scheduler serve) and workers
(scheduler worker). SLOTS are runs at work of those that there is room for; one that has
stopped is not listed, and one that was killed is lost after 20 s, and listed for a day.

A worker of another store is not listed: all machines need the same one.`: `列出 store 中执行运行的进程：服务器（scheduler serve）和 worker（scheduler worker）。“名额”是正在
执行的运行数与可容纳数；正常停止的不再列出，被强行结束的在 20 秒后标为失联，并保留一天。

使用其他 store 的 worker 不会列出：所有机器需要同一个 store。`,
	"print what this machine cannot carry out, and end":                                                  "输出本机无法执行的内容，然后结束",
	"`host:port` of its health checks and metrics (default the setting worker.listen)":                   "健康检查与指标的 `host:port`（默认为设置 worker.listen）",
	"a queue's `name` to take runs from; may be given several times (default the setting worker.queues)": "取运行的队列的 `name`；可以多次给出（默认为设置 worker.queues）",
	"register the search attributes, and end":                                                            "注册搜索属性，然后结束",
	"how many runs of a queue to be at, at once (default the setting worker.slots)":                      "一个队列同时进行多少个运行（默认为设置 worker.slots）",
	"Run a flow again from a step of a run":                                                              "从某个运行的一个步骤起重新运行流程",
	"the first `step` that runs again, or a piece of its work such as clerk/round-3":                     "第一个重新运行的 `step`，或其工作的一部分，例如 clerk/round-3",
	"an input that changes, `key=value` or key=@file":                                                    "改动的输入，`key=value` 或 key=@file",
	"an output in place of a step's own, `STEP=JSON` or STEP=@file":                                      "代替步骤自身输出的输出，`STEP=JSON` 或 STEP=@file",
	"a value in the parameters that a step had, `STEP:/pointer=value`: JSON, or else a text":             "步骤参数中的一个值，`STEP:/pointer=value`：JSON，否则为文本",
	"an edited flow `file`: the steps that it changes run again":                                         "改过的流程 `file`：被改动的步骤重新运行",
	"the `name` of the model provider (default: the run's)":                                              "模型服务商的 `name`（默认：该运行的）",
	"do not ask before a step acts a second time":                                                        "在步骤再次产生作用之前不询问",
	"only print which steps are kept and which run":                                                      "只显示哪些步骤保留、哪些运行",
	`Make a new run that begins where another one stood, and carry it out. The steps that
ended there, and depend neither on the step --at nor on a change, keep their outputs:
they do not run again, and cost nothing again. The other run stays as it is. RUN is a
run's id, the beginning or the end of one, or last; it may have finished, failed, been
cancelled, or wait.

Without --at the new run begins with the first step that a change touches: a new input
(-i), an output in place of a step's own (--set-output), another value in the parameters
that a step had (--set), an edited flow (--flow). A run that has not finished can be
forked without any change. An agent can be forked at a round: --at clerk/round-3.

What is kept and what runs is printed before. On a terminal you are asked if a step
would run a second time that may act outside, for example send a message.

Exit codes: as of run.`: `新建一个从另一个运行的某处开始的运行，并执行它。在那里已经结束、既不依赖步骤 --at 也不依赖改动的步骤
保留其输出：不会再次运行，也不会再次付费。原来的运行保持不变。RUN 是运行的 id、id 的开头或结尾，或
last；它可以已完成、失败、已取消，或正在等待。

没有 --at 时，新的运行从改动所影响的第一个步骤开始：新的输入（-i）、代替步骤自身输出的输出
（--set-output）、步骤参数中的另一个值（--set）、改过的流程（--flow）。没有完成的运行不作任何改动也
可以分叉。agent 可以在某一轮分叉：--at clerk/round-3。

保留什么、运行什么会先显示出来。在终端上，如果会再次运行可能对外产生作用的步骤（例如发送消息），会先询问。

退出码：与 run 相同。`,
})
