/** What of a wish the registry is to change, and whether the rest can be had. */
import { ApiError } from '../../../kernel/http/errors.ts';
import type { DnssecState } from '../../dns/dnssec/index.ts';
import type { DomainRow } from '../../portfolio/index.ts';
import type { RegistryDomain } from '../../registry/registry.ts';
import { workspaceDb } from '../../workspace-scope.ts';
import type { SettingsDependencies } from './dependencies.ts';
import type { RegistryChange } from './update-at-registry.ts';

/** What a caller wants, its nameservers read. Absent: as it is. */
export interface Wish {
  readonly auto_renew?: boolean;
  readonly registrar_lock?: boolean;
  readonly whois_privacy?: boolean;
  readonly dnssec?: boolean;
  readonly nameservers?: readonly string[];
}

export interface Plan {
  readonly row: DomainRow;
  readonly wish: Wish;
  /** From just before. */
  readonly info: RegistryDomain;
}

/**
 * The registry's part; empty when it has none. Throws `no_hosted_zone`, `bad_request` and `pending_operation` for what
 * cannot be had, before anything is changed.
 */
export async function planChange(deps: SettingsDependencies, plan: Plan): Promise<RegistryChange> {
  const { row, wish, info } = plan;
  const { registrar_lock: locked, whois_privacy: isPrivate, nameservers } = wish;
  const signing = await findSigning(deps, row);
  const isMoved = nameservers !== undefined && !isSameSet(nameservers, info.nameservers);
  if (isMoved) requireUnsigned(plan, signing);
  if (wish.dnssec !== undefined) requireSignable(deps, plan, signing);
  const isHosted = isSameSet(nameservers ?? info.nameservers, deps.nameservers);
  return {
    ...(locked === undefined ? {} : { locked }),
    ...(isPrivate === undefined ? {} : { isPrivate }),
    ...(isMoved ? { nameservers } : {}),
    // Of a hosted zone the worker of DNSSEC takes them back.
    ...(wish.dnssec === false && !isHosted && info.dsRecords.length > 0 ? { dsRecords: [] } : {}),
  };
}

async function findSigning({ db }: SettingsDependencies, row: DomainRow): Promise<DnssecState> {
  const zones = workspaceDb(db, row.workspace_id).selectFrom('zones').select('dnssec');
  return (await zones.where('domain_id', '=', row.id).executeTakeFirst())?.dnssec ?? 'off';
}

/** Whether DNSSEC of the zone can be switched as it is wished. Off is always to be had where no zone is kept here. */
function requireSignable(deps: SettingsDependencies, { row, wish, info }: Plan, signing: DnssecState): void {
  if (!isSameSet(wish.nameservers ?? info.nameservers, deps.nameservers)) {
    if (wish.dnssec !== true) return;
    throw new ApiError('no_hosted_zone', {
      message: `The zone of ${row.name} is not kept here, so it cannot be signed here. Send \`nameservers\`: "hosted" along to switch it to ${deps.nameservers.join(', ')}.`,
      details: { nameservers: [...deps.nameservers], current_nameservers: [...info.nameservers] },
    });
  }
  if (wish.dnssec === true && !deps.publisher.supportsDnssec) {
    throw new ApiError('bad_request', {
      message: 'The nameservers of this service do not sign zones, so `dnssec` cannot be turned on. Leave it out.',
      param: 'dnssec',
    });
  }
  const isLocked = wish.registrar_lock ?? info.statuses.includes('clientUpdateProhibited');
  if (!isLocked || signing === (wish.dnssec === true ? 'on' : 'off')) return;
  throw new ApiError('bad_request', {
    message: `While ${row.name} is locked its registry neither takes DS records nor gives them up. Send \`registrar_lock\`: false along, and lock it again when DNSSEC is switched.`,
    param: 'registrar_lock',
  });
}

/** Resolvers keep the parent's DS records for about a day: with other nameservers meanwhile, the name would be bogus to them. */
function requireUnsigned({ row, info }: Plan, signing: DnssecState): void {
  if (signing === 'disabling') {
    throw new ApiError('pending_operation', {
      message: `DNSSEC of ${row.name} is being turned off, which takes about a day. Repeat the call when that is done.`,
      details: { status: 'dnssec_disabling' },
    });
  }
  if (signing === 'off' && info.dsRecords.length === 0) return;
  throw new ApiError('bad_request', {
    message: `${row.name} has DNSSEC on, and would fail to resolve with other nameservers. Send \`dnssec\`: false first, and \`nameservers\` when that is done.`,
    param: 'nameservers',
  });
}

export function isSameSet(some: readonly string[], others: readonly string[]): boolean {
  const set = new Set(others);
  return some.length === set.size && some.every((each) => set.has(each));
}
