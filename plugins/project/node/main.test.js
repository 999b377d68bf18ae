// Run it: npm test
'use strict'

const assert = require('node:assert')
const { test } = require('node:test')
const { isShort, turns, isQuiet, shout } = require('./main')

test('is_short', () => {
  assert.equal(isShort({}, { text: 'x' }).include, true)
  assert.equal(isShort({}, { text: 'x'.repeat(200) }).include, false)
})

test('turns', () => assert.equal(turns({ history: [] }), 0))

test('is_quiet', () => {
  assert.equal(isQuiet({}, { text: 'Good morning' }).include, true)
  assert.equal(isQuiet({}, { text: 'GOOD morning' }).include, false)
})

test('shout', async () => {
  let text = ''
  for await (const word of shout(null, { text: 'good morning' })) text += word
  assert.equal(text, 'GOOD MORNING ')
  await assert.rejects(shout(null, { text: '' }).next())
})
