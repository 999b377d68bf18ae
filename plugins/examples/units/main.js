// The plugin units: finds and converts lengths, weights and temperatures.
'use strict'

const { Plugin, PluginError, TEXT } = require('./scheduler_plugin')

const plugin = new Plugin('units', '1.0.0')

// Units by name: what they measure, and how they become the first of their kind.
const units = {
  m: ['length', x => x, x => x],
  km: ['length', x => x * 1000, x => x / 1000],
  mi: ['length', x => x * 1609.344, x => x / 1609.344],
  ft: ['length', x => x * 0.3048, x => x / 0.3048],
  kg: ['weight', x => x, x => x],
  g: ['weight', x => x / 1000, x => x * 1000],
  lb: ['weight', x => x * 0.45359237, x => x / 0.45359237],
  '°C': ['temperature', x => x, x => x],
  '°F': ['temperature', x => (x - 32) / 1.8, x => x * 1.8 + 32]
}

const quantity = /(-?\d+(?:\.\d+)?)\s?(km|mi|ft|kg|lb|°C|°F|m|g)(?![\p{L}\p{N}])/gu

const quantities = text => [...text.matchAll(quantity)].map(([, number, unit]) => ({ value: Number(number), unit }))

plugin.importance('has_quantity', {
  en: 'Includes what measures the same as the user speaks of; anything measured where the user measures nothing.',
  zh: '选入与用户所说度量相同的内容；用户未提及度量时选入任何含度量的内容。'
}, (state, item) => {
  const wanted = new Set(quantities(state.input).map(q => units[q.unit][0]))
  const found = quantities(item.text).filter(q => wanted.size === 0 || wanted.has(units[q.unit][0]))
  return { include: found.length > 0, score: 1 - 1 / (1 + found.length), reason: found.map(q => `${q.value} ${q.unit}`).join(', ') }
})

plugin.check('in_units', {
  en: 'Passes where every quantity of the text is in one of the units that the test names.',
  zh: '文本中的每个度量都用测试所列单位之一时通过。'
}, (state, item) => {
  const wanted = item.data?.with || ['m', 'km', 'kg', 'g', '°C']
  const wrong = quantities(item.text).filter(q => !wanted.includes(q.unit))
  return { include: wrong.length === 0, reason: wrong.map(q => `${q.value} ${q.unit}`).join(', ') }
})

plugin.variable('quantities', {
  en: "The quantities in the user's words.",
  zh: '用户话语中的度量。',
  output: {
    type: 'array',
    items: { type: 'object', properties: { value: { type: 'number' }, unit: { type: 'string' } }, required: ['value', 'unit'] }
  }
}, state => quantities(state.input))

const conversion = {
  type: 'object',
  properties: {
    value: { type: 'number', description: 'How many' },
    from: { type: 'string', enum: Object.keys(units), description: 'The unit it is in' },
    to: { type: 'string', enum: Object.keys(units), description: 'The unit that is wanted' }
  },
  required: ['value', 'from', 'to'],
  additionalProperties: false
}

function convert ({ value, from, to }) {
  const [kind, toBase] = units[from]
  const [other, , fromBase] = units[to]
  if (kind !== other) throw new PluginError(`${from} is a ${kind}, ${to} a ${other}`, { kind: 'invalid', hint: 'give two units of one kind' })
  return { value: Number(fromBase(toBase(value)).toPrecision(12)), unit: to }
}

plugin.call('convert', {
  en: 'Converts a quantity to another unit.',
  zh: '把度量换算成另一单位。',
  params: conversion,
  output: { type: 'object', properties: { value: { type: 'number' }, unit: { type: 'string' } }, required: ['value', 'unit'], additionalProperties: false },
  examples: [{ title: 'Miles to kilometres', with: '{value: 26.2, from: mi, to: km}' }]
}, (host, params) => convert(params))

plugin.call('picture', {
  en: 'Has the model compare a quantity with something that everybody knows.',
  zh: '让模型用人人熟悉的事物来比喻一个度量。',
  llm: true,
  params: conversion,
  output: TEXT,
  examples: [{ title: 'A marathon', with: '{value: 26.2, from: mi, to: km}', answers: ['As far as across a large city and back.'] }]
}, async function * (host, params) {
  const { value, unit } = convert(params)
  const known = await host.search(`${value} ${unit}`, 3)
  await host.log('debug', `picturing ${value} ${unit}`)
  const { question } = await host.vars()
  yield * host.chat([
    { role: 'system', content: 'Compare the quantity with one thing that everybody knows. One sentence.' },
    { role: 'user', content: [`${value} ${unit}`, question, ...known.map(m => m.text)].join('\n') }
  ])
})

module.exports = { quantities, convert }
if (require.main === module) plugin.serve()
