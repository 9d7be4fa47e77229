import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { startOpenAiUpstream } from '../../../../test/fakes/openai-upstream.ts';
import { startPlatform } from '../../../../test/support/platform.ts';
import { eventually, makeSmith, makeUpstreamSmith } from '../../../../test/support/turns.ts';

const platform = await startPlatform();
after(() => platform.close());

const pathOf = (smithId: string) => `/v1/smiths/${smithId}/memory`;

test('working memory is empty until it is written, is replaced whole, and every turn is given it', async () => {
  const smith = await makeSmith(platform);
  assert.deepEqual((await smith.project.get(pathOf(smith.id))).body, { content: '' });
  const content = 'The user’s boat is called Petrel.\nThe user lives in Lima.';
  const put = await smith.project.put(pathOf(smith.id), { content });
  assert.deepEqual([put.status, put.body], [200, { content }]);
  for (const thread_id of ['one', 'two']) {
    const { body } = await smith.ask('What is my boat called?', { thread_id });
    assert.match(body.output.content, /> The user’s boat is called Petrel\./);
  }
  await smith.project.put(pathOf(smith.id), { content: '' });
  assert.deepEqual((await smith.project.get(pathOf(smith.id))).body, { content: '' });
  assert.doesNotMatch((await smith.ask('What is my boat called?')).body.output.content, /Petrel/);
});

test('a memory that is too long, and a body that is none, are refused and nothing is written', async () => {
  const smith = await makeSmith(platform);
  await smith.project.put(pathOf(smith.id), { content: 'Kept' });
  for (const body of [{ content: 'x'.repeat(32_769) }, {}, { content: 5 }, { content: 'a', more: 1 }]) {
    const refused = await smith.project.put(pathOf(smith.id), body);
    assert.deepEqual([refused.status, refused.body.error.code], [422, 'invalid_request']);
  }
  assert.deepEqual((await smith.project.get(pathOf(smith.id))).body, { content: 'Kept' });
});

test('a long memory leaves a small model room for the conversation', async () => {
  const smith = await makeSmith(platform);
  await smith.project.put(pathOf(smith.id), { content: 'Lorem ipsum dolor sit amet. '.repeat(1_100) });
  const { body } = await smith.ask('Write 3 words');
  assert.equal(body.status, 'completed', JSON.stringify(body.error));
});

test('recall finds what was said by its meaning, in every thread of the smith and in no other’s', async () => {
  const project = await platform.createProject();
  const smith = await makeSmith(platform, {}, project);
  const other = await makeSmith(platform, {}, project);
  await smith.ask('My cat is called Minka and sleeps all day', { thread_id: 'pets' });
  await smith.ask('The invoice of March has not been paid', { thread_id: 'money' });
  await other.ask('My dog is called Rex', { thread_id: 'pets' });
  const recalled = await project.post(`${pathOf(smith.id)}/recall`, {
    query: 'What is the name of my kitten?',
    limit: 1,
  });
  assert.equal(recalled.status, 200, recalled.text);
  const [best] = recalled.body.data;
  assert.deepEqual([recalled.body.data.length, best.thread_id], [1, 'pets']);
  assert.match(best.content, /^User: My cat is called Minka/);
  assert.ok(best.score > 0 && best.score <= 1);
  const all = await project.post(`${pathOf(smith.id)}/recall`, { query: 'kitten' });
  assert.deepEqual(
    all.body.data.map((each: { thread_id: string }) => each.thread_id),
    ['pets', 'money'],
  );

  // From now on turns are found without another question in between.
  await smith.ask('I have moved to Oslo', { thread_id: 'home' });
  await eventually(async () => {
    const { rowCount } = await platform.db.query({
      text: `select from recall_passages where smith_id = $1 and thread_id = 'home'`,
      values: [smith.id],
    });
    return rowCount === 1 ? true : undefined;
  }, 'the turn is indexed as it ends');
});

test('a turn under way is not found, and is once it has ended', async () => {
  const upstream = await startOpenAiUpstream();
  after(() => upstream.close());
  const smith = await makeUpstreamSmith(platform, upstream);
  const { promise: held, resolve: release } = Promise.withResolvers<void>();
  upstream.respondWith({ type: 'answer', deltas: ['Many words.'], held });
  const path = `${pathOf(smith.id)}/recall`;
  const runId = await smith.begin('Which words?');
  assert.deepEqual((await smith.project.post(path, { query: 'words' })).body, { data: [] });
  release();
  await smith.settled(runId);
  await eventually(async () => {
    const { body } = await smith.project.post(path, { query: 'words' });
    return body.data.length > 0 ? true : undefined;
  }, 'the turn is found');
});

test('a smith with auto_memory keeps facts with the run of each, and uses them in other threads', async () => {
  const smith = await makeSmith(platform, { auto_memory: true });
  const first = await smith.ask('Call the tool remember with {"fact":"The user prefers green tea"}');
  assert.equal(first.body.status, 'completed', first.text);
  const again = await smith.ask('Call the tool remember with {"fact":"the user prefers green tea"}');
  const { body } = await smith.project.get(pathOf(smith.id));
  assert.deepEqual(body, { content: `- The user prefers green tea (${first.body.id}, ${again.body.id})` });
  assert.match((await smith.ask('Which tea do I like?')).body.output.content, /prefers green tea/);
});

test('a smith without auto_memory has no tools of memory', async () => {
  const smith = await makeSmith(platform);
  const { body } = await smith.ask('Call the tool remember with {"fact":"The user prefers green tea"}');
  assert.match(body.output.content, /not among the tools/);
  assert.deepEqual((await smith.project.get(pathOf(smith.id))).body, { content: '' });
});

test('facts that two turns learn at the same moment are both kept', async () => {
  const project = await platform.createProject();
  const smith = await makeSmith(platform, { auto_memory: true }, project);
  const facts = Array.from({ length: 6 }, (_, index) => `Fact number ${index}`);
  const text = facts.map((fact) => `Call the tool remember with {"fact":"${fact}"}.`).join(' ');
  const { body } = await smith.ask(text);
  assert.equal(body.status, 'completed', JSON.stringify(body.error));
  const { content } = (await project.get(pathOf(smith.id))).body;
  for (const fact of facts) assert.ok(content.includes(`- ${fact} (${body.id})`), content);
});

test('memory_consolidation puts facts that say the same into one line, with all of their runs', async () => {
  const smith = await makeSmith(platform, { auto_memory: true, memory_consolidation: true });
  const runs: string[] = [];
  for (const fact of ['The user has a cat named Minka', 'The user has got a cat named Minka']) {
    const { body } = await smith.ask(`Call the tool remember with {"fact":"${fact}"}`);
    runs.push(body.id);
  }
  await eventually(async () => {
    const { content } = (await smith.project.get(pathOf(smith.id))).body;
    return content === `- The user has got a cat named Minka (${runs.join(', ')})` ? true : undefined;
  }, 'the two are one');
});
