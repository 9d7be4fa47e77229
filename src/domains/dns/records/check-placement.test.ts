import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ApiError } from '../../../kernel/http/errors.ts';
import type { StoredRecord } from '../zone-store.ts';
import { checkPlacement, type PlacedRecord } from './check-placement.ts';

const record = (text: string): PlacedRecord => {
  const [subdomain = '', type = '', ...value] = text.split(' ');
  return { subdomain, type, value: value.join(' ') };
};

const stored = (text: string): StoredRecord => ({ ...record(text), id: text, ttl: 60, created_at: new Date(0) });

const place = (zone: readonly string[], added: string) =>
  checkPlacement(zone.map(stored), record(added), 'example.com');

const accepted: [string[], string][] = [
  [['www A 192.0.2.1'], 'www A 192.0.2.2'],
  [['@ MX 10 mail.example.com.'], '@ TXT "v=spf1 -all"'],
  [['www CNAME example.net.'], 'mail CNAME example.net.'],
  [['www CNAME example.net.'], 'a.www A 192.0.2.1'],
  [[], '*.shop CNAME example.net.'],
  [[], 'sub NS ns1.example.net.'],
  [['sub NS ns1.example.net.'], 'sub NS ns2.example.net.'],
  [['sub NS ns1.sub.example.com.'], 'ns1.sub A 192.0.2.1'],
  [['ns1.sub A 192.0.2.1', 'xsub TXT "x"'], 'sub NS ns1.sub.example.com.'],
  [['sub NS ns1.example.net.'], 'xsub TXT "beside"'],
];

for (const [zone, added] of accepted) {
  test(`${added} is taken beside ${zone.join(' and ') || 'nothing'}`, () => place(zone, added));
}

const refused: [string[], string, string][] = [
  [['www A 192.0.2.1'], 'www A 192.0.2.1', 'value'],
  [[], '@ CNAME example.net.', 'type'],
  [['www A 192.0.2.1'], 'www CNAME example.net.', 'subdomain'],
  [['www CNAME example.net.'], 'www CNAME example.org.', 'subdomain'],
  [['www CNAME example.net.'], 'www TXT "x"', 'subdomain'],
  [[], 'www CNAME www.example.com.', 'value'],
  [['@ MX 0 .'], '@ MX 10 mail.example.com.', 'value'],
  [['@ MX 10 mail.example.com.'], '@ MX 0 .', 'value'],
  [[], '@ NS ns.example.net.', 'type'],
  [[], '*.sub NS ns.example.net.', 'subdomain'],
  [['sub NS ns1.example.net.'], 'sub TXT "x"', 'subdomain'],
  [['sub NS ns1.example.net.'], 'a.sub CNAME example.net.', 'subdomain'],
  [['sub NS ns1.example.net.'], 'a.sub NS ns1.example.net.', 'subdomain'],
  [['a.sub TXT "x"'], 'sub NS ns1.example.net.', 'subdomain'],
  [['a.b.sub NS ns1.example.net.'], 'sub NS ns1.example.net.', 'subdomain'],
];

for (const [zone, added, param] of refused) {
  test(`${added} is refused beside ${zone.join(' and ') || 'nothing'}`, () => {
    assert.throws(
      () => place(zone, added),
      (error) => error instanceof ApiError && error.code === 'bad_request' && error.detail.param === param,
    );
  });
}

test('a zone and a set of records have a size', () => {
  const many = (count: number, made: (index: number) => string) => Array.from({ length: count }, (_, at) => made(at));
  assert.throws(
    () =>
      place(
        many(1_000, (at) => `h${at} A 192.0.2.1`),
        'www A 192.0.2.1',
      ),
    /as many as it may/,
  );
  assert.throws(
    () =>
      place(
        many(100, (at) => `www A 192.0.2.${at}`),
        'www A 192.0.3.1',
      ),
    /as many as it may/,
  );
  assert.throws(
    () =>
      place(
        many(9, (at) => `www TXT "${at}${'x'.repeat(4_000)}"`),
        'www TXT "y"',
      ),
    /too long/,
  );
  place(
    many(999, (at) => `h${at} A 192.0.2.1`),
    'www A 192.0.2.1',
  );
});
