"""Makes a plugin of scheduler from Python functions.

    plugin = Plugin("recency", "1.0.0")

    @plugin.importance("is_short", en="Includes what is short.", zh="选入短的内容。")
    def is_short(state, item):
        return Verdict(len(item.text) < 100)

    if __name__ == "__main__":
        plugin.serve()

Functions are called from many threads at once. An exception in one is an error of
that request; the plugin lives on. What is printed goes to the log of the host.

It needs grpcio and protobuf (Debian: python3-grpcio).
"""

import concurrent.futures
import datetime
import inspect
import json
import os
import sys
import threading
import traceback

try:
    import grpc
    import google.protobuf
except ImportError as error:
    raise ImportError("plugins in Python need grpcio and protobuf (%s): pip install grpcio protobuf (Debian: "
                      "apt install python3-grpcio). They run with %s" % (error, sys.executable)) from None

import plugin_pb2 as pb
import transport_pb2 as transport

FAILURES = (Exception, SystemExit)  # of a function: sys.exit would end only its thread, without an answer
COOKIE = "start-me-through-scheduler"
THREADS = 300  # more than limits.concurrency is by default; they are started when they are needed


class Error(Exception):
    """An error with a kind and a hint.

    kind is invalid, notfound, missing, provider, timeout or plugin; the last three
    may be tried again. The hint tells the user what to do about it.
    """

    def __init__(self, message, kind="plugin", hint=""):
        super().__init__(message)
        self.kind, self.hint = kind, hint


class Verdict:
    """The judgement of one item; the score, where given, is 0 to 1."""

    def __init__(self, include, score=None, reason=""):
        self.include, self.score, self.reason = include, score, reason


class Item:
    """What an importance function judges. data is what else is known, or None."""

    def __init__(self, name="", text="", data=None):
        self.name, self.text, self.data = name, text, data


class State:
    """What is known of the dialogue; history is a list of turns with role, content
    and timestamp. host is the Host."""

    def __init__(self, message=None, channel=None, token="", idempotency_key="", undeclared=""):
        message = message or pb.State()
        self.host = Host(channel, token, self, idempotency_key)
        self.input, self.user, self.session = message.input, message.user, message.session
        self.language, self.history = message.language, message.history
        self._retrieved, self._undeclared = message.retrieved, undeclared
        self.vars = {name: json.loads(text) for name, text in message.vars.items()}
        self.now = parse_time(message.now)

    @property
    def retrieved(self):
        """The memories found for the user's words, with text and score. A function has to
        declare that it reads them."""
        if self._undeclared:
            raise Error("%s reads state.retrieved without declaring it" % self._undeclared, kind="invalid",
                        hint="add retrieved=True to its decorator")
        return self._retrieved


def parse_time(text):
    """A time with its zone; the start of the epoch where there is none."""
    if not text:
        return datetime.datetime.fromtimestamp(0, datetime.timezone.utc)
    text = text.replace("Z", "+00:00")
    point = text.find(".")
    if point >= 0:  # Python counts microseconds
        end = point + 1
        while end < len(text) and text[end].isdigit():
            end += 1
        text = text[:point] + "." + text[point + 1:end][:6].ljust(6, "0") + text[end:]
    return datetime.datetime.fromisoformat(text)


class Host:
    """What a function may use of the host, as far as plugin.yaml lists it under
    services. state is the State. idempotency_key is the same when the step is tried
    again: for services that do the work of one key once."""

    def __init__(self, channel, token, state, idempotency_key):
        self._channel, self._token, self.state = channel, token, state
        self.idempotency_key = idempotency_key

    def _invoke(self, method, request, reply, stream=False):
        if self._channel is None:
            raise Error("the plugin was granted no services of the host (list them under services in plugin.yaml)")
        make = self._channel.unary_stream if stream else self._channel.unary_unary
        call = make("/scheduler.plugin.v1.Host/" + method,
                    request_serializer=request.__class__.SerializeToString, response_deserializer=reply.FromString)
        return call(request)

    def chat(self, messages, parts=None):
        """Asks the flow's model; yields the pieces of its answer. messages are
        objects {role, content}. parts tell where their texts come from, as
        plugin.proto describes them."""
        request = pb.ChatRequest(token=self._token, messages=[dump(m) for m in messages])
        if parts is not None:
            request.parts = dump(parts)
        for delta in self._invoke("Chat", request, pb.ChatDelta, stream=True):
            if delta.text:
                yield delta.text

    def ask(self, prompt):
        """Asks the flow's model; returns the whole answer."""
        return "".join(self.chat([{"role": "user", "content": prompt}]))

    def search(self, query, limit=10):
        """Returns memories with text and score, best first."""
        return self._invoke("Search", pb.SearchRequest(token=self._token, query=query, limit=limit), pb.SearchReply).found

    def vars(self):
        """Returns what the step may see: inputs, question, vars, summary, facts, history ..."""
        return json.loads(self._invoke("Vars", pb.VarsRequest(token=self._token), pb.VarsReply).vars)

    def log(self, level, message):
        """Writes to the log of the host; level is debug, info, warn or error."""
        self._invoke("Log", pb.LogRequest(token=self._token, level=level, message=message), pb.LogReply)


def dump(value):
    return json.dumps(value, ensure_ascii=False, allow_nan=False).encode()


def plain(text):
    """Text that can be sent: names of files may be no UTF-8."""
    return str(text).encode("utf-8", "replace").decode()


def failure(error):
    if isinstance(error, Error):
        return pb.Failure(kind=plain(error.kind or "plugin"), message=plain(error), hint=plain(error.hint or ""))
    if isinstance(error, grpc.RpcError):
        return pb.Failure(kind="plugin", message=error.details())
    traceback.print_exc()
    return pb.Failure(kind="plugin", message=plain("%s: %s%s" % (type(error).__name__, error, place(error))))


def place(error):
    """Returns where an exception came from: the innermost line of the plugin's own code."""
    folder = os.path.dirname(os.path.abspath(sys.argv[0]))
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        path = os.path.abspath(frame.filename)
        libraries = path == os.path.abspath(__file__) or os.sep + "site-packages" + os.sep in path
        if path.startswith(folder + os.sep) and not libraries:
            return " (%s:%d)" % (os.path.relpath(path, folder), frame.lineno)
    return ""


class Plugin:
    """A plugin; name and version are as in plugin.yaml."""

    def __init__(self, name, version):
        self.description = pb.Description(name=name, version=version)
        self._functions = {}
        self._retrieving = set()
        self._channel = None
        self._addresses = {}
        self._announced = threading.Condition()

    def _add(self, kind, name, function, **more):
        self.description.functions.add(name=name, kind=kind, **more)
        self._functions[kind, name] = function
        if more.get("retrieved"):
            self._retrieving.add((kind, name))
        return function

    def _state(self, kind, name, message, token):
        return State(message, self._channel, token, undeclared="" if (kind, name) in self._retrieving else name)

    def importance(self, name, en, zh="", retrieved=False):
        """Decorates a function (state, item) that returns a Verdict. With retrieved,
        state.retrieved has the memories found for the user's words."""
        return lambda f: self._add(pb.IMPORTANCE, name, f, doc_en=en, doc_zh=zh, retrieved=retrieved)

    def check(self, name, en, zh=""):
        """Decorates a function (state, item) that returns a Verdict: whether what a run of
        a test has left passes. item.text is what is checked, item.data has value, with,
        inputs, outputs and row; with is what the test file gives."""
        return lambda f: self._add(pb.CHECK, name, f, doc_en=en, doc_zh=zh)

    def variable(self, name, output, en, zh="", retrieved=False):
        """Decorates a function (state) that returns the value of vars.name, or None
        where it has none. output is its JSON Schema."""
        return lambda f: self._add(pb.VARIABLE, name, f, output=dump(output), doc_en=en, doc_zh=zh, retrieved=retrieved)

    def call(self, name, params, output, en, zh="", examples=(), llm=False, literal=()):
        """Decorates a function (host, params) that returns an object, or yields text.
        params and output are JSON Schemas of objects; that of text is TEXT. examples
        are pairs of a title and the parameters in YAML, and what the model answers.
        llm declares that it asks the model."""
        made = [pb.Example(title=e[0], **{"with": e[1], "answers": e[2:]}) for e in examples]
        return lambda f: self._add(pb.CALL, name, f, params=dump(params), input=dump(params), output=dump(output),
                                   doc_en=en, doc_zh=zh, examples=made, llm=llm, literal=list(literal))

    def _find(self, kind, name):
        if (kind, name) not in self._functions:
            raise Error("the plugin %s has no %s %r" % (self.description.name, pb.Kind.Name(kind).lower(), name), "notfound")
        return self._functions[kind, name]

    # What the host asks.

    def _describe(self, request, _):
        if request.host_service and self._channel is None:
            with self._announced:
                self._announced.wait_for(lambda: request.host_service in self._addresses, 5)
                address = self._addresses[request.host_service]
            self._channel = grpc.insecure_channel("unix:" + address, options=limits())
        return self.description

    def _ask(self, request, _):
        reply = pb.Reply(id=request.id)
        try:
            kind = request.WhichOneof("ask")
            if kind == "judge":
                self._judge(request.judge, request.token, reply.judged)
            elif kind == "resolve":
                self._resolve(request.resolve, request.token, reply.resolved)
            elif kind == "init":
                self._find(pb.CALL, request.init.function)
                reply.initialized.input = request.init.params
            else:
                raise Error("the plugin does not know this kind of request")
            too_large(reply)
        except FAILURES as error:
            return pb.Reply(id=request.id, failure=failure(error))
        return reply

    def _judge(self, ask, token, judged):
        kind = pb.CHECK if (pb.CHECK, ask.function) in self._functions else pb.IMPORTANCE
        judge, state = self._find(kind, ask.function), self._state(kind, ask.function, ask.state, token)
        judged.SetInParent()
        for item in ask.items:
            verdict = judge(state, Item(item.name, item.text, json.loads(item.data) if item.data else None))
            judged.verdicts.add(include=verdict.include, score=verdict.score, reason=verdict.reason)

    def _resolve(self, ask, token, resolved):
        resolved.SetInParent()
        for name in ask.names:
            value = self._find(pb.VARIABLE, name)(self._state(pb.VARIABLE, name, ask.state, token))
            if value is not None:
                resolved.values[name] = dump(value)

    def _exec(self, request, context):
        try:
            function = self._find(pb.CALL, request.function)
            state = State(request.state, self._channel, request.token, request.idempotency_key)
            out = function(state.host, json.loads(request.input))
            if not inspect.isgenerator(out):
                out = [out]
            for piece in out:
                if not context.is_active():
                    return
                chunk = pb.Chunk(text=piece) if isinstance(piece, str) else pb.Chunk(data=dump(piece))
                too_large(chunk)
                yield chunk
        except FAILURES as error:
            yield pb.Chunk(failure=failure(error))

    def _start_stream(self, infos, _):
        for info in infos:
            with self._announced:
                self._addresses[info.service_id] = info.address
                self._announced.notify_all()
        return
        yield  # the host is sent nothing

    def serve(self):
        """Offers the plugin to the host that started this program. It does not return."""
        if os.environ.get("SCHEDULER_PLUGIN") != COOKIE:
            sys.exit("This program is the plugin %s of scheduler, which starts it. Try it: scheduler plugins verify FOLDER"
                     % self.description.name)
        if "PLUGIN_CLIENT_CERT" in os.environ:
            sys.exit("plugins in Python do not support encrypted connections (turn off plugins.auto_mtls)")
        server = grpc.server(concurrent.futures.ThreadPoolExecutor(THREADS), options=limits())
        stop = threading.Event()

        def shutdown(_, __):
            threading.Timer(0.01, stop.set).start()  # when the answer is on its way
            return transport.Empty()

        def unary(handler, request, reply):
            return grpc.unary_unary_rpc_method_handler(handler, request.FromString, reply.SerializeToString)

        healthy = transport.HealthCheckResponse(status=1)
        for service, methods in {
            "scheduler.plugin.v1.Plugin": {
                "Describe": unary(self._describe, pb.DescribeRequest, pb.Description),
                "Ask": unary(self._ask, pb.Request, pb.Reply),
                "Exec": grpc.unary_stream_rpc_method_handler(self._exec, pb.ExecRequest.FromString, pb.Chunk.SerializeToString),
            },
            "grpc.health.v1.Health": {
                "Check": unary(lambda *_: healthy, transport.HealthCheckRequest, transport.HealthCheckResponse),
            },
            "plugin.GRPCController": {"Shutdown": unary(shutdown, transport.Empty, transport.Empty)},
            "plugin.GRPCBroker": {
                "StartStream": grpc.stream_stream_rpc_method_handler(
                    self._start_stream, transport.ConnInfo.FromString, transport.ConnInfo.SerializeToString),
            },
        }.items():
            server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(service, methods),))
        path = os.path.join(os.environ.get("PLUGIN_UNIX_SOCKET_DIR", "/tmp"), "plugin.sock")
        server.add_insecure_port("unix:" + path)
        server.start()
        print("1|1|unix|%s|grpc|" % path, flush=True)
        sys.stdout = sys.stderr
        if "SCHEDULER_PLUGIN_LIFE" in os.environ:
            threading.Thread(target=end_with_host, args=(int(os.environ["SCHEDULER_PLUGIN_LIFE"]),), daemon=True).start()
        stop.wait()
        server.stop(0.1).wait()
        os._exit(0)


TEXT = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"], "additionalProperties": False}


def max_message():
    return int(os.environ.get("SCHEDULER_PLUGIN_MAX_MESSAGE", 16 << 20))


def limits():
    return [("grpc.max_receive_message_length", max_message()), ("grpc.max_send_message_length", max_message())]


def too_large(message):
    if message.ByteSize() > max_message():
        raise Error("the answer has %d bytes, more than the %d of limits.max_message_mib in plugin.yaml" % (message.ByteSize(), max_message()))


def end_with_host(fd):
    while os.read(fd, 1024):
        pass
    os._exit(0)
