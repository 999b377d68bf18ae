'use strict'

const assert = require('node:assert')
const { test } = require('node:test')
const { quantities, convert } = require('./main')

test('quantities', () => assert.deepEqual(quantities('5 km, -3.5 °C and 3 mice'), [{ value: 5, unit: 'km' }, { value: -3.5, unit: '°C' }]))

test('convert', () => {
  assert.deepEqual(convert({ value: 212, from: '°F', to: '°C' }), { value: 100, unit: '°C' })
  assert.throws(() => convert({ value: 1, from: 'km', to: 'kg' }), /km is a length, kg a weight/)
})
