/** Codes that are worth money: random, single use, and known to the store by their hash alone. */
import { createHash, randomInt } from 'node:crypto';
import type { Executor } from '../../kernel/db/database.ts';
import { ApiError } from '../../kernel/http/errors.ts';
import { book } from './ledger.ts';

/** Without the letters and digits that are taken for each other. */
const ALPHABET = '23456789ABCDEFGHJKMNPQRSTUVWXYZ';
const GROUPS = 5;
const GROUP_LENGTH = 5;

export interface MintRequest {
  readonly amountCents: number;
  readonly count: number;
  readonly expiresAt: Date | null;
}

/** New codes, 124 bits each, in groups of five letters and digits. They are shown this once. */
export async function mintCodes(tx: Executor, { amountCents, count, expiresAt }: MintRequest): Promise<string[]> {
  const codes = Array.from({ length: count }, mintCode);
  await tx.query({
    text: `insert into redeem_codes (hash, amount_cents, expires_at) select hash, $2, $3 from unnest($1::text[]) as hash`,
    values: [codes.map(hashOf), amountCents, expiresAt],
  });
  return codes;
}

function mintCode(): string {
  const letters = Array.from({ length: GROUPS * GROUP_LENGTH }, () => ALPHABET[randomInt(ALPHABET.length)]).join('');
  return (letters.match(/.{5}/g) ?? []).join('-');
}

/** People type codes in small letters, and leave the hyphens out. */
function hashOf(code: string): string {
  const plain = code.toUpperCase().replaceAll(/[\s-]/g, '');
  return createHash('sha256').update(`ironcraft redeem code ${plain}`).digest('hex');
}

export interface Redemption {
  readonly organizationId: string;
  readonly code: string;
  readonly currency: string;
}

/** Credits the wallet with what the code is worth, in cents. Throws `invalid_code` and `code_already_redeemed`. */
export async function redeemCode(tx: Executor, { organizationId, code, currency }: Redemption): Promise<number> {
  const hash = hashOf(code);
  const { rows } = await tx.query<{ amount_cents: number }>({
    text: `update redeem_codes set redeemed_at = now(), redeemed_by = $2
           where hash = $1 and redeemed_at is null and (expires_at is null or expires_at > now())
           returning amount_cents`,
    values: [hash, organizationId],
  });
  const amountCents = rows[0]?.amount_cents;
  if (amountCents === undefined) throw new ApiError(await refusalOf(tx, hash), { param: 'code' });
  const reference = `code:${hash}`;
  await book(tx, { organizationId, kind: 'redeem', amountCents, currency, reference, description: 'redeem code' });
  return amountCents;
}

async function refusalOf(tx: Executor, hash: string): Promise<'code_already_redeemed' | 'invalid_code'> {
  const { rowCount } = await tx.query({
    text: 'select from redeem_codes where hash = $1 and redeemed_at is not null',
    values: [hash],
  });
  return rowCount > 0 ? 'code_already_redeemed' : 'invalid_code';
}
