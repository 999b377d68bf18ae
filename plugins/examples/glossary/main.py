"""The plugin glossary: the words of a team, from data/terms.json."""

import json
import pathlib

from scheduler_plugin import TEXT, Error, Plugin, Verdict

plugin = Plugin("glossary", "1.0.0")
file = pathlib.Path(__file__).parent / "data" / "terms.json"


def terms():
    return json.loads(file.read_text(encoding="utf-8"))


def mentioned(text):
    text = text.lower()
    return [term for term in terms() if term.lower() in text]


@plugin.importance("mentions_term", en="Includes what uses a word of the glossary that the user used too.",
                   zh="选入与用户使用了相同术语的内容。")
def mentions_term(state, item):
    wanted = set(mentioned(state.input))
    shared = [term for term in mentioned(item.text) if term in wanted]
    return Verdict(bool(shared), score=len(shared) / max(1, len(wanted)), reason=", ".join(shared))


@plugin.check("uses_terms", en="Passes where the text uses the words of the glossary that the test names.",
              zh="文本使用了测试所列的术语时通过。")
def uses_terms(state, item):
    used, wanted = mentioned(item.text), (item.data or {}).get("with") or []
    missing = [term for term in wanted if term not in used]
    return Verdict(not missing, score=1 - len(missing) / max(1, len(wanted)), reason="missing: " + ", ".join(missing))


@plugin.variable("glossary_terms", {"type": "object", "additionalProperties": {"type": "string"}},
                 en="The words of the glossary that the user's words mention, with their meaning.",
                 zh="用户提到的术语及其含义。")
def glossary_terms(state):
    return {term: terms()[term] for term in mentioned(state.input)}


TERM = {
    "type": "object",
    "properties": {"term": {"type": "string", "description": "The word, in any case"}},
    "required": ["term"],
    "additionalProperties": False,
}


def find(term):
    for known, meaning in terms().items():
        if known.lower() == term.lower():
            return known, meaning
    raise Error("the glossary has no %r" % term, kind="notfound", hint="it has " + ", ".join(terms()))


@plugin.call(
    "define", params=TERM,
    output={
        "type": "object",
        "properties": {"term": {"type": "string"}, "meaning": {"type": "string"}},
        "required": ["term", "meaning"],
        "additionalProperties": False,
    },
    en="Gives the meaning of a word of the glossary.", zh="给出术语的含义。",
    examples=[("A word", "{term: slo}")],
)
def define(host, params):
    term, meaning = find(params["term"])
    return {"term": term, "meaning": meaning}


@plugin.call("explain", params=TERM, output=TEXT, llm=True,
             en="Has the model explain a word by its meaning in the glossary and by what is remembered of it.",
             zh="让模型结合术语表与记忆解释一个术语。",
             examples=[("A word", "{term: slo}", "An SLO says how good is good enough.")])
def explain(host, params):
    term, meaning = find(params["term"])
    known = [memory.text for memory in host.search(term, limit=3)]
    host.log("debug", "explaining %s with %d memories" % (term, len(known)))
    yield from host.chat([
        {"role": "system", "content": "Explain the word in two sentences. Use only this:\n" + "\n".join([meaning] + known)},
        {"role": "user", "content": "%s? (%s)" % (term, host.vars()["question"])},
    ])


if __name__ == "__main__":
    plugin.serve()
