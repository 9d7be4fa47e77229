/**
 * PATCH /domains/{name}/settings. First what the registry is to change, outside of any transaction, since a refusal must
 * leave nothing behind; then what is ours, in one. Turning auto-renew off takes the row's lock, as charging does, so that
 * it comes either before the charge or after it.
 */
import { ApiError } from '../../../kernel/http/errors.ts';
import type { HttpReply } from '../../../kernel/http/operation.ts';
import { answerOnce } from '../../answer-once.ts';
import { dropWaiting } from '../../changes/index.ts';
import { CHANGE_MS, type Deadline, READ_MS, startDeadline } from '../../deadline.ts';
import type { WorkspaceTurn } from '../../operation.ts';
import { type DomainRow, ownDomain } from '../../portfolio/index.ts';
import type { RegistryDomain } from '../../registry/registry.ts';
import { workspaceDb } from '../../workspace-scope.ts';
import type { SettingsDependencies } from './dependencies.ts';
import { planChange, type RequestedSettings } from './plan-change.ts';
import { readGlue } from './read-glue.ts';
import { readNameservers } from './read-nameservers.ts';
import { saveSettings } from './save-settings.ts';
import type { Settings, SettingsChange } from './schema.ts';
import { readAtRegistry, updateAtRegistry } from './update-at-registry.ts';

type Request = WorkspaceTurn<{ params: { name: string }; body: SettingsChange }>;

/** Throws `not_found`, `bad_request`, `no_hosted_zone`, `pending_at_registry`, `pending_operation` and `internal`. */
export function changeSettings(deps: SettingsDependencies) {
  return async (request: Request): Promise<HttpReply<Settings>> =>
    answerOnce(deps, request, () => change(deps, request));
}

async function change(deps: SettingsDependencies, { caller, params, body }: Request): Promise<Settings> {
  const { db } = deps;
  const row = await ownDomain(workspaceDb(db, caller.workspaceId), params.name);
  const requested = readRequested(body, row, deps.nameservers);
  const { auto_renew: _, ...ofRegistry } = requested;
  if (Object.keys(ofRegistry).length === 0)
    return saveSettings(deps, { row, requested, seen: undefined, isPending: false });
  const deadline = startDeadline(CHANGE_MS);
  const withHosts = requested.nameservers !== undefined || requested.glue !== undefined;
  const before = await readAtRegistry(deps.registry, row, { withHosts });
  const planned = await planChange(deps, { row, requested, info: before });
  await dropWaiting(deps, row, membersOf(requested));
  if (Object.keys(planned).length === 0) return saveSettings(deps, { row, requested, seen: before, isPending: false });
  const outcome = await updateAtRegistry(deps, row, { change: planned, info: before }, deadline);
  const seen = await readAfterwards(deps, row, { deadline, withHosts });
  return saveSettings(deps, { row, requested, seen, isPending: outcome === 'pending' });
}

/** Those of a change at the registry that these settings lead to. */
function membersOf({ dnssec, glue, nameservers, registrar_lock: lock, whois_privacy: privacy }: RequestedSettings) {
  return [
    ...(dnssec === undefined ? [] : (['dsRecords'] as const)),
    ...(glue === undefined ? [] : (['hosts'] as const)),
    ...(nameservers === undefined ? [] : (['nameservers'] as const)),
    ...(lock === undefined ? [] : (['locked', 'transferLocked'] as const)),
    ...(privacy === undefined ? [] : (['isPrivate'] as const)),
  ];
}

function readRequested(body: SettingsChange, row: DomainRow, own: readonly string[]): RequestedSettings {
  const { glue, nameservers, ...others } = body;
  if (Object.keys(body).length === 0) {
    throw new ApiError('bad_request', {
      message:
        'Send at least one of `auto_renew`, `registrar_lock`, `whois_privacy`, `dnssec`, `nameservers` and `glue`.',
    });
  }
  return {
    ...others,
    ...(glue === undefined ? {} : { glue: readGlue(glue, row.name) }),
    ...(nameservers === undefined
      ? {}
      : { nameservers: nameservers === 'hosted' ? own : readNameservers(nameservers) }),
  };
}

/** A look may take so long after the deadline: an answer to the change itself came before. */
const LAST_LOOK_MS = 500;

/** The change is made: what cannot be read now is read by the next sync. */
async function readAfterwards(
  { registry }: SettingsDependencies,
  row: DomainRow,
  { deadline, withHosts }: { readonly deadline: Deadline; readonly withHosts: boolean },
): Promise<RegistryDomain | undefined> {
  try {
    return await readAtRegistry(registry, row, {
      timeoutMs: Math.min(READ_MS, deadline.leftMs + LAST_LOOK_MS),
      withHosts,
    });
  } catch (error) {
    if (error instanceof ApiError) return undefined;
    throw error;
  }
}
