package chinesehelp

import "github.com/callnode/scheduler/llm/value/wording"

// memoryHelp has the help of the commands memory and plugins in Chinese, by the English one.
var memoryHelp = wording.Add(wording.Catalog{
	"Add, search, move and tidy up what is remembered": "添加、搜索、迁移和整理记忆",
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

With --jsonl the memories alone, one in a line.

Vectors of embeddings are not exported: after an import they are made again, which a
provider may want to be paid for.`: `把记忆写入目录：index.json、memories/ID.json、snapshots/ID.json 和 meta_snapshots/ID.json。
导入后再导出，得到相同的字节。早先导出而记忆已不在的文件会删除。

用 --jsonl 时只写记忆，每行一条。

不导出向量：导入后会重新生成，服务商可能为此收费。`,
	"print what was written as JSON":               "以 JSON 输出写入的内容",
	"a `file` of JSON lines, - for stdout":         "JSON 行的 `file`，- 表示标准输出",
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
	"Count what is stored":                  "统计保存的内容",
	"Show facts that contradict each other": "显示相互矛盾的事实",
	"Show facts that contradict each other: two values of the same time, of which neither says that the other has changed.": "显示相互矛盾的事实：同一时间的两个值，且都没有说另一个已改变。",
	"what held at this `time`, RFC 3339, or 2006-01-02T15:04:05 in local time (default: now)":                               "在此 `time` 有效的内容，RFC 3339，或本地时间 2006-01-02T15:04:05（默认：现在）",
	"the `user` whose memories they are":                     "记忆所属的 `user`",
	"Show what the memories of a user state, and since when": "显示用户的记忆说明了什么，自何时起",
	"Show what the memories of a user state, and since when: the home, the work, the budget of\nthe kitchen. Facts are read from memories by rules, without a model; the memories stay as\nthey were said. Only what holds is shown, --all has what held before too. The subject self\nis the user.": "显示用户的记忆说明了什么，自何时起：住处、工作、厨房的预算。事实按规则从记忆中读取，不用模型；\n记忆保持原话。只显示现在有效的，--all 也显示以前有效的。主体 self 是用户本人。",
	"also what no longer holds": "也显示不再有效的",
	"only this `attribute`, or noun of this name: home, \"kitchen budget\"":                  "只显示此 `attribute` 或此名称的名词：home、\"kitchen budget\"",
	"only of this `subject`: self, anna, \"my sister\"":                                      "只显示此 `subject` 的：self、anna、\"my sister\"",
	"Read the facts of all memories again":                                                   "重新读取所有记忆中的事实",
	"Read the facts of all memories again, for example after an import by an older version.": "重新读取所有记忆中的事实，例如在用旧版本导入之后。",
	"Show how a fact changed, the oldest first":                                              "显示一个事实如何变化，最早的在前",
	"Show how a fact changed, the oldest first, with the memories that say so. SUBJECT is self\nfor the user, or a name; ATTRIBUTE is as memory facts shows it.": "显示一个事实如何变化，最早的在前，并给出说明它的记忆。SUBJECT 对用户本人是 self，否则是名字；\nATTRIBUTE 与 memory facts 显示的相同。",
	"Show what a memory states, and whether that holds": "显示一条记忆说明了什么，以及是否有效",
	"Show what a memory states, and whether that holds: its text with [brackets] around the values\nthat were read, each fact with its timeline, and the memory that replaced it.": "显示一条记忆说明了什么，以及是否有效：原文（读出的值加[方括号]）、每个事实及其时间线，\n以及取代它的记忆。",
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
})
