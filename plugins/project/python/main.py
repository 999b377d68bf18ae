"""The plugin sample-plugin: one function of every kind, to start from."""

from scheduler_plugin import TEXT, Error, Plugin, Verdict

plugin = Plugin("sample-plugin", "0.1.0")


@plugin.importance("is_short", en="Includes what has at most 100 characters.", zh="选入不超过 100 个字符的内容。")
def is_short(state, item):
    n = len(item.text)
    return Verdict(n <= 100, score=1 / (1 + n / 100), reason="%d characters" % n)


@plugin.variable("sample_plugin_turns", {"type": "integer"}, en="How many turns the dialogue has.", zh="对话的轮数。")
def turns(state):
    return len(state.history)


@plugin.check("is_quiet", en="Passes where a text has no word in capitals.", zh="文本中没有全大写的单词时通过。")
def is_quiet(state, item):
    for word in item.text.split():
        if len(word) > 1 and word.isupper():
            return Verdict(False, reason='"%s" is in capitals' % word)
    return Verdict(True)


@plugin.call(
    "shout",
    params={
        "type": "object",
        "properties": {"text": {"type": "string", "description": "What is shouted"}},
        "required": ["text"],
        "additionalProperties": False,
    },
    output=TEXT,
    en="Gives a text in capitals, word by word.",
    zh="逐词输出大写文本。",
    examples=[("A greeting", "{text: good morning}")],
)
def shout(host, params):
    if not params["text"]:
        raise Error("there is nothing to shout", kind="invalid", hint="give a text")
    for word in params["text"].split():
        yield word.upper() + " "


if __name__ == "__main__":
    plugin.serve()
