/**
 * What a provider has delivered, in one transaction: whom each message reaches, and its place in that conversation. Once
 * it has committed the provider may be told that its call is done. Whoever speaks to an agent for the first time gets a smith
 * when the turn begins.
 */
import type { Database } from '../../../kernel/db/database.ts';
import type { Vault } from '../../../kernel/vault/vault.ts';
import { appendEvent } from '../../feed/append-event.ts';
import { provisionForDeployment } from '../../smiths/index.ts';
import { TenantDatabase, type TenantDb, type TenantTransaction } from '../../store/tenant-db.ts';
import type { InboundMessage, OpenAccount } from '../channel.ts';
import { replyContext } from '../reply-secrets.ts';
import { ALREADY_BOUND_SENTENCE, BOUND_SENTENCE, NEW_THREAD_SENTENCE } from '../sentences.ts';
import { bindByToken } from './bind.ts';
import {
  type DeliveredMessage,
  deliverForTurn,
  findRecipient,
  insertDelivered,
  insertNoted,
  isAcceptedMeanwhile,
  type Recipient,
} from './inbound-store.ts';
import { findStartToken } from './start-tokens.ts';

export interface AcceptDependencies {
  readonly db: Database;
  readonly vault: Pick<Vault, 'seal'>;
  readonly now: () => Date;
}

/** A conversation that something was added to. */
export interface TouchedChat {
  readonly projectId: string;
  readonly chatId: string;
  /** The channel itself has something to say there. */
  readonly isAnswered: boolean;
}

export interface Accepted {
  readonly touched: readonly TouchedChat[];
  /** Messages of senders whom nobody claims. */
  readonly unbound: number;
}

/** Each race for one message is lost once: then it is known. */
const MAX_TRIES = 5;
const PREVIEW_CHARS = 200;

/** Accepts those that are new, in order. What fails leaves nothing. */
export async function acceptMessages(
  deps: AcceptDependencies,
  account: OpenAccount,
  messages: readonly InboundMessage[],
): Promise<Accepted> {
  const db = new TenantDatabase(deps.db, account.projectId);
  for (let attempt = 1; ; attempt += 1) {
    try {
      return (await acceptAlone(deps, db, account, messages)) ?? (await acceptTogether(deps, db, account, messages));
    } catch (error) {
      const isMeanwhile = error instanceof AcceptedMeanwhileError || isAcceptedMeanwhile(error);
      if (!isMeanwhile || attempt === MAX_TRIES) throw error;
    }
  }
}

class AcceptedMeanwhileError extends Error {
  constructor() {
    super('Another call has accepted the same message');
    this.name = 'AcceptedMeanwhileError';
  }
}

/** A message by itself that begins a turn, as most do: one statement, without a transaction around it. Undefined: it is another. */
async function acceptAlone(
  deps: AcceptDependencies,
  db: TenantDatabase,
  account: OpenAccount,
  messages: readonly InboundMessage[],
): Promise<Accepted | undefined> {
  const [message] = messages;
  if (message === undefined || messages.length > 1 || !isForTurn(message)) return undefined;
  const chat = await acceptForTurn(deps, db, account, message);
  if (chat === 'unbound') return undefined;
  return { touched: chat === 'known' ? [] : [chat], unbound: 0 };
}

function acceptTogether(
  deps: AcceptDependencies,
  db: TenantDatabase,
  account: OpenAccount,
  messages: readonly InboundMessage[],
): Promise<Accepted> {
  return db.transaction(async (tx) => {
    const touched: TouchedChat[] = [];
    let unbound = 0;
    for (const message of messages) {
      const accept = isForTurn(message) ? acceptForTurn : acceptOther;
      const chat = await accept(deps, tx, account, message);
      if (chat === 'unbound') {
        await noteUnbound(tx, account, message, deps.now());
        unbound += 1;
      } else if (chat !== 'known') touched.push(chat);
    }
    return { touched, unbound };
  });
}

/** The conversation that it was added to; `known`: the message is a repetition; `unbound`: nobody claims its sender. */
type AcceptedMessage = TouchedChat | 'unbound' | 'known';

/** Nothing in the message decides anything but whom it reaches. */
function isForTurn(message: InboundMessage): boolean {
  return message.fate === undefined && tokenOf(message) === undefined && !COMMANDS.has(commandOf(message));
}

async function acceptForTurn(
  { vault, now }: AcceptDependencies,
  db: TenantDb,
  account: OpenAccount,
  message: InboundMessage,
): Promise<AcceptedMessage> {
  const sealedReply = sealReply(vault, account, message);
  const { is_known, chat_id } = await deliverForTurn(db, account, message, { sealedReply, now: now() });
  if (is_known) return 'known';
  return chat_id === null ? 'unbound' : { projectId: account.projectId, chatId: chat_id, isAnswered: false };
}

async function acceptOther(
  { vault, now }: AcceptDependencies,
  tx: TenantTransaction,
  account: OpenAccount,
  message: InboundMessage,
): Promise<AcceptedMessage> {
  const found = await findRecipient(tx, account, message);
  if (found.is_known) return 'known';
  const at = now();
  if (message.fate === 'noted') {
    const reached = message.deploymentId === undefined ? undefined : found;
    if (!(await insertNoted(tx, account, message, reached, at))) throw new AcceptedMeanwhileError();
    return 'known';
  }
  const delivered = await chooseDelivery(tx, account, message, found, at);
  if (delivered === undefined) return 'unbound';
  const sealedReply = sealReply(vault, account, message);
  const chatId = await insertDelivered(tx, account, message, { ...delivered, sealedReply, now: at });
  return { projectId: account.projectId, chatId, isAnswered: delivered.sentence !== undefined };
}

function sealReply(vault: Pick<Vault, 'seal'>, account: OpenAccount, { reply, chat }: InboundMessage): string | null {
  return reply === undefined ? null : vault.seal(reply, replyContext(account.projectId, account.accountId, chat));
}

/** Where its address says whom it is for, nobody is to be bound. */
function tokenOf({ deploymentId, fate, text }: InboundMessage): string | undefined {
  return deploymentId === undefined && fate === undefined ? findStartToken(text) : undefined;
}

const NEW_THREAD = '/new';
const STOP = '/stop';
const COMMANDS: ReadonlySet<string> = new Set([NEW_THREAD, STOP]);

function commandOf({ text }: InboundMessage): string {
  return text.trim().toLowerCase();
}

type Delivery = Pick<DeliveredMessage, 'deploymentId' | 'smithId' | 'purpose' | 'sentence'>;

/** Undefined: nobody claims the sender. */
async function chooseDelivery(
  tx: TenantTransaction,
  account: OpenAccount,
  message: InboundMessage,
  found: Recipient,
  now: Date,
): Promise<Delivery | undefined> {
  const token = tokenOf(message);
  if (token !== undefined && !found.is_bound) {
    const bound = await bindByToken(tx, account, message, token, now);
    if (bound !== undefined) {
      return { deploymentId: bound.id, smithId: bound.smith_id, purpose: 'none', sentence: BOUND_SENTENCE };
    }
  }
  if (found.deployment_id === null || message.fate === 'unbound') return undefined;
  const deploymentId = found.deployment_id;
  const smithId = found.smith_id ?? found.known_smith_id ?? (await provision(tx, account, message, found));
  const place = { deploymentId, smithId };
  // It is no message, whether it is right or wrong.
  if (token !== undefined && found.is_bound) return { ...place, purpose: 'none', sentence: ALREADY_BOUND_SENTENCE };
  switch (commandOf(message)) {
    case NEW_THREAD:
      return { ...place, purpose: 'new', sentence: NEW_THREAD_SENTENCE };
    case STOP:
      return { ...place, purpose: 'stop', sentence: undefined };
    default:
      return { ...place, purpose: 'turn', sentence: undefined };
  }
}

async function provision(
  tx: TenantTransaction,
  { kind }: OpenAccount,
  { sender }: InboundMessage,
  { agent_id }: Recipient,
): Promise<string> {
  const { id } = await provisionForDeployment(tx, { external_id: `${kind}:${sender}`, agent_id: agent_id ?? '' });
  return id;
}

async function noteUnbound(
  tx: TenantTransaction,
  account: OpenAccount,
  message: InboundMessage,
  now: Date,
): Promise<void> {
  const unbound = { ...message, type: 'unbound_message' };
  if (!(await insertNoted(tx, account, unbound, undefined, now))) throw new AcceptedMeanwhileError();
  const text = message.text.slice(0, PREVIEW_CHARS).toWellFormed();
  await appendEvent(tx, {
    type: 'unbound_message',
    actor: null,
    data: { kind: account.kind, sender: message.sender, text },
  });
}
