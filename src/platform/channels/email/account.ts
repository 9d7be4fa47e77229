/** A domain's mail as a project saves it. */
import { abortAfter } from '../../../kernel/clock/timers.ts';
import type { Database } from '../../../kernel/db/database.ts';
import { ApiError } from '../../../kernel/http/errors.ts';
import { type Outbound, OutboundError } from '../../../kernel/outbound/outbound.ts';
import type { Vault } from '../../../kernel/vault/vault.ts';
import { tenantDb } from '../../store/tenant-db.ts';
import type { CheckedAccount } from '../accounts/checked-account.ts';
import { openProjectAccount, settingOf } from '../accounts/open-account.ts';
import { hashWebhookSecret } from '../accounts/webhook-secret.ts';
import type { OpenAccount } from '../channel.ts';
import { readDomain } from './address.ts';
import { type ClaimDependencies, claimDomain } from './claim-domain.ts';
import { type DkimKey, type DnsRecord, dnsRecords, makeDkimKey, readDkimKey } from './dkim-key.ts';
import { proofRecord } from './domain-proof.ts';
import { useSmtp } from './smtp.ts';
import { readSmtpUrl, type SmtpAccess } from './smtp-url.ts';

const DEADLINE_MS = 30_000;

export interface EmailAccount {
  readonly domain: string;
  readonly smtpUrl: string;
  readonly inboundSecret: string | undefined;
  readonly dkim: { readonly selector: string; readonly privateKey: string } | undefined;
}

export interface EmailAccountDependencies extends ClaimDependencies {
  readonly db: Database;
  readonly vault: Pick<Vault, 'open'>;
  readonly outbound: Pick<Outbound, 'openSocket'>;
  readonly config: MailDomainSettings;
}

/** `none`: whoever comes first has a domain. */
export interface MailDomainSettings {
  readonly mailDomainProof: 'dns' | 'none';
}

/** Throws `invalid_request`, `invalid_url`, `verification_failed` and `email_send_failed`. */
export async function checkEmailAccount(
  deps: EmailAccountDependencies,
  projectId: string,
  { domain: given, smtpUrl, inboundSecret, dkim }: EmailAccount,
): Promise<CheckedAccount> {
  const domain = readDomain(given);
  if (domain === undefined) throw refuse('domain', 'it is no domain; write one such as agents.example');
  const access = readAccess(smtpUrl);
  const own = dkim === undefined ? undefined : readKey(dkim.selector, dkim.privateKey);
  if (deps.config.mailDomainProof === 'dns') await claimDomain(deps, projectId, domain);
  await tryServer(deps.outbound, access);
  const key = own ?? (await keyOf(deps, projectId, domain));
  return {
    accountId: domain,
    settings: {
      smtp_host: `${access.host}:${access.port}`,
      dkim_selector: key.selector,
      dkim_public_key: key.publicKey,
    },
    secrets: {
      smtp_url: smtpUrl,
      dkim_private_key: key.privateKey,
      ...(inboundSecret !== undefined && { inbound_secret: inboundSecret }),
    },
    webhookKeyHash: inboundSecret === undefined ? null : hashWebhookSecret(inboundSecret),
  };
}

export function dkimKeyOf({ settings, secrets }: Pick<OpenAccount, 'settings' | 'secrets'>): DkimKey {
  return {
    selector: settingOf(settings, 'dkim_selector'),
    publicKey: settingOf(settings, 'dkim_public_key'),
    privateKey: secrets.dkim_private_key ?? '',
  };
}

/** What whoever has the domain enters where its names are kept. */
export function emailDnsRecords(
  { mailDomainProof }: MailDomainSettings,
  { projectId, accountId, settings }: Pick<OpenAccount, 'projectId' | 'accountId' | 'settings'>,
): readonly DnsRecord[] {
  const proof = mailDomainProof === 'dns' ? [proofRecord(projectId, accountId)] : [];
  return [...proof, ...dnsRecords(accountId, dkimKeyOf({ settings, secrets: {} }))];
}

/** The same domain keeps its key: its record is in the DNS already. */
async function keyOf({ db, vault }: EmailAccountDependencies, projectId: string, domain: string): Promise<DkimKey> {
  const before = await openProjectAccount(tenantDb(db, projectId), vault, 'email');
  return before?.accountId === domain ? dkimKeyOf(before) : makeDkimKey();
}

function readAccess(url: string): SmtpAccess {
  try {
    return readSmtpUrl(url);
  } catch (error) {
    if (error instanceof TypeError) throw badUrl(error.message);
    throw error;
  }
}

function readKey(selector: string, privateKey: string): DkimKey {
  try {
    return readDkimKey(selector, privateKey);
  } catch (error) {
    if (error instanceof TypeError) throw refuse('dkim.private_key', error.message);
    throw error;
  }
}

/** Greets the server, and logs in. */
async function tryServer(outbound: Pick<Outbound, 'openSocket'>, access: SmtpAccess): Promise<void> {
  try {
    await useSmtp(outbound, access, abortAfter(DEADLINE_MS), (transport) => transport.verify());
  } catch (error) {
    if (error instanceof OutboundError) throw badUrl(error.message);
    const why = error instanceof Error ? error.message : 'it gave no answer';
    throw new ApiError('email_send_failed', {
      param: 'smtp_url',
      message: `The mail server does not take mail with this \`smtp_url\`: ${why}. Check host, port, name and password; a server without TLS needs \`?tls=optional\`.`,
      cause: error,
    });
  }
}

function badUrl(why: string): ApiError {
  return new ApiError('invalid_url', { param: 'smtp_url', message: `\`smtp_url\` is refused: ${why}.` });
}

function refuse(param: string, why: string): ApiError {
  return new ApiError('invalid_request', { param, message: `\`${param}\` is refused: ${why}.` });
}
