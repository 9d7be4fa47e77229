import type { Clock } from '../../../kernel/clock/clock.ts';
import type { Database } from '../../../kernel/db/database.ts';
import { mintId } from '../../../kernel/ids/ids.ts';
import { readAccount } from './bill.ts';
import { checkDomains } from './check-domains.ts';
import {
  applyDue,
  type CommandContext,
  defaultDelays,
  type RegistryDelays,
  readDomainState,
} from './command-context.ts';
import { checkContacts, createContact, deleteContact, infoContact, updateContact } from './contacts.ts';
import { createDomain } from './create-domain.ts';
import { deleteDomain, reportRestore, restoreDomain } from './delete-domain.ts';
import { listDueNames, lockDomain } from './domain-store.ts';
import { checkHosts, createHost, deleteHost, infoHost, nameHost, updateHost } from './hosts.ts';
import { infoDomain } from './info-domain.ts';
import { findFirstMessage, type MessageHabits, putMessage, removeMessage } from './message-store.ts';
import { moveDomain } from './move-domain.ts';
import { checkPassword, ensureRegistrar, setPassword } from './registrars.ts';
import type { CreditOf, PriceList, RegistryCore, Reply, Session } from './registry-core.ts';
import { renewDomain } from './renew-domain.ts';
import { answer, completed, Refusal, type Result } from './replies.ts';
import { type SpecialNames, withPremiumNames } from './special-names.ts';
import { registryDb } from './tables.ts';
import { queryTrade, requestTrade } from './trade-domain.ts';
import { actOnTransfer, queryTransfer, requestTransfer } from './transfer-domain.ts';
import { updateDomain } from './update-domain.ts';

export interface RegistryCoreOptions {
  readonly db: Database;
  readonly clock: Clock;
  /** The zones that are served and what they cost. */
  readonly prices: PriceList;
  readonly delays?: Partial<RegistryDelays>;
  /** Names are renewed at the end of their term, which can be taken back for so many days. Default: they are not. */
  readonly autoRenewGraceDays?: number | undefined;
  /** Restorations want a report. Default: they are done at once. */
  readonly restoreReports?: boolean | undefined;
  readonly special?: SpecialNames | undefined;
  /** Default: nobody's is limited. */
  readonly credit?: CreditOf | undefined;
  /** Default: each message once, in their order. */
  readonly messages?: MessageHabits | undefined;
}

/** Names that `runDue` takes in one call. */
const DUE_BATCH = 200;

/** All of its state is in the database: any number of these, in any number of processes, are one registry. */
export function createRegistryCore(options: RegistryCoreOptions): RegistryCore {
  const {
    db,
    clock,
    delays = {},
    autoRenewGraceDays,
    restoreReports = false,
    credit = () => undefined,
    messages = {},
    special = {},
  } = options;
  const prices = withPremiumNames(options.prices, special.premium);
  const reservedNames = special.reserved ?? new Set<string>();
  /** Messages that have come once. Of this process: a restart may bring one a third time. */
  const repeated = new Set<string>();
  const rules = {
    prices,
    credit,
    reservedNames,
    delays: { ...defaultDelays, ...delays },
    autoRenewGraceDays,
    restoreReports,
  };

  function createContext(session: Session, svTRID: string): CommandContext {
    return { ...rules, db: registryDb(db), now: clock.now(), session, svTRID };
  }

  /** A command that only reads: without a transaction. */
  function runRead<Data>(
    session: Session,
    work: (context: CommandContext) => Promise<Result<Data>>,
  ): Promise<Reply<Data>> {
    const svTRID = mintId('sim');
    return answer(svTRID, () => work(createContext(session, svTRID)));
  }

  /** A command that may write: a refusal undoes all of it. */
  function runChange<Data>(
    session: Session,
    work: (context: CommandContext) => Promise<Result<Data>>,
  ): Promise<Reply<Data>> {
    const svTRID = mintId('sim');
    return answer(svTRID, () =>
      db.transaction((tx) => work({ ...createContext(session, svTRID), db: registryDb(tx) })),
    );
  }

  function readName(context: CommandContext, name: string) {
    return readDomainState(context, name, (work) => db.transaction((tx) => work({ ...context, db: registryDb(tx) })));
  }

  return {
    feesOf: (name) => prices(name.slice(name.indexOf('.') + 1), name),
    ensureRegistrar: (registrar) => ensureRegistrar(registryDb(db), registrar),
    login: ({ newPassword, password, registrarId }) =>
      runRead({ registrarId }, async (context) => {
        await checkPassword(context.db, registrarId, password);
        if (newPassword !== undefined) await setPassword(context.db, registrarId, newPassword);
        return completed(undefined);
      }),

    checkDomains: (session, names) => runRead(session, (context) => checkDomains(context, names)),
    infoDomain: (session, { name, authInfo }) =>
      runRead(session, async (context) => infoDomain(context, await readName(context, name), authInfo)),
    createDomain: (session, command) => runChange(session, (context) => createDomain(context, command)),
    renewDomain: (session, command) => runChange(session, (context) => renewDomain(context, command)),
    requestTransfer: (session, command) => runChange(session, (context) => requestTransfer(context, command)),
    queryTransfer: (session, { name, authInfo }) =>
      runRead(session, async (context) => queryTransfer(context, await readName(context, name), authInfo)),
    approveTransfer: (session, { name }) =>
      runChange(session, (context) => actOnTransfer(context, name, 'clientApproved')),
    rejectTransfer: (session, { name }) =>
      runChange(session, (context) => actOnTransfer(context, name, 'clientRejected')),
    cancelTransfer: (session, { name }) =>
      runChange(session, (context) => actOnTransfer(context, name, 'clientCancelled')),
    requestTrade: (session, command) => runChange(session, (context) => requestTrade(context, command)),
    queryTrade: (session, { name }) =>
      runRead(session, async (context) => queryTrade(context, await readName(context, name))),
    updateDomain: (session, command) => runChange(session, (context) => updateDomain(context, command)),
    deleteDomain: (session, { name }) => runChange(session, (context) => deleteDomain(context, name)),
    restoreDomain: (session, command) => runChange(session, (context) => restoreDomain(context, command)),
    reportRestore: (session, { name }) => runChange(session, (context) => reportRestore(context, name)),

    checkContacts: (session, ids) => runRead(session, (context) => checkContacts(context, ids)),
    infoContact: (session, contact) => runRead(session, (context) => infoContact(context, contact)),
    createContact: (session, command) => runChange(session, (context) => createContact(context, command)),
    updateContact: (session, command) => runChange(session, (context) => updateContact(context, command)),
    deleteContact: (session, { id }) => runChange(session, (context) => deleteContact(context, id)),

    checkHosts: (session, names) => runRead(session, (context) => checkHosts(context, names)),
    infoHost: (session, { name }) => runRead(session, (context) => infoHost(context, name)),
    createHost: (session, command) => runChange(session, (context) => createHost(context, command)),
    nameHost: (session, command) => runChange(session, (context) => nameHost(context, command)),
    updateHost: (session, command) => runChange(session, (context) => updateHost(context, command)),
    deleteHost: (session, { name }) => runChange(session, (context) => deleteHost(context, name)),

    requestMessage: (session) => runRead(session, (context) => requestMessage(context, messages)),
    acknowledgeMessage: (session, id) =>
      runChange(session, (context) => acknowledgeMessage(context, id, messages, repeated)),
    announce: (registrar, text) =>
      putMessage(registryDb(db), {
        registrar,
        queued_at: clock.now(),
        name: '',
        text,
        data: { type: 'announcement' },
      }),

    readBalance: (session) =>
      runRead(session, async (context) =>
        completed(await readAccount({ ...context, registrar: context.session.registrarId })),
      ),

    moveDomain: ({ name, registrarId }) => runChange({ registrarId }, (context) => moveDomain(context, name)),

    async runDue() {
      const { due, nextInMs } = await listDueNames(registryDb(db), clock.now(), DUE_BATCH);
      let touched = 0;
      // One transaction a name: short, and none holds a lock while it waits for another.
      for (const { name } of due)
        touched += await db.transaction((tx) => ageOne({ ...rules, db: registryDb(tx), now: clock.now() }, name));
      return { touched, nextInMs };
    },
  };
}

async function ageOne(context: Omit<CommandContext, 'session' | 'svTRID'>, name: string): Promise<number> {
  const domain = await lockDomain(context.db, name);
  if (domain === undefined) return 0;
  return (await applyDue(context, domain)) === domain ? 0 : 1;
}

async function requestMessage({ db, session }: CommandContext, habits: MessageHabits) {
  const first = await findFirstMessage(db, session.registrarId, habits);
  return { code: first === undefined ? 1300 : 1301, data: first } as const;
}

async function acknowledgeMessage(
  { db, session }: CommandContext,
  id: string,
  habits: MessageHabits,
  repeated: Set<string>,
) {
  const removed = /^\d{1,15}$/.test(id) ? await removeMessage(db, session.registrarId, Number(id)) : undefined;
  if (removed === undefined) throw new Refusal(2303, `there is no message ${id}`, 'msgID');
  const { id: _, ...message } = removed;
  const key = `${message.name} ${message.queued_at.toISOString()} ${message.text}`;
  if (habits.twice === true && !repeated.has(key)) {
    repeated.add(key);
    await putMessage(db, message);
  }
  const next = await findFirstMessage(db, session.registrarId, habits);
  return completed(next === undefined ? { count: 0 } : { count: next.count, nextId: next.message.id });
}
