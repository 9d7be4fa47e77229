/**
 * PUT /domains/{name}/ds: the registry is told outside of any transaction, since a refusal must leave nothing behind; what it then
 * reports is kept.
 */
import { ApiError } from '../../../kernel/http/errors.ts';
import type { HttpReply } from '../../../kernel/http/operation.ts';
import { answerOnce } from '../../answer-once.ts';
import { CHANGE_MS, startDeadline } from '../../deadline.ts';
import type { WorkspaceTurn } from '../../operation.ts';
import { type DomainRow, lockDomain, ownDomain, recordInfo, withoutExpiry } from '../../portfolio/index.ts';
import type { DsRecord, RegistryDomain } from '../../registry/registry.ts';
import { workspaceDb } from '../../workspace-scope.ts';
import { readAtRegistry, updateAtRegistry } from '../settings/index.ts';
import type { SignerDependencies } from './dependencies.ts';
import { readDsRecords } from './ds-records.ts';
import { showSigners } from './get-delegation-signers.ts';
import type { DelegationSigners, DelegationSignersChange, DelegationSignersPath } from './schema.ts';

type Request = WorkspaceTurn<{ params: DelegationSignersPath; body: DelegationSignersChange }>;

/** Throws `not_found`, `bad_request`, `pending_at_registry`, `pending_operation` and `internal`. */
export function replaceDelegationSigners(deps: SignerDependencies) {
  return async (request: Request): Promise<HttpReply<DelegationSigners>> =>
    answerOnce(deps, request, () => replace(deps, request));
}

async function replace(deps: SignerDependencies, { caller, params, body }: Request): Promise<DelegationSigners> {
  const { clock, db, registry } = deps;
  const row = await ownDomain(workspaceDb(db, caller.workspaceId), params.name);
  const dsRecords = readDsRecords(row.name, body.ds_records);
  const deadline = startDeadline(CHANGE_MS);
  const before = await readAtRegistry(registry, row);
  if (areSame(before.dsRecords, dsRecords)) return showSigners(row, before, clock.now());
  await requireSignedElsewhere(deps, row, before);
  const outcome = await updateAtRegistry(deps, row, { change: { dsRecords }, info: before }, deadline);
  const isPending = outcome === 'pending';
  const after = isPending ? before : { ...before, dsRecords };
  if (!isPending) await keep(deps, row, after);
  const shown = showSigners(row, { ...after, dsRecords }, clock.now());
  return { ...shown, status: isPending ? 'Pending' : 'Completed' };
}

/** Where the zone is kept here its keys are ours, and so are its DS records: others would make every resolver refuse the name. */
async function requireSignedElsewhere(deps: SignerDependencies, row: DomainRow, info: RegistryDomain): Promise<void> {
  const own = new Set(deps.nameservers);
  if (info.nameservers.length === own.size && info.nameservers.every((server) => own.has(server))) {
    throw new ApiError('bad_request', {
      message: `The zone of ${row.name} is kept here, where \`dnssec\` of PATCH …/settings signs it and tells the registry. DS records of your own are for other nameservers.`,
      param: 'ds_records',
    });
  }
  const zones = workspaceDb(deps.db, row.workspace_id).selectFrom('zones').select('dnssec');
  const zone = await zones.where('domain_id', '=', row.id).executeTakeFirst();
  if (zone === undefined || zone.dnssec === 'off') return;
  throw new ApiError('pending_operation', {
    message: `DNSSEC of ${row.name} is still ours and being changed. Turn \`dnssec\` off, and repeat the call when that is done.`,
    details: { status: `dnssec_${zone.dnssec}` },
  });
}

/** For whoever reads the name before the next look at the registry. An order may have moved the expiry meanwhile: the row is newer. */
async function keep({ clock, db, registry }: SignerDependencies, row: DomainRow, info: RegistryDomain): Promise<void> {
  await db.transaction(async (tx) => {
    const held = await lockDomain(workspaceDb(tx, row.workspace_id), row.id);
    if (held === undefined || held.state === 'gone') return;
    const isOvertaken = held.expires_at?.getTime() !== row.expires_at?.getTime();
    const place = { workspaceId: row.workspace_id, domainId: row.id, name: row.name };
    await recordInfo(tx, place, isOvertaken ? withoutExpiry(info) : info, { registry, now: clock.now() });
  });
}

function areSame(some: readonly DsRecord[], others: readonly DsRecord[]): boolean {
  const texts = (records: readonly DsRecord[]) =>
    records
      .map(({ keyTag, algorithm, digestType, digest }) => `${keyTag} ${algorithm} ${digestType} ${digest}`)
      .sort()
      .join();
  return texts(some) === texts(others);
}
