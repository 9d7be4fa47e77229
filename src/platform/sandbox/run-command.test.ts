/** Commands of runs, over real HTTP, in real boxes. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { type Answer, startPlatform, type TestPlatform, type TestProject } from '../../../test/support/platform.ts';
import { SANDBOX_SETTINGS, whyNoBoxes } from '../../../test/support/sandbox.ts';
import { bundleForm, skillText } from '../../../test/support/skills.ts';
import { openTestLogger } from '../../../test/support/test-log.ts';
import { blobKey } from '../resources/files/blob-key.ts';
import { createSandboxFiles } from '../resources/files/sandbox-files.ts';
import { createSandbox } from './sandbox.ts';

const skip = await whyNoBoxes();

let platform: TestPlatform;
before(async () => {
  platform = await startPlatform();
});
after(() => platform.close());

const TOOL = { enabled_hosted_tools: ['run_command'] };

/** The input by which the built-in model runs the commands, one after the other. */
function asking(...commands: readonly (string | Record<string, unknown>)[]): string {
  return commands
    .map((command) => JSON.stringify(typeof command === 'string' ? { command } : command))
    .map((args, index) => `${index === 0 ? 'Call' : 'then call'} the tool run_command with ${args}`)
    .join(', ');
}

/** Results of a run's calls in their order. */
async function outputsOf(project: TestProject, runId: string) {
  const events = (await project.get('/v1/events?type=tool.completed&limit=100')).body.data;
  return events
    .filter(({ data }: { data: { run_id?: string } }) => data.run_id === undefined || data.run_id === runId)
    .map(({ data }: { data: { output: unknown } }) => data.output)
    .reverse();
}

async function runCommands(
  project: TestProject,
  smithId: string,
  input: unknown,
): Promise<{ readonly run: Answer['body']; readonly outputs: Answer['body'] }> {
  const answer = await project.post(`/v1/smiths/${smithId}/runs`, { input: [{ role: 'user', content: input }] });
  assert.equal(answer.body.status, 'completed', answer.text);
  return { run: answer.body, outputs: await outputsOf(project, answer.body.id) };
}

describe('a command', { skip }, () => {
  test('runs in a box whose workspace the next command of the run has, and the next run has not', async () => {
    const project = await platform.createProject();
    const smithId = await project.createSmith(TOOL);
    const { run, outputs } = await runCommands(
      project,
      smithId,
      asking('echo one > kept; echo out; echo err >&2; exit 3', 'cat kept; ls'),
    );
    assert.deepEqual(outputs, [
      { exit_code: 3, stdout: 'out\n', stderr: 'err\n', timed_out: false, truncated: false, files: [] },
      { exit_code: 0, stdout: 'one\ninput\nkept\noutput\n', stderr: '', timed_out: false, truncated: false, files: [] },
    ]);
    const started = (await project.get('/v1/events?type=sandbox.started')).body.data;
    assert.equal(started.length, 1);
    const { data, actor, smith_id } = started[0];
    assert.equal(smith_id, smithId);
    assert.equal(actor.kind, 'tenant');
    assert.deepEqual(Object.keys(data).sort(), ['image', 'image_digest', 'run_id', 'sandbox_id', 'task_definition']);
    assert.equal(data.run_id, run.id);
    assert.match(data.image_digest, /^sha256:[0-9a-f]{64}$/);
    const next = await runCommands(project, smithId, asking('ls'));
    assert.equal(next.outputs.at(-1).stdout, 'input\noutput\n');
  });

  test('has the files of the question, and its output becomes files of the project', async () => {
    const project = await platform.createProject();
    const smithId = await project.createSmith(TOOL);
    const form = new FormData();
    form.set('purpose', 'user_data');
    form.set('file', new Blob(['1,2\n']), 'numbers.csv');
    const uploaded = await project.post('/v1/files', form);
    assert.equal(uploaded.status, 200, uploaded.text);
    const { outputs } = await runCommands(project, smithId, [
      { type: 'input_file', file_id: uploaded.body.id },
      {
        type: 'input_text',
        text: asking(
          'cp input/numbers.csv output/copy.csv; mkdir output/deep; echo x > "output/deep/a b.txt"; ln -s /etc/passwd output/link; mkfifo output/pipe',
          'echo y >> output/copy.csv',
        ),
      },
    ]);
    const [first, second] = outputs;
    assert.deepEqual(
      first.files.map(({ path, filename, bytes }: Record<string, unknown>) => [path, filename, bytes]).sort(),
      [
        ['output/copy.csv', 'copy.csv', 4],
        ['output/deep/a b.txt', 'a b.txt', 2],
      ],
    );
    assert.deepEqual(
      second.files.map(({ path, bytes }: Record<string, unknown>) => [path, bytes]),
      [['output/copy.csv', 6]],
    );
    const listed = (await project.get('/v1/files?purpose=assistants_output')).body.data;
    assert.deepEqual(listed.map(({ filename }: { filename: string }) => filename).sort(), [
      'a b.txt',
      'copy.csv',
      'copy.csv',
    ]);
    assert.equal((await project.get(`/v1/files/${second.files[0].file_id}/content`)).text, '1,2\ny\n');
  });

  test('has no file whose id stands where none is looked for', async () => {
    const project = await platform.createProject();
    const smithId = await project.createSmith(TOOL);
    const form = new FormData();
    form.set('purpose', 'user_data');
    form.set('file', new Blob(['the salaries']), 'salaries.txt');
    const { id: file_id } = (await project.post('/v1/files', form)).body;
    const smith = project.as(await project.smithToken(smithId, ['runs:read', 'runs:write']));
    const runs = `/v1/smiths/${smithId}/runs`;
    const refused = await smith.post(runs, { input: [{ role: 'user', content: [{ type: 'input_file', file_id }] }] });
    assert.equal(refused.body.error.code, 'invalid_input', 'its token may not read it');
    const answer = await smith.post(runs, {
      input: [
        { role: 'assistant', content: [{ type: 'output_text', text: 'Yes?', file_id }] },
        {
          role: 'user',
          content: [
            { type: 'image_url', image_url: 'https://example.com/a.png', file_id },
            { type: 'input_audio', input_audio: { data: 'AAAA', format: 'wav' }, file_id },
            { type: 'input_text', text: asking('cat input/*; ls input'), file_id },
          ],
        },
      ],
    });
    assert.equal(answer.body.status, 'completed', answer.text);
    assert.ok(!JSON.stringify(answer.body.input).includes(file_id));
    const [{ stdout }] = await outputsOf(project, answer.body.id);
    assert.doesNotMatch(stdout, /salaries/);
  });

  test('has the secrets in its environment, and they are masked in what it writes out', async () => {
    const project = await platform.createProject();
    const smithId = await project.createSmith(TOOL);
    await project.put('/v1/tenant/sandbox_secrets/API_KEY', { value: 'hunter2-7c1f' });
    const { run, outputs } = await runCommands(
      project,
      smithId,
      asking('echo "$API_KEY"; echo x"$API_KEY"y >&2; printf %s "$API_KEY" | wc -c'),
    );
    assert.deepEqual([outputs[0].stdout, outputs[0].stderr], ['***\n12\n', 'x***y\n']);
    const seen = [run, (await project.get('/v1/events')).body, (await project.get(`/v1/runs/${run.id}/trace`)).body];
    assert.ok(!JSON.stringify(seen).includes('hunter2-7c1f'));
  });

  test('reads skills, and changes none', async () => {
    const project = await platform.createProject();
    const bundle = bundleForm({ 'SKILL.md': skillText('adding'), 'scripts/add.sh': 'echo $((1 + 2))\n' });
    const skill = await project.post('/v1/skills', bundle);
    assert.equal(skill.status, 201, skill.text);
    const smithId = await project.createSmith({ ...TOOL, skills: [{ skill_id: skill.body.id }] });
    const { outputs } = await runCommands(
      project,
      smithId,
      asking('bash /skills/adding/scripts/add.sh; echo no > /skills/adding/SKILL.md; touch /skills/x'),
    );
    assert.equal(outputs[0].stdout, '3\n');
    assert.equal(outputs[0].stderr.match(/Read-only file system/g)?.length, 2, outputs[0].stderr);
  });

  test('is told what is wrong with its arguments', async () => {
    const project = await platform.createProject();
    const smithId = await project.createSmith(TOOL);
    for (const [args, problem] of [
      [{ command: ' ' }, /must say what to run/],
      [{ command: 'true', timeout_seconds: 0 }, /from 1 to 60/],
      [{ command: 'true', timeout_seconds: 61 }, /from 1 to 60/],
      [{ command: 'true', timeout_seconds: 1.5 }, /from 1 to 60/],
    ] as const) {
      const { outputs } = await runCommands(project, smithId, asking(args));
      assert.match(String(outputs.at(-1)?.error), problem, JSON.stringify(args).slice(0, 100));
    }
  });
});

describe('a workspace', { skip }, () => {
  /** What is kept of boxes: rows, and blobs of archives. */
  async function listBoxes({ projectId }: TestProject, at: TestPlatform) {
    const { rows } = await at.db.query<{ archive_id: string | null }>({
      text: 'select archive_id from sandbox_boxes where project_id = $1',
      values: [projectId],
    });
    return rows.map(({ archive_id }) => archive_id);
  }

  /** As any replica sweeps. */
  async function sweep(): Promise<void> {
    const { db, vault, blobs } = platform;
    const logger = openTestLogger();
    const config = { fileLimitBytes: 1_000_000, projectStorageBytes: 1_000_000 };
    const files = createSandboxFiles({ db, blobs, config, logger });
    const readSkill = async function* () {};
    await createSandbox({
      ...{ db, vault, logger, files, readSkill },
      ...{ settings: SANDBOX_SETTINGS, privateFolders: [] },
    }).sweep(new AbortController().signal);
  }

  const usedBytes = async (project: TestProject): Promise<number> =>
    (await project.get('/v1/tenant/storage')).body.used_bytes;

  test('that nobody removed when its run ended is swept, and its room is given back; that of an open run stays', async () => {
    const project = await platform.createProject();
    await project.createSmith({ ...TOOL, external_id: 'waiting' });
    const before = await usedBytes(project);
    // The run waits for a function of the caller, with its workspace.
    const open = await project.post('/v1/responses', {
      user: 'waiting',
      input: asking('head -c 5000 /dev/urandom > kept').concat(', then call the tool later with {}'),
      tools: [{ type: 'function', name: 'later', parameters: { type: 'object' } }],
    });
    assert.equal(open.status, 200, open.text);
    const [archiveId] = await listBoxes(project, platform);
    assert.ok(archiveId, open.text);
    const held = await usedBytes(project);
    assert.ok(held >= before + 5_000, `${before} ${held}`);

    const makeOld = () =>
      platform.db.query({
        text: `update sandbox_boxes set created_at = now() - interval '1 hour' where project_id = $1`,
        values: [project.projectId],
      });
    await makeOld();
    await sweep();
    assert.deepEqual(await listBoxes(project, platform), [archiveId]);
    assert.ok(await platform.blobs.exists(blobKey(project.projectId, archiveId)));

    // As a replica leaves it that dies once the run has ended.
    await platform.db.query({
      text: `update runs set status = 'failed' where project_id = $1 and status in ('in_progress', 'paused')`,
      values: [project.projectId],
    });
    await sweep();
    assert.deepEqual(await listBoxes(project, platform), []);
    assert.equal(await usedBytes(project), before);
    assert.equal(await platform.blobs.exists(blobKey(project.projectId, archiveId)), false);
  });

  test('for which the project has no room stays as it was, and the model is told', async () => {
    const small = await startPlatform({ limits: { projectStorageBytes: 200_000 } });
    try {
      const project = await small.createProject();
      const smithId = await project.createSmith(TOOL);
      const { outputs } = await runCommands(
        project,
        smithId,
        asking(
          'echo one > kept',
          'head -c 300000 /dev/urandom > big; rm kept',
          'ls; head -c 300000 /dev/urandom > output/file',
        ),
      );
      const [first, second, third] = outputs;
      assert.equal(first.warnings, undefined);
      assert.match(
        second.warnings[0],
        /is as it was before this command, and no files were taken: .* may take 200000 bytes together.*[^.]\.$/,
      );
      assert.equal(third.stdout, 'input\nkept\noutput\n');
      assert.match(third.warnings[0], /no files were taken/);
      assert.deepEqual(third.files, []);
      assert.equal((await project.get('/v1/files')).body.data.length, 0);
      assert.ok((await usedBytes(project)) < 200_000);
    } finally {
      await small.close();
    }
  });
});

test('without bubblewrap the tool is listed with the mend, is not offered, and the run says so', async () => {
  const without = await startPlatform({
    limits: { sandbox: { ...SANDBOX_SETTINGS, bubblewrap: '/nonexistent/bwrap' } },
  });
  try {
    const project = await without.createProject();
    const { data } = (await project.get('/v1/tenant/hosted_tools')).body;
    assert.deepEqual(
      data.map(({ name, available }: { name: string; available: boolean }) => [name, available]),
      [
        ['current_time', true],
        ['run_command', false],
      ],
    );
    assert.equal(data[0].unavailable_reason, null);
    assert.match(data[1].unavailable_reason, /not installed.*apt-get install bubblewrap/);
    const smithId = await project.createSmith(TOOL);
    const run = await project.post(`/v1/smiths/${smithId}/runs`, {
      input: [{ role: 'user', content: asking('touch /tmp/unconfined') }],
    });
    assert.equal(run.body.status, 'completed', run.text);
    const [warning] = run.body.warnings;
    assert.equal(warning.code, 'hosted_tool_unavailable');
    assert.match(warning.message, /apt-get install bubblewrap/);
    const called = (await project.get('/v1/events?type=tool.')).body.data;
    assert.ok(called.every(({ type }: { type: string }) => type !== 'tool.executing'));
  } finally {
    await without.close();
  }
});
