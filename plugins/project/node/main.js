// The plugin sample-plugin: one function of every kind, to start from.
'use strict'

const { Plugin, PluginError, TEXT } = require('./scheduler_plugin')

const plugin = new Plugin('sample-plugin', '0.1.0')

function isShort (state, item) {
  const n = [...item.text].length
  return { include: n <= 100, score: 1 / (1 + n / 100), reason: `${n} characters` }
}
plugin.importance('is_short', { en: 'Includes what has at most 100 characters.', zh: '选入不超过 100 个字符的内容。' }, isShort)

const turns = state => state.history.length
plugin.variable('sample_plugin_turns', { en: 'How many turns the dialogue has.', zh: '对话的轮数。', output: { type: 'integer' } }, turns)

function isQuiet (state, item) {
  const loud = item.text.split(/\s+/).find(word => word.length > 1 && word === word.toUpperCase() && word !== word.toLowerCase())
  return loud ? { include: false, reason: `"${loud}" is in capitals` } : { include: true }
}
plugin.check('is_quiet', { en: 'Passes where a text has no word in capitals.', zh: '文本中没有全大写的单词时通过。' }, isQuiet)

async function * shout (host, { text }) {
  if (!text) throw new PluginError('there is nothing to shout', { kind: 'invalid', hint: 'give a text' })
  for (const word of text.split(/\s+/)) yield word.toUpperCase() + ' '
}
plugin.call('shout', {
  en: 'Gives a text in capitals, word by word.',
  zh: '逐词输出大写文本。',
  params: {
    type: 'object',
    properties: { text: { type: 'string', description: 'What is shouted' } },
    required: ['text'],
    additionalProperties: false
  },
  output: TEXT,
  examples: [{ title: 'A greeting', with: '{text: good morning}' }]
}, shout)

module.exports = { isShort, turns, isQuiet, shout }
if (require.main === module) plugin.serve()
