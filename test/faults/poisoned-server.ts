/**
 * The agent platform as the program serves it, with tools that end the process that runs them:
 *
 * - `abort` ends it at once, as a fatal error of the runtime does;
 * - `queue` adds one job that ends whichever process runs it, and others beside it that take a while.
 */
import { setTimeout as wait } from 'node:timers/promises';
import { pino } from 'pino';
import { migrationSources } from '../../src/command-line/migrations.ts';
import { servePlatform } from '../../src/command-line/serve-platform.ts';
import { loadConfig } from '../../src/kernel/config/config.ts';
import { migrate } from '../../src/kernel/db/migrate.ts';
import { openDatabase } from '../../src/kernel/db/open-database.ts';
import { mountHealth } from '../../src/kernel/http/health.ts';
import { createJobs } from '../../src/kernel/jobs/jobs.ts';
import { createSharedBoss } from '../../src/kernel/jobs/shared-boss.ts';
import { createLogger } from '../../src/kernel/log/log.ts';
import { createMetrics } from '../../src/kernel/metrics/metrics.ts';
import { createOutbound } from '../../src/kernel/outbound/outbound.ts';
import { createVault } from '../../src/kernel/vault/vault.ts';
import type { Tool, ToolOutcome, ToolSource } from '../../src/platform/tools/tool.ts';

const HEARTBEAT_SECONDS = 10;
/** So that the others have begun when the process ends, and have not ended. */
const [UNTIL_ABORT_MS, WORK_MS] = [500, 2_000];
const INNOCENT_JOBS = 3;

const config = loadConfig();
const logger = createLogger(config, pino.destination({ dest: 2, sync: true }));
const db = await openDatabase({
  url: config.databaseUrl,
  dataDir: config.dataDir,
  poolSize: config.databasePoolSize,
});
for (const source of migrationSources) await migrate(db, source);

const jobs = createJobs(db, { logger, heartbeatSeconds: HEARTBEAT_SECONDS, superviseSeconds: 1 });
jobs.define('poisoned', async () => {
  await wait(UNTIL_ABORT_MS);
  process.abort();
});
jobs.define('innocent', async () => wait(WORK_MS));

const tools: ToolSource = {
  toolsFor: () => ({
    tools: [
      tool('abort', () => process.abort()),
      tool('queue', async () => {
        await jobs.enqueue(db, 'poisoned', {});
        for (let added = 0; added < INNOCENT_JOBS; added += 1) await jobs.enqueue(db, 'innocent', {});
        return { output: { queued: INNOCENT_JOBS + 1 } };
      }),
    ],
  }),
};

function tool(name: string, execute: () => Promise<ToolOutcome>): Tool {
  const parameters = { type: 'object', properties: {} };
  return { name, description: name, parameters, requiresApproval: false, repeatable: true, execute };
}

const metrics = createMetrics();
const parts = {
  config,
  logger,
  db,
  boss: createSharedBoss({ db, logger }),
  outbound: createOutbound({ allow: config.outboundAllow }),
  vault: createVault(config.masterKeys),
  metrics,
  publicUrl: 'http://127.0.0.1',
  toolSources: [tools],
};
const served = await servePlatform(parts);
let serving = false;
mountHealth(served.app, {
  service: 'ironcraft',
  commit: 'test',
  checks: { db: () => db.ping() },
  metrics,
  isServing: () => serving,
});
await served.app.ready();
await served.start();
await jobs.start();
const url = await served.app.listen({ host: '127.0.0.1', port: 0 });
serving = true;
process.stdout.write(`ready at ${url}\n`);
