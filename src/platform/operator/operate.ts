/** The operator's verbs, carried out on the database. */
import type { Database, Transaction } from '../../kernel/db/database.ts';
import { mintId } from '../../kernel/ids/ids.ts';
import { type OperatedService, OperatorError, type RequestOf, type VerbHandlers } from '../../kernel/operator/index.ts';
import type { IssuedToken, TokenIssuer } from '../access/issue-token.ts';
import { book, mintCodes, readBalance } from '../billing/index.ts';
import { createOrganization, updateOrganization } from '../resources/projects/index.ts';
import { TenantTransaction, tenantDb } from '../store/tenant-db.ts';
import type { Actor } from '../tables.ts';
import { chooseOrganization, chooseProject } from './choose-owner.ts';
import { type PlatformVerbs, platformVerbs } from './verbs.ts';
import { verifyEvents } from './verify-events.ts';

export interface OperatorDependencies {
  readonly db: Database;
  readonly issuer: TokenIssuer;
}

/** Who acts, as the feed shows it: the person who holds the machine. */
const actor: Actor = { kind: 'operator', id: 'command-line', token_id: '', email: '' };

/** The verbs of the platform, for the operator's socket. */
export function operatePlatform(dependencies: OperatorDependencies): OperatedService {
  return { ...platformVerbs, handlers: createOperator(dependencies) };
}

export function createOperator({ db, issuer }: OperatorDependencies): VerbHandlers<PlatformVerbs> {
  return {
    async mint_token(request) {
      const issued = await db.transaction((tx) => mintToken(tx, issuer, request));
      const { id, token, sub, scopes, expiresAt } = issued;
      return { id, token, sub, scopes: [...scopes], expires_at: expiresAt?.toISOString() ?? null };
    },
    async mint_codes({ amount_cents: amountCents, count, expires_at }) {
      const expiresAt = expires_at === null ? null : new Date(expires_at);
      return { codes: await mintCodes(db, { amountCents, count, expiresAt }) };
    },
    async adjust_wallet(request) {
      return db.transaction((tx) => adjustWallet(tx, request));
    },
    async create_organization({ name, contact_email: contactEmail = null }) {
      return db.transaction(async (tx) => {
        const { id } = await createOrganization(tx, { name, contactEmail });
        const key = await issuer.issueOrganizationKey(tx, { organizationId: id, name: 'command line' });
        return { organization_id: id, name, organization_key: key.token };
      });
    },
    async update_organization({ organization, name, contact_email: contactEmail }) {
      return db.transaction(async (tx) => {
        const { id } = await chooseOrganization(tx, organization);
        return { organization_id: id, ...(await updateOrganization(tx, id, { name, contactEmail })) };
      });
    },
    verify_events: (request) => verifyEvents(db, request),
  };
}

async function adjustWallet(tx: Transaction, request: RequestOf<PlatformVerbs, 'adjust_wallet'>) {
  const { amount_cents: amountCents, currency, note } = request;
  const { id, name } = await chooseOrganization(tx, request.organization);
  const held = (await readBalance(tx, id)).currency ?? currency;
  if (held !== currency) {
    throw new OperatorError(
      `The wallet holds ${held}. Set IRONCRAFT_BILLING_CURRENCY to ${held} for this command too.`,
    );
  }
  await book(tx, {
    organizationId: id,
    kind: 'adjustment',
    amountCents,
    currency,
    reference: `adjustment:${mintId('adj')}`,
    description: note === '' ? 'by the operator' : note,
  });
  const { balance_cents } = await readBalance(tx, id);
  return { organization_id: id, organization_name: name, balance_cents };
}

async function mintToken(
  tx: Transaction,
  issuer: TokenIssuer,
  request: RequestOf<PlatformVerbs, 'mint_token'>,
): Promise<IssuedToken> {
  const { name } = request;
  if (request.scope === 'organization') {
    const { id } = await chooseOrganization(tx, request.organization);
    return issuer.issueOrganizationKey(tx, { organizationId: id, name });
  }
  const { id: projectId } = await chooseProject(tx, request.project, request.organization);
  const ttlSeconds = request.ttl_seconds;
  if (request.scope === 'admin')
    return issuer.issueProjectToken(new TenantTransaction(tx, projectId), { name, ttlSeconds, actor });
  const smithId = await requireSmith(tx, projectId, request.smith_id);
  return issuer.issueSmithToken(new TenantTransaction(tx, projectId), {
    smithId,
    permissions: request.permissions,
    ttlSeconds,
    name,
    actor,
  });
}

async function requireSmith(tx: Transaction, projectId: string, smithId: string): Promise<string> {
  const smith = await tenantDb(tx, projectId)
    .selectFrom('smiths')
    .select('id')
    .where('id', '=', smithId)
    .where('archived_at', 'is', null)
    .executeTakeFirst();
  if (smith !== undefined) return smith.id;
  throw new OperatorError(`The project ${projectId} has no smith ${smithId}. List its smiths with GET /v1/smiths.`);
}
