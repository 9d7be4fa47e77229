/** Projects that make Slack apps for their smiths. */
import assert from 'node:assert/strict';
import type { ConfigTokens, MadeSlackApp } from '../fakes/slack-factory.ts';
import type { Answer, TestPlatform, TestProject } from './platform.ts';

export interface FactoryProject {
  readonly project: TestProject;
  readonly tokens: ConfigTokens;
  /** The rest of what was saved. */
  readonly saved: object;
}

/** Each project has an app, and what makes others. */
export async function createFactoryProject(platform: TestPlatform, more: object = {}): Promise<FactoryProject> {
  const { slack } = platform;
  const project = await platform.createProject();
  const tokens = slack.factory.addTokens();
  const saved = slack.bodyOf(slack.addApp());
  const answer = await project.put('/v1/tenant/slack', { ...saved, ...tokens, ...more });
  assert.equal(answer.status, 200, answer.text);
  return { project, tokens, saved };
}

/** A deployment of a new smith, with an app of its own. */
export async function deploySlackApp(
  { project }: Pick<FactoryProject, 'project'>,
  setup: object = { display_name: 'Ada' },
  headers: Record<string, string> = {},
): Promise<Answer> {
  const target = { type: 'smith', id: await project.createSmith() };
  return project.post('/v1/deployments', { target, kind: 'slack', setup }, headers);
}

/** As Slack knows it; undefined where it is gone there. */
export function appAtSlack({ slack }: Pick<TestPlatform, 'slack'>, appId: string): MadeSlackApp | undefined {
  return slack.factory.apps.find((app) => app.appId === appId);
}
