/** The protocol's own conformance suite, with the platform as the authorization server of an MCP deployment. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, test } from 'node:test';
import { runConformance } from '../../../../test/support/mcp-conformance.ts';
import { publishMcp } from '../../../../test/support/mcp-deployment.ts';
import { newClientId, openAuthorize, redirectOf, requestIn, sendConsent } from '../../../../test/support/oauth.ts';
import { startPlatform, type TestPlatform } from '../../../../test/support/platform.ts';

let platform: TestPlatform;
before(async () => {
  platform = await startPlatform({ publicUrl: 'own' });
});
after(() => platform.close());

/** What the person does whom the suite asks to open the address. */
async function consent(address: string, token: string): Promise<void> {
  const { searchParams } = new URL(address);
  const page = await openAuthorize(platform.url, Object.fromEntries(searchParams));
  await fetch(redirectOf(await sendConsent(platform.url, { request: requestIn(page), token })));
}

async function findFreePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

test('its metadata, and a code for a token that is for one MCP server', async () => {
  const project = await platform.createProject();
  const { path } = await publishMcp(project, { type: 'smith', id: await project.createSmith() });
  const [resource, port] = [platform.url + path, await findFreePort()];
  const clientId = await newClientId(platform.url);
  const args = ['authorization', '--url', platform.url, '--client-id', clientId, '--resource', resource];
  let said = '';
  let consented: Promise<void> | undefined;
  const { passed, problems, scenarios } = await runConformance([...args, '--port', String(port)], (text) => {
    said += text;
    const [address] = /http\S+\/oauth\/authorize\?\S+(?=\s)/.exec(said) ?? [];
    if (address === undefined) return;
    consented ??= consent(address, project.token).catch(async (error: unknown) => {
      // It would wait for minutes.
      await fetch(`http://127.0.0.1:${port}/callback?error=no_consent`);
      throw error;
    });
  });
  await consented;
  assert.deepEqual(problems, [], said);
  assert.equal(scenarios.length, 2, said);
  // Of the metadata two, one of them that clients may be documents; of the code one.
  assert.equal(passed, 3, said);
});
