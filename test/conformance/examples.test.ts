/** The examples of the reference, sent as they stand, in the order in which it is read. */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { startPlatform } from '../support/platform.ts';
import { createWorld, fillPath, slotsOf, type World } from './world.ts';

const platform = await startPlatform();
after(() => platform.close());
const world = await createWorld(platform);

interface Described {
  readonly operationId: string;
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly example?: unknown }>> };
}

const document = (await fetch(`${platform.url}/openapi.json`).then((answer) => answer.json())) as {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Described>>>>;
};
const described = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({ path, method: method.toUpperCase(), ...operation })),
);
const withJsonBody = described.filter(({ requestBody }) => requestBody?.content['application/json'] !== undefined);

/** What the ids of the examples stand for: the reader's own. */
function withOwnIds(
  text: string,
  {
    agentId,
    smithId,
    otherSmithId,
    approvalId,
    sessionId,
    hostedRun,
    freshCode,
    telegram,
    graph,
    discord,
    slack,
    mail,
  }: World,
  id: string,
  fileId: string,
): string {
  const own: Readonly<Record<string, string>> = {
    agt: agentId,
    // A smith that has an agent cannot be made into one, or attached to another.
    smt: id === 'tenant.tokens.create' ? smithId : otherSmithId,
    apr: approvalId,
    file: fileId,
  };
  if (id === 'organization.billing.redeem') return JSON.stringify({ code: freshCode() });
  if (id === 'hosted.stop') return JSON.stringify({ visitor_id: hostedRun.visitorId, run_id: hostedRun.runId });
  if (id === 'tenant.telegram.put') return JSON.stringify({ ...JSON.parse(text), api_base_url: telegram.url });
  if (id === 'tenant.whatsapp.put') return JSON.stringify(graph.bodyOf(graph.addNumber()));
  if (id === 'tenant.discord.put') return JSON.stringify(discord.bodyOf(discord.addApplication()));
  if (id === 'tenant.slack.put') return JSON.stringify(slack.bodyOf(slack.addApp()));
  if (id === 'tenant.email.put') return JSON.stringify(mail.bodyOf());
  if (id === 'organization.billing.confirm') return JSON.stringify({ session_id: sessionId });
  return text.replaceAll(/"(agt|smt|apr|file)_[0-9A-Z]{26}"/g, (_, prefix: string) => JSON.stringify(own[prefix]));
}

/** Paths of which another object than the world's is wanted: the approval that is decided belongs to the paused run. */
function pathFor(path: string, operationId: string): string {
  const values = slotsOf(path).map((slot) => slot.valueIn(world));
  if (operationId === 'smiths.runs.submit') return fillPath(path, [world.smithId, world.pausedRunId]);
  return fillPath(path, values);
}

test('every operation that takes JSON has an example', () => {
  const without = withJsonBody.filter(
    ({ requestBody }) => requestBody?.content['application/json']?.example === undefined,
  );
  assert.deepEqual(
    without.map(({ operationId }) => operationId),
    [],
  );
});

for (const { path, method, operationId, requestBody } of withJsonBody) {
  test(`${operationId} takes its example`, async () => {
    const example = requestBody?.content['application/json']?.example;
    const file = operationId === 'vector_stores.files.create' ? world.spareFileId : world.spareBatchFileId;
    const body = withOwnIds(JSON.stringify(example), world, operationId, file);
    const client = operationId.startsWith('organization.') ? world.organization : world.tenant;
    const response = await client.open(method, pathFor(path, operationId), body);
    const text = await response.text();
    assert.ok(response.status >= 200 && response.status < 300, `${response.status} ${text}`);
  });
}
