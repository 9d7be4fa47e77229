/** A call of Twilio's to a project's webhook: which of its numbers it speaks of, if the account's token has signed it. */
import { randomBytes } from 'node:crypto';
import type { Executor } from '../../../kernel/db/database.ts';
import { ApiError } from '../../../kernel/http/errors.ts';
import type { Vault } from '../../../kernel/vault/vault.ts';
import { tenantDb } from '../../store/tenant-db.ts';
import type { NumberKind } from './check-number.ts';
import { numberIdOf } from './number.ts';
import { type OpenNumber, openAllNumbers, openNumbers } from './number-store.ts';
import { fieldOf, readForm, readTwilioSignature, TWILIO_SIGNATURE_HEADER, type TwilioForm } from './signature.ts';

export interface TwilioCallDependencies {
  readonly db: Executor;
  readonly vault: Pick<Vault, 'open'>;
  readonly publicUrl: string;
}

export interface TwilioRequest {
  /** Path and query, as they were called. */
  readonly url: string;
  readonly bytes: Buffer;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
}

export interface TwilioCall<Kind extends NumberKind> {
  readonly account: OpenNumber<Kind>;
  readonly form: TwilioForm;
}

/** Throws `missing_signature` and `bad_signature`, whether the project has the number or not. */
export async function verifyTwilioCall<Kind extends NumberKind>(
  { db, vault, publicUrl }: TwilioCallDependencies,
  kind: Kind,
  projectId: string,
  { url, bytes, headers }: TwilioRequest,
): Promise<TwilioCall<Kind>> {
  const form = readForm(bytes);
  const isSignedWith = readTwilioSignature(`${publicUrl}${url}`, form, headers[TWILIO_SIGNATURE_HEADER]);
  const id = numberIdOf(fieldOf(form, 'AccountSid'), fieldOf(form, 'To'));
  const accounts = id === undefined ? [] : await openNumbers(tenantDb(db, projectId), vault, kind, id);
  // As long as for a number that is known.
  if (accounts.length === 0) isSignedWith(randomBytes(16).toString('hex'));
  const account = accounts.find(({ secrets }) => isSignedWith(secrets.auth_token ?? ''));
  if (account === undefined) throw new ApiError('bad_signature');
  return { account, form };
}

/** A request of Twilio's for a connection, which it signs for the account of some number: all whose token it may have been. Throws as above. */
export async function verifyTwilioSocket(
  { db, vault, publicUrl }: TwilioCallDependencies,
  projectId: string,
  { url, headers }: Omit<TwilioRequest, 'bytes'>,
): Promise<readonly OpenNumber<'voice'>[]> {
  const isSignedWith = readTwilioSignature(
    `${publicUrl.replace(/^http/, 'ws')}${url}`,
    {},
    headers[TWILIO_SIGNATURE_HEADER],
  );
  const accounts = await openAllNumbers(tenantDb(db, projectId), vault, 'voice');
  if (accounts.length === 0) isSignedWith(randomBytes(16).toString('hex'));
  const signed = accounts.filter(({ secrets }) => isSignedWith(secrets.auth_token ?? ''));
  if (signed.length === 0) throw new ApiError('bad_signature');
  return signed;
}
