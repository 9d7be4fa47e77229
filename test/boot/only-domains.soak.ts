/** A server with the domain service alone, on the embedded database: what is run beside it, and what comes after it. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { test } from 'node:test';
import { runVerbInProcess } from './run-verb-in-process.ts';
import { callOnce, FREE_PORTS, makeFolder, runVerb, startServer } from './server-process.ts';

test('verbs beside it say what they can do; once it has ended, doctor tells what a real registry would end', async (t) => {
  const folder = await makeFolder(t);
  const server = await startServer(t, folder, {}, { only: 'domains' });
  const held = createServer().listen(0, '127.0.0.1');
  await once(held, 'listening');
  const { port: taken } = held.address() as AddressInfo;
  t.after(() => void held.close());

  const own = new URL(server.url);
  const beside = { IRONCRAFT_PORT: String(await findFreePort()), IRONCRAFT_DOMAINS_PORT: own.port };
  const doctor = await runVerbInProcess(['doctor'], folder, beside);
  assert.equal(doctor.code, 0, doctor.stdout);
  assert.match(doctor.stdout, /^ok +port +this server answers at .*, commit \w+$/m);
  assert.match(doctor.stdout, /^ok +server +ready$/m);
  assert.match(doctor.stdout, /^- +database +the running server holds/m);

  for (const verb of [
    ['token', 'mint'],
    ['events', 'verify'],
  ]) {
    const { code, stderr } = await runVerbInProcess(verb, folder, beside);
    assert.equal(code, 1);
    assert.match(
      stderr,
      /^error: This command is for the service “platform”, .*serve --only.* Stop it, run this again/,
    );
  }

  const signedUp = await callOnce(server.url, '', '/accounts', { email: 'kim@example.com' });
  assert.equal(signedUp.status, 201, await signedUp.text());
  await server.stop();

  const epp = {
    ...FREE_PORTS,
    IRONCRAFT_DOMAINS_REGISTRY: 'epp',
    IRONCRAFT_DOMAINS_EPP_URL: `epps://127.0.0.1:${taken}`,
    IRONCRAFT_DOMAINS_EPP_CLIENT_ID: 'demo',
    IRONCRAFT_DOMAINS_EPP_PASSWORD: 'secret-1',
  };
  const before = await runVerbInProcess(['doctor'], folder, epp);
  assert.match(
    before.stdout,
    /^WARNING +play money +100\.00 EUR of play credit and 0 names .* the next start ends them$/m,
  );
  assert.doesNotMatch((await runVerbInProcess(['doctor'], folder, FREE_PORTS)).stdout, /play money/);

  const refused = await runVerb(['serve', '--only', 'domains'], folder, {
    ...FREE_PORTS,
    IRONCRAFT_DOMAINS_DNS_PORT: String(taken),
  });
  assert.equal(refused.code, 1);
  assert.match(
    refused.stderr,
    new RegExp(
      `^error: The built-in nameserver cannot listen: .*port ${taken} is in use.*IRONCRAFT_DOMAINS_DNS_PORT`,
      'm',
    ),
  );
});

async function findFreePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const { port } = probe.address() as AddressInfo;
  probe.close();
  await once(probe, 'close');
  return port;
}
