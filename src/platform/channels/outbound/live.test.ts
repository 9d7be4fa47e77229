/** Pieces of answers, shown while their turns go on: they never stay beside the answer, and never hold it up. */
import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { startOpenAiUpstream } from '../../../../test/fakes/openai-upstream.ts';
import { startPlatform } from '../../../../test/support/platform.ts';
import {
  createTestChannel,
  type LiveCall,
  openTestProvider,
  type ProviderMood,
  saveTestAccount,
  TEST_KIND,
  type TestProvider,
  writes,
} from '../../../../test/support/test-channel.ts';
import { createTestTools } from '../../../../test/support/tools.ts';
import { eventually, makeUpstreamSmith } from '../../../../test/support/turns.ts';
import type { Database } from '../../../kernel/db/database.ts';
import { PAUSED_SENTENCE, STOPPED_SENTENCE } from '../sentences.ts';

let db: Database | undefined;
const store = () => db ?? assert.fail('the server has no database yet');
const tools = createTestTools();
const platform = await startPlatform({
  channels: [createTestChannel(store, { live: true })],
  toolSources: [tools.source],
});
db = platform.db;
after(() => platform.close());

const SENDER = '17';
const BEGINNING = 'The first half';
const REST = 'and the second.';
const WHOLE = `${BEGINNING}\n\n${REST}`;

/** A turn that says its beginning, and the rest once it is let. */
async function openChat(chat = SENDER) {
  const [provider, upstream] = [await openTestProvider(), await startOpenAiUpstream()];
  after(() => Promise.all([provider.close(), upstream.close()]));
  const smith = await makeUpstreamSmith(platform, upstream);
  const { project } = smith;
  const account = await saveTestAccount(store(), project.projectId, provider);
  const target = { type: 'smith', id: smith.id };
  const deployment = await project.post('/v1/deployments', { kind: TEST_KIND, target, address: SENDER });
  assert.equal(deployment.status, 201, deployment.text);
  const write = async (text: string) => {
    await platform.platform.messaging.accept(account, [writes(SENDER, text, { chat })]);
  };
  async function begin(): Promise<string> {
    upstream.respondWith([
      { type: 'answer', deltas: ['The first', ' half'], toolCalls: [{ name: 'gate', arguments: '{}' }] },
      { type: 'answer', deltas: [REST] },
    ]);
    await write('Say it');
    return eventually(async () => (await project.get(smith.runs)).body.data[0]?.id, 'the turn has begun');
  }
  /** How the answers stand, once all are settled. */
  const settled = () =>
    eventually(async () => {
      const { rows } = await store().query<{ state: string }>({
        text: 'select state from channel_answers where project_id = $1 order by position, id',
        values: [project.projectId],
      });
      const states = rows.map(({ state }) => state);
      return states.every((state) => state === 'sent' || state === 'failed') && states.length > 0 ? states : undefined;
    }, 'every answer is settled');
  return { provider, upstream, smith, chat, write, begin, settled };
}

const callsOf = ({ live }: TestProvider, act: LiveCall['act']) => live.filter((call) => call.act === act);

function untilShown(provider: TestProvider, count = 1): Promise<LiveCall> {
  const calls = () => callsOf(provider, 'show').filter(({ text }) => text === BEGINNING);
  return eventually(() => calls()[count - 1], 'the beginning is shown');
}

/** They wait for pieces to be shown at their pace: all of them at once. */
describe('what a turn says', { concurrency: true }, () => {
  test('what a turn has said is shown in a message, whose place the answer takes', async () => {
    const { provider, chat, begin, settled } = await openChat();
    const run = await begin();
    await untilShown(provider);
    assert.deepEqual(provider.standing(chat), [BEGINNING]);
    assert.deepEqual([provider.live[0]?.act, provider.live[0]?.text], ['open', '…'], 'empty until its id is stored');
    tools.open(run);
    assert.deepEqual(await settled(), ['sent']);
    assert.deepEqual(provider.standing(chat), [WHOLE]);
    assert.equal(provider.sent.length, 1);
  });

  test('a draft is shown again before it goes by itself, and the answer is a message of its own', async () => {
    const { provider, chat, begin, settled } = await openChat('draft 1');
    const run = await begin();
    await untilShown(provider, 2);
    assert.deepEqual([callsOf(provider, 'open'), provider.standing(chat)], [[], []]);
    tools.open(run);
    await settled();
    assert.deepEqual(provider.standing(chat), [WHOLE]);
  });

  test('an answer that comes at once is not shown before', async () => {
    const { provider, upstream, chat, write, settled } = await openChat();
    upstream.respondWith({ type: 'answer', deltas: [REST] });
    await write('Be quick');
    await settled();
    assert.deepEqual([provider.live, provider.standing(chat)], [[], [REST]]);
  });

  test('what is shown of a turn that is stopped goes', async () => {
    const { provider, upstream, chat, write, settled } = await openChat();
    upstream.respondWith({ type: 'answer', deltas: [BEGINNING, '.'], fault: { afterChunks: 1, type: 'hang' } });
    await write('Say it');
    await untilShown(provider);
    await write('/stop');
    assert.deepEqual(await settled(), ['sent', 'sent']);
    assert.deepEqual(provider.standing(chat), [STOPPED_SENTENCE]);
  });

  test('a run that waits for a person says so in the place of what was shown, and goes on behind it', async () => {
    const { provider, upstream, chat, smith, write, settled } = await openChat();
    upstream.respondWith([
      { type: 'answer', deltas: [BEGINNING], toolCalls: [{ name: 'gate', arguments: '{}' }] },
      { type: 'answer', deltas: [], toolCalls: [{ name: 'guarded', arguments: '{}' }] },
      { type: 'answer', deltas: [REST] },
    ]);
    await write('Do it');
    const { id } = await eventually(
      async () => (await smith.project.get(smith.runs)).body.data[0],
      'the turn has begun',
    );
    await untilShown(provider);
    tools.open(id);
    const paused = `${BEGINNING}\n\n${PAUSED_SENTENCE}`;
    await eventually(() => (provider.standing(chat)[0] === paused ? true : undefined), 'the pause is told');
    const calls: { approval_id?: string }[] = (await smith.get(id)).output.tool_calls;
    const approval_id = calls.find((call) => call.approval_id !== undefined)?.approval_id;
    const decided = await smith.submit(id, { kind: 'approval', approval_id, decision: 'approve' });
    assert.equal(decided.status, 200, decided.text);
    await settled();
    assert.deepEqual(provider.standing(chat), [paused, REST]);
  });

  describe('a provider that answers what is shown with', { concurrency: true }, () => {
    const moods: readonly ProviderMood[] = ['broken', 'garbage', 'refusing', 'unreadable', 'silent', 'lost', 'hanging'];
    for (const mood of moods) {
      test(`"${mood}" gets the answer all the same, and nothing else stays`, async () => {
        const { provider, chat, begin, settled } = await openChat();
        provider.decideLive(({ act }) => (act === 'show' ? mood : 'ok'));
        const run = await begin();
        await untilShown(provider);
        tools.open(run);
        assert.deepEqual(await settled(), ['sent']);
        assert.deepEqual(provider.standing(chat), [WHOLE]);
      });
    }

    test('429 is asked again once it may be, and sent the answer meanwhile', async () => {
      const { provider, chat, begin, settled } = await openChat();
      let asked = 0;
      provider.decideLive(({ act }) => (act === 'show' && ++asked === 1 ? 'busy' : 'ok'));
      const run = await begin();
      await untilShown(provider, 2);
      tools.open(run);
      assert.deepEqual(await settled(), ['sent']);
      assert.deepEqual(provider.standing(chat), [WHOLE]);
    });
  });

  test('an answer whose beginning another replica has shown takes its place', async () => {
    const { provider, smith, chat, begin, settled } = await openChat();
    const run = await begin();
    const { message } = await untilShown(provider);
    tools.open(run);
    await settled();
    // As a replica leaves it that dies while the turn goes on.
    await fetch(`${provider.url}/live`, {
      method: 'POST',
      body: JSON.stringify({ act: 'show', chat, text: BEGINNING, message }),
    });
    await store().query({
      text: `
      with gone as (delete from channel_parts where project_id = $1)
      update channel_answers set state = 'open', segments = 0, settled_at = null, live = $2 where project_id = $1`,
      values: [smith.project.projectId, JSON.stringify({ message })],
    });
    await eventually(() => (provider.sent.length === 2 ? true : undefined), 'it is sent again');
    assert.deepEqual(provider.standing(chat), [WHOLE]);
  });
});
