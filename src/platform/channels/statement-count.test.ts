/** What a message takes in statements from its webhook to its answer: each is a round trip that all messages pay. */
import assert from 'node:assert/strict';
import { createSecretKey } from 'node:crypto';
import { after, test } from 'node:test';
import { openTestDatabase } from '../../../test/support/database.ts';
import { noteStatements } from '../../../test/support/noted-database.ts';
import { startPlatform } from '../../../test/support/platform.ts';
import { eventually } from '../../../test/support/turns.ts';
import { createVault } from '../../kernel/vault/vault.ts';

// A second server on the database would take some of the work.
const store = await openTestDatabase();
const { db, seen } = noteStatements(store.db);
const platform = await startPlatform({
  publicUrl: 'https://example.com',
  sharing: { db, vault: createVault([createSecretKey(Buffer.alloc(32, 1))]) },
});
after(async () => {
  await platform.close();
  await store.close();
});
const { telegram } = platform;
const CHAT = 4_711;

/** The tables of a message and of its turn; the account is remembered for a moment. */
const COUNTED = /\b(inbound_events|channel_chats|channel_answers|channel_parts|runs|smiths|smith_configurations)\b/;

async function startBot() {
  const project = await platform.createProject();
  const token = telegram.newToken();
  await project.put('/v1/tenant/telegram', { bot_token: token, api_base_url: telegram.url });
  const agent = await project.post('/v1/agents', { name: 'Help', model: 'builtin/demo' });
  await project.post(`/v1/agents/${agent.body.id}/versions`, {});
  const target = { type: 'agent', id: agent.body.id };
  const deployed = await project.post('/v1/deployments', { kind: 'telegram', target });
  assert.equal(deployed.status, 201, deployed.text);
  const listNoted = () =>
    seen.filter(({ text, values }) => COUNTED.test(text) && JSON.stringify(values ?? []).includes(project.projectId));
  /** Statements that name the project, from the webhook until the answer is settled. */
  const ask = async (count: number) => {
    seen.length = 0;
    const { status } = await telegram.say(token, { from: { id: CHAT, first_name: 'Ada' }, text: 'Write 2 words' });
    assert.equal(status, 204);
    await telegram.waitForSent(CHAT, count);
    await eventually(
      () => (listNoted().some(({ text }) => text.includes('update channel_outboxes')) ? true : undefined),
      'the answer is settled',
    );
    return listNoted();
  };
  return { ask };
}

test('a message takes one statement until it is acknowledged, and seven to its answer', async () => {
  const bot = await startBot();
  const first = await bot.ask(1);
  const made = first.findIndex(({ text }) => text.includes('insert into "smiths"'));
  const accepted = first.findIndex(({ text }) => text.includes('insert into inbound_events'));
  assert.ok(made > accepted, 'whoever is new gets a smith after the acknowledgement');

  const noted = await bot.ask(2);
  assert.deepEqual(
    noted.filter(({ isInTransaction }) => isInTransaction),
    [],
  );
  const texts = noted.map(({ text }) => text);
  assert.equal(texts.filter((text) => text.includes('insert into inbound_events')).length, 1);
  // Looks at what may be said come again where they come too early: each text counts once.
  assert.equal(new Set(texts).size, 8, [...new Set(texts)].join('\n'));
});
