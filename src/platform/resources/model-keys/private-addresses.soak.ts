/** Every provider's reading of every stranger on loopback. */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { assertNothingQuoted, PROVIDERS, STRANGERS, serve } from '../../../../test/support/loopback-strangers.ts';
import { startPlatform } from '../../../../test/support/platform.ts';
import { createLogger } from '../../../kernel/log/log.ts';

const logged: string[] = [];
const strangers = await Promise.all(STRANGERS.map(([, listener]) => serve({ after }, listener)));
const platform = await startPlatform({
  limits: { modelPrivateAddresses: 'deny' },
  outboundAllow: strangers.map(({ url }) => new URL(url).host),
  logger: createLogger({ logLevel: 'info' }, { write: (line) => void logged.push(line) }),
});
after(() => platform.close());

for (const [index, [what]] of STRANGERS.entries()) {
  test(`no provider quotes a service that ${what}: in the run, the events, an embedding and the log`, async () => {
    await assertNothingQuoted(platform, strangers[index], PROVIDERS);
    assert.doesNotMatch(logged.join(''), /of-the-loopback/);
  });
}
