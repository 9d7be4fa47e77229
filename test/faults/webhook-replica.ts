/**
 * One replica's part of webhooks, as a process that can be killed: it follows the feed and delivers, by a clock that the test
 * puts ahead. Arguments: the database's address, the key of the vault as hex. Messages of the parent: milliseconds to be ahead.
 */
import { createSecretKey } from 'node:crypto';
import { connectServer } from '../../src/kernel/db/connect-server.ts';
import { createLogger } from '../../src/kernel/log/log.ts';
import { createMetrics } from '../../src/kernel/metrics/metrics.ts';
import { createOutbound } from '../../src/kernel/outbound/outbound.ts';
import { createVault } from '../../src/kernel/vault/vault.ts';
import { createWebhookDeliveries } from '../../src/platform/webhooks/index.ts';

const [url = '', key = '', aheadMs = '0'] = process.argv.slice(2);
let offsetMs = Number(aheadMs);
process.on('message', (message) => {
  offsetMs = Number(message);
});
process.on('disconnect', () => process.exit());

const logger = createLogger({ logLevel: 'error' });
const worker = createWebhookDeliveries({
  db: await connectServer({ url, poolSize: 4 }),
  vault: createVault([createSecretKey(Buffer.from(key, 'hex'))]),
  outbound: createOutbound({ allow: ['127.0.0.1'], logger }),
  logger,
  metrics: createMetrics(),
  now: () => new Date(Date.now() + offsetMs),
});
await worker.start();
process.send?.('ready');
