/**
 * Tells Twilio where it brings what comes to a number: here, as long as the project has a deployment of it. A job rather than
 * a part of the request: it looks at how things stand, so it may run late, twice, and after the deployment is gone.
 */
import type { Database } from '../../../kernel/db/database.ts';
import type { Jobs } from '../../../kernel/jobs/jobs.ts';
import { type Outbound, OutboundError } from '../../../kernel/outbound/outbound.ts';
import type { Vault } from '../../../kernel/vault/vault.ts';
import { type TenantTransaction, tenantDb } from '../../store/tenant-db.ts';
import { textAt } from '../provider/read-json.ts';
import { createTwilioApi, readRefusal } from './api.ts';
import { findNumber, listNumber, type NumberKind } from './check-number.ts';
import { accountIdOf, type TwilioNumber } from './number.ts';
import { isNumberInUse } from './number-store.ts';

const JOB = 'twilio-numbers';
const RETRIES = { retryLimit: 8, retryDelaySeconds: 2, retryDelayMaxSeconds: 300 };

const FIELDS = {
  sms: { url: 'SmsUrl', method: 'SmsMethod', shown: 'sms_url' },
  voice: { url: 'VoiceUrl', method: 'VoiceMethod', shown: 'voice_url' },
} as const;

interface NumberJob {
  readonly projectId: string;
  readonly kind: NumberKind;
  readonly sealedNumber: string;
}

export interface NumberWebhookDependencies {
  readonly db: Database;
  readonly vault: Pick<Vault, 'seal' | 'open'>;
  readonly outbound: Outbound;
  readonly publicUrl: string;
}

/** Where Twilio brings what comes to the numbers of a project. */
function numberWebhookUrl(publicUrl: string, kind: NumberKind, projectId: string): string {
  return `${publicUrl}/v1/${kind}/webhook/${projectId}`;
}

/** Has Twilio told, once the transaction has committed, how things stand with the number then. */
export async function settleNumberLater(
  { jobs, vault }: { readonly jobs: Jobs; readonly vault: Pick<Vault, 'seal'> },
  tx: TenantTransaction,
  kind: NumberKind,
  number: TwilioNumber,
): Promise<void> {
  const { projectId } = tx;
  const sealedNumber = vault.seal(JSON.stringify(number), jobContext(projectId, kind));
  await tx.enqueue(jobs, JOB, { projectId, kind, sealedNumber } satisfies NumberJob);
}

/** Call before `jobs.start`. */
export function defineNumberWebhooks(jobs: Jobs, deps: NumberWebhookDependencies): void {
  jobs.define<NumberJob>(JOB, ({ data, signal }) => settleNumber(deps, data, signal), RETRIES);
}

/** Throws what Twilio refuses, and whatever keeps it from answering: it is tried again. */
async function settleNumber(
  { db, vault, outbound, publicUrl }: NumberWebhookDependencies,
  { projectId, kind, sealedNumber }: NumberJob,
  signal: AbortSignal,
): Promise<void> {
  if (!(await isReachable(outbound, publicUrl))) return;
  const number: TwilioNumber = JSON.parse(vault.open(sealedNumber, jobContext(projectId, kind)));
  const api = createTwilioApi(outbound);
  const listed = await listNumber(api, number, signal);
  const found = findNumber(listed, number);
  const sid = textAt(found, 'sid');
  if (sid === undefined) throw new Error(`Twilio does not show the number: ${readRefusal(listed).message}`);
  const fields = FIELDS[kind];
  const own = numberWebhookUrl(publicUrl, kind, projectId);
  const isOwn = textAt(found, fields.shown) === own;
  const isUsed = await isNumberInUse(tenantDb(db, projectId), kind, accountIdOf(number));
  // Somebody may have pointed it elsewhere since.
  if (isUsed === isOwn) return;
  const form = { [fields.url]: isUsed ? own : '', [fields.method]: 'POST' };
  const path = `IncomingPhoneNumbers/${encodeURIComponent(sid)}`;
  const answer = await api.call(number.access, { method: 'POST', path, form }, signal);
  if (answer.status !== 200) throw new Error(`Twilio did not take the address: ${readRefusal(answer).message}`);
}

function jobContext(projectId: string, kind: NumberKind): string {
  return `jobs/${JOB}/${projectId}/${kind}`;
}

async function isReachable(outbound: Pick<Outbound, 'checkUrl'>, publicUrl: string): Promise<boolean> {
  if (new URL(publicUrl).protocol !== 'https:') return false;
  try {
    await outbound.checkUrl(publicUrl, { policy: 'public', httpsOnly: true });
    return true;
  } catch (error) {
    if (error instanceof OutboundError) return false;
    throw error;
  }
}
