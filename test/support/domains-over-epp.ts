/** A domain service whose registry is reached by EPP, over TLS, with a manual clock; the registry answers wrongly where a test says so. */
import { createSecretKey, randomBytes } from 'node:crypto';
import type { Mailer } from '../../src/domains/mail/index.ts';
import type { PriceBook } from '../../src/domains/prices/price-book.ts';
import type { NoticeService } from '../../src/domains/registry/claims-notices.ts';
import type { ChooseDelivery, EppRegistryOptions, ServerHabits } from '../../src/domains/registry/epp/index.ts';
import type {
  ChooseWrongAnswer,
  CreditOf,
  MessageHabits,
  SpecialNames,
} from '../../src/domains/registry/simulated/index.ts';
import { systemDb } from '../../src/domains/workspace-scope.ts';
import { createVault } from '../../src/kernel/vault/vault.ts';
import { openTestDatabase } from './database.ts';
import { startDomains, type TestDomains, type TestDomainsOptions, type TestWorkspace } from './domains.ts';
import { openTestEpp, openWire, type TestEpp } from './epp.ts';
import { lettingGo } from './let-go.ts';
import { createPatience, createTimedPatience } from './patience.ts';
import { takingPublisher } from './taking-publisher.ts';
import { openTestLogger } from './test-log.ts';

export interface TestDomainsOverEpp extends TestDomains {
  readonly epp: TestEpp;
  /** In place of those before; undefined: every answer is right. */
  answerWrongly(choose: ChooseWrongAnswer | undefined): void;
  /**
   * What becomes of commands from now on, in place of before; undefined: they are carried out and answered. When one is met by silence the
   * time of all callers is over.
   */
  deliver(choose: ChooseDelivery | undefined): void;
  /** Cuts what is open: who waits for an answer gets none, and connects anew. */
  cutConnections(): void;
  /** With money and an address, as registries want one; the names are registered. */
  owner(...names: readonly string[]): Promise<TestWorkspace>;
  /** So much later, with everything done that is due by then. */
  later(ms: number): Promise<void>;
  /**
   * The service has none of its names any more: those of tests that are over would be asked about each day that a later one passes. The
   * registry has them still.
   */
  letNamesGo(): Promise<void>;
}

const CONTACT = { street: '1 Mill Lane', city: 'London', postal_code: 'EC1', country: 'GB', phone: '+44.2071234567' };
const COM_PRICE = 11.9;

export async function startDomainsOverEpp({
  mailer,
  prices,
  special,
  credit,
  habits = {},
  endpoint = {},
  messages,
  parts = {},
  leaseBeatMs,
  noticeService,
  isTimed = false,
  restoreReports = false,
  tradeSeconds = 0,
  ...options
}: {
  readonly endpoint?: Partial<EppRegistryOptions>;
  readonly messages?: MessageHabits;
  readonly parts?: Pick<TestDomainsOptions, 'delegations' | 'payments' | 'publisher'>;
  /** See `GivenDependencies`. */
  readonly leaseBeatMs?: number;
  /** Where notices of trademark claims come from. */
  readonly noticeService?: NoticeService;
  /** Callers wait for as long as the product has it: for the soak. */
  readonly isTimed?: boolean;
  readonly autoRenewGraceDays?: number;
  /** Restorations want a report. */
  readonly restoreReports?: boolean;
  /** Until both holders have consented to a trade. */
  readonly tradeSeconds?: number;
  readonly mailer?: Mailer;
  /** What the registry lets its registrars spend. */
  readonly credit?: CreditOf;
  readonly habits?: Partial<ServerHabits>;
  /** What is sold; default: the program's own table. */
  readonly prices?: PriceBook;
  /** What the registry sells at other prices, or not at all. */
  readonly special?: SpecialNames;
  /** Whether the registry is asked for its prices. */
  readonly fees?: EppRegistryOptions['fees'];
} = {}): Promise<TestDomainsOverEpp> {
  const database = await openTestDatabase();
  const logger = openTestLogger();
  const patience = isTimed ? createTimedPatience(logger) : createPatience(logger);
  const { db } = database;
  let choose: ChooseWrongAnswer | undefined;
  let deliver: ChooseDelivery | undefined;
  const epp = await openTestEpp(db, {
    ...(options.autoRenewGraceDays === undefined ? {} : { autoRenewGraceDays: options.autoRenewGraceDays }),
    ...(special === undefined ? {} : { special }),
    ...(credit === undefined ? {} : { credit }),
    habits,
    restoreReports,
    messages,
    delays: { createSeconds: 0, renewSeconds: 0, tradeSeconds },
    wrongAnswers: (command, name) => choose?.(command, name),
    deliver(command) {
      const delivery = deliver?.(command);
      // Nobody waits longer than until it is known that nothing comes.
      if (delivery?.kind === 'silent') patience.runOut();
      return delivery;
    },
  });
  const wire = await openWire(epp.server.port);
  const adapter = await epp.connect({
    ...options,
    db,
    port: wire.port,
    ...(isTimed && { termsTimeoutMs: 2_000 }),
    ...endpoint,
  });
  const service = await startDomains({
    clock: epp.clock,
    registry: () => adapter,
    // A zone that nobody took would be sent again in each sweep.
    publisher: () => takingPublisher,
    ...parts,
    ...(mailer === undefined ? {} : { mailer }),
    parts: {
      ...(prices === undefined ? {} : { prices }),
      ...(leaseBeatMs === undefined ? {} : { leaseBeatMs }),
      noticeService,
    },
    sharing: { db, vault: createVault([createSecretKey(randomBytes(32))]) },
    logger,
    patience,
  });
  return lettingGo({
    ...service,
    epp,
    answerWrongly(next) {
      choose = next;
    },
    deliver(next) {
      deliver = next;
    },
    cutConnections() {
      wire.setDown(true);
      wire.setDown(false);
    },
    async owner(...names) {
      const workspace = await service.createWorkspace();
      await workspace.fund(1_000_000);
      await workspace.patch('/registrant', { contact: CONTACT });
      for (const domain of names) {
        const { status, text: answer } = await workspace.post('/domains', { domain, confirm_price: COM_PRICE });
        if (status !== 201) throw new Error(`${domain} could not be registered: ${answer}`);
      }
      return workspace;
    },
    async later(ms) {
      epp.clock.advance(ms);
      // The first refreshes names, the second reads the registry’s messages about them.
      await service.domains.orders.sweep();
      await service.domains.orders.sweep();
    },
    async letNamesGo() {
      await systemDb(db)
        .updateTable('domains')
        // Long ago: what has gone lately may be brought back.
        .set({ state: 'gone', gone_at: new Date(0), missing_since: null })
        .where('state', '=', 'active')
        .execute();
    },
    async close() {
      await service.close();
      await wire.close();
      await epp.close();
      await database.close();
    },
  });
}
