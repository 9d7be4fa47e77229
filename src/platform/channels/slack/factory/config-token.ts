/**
 * Calls of the manifest API, which take a configuration token of twelve hours. One that is over is replaced by its refresh
 * token, once over all replicas, and the new pair is stored before it is used.
 */

import { randomUUID } from 'node:crypto';
import { systemClock } from '../../../../kernel/clock/clock.ts';
import { abortAfter, elapsedMs, sleep } from '../../../../kernel/clock/timers.ts';
import type { Database } from '../../../../kernel/db/database.ts';
import { ApiError } from '../../../../kernel/http/errors.ts';
import type { Outbound } from '../../../../kernel/outbound/outbound.ts';
import type { Vault } from '../../../../kernel/vault/vault.ts';
import { TenantDatabase } from '../../../store/tenant-db.ts';
import type { JsonObject } from '../../../tables.ts';
import { findAccount, noteAccountError } from '../../accounts/account-store.ts';
import { openAccount, settingOf } from '../../accounts/open-account.ts';
import type { OpenAccount } from '../../channel.ts';
import { textAt } from '../../provider/read-json.ts';
import { baseUrlOf } from '../access.ts';
import { createSlackApi, type SlackAccess, type SlackApi, SlackProblem } from '../web-api.ts';
import { keepPatiently } from './keep-patiently.ts';
import { type ConfigPair, claimRotation, keepPair, releaseRotation } from './rotation-rows.ts';

/** Of one call; the client gives up earlier, and says what is known then. */
const CALL_MS = 60_000;
/** Of waiting for another replica. */
const WAIT_MS = 90_000;
/** So long before its end a token is replaced. */
const AHEAD_MS = 300_000;
/** How often it is looked whether another replica is done. */
const LOOK_MS = 100;
const OVER = new Set(['token_expired', 'invalid_auth', 'token_revoked']);

export interface FactoryDependencies {
  readonly db: Database;
  readonly vault: Pick<Vault, 'open' | 'seal'>;
  readonly outbound: Pick<Outbound, 'fetch'>;
}

/** Throws `slack_factory_unconfigured`, and `SlackProblem`. */
export async function callManifestApi(
  deps: FactoryDependencies,
  projectId: string,
  method: 'apps.manifest.create' | 'apps.manifest.update' | 'apps.manifest.delete',
  args: JsonObject,
): Promise<JsonObject> {
  const api = createSlackApi(deps.outbound);
  const db = new TenantDatabase(deps.db, projectId);
  const call = (account: OpenAccount) => api.call(accessOf(account), method, args, abortAfter(CALL_MS));
  const stored = requireFactory(await openStored(deps, db)).account;
  const usable = isNearlyOver(stored) ? await rotate(deps, api, db, stored) : stored;
  try {
    return await call(usable);
  } catch (problem) {
    if (!(problem instanceof SlackProblem) || !OVER.has(problem.code)) throw problem;
    return call(await rotate(deps, api, db, usable));
  }
}

interface StoredAccount {
  readonly account: OpenAccount;
  readonly sealedSecrets: string;
}

async function openStored(
  { vault }: Pick<FactoryDependencies, 'vault'>,
  db: TenantDatabase,
): Promise<StoredAccount | undefined> {
  const row = await findAccount(db, 'slack');
  return row && { account: openAccount(vault, db.projectId, row), sealedSecrets: row.sealed_secrets };
}

function requireFactory(stored: StoredAccount | undefined): StoredAccount {
  if (stored?.account.secrets.config_token === undefined) throw new ApiError('slack_factory_unconfigured');
  return stored;
}

function accessOf(account: OpenAccount): SlackAccess {
  return { baseUrl: baseUrlOf(account), token: account.secrets.config_token };
}

function isNearlyOver({ settings }: OpenAccount): boolean {
  const expiresAt = settingOf(settings, 'config_expires_at');
  return expiresAt !== '' && Date.parse(expiresAt) - AHEAD_MS <= systemClock.now().getTime();
}

/** The account with another token than `seen`, whoever has replaced it. */
async function rotate(
  deps: FactoryDependencies,
  api: SlackApi,
  db: TenantDatabase,
  seen: OpenAccount,
): Promise<OpenAccount> {
  const rotationId = randomUUID();
  const waitsUntil = elapsedMs() + WAIT_MS;
  for (;;) {
    const { account, sealedSecrets } = requireFactory(await openStored(deps, db));
    if (account.secrets.config_token !== seen.secrets.config_token) return account;
    if (await claimRotation(db, rotationId, sealedSecrets)) return spend(deps, api, db, account, rotationId);
    if (elapsedMs() > waitsUntil) {
      throw new SlackProblem('failed', 'Slack: the configuration token is still being replaced.');
    }
    await sleep(LOOK_MS);
  }
}

async function spend(
  { vault }: Pick<FactoryDependencies, 'vault'>,
  api: SlackApi,
  db: TenantDatabase,
  account: OpenAccount,
  rotationId: string,
): Promise<OpenAccount> {
  const refreshToken = account.secrets.config_refresh_token ?? '';
  let pair: ConfigPair;
  try {
    const signal = abortAfter(CALL_MS);
    const args = { refresh_token: refreshToken };
    pair = readPair(await api.call({ baseUrl: baseUrlOf(account) }, 'tooling.tokens.rotate', args, signal));
  } catch (error) {
    await releaseRotation(db, rotationId);
    if (error instanceof SlackProblem && error.kind === 'refused') {
      await noteAccountError(db, account, { code: 'slack_api_error', message: `${error.message} ${SAVE_AGAIN}` });
    }
    throw error;
  }
  return requireKept(await keepPatiently(() => keepPair(vault, db, refreshToken, pair)));
}

const SAVE_AGAIN = 'The refresh token of the factory is spent: save another pair with `PUT /v1/tenant/slack`.';

function requireKept(account: OpenAccount | undefined): OpenAccount {
  if (account?.secrets.config_token === undefined) throw new ApiError('slack_factory_unconfigured');
  return account;
}

/** Throws `SlackProblem`. */
function readPair(answer: JsonObject): ConfigPair {
  const [configToken, configRefreshToken] = [textAt(answer, 'token'), textAt(answer, 'refresh_token')];
  if (configToken === undefined || configRefreshToken === undefined) {
    throw new SlackProblem('unknown', 'Slack tells no other configuration token.');
  }
  const { exp } = answer;
  const expiresAt = typeof exp === 'number' && exp > 0 && exp < 1e11 ? new Date(exp * 1_000) : undefined;
  return { configToken, configRefreshToken, expiresAt };
}
