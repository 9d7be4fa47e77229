import type { Clock } from '../../../kernel/clock/clock.ts';
import type { Database } from '../../../kernel/db/database.ts';
import { mintId } from '../../../kernel/ids/ids.ts';
import { checkDomains } from './check-domains.ts';
import { ageHeld, type CommandContext, defaultDelays, lookAtDomain, type RegistryDelays } from './command-context.ts';
import { checkContacts, createContact, deleteContact, infoContact, updateContact } from './contacts.ts';
import { createDomain } from './create-domain.ts';
import { deleteDomain, restoreDomain } from './delete-domain.ts';
import { listDueNames, lockDomain } from './domain-store.ts';
import { checkHosts, createHost, deleteHost, infoHost, updateHost } from './hosts.ts';
import { infoDomain } from './info-domain.ts';
import { findOldestMessage, removeMessage } from './message-store.ts';
import { checkPassword, ensureRegistrar, setPassword } from './registrars.ts';
import type { PriceList, RegistryCore, Reply, Session } from './registry-core.ts';
import { renewDomain } from './renew-domain.ts';
import { answer, completed, Refusal, type Result } from './replies.ts';
import { registryDb } from './tables.ts';
import { actOnTransfer, queryTransfer, requestTransfer } from './transfer-domain.ts';
import { updateDomain } from './update-domain.ts';

export interface RegistryCoreOptions {
  readonly db: Database;
  readonly clock: Clock;
  /** The zones that are served and what they cost. */
  readonly prices: PriceList;
  readonly delays?: Partial<RegistryDelays>;
}

/** Names that `runDue` takes in one call. */
const DUE_BATCH = 200;

/** All of its state is in the database: any number of these, in any number of processes, are one registry. */
export function createRegistryCore({ db, clock, prices, delays = {} }: RegistryCoreOptions): RegistryCore {
  const rules = { prices, delays: { ...defaultDelays, ...delays } };

  function begin(session: Session, svTRID: string): CommandContext {
    return { ...rules, db: registryDb(db), now: clock.now(), session, svTRID };
  }

  /** A command that only reads: without a transaction. */
  function look<Data>(
    session: Session,
    work: (context: CommandContext) => Promise<Result<Data>>,
  ): Promise<Reply<Data>> {
    const svTRID = mintId('sim');
    return answer(svTRID, () => work(begin(session, svTRID)));
  }

  /** A command that may write: a refusal undoes all of it. */
  function act<Data>(session: Session, work: (context: CommandContext) => Promise<Result<Data>>): Promise<Reply<Data>> {
    const svTRID = mintId('sim');
    return answer(svTRID, () => db.transaction((tx) => work({ ...begin(session, svTRID), db: registryDb(tx) })));
  }

  function lookAt(context: CommandContext, name: string) {
    return lookAtDomain(context, name, (work) => db.transaction((tx) => work({ ...context, db: registryDb(tx) })));
  }

  return {
    ensureRegistrar: (registrar) => ensureRegistrar(registryDb(db), registrar),
    login: ({ newPassword, password, registrarId }) =>
      look({ registrarId }, async (context) => {
        await checkPassword(context.db, registrarId, password);
        if (newPassword !== undefined) await setPassword(context.db, registrarId, newPassword);
        return completed(undefined);
      }),

    checkDomains: (session, names) => look(session, (context) => checkDomains(context, names)),
    infoDomain: (session, { name, authInfo }) =>
      look(session, async (context) => infoDomain(context, await lookAt(context, name), authInfo)),
    createDomain: (session, command) => act(session, (context) => createDomain(context, command)),
    renewDomain: (session, command) => act(session, (context) => renewDomain(context, command)),
    requestTransfer: (session, command) => act(session, (context) => requestTransfer(context, command)),
    queryTransfer: (session, { name, authInfo }) =>
      look(session, async (context) => queryTransfer(context, await lookAt(context, name), authInfo)),
    approveTransfer: (session, { name }) => act(session, (context) => actOnTransfer(context, name, 'clientApproved')),
    rejectTransfer: (session, { name }) => act(session, (context) => actOnTransfer(context, name, 'clientRejected')),
    cancelTransfer: (session, { name }) => act(session, (context) => actOnTransfer(context, name, 'clientCancelled')),
    updateDomain: (session, command) => act(session, (context) => updateDomain(context, command)),
    deleteDomain: (session, { name }) => act(session, (context) => deleteDomain(context, name)),
    restoreDomain: (session, command) => act(session, (context) => restoreDomain(context, command)),

    checkContacts: (session, ids) => look(session, (context) => checkContacts(context, ids)),
    infoContact: (session, contact) => look(session, (context) => infoContact(context, contact)),
    createContact: (session, command) => act(session, (context) => createContact(context, command)),
    updateContact: (session, command) => act(session, (context) => updateContact(context, command)),
    deleteContact: (session, { id }) => act(session, (context) => deleteContact(context, id)),

    checkHosts: (session, names) => look(session, (context) => checkHosts(context, names)),
    infoHost: (session, { name }) => look(session, (context) => infoHost(context, name)),
    createHost: (session, command) => act(session, (context) => createHost(context, command)),
    updateHost: (session, command) => act(session, (context) => updateHost(context, command)),
    deleteHost: (session, { name }) => act(session, (context) => deleteHost(context, name)),

    requestMessage: (session) => look(session, requestMessage),
    acknowledgeMessage: (session, id) => act(session, (context) => acknowledgeMessage(context, id)),

    async runDue() {
      const names = await listDueNames(registryDb(db), clock.now(), DUE_BATCH);
      let touched = 0;
      // One transaction a name: short, and none can wait for another of this kind while it holds something.
      for (const name of names) touched += await db.transaction((tx) => ageOne(registryDb(tx), name, clock.now()));
      return touched;
    },
  };
}

async function ageOne(db: CommandContext['db'], name: string, now: Date): Promise<number> {
  const domain = await lockDomain(db, name);
  if (domain === undefined) return 0;
  return (await ageHeld({ db, now }, domain)) === domain ? 0 : 1;
}

async function requestMessage({ db, session }: CommandContext) {
  const oldest = await findOldestMessage(db, session.registrarId);
  return { code: oldest === undefined ? 1300 : 1301, data: oldest } as const;
}

async function acknowledgeMessage({ db, session }: CommandContext, id: string) {
  const isOurs = /^\d{1,15}$/.test(id) && (await removeMessage(db, session.registrarId, Number(id)));
  if (!isOurs) throw new Refusal(2303, `there is no message ${id}`, 'msgID');
  const next = await findOldestMessage(db, session.registrarId);
  return completed(next === undefined ? { count: 0 } : { count: next.count, nextId: next.message.id });
}
