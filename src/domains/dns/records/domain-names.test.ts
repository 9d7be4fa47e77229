import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ApiError } from '../../../kernel/http/errors.ts';
import { readSubdomain } from './domain-names.ts';

const accepted: [string, string][] = [
  ['', '@'],
  ['@', '@'],
  ['example.com.', '@'],
  ['WWW', 'www'],
  ['www.example.com.', 'www'],
  ['_dmarc', '_dmarc'],
  ['*', '*'],
  ['*.Shop', '*.shop'],
  ['_443._tcp.www', '_443._tcp.www'],
  ['bücher', 'xn--bcher-kva'],
  ['xn--bcher-kva', 'xn--bcher-kva'],
  ['a.b.c', 'a.b.c'],
];

for (const [input, expected] of accepted) {
  test(`the subdomain ${JSON.stringify(input)} is ${expected}`, () => {
    assert.equal(readSubdomain(input, 'example.com'), expected);
  });
}

const refused = [
  'www.example.com',
  'example.com',
  'www.example.net.',
  'a..b',
  '.a',
  'a.*',
  'w*w',
  '-a',
  'a-',
  'a b',
  'a\\.b',
  'a\0b',
  'xn--a',
  'a。b',
  'x'.repeat(64),
  `${'x'.repeat(60)}.`.repeat(4).slice(0, -1),
];

for (const input of refused) {
  test(`the subdomain ${JSON.stringify(input).slice(0, 40)} is refused`, () => {
    assert.throws(
      () => readSubdomain(input, 'example.com'),
      (error) => error instanceof ApiError && error.code === 'bad_request' && error.detail.param === 'subdomain',
    );
  });
}
