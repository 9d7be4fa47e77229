import assert from 'node:assert/strict';
import { test } from 'node:test';
import { checkNode } from './check-machine.ts';
import { judgePlay } from './check-play-money.ts';
import { judgeVerification } from './check-registries.ts';
import { judgeClock, judgeVector } from './check-store.ts';

test('a Node that is too old fails, a newer one passes', () => {
  assert.equal(checkNode('20.19.2').status, 'failed');
  assert.equal(checkNode('24.0.0').status, 'ok');
  assert.equal(checkNode('26.1.0').status, 'ok');
});

const VECTORS: readonly [installed: string | null, available: string | null, status: string, fix: RegExp][] = [
  [null, null, 'failed', /Install pgvector 0\.8/],
  [null, '0.7.4', 'failed', /Install pgvector 0\.8/],
  [null, '0.8.0', 'ok', /^$/],
  ['0.7.4', '0.8.1', 'failed', /^In this database, run as an administrator: alter extension vector update$/],
  ['0.7.4', '0.7.4', 'failed', /Install pgvector 0\.8.*alter extension/],
  ['0.8.0', '0.8.0', 'ok', /^$/],
  ['0.10.0', '0.10.0', 'ok', /^$/],
  ['1.0', '1.0', 'ok', /^$/],
];

for (const [installed, available, status, fix] of VECTORS) {
  test(`pgvector ${installed ?? 'absent'}, ${available ?? 'none'} on offer: ${status}`, () => {
    const finding = judgeVector({ installed, available, creatable: true });
    assert.equal(finding.status, status);
    assert.match(finding.fix ?? '', fix);
  });
}

test('a role that may not enable pgvector is warned while it is not enabled', () => {
  const finding = judgeVector({ installed: null, available: '0.8.0', creatable: false });
  assert.deepEqual([finding.status, finding.fix?.includes('create extension vector')], ['warning', true]);
  assert.equal(judgeVector({ installed: '0.8.0', available: '0.8.0', creatable: false }).status, 'ok');
});

test('a clock may differ by five seconds, either way', () => {
  assert.equal(judgeClock(5_000).status, 'ok');
  assert.equal(judgeClock(-5_000).status, 'ok');
  assert.match(judgeClock(5_001).detail, /ahead of the database/);
  assert.match(judgeClock(-60_000).detail, /60\.0 s behind the database/);
  assert.equal(judgeClock(Number.NaN).status, 'failed');
});

test('generic TLDs whose registrants are not verified are named, to an accredited registrar as a warning', () => {
  const [on, off] = [{ tld: 'org', verifyRegistrantsFrom: new Date('2031-01-01') }, { tld: 'com' }];
  const others = [on, { tld: 'de' }, { tld: 'co.uk' }];
  assert.deepEqual(judgeVerification(others, 9_999), []);
  const [warned] = judgeVerification([...others, off], 9_999);
  assert.deepEqual(
    [warned?.status, warned?.detail],
    ['warning', 'registrants’ e-mail addresses are not verified in com'],
  );
  assert.match(warned?.fix ?? '', /verify_registrants_from/);
  assert.equal(judgeVerification([off], undefined)[0]?.status, 'ok');
  const many = Array.from({ length: 12 }, (_, index) => ({ tld: `tld${index}x` }));
  assert.match(judgeVerification(many, undefined)[0]?.detail ?? '', /tld9x and 2 more$/);
});

test('what a real registry would end is a warning, and an order that holds play money fails', () => {
  const explain = (id: string) => `end ${id}`;
  const spent = [{ workspaceId: 'wsp_1', leftCents: 0 }];
  const left = [...spent, { workspaceId: 'wsp_2', leftCents: 8_810 }];
  assert.deepEqual(judgePlay({ credits: spent, names: 0, orderIds: [] }, explain), []);
  const [warned] = judgePlay({ credits: left, names: 2, orderIds: [] }, explain);
  assert.deepEqual(
    [warned?.status, warned?.detail.includes('88.10 EUR of play credit and 2 names')],
    ['warning', true],
  );
  const [held] = judgePlay({ credits: left, names: 2, orderIds: ['ord_1', 'ord_2'] }, explain);
  assert.deepEqual(
    [held?.status, held?.detail, held?.fix],
    ['failed', '2 orders hold play money, and the domain service does not start', 'end ord_1'],
  );
});
