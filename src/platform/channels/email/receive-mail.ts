/** Mail for a project's domain, as it came: checked, read, and taken once. */
import type { Database, Executor } from '../../../kernel/db/database.ts';
import { ApiError } from '../../../kernel/http/errors.ts';
import type { Vault } from '../../../kernel/vault/vault.ts';
import { TenantDatabase, type TenantDb, tenantDb } from '../../store/tenant-db.ts';
import { findLiveAccount } from '../accounts/account-store.ts';
import { openAccount } from '../accounts/open-account.ts';
import { isWebhookSecret } from '../accounts/webhook-secret.ts';
import type { InboundAttachment, InboundMessage, OpenAccount } from '../channel.ts';
import type { ChannelFiles } from '../channel-files.ts';
import { domainOf, handleOf } from './address.ts';
import { countMail } from './count-mail.ts';
import { findMailboxes, type Mailbox } from './mailbox-store.ts';
import { fateOf, type MailFate, readInbound } from './read-inbound.ts';
import type { MailReader } from './read-mail/mail-reader.ts';
import type { MailFile, ReadMail } from './read-mail/protocol.ts';
import { takeReport } from './take-report.ts';

export const INBOUND_SECRET_HEADER = 'x-ic-inbound-secret';
/** Of one mail. */
const MAX_MAILBOXES = 10;

/** Whose domain it is for. Throws `bad_inbound_secret`, whether the project has mail or not. */
export async function verifyMailCall(
  { db, vault }: { readonly db: Executor; readonly vault: Pick<Vault, 'open'> },
  projectId: string,
  secret: string | string[] | undefined,
): Promise<OpenAccount> {
  const row = await findLiveAccount(tenantDb(db, projectId), 'email');
  if (!isWebhookSecret(secret, row?.webhook_key_hash) || row === undefined) throw new ApiError('bad_inbound_secret');
  return openAccount(vault, projectId, row);
}

export interface ReceiveDependencies {
  readonly db: Database;
  readonly now: () => Date;
  readonly reader: Pick<MailReader, 'read'>;
  readonly files: Pick<ChannelFiles, 'hold' | 'limitBytes'>;
  readonly accept: (account: OpenAccount, messages: readonly InboundMessage[]) => Promise<unknown>;
}

/** The DNS cannot be asked who sent the mail: it is to be brought again. */
export class UndecidedMailError extends Error {
  override readonly name = 'UndecidedMailError';
}

/**
 * When it resolves the mail is taken. Without `recipients` its headers say whom it is for. Throws `UnreadableMailError` and
 * `UndecidedMailError`; then nothing was taken.
 */
export async function receiveMail(
  deps: ReceiveDependencies,
  account: OpenAccount,
  raw: Uint8Array,
  recipients?: readonly string[],
): Promise<void> {
  const { projectId, accountId: domain } = account;
  const mail = await deps.reader.read(projectId, raw);
  const named = recipients ?? (mail.deliveredTo.length > 0 ? mail.deliveredTo : mail.to);
  const db = new TenantDatabase(deps.db, projectId);
  const { report } = mail;
  if (report !== undefined) await db.transaction((tx) => takeReport(tx, domain, report));
  const mailboxes = await findNamed(db, domain, named);
  const reached: readonly (Mailbox | undefined)[] = mailboxes.length === 0 ? [undefined] : mailboxes;
  const isPlain = report === undefined && mail.automatic === undefined;
  if (isPlain && mail.authentication.result === 'unknown') throw new UndecidedMailError(mail.authentication.detail);
  const decided = await Promise.all(
    reached.map(async (mailbox) => ({ mailbox, fate: await decide(deps, db, mail, mailbox) })),
  );
  const isObeyed = decided.some(({ fate }) => fate.fate === undefined);
  const attachments = isObeyed ? await holdFiles(deps, projectId, mail.files) : [];
  await deps.accept(
    account,
    decided.map(({ mailbox, fate }) => readInbound(domain, mail, { mailbox, fate, attachments })),
  );
}

/** What begins a turn is counted: a machine that does not say that it is one writes without end. */
async function decide(
  { now }: Pick<ReceiveDependencies, 'now'>,
  db: TenantDb,
  mail: ReadMail,
  mailbox: Mailbox | undefined,
): Promise<MailFate> {
  const fate = fateOf(mail, mailbox);
  if (fate.fate !== undefined || mailbox === undefined) return fate;
  return (await countMail(db, mailbox.id, mail.from, now())) ? fate : TOO_MANY;
}

const TOO_MANY: MailFate = { type: 'automatic', fate: 'noted' };

/** Whether mail for this address reaches somebody. */
export async function hasMailbox(db: Executor, projectId: string, domain: string, address: string): Promise<boolean> {
  return (await findNamed(tenantDb(db, projectId), domain, [address])).length > 0;
}

/** With what stands behind a `+` and without it, where nobody has it with. */
async function findNamed(db: TenantDb, domain: string, named: ReadMail['to']): Promise<readonly Mailbox[]> {
  const own = [...new Set(named)].filter((address) => domainOf(address) === domain).slice(0, MAX_MAILBOXES);
  const bare = (address: string) => `${handleOf(address).replace(/\+.*$/, '')}@${domain}`;
  const found = new Map(
    (
      await findMailboxes(
        db,
        own.flatMap((address) => [address, bare(address)]),
      )
    ).map((each) => [each.address, each]),
  );
  const reached = own.map((address) => found.get(address) ?? found.get(bare(address)));
  return [...new Set(reached.filter((mailbox) => mailbox !== undefined))];
}

/** What there is no room for is told to the model in place of the file. */
async function holdFiles(
  { files }: Pick<ReceiveDependencies, 'files'>,
  projectId: string,
  given: readonly MailFile[],
): Promise<readonly InboundAttachment[]> {
  const held: InboundAttachment[] = [];
  for (const { filename, mediaType, content } of given) {
    held.push({
      ref: await hold(files, projectId, { filename, mediaType, content }),
      filename,
      mediaType,
      bytes: content.length,
    });
  }
  return held;
}

async function hold(
  files: ReceiveDependencies['files'],
  projectId: string,
  { filename, mediaType, content }: MailFile,
): Promise<string> {
  if (content.length > files.limitBytes) return '';
  try {
    return (await files.hold(projectId, { filename, mediaType, content: inOnePiece(content) })).fileId;
  } catch (error) {
    if (error instanceof ApiError && error.code === 'payload_too_large') return '';
    throw error;
  }
}

async function* inOnePiece(content: Uint8Array): AsyncGenerator<Uint8Array> {
  yield content;
}
