/**
 * The domain service of `registry-chaos.soak.ts` in a process of its own, so that it can be killed. It is told the time, and works when it is asked to:
 *
 *   node unkind-service.ts STORE KEY PORT CLIENT NOW
 *
 * STORE is the URL of a database, or the folder of an embedded one; KEY the vault's, in hex; PORT the registry's, which
 * speaks EPP, and CLIENT the registrar's name there.
 */
import { createSecretKey } from 'node:crypto';
import { createEppRegistry } from '../../src/domains/registry/epp/index.ts';
import { createManualClock } from '../../src/kernel/clock/clock.ts';
import { connectEmbedded } from '../../src/kernel/db/connect-embedded.ts';
import { connectServer } from '../../src/kernel/db/connect-server.ts';
import { createVault } from '../../src/kernel/vault/vault.ts';
import { setUpSchemas } from '../support/database.ts';
import { startDomains } from '../support/domains.ts';
import { PASSWORD, testCa } from '../support/epp.ts';
import { takingPublisher } from '../support/taking-publisher.ts';
import { openTestLogger } from '../support/test-log.ts';

/** What it is asked to do; it answers with the number and what came of it. */
export type Task =
  | { readonly kind: 'turn'; readonly nowMs: number }
  | { readonly kind: 'work' }
  | { readonly kind: 'retry' }
  | { readonly kind: 'customer'; readonly cents: number }
  | { readonly kind: 'read'; readonly text: string };

export interface Results {
  readonly turn: undefined;
  readonly work: undefined;
  readonly retry: undefined;
  readonly customer: { readonly token: string; readonly workspaceId: string };
  readonly read: readonly Readonly<Record<string, unknown>>[];
}

export type Report =
  | { readonly kind: 'ready'; readonly url: string }
  | { readonly kind: 'done'; readonly number: number; readonly result: Results[Task['kind']] }
  | { readonly kind: 'failed'; readonly number: number; readonly reason: string };

const CONTACT = { street: '1 Mill Lane', city: 'London', postal_code: 'EC1', country: 'GB', phone: '+44.2071234567' };

const [store = '', key = '', port = '', clientId = '', now = ''] = process.argv.slice(2);
const clock = createManualClock(new Date(Number(now)));
const logger = openTestLogger();
const db = store.startsWith('postgres') ? await connectServer({ url: store, poolSize: 10 }) : await openFolder(store);
const registry = createEppRegistry({
  host: '127.0.0.1',
  port: Number(port),
  clientId,
  password: PASSWORD,
  tls: { ca: testCa },
  clock,
  logger,
  connections: 4,
  reconnectDelayMs: 1,
  reconnectDelayMaxMs: 20,
  limitDelayMs: 1,
  autoRenewGraceDays: 45,
  // Half of the names that there are in the end can be read each day.
  dailyLookCommands: 1_000,
});
await registry.start();
const service = await startDomains({
  clock,
  registry: () => registry,
  mailer: { send: async () => undefined },
  publisher: () => takingPublisher,
  sharing: { db, vault: createVault([createSecretKey(Buffer.from(key, 'hex'))]) },
  logger,
});

process.on('message', ({ number, task }: { readonly number: number; readonly task: Task }) => {
  carryOut(task).then(
    (result) => report({ kind: 'done', number, result }),
    (error: unknown) => report({ kind: 'failed', number, reason: String(error) }),
  );
});
// Whoever started it is gone.
process.on('disconnect', () => process.exit());
report({ kind: 'ready', url: service.url });

function report(sent: Report): void {
  process.send?.(sent);
}

async function openFolder(folder: string) {
  const opened = await connectEmbedded({ folder, flush: false });
  await setUpSchemas(opened);
  return opened;
}

async function carryOut(task: Task): Promise<Results[Task['kind']]> {
  switch (task.kind) {
    case 'turn':
      clock.set(new Date(task.nowMs));
      return undefined;
    case 'work':
      await work();
      return undefined;
    case 'retry':
      await service.domains.unpaidNames.runDue();
      return undefined;
    case 'customer': {
      const { fund, patch, token, workspaceId } = await service.createWorkspace();
      await fund(task.cents);
      await patch('/registrant', { contact: CONTACT });
      return { token, workspaceId };
    }
    case 'read':
      return (await db.query({ text: task.text, values: [] })).rows;
  }
}

/** Everything that is due, as the program's own workers have it. */
async function work(): Promise<void> {
  const { orders, renewals, unpaidNames } = service.domains;
  await orders.sweep();
  await renewals.runDue();
  await unpaidNames.runDue();
  await service.domains.resendDeletions();
  await orders.sweep();
}
