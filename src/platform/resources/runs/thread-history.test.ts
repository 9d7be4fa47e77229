import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { type OpenAiAnswer, startOpenAiUpstream } from '../../../../test/fakes/openai-upstream.ts';
import { readEvents } from '../../../../test/support/agents.ts';
import { startPlatform } from '../../../../test/support/platform.ts';
import { collectFrames } from '../../../../test/support/read-frames.ts';
import {
  clientTool,
  eventually,
  framesUntil,
  isType,
  makeSmith,
  makeUpstreamSmith,
  openFrames,
  question,
  sentBody,
  sentTexts,
  type TestSmith,
} from '../../../../test/support/turns.ts';
import { json } from '../../../kernel/db/values.ts';

const upstream = await startOpenAiUpstream();
const platform = await startPlatform();
after(async () => {
  await platform.close();
  await upstream.close();
});

function says(...deltas: string[]): OpenAiAnswer {
  return { type: 'answer', deltas };
}

function calls(name: string, id = 'call_0'): OpenAiAnswer {
  return { type: 'answer', toolCalls: [{ id, name, arguments: '{}' }] };
}

const IN_THREAD = { thread_id: 'main' };

test('a turn sees the turns before it on its thread, and no other thread’s', async () => {
  const smith = await makeUpstreamSmith(platform, upstream, { instructions: 'Be brief.' });
  const neighbour = await makeSmith(platform, { model: 'openai-compatible/small' }, smith.project);
  upstream.respondWith([says('One'), says('Other'), says('Foreign'), says('Two')]);
  await smith.ask('First', IN_THREAD);
  await smith.ask('Elsewhere', { thread_id: 'side' });
  await neighbour.ask('Next door', IN_THREAD);
  await smith.ask('Second', IN_THREAD);
  assert.deepEqual(sentTexts(upstream), ['system: Be brief.', 'user: First', 'assistant: One', 'user: Second']);
  assert.deepEqual(sentTexts(upstream, -3), ['system: Be brief.', 'user: Elsewhere']);
  assert.deepEqual(sentTexts(upstream, -2), ['user: Next door']);
});

test('a thread id is any printable text of up to 256 characters, and comes back as it was sent', async () => {
  const smith = await makeUpstreamSmith(platform, upstream);
  const ids = [
    ' ',
    '__proto__',
    `Größe/№ 42?a=1&b="2"#c%2F%00\\u0000 'x' <b>{}[]`,
    '對話 · שיחה · محادثة',
    '👨‍👩‍👧‍👦',
    '𝒜'.repeat(256),
  ];
  for (const thread_id of ids) {
    upstream.respondWith([says('One'), calls('look_up'), says('Two'), says('Again')]);
    const { body: first, status } = await smith.ask('First', { thread_id });
    assert.equal(status, 201, JSON.stringify(first));
    const { body: paused } = await smith.ask('Second', { thread_id, tools: [clientTool('look_up')] });
    assert.equal(paused.status, 'paused', JSON.stringify(paused));
    const [call] = paused.output.tool_calls;
    const { body: second } = await smith.submit(paused.id, { kind: 'tool_result', tool_call_id: call.id, result: {} });
    assert.deepEqual(sentTexts(upstream).slice(0, 3), ['user: First', 'assistant: One', 'user: Second']);
    assert.deepEqual([first.thread_id, second.thread_id], [thread_id, thread_id]);
    assert.equal((await smith.get(second.id)).thread_id, thread_id);
    const [started] = await collectFrames(await smith.events(second.id));
    assert.equal(started?.data.data.thread_id, thread_id);
    const events = await readEvents(smith.project, 'run.completed');
    assert.equal(events.at(-1)?.data.thread_id, thread_id);
    const replayed = await smith.project.post(`${smith.runs}/${first.id}/replay`);
    assert.equal(replayed.body.output.content, 'Again', replayed.text);
  }
});

test('several messages of one input keep their order and roles; system messages come first', async () => {
  const smith = await makeUpstreamSmith(platform, upstream, { instructions: 'Be brief.' });
  upstream.respondWith([says('One'), says('Two')]);
  await smith.ask('First', IN_THREAD);
  await smith.project.post(smith.runs, {
    ...IN_THREAD,
    input: [
      { role: 'assistant', content: 'Earlier answer' },
      { role: 'developer', content: 'Speak French.' },
      { role: 'user', content: 'Second' },
    ],
  });
  // Providers take system messages at the beginning only.
  assert.deepEqual(sentTexts(upstream), [
    'system: Be brief.',
    'system: Speak French.',
    'user: First',
    'assistant: One',
    'assistant: Earlier answer',
    'user: Second',
  ]);
});

test('tool calls and their results are part of the history, each with its own, though providers repeat their ids', async () => {
  const smith = await makeUpstreamSmith(platform, upstream);
  upstream.respondWith([calls('look_up'), says('Blue'), calls('look_up'), says('Green'), says('Both')]);
  for (const color of ['blue', 'green']) {
    const { body } = await smith.ask(`Which is ${color}?`, { ...IN_THREAD, tools: [clientTool('look_up')] });
    const [call] = body.output.tool_calls;
    const { status } = await smith.submit(body.id, { kind: 'tool_result', tool_call_id: call.id, result: { color } });
    assert.equal(status, 200);
  }
  await smith.ask('And now?', IN_THREAD);
  assert.deepEqual(sentTexts(upstream), [
    'user: Which is blue?',
    'assistant: look_up({})',
    'tool: {"color":"blue"}',
    'assistant: Blue',
    'user: Which is green?',
    'assistant: look_up({})',
    'tool: {"color":"green"}',
    'assistant: Green',
    'user: And now?',
  ]);
});

test('a turn that runs while another is paused sees its open call as unfinished; the paused one goes on from where it was', async () => {
  const smith = await makeUpstreamSmith(platform, upstream);
  upstream.respondWith([calls('look_up'), says('Between'), says('In the end'), says('Last')]);
  const { body: paused } = await smith.ask('First', { ...IN_THREAD, tools: [clientTool('look_up')] });
  await smith.ask('Second', IN_THREAD);
  const seen = sentTexts(upstream);
  assert.deepEqual([seen[0], seen[1], seen[3]], ['user: First', 'assistant: look_up({})', 'user: Second']);
  assert.match(seen[2] ?? '', /^tool: .*not finished/);

  await smith.submit(paused.id, {
    kind: 'tool_result',
    tool_call_id: paused.output.tool_calls[0].id,
    result: { n: 1 },
  });
  assert.deepEqual(sentTexts(upstream), ['user: First', 'assistant: look_up({})', 'tool: {"n":1}']);
  await smith.ask('Third', IN_THREAD);
  assert.deepEqual(sentTexts(upstream), [
    'user: First',
    'assistant: look_up({})',
    'tool: {"n":1}',
    'assistant: In the end',
    'user: Second',
    'assistant: Between',
    'user: Third',
  ]);
});

test('what a cancelled turn had said is remembered', async () => {
  const smith = await makeUpstreamSmith(platform, upstream);
  upstream.respondWith([{ ...says('So', ' far', ' never'), fault: { afterChunks: 2, type: 'hang' } }, says('Yes')]);
  const frames = openFrames(await smith.stream('First', IN_THREAD));
  const seen = await framesUntil(frames, (frame) => frame.data.data.text?.endsWith(' far'));
  await smith.cancel(seen[0]?.data.run_id);
  await framesUntil(frames, isType('run.cancelled'));
  await smith.ask('Go on', IN_THREAD);
  assert.deepEqual(sentTexts(upstream), ['user: First', 'assistant: So far', 'user: Go on']);
});

test('a failed turn’s question is remembered', async () => {
  const smith = await makeUpstreamSmith(platform, upstream);
  upstream.respondWith([{ type: 'status', status: 401 }, says('Yes')]);
  assert.equal((await smith.ask('First', IN_THREAD)).body.status, 'failed');
  await smith.ask('Again', IN_THREAD);
  assert.deepEqual(sentTexts(upstream), ['user: First', 'user: Again']);
});

function words(count: number, seed = 'word'): string {
  return Array.from({ length: count }, (_, n) => `${seed}${n}`).join(' ');
}

function codes(run: { warnings: { code: string }[] }): string[] {
  return run.warnings.map(({ code }) => code);
}

async function readSteps(smith: TestSmith, runId: string) {
  const { rows } = await platform.db.query<{ position: number; kind: string; input_tokens: number; output: unknown }>({
    text: 'select position, kind, input_tokens, output from run_steps where project_id = $1 and run_id = $2 order by position',
    values: [smith.project.projectId, runId],
  });
  return rows;
}

test('a thread that outgrows the window is folded into a summary and goes on, turn after turn', async () => {
  const smith = await makeSmith(platform);
  let folded = 0;
  for (let turn = 1; turn <= 30; turn += 1) {
    const { body } = await smith.ask(`Turn ${turn}: ${words(500)}`, IN_THREAD);
    assert.deepEqual([body.status, body.error], ['completed', null], `turn ${turn}`);
    assert.match(body.output.content, new RegExp(`You wrote: "Turn ${turn}:`));
    assert.ok(body.usage.input_tokens <= 8192);
    if (!codes(body).includes('history_compacted')) continue;
    folded += 1;
    const steps = await readSteps(smith, body.id);
    assert.deepEqual(
      steps.map(({ position, kind }) => [position, kind]),
      [
        [0, 'compaction'],
        [1, 'model'],
      ],
    );
  }
  assert.ok(folded > 1 && folded < 15, `folded ${folded} times in 30 turns`);
});

test('a thread of 300 turns that was never folded is folded when a small model takes it up, and keeps its newest turns', async () => {
  const smith = await makeSmith(platform);
  await smith.ask('Turn 1', IN_THREAD);
  await platform.db.query({
    text: `
      insert into messages (project_id, smith_id, thread_id, turn, position, role, content, tokens)
      select $1, $2, 'main', turn, position, case position when 0 then 'user' else 'assistant' end,
        jsonb_build_array(jsonb_build_object('type', 'text', 'text', 'Number ' || turn || ' of ' || repeat('many words ', 20))), 54
      from generate_series(2, 299) turn, generate_series(0, 1) position`,
    values: [smith.project.projectId, smith.id],
  });
  await platform.db.query({
    text: `update threads set turns = 299 where project_id = $1 and smith_id = $2`,
    values: [smith.project.projectId, smith.id],
  });
  const { body } = await smith.ask('Turn 300', IN_THREAD);
  assert.deepEqual([body.status, codes(body)], ['completed', ['history_compacted']], JSON.stringify(body));
  const { rows } = await platform.db.query<{ summary: string; summary_turn: number }>({
    text: 'select summary, summary_turn from threads where project_id = $1 and smith_id = $2',
    values: [smith.project.projectId, smith.id],
  });
  // About half of the room is kept word by word.
  assert.ok((rows[0]?.summary_turn ?? 0) < 285, `folded up to turn ${rows[0]?.summary_turn}`);
  assert.match(rows[0]?.summary ?? '', /Number 2\d\d of many words/);
  const next = await smith.ask('Turn 301', IN_THREAD);
  assert.deepEqual([next.body.status, codes(next.body)], ['completed', []]);
});

test('an input that alone is larger than the window is cut, not refused', async () => {
  const smith = await makeSmith(platform);
  const { body } = await smith.ask(`Write 3 words. ${words(40_000)}`);
  assert.deepEqual([body.status, codes(body)], ['completed', ['input_truncated']]);
  assert.equal(body.output.content, 'amber birch cedar');
  // The run keeps what was asked.
  assert.ok(body.input[0].content.endsWith('word39999'));
  const image = { type: 'image_url', image_url: { url: `data:image/png;base64,${'A'.repeat(100_000)}` } };
  const mixed = await smith.project.post(smith.runs, {
    input: [{ role: 'user', content: [{ type: 'text', text: `Write 3 words. ${words(40_000)}` }, image] }],
  });
  assert.deepEqual([mixed.body.status, codes(mixed.body)], ['completed', ['input_truncated']], mixed.text.slice(-600));
});

test('many messages that together are larger than the window are cut, not refused; the question stays', async () => {
  const smith = await makeSmith(platform);
  const input = Array.from({ length: 199 }, (_, n) => ({ role: 'user', content: words(120, `m${n}x`) }));
  const { body } = await smith.project.post(smith.runs, {
    input: [...input, { role: 'user', content: 'Write 3 words' }],
  });
  assert.deepEqual([body.status, body.output?.content], ['completed', 'amber birch cedar'], JSON.stringify(body.error));
  const images = Array.from({ length: 40 }, () => ({
    type: 'image_url',
    image_url: { url: 'data:image/png;base64,AAAA' },
  }));
  const many = await smith.project.post(smith.runs, {
    input: [{ role: 'user', content: [...images, { type: 'text', text: 'Write 3 words' }] }],
  });
  assert.deepEqual(
    [many.body.status, many.body.output?.content],
    ['completed', 'amber birch cedar'],
    many.text.slice(-600),
  );
});

test('results and arguments of tools that are larger than the window are cut, not refused', async () => {
  const smith = await makeSmith(platform);
  const body = words(2_000);
  const { body: paused } = await smith.ask(`Call the tool save with {"body":"${body}"}`, {
    tools: [clientTool('save')],
  });
  assert.equal(paused.status, 'paused');
  const { body: run } = await smith.submit(paused.id, {
    kind: 'tool_result',
    tool_call_id: paused.output.tool_calls[0].id,
    result: { rows: Array.from({ length: 4_000 }, (_, n) => ({ n, text: `row ${n}` })) },
  });
  assert.deepEqual([run.status, codes(run)], ['completed', ['input_truncated']], JSON.stringify(run.error));
});

test('a model whose window is smaller than known is asked again with less, and the summary is its own', async () => {
  const smith = await makeUpstreamSmith(platform, upstream);
  upstream.respondWith(says('Noted'));
  for (let turn = 1; turn <= 4; turn += 1) await smith.ask(`Turn ${turn} ${words(9_000)}`, IN_THREAD);
  const before = upstream.requests.length;
  upstream.respondWith([{ type: 'context_length_exceeded' }, says('They spoke of words'), says('Done')]);
  const { body } = await smith.ask('Turn 5', { ...IN_THREAD, tools: [clientTool('look_up')], tool_choice: 'required' });
  assert.deepEqual([body.status, body.output.content, codes(body)], ['completed', 'Done', ['history_compacted']]);
  assert.equal(upstream.requests.length - before, 3);
  const [brief, transcript] = sentTexts(upstream, -2);
  assert.match(brief ?? '', /^system: Summarize the conversation/);
  assert.match(transcript ?? '', /^user: user: Turn 1 word0/);
  const sent = sentTexts(upstream);
  assert.match(sent[0] ?? '', /^system: What was said earlier[\s\S]*They spoke of words$/);
  assert.equal(sent.at(-1), 'user: Turn 5');
  // A choice that was forced for the turn still is.
  assert.equal(sentBody(upstream).tool_choice, 'required');
  // The summary stands for the next turn as well.
  await smith.ask('Turn 6', IN_THREAD);
  assert.match(sentTexts(upstream)[0] ?? '', /They spoke of words/);
});

test('a model that cannot summarize is helped by an excerpt', async () => {
  const smith = await makeUpstreamSmith(platform, upstream);
  upstream.respondWith(says('Noted'));
  for (let turn = 1; turn <= 3; turn += 1) await smith.ask(`Turn ${turn} ${words(9_000)}`, IN_THREAD);
  upstream.respondWith([{ type: 'context_length_exceeded' }, { type: 'status', status: 400 }, says('Done')]);
  const { body } = await smith.ask('Turn 4', IN_THREAD);
  assert.equal(body.output.content, 'Done');
  assert.match(sentTexts(upstream)[0] ?? '', /^system: What was said earlier[\s\S]*user: Turn 1 word0/);
});

test('a turn that is paused while a later one folds the thread still goes on', async () => {
  const smith = await makeSmith(platform);
  const { body: paused } = await smith.ask('Call the tool look_up with {}', {
    ...IN_THREAD,
    tools: [clientTool('look_up')],
  });
  for (let turn = 1; turn <= 5; turn += 1) await smith.ask(`Turn ${turn} ${words(700)}`, IN_THREAD);
  const { rows } = await platform.db.query<{ summary_turn: number }>({
    text: 'select summary_turn from threads where project_id = $1 and smith_id = $2',
    values: [smith.project.projectId, smith.id],
  });
  assert.ok((rows[0]?.summary_turn ?? 0) >= 1, 'the paused turn was folded');
  const { status, body } = await smith.submit(paused.id, {
    kind: 'tool_result',
    tool_call_id: paused.output.tool_calls[0].id,
    result: { found: 'it' },
  });
  assert.deepEqual([status, body.status], [200, 'completed'], JSON.stringify(body));
  assert.equal(body.output.content, 'The tool look_up returned: {"found":"it"}');
});

test('a turn that starts at the moment the one before it ends sees its answer', async (t) => {
  if (platform.db.kind === 'embedded') return t.skip('one connection: no statement waits for another');
  const smith = await makeUpstreamSmith(platform, upstream);
  upstream.respondWith([{ ...says('never'), fault: { afterChunks: 0, type: 'hang' } }, says('Two')]);
  const runId = await smith.begin('First', IN_THREAD);
  const { promise: started, resolve: start } = Promise.withResolvers<void>();
  const { promise: mayCommit, resolve: commit } = Promise.withResolvers<void>();
  // The end of the first turn, as another replica would write it, not committed yet.
  const ending = platform.db.transaction(async (tx) => {
    const key = [smith.project.projectId, runId];
    await tx.query({
      text: `update runs set status = 'completed', attempt = attempt + 1 where project_id = $1 and id = $2`,
      values: key,
    });
    await tx.query({
      text: `
        insert into messages (project_id, smith_id, thread_id, turn, position, role, content, tokens)
        values ($1, $2, 'main', 1, 1, 'assistant', $3, 5)`,
      values: [smith.project.projectId, smith.id, json([{ type: 'text', text: 'One' }])],
    });
    start();
    await mayCommit;
  });
  await started;
  const second = smith.project.post(smith.runs, { ...question('Second'), ...IN_THREAD });
  await eventually(async () => {
    const { rows } = await platform.db.query({
      text: `select 1 from pg_stat_activity where wait_event_type = 'Lock' and query like '%insert into runs%'`,
    });
    return rows.length > 0 ? true : undefined;
  }, 'the second turn waits for the first');
  commit();
  await ending;
  const { body } = await second;
  assert.equal(body.output.content, 'Two', JSON.stringify(body));
  assert.deepEqual(sentTexts(upstream), ['user: First', 'assistant: One', 'user: Second']);
});
