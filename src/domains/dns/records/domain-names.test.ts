import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { examples } from '../../../../test/support/seed.ts';
import { ApiError } from '../../../kernel/http/errors.ts';
import { readHost, readSubdomain } from './domain-names.ts';

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

test('no text whatever makes anything but a name or a refusal', () => {
  const units = fc.oneof(
    fc.constantFrom('.', '*', '@', '-', '_', 'xn--', 'a', 'Ü', 'example.com.'),
    fc.string({ maxLength: 3 }),
    fc.integer({ min: 0, max: 0xffff }).map((code) => String.fromCharCode(code)),
  );
  const text = fc.array(units, { maxLength: 8 }).map((parts) => parts.join(''));
  const readers = [
    (input: string) => readSubdomain(input, 'example.com'),
    (input: string) => readHost(input, 'example.com', { allowsRoot: true, allowsUnderscore: true }),
  ];
  fc.assert(
    fc.property(text, (input) => {
      for (const read of readers) {
        try {
          const name = read(input);
          assert.match(name, /^(?:@|\.|(?:\*|[a-z0-9_-]{1,63})(?:\.[a-z0-9_-]{1,63})*\.?)$/);
          assert.equal(read(name), name, 'what was read reads as itself');
        } catch (error) {
          assert.ok(error instanceof ApiError && error.code === 'bad_request', `${JSON.stringify(input)} ${error}`);
        }
      }
    }),
    { numRuns: examples(500, 5_000) },
  );
});
