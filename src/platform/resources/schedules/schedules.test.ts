import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { type Answer, type Client, startPlatform, type TestProject } from '../../../../test/support/platform.ts';

const platform = await startPlatform();
after(() => platform.close());

const YEARLY = '0 0 1 1 *';
const say = [{ role: 'user', content: 'Write 2 words' }];

async function makePlace(): Promise<{ project: TestProject; smithId: string; schedules: string }> {
  const project = await platform.createProject();
  const smithId = await project.createSmith();
  return { project, smithId, schedules: `/v1/smiths/${smithId}/schedules` };
}

async function create(project: Client, schedules: string, body: object = {}) {
  const answer = await project.post(schedules, { cron: YEARLY, ...body });
  assert.equal(answer.status, 201, answer.text);
  return answer.body;
}

function assertRefused(answer: Answer, status: number, code: string, param: string | null = null): void {
  assert.deepEqual(
    [answer.status, answer.body?.error.code, answer.body?.error.param],
    [status, code, param],
    answer.text,
  );
}

describe('a schedule is created', () => {
  test('with what it is not given as it is by default', async () => {
    const { project, schedules } = await makePlace();
    const yearBefore = new Date().getUTCFullYear();
    const schedule = await create(project, schedules);
    const yearAfter = new Date().getUTCFullYear();
    assert.match(schedule.id, /^sch_/);
    const { id, next_fire_at, created_at, updated_at, ...rest } = schedule;
    assert.deepEqual(rest, {
      name: null,
      cron: YEARLY,
      timezone: 'UTC',
      input: [],
      thread_id: null,
      enabled: true,
      last_fire_at: null,
      waiting: 0,
      last_delivery: null,
    });
    const newYears = [yearBefore, yearAfter].map((year) => `${year + 1}-01-01T00:00:00.000Z`);
    assert.ok(newYears.includes(next_fire_at), next_fire_at);
    assert.equal(updated_at, created_at);
    assert.deepEqual((await project.get(schedules)).body.data, [schedule]);
  });

  test('with all that it takes, and its times on the clock of its zone', async () => {
    const { project, schedules } = await makePlace();
    const given = { name: 'New year', timezone: 'Asia/Tokyo', input: say, thread_id: 'news', enabled: true };
    const schedule = await create(project, schedules, given);
    assert.match(schedule.next_fire_at, /-12-31T15:00:00\.000Z$/);
    for (const [member, value] of Object.entries(given)) assert.deepEqual(schedule[member], value);
  });

  test('and does not fire while it is disabled', async () => {
    const { project, schedules } = await makePlace();
    assert.equal((await create(project, schedules, { enabled: false })).next_fire_at, null);
  });

  for (const cron of [
    '*/5 * * * *',
    '0 7 * * MON-FRI',
    ' 0 0 1,15 jan-mar ? ',
    '0 0 L * *',
    '0 9 * * MON#1',
    '30 2 29 2 *',
  ]) {
    test(`at ${cron}`, async () => {
      const { project, schedules } = await makePlace();
      assert.equal((await create(project, schedules, { cron })).cron, cron);
    });
  }
});

describe('what names no time is invalid_cron', () => {
  const wrong = [
    '* * * * * *', '0 0 31 2 *', '0 0 30,31 2 *', '', '     ', '* * * *', '60 * * * *', '0 24 * * *', '0 0 0 * *', '0 0 * 13 *',
    '0 0 * * 8', '@daily', '@reboot', '2031-01-01T00:00:00', '5/5 * * * *', '*/0 * * * *', '5-1 * * * *', 'a b c d e',
    '0\t0 1 1 *', '0 0 1 1 *\n', '0 0 1 1 *; x', `${'0,'.repeat(200)}0 * * * *`,
  ]; // biome-ignore format: one of many
  for (const cron of wrong) {
    test(JSON.stringify(cron).slice(0, 40), async () => {
      const { project, schedules } = await makePlace();
      assertRefused(await project.post(schedules, { cron }), 422, 'invalid_cron', 'cron');
    });
  }

  test('nothing at all, and no text', async () => {
    const { project, schedules } = await makePlace();
    for (const body of [{}, { cron: null }, { cron: 5 }]) {
      assertRefused(await project.post(schedules, body), 422, 'invalid_cron', 'cron');
    }
  });
});

describe('what is no zone is invalid_timezone', () => {
  for (const timezone of [
    'Mars/Base',
    '',
    '+02:00',
    '-0330',
    'Europe/',
    'Z',
    '../UTC',
    'x'.repeat(65),
    'Europe/Berlin\0',
  ]) {
    test(JSON.stringify(timezone).slice(0, 40), async () => {
      const { project, schedules } = await makePlace();
      const answer = await project.post(schedules, { cron: YEARLY, timezone });
      // PostgreSQL keeps no NUL, which is refused wherever it stands.
      const code = timezone.includes('\0') ? answer.body.error.code : 'invalid_timezone';
      assertRefused(answer, 422, code, 'timezone');
    });
  }
});

describe('what it is to say is checked as the input of a run', () => {
  const wrong: readonly [input: unknown, param: string][] = [
    [[{ role: 'robot', content: 'x' }], 'input.0.role'],
    [[{ role: 'user', content: [] }], 'input.0.content'],
    [[{ role: 'user', content: [{ type: 'video' }] }], 'input.0.content.0.type'],
    [[{ role: 'user', content: [{ type: 'input_file', file_id: 'file_x' }] }], 'input.0.content.0'],
    [[{ role: 'user' }], 'input.0.content'],
    [[{ role: 'user', content: 'x', tool_calls: [] }], 'input.0.tool_calls'],
    ['hello', 'input'],
  ];
  for (const [input, param] of wrong) {
    test(JSON.stringify(input), async () => {
      const { project, schedules } = await makePlace();
      const answer = await project.post(schedules, { cron: YEARLY, input });
      assert.ok([422].includes(answer.status), answer.text);
      assert.equal(answer.body.error.param, param);
      assert.ok(['invalid_input', 'invalid_request'].includes(answer.body.error.code));
    });
  }

  const sized = (bytes: number) => [
    { role: 'user', content: 'x'.repeat(bytes - '[{"role":"user","content":""}]'.length) },
  ];
  test('65,536 bytes of it are taken, one more is refused with the limit', async () => {
    const { project, schedules } = await makePlace();
    await create(project, schedules, { input: sized(65_536) });
    const answer = await project.post(schedules, { cron: YEARLY, input: sized(65_537) });
    assertRefused(answer, 422, 'invalid_request', 'input');
    assert.match(answer.body.error.message, /65536 bytes/);
  });

  test('100 files are taken, one more is refused with the limit', async () => {
    const { project, schedules } = await makePlace();
    const form = new FormData();
    form.set('purpose', 'user_data');
    form.set('file', new Blob(['text']), 'notes.txt');
    const { id: file_id } = (await project.post('/v1/files', form)).body;
    const input = (files: number) => {
      const parts = Array.from({ length: files }, () => ({ type: 'input_file', file_id }));
      return [parts.slice(0, 100), parts.slice(100)]
        .filter(({ length }) => length > 0)
        .map((content) => ({ role: 'user', content }));
    };
    await create(project, schedules, { input: input(100) });
    const answer = await project.post(schedules, { cron: YEARLY, input: input(101) });
    assertRefused(answer, 422, 'too_many_inputs', 'input');
    assert.match(answer.body.error.message, /at most 100/);
  });
});

test('a name has 1 to 200 characters', async () => {
  const { project, schedules } = await makePlace();
  await create(project, schedules, { name: 'é'.repeat(200) });
  for (const name of ['', 'é'.repeat(201)]) {
    assertRefused(await project.post(schedules, { cron: YEARLY, name }), 422, 'invalid_name', 'name');
  }
});

test('a thread id is printable text of up to 256 characters', async () => {
  const { project, schedules } = await makePlace();
  await create(project, schedules, { thread_id: 'é'.repeat(256) });
  for (const thread_id of ['', 'x'.repeat(257), 'a\nb']) {
    assertRefused(await project.post(schedules, { cron: YEARLY, thread_id }), 422, 'invalid_request', 'thread_id');
  }
});

test('a smith has 100 schedules, and the refusal of one more names the limit', async () => {
  const { project, schedules } = await makePlace();
  const answers = await Promise.all(Array.from({ length: 105 }, () => project.post(schedules, { cron: YEARLY })));
  assert.equal(answers.filter(({ status }) => status === 201).length, 100);
  for (const answer of answers.filter(({ status }) => status !== 201)) {
    assertRefused(answer, 422, 'invalid_request');
    assert.match(answer.body.error.message, /at most 100 schedules/);
  }
});

describe('a schedule is changed', () => {
  test('in each member by itself; the rest stays', async () => {
    const { project, schedules } = await makePlace();
    const before = await create(project, schedules, { name: 'a', input: say, thread_id: 't' });
    const changes = { name: 'b', cron: '0 0 2 1 *', timezone: 'Asia/Tokyo', input: [], thread_id: 'u', enabled: false };
    let expected = before;
    for (const [member, value] of Object.entries(changes)) {
      const { status, body, text } = await project.patch(`${schedules}/${before.id}`, { [member]: value });
      assert.equal(status, 200, text);
      const { next_fire_at, updated_at } = body;
      expected = { ...expected, [member]: value, next_fire_at, updated_at };
      assert.deepEqual(body, expected);
    }
  });

  test('its next time with its expression, its zone and its state', async () => {
    const { project, schedules } = await makePlace();
    const { id } = await create(project, schedules, { timezone: 'Europe/Berlin' });
    const next = async (change: object) => (await project.patch(`${schedules}/${id}`, change)).body.next_fire_at;
    assert.match(await next({ cron: '0 0 2 1 *' }), /-01-01T23:00:00\.000Z$/);
    assert.match(await next({ timezone: 'UTC' }), /-01-02T00:00:00\.000Z$/);
    assert.equal(await next({ enabled: false }), null);
    assert.equal(await next({ cron: '0 0 3 1 *' }), null);
    assert.match(await next({ enabled: true }), /-01-03T00:00:00\.000Z$/);
  });

  test('null clears the name and the thread, and leaves the rest', async () => {
    const { project, schedules } = await makePlace();
    const before = await create(project, schedules, { name: 'a', input: say, thread_id: 't', timezone: 'Asia/Tokyo' });
    const nulls = { name: null, cron: null, timezone: null, input: null, thread_id: null, enabled: null };
    const { body } = await project.patch(`${schedules}/${before.id}`, nulls);
    assert.deepEqual(body, { ...before, name: null, thread_id: null, updated_at: body.updated_at });
  });

  test('not into what it could not have been created as', async () => {
    const { project, schedules } = await makePlace();
    const { id } = await create(project, schedules);
    const path = `${schedules}/${id}`;
    assertRefused(await project.patch(path, {}), 422, 'empty_patch');
    assertRefused(await project.patch(path, { cron: '0 0 31 2 *' }), 422, 'invalid_cron', 'cron');
    assertRefused(await project.patch(path, { timezone: 'Mars/Base' }), 422, 'invalid_timezone', 'timezone');
    assertRefused(await project.patch(path, { name: '' }), 422, 'invalid_name', 'name');
    assertRefused(
      await project.patch(path, { input: [{ role: 'x', content: 'x' }] }),
      422,
      'invalid_input',
      'input.0.role',
    );
    assertRefused(await project.patch(path, { next_fire_at: null }), 422, 'invalid_request', 'next_fire_at');
  });
});

test('a schedule is deleted, and is there no more', async () => {
  const { project, schedules } = await makePlace();
  const { id } = await create(project, schedules);
  assert.equal((await project.delete(`${schedules}/${id}`)).status, 204);
  for (const answer of [
    await project.delete(`${schedules}/${id}`),
    await project.patch(`${schedules}/${id}`, { name: 'x' }),
    await project.post(`${schedules}/${id}/run_now`),
  ]) {
    assertRefused(answer, 404, 'not_found');
  }
  assert.deepEqual((await project.get(schedules)).body.data, []);
});

test('a schedule is its smith’s: the path of another does not lead to it', async () => {
  const { project, schedules } = await makePlace();
  const { id } = await create(project, schedules);
  const other = `/v1/smiths/${await project.createSmith()}/schedules`;
  assert.deepEqual((await project.get(other)).body.data, []);
  assertRefused(await project.patch(`${other}/${id}`, { name: 'x' }), 404, 'not_found');
  assertRefused(await project.delete(`${other}/${id}`), 404, 'not_found');
});

test('a smith’s token reaches its own schedules, with the scopes', async () => {
  const { project, smithId, schedules } = await makePlace();
  const reader = project.as(await project.smithToken(smithId, ['schedules:read']));
  const writer = project.as(await project.smithToken(smithId, ['schedules:write']));
  const { id } = await create(writer, schedules);
  assert.equal((await reader.get(schedules)).body.data[0].id, id);
  assertRefused(await reader.post(schedules, { cron: YEARLY }), 403, 'insufficient_scope');
  assertRefused(await writer.get(schedules), 403, 'insufficient_scope');
  const other = `/v1/smiths/${await project.createSmith()}/schedules`;
  assertRefused(await writer.post(other, { cron: YEARLY }), 403, 'smith_mismatch');
});

test('an archived smith has no schedules', async () => {
  const { project, smithId, schedules } = await makePlace();
  const { id } = await create(project, schedules);
  assert.equal((await project.delete(`/v1/smiths/${smithId}`)).status, 204);
  for (const answer of [
    await project.get(schedules),
    await project.post(schedules, { cron: YEARLY }),
    await project.patch(`${schedules}/${id}`, { name: 'x' }),
    await project.delete(`${schedules}/${id}`),
    await project.post(`${schedules}/${id}/run_now`),
  ]) {
    assertRefused(answer, 404, 'not_found');
  }
});
