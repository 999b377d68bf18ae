// Makes a plugin of scheduler from functions.
//
//	const plugin = new Plugin('recency', '1.0.0')
//	plugin.importance('is_short', { en: 'Includes what is short.', zh: '选入短的内容。' },
//	  (state, item) => ({ include: item.text.length < 100 }))
//	plugin.serve()
//
// Functions may be async; many run at once. An exception in one is an error of that
// request; the plugin lives on. What is printed goes to the log of the host.
'use strict'

const { execFileSync } = require('node:child_process')
const fs = require('node:fs')
const net = require('node:net')
const path = require('node:path')
const util = require('node:util')
const grpc = require('@grpc/grpc-js')
const loader = require('@grpc/proto-loader')

const options = { keepCase: true, longs: Number, enums: String, defaults: true, oneofs: true }
const load = name => grpc.loadPackageDefinition(loader.loadSync(path.join(__dirname, name), options))
const protocol = load('plugin.proto').scheduler.plugin.v1
const transport = load('transport.proto').plugin

const maxMessage = Number(process.env.SCHEDULER_PLUGIN_MAX_MESSAGE || 16 << 20)
const limits = { 'grpc.max_receive_message_length': maxMessage, 'grpc.max_send_message_length': maxMessage }

const folder = process.env.PLUGIN_UNIX_SOCKET_DIR || '/tmp'

// Where the host wants TLS (AutoMTLS), both sides show a certificate made for this start
// alone. Node cannot make one: openssl does.
const tls = process.env.PLUGIN_CLIENT_CERT && makeTLS(Buffer.from(process.env.PLUGIN_CLIENT_CERT))

function makeTLS (host) {
  const file = path.join(folder, 'plugin.key') // the folder is the user's alone
  try {
    const cert = execFileSync('openssl', ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-keyout', file,
      '-config', '/dev/null', '-subj', '/CN=localhost', '-days', '3650', '-addext', 'subjectAltName=DNS:localhost', '-addext', 'basicConstraints=critical,CA:TRUE'
    ], { stdio: ['ignore', 'pipe', 'pipe'] })
    return { host, cert, key: fs.readFileSync(file) }
  } catch (err) {
    console.error(`plugins in Node need openssl for encrypted connections (plugins.auto_mtls): ${err.stderr || err.message}`)
    process.exit(1)
  } finally {
    fs.rmSync(file, { force: true })
  }
}

const serverCredentials = () => tls
  ? grpc.ServerCredentials.createSsl(tls.host, [{ private_key: tls.key, cert_chain: tls.cert }], true)
  : grpc.ServerCredentials.createInsecure()

const clientCredentials = () => tls ? grpc.credentials.createSsl(tls.host, tls.key, tls.cert) : grpc.credentials.createInsecure()

// An error with a kind and a hint. kind is invalid, notfound, missing, provider, timeout
// or plugin; the last three may be tried again. The hint tells the user what to do.
class PluginError extends Error {
  constructor (message, { kind = 'plugin', hint = '' } = {}) {
    super(message)
    this.kind = kind
    this.hint = hint
  }
}

// The output schema of calls that put out text.
const TEXT = { type: 'object', properties: { text: { type: 'string' } }, required: ['text'], additionalProperties: false }

// json is the bytes of a value. JSON has no NaN: JavaScript would write null.
function json (value) {
  const text = JSON.stringify(value, (_, v) => {
    if (typeof v === 'number' && !Number.isFinite(v)) throw new PluginError(`${v} is not JSON`)
    return v
  })
  return Buffer.from(text === undefined ? 'null' : text)
}

const parse = bytes => bytes && bytes.length ? JSON.parse(bytes.toString()) : undefined

// The file and line of an error: the innermost of the plugin's own code.
function place (error) {
  const folder = path.dirname(process.argv[1] || __filename) + path.sep
  for (const [, file, line] of String(error.stack).matchAll(/\(?(\/[^()\n]*?):(\d+):\d+\)?$/gm)) {
    const own = file.startsWith(folder) && file !== __filename && !file.includes(`${path.sep}node_modules${path.sep}`)
    if (own) return ` (${file.slice(folder.length)}:${line})`
  }
  return ''
}

// Anything can be thrown, even undefined.
function failure (error) {
  if (error instanceof PluginError) return { kind: String(error.kind || 'plugin'), message: error.message, hint: String(error.hint || '') }
  console.error(error)
  const text = typeof error === 'string' ? error : error instanceof Error ? String(error) + place(error) : util.inspect(error)
  return { kind: 'plugin', message: text, hint: '' }
}

function tooLarge (size) {
  if (size > maxMessage) {
    throw new PluginError(`the answer has ${size} bytes, more than the ${maxMessage} of limits.max_message_mib in plugin.yaml`)
  }
}

// What a function may know of the dialogue. host is the Host.
// undeclared is the name of a function that must not read retrieved.
function toState (message, client, token, undeclared) {
  const { retrieved = [], ...known } = message
  const state = { ...known, now: new Date(message.now || 0), vars: {} }
  Object.defineProperty(state, 'retrieved', {
    get () {
      if (undeclared) throw new PluginError(`${undeclared} reads state.retrieved without declaring it`, { kind: 'invalid', hint: 'add retrieved: true to the function' })
      return retrieved
    }
  })
  state.host = new Host(client, token, state)
  for (const [name, text] of Object.entries(message.vars || {})) state.vars[name] = parse(text)
  return state
}

// What a function may use of the host, as far as plugin.yaml lists it under services.
// state is what is known of the dialogue. For a call, signal is aborted when the answer
// is not wanted any more, and idempotencyKey is the same when the step is tried again: for services that do
// the work of one key once.
class Host {
  constructor (client, token, state) {
    Object.assign(this, { client, token, state })
  }

  #invoke (method, request) {
    return new Promise((resolve, reject) => {
      this.#ready()[method]({ token: this.token, ...request }, (err, reply) => err ? reject(new PluginError(err.details)) : resolve(reply))
    })
  }

  #ready () {
    if (!this.client) throw new PluginError('the plugin was granted no services of the host (list them under services in plugin.yaml)')
    return this.client
  }

  // Asks the flow's model; yields the pieces of its answer. messages are objects
  // {role, content}. parts tell where their texts come from, as plugin.proto describes
  // them.
  async * chat (messages, parts) {
    try {
      const request = { token: this.token, messages: messages.map(json), parts: parts ? json(parts) : undefined }
      for await (const delta of this.#ready().Chat(request)) {
        if (delta.text) yield delta.text
      }
    } catch (err) {
      throw err instanceof PluginError ? err : new PluginError(err.details)
    }
  }

  // Asks the flow's model; returns the whole answer.
  async ask (prompt) {
    let text = ''
    for await (const piece of this.chat([{ role: 'user', content: prompt }])) text += piece
    return text
  }

  // Returns memories with text and score, best first.
  async search (query, limit = 10) { return (await this.#invoke('Search', { query, limit })).found }

  // Returns what the step may see: inputs, question, vars, summary, facts, history ...
  async vars () { return parse((await this.#invoke('Vars', {})).vars) }

  // Writes to the log of the host; level is debug, info, warn or error.
  async log (level, message) { await this.#invoke('Log', { level, message }) }
}

class Plugin {
  #functions = new Map()
  #retrieving = new Set()
  #addresses = new Map()
  #waiting = new Map()
  #client = null

  // name and version are as in plugin.yaml.
  constructor (name, version) {
    this.description = { name, version, session: true, functions: [] }
  }

  #add (kind, name, { en, zh = '', ...more }, run) {
    this.description.functions.push({ name, kind, doc_en: en, doc_zh: zh, ...more })
    this.#functions.set(`${kind} ${name}`, run)
    if (more.retrieved) this.#retrieving.add(`${kind} ${name}`)
  }

  // judge(state, item) returns {include, score?, reason?}. With retrieved, the state
  // has the memories found for the user's words.
  importance (name, about, judge) { this.#add('IMPORTANCE', name, about, judge) }

  // judge(state, item) returns {include, score?, reason?}: whether what a run of a test
  // has left passes. item.text is what is checked, item.data has {value, with, inputs,
  // outputs, row}; with is what the test file gives.
  check (name, about, judge) { this.#add('CHECK', name, about, judge) }

  // resolve(state) returns the value of vars.name, undefined where it has none;
  // about.output is its JSON Schema.
  variable (name, about, resolve) { this.#add('VARIABLE', name, { ...about, output: json(about.output) }, resolve) }

  // exec(host, params) returns an object or text, or yields text. about.params and
  // about.output are JSON Schemas of objects, that of text is TEXT; about.examples
  // are {title, with, answers?}, with being YAML; about.llm declares that it asks the
  // model.
  call (name, about, exec) {
    const params = json(about.params)
    this.#add('CALL', name, { ...about, params, input: params, output: json(about.output) }, exec)
  }

  #find (kind, name) {
    const found = this.#functions.get(`${kind} ${name}`)
    if (!found) throw new PluginError(`the plugin ${this.description.name} has no ${kind.toLowerCase()} "${name}"`, { kind: 'notfound' })
    return found
  }

  #state (kind, name, message, token) {
    return toState(message || {}, this.#client, token, this.#retrieving.has(`${kind} ${name}`) ? '' : name)
  }

  async #describe ({ request }) {
    const id = request.host_service
    if (id && !this.#client) {
      const address = this.#addresses.get(id) || await new Promise(resolve => this.#waiting.set(id, resolve))
      this.#client = new protocol.Host(`unix:${address}`, clientCredentials(), { ...limits, 'grpc.ssl_target_name_override': 'localhost' })
    }
    return this.description
  }

  async #answer (request) {
    try {
      const reply = { id: request.id, ...await this.#reply(request) }
      tooLarge(protocol.Plugin.service.Ask.responseSerialize(reply).length)
      return reply
    } catch (err) {
      return { id: request.id, failure: failure(err) }
    }
  }

  async #reply (request) {
    switch (request.ask) {
      case 'judge': {
        const { function: name, items } = request.judge
        const kind = this.#functions.has(`CHECK ${name}`) ? 'CHECK' : 'IMPORTANCE'
        const judge = this.#find(kind, name)
        const state = this.#state(kind, name, request.judge.state, request.token)
        const verdicts = []
        for (const item of items) verdicts.push(await judge(state, { ...item, data: parse(item.data) }))
        return { judged: { verdicts } }
      }
      case 'resolve': {
        const values = {}
        for (const name of request.resolve.names) {
          const value = await this.#find('VARIABLE', name)(this.#state('VARIABLE', name, request.resolve.state, request.token))
          if (value !== undefined) values[name] = json(value)
        }
        return { resolved: { values } }
      }
      case 'init':
        this.#find('CALL', request.init.function)
        return { initialized: { input: request.init.params } }
    }
    throw new PluginError('the plugin does not know this kind of request')
  }

  async #exec (stream) {
    const send = async chunk => {
      tooLarge(protocol.Plugin.service.Exec.responseSerialize(chunk).length)
      if (!stream.write(chunk)) await new Promise(resolve => { stream.once('drain', resolve); stream.once('cancelled', resolve) })
    }
    const over = new AbortController()
    stream.on('cancelled', () => over.abort())
    try {
      const { request } = stream
      const exec = this.#find('CALL', request.function)
      const { host } = toState(request.state || {}, this.#client, request.token)
      Object.assign(host, { signal: over.signal, idempotencyKey: request.idempotency_key })
      const out = await exec(host, parse(request.input))
      const streams = out && (out[Symbol.asyncIterator] || typeof out.next === 'function')
      for await (const piece of streams ? out : [out]) {
        if (over.signal.aborted) return
        await send(typeof piece === 'string' ? { text: piece } : { data: json(piece) })
      }
    } catch (err) {
      stream.write({ failure: failure(err) })
    }
    stream.end()
  }

  #session (stream) {
    stream.on('data', ({ requests }) => {
      for (const request of requests) {
        if (request.ask === 'cancel') continue // the answer is dropped
        this.#answer(request).then(reply => stream.write({ replies: [reply] }))
      }
    })
    stream.on('end', () => stream.end())
    stream.on('error', () => {})
  }

  // Offers the plugin to the host that started this program.
  serve () {
    if (process.env.SCHEDULER_PLUGIN !== 'start-me-through-scheduler') {
      console.error(`This program is the plugin ${this.description.name} of scheduler, which starts it. Try it: scheduler plugins verify FOLDER`)
      process.exit(1)
    }
    const unary = handle => (call, done) => handle(call).then(reply => done(null, reply), err => done({ code: grpc.status.INTERNAL, details: String(err) }))
    const server = new grpc.Server(limits)
    server.addService(protocol.Plugin.service, {
      Describe: unary(call => this.#describe(call)),
      Ask: unary(call => this.#answer(call.request)),
      Session: stream => this.#session(stream),
      Exec: stream => this.#exec(stream)
    })
    server.addService(transport.GRPCController.service, {
      Shutdown: (_, done) => { done(null, {}); setTimeout(() => process.exit(0), 10) }
    })
    server.addService(transport.GRPCBroker.service, {
      StartStream: stream => {
        stream.on('data', ({ service_id: id, address }) => {
          this.#addresses.set(id, address)
          this.#waiting.get(id)?.(address)
        })
        stream.on('end', () => stream.end())
        stream.on('error', () => {})
      }
    })
    const whole = x => x
    server.addService({
      Check: { path: '/grpc.health.v1.Health/Check', requestStream: false, responseStream: false, requestSerialize: whole, requestDeserialize: whole, responseSerialize: whole, responseDeserialize: whole }
    }, { Check: (_, done) => done(null, Buffer.from([8, 1])) }) // status 1 is SERVING

    const socket = path.join(folder, 'plugin.sock')
    const der = tls ? tls.cert.toString().replace(/-----[^-]+-----|[\s=]/g, '') : ''
    server.bindAsync(`unix:${socket}`, serverCredentials(), err => {
      if (err) throw err
      fs.writeSync(1, `1|1|unix|${socket}|grpc|${der}\n`)
    })
    const life = Number(process.env.SCHEDULER_PLUGIN_LIFE)
    if (life) {
      new net.Socket({ fd: life, readable: true, writable: false }).resume().on('close', () => process.exit(0))
    }
  }
}

module.exports = { Plugin, PluginError, TEXT }
