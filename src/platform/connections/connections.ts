/** Connections put together: what operations, turns and jobs have of them. */
import type { Database } from '../../kernel/db/database.ts';
import type { Jobs } from '../../kernel/jobs/jobs.ts';
import type { Logger } from '../../kernel/log/log.ts';
import type { Outbound } from '../../kernel/outbound/outbound.ts';
import type { Vault } from '../../kernel/vault/vault.ts';
import type { SigningKeys } from '../access/signing-keys.ts';
import type { Discovery, SignIn } from '../mcp/index.ts';
import type { TenantDb, TenantTransaction } from '../store/tenant-db.ts';
import { createAccountAccess } from './account-access.ts';
import { type CallbackQuery, type FinishedSignIn, finishSignIn } from './finish-sign-in.ts';
import { createLink, type LinkOwner, type SignInPlan } from './links.ts';
import type { OnConnected } from './on-connected.ts';
import { planForServer, type SignInServer } from './plan-server.ts';
import { boundedFetch } from './protocol/bounded-fetch.ts';
import { createRefresher, type Refresher } from './refresh.ts';
import { defineConnectionJobs } from './revoke-connections.ts';
import { findServersOf, providerNameOf } from './servers.ts';

export interface ConnectionDependencies {
  readonly db: Database;
  readonly vault: Pick<Vault, 'open' | 'seal'>;
  readonly outbound: Pick<Outbound, 'fetch' | 'checkUrl'>;
  readonly jobs: Jobs;
  readonly logger: Logger;
  readonly signingKeys: Pick<SigningKeys, 'signer'>;
  readonly publicUrl: string;
  /** Looked at when it is needed, not before: it asks servers with what `signIn` finds. */
  readonly discovery: () => Pick<Discovery, 'refreshAfter'>;
  readonly onConnected: OnConnected;
}

export interface Connections {
  readonly signIn: SignIn;
  readonly refresher: Refresher;
  /** As of `planForServer`. */
  planForServer(db: TenantDb, server: SignInServer): Promise<SignInPlan | null>;
  /** As of `createLink`. */
  createLink(db: TenantDb, owner: LinkOwner, plan: SignInPlan, returnUrl: string | null): Promise<string>;
  /** As of `finishSignIn`. */
  finishSignIn(query: CallbackQuery): Promise<FinishedSignIn>;
  /** To be called where a credential is stored, inside of that transaction. */
  connected(tx: TenantTransaction, smithId: string, provider: string): Promise<void>;
  /** Waits for refreshes that are under way. */
  stop(): Promise<void>;
}

/** Where every provider sends browsers back to. */
export function callbackUrlOf(publicUrl: string): string {
  return `${publicUrl}/v1/oauth/callback`;
}

export function documentUrlOf(publicUrl: string): string {
  return `${publicUrl}/oauth/client-metadata.json`;
}

/** Defines the jobs too: call before `jobs.start`. */
export function createConnections(given: ConnectionDependencies): Connections {
  const { db, outbound, signingKeys, publicUrl } = given;
  const deps = {
    ...given,
    fetch: boundedFetch(outbound),
    signingKey: () => db.transaction((tx) => signingKeys.signer(tx)),
    callbackUrl: callbackUrlOf(publicUrl),
    // Issuers read it by https alone.
    documentUrl: publicUrl.startsWith('https:') ? documentUrlOf(publicUrl) : undefined,
  };
  defineConnectionJobs(given.jobs, deps);
  const refresher = createRefresher(deps);
  const connected: Connections['connected'] = async (tx, smithId, provider) => {
    const servers = await findServersOf(tx, provider);
    // What they list may be had only now.
    for (const { id } of servers) await given.discovery().refreshAfter(tx, id);
    const keys = new Set([provider, ...servers.map(({ name }) => providerNameOf(name))]);
    await given.onConnected(tx, { smithId, keys: [...keys].sort() });
  };
  return {
    signIn: createAccountAccess({ ...deps, refresher }),
    refresher,
    planForServer: (home, server) => planForServer(deps, home, server),
    createLink: (home, owner, plan, returnUrl) => createLink(deps, home, owner, plan, returnUrl),
    finishSignIn: (query) => finishSignIn({ ...deps, connected }, query),
    connected,
    stop: () => refresher.stop(),
  };
}
