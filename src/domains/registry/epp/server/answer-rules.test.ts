import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type AnswerRule, followRules } from './answer-rules.ts';
import type { DeliveredCommand, Delivery } from './deliveries.ts';

const info: DeliveredCommand = { kind: 'domain:info', name: 'a.com', registrarId: 'demo', earlier: 0 };
const draw = (rules: readonly AnswerRule[], seed: number, command = info) => {
  const { deliver } = followRules(rules, seed);
  return Array.from({ length: 2_000 }, () => deliver(command));
};
const countOf = (kind: Delivery['kind'], drawn: readonly (Delivery | undefined)[]) =>
  drawn.filter((each) => each?.kind === kind).length;

test('commands meet the shares that are asked for, the same ones for the same seed', () => {
  const rules: readonly AnswerRule[] = [
    { answer: 'silent', share: 0.1 },
    { answer: 'cut', share: 0.2 },
    { answer: 'late', lateMs: 50 },
  ];
  const drawn = draw(rules, 7);
  assert.ok(Math.abs(countOf('silent', drawn) - 200) < 60, `${countOf('silent', drawn)} are silent`);
  assert.ok(Math.abs(countOf('cut', drawn) - 360) < 80, `${countOf('cut', drawn)} are cut`);
  assert.equal(countOf('slow', drawn), drawn.length - countOf('silent', drawn) - countOf('cut', drawn));
  assert.deepEqual(draw(rules, 7), drawn);
  assert.notDeepEqual(draw(rules, 8), drawn);
});

test('the first rule that fits decides: by command, by name, by pattern', () => {
  const { deliver } = followRules(
    [
      { answer: 2400, names: ['stuck.com', '*-stuck.com'] },
      { answer: 2104, commands: ['create', 'renew'] },
      { answer: 2306, commands: ['contact'] },
      { answer: 2502, commands: ['poll'], names: ['a.com'] },
    ],
    1,
  );
  const codeOf = (kind: DeliveredCommand['kind'], name: string) => {
    const chosen = deliver({ ...info, kind, name });
    return chosen?.kind === 'refused' ? chosen.code : chosen;
  };
  assert.deepEqual([codeOf('domain:info', 'stuck.com'), codeOf('domain:create', 'un-stuck.com')], [2400, 2400]);
  assert.deepEqual(
    [codeOf('domain:info', 'stuckxcom'), codeOf('domain:info', 'stuck.com.example')],
    [undefined, undefined],
  );
  assert.deepEqual([codeOf('domain:create', 'a.com'), codeOf('domain:renew', 'a.com')], [2104, 2104]);
  assert.deepEqual([codeOf('contact:create', ''), codeOf('domain:update', 'a.com')], [2306, undefined]);
  assert.equal(codeOf('poll', ''), undefined, 'a message is about no name that the command says');
});

test('logins, contacts, hosts and messages go through unless a rule names them', () => {
  const [all] = [followRules([{ answer: 'silent' }], 1)];
  for (const kind of ['login', 'logout', 'contact:create', 'host:check', 'poll', 'balance:info'] as const) {
    assert.equal(all.deliver({ ...info, kind }), undefined, kind);
  }
  assert.deepEqual(all.deliver(info), { kind: 'silent' });
  const some = followRules([{ answer: 'cut', commands: ['login', 'host'] }], 1);
  assert.deepEqual(some.deliver({ ...info, kind: 'login' }), { kind: 'cut' });
  assert.deepEqual(some.deliver({ ...info, kind: 'host:create' }), { kind: 'cut' });
  assert.equal(some.deliver(info), undefined);
});

test('a check is not refused as if it were of one name: what is wrongly not there is shown as free', () => {
  const { choose, deliver } = followRules([{ answer: 2201, names: ['other.com'] }, { answer: 2303 }], 1);
  assert.equal(deliver({ ...info, kind: 'domain:check' }), undefined);
  assert.deepEqual(deliver(info), { kind: 'refused', code: 2303 });
  assert.deepEqual(deliver({ ...info, name: 'other.com' }), { kind: 'refused', code: 2201 });
  assert.deepEqual([choose('check', 'a.com'), choose('info', 'a.com')], [2303, undefined]);
  const refused = followRules([{ answer: 2400, commands: ['check'] }], 1);
  assert.deepEqual(refused.deliver({ ...info, kind: 'domain:check' }), { kind: 'refused', code: 2400 });
  assert.equal(refused.choose('check', 'a.com'), undefined);
});
