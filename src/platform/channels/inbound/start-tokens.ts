/** The tokens with which somebody binds a deployment to themselves by writing one: kept as hashes, good for one use. */
import { createHash, randomBytes } from 'node:crypto';
import type { TenantDb } from '../../store/tenant-db.ts';
import type { MessagingKind } from '../../tables.ts';

export const START_TOKEN_HOURS = 24;

/** Crockford's base32: no letter that is read as another. A hundred bits; with its mark it fits every provider's link. */
const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz';
const MARK = 'ic';
const CHARS = 20;
const TOKEN = new RegExp(`(?<![a-z0-9])${MARK}[${ALPHABET}]{${CHARS}}(?![a-z0-9])`, 'i');
/** Of one sender, in one hour of the clock. */
const MAX_WRONG = 10;

export function mintStartToken(): string {
  return MARK + Array.from(randomBytes(CHARS), (byte) => ALPHABET[byte % ALPHABET.length]).join('');
}

export function hashStartToken(token: string): string {
  return createHash('sha256').update(token.toLowerCase()).digest('base64url');
}

/** The first of a text, in any letter case. */
export function findStartToken(text: string): string | undefined {
  return TOKEN.exec(text)?.[0];
}

interface Guesser {
  readonly kind: MessagingKind;
  readonly accountId: string;
  readonly sender: string;
}

/** Counts a try before it is looked at, so that tries that come together cannot pass the limit together. False: no more. */
export async function countGuess(tx: TenantDb, { kind, accountId, sender }: Guesser, now: Date): Promise<boolean> {
  const { rowCount } = await tx.raw({
    text: `
      insert into channel_guesses as g (project_id, kind, account_id, sender, hour, wrong)
      values ($1, $2, $3, $4, date_trunc('hour', $5::timestamptz), 1)
      on conflict (project_id, kind, account_id, sender) do update set
        hour = excluded.hour, wrong = case when g.hour = excluded.hour then g.wrong + 1 else 1 end
        where g.hour <> excluded.hour or g.wrong < ${MAX_WRONG}`,
    values: [kind, accountId, sender, now],
  });
  return rowCount > 0;
}

/** The token was right: what was tried before is forgotten. */
export async function forgetGuesses(tx: TenantDb, { kind, accountId, sender }: Guesser): Promise<void> {
  await tx.raw({
    text: 'delete from channel_guesses where project_id = $1 and kind = $2 and account_id = $3 and sender = $4',
    values: [kind, accountId, sender],
  });
}
