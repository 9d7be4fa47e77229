import assert from 'node:assert/strict';
import { createSecretKey } from 'node:crypto';
import { test } from 'node:test';
import { createVault } from '../../../kernel/vault/vault.ts';
import { openTicket, sealTicket } from './call-ticket.ts';

const vault = createVault([createSecretKey(Buffer.alloc(32, 1))]);
const TICKET = {
  callSid: 'CA1',
  accountId: 'AC1:+4930901820',
  deploymentId: 'dep_1',
  smithId: 'smt_1',
  threadId: 'thr_1',
  from: '+4915112345678',
  to: '+4930901820',
};
const NOW = new Date('2026-03-01T10:00:00Z');
const sealed = sealTicket(vault, 'proj_1', TICKET, NOW);

function open(text: string, { projectId = 'proj_1', minutes = 0 } = {}) {
  return openTicket(vault, projectId, text, new Date(NOW.getTime() + minutes * 60_000));
}

test('a ticket is good for five minutes, in its project', () => {
  assert.deepEqual(open(sealed, { minutes: 4.9 }), TICKET);
  assert.equal(open(sealed, { minutes: 5 }), undefined);
  assert.equal(open(sealed, { projectId: 'proj_2' }), undefined);
});

test('what is no ticket, or was changed, is none', () => {
  for (const text of ['', 'v1.a.b', sealed.replace('v1.', 'v2.'), sealed.slice(0, -4)])
    assert.equal(open(text), undefined);
});
