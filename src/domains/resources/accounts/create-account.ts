/**
 * Sign-up. Nothing is half done: the page for a prefund is opened before anything is written, and everything is written,
 * with the answer that a repetition gets, in one transaction. If Stripe fails, there is no account. If the transaction fails,
 * Stripe has an unused page, which expires by itself.
 */
import type { Clock } from '../../../kernel/clock/clock.ts';
import type { Database, Transaction } from '../../../kernel/db/database.ts';
import { ApiError } from '../../../kernel/http/errors.ts';
import { HttpReply, type IdempotencyClaim } from '../../../kernel/http/operation.ts';
import { mintId } from '../../../kernel/ids/ids.ts';
import { issueToken } from '../../access/tokens.ts';
import type { AnswerStore } from '../../idempotency-store.ts';
import { toEuros } from '../../prices/money.ts';
import { credit, insertTopUp, openTopUpPage, openWallet, readTopUpAmount, type TopUpPage } from '../../wallet/index.ts';
import type { Payments } from '../../wallet/payments/payments.ts';
import { systemDb } from '../../workspace-scope.ts';
import { type EmailAddress, normalizeEmail } from './email-address.ts';
import { contactTexts, requirePlain } from './plain-text.ts';
import type { Account, AccountCreate } from './schema.ts';
import { insertWorkspaceWithUser, isEmailTaken } from './store.ts';

export interface AccountDependencies {
  readonly db: Database;
  readonly clock: Clock;
  readonly answers: AnswerStore;
  readonly payments: Payments;
  /** Play money of a new workspace; 0 for none. */
  readonly demoCreditCents: number;
}

interface SignUp {
  readonly body: AccountCreate;
  readonly idempotency: IdempotencyClaim | undefined;
}

const STATUS = 201;
export function createAccount(deps: AccountDependencies) {
  const { db, answers, payments } = deps;
  return async ({ body, idempotency }: SignUp): Promise<HttpReply<Account>> => {
    const kept = idempotency && (await db.transaction((tx) => answers.claim(tx, undefined, idempotency)));
    if (kept !== undefined) {
      return new HttpReply(kept.status, JSON.parse(kept.body) as Account, { 'idempotent-replay': 'true' });
    }
    const email = normalizeEmail(body.email);
    requirePlain({ name: body.name, workspace: body.workspace, ...contactTexts(body.contact) });
    const prefundCents = body.prefund === undefined ? undefined : readTopUpAmount(body.prefund, 'prefund');
    // The unique index decides; this only avoids opening a page in vain.
    if (await isEmailTaken(systemDb(db), email.key)) throw new ApiError('email_taken', { param: 'email' });
    const prefund = prefundCents === undefined ? undefined : await openTopUpPage(payments, email.address, prefundCents);
    const account = await db.transaction(async (tx) => {
      const made = await insertAccount(deps, tx, email, body, prefund);
      if (idempotency !== undefined) {
        await answers.complete(tx, undefined, idempotency, { status: STATUS, body: JSON.stringify(made) });
      }
      return made;
    });
    return new HttpReply(STATUS, account);
  };
}

async function insertAccount(
  { clock, demoCreditCents }: AccountDependencies,
  tx: Transaction,
  email: EmailAddress,
  body: AccountCreate,
  prefund: TopUpPage | undefined,
): Promise<Account> {
  const now = clock.now();
  const name = body.name ?? email.address.slice(0, email.address.lastIndexOf('@'));
  const workspace = { id: mintId('wsp'), name: body.workspace ?? name };
  const user = { id: mintId('usr'), email: email.address, emailKey: email.key, name, contact: body.contact ?? {} };
  const isNew = await insertWorkspaceWithUser(tx, workspace, user, now);
  if (!isNew) throw new ApiError('email_taken', { param: 'email' });
  await openWallet(tx, workspace.id);
  if (demoCreditCents > 0) {
    await credit(tx, {
      workspaceId: workspace.id,
      source: 'demo',
      amountCents: demoCreditCents,
      reference: `demo:${workspace.id}`,
      description: 'play money',
    });
  }
  if (prefund !== undefined) await insertTopUp(tx, workspace.id, { ...prefund, now });
  const token = await issueToken(tx, workspace.id, { userId: user.id, scope: 'write', name: 'sign-up' });
  const created_at = now.toISOString();
  return {
    user: { id: user.id, email: user.email, name, created_at },
    workspace: {
      ...workspace,
      created_at,
      wallet: { available_cents: demoCreditCents, held_cents: 0, currency: 'EUR' },
    },
    token: { ...token, created_at },
    ...(prefund === undefined ? {} : { prefund: renderPrefund(prefund) }),
  };
}

function renderPrefund({ id, amountCents, page }: TopUpPage): NonNullable<Account['prefund']> {
  return { id, amount: toEuros(amountCents), currency: 'EUR', url: page.url, state: 'open' };
}
