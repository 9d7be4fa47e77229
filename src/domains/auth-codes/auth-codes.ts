/**
 * Auth codes as RFC 9154 wants them: random, set at the registry only when their owner asks for one, kept nowhere here, and taken away again
 * after some days. What is written down is when, before the registry is told, so that a code whose answer was lost is taken away too.
 *
 *   asked for ─▶ set and mailed ─▶ its time is over ─▶ the registry has none, or one that nobody knows
 *       │
 *       └─ no credit of ours at the registry: a new one is made, set and mailed once there is
 */
import { toUnicode } from 'tr46';
import type { Clock } from '../../kernel/clock/clock.ts';
import type { Database } from '../../kernel/db/database.ts';
import { mintId } from '../../kernel/ids/ids.ts';
import { noteCreditRefusal } from '../balances/index.ts';
import type { Mailer, Message } from '../mail/index.ts';
import type { DomainRow } from '../portfolio/index.ts';
import { getRegistrant } from '../registrant.ts';
import type { MutationOutcome, Registry } from '../registry/registry.ts';
import { memberOf } from '../registry/routing-registry.ts';
import { addDays } from '../registry/term.ts';
import { workspaceDb } from '../workspace-scope.ts';
import { makeAuthCode } from './make-auth-code.ts';

export interface AuthCodeParts {
  readonly db: Database;
  readonly clock: Clock;
  readonly registry: Pick<Registry, 'update' | 'members'>;
  readonly mailer: Mailer;
  /** How long a code works. Default 14. */
  readonly authCodeDays?: number | undefined;
}

/** What ICANN's transfer policy is to have, and registrars that follow RFC 9154 use: two weeks are enough for any transfer. */
const DEFAULT_DAYS = 14;
/** Before a code that the registry did not take is made again. */
export const AGAIN_MS = 5 * 60_000;

export interface AuthCodeNotes {
  readonly auth_code_until?: Date | null;
  readonly auth_code_wanted?: boolean;
  readonly auth_code_look_at?: Date | null;
}

export async function noteAuthCode(
  { db }: Pick<AuthCodeParts, 'db'>,
  row: DomainRow,
  notes: AuthCodeNotes,
): Promise<void> {
  await workspaceDb(db, row.workspace_id).updateTable('domains').set(notes).where('id', '=', row.id).execute();
}

export type GivenCode =
  | { readonly kind: 'set'; readonly outcome: 'completed' | 'pending'; mail(): Promise<void> }
  /** It comes by mail later. */
  | { readonly kind: 'waits' }
  | { readonly kind: 'not_set'; readonly outcome: Extract<MutationOutcome, { kind: 'rejected' | 'unknown' }> };

/** Makes a code and gives it to the registry. It is for whoever calls `mail`. */
export async function giveAuthCode(parts: AuthCodeParts, row: DomainRow): Promise<GivenCode> {
  const { authCodeDays = DEFAULT_DAYS, clock, db, mailer, registry } = parts;
  const until = addDays(clock.now(), authCodeDays);
  await noteAuthCode(parts, row, { auth_code_until: until, auth_code_look_at: until, auth_code_wanted: false });
  const authCode = makeAuthCode();
  const outcome = await registry.update({ name: row.name, transactionId: mintId('upd'), authCode });
  if (outcome.kind === 'completed' || outcome.kind === 'pending') {
    const mail = async () => {
      const owner = await getRegistrant(workspaceDb(db, row.workspace_id));
      await mailer.send(compose(owner, row.name, { authCode, until }));
    };
    return { kind: 'set', outcome: outcome.kind, mail };
  }
  if (outcome.kind !== 'rejected' || outcome.code !== 'no_credit') return { kind: 'not_set', outcome };
  const again = new Date(clock.now().getTime() + AGAIN_MS);
  await noteAuthCode(parts, row, { auth_code_wanted: true, auth_code_look_at: again });
  const member = memberOf(registry, row.name);
  if (member !== undefined) await noteCreditRefusal({ clock, db }, member.id);
  return { kind: 'waits' };
}

function compose(
  owner: { name: string; email: string },
  name: string,
  { authCode, until }: { readonly authCode: string; readonly until: Date },
): Message {
  const { domain: unicode } = toUnicode(name);
  const shown = unicode === name ? name : `${unicode} (${name})`;
  const text = `Hello ${owner.name},

you, or a program with a token of your workspace, asked for the auth code of ${shown}:

${authCode}

It allows a transfer of the domain to another registrar until ${until.toISOString().slice(0, 10)}: pass it on to nobody else. It replaces
earlier codes, and the next one that is asked for replaces it.

If you did not expect this message, turn the registrar lock of the domain on and revoke the token.
`;
  return { to: owner.email, subject: `Auth code of ${unicode}`, text };
}
