package main

import (
	"cmp"
	"fmt"
	"regexp"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// helpInChinese puts the help of all commands into Chinese; what [chineseHelp] does not have stays
// as it is.
func helpInChinese(root *cobra.Command) {
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	root.SetUsageTemplate(chineseHeadings.Replace(root.UsageTemplate()))
	root.SetHelpFunc(func(cmd *cobra.Command, _ []string) {
		usage := flagDefault.ReplaceAllString(cmd.UsageString(), "（默认为 $1）")
		fmt.Fprintf(cmd.OutOrStdout(), "%s\n\n%s", strings.TrimSpace(cmp.Or(cmd.Long, cmd.Short)), usage)
	})
	translateHelp(root)
}

// flagDefault is how pflag says the default of a flag.
var flagDefault = regexp.MustCompile(`(?m) \(default ([^()]*)\)$`)

var chineseHeadings = strings.NewReplacer("Usage:", "用法：", "Aliases:", "别名：", "Examples:", "示例：", "Available Commands:", "可用的命令：", "Global Flags:", "全局选项：",
	"Flags:", "选项：", "[command]", "[命令]", `Use "{{.CommandPath}} [command] --help" for more information about a command.`, `用 "{{.CommandPath}} [命令] --help" 查看某个命令的说明。`)

func translateHelp(cmd *cobra.Command) {
	cmd.InitDefaultHelpFlag()
	cmd.InitDefaultVersionFlag()
	cmd.Short, cmd.Long = chineseOr(cmd.Short), chineseOr(cmd.Long)
	translate := func(f *pflag.Flag) {
		switch f.Name {
		case "help":
			f.Usage = "显示此说明"
		case "version":
			f.Usage = "输出版本"
		default:
			f.Usage = chineseOr(f.Usage)
		}
	}
	cmd.Flags().VisitAll(translate)
	cmd.PersistentFlags().VisitAll(translate)
	for _, sub := range cmd.Commands() {
		translateHelp(sub)
	}
}

func chineseOr(english string) string { return cmp.Or(chineseHelp[english], english) }

// chineseHelp has the help of commands and flags in Chinese, by the English one: first what
// Cobra says by itself.
var chineseHelp = map[string]string{
	"Generate the autocompletion script for the specified shell":        "为指定的 shell 生成自动补全脚本",
	"Generate the autocompletion script for bash":                       "为 bash 生成自动补全脚本",
	"Generate the autocompletion script for fish":                       "为 fish 生成自动补全脚本",
	"Generate the autocompletion script for powershell":                 "为 powershell 生成自动补全脚本",
	"Generate the autocompletion script for zsh":                        "为 zsh 生成自动补全脚本",
	"disable completion descriptions":                                   "补全时不带说明",
	"Explain a command, or with help flow [KEY] the keys of flow files": "说明一个命令，或用 help flow [KEY] 说明流程文件的键",
	`Explain a command. help flow prints every key of flow files, and the filters and tests
of templates; help flow KEY explains one key and those below it, such as steps.retry.`: `说明一个命令。help flow 输出流程文件的所有键，以及模板的过滤器和测试；help flow KEY 说明一个键及其
下的键，例如 steps.retry。`,

	"Run flows that build the context of a language model": "运行为语言模型构建上下文的流程",
	`scheduler runs flows: YAML files made of calls (input, context, in-chat, chat ...)
that put a prompt together, ask a model, and can tell where every piece of the
prompt came from.`: `scheduler 运行流程：由调用（input、context、in-chat、chat 等）组成的 YAML 文件。
它们拼出提示词、向模型提问，并能说明提示词的每个片段来自哪里。`,
	"settings file (default the scheduler.yaml of the project: in the working directory or above it)": "设置文件（默认为项目的 scheduler.yaml：在工作目录或其上级目录中）",
	"directory of the journal and the memory (default the setting state_dir)":                         "日志和记忆所在的目录（默认为设置 state_dir）",
	"Run one call without a flow": "不用流程，运行一个调用",
	`Run one call without a flow. Parameters are taken as they are: nothing in them is
a template. With --jsonl every line {"id", "with", "vars"?, "llm"?} gives one line
{"id", "output"} or {"id", "error": {"kind", "message"}}, in order, with "warnings":
[{"code", "text", "source"?}] where the call has warned of something. llm scripts the
model's answers ({"text"}, {"json"} or {"error"}), without it the provider of the
settings is asked; vars is what the call sees (question, inputs, history, summary,
facts, vars, language, user, session, now).
Lines share nothing but the memory store of the state directory. Exit code 0 when
every line was answered, errors included.`: `不用流程，运行一个调用。参数按原样使用：其中没有模板。用 --jsonl 时，每行
{"id", "with", "vars"?, "llm"?} 依次得到一行 {"id", "output"} 或
{"id", "error": {"kind", "message"}}；调用给出警告时还有
"warnings": [{"code", "text", "source"?}]。llm 预先写好模型的回答（{"text"}、{"json"} 或
{"error"}），没有它时询问设置中的服务商；vars 是调用能看到的内容（question、inputs、
history、summary、facts、vars、language、user、session、now）。
各行之间只共用状态目录中的记忆库。每行都得到应答（包括错误）时，退出码为 0。`,
	"requests, one JSON object per line, a `file`, - for stdin":                  "请求的 `file`，每行一个 JSON 对象，- 表示标准输入",
	"in which `session` of it, with --with":                                      "其中的哪个 `session`，与 --with 一起使用",
	"whose memory the call works in, with --with":                                "调用使用谁的记忆，与 --with 一起使用",
	"parameters, a YAML or JSON `file`, - for stdin":                             "参数的 YAML 或 JSON `file`，- 表示标准输入",
	"List what flows can name, or show one call with its schemas and an example": "列出流程可用的名称，或显示一个调用的 schema 和示例",
	`List the calls, importance functions and variables that flows can name: those that
are built in and those of trusted plugins. With a name, show that one; for a call its
parameters, its output and a flow that runs. The JSON list has the calls; with
--functions, the importance functions and variables.`: `列出流程可用的调用、重要度函数和变量：内置的，以及受信任插件的。给出名称时只显示该项；
对调用显示其参数、输出和一个可运行的流程。JSON 列表包含调用；用 --functions 则为
重要度函数和变量。`,
	"of one call, show the parameters in parameters too, with an example of each": "显示一个调用时，也显示参数中的参数，并各带一个示例",
	"list the importance functions and variables":                                 "列出重要度函数和变量",
	"print JSON":               "输出 JSON",
	"Draw a flow as a picture": "把流程画成图",
	"Print the steps of a flow and what they need as a Mermaid or Graphviz picture.": "以 Mermaid 或 Graphviz 图的形式输出流程的步骤及其依赖。",
	"mermaid or dot": "mermaid 或 dot",
	"Turn files of other programs into flows and tests": "把其他程序的文件转换为流程和测试",
	`Turn files of other programs into flows and tests. Every leaf of a source is accounted
for: kept, changed, or not kept, with its line and what to do. No code and no template of
a source runs.`: `把其他程序的文件转换为流程和测试。来源的每一项都有交代：保留、改写或未保留，
并给出所在行和应做的事。不会运行来源中的代码和模板。`,
	"Turn configurations of promptfoo into flows, tests and providers": "把 promptfoo 的配置转换为流程、测试和服务商",
	`Turn configurations of promptfoo into flows, test files and providers of the settings.
Beside them, NAME.import.json tells what became of each leaf. Files that you have changed
since an import are left alone: the new ones get .new at the end.

Prompts become flows, their templates those of flows. Tests become cases; one that loses an
assertion is skipped and says why, so that nothing passes for want of a check. Conditions
in JavaScript that are expressions become checks; other code is kept as files, unused.`: `把 promptfoo 的配置转换为流程、测试文件和设置中的服务商。旁边的 NAME.import.json
说明每一项的去向。导入之后您改过的文件保持不动：新文件在末尾加 .new。

提示词成为流程，其模板成为流程的模板。测试成为用例；丢失断言的用例会跳过并说明原因，
不会因为缺少检查而通过。JavaScript 条件若是表达式，则成为检查；其他代码保留为文件，
但不使用。`,
	"tell what would be written, and write nothing":           "只说明会写入什么，不写入",
	"print the report as one JSON document":                   "以一个 JSON 文档输出报告",
	"the folder to write into":                                "写入的文件夹",
	"fail with exit code 1 where anything is not kept":        "有任何内容未保留时以退出码 1 失败",
	"Make a new project with a flow that runs, and its tests": "新建一个项目，含可运行的流程及其测试",
	`Make a new project: settings, a flow that runs without a key, its workspace and its
tests, and the schemas that let an editor complete flows and tests. Files that exist are
left alone.

The schema knows what is built in. That of --schema has the calls and importance
functions of trusted plugins too.`: `新建一个项目：设置、一个不需要密钥即可运行的流程及其工作区和测试，以及供编辑器补全
流程和测试的 schema。已有的文件保持不动。

schema 只含内置的内容。--schema 输出的还含有受信任插件的调用和重要度函数。`,
	"print the JSON Schema of flows for editors, plugins and all, and write nothing": "输出供编辑器使用的流程 JSON Schema（含插件），不写入",
	"print all settings with their defaults, and write nothing":                      "输出所有设置及其默认值，不写入",
	"Move the journal": "迁移日志",
	`Move the journal, which has all runs: see scheduler runs for what is in it. It is a file in
the state directory, or with the setting store a Postgres database that several machines
share.`: `迁移保存所有运行的日志：内容见 scheduler runs。它是状态目录中的一个文件；设置了 store 时，
是多台机器共用的 Postgres 数据库。`,
	"Copy all runs to another journal": "把所有运行复制到另一个日志",
	`Copy all runs to another journal: from a state directory to the store that several
machines share, and back. FROM and TO are a state directory, the word store for that of
the settings, or the URL of a Postgres database (postgres://...); one without a password
takes it from PGPASSWORD or ~/.pgpass.

A run is copied whole, with its prompts, images and labels, and then compared in both. Runs
that are there already are compared only, so copying may be repeated; nothing is changed in
FROM, and nothing overwritten in TO. A run that a process is at is left, and told: stop
what runs there, and copy again. Images are encrypted with the key of each journal: a store
needs journal.key_env.

Memories are moved by memory export and memory import.

Exit codes: 0 all runs are in both, 1 some are not, 2 the usage or the settings are wrong.`: `把所有运行复制到另一个日志：从状态目录到多台机器共用的 store，或反过来。FROM 和 TO 是
状态目录、表示设置中那一个的 store，或 Postgres 数据库的 URL（postgres://...）；没有密码时
取自 PGPASSWORD 或 ~/.pgpass。

运行连同提示词、图片和标签完整复制，然后在两边比较。已有的运行只做比较，因此可以重复
复制；FROM 中不改变任何内容，TO 中不覆盖任何内容。正由某个进程运行的会留下并告知：请先
停止它，再复制。图片用各自日志的密钥加密：store 需要 journal.key_env。

记忆用 memory export 和 memory import 迁移。

退出码：0 两边都有全部运行，1 有的没有，2 用法或设置有误。`,
	"print JSON: {copied, present, events, labels, left: [{run, error}]}": "输出 JSON：{copied, present, events, labels, left: [{run, error}]}",
	"Report all problems of flows and test files, before anything runs":   "在运行之前报告流程和测试文件的所有问题",
	`Report all problems of flows and test files (NAME.test.yaml) as
file:line:col: message (hint), in file order. A folder stands for the flows and test files
in it, DIR/... for those of all folders below it too. Sub-flows are looked through, and so
are all texts in the directory of the setting languages. Exit code 2 means that there is
an error; warnings alone give 0. Where runs are carried out by workers (the setting on),
files that steps read and that other machines may not have are warned of on stderr.`: `报告流程和测试文件（NAME.test.yaml）的所有问题，写作 文件:行:列: 消息（提示），按文件中的
顺序。文件夹表示其中的流程和测试文件，DIR/... 还包括其下所有文件夹。子流程也会检查，
设置 languages 的目录中的文本也会检查。有错误时退出码为 2；只有警告时为 0。运行由
worker 执行时（设置 on），会在标准错误中警告其他机器可能没有的文件。`,
	"print the problems as one JSON array":                                             "以一个 JSON 数组输出问题",
	"Write a man page for each command into a folder":                                  "把每个命令的手册页写入文件夹",
	"Serve the flows as MCP tools over stdio; trust MCP servers whose tools flows use": "通过 stdio 把流程作为 MCP 工具提供；信任流程所用的 MCP 服务器",
	`Serve the flows of the project as tools of the Model Context Protocol, over standard
input and output: a client (an editor, a desktop assistant) starts the program by itself,
and no server has to run. A call of a tool is a run; what it waits for is asked of the
user where the client can do that. scheduler serve has the same at /mcp.

Runs are in the journal of the project. One that is cut off because the client ends goes
on with scheduler resume, or when scheduler serve starts.

The other way round, flows use the tools of the servers in the setting mcp.servers, once
they are trusted: see the subcommands.`: `通过标准输入和输出，把项目的流程作为 Model Context Protocol 的工具提供：客户端（编辑器、
桌面助手）自行启动程序，不需要运行服务器。调用一个工具就是一次运行；运行等待的值会在
客户端支持时询问用户。scheduler serve 在 /mcp 提供同样的功能。

运行保存在项目的日志中。因客户端结束而中断的运行，可用 scheduler resume 继续，
或在 scheduler serve 启动时继续。

反过来，流程可以使用设置 mcp.servers 中受信任的服务器的工具：见各子命令。`,
	"a `folder` of flows; may be given several times (default the setting serve.flows)":                     "流程的 `folder`；可以多次给出（默认为设置 serve.flows）",
	"run for this `user`: whose runs and memories alone are reached":                                        "以此 `user` 运行：只能访问其运行和记忆",
	"the `folder` of the project, for clients that start programs anywhere (default the working directory)": "项目的 `folder`，用于在任意位置启动程序的客户端（默认为工作目录）",
	"List the MCP servers of the settings, and what flows can use of them":                                  "列出设置中的 MCP 服务器，以及流程可用的内容",
	"Show what MCP servers offer, ask, and let flows use their tools":                                       "显示 MCP 服务器提供的内容，询问后允许流程使用其工具",
	`Show what a server of mcp.servers offers: its tools, and what changed since it was last
trusted. To find out, a server with a command is started, one with a url is connected to.
Then ask; with yes the tools and their schemas are written to the lock file
(mcp.lock.json), which can be committed. Flows use them as mcp.NAME.TOOL; lint reads that
file alone. A tool that is not as it was trusted is refused when a step uses it.

A command runs with your rights, and what a tool is told leaves the project.`: `显示 mcp.servers 中的服务器提供的工具，以及上次信任之后的变化。为此会启动有 command 的
服务器，连接有 url 的服务器。然后询问；同意后，工具及其 schema 写入锁定文件
（mcp.lock.json），可以提交到版本库。流程以 mcp.NAME.TOOL 使用它们；lint 只读该文件。
与受信任时不同的工具，在步骤使用时会被拒绝。

命令以您的权限运行，告诉工具的内容会离开项目。`,
	"print what was written to the lock file as a JSON array": "以 JSON 数组输出写入锁定文件的内容",
	"do not ask": "不询问",
	"Take trust back: flows can no longer use the servers": "取消信任：流程不能再使用这些服务器",
	"Add, search, move and tidy up what is remembered":     "添加、搜索、迁移和整理记忆",
	`Add, search, move and tidy up what is remembered. Memories live in the state
directory; flows that name a user and a session under memory: use the same ones.

Whose memory it is, is a wall: what reads or deletes more than one by its id names a
user with --user, or says --all-users. --user "" is the user without a name.`: `添加、搜索、迁移和整理记忆。记忆保存在状态目录中；在 memory: 下指明用户和会话的流程使用
同样的记忆。

不同用户的记忆彼此隔离：不按 id 读取或删除多条时，要用 --user 指明用户，或写
--all-users。--user "" 是没有名字的用户。`,
	"Remember a text, and print its id": "记住一段文本，并输出其 id",
	`Remember a text, and print its id. It is on the disk, and can be found, when the id
is printed. TEXT may be - for stdin. What is known already, word for word and in the
same context, is not stored twice: the id is that of the first one.`: `记住一段文本，并输出其 id。输出 id 时，它已写入磁盘，可以查到。TEXT 可以是 -，表示标准
输入。逐字相同且 context 相同的内容不会保存两次：id 是第一条的 id。`,
	"anything else about it, a `text` or a JSON object, in which speaker says who said it":            "其他相关信息，为 `text` 或 JSON 对象，其中 speaker 是说话人",
	"the memory to replace, an `ID`; its old version is kept":                                         "要替换的记忆的 `ID`；旧版本会保留",
	`print {"id", "state"}: created, updated, unchanged or merged`:                                    `输出 {"id", "state"}：created、updated、unchanged 或 merged`,
	"who said it in a chat: user, assistant; without a `role` it is something known rather than said": "在对话中由谁说：user、assistant；没有 `role` 时是已知的内容，而不是说过的话",
	"the conversation that it belongs to, a `session`":                                                "所属的对话，即 `session`",
	"when it happened, RFC 3339, or 2006-01-02T15:04:05 in local time (default: now)":                 "发生的时间，RFC 3339 或本地时间 2006-01-02T15:04:05（默认为现在）",
	"the `user` whose memory it is, required":                                                         "记忆属于哪个 `user`，必填",
	"Delete memories older than so many days":                                                         "删除早于若干天的记忆",
	`Delete memories that happened more than N days ago, for good. Snapshots of which a
memory is left are made again from those; those of which none is left go too, unless
--keep-snapshots says otherwise.`: `永久删除发生在 N 天以前的记忆。还剩有记忆的快照由剩下的记忆重新制作；一条不剩的快照也
会删除，除非写了 --keep-snapshots。`,
	"everybody's memories": "所有人的记忆",
	"how old they are at least, in days of 24 hours, at least 1":  "至少多久以前，以 24 小时的天数计，至少为 1",
	"delete nothing, only count":                                  "不删除，只计数",
	"print the counts as JSON":                                    "以 JSON 输出数量",
	"keep what snapshots say, only their references go":           "保留快照的内容，只去掉其引用",
	"the present, RFC 3339 or 2006-01-02T15:04:05 (default: now)": "当前时间，RFC 3339 或 2006-01-02T15:04:05（默认为现在）",
	"whose memories; \"\" is the `user` without a name":           "谁的记忆；\"\" 是没有名字的 `user`",
	"Forget a memory, a session or all of a user, for good":       "永久忘记一条记忆、一个会话或某用户的全部记忆",
	`Forget a memory, a session or all of a user, for good: with its old versions, and out
of the snapshots that were made of it. A snapshot that has other memories is made again
from those; one that has none is deleted.

Without an ID it says what would be deleted and asks; --yes answers that.

Of each user all that is meant goes or nothing. Of many users, some go at a time: when
it is interrupted, the same command goes on with the rest.`: `永久忘记一条记忆、一个会话或某用户的全部记忆：包括旧版本，以及由它制作的快照中的内容。
还剩有记忆的快照由剩下的重新制作，其他的一并删除。

没有 ID 时先说明会删除什么并询问；--yes 表示同意。

每个用户的所选内容要么全部删除，要么都不删除。用户很多时分批删除：中断后，用同样的
命令继续。`,
	"only what belongs to this `session`":                           "只处理属于此 `session` 的内容",
	"delete without asking":                                         "不询问直接删除",
	"Write the memories to a directory, or to a file of JSON lines": "把记忆写入目录，或写入 JSON 行文件",
	`Write the memories to a directory: index.json, memories/ID.json, snapshots/ID.json and
meta_snapshots/ID.json. Importing that and exporting again gives the same bytes. Files
of an earlier export whose memories are gone are removed.

With --jsonl the memories alone, one in a line. With --salvage what can still be read
of a damaged store; its file is not changed. Users and sessions whose names are lost
are called salvaged-N then.

Vectors of embeddings are not exported: after an import they are made again, which a
provider may want to be paid for.`: `把记忆写入目录：index.json、memories/ID.json、snapshots/ID.json 和 meta_snapshots/ID.json。
导入后再导出，得到相同的字节。早先导出而记忆已不在的文件会删除。

用 --jsonl 时只写记忆，每行一条。用 --salvage 时写入损坏的记忆库中还能读出的内容；其文件
不会改变。名称已丢失的用户和会话称为 salvaged-N。

不导出向量：导入后会重新生成，服务商可能为此收费。`,
	"print what was written as JSON":               "以 JSON 输出写入的内容",
	"a `file` of JSON lines, - for stdout":         "JSON 行的 `file`，- 表示标准输出",
	"read what can be read of a damaged store":     "读取损坏的记忆库中还能读出的内容",
	"Show a memory, a snapshot or a meta snapshot": "显示一条记忆、快照或元快照",
	`Show a memory, a snapshot or a meta snapshot. Who has its id needs no user; with
--user it is shown only if it is that user's.`: "显示一条记忆、快照或元快照。知道 id 时不需要用户；写了 --user 时，只有属于该用户才显示。",
	"also the old versions of a memory, the newest first":          "也显示记忆的旧版本，最新的在前",
	"print JSON; with --history an array":                          "输出 JSON；用 --history 时为数组",
	"show it only if it belongs to that `user`":                    "只有属于该 `user` 才显示",
	"Store the memories of a directory or of a file of JSON lines": "保存目录或 JSON 行文件中的记忆",
	`Store the memories of a directory as memory export writes it, or of a file of JSON
lines. Importing the same again changes nothing, but for utterances that have neither
an id nor a time: those are said again.

A line is a memory, {"id", "content", "timestamp", "context": {"user_id",
"session_id", "other_context"}}, of which only content must be there, or an utterance
of a chat, {"is_user", "content", "timestamp"} or {"role", "content"}. A timestamp that
names no zone is UTC. --user and --session are those of lines that name none. A line
that is wrong is an error that names it, and nothing of the file is stored.

Of a directory the files count, not the index. What cannot be read is told, the rest
is stored. --user takes only the memories of that user: those of others are left out.`: `保存 memory export 写出的目录，或 JSON 行文件中的记忆。再次导入同样的内容不会有变化，
但既没有 id 也没有时间的发言会再说一遍。

一行是一条记忆 {"id", "content", "timestamp", "context": {"user_id", "session_id",
"other_context"}}，其中只有 content 必填；或一条发言 {"is_user", "content", "timestamp"} 或
{"role", "content"}。没有时区的时间是 UTC。--user 和 --session 用于没有写明的行。有误的行
是错误，会指明该行，文件的内容都不会保存。

目录以其中的文件为准，而不是索引。无法读取的会告知，其余的会保存。--user 只取该用户的
记忆：其他人的不取。`,
	"print what was stored as JSON":                             "以 JSON 输出保存的内容",
	"memories, one JSON object per line, a `file`, - for stdin": "记忆的 `file`，每行一个 JSON 对象，- 表示标准输入",
	"the `session` of lines that name none":                     "没有写明会话的行所属的 `session`",
	"List memories, the newest last":                            "列出记忆，最新的在最后",
	`List memories by user, in the order of their time. Each line has the id, the time,
the user, the session and the beginning of the text; --json has everything.`: "按用户列出记忆，以时间为序。每行有 id、时间、用户、会话和文本的开头；--json 给出全部。",
	"print an array of memories":                            "输出记忆的数组",
	"the newest `N` memories of each user; 0 lists all":     "每个用户最新的 `N` 条记忆；0 列出全部",
	"only the memories of this `session`":                   "只列出此 `session` 的记忆",
	"Find the memories that matter for a query, best first": "查找与问题相关的记忆，最相关的在前",
	`Find the memories that matter for a query, best first. Shown are those whose
relevance, 0 to 1, is above --min-relevance; with 0 the best ones are shown however
little they matter.

With --jsonl every line {"query_id", "context": {"user_id", "session_id"}, "request":
{"current_query", "history", "timestamp"}} gives one line {"query_id", "ranked": [ids],
"scores": [...], "latency_ms"}. The user of each line is a wall. --user or --all-users
stand in for lines that name none. A line that is wrong is told on stderr with its
number, the others are answered, and the exit code is 1.`: `查找与问题相关的记忆，最相关的在前。只显示相关度（0 到 1）高于 --min-relevance 的；为 0 时
显示最接近的，无论多不相关。

用 --jsonl 时，每行 {"query_id", "context": {"user_id", "session_id"}, "request":
{"current_query", "history", "timestamp"}} 得到一行 {"query_id", "ranked": [id], "scores": [...],
"latency_ms"}。各行的用户彼此隔离。--user 或 --all-users 用于没有写明的行。有误的行连同行号
在标准错误中告知，其他行照常应答，退出码为 1。`,
	"what --json has besides id, score and reason: content, timestamp, snapshot_ids, context; neighbours adds memories that only stand near a hit": "--json 除 id、分数和原因外还给出的内容：content、timestamp、snapshot_ids、context；neighbours 加入仅与匹配的记忆相邻的记忆",
	"queries, one JSON object per line, a `file`, - for stdin":                                                                                     "查询的 `file`，每行一个 JSON 对象，- 表示标准输入",
	"at most `N` memories": "最多 `N` 条记忆",
	"only memories whose relevance is above `X`; 0 cuts nothing off":       "只要相关度高于 `X` 的记忆；0 不设下限",
	"the `session` in which it is asked: its memories count a little more": "提问所在的 `session`：其记忆略微优先",
	"List snapshots, add one, or make those that are due":                  "列出、添加快照，或制作到期的快照",
	`List snapshots, add one by hand, or make those that are due. A snapshot sums several memories of a
session up; a meta snapshot describes the snapshots of a category. Both are made at
the end of runs and by snapshot run, by the model of the setting memory.snapshot.llm
or, without one, of the sentences of the memories.`: `列出快照、手动添加，或制作到期的快照。快照概括一个会话的多条记忆；元快照描述一个类别的
快照。两者在运行结束时和由 snapshot run 制作：由设置 memory.snapshot.llm 的模型撰写，
没有模型时由记忆中的句子组成。`,
	"Add a snapshot of memories, or a meta snapshot of snapshots, by hand": "手动添加记忆的快照，或快照的元快照",
	`Add a snapshot of memories, or a meta snapshot of snapshots, by hand, and print its
id. A snapshot has --point and --memory, a meta snapshot --keyword, --snapshot and
--description. All that it refers to must be the user's.`: `手动添加记忆的快照，或快照的元快照，并输出其 id。快照有 --point 和 --memory，元快照有
--keyword、--snapshot 和 --description。所引用的内容必须都属于该用户。`,
	"its `category`, required":                                        "其 `category`，必填",
	"the description of a meta snapshot, a `text`":                    "元快照的说明，为 `text`",
	"the importance of a snapshot, `0..1`":                            "快照的重要度，`0..1`",
	"a keyword of a meta snapshot, a `text`; may be repeated":         "元快照的关键词，为 `text`；可以重复",
	"a memory that a snapshot is of, an `ID`; may be repeated":        "快照所属的记忆，为 `ID`；可以重复",
	"a key point of a snapshot, a `text`; may be repeated":            "快照的要点，为 `text`；可以重复",
	"a snapshot that a meta snapshot is of, an `ID`; may be repeated": "元快照所属的快照，为 `ID`；可以重复",
	"the `user` whose snapshot it is, required":                       "快照属于哪个 `user`，必填",
	"List snapshots and meta snapshots, by category":                  "按类别列出快照和元快照",
	"only those of this `category`; upper and lower case are one":     "只列出此 `category`；不区分大小写",
	`print {"snapshots", "meta_snapshots"}, each with its user_id`:    `输出 {"snapshots", "meta_snapshots"}，各带 user_id`,
	"Make the snapshots that are due":                                 "制作到期的快照",
	`Make the snapshots that are due: of sessions with enough new memories (the setting
memory.snapshot.memories) or without a new one for a while (memory.snapshot.idle).
Ctrl-C stops; what is left is made by a later one. A snapshot that the model fails to make
is tried again later, which is not an error. With the setting memory.embeddings,
the vectors that are missing are made, too.`: `制作到期的快照：即新记忆足够多（设置 memory.snapshot.memories），或已有一段时间没有新记忆
（memory.snapshot.idle）的会话。Ctrl-C 停止；剩下的由以后制作。模型失败的快照会等待并在
以后重试；这不是错误。有设置 memory.embeddings 时，也生成缺少的向量。`,
	"of every session and category with anything new":                              "处理所有有新内容的会话和类别",
	`print {"snapshots": [ids], "meta_snapshots": [ids], "postponed", "embedded"}`: `输出 {"snapshots": [id], "meta_snapshots": [id], "postponed", "embedded"}`,
	"Count what is stored":                 "统计保存的内容",
	"List, write, check and trust plugins": "列出、编写、检查和信任插件",
	`Plugins are programs of their own, in any language, that offer importance functions,
variables and calls. A folder with a plugin.yaml is one. They are looked for in
./plugins.d, in plugins below the state directory, and where the settings say; only
those that you trust are started, when a flow uses them.`: `插件是用任意语言编写的独立程序，提供重要度函数、变量和调用。含有 plugin.yaml 的文件夹就是
一个插件。插件在 ./plugins.d、状态目录下的 plugins，以及设置指明的位置中查找；只有您信任的
插件才会在流程使用时启动。`,
	"print a JSON array": "输出 JSON 数组",
	"Write a plugin that works, with a test, to start from": "编写一个可运行的插件及其测试，作为起点",
	`Write the project of a plugin that works: one function of every kind, and a test. NAME
is the plugin's, in kebab-case; the project gets into plugins.d/NAME, or into the
folder whose path is given (my/folder/NAME). A folder with files is left alone.

A plugin in Go builds with the module github.com/callnode/scheduler of this version. A
version that is not published has to be built from a source folder: that is found
from the program (bin/scheduler in a clone) or the working directory, or named with
--source.`: `编写一个可运行的插件项目：每种函数一个，以及一个测试。NAME 是插件的名称，用 kebab-case；
项目放入 plugins.d/NAME，或给出路径的文件夹（my/folder/NAME）。非空的文件夹保持不动。

Go 插件使用此版本的模块 github.com/callnode/scheduler 构建。未发布的版本要用源码文件夹构建：
从程序（克隆中的 bin/scheduler）或工作目录查找，或用 --source 指明。`,
	"go, python or node": "go、python 或 node",
	"for Go: the `folder` with the source of scheduler to build with": "用于 Go：构建所用的 scheduler 源码 `folder`",
	"List the plugins and what they offer; starts nothing":            "列出插件及其提供的内容；不启动任何程序",
	`List the plugins that were found or are trusted, from files alone: nothing is started.

  trusted      flows can use it
  not trusted  it never was: scheduler plugins trust NAME
  changed      its folder is not the one that was trusted: trust it again if you know why
  no program   the command of its plugin.yaml is not there: build or install it
  missing      trusted, but in no folder`: `只根据文件列出找到的或受信任的插件：不启动任何程序。

  受信任    流程可以使用
  未信任    从未信任过：scheduler plugins trust NAME
  已更改    文件夹与受信任时不同：知道原因时可再次信任
  无程序    没有 plugin.yaml 中的命令：请构建或安装
  缺失      受信任，但没有文件夹`,
	"Show what plugins want, ask, and let flows use them": "显示插件的要求，询问后允许流程使用",
	`Show what a plugin wants: its command, the environment and the services of scheduler
that it gets, its limits, and what changed since it was last trusted. Then ask; with
yes it is started once to say what it offers, and that is written to the lock file
(plugins.lock.json), with the SHA-256 of its folder. The file can be committed: who
checks the project out trusts the same programs, and no others.

A plugin runs with your rights: to trust it is to say what it is, it is not locked in.`: `显示插件的要求：命令、得到的环境变量和 scheduler 的服务、限制，以及上次信任之后的变化。
然后询问；同意后启动一次，让它说明提供的内容，并连同文件夹的 SHA-256 写入锁定文件
（plugins.lock.json）。该文件可以提交到版本库：检出项目的人只信任同样的程序。

插件以您的权限运行：信任只是说明它是什么，并不限制它。`,
	"Take trust back: flows can no longer use the plugins": "取消信任：流程不能再使用这些插件",
	`Take plugins out of the lock file (plugins.lock.json). Their folders stay; nothing is
started. A flow that uses one is refused until it is trusted again.`: `从锁定文件（plugins.lock.json）中去掉插件。其文件夹保留；不启动任何程序。使用它的流程会被
拒绝，直到再次信任。`,
	"print what was taken out of the lock file as a JSON array":    "以 JSON 数组输出从锁定文件中去掉的内容",
	"Check that a plugin does everything that scheduler relies on": "检查插件是否做到 scheduler 所依赖的一切",
	`Start a plugin, trusted or not, and check everything that scheduler relies on: how it
describes itself, every function, wrong and cancelled requests, many at once, and its
end. Its examples are run. It is given by its folder, or by its name where it is found
as a plugin. Exit code 1 means that a check fails.`: `启动一个插件（无论是否受信任），检查 scheduler 所依赖的一切：它的自我描述、每个函数、错误的
和取消的请求、同时的多个请求，以及结束。会运行它的示例。插件以文件夹给出，或在能找到时
以名称给出。退出码 1 表示有检查失败。`,
	"print {plugin, version, ok, checks} as JSON":               "以 JSON 输出 {plugin, version, ok, checks}",
	"show what the plugin writes to stdout, stderr and the log": "显示插件写入标准输出、标准错误和日志的内容",
	"Go on with a run that waits, failed or died":               "继续一个等待中、失败或中断的运行",
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

Exit codes: 0 done, 1 the run failed again, 2 an answer or the edited flow was refused
(nothing ran), 3 the run still waits, 130 interrupted.`: `继续一个等待中、失败、已取消或中断的运行。已完成的步骤不会再次运行，向模型询问过的也不会
再次付费；正在进行的步骤会再次运行。RUN 是运行的 id、id 的开头或结尾，或 last。

步骤等待的值用 --set /pointer=value 给出，多个步骤等待时用 STEP:/pointer=value（STEP[3] 是
for_each 步骤的一项），或用 --input 以 JSON 对象给出。可以不填的字段也可以给出。值按步骤的
schema 确定类型并检查；有误的会被拒绝，运行继续等待。在终端上，没有给出的会当场询问。

运行保留其流程的文本。--flow 以改过的流程继续：先运行到再次等待，然后使用回答。

另一个进程正在运行的会被拒绝。--steal 从不可能还在运行、但看起来仍占用它的进程那里取走，
例如机器重启之后；本机上仍在运行的进程会保留它：结束该进程，运行即被释放。

由 worker 执行的运行（run --on）在那里继续，并在这里跟踪：正在进行的也可以。回答交给 worker
检查。

退出码：0 完成，1 再次失败，2 回答或改过的流程被拒绝（没有运行任何内容），3 仍在等待，
130 被中断。`,
	"show the final prompt of a `step` (of the last chat where none is named), every piece with its source and tokens": "显示 `step` 的最终提示词（未指明时为最后一个 chat），每个片段带来源和 token 数",
	"go on with an edited flow `file`; steps that finished must be unchanged":                                          "以改过的流程 `file` 继续；已完成的步骤必须不变",
	"answers as a JSON `file`, - for stdin: {\"/pointer\": value}, or {STEP: {...}}":                                   "回答的 JSON `file`，- 表示标准输入：{\"/pointer\": value} 或 {STEP: {...}}",
	"print every event as a JSON line on stdout, and nothing else":                                                     "在标准输出中以 JSON 行输出每个事件，不输出其他内容",
	"the `time` of the run's clock (default: now)":                                                                     "运行的时钟的 `time`（默认为现在）",
	"`where` runs are carried out: temporal://HOST:PORT, or local (default the setting on)":                            "`where` 表示运行在哪里执行：temporal://HOST:PORT，或 local（默认为设置 on）",
	"print only the outputs on stdout, as one JSON document":                                                           "在标准输出中只以一个 JSON 文档输出结果",
	"an answer, `[STEP:]/pointer=value`":                                                                               "一个回答，`[STEP:]/pointer=value`",
	"take the run from a process that cannot be alive, as after a restart of the machine":                              "从不可能还在运行的进程那里取走运行，例如机器重启之后",
	"fail the run at its end where a step gave a warning, or failed with on_error: continue":                           "有步骤给出警告，或以 on_error: continue 失败时，运行结束时视为失败",
	"Run a flow": "运行一个流程",
	`Run a flow. The text of its to_user steps streams to stdout, progress goes to
stderr. Where no step is to_user, stdout gets the outputs as one JSON document.

Runs are recorded in the state directory, so that one that waits, fails or dies can
be resumed; --ephemeral leaves no record. On a terminal, what a run waits for is
asked right here.

With --on temporal://HOST:PORT the run is recorded here and carried out by the workers
of that server (scheduler worker), while its events are shown as always. Ctrl-C leaves
the run alone, which goes on; --detach does not follow it at all and prints its id.

Exit codes: 0 done, 1 the run failed, 2 the flow, the settings or the inputs are
wrong (nothing ran), 3 the run waits for input (the message says for what, and how
to go on), 130 interrupted.`: `运行一个流程。to_user 步骤的文本以流的方式写到标准输出，进度写到标准错误。没有 to_user 步骤
时，标准输出得到一个 JSON 文档形式的结果。

运行记录在状态目录中，因此等待、失败或中断的可以继续；--ephemeral 不留记录。在终端上，运行
等待的值会当场询问。

用 --on temporal://HOST:PORT 时，运行记录在这里，由该服务器的 worker 执行（scheduler worker），
事件照常显示。Ctrl-C 不影响运行，它会继续；--detach 完全不跟踪，只输出其 id。

退出码：0 完成，1 运行失败，2 流程、设置或输入有误（没有运行任何内容），3 运行等待输入
（消息说明等待什么以及如何继续），130 被中断。`,
	"with --on: print the id of the run, and do not follow it":                                     "与 --on 一起使用：输出运行的 id，不跟踪",
	"leave no record of the run behind; its memory is empty at the beginning, and gone at the end": "不留下运行的记录；开始时记忆为空，结束后消失",
	"read the inputs from a JSON `file`, - for stdin; -i goes over it":                             "从 JSON `file` 读取输入，- 表示标准输入；-i 优先",
	"a `name=value` that runs list finds the run by":                                               "供 runs list 查找运行的 `name=value`",
	"the model provider's `name` (default: the flow's, then the setting llm.default)":              "模型服务商的 `name`（默认为流程的，其次为设置 llm.default）",
	"the `time` of the run's clock, RFC 3339 or 2006-01-02T15:04:05 (default: now)":                "运行的时钟的 `time`，RFC 3339 或 2006-01-02T15:04:05（默认为现在）",
	"the input question": "输入 question",
	"keep what the model answers in FLOW.cassette.yaml, as llm.mode record does": "把模型的回答保存到 FLOW.cassette.yaml，同 llm.mode record",
	"take the answers from FLOW.cassette.yaml, as llm.mode replay does":          "从 FLOW.cassette.yaml 取回答，同 llm.mode replay",
	"seed of the run's random numbers":                                           "运行的随机数的种子",
	"an input, `key=value` or key=@file; typed by the flow's input schema":       "一个输入，`key=value` 或 key=@file；类型由流程的输入 schema 决定",
	"whose run it is: run.user in the flow, the label owner in the journal":      "属于谁的运行：流程中的 run.user，日志中的标签 owner",
	"Look at the runs in the journal":                                            "查看日志中的运行",
	`Look at the runs that the journal keeps in the state directory. RUN is a run's id,
the beginning or the end of one that fits no other, or last.`: "查看日志保存在状态目录中的运行。RUN 是运行的 id、只符合一个运行的 id 开头或结尾，或 last。",
	"only runs with that label, `name=value`: owner=lin, origin=cli":             "只要有该标签的运行，`name=value`：owner=lin、origin=cli",
	"at most that many; 0 is all":                                                "最多这么多；0 为全部",
	"only runs in these `states`: running, waiting, failed, cancelled, finished": "只要处于这些 `states` 的运行：running、waiting、failed、cancelled、finished",
	"Cancel a run, also one that another process is at":                          "取消运行，包括另一个进程正在运行的",
	`Cancel a run. One that another process is at is stopped by that process, within a
second or two. What finished is kept, and resume goes on with a cancelled run too.

--force takes the run from its process first. It is for a process that cannot be alive
though it still seems to hold the run: the machine was started again, its container is
gone, its clock was set back. A process of this machine that is alive keeps the run: end
it, and the run is free. One of another machine that is alive after all stops at its next
step.`: `取消运行。另一个进程正在运行的由该进程在一两秒内停止。已完成的会保留，取消的运行也可以用
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
Other cases play recorded answers, of NAME.test.PROVIDER.cassette.yaml; --record asks for
those that are missing, --live asks for all. Tests reach no network, run no calls of
plugins and write nothing, unless a case mocks or allows it.

Exit code 0: all passed. 1: a case failed, or got worse than --against. 2: files, flows or
settings are wrong, and nothing ran. 4: something could not be decided, such as an answer
that is not recorded, and nothing failed. 130: interrupted; --rerun goes on.`: `运行测试文件：NAME.yaml 旁边的 NAME.test.yaml 含有用例，即输入和对运行的预期。PATH 是测试文件、
其流程或文件夹；DIR/... 是文件夹及其下所有内容，没有给出路径时测试 ./... 。

在模型之前停止的用例（until: STEP）检查提示词：其中有什么，每个片段来自哪里，略去了什么及原因。
它不需要模型和密钥。其他用例播放 NAME.test.PROVIDER.cassette.yaml 中录制的回答；--record 询问缺少
的，--live 全部询问。测试不访问网络，不运行插件的调用，也不写入任何内容，除非用例模拟或允许。

退出码 0：全部通过。1：有用例失败，或比 --against 差。2：文件、流程或设置有误，没有运行任何内容。
4：有内容无法判定，例如没有录制的回答，但没有失败。130：被中断；--rerun 继续。`,
	"compare with an earlier `run`: a name given to --bless, a file, or last":                                    "与早先的 `run` 比较：给 --bless 的名称、文件或 last",
	"keep the run as the baseline of that `name`":                                                                "把此次运行保存为该 `name` 的基准",
	"what of --against is a failure: significant, any or none":                                                   "与 --against 比较时什么算失败：significant、any 或 none",
	"run cases whose name, row or variant matches a regular `expression`":                                        "运行名称、行或变体符合正则表达式 `expression` 的用例",
	"print a JSON line for each case, and one that sums up":                                                      "每个用例输出一个 JSON 行，最后输出一行汇总",
	"stop when the models have cost that many `USD`":                                                             "模型的费用达到这么多 `USD` 时停止",
	"ask the models for all answers, and record none; cases may reach the network":                               "向模型询问全部回答，不录制；用例可以访问网络",
	"run the variants with a setting of the matrix: `key=value`":                                                 "运行矩阵中有此设置的变体：`key=value`",
	"drop snapshots and recorded answers that nothing asks for":                                                  "删去没有用到的快照和录制的回答",
	"ask the models for answers that are not recorded, and record them":                                          "向模型询问没有录制的回答，并录制",
	"run each case `N` times, whatever the files say":                                                            "每个用例运行 `N` 次，不论文件如何写",
	"write reports: `kind=FILE`, with kind junit, json, html or md; several with commas":                         "写入报告：`kind=FILE`，kind 为 junit、json、html 或 md；多个以逗号分隔",
	"run cases that failed, or had errors, in the last run, and those that it did not come to: failed or errors": "运行上次失败或出错的用例，以及没有轮到的用例：failed 或 errors",
	"run cases with the `tag`; several are alternatives":                                                         "运行有此 `tag` 的用例；多个为或的关系",
	"write snapshots that differ or are missing":                                                                 "写入不同的或缺少的快照",
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
runs:write, flows:read, flows:write, memory:read, memory:write, calls:run, metrics and
admin, which allows everything.`: `创建一个令牌并写到标准输出；之后不再显示。权限有 runs:read、runs:write、flows:read、flows:write、
memory:read、memory:write、calls:run、metrics，以及允许一切的 admin。`,
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
of the runs that wait for a worker. --setup registers the search attributes by which
Temporal's pages find runs. Both end then.

On Ctrl-C or SIGTERM no further step begins; those at work get a while to end (the setting
worker.drain), and other workers go on.

Exit codes: 0 done, 1 Temporal or the store cannot be reached, or --check found something
missing, 2 the settings or the usage is wrong.`: `执行 scheduler run --on 和 scheduler serve --on 交给 Temporal 服务器的运行。任意多台机器上的任意多个
worker 分担运行；中断或停止的把其运行留给其他 worker。它们都需要同一个 store，以及流程所用的内容：
插件、密钥、项目文件夹下的文件。

--check 输出本机无法执行的内容及原因：包括项目的流程和等待 worker 的运行。--setup 注册 Temporal 页面
查找运行所用的搜索属性。两者之后即结束。

收到 Ctrl-C 或 SIGTERM 后不再开始新的步骤；进行中的有一段时间结束（设置 worker.drain），其他 worker
继续。

退出码：0 完成，1 无法连接 Temporal 或 store，或 --check 发现缺少内容，2 设置或用法有误。`,
	"print what this machine cannot carry out, and end":                                                  "输出本机无法执行的内容，然后结束",
	"`host:port` to tell at whether it is ready (default the setting worker.listen)":                     "用于告知是否就绪的 `host:port`（默认为设置 worker.listen）",
	"a queue's `name` to take runs from; may be given several times (default the setting worker.queues)": "取运行的队列的 `name`；可以多次给出（默认为设置 worker.queues）",
	"register the search attributes, and end":                                                            "注册搜索属性，然后结束",
	"how many runs of a queue to be at, at once (default the setting worker.slots)":                      "一个队列同时进行多少个运行（默认为设置 worker.slots）",
}
