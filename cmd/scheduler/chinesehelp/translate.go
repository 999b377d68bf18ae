// Package chinesehelp has the help of all commands in Chinese, keyed by the English one of each command.
// For example, scheduler run --help prints it if the language is zh.
package chinesehelp

import (
	"cmp"
	"fmt"
	"regexp"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/callnode/scheduler/llm/value/wording"
)

// Catalogs have the help of commands and flags in Chinese, by the English one.
var Catalogs = []wording.Catalog{generalHelp, memoryHelp, runHelp}

// Translate puts the help of all commands into Chinese; a text that no catalog has stays unchanged.
func Translate(root *cobra.Command) {
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	root.SetUsageTemplate(headings.Replace(root.UsageTemplate()))
	root.SetHelpFunc(func(cmd *cobra.Command, _ []string) {
		usage := flagDefault.ReplaceAllString(cmd.UsageString(), "（默认为 $1）")
		fmt.Fprintf(cmd.OutOrStdout(), "%s\n\n%s", strings.TrimSpace(cmp.Or(cmd.Long, cmd.Short)), usage)
	})
	translateHelp(root)
}

// flagDefault is how pflag prints the default of a flag.
var flagDefault = regexp.MustCompile(`(?m) \(default ([^()]*)\)$`)

var headings = strings.NewReplacer("Usage:", "用法：", "Aliases:", "别名：", "Examples:", "示例：", "Available Commands:", "可用的命令：", "Global Flags:", "全局选项：",
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

func chineseOr(english string) string { return wording.Of(english).Zh }

// generalHelp has the help of commands and flags in Chinese, keyed by the English one: first Cobra's own texts,
// then the commands from call to mcp.
var generalHelp = wording.Add(wording.Catalog{
	"Generate the autocompletion script for the specified shell":                 "为指定的 shell 生成自动补全脚本",
	"Generate the autocompletion script for bash":                                "为 bash 生成自动补全脚本",
	"Generate the autocompletion script for fish":                                "为 fish 生成自动补全脚本",
	"Generate the autocompletion script for powershell":                          "为 powershell 生成自动补全脚本",
	"Generate the autocompletion script for zsh":                                 "为 zsh 生成自动补全脚本",
	"disable completion descriptions":                                            "补全时不带说明",
	"Explain a command, a topic, or with help flow [KEY] the keys of flow files": "说明一个命令或一个主题，或用 help flow [KEY] 说明流程文件的键",
	`Explain a command, or print a guide: help docs lists the guides, and help TOPIC prints one.
A topic that is a command as well, such as memory, is printed by help docs TOPIC.

help flow prints every key of flow files, and the filters and tests of templates; help
flow KEY explains one key and those below it, such as steps.retry.`: `说明一个命令，或打印一篇指南：help docs 列出所有指南，help TOPIC 打印其中一篇。
与命令同名的主题（例如 memory）用 help docs TOPIC 打印。

help flow 输出流程文件的所有键，以及模板的过滤器和测试；help flow KEY 说明一个键及其下面的键，例如 steps.retry。`,

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
settings is asked; vars is what the call sees (question, conversation, inputs,
history, summary, facts, vars, language, user, session, sessions, now).
Lines share nothing but the memory store of the state directory. Exit code 0 when
every line was answered, errors included.`: `不用流程，运行一个调用。参数按原样使用：其中没有模板。用 --jsonl 时，每行
{"id", "with", "vars"?, "llm"?} 依次得到一行 {"id", "output"} 或
{"id", "error": {"kind", "message"}}；调用给出警告时还有
"warnings": [{"code", "text", "source"?}]。llm 预先写好模型的回答（{"text"}、{"json"} 或
{"error"}），没有它时询问设置中的服务商；vars 是调用能看到的内容（question、conversation、inputs、
history、summary、facts、vars、language、user、session、now）。
各行之间只共用状态目录中的记忆库。每行都得到应答（包括错误）时，退出码为 0。`,
	"requests, one JSON object per line, a `file`, - for stdin":                  "请求的 `file`，每行一个 JSON 对象，- 表示标准输入",
	"read what was said in every session of it, with --with":                     "读取其所有会话中的发言，与 --with 一起使用",
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
left alone. On a terminal it asks which template to take; --template chooses one:

  hello      one question, one answer (the default)
  chat       a chat that remembers its users
  desk       a support desk: asks for the order number, looks orders up, refunds
  lorebook   a role play with a lorebook (flows/roleplay.yaml if the language is Chinese)

The schema knows what is built in. That of --schema has the calls and importance
functions of trusted plugins too.`: `新建一个项目：设置、一个不需要密钥即可运行的流程及其工作区和测试，以及供编辑器补全
流程和测试的 schema。已有的文件保持不动。在终端上会询问用哪个模板；--template 指定一个：

  hello      一问一答（默认）
  chat       记住用户的聊天
  desk       客服台：询问订单号，查订单，退款
  lorebook   带世界书的角色扮演（语言为中文时是 flows/roleplay.yaml）

schema 只含内置的内容。--schema 输出的还含有受信任插件的调用和重要度函数。`,
	"the project to begin with: `hello`, chat, desk or lorebook (default hello; a terminal asks)": "从哪个项目开始：`hello`、chat、desk 或 lorebook（默认 hello；在终端上会询问）",
	"Show a flow, its prompt and the page, without a project":                                     "不用项目，展示一个流程、它的提示词和页面",
	`Show what the program does, without a project, a key or a network: run the quickstart
from recorded answers, print where each piece of its prompt came from, and open the page
with that run. There you can run the flows, chat, answer what a run asks for, and change
the flows; new answers come from echo, which repeats your words.

Everything is in a temporary folder, which is removed at the end (Ctrl-C). Settings of the
environment (SCHEDULER_*) do not count here, but for the language.`: `不用项目、密钥和网络，展示本程序做什么：用录制的回答运行 quickstart，输出提示词的每个片段
来自哪里，并打开带有这次运行的页面。在页面上可以运行流程、聊天、回答运行询问的值、修改流程；
新的回答来自 echo，它重复你的话。

一切都在一个临时文件夹中，结束时（Ctrl-C）删除。这里不使用环境变量中的设置（SCHEDULER_*），
语言除外。`,
	"`host:port` of the page; port 0 takes a free one":                               "页面的 `host:port`；端口 0 表示任选一个空闲的",
	"do not open the page in the browser":                                            "不在浏览器中打开页面",
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
in it, DIR/... for those of all folders below it too. Without a path it is flows/... or,
without such a folder, the working directory; the first line says which. Sub-flows are looked
through, and so are all texts in the directory of the setting languages. Exit code 2 means that there is
an error; warnings alone give 0. Where runs are carried out by workers (the setting on),
files that steps read and that other machines may not have are warned of on stderr.`: `报告流程和测试文件（NAME.test.yaml）的所有问题，写作 文件:行:列: 消息（提示），按文件中的
顺序。文件夹表示其中的流程和测试文件，DIR/... 还包括其下所有文件夹。不给路径时检查
flows/...，没有该文件夹时检查当前目录；第一行说明是哪一个。子流程也会检查，设置 languages 的目录中的文本也会检查。有错误时退出码为 2；只有警告时为 0。运行由
worker 执行时（设置 on），会在标准错误中警告其他机器可能没有的文件。`,
	"print the problems as one JSON array":                                             "以一个 JSON 数组输出问题",
	"Serve the flows as MCP tools over stdio; trust MCP servers whose tools flows use": "通过 stdio 把流程作为 MCP 工具提供；信任流程所用的 MCP 服务器",
	`Serve the flows of the project as tools of the Model Context Protocol, over standard
input and output: a client (an editor, a desktop assistant) starts the program by itself,
and no server has to run. A call of a tool is a run; what it waits for is asked of the
user where the client can do that. scheduler serve has the same at /mcp.

A flow whose text for the user is a model's is a prompt too, with its inputs as arguments:
its run stops when the prompt is made, and the model of the client answers it.

Runs are in the journal of the project. One that is cut off because the client ends goes
on with scheduler resume, or when scheduler serve starts.

The other way round, flows use the tools of the servers in the setting mcp.servers, once
they are trusted: see the subcommands.`: `通过标准输入和输出，把项目的流程作为 Model Context Protocol 的工具提供：客户端（编辑器、
桌面助手）自行启动程序，不需要运行服务器。调用一个工具就是一次运行；运行等待的值会在
客户端支持时询问用户。scheduler serve 在 /mcp 提供同样的功能。

给用户的文本由模型写出的流程同时也是一个提示（prompt），其输入就是参数：提示生成后运行即停止，
由客户端的模型来回答。

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
})
