/** Answers on their way to people: in parts, in order, through providers that fail, and past replicas that die. */
import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { startPlatform } from '../../../../test/support/platform.ts';
import {
  createTestChannel,
  openTestProvider,
  type ProviderMood,
  saveTestAccount,
  TEST_KIND,
  type TestProvider,
  writes,
} from '../../../../test/support/test-channel.ts';
import { createTestTools } from '../../../../test/support/tools.ts';
import { eventually, smithOf } from '../../../../test/support/turns.ts';
import type { Database } from '../../../kernel/db/database.ts';
import type { InboundMessage } from '../channel.ts';
import { PAUSED_SENTENCE } from '../sentences.ts';

let db: Database | undefined;
const platform = await startPlatform({
  channels: [createTestChannel(() => db ?? assert.fail('the server has no database yet'))],
  toolSources: [createTestTools().source],
});
db = platform.db;
after(() => platform.close());
const store = platform.db;
const LONG = 'Write 200 words';

async function openChat(settings: Record<string, unknown> = {}) {
  const provider = await openTestProvider();
  after(() => provider.close());
  const project = await platform.createProject();
  const account = await saveTestAccount(store, project.projectId, provider);
  const smith = smithOf(project, await project.createSmith(settings));
  const deployment = await project.post('/v1/deployments', {
    ...{ kind: TEST_KIND, target: { type: 'smith', id: smith.id }, address: '17' },
  });
  assert.equal(deployment.status, 201, deployment.text);
  const write = (text: string, more: Partial<InboundMessage> = {}) =>
    platform.platform.messaging.accept(account, [writes('17', text, more)]);
  return { provider, project, account, smith, write };
}

const textsOf = ({ sent }: TestProvider) => sent.map(({ text }) => text);

function until(provider: TestProvider, count: number): Promise<string[]> {
  return eventually(
    () => (provider.sent.length >= count ? textsOf(provider) : undefined),
    `${count} messages have come`,
  );
}

/** How the project's answers stand, once nothing is on its way. */
async function settledAnswers(projectId: string, count = 1): Promise<string[]> {
  return eventually(async () => {
    const { rows } = await store.query<{ state: string }>({
      text: 'select state from channel_answers where project_id = $1 order by position, id',
      values: [projectId],
    });
    const states = rows.map(({ state }) => state);
    return states.length >= count && states.every((state) => state === 'sent' || state === 'failed')
      ? states
      : undefined;
  }, 'every answer is settled');
}

/** The lapse of time that its owner does not live to see. */
async function makeDue(table: 'channel_chats' | 'channel_outboxes', projectId: string): Promise<void> {
  await store.query({
    text: `update ${table} set next_attempt_at = now() - interval '1 second' where project_id = $1 and next_attempt_at is not null`,
    values: [projectId],
  });
}

test('a long answer comes in parts, one after the other, and the next answer behind them', async () => {
  const { provider, project, smith, write } = await openChat();
  await write(LONG);
  await eventually(async () => ((await project.get(smith.runs)).body.data.length > 0 ? true : undefined), 'it begins');
  await write('Write 3 words');
  assert.deepEqual(await settledAnswers(project.projectId, 2), ['sent', 'sent']);
  const runs = (await project.get(smith.runs)).body.data.reverse();
  const expected = runs.map(({ output }: { output: { content: string } }) => output.content).join('');
  assert.ok(provider.sent.length > 3);
  assert.equal(textsOf(provider).join(''), expected);
});

describe('a provider that answers', () => {
  const cases: readonly { what: string; moods: readonly ProviderMood[]; calls: number }[] = [
    { what: '429 for the chat', moods: ['busy', 'busy'], calls: 3 },
    { what: '429 for the account', moods: ['busy account'], calls: 2 },
    { what: '500', moods: ['broken'], calls: 2 },
    { what: 'garbage', moods: ['garbage'], calls: 2 },
    { what: 'nothing', moods: ['silent'], calls: 2 },
  ];
  for (const { what, moods, calls } of cases) {
    test(`${what} gets the message again, once it can take it`, async () => {
      const { provider, project, write } = await openChat();
      provider.expect(...moods);
      await write('Write 5 words');
      assert.deepEqual(await settledAnswers(project.projectId), ['sent']);
      assert.deepEqual([provider.sent.length, provider.calls()], [1, calls]);
    });
  }

  test('that it cannot read the markup gets plain text', async () => {
    const { provider, write } = await openChat();
    provider.expect('unreadable');
    await write('Say *this*');
    const [only] = await eventually(() => (provider.sent.length > 0 ? provider.sent : undefined), 'it has come');
    assert.deepEqual([only?.plain, only?.text.includes('*'), only?.text.includes('Say this')], [true, false, true]);
  });

  test('that it will never take it gets the rest of the answer no more, and the next answer all the same', async () => {
    const { provider, project, write } = await openChat();
    provider.expect('refusing');
    await write(LONG);
    assert.deepEqual(await settledAnswers(project.projectId), ['failed']);
    await write('Write 4 words');
    assert.deepEqual(await settledAnswers(project.projectId, 2), ['failed', 'sent']);
    assert.equal(provider.calls(), 2);
    const { rows } = await store.query<{ last_error: { code: string; message: string } }>({
      text: 'select last_error from channel_accounts where project_id = $1',
      values: [project.projectId],
    });
    assert.deepEqual([rows[0]?.last_error.code, rows[0]?.last_error.message], ['send_refused', 'The bot was blocked.']);
  });

  test('429 for one chat delays no other chat', async () => {
    const { provider, project, account, smith } = await openChat();
    const other = await project.createSmith();
    await project.post('/v1/deployments', { kind: TEST_KIND, target: { type: 'smith', id: other }, address: '18' });
    provider.decide(({ chat }) => (chat === '17' ? 'busy' : 'ok'));
    await platform.platform.messaging.accept(account, [writes('17', 'Hello'), writes('18', 'Hello')]);
    await until(provider, 1);
    assert.deepEqual(
      provider.sent.map(({ chat }) => chat),
      ['18'],
    );
    provider.decide(() => 'ok');
    await until(provider, 2);
    assert.equal((await project.get(smith.runs)).body.data.length, 1);
  });
});

test('a run that waits for a person says so; the rest comes once it ends, whoever decided', async () => {
  const { provider, project, smith, write } = await openChat();
  await write('Call the tool guarded with {"amount":5}');
  const [waits] = await until(provider, 1);
  assert.equal(waits, PAUSED_SENTENCE);
  const [paused] = (await project.get(smith.runs)).body.data;
  assert.equal(paused.status, 'paused');
  const [{ approval_id }] = paused.output.tool_calls;
  const decided = await smith.submit(paused.id, { kind: 'approval', approval_id, decision: 'approve' });
  assert.equal(decided.status, 200, decided.text);
  assert.deepEqual((await until(provider, 2)).slice(1), ['The tool guarded returned: {"echoed":{"amount":5}}']);
  assert.deepEqual(await settledAnswers(project.projectId), ['sent']);
});

test('what an answer needs of its message reaches the provider, and stands nowhere in the clear', async () => {
  const { provider, project, write } = await openChat();
  await write('Hello', { reply: 'secret-token' });
  await settledAnswers(project.projectId);
  assert.deepEqual(
    provider.sent.map(({ reply }) => reply),
    ['secret-token'],
  );
  for (const table of ['inbound_events', 'channel_answers', 'channel_parts', 'events', 'runs']) {
    const { rows } = await store.query<{ text: string }>({
      text: `select t::text as text from ${table} t where project_id = $1`,
      values: [project.projectId],
    });
    assert.ok(
      rows.every(({ text }) => !text.includes('secret-token')),
      table,
    );
  }
});

test('somebody is shown to write while a turn takes long', async () => {
  const { provider, write } = await openChat();
  await write('Write 30 words at 20 words per second');
  await until(provider, 1);
  assert.ok(provider.typing.length >= 1);
});

describe('a replica that dies', () => {
  test('between the turn’s start and the note of it leaves a turn that is found again', async () => {
    const { provider, project, smith, write } = await openChat();
    await write('Write 5 words');
    await settledAnswers(project.projectId);
    // As it is where the turn has begun, and nothing else has been written.
    await store.query({
      text: `
        with gone as (delete from channel_answers where project_id = $1 returning chat_id)
        update channel_chats set settled = 0, claims = 1, next_attempt_at = now() where project_id = $1`,
      values: [project.projectId],
    });
    await store.query({
      text: `
        update inbound_events set state = 'waiting', run_id = null,
          message = jsonb_build_object('text', 'Write 5 words', 'attachments', '[]'::jsonb)
        where project_id = $1`,
      values: [project.projectId],
    });
    await until(provider, 2);
    assert.equal((await project.get(smith.runs)).body.data.length, 1);
    const [first, again] = textsOf(provider);
    assert.equal(again, first);
  });

  test('between the end of a turn and its answer leaves one that a sweep finds, before those behind it', async () => {
    const { provider, project, write } = await openChat();
    await write('Write 5 words');
    await settledAnswers(project.projectId);
    await store.query({
      text: `
        with gone as (delete from channel_parts where project_id = $1)
        update channel_answers set state = 'open', segments = 0, settled_at = null where project_id = $1`,
      values: [project.projectId],
    });
    await write('Write 6 words');
    const counts = (await until(provider, 3)).map((text) => text.split(' ').length);
    assert.deepEqual(counts, [5, 5, 6]);
  });

  test('before it sends leaves a part that another sends, once', async () => {
    const { provider, project, write } = await openChat();
    await write('Write 5 words');
    await settledAnswers(project.projectId);
    await leaveUnsent(project.projectId, 'waiting');
    await makeDue('channel_outboxes', project.projectId);
    await until(provider, 2);
    assert.deepEqual(await settledAnswers(project.projectId), ['sent']);
  });

  test('while it sends leaves a part that is sent once more, and is given up in the end', async () => {
    const { provider, project, write } = await openChat();
    await write('Write 5 words');
    await settledAnswers(project.projectId);
    await leaveUnsent(project.projectId, 'sending');
    await makeDue('channel_outboxes', project.projectId);
    await until(provider, 2);
    await settledAnswers(project.projectId);
    await leaveUnsent(project.projectId, 'sending', 2);
    await makeDue('channel_outboxes', project.projectId);
    assert.deepEqual(await settledAnswers(project.projectId), ['failed']);
    assert.equal(provider.sent.length, 2);
  });
});

/** As a replica leaves it that dies before its part is known to be sent. */
async function leaveUnsent(projectId: string, state: 'waiting' | 'sending', losses = 0): Promise<void> {
  await store.query({
    text: `
      with part as (
        update channel_parts set state = $2, losses = $3, sending_since = case when $2 = 'sending' then now() end
        where project_id = $1 returning *
      ), answer as (
        update channel_answers a set state = 'planned', settled_at = null from part where a.project_id = part.project_id and a.id = part.answer_id
      )
      update channel_outboxes set next_attempt_at = now() + interval '1 hour' where project_id = $1`,
    values: [projectId, state, losses],
  });
}
