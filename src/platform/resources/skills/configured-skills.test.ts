/** Skills in configurations, and in the turns that these start. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { assertRefusal } from '../../../../test/conformance/assert-refusal.ts';
import { missingId } from '../../../../test/conformance/world.ts';
import { startPlatform, type TestPlatform, type TestProject } from '../../../../test/support/platform.ts';
import { type BundleContents, bundleForm, skillText } from '../../../../test/support/skills.ts';
import { MAX_SKILL_TEXT_BYTES } from '../../tools/read-skill.ts';

let platform: TestPlatform;
before(async () => {
  platform = await startPlatform();
});
after(() => platform.close());

async function upload(project: TestProject, name: string, more: BundleContents = {}): Promise<string> {
  const answer = await project.post('/v1/skills', bundleForm({ 'SKILL.md': skillText(name), ...more }));
  assert.equal(answer.status, 201, answer.text);
  return answer.body.id;
}

async function addVersion(project: TestProject, id: string, name: string, fields = {}): Promise<void> {
  const form = bundleForm({ 'SKILL.md': skillText(name, 'Another.') }, fields);
  const answer = await project.post(`/v1/skills/${id}/versions`, form);
  assert.equal(answer.status, 201, answer.text);
}

/** A run that calls `read_skill` with these arguments. */
async function readSkill(project: TestProject, smithId: string, args: object) {
  const content = `Call the tool read_skill with ${JSON.stringify(args)}`;
  const answer = await project.post(`/v1/smiths/${smithId}/runs`, { input: [{ role: 'user', content }] });
  assert.equal(answer.status, 201, answer.text);
  return { run: answer.body, call: await findCall(project, answer.body.id) };
}

/** What the run's first call of a tool gave. */
// biome-ignore lint/suspicious/noExplicitAny: the tests look into outputs of every shape.
async function findCall(project: TestProject, runId: string): Promise<any> {
  const { rows } = await platform.db.query({
    text: `select output, error from run_steps
      where project_id = $1 and run_id = $2 and kind = 'tool' order by position limit 1`,
    values: [project.projectId, runId],
  });
  return rows[0];
}

describe('a configuration that names a skill', () => {
  test('is refused where the skill or the version is not there, or is another project’s', async () => {
    const [project, other] = [await platform.createProject(), await platform.createProject()];
    const [own, foreign] = [await upload(project, 'own'), await upload(other, 'foreign')];
    const smithId = await project.createSmith();
    const agent = (await project.post('/v1/agents', { name: 'A', model: 'builtin/demo' })).body.id;
    for (const skills of [
      [{ skill_id: missingId('skill') }],
      [{ skill_id: foreign }],
      [{ skill_id: own, version: 2 }],
      [{ skill_id: own }, { skill_id: foreign, version: 1 }],
      [{ skill_id: `${own} 1` }],
      [{ skill_id: `${own} a` }],
    ]) {
      for (const answer of [
        await project.post('/v1/agents', { name: 'B', skills }),
        await project.patch(`/v1/agents/${agent}`, { skills }),
        await project.post('/v1/smiths', { skills }),
        await project.patch(`/v1/smiths/${smithId}`, { skills }),
      ]) {
        assertRefusal(answer, 404, 'not_found', 'skills');
      }
    }
    for (const skills of [[{ skill_id: own }], [{ skill_id: own, version: 1 }]]) {
      const patched = await project.patch(`/v1/agents/${agent}`, { skills });
      assert.deepEqual([patched.status, patched.body.draft?.skills], [200, skills], patched.text);
    }
  });

  test('keeps the skill from being deleted, whatever it is the configuration of', async () => {
    const project = await platform.createProject();
    const id = await upload(project, 'kept');
    await addVersion(project, id, 'kept');
    const refusal = async (path: string) => assertRefusal(await project.delete(path), 409, 'skill_in_use', null);
    const skills = [{ skill_id: id, version: 2 }];

    const agent = (await project.post('/v1/agents', { name: 'A', model: 'builtin/demo', skills })).body.id;
    await refusal(`/v1/skills/${id}`);
    await refusal(`/v1/skills/${id}/versions/2`);
    const referenced = async (version: number) =>
      (await project.get(`/v1/skills/${id}/versions/${version}`)).body.referenced_by;
    assert.deepEqual([await referenced(1), await referenced(2)], [[], [{ agent_id: agent, version: null }]]);
    await project.post(`/v1/agents/${agent}/versions`, {});
    await project.patch(`/v1/agents/${agent}`, { skills: null });
    await refusal(`/v1/skills/${id}/versions/2`);
    assert.deepEqual(await referenced(2), [{ agent_id: agent, version: 1 }]);
    assert.equal((await project.delete(`/v1/agents/${agent}`)).status, 204);

    const smithId = await project.createSmith({ skills });
    await refusal(`/v1/skills/${id}/versions/2`);
    const paused = await project.post(`/v1/smiths/${smithId}/runs`, {
      input: [{ role: 'user', content: 'Call the tool notify with {"to": "Ada"}' }],
      tools: [{ name: 'notify' }],
    });
    assert.equal(paused.body.status, 'paused', paused.text);
    await project.patch(`/v1/smiths/${smithId}`, { skills: null });
    await refusal(`/v1/skills/${id}/versions/2`);
    await project.post(`/v1/runs/${paused.body.id}/cancel`);
    await project.post(`/v1/smiths/${smithId}/runs/${paused.body.id}/cancel`);
    assert.equal((await project.delete(`/v1/skills/${id}/versions/2`)).status, 204);
    assert.equal((await project.delete(`/v1/skills/${id}`)).status, 204);
  });

  test('and a deletion at the same time: one of them comes first, and no configuration is left that names nothing', async () => {
    const project = await platform.createProject();
    for (let round = 0; round < 10; round += 1) {
      const id = await upload(project, `raced-${round}`);
      const [made, deleted] = await Promise.all([
        project.post('/v1/smiths', { skills: [{ skill_id: id }] }),
        project.delete(`/v1/skills/${id}`),
      ]);
      assert.ok(
        (made.status === 201 && deleted.status === 409) || (made.status === 404 && deleted.status === 204),
        `${made.status} ${deleted.status}`,
      );
    }
  });
});

describe('a turn', () => {
  test('is told its skills, and reads them and their files', async () => {
    const project = await platform.createProject();
    const large = 'ä'.repeat(MAX_SKILL_TEXT_BYTES / 2);
    const id = await upload(project, 'add-numbers', {
      'references/full.md': large,
      'references/more.md': `x${large}`,
      'assets/logo.png': new Uint8Array([0x89, 0x50, 0x4e, 0x47, 0]),
    });
    const smithId = await project.createSmith({ skills: [{ skill_id: id }] });
    const { run, call } = await readSkill(project, smithId, { skill: 'add-numbers' });
    assert.deepEqual([run.status, run.warnings ?? []], ['completed', []]);
    assert.deepEqual(call.output, {
      skill: 'add-numbers',
      version: 1,
      path: 'SKILL.md',
      files: ['SKILL.md', 'assets/logo.png', 'references/full.md', 'references/more.md'],
      truncated: false,
      content: skillText('add-numbers'),
    });
    const full = await readSkill(project, smithId, { skill: 'add-numbers', path: 'references/full.md' });
    assert.deepEqual([full.call.output.content, full.call.output.truncated], [large, false]);
    const more = await readSkill(project, smithId, { skill: 'add-numbers', path: 'references/more.md' });
    // One byte too long: the character that the cut goes through is left out.
    assert.deepEqual([more.call.output.content, more.call.output.truncated], [`x${large.slice(1)}`, true]);
    for (const args of [
      { skill: 'add-numbers', path: 'nothing' },
      { skill: 'add-numbers', path: '../SKILL.md' },
      { skill: 'add-numbers', path: 'assets/logo.png' },
      { skill: 'another' },
      {},
    ]) {
      const { call: failed } = await readSkill(project, smithId, args);
      assert.ok(typeof failed.error === 'string' && failed.error !== '', JSON.stringify(failed));
    }
  });

  test('has the versions that it began with', async () => {
    const project = await platform.createProject();
    const id = await upload(project, 'changing');
    const smithId = await project.createSmith({ skills: [{ skill_id: id }] });
    const paused = await project.post(`/v1/smiths/${smithId}/runs`, {
      input: [{ role: 'user', content: 'Call the tool read_skill with {"skill": "changing"}' }],
      tools: [{ name: 'notify' }],
    });
    assert.equal(paused.status, 201, paused.text);
    await addVersion(project, id, 'changing', { default: 'true' });
    const { call } = await readSkill(project, smithId, { skill: 'changing' });
    assert.equal(call.output.version, 2);
    assert.equal((await findCall(project, paused.body.id)).output.version, 1);
    await project.patch(`/v1/smiths/${smithId}`, { skills: [{ skill_id: id, version: 1 }] });
    assert.equal((await readSkill(project, smithId, { skill: 'changing' })).call.output.version, 1);
  });

  test('goes on without a skill that is gone, and says so', async () => {
    const project = await platform.createProject();
    const id = await upload(project, 'gone');
    const smithId = await project.createSmith({ skills: [{ skill_id: id }] });
    await platform.db.query({
      text: 'delete from skill_versions where project_id = $1',
      values: [project.projectId],
    });
    const answer = await project.post(`/v1/smiths/${smithId}/runs`, {
      input: [{ role: 'user', content: 'Write 2 words' }],
    });
    assert.equal(answer.body.status, 'completed', answer.text);
    assert.deepEqual(
      answer.body.warnings.map(({ code }: { code: string }) => code),
      ['skill_missing'],
    );
    assert.match(answer.body.warnings[0].message, new RegExp(id));
  });

  test('of a smith without skills offers no `read_skill`, and asks the store nothing more', async () => {
    const project = await platform.createProject();
    const smithId = await project.createSmith();
    const refused = await project.post(`/v1/smiths/${smithId}/runs`, {
      input: [{ role: 'user', content: 'Hello' }],
      tool_choice: { name: 'read_skill' },
    });
    assertRefusal(refused, 422, 'invalid_tool_choice', 'tool_choice');
  });
});
