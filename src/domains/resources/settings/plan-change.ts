/** Which of the requested settings the registry has to change, and whether the rest is possible. */
import { ApiError } from '../../../kernel/http/errors.ts';
import type { WaitingChange } from '../../changes/index.ts';
import type { DnssecState } from '../../dns/dnssec/index.ts';
import type { DomainRow } from '../../portfolio/index.ts';
import { isBelow } from '../../registry/host-steps.ts';
import type { RegistryDomain, RegistryHost } from '../../registry/registry.ts';
import { workspaceDb } from '../../workspace-scope.ts';
import type { SettingsDependencies } from './dependencies.ts';
import { isSameGlue } from './read-glue.ts';

/** What a caller requests, its nameservers normalized. Absent: unchanged. */
export interface RequestedSettings {
  readonly auto_renew?: boolean;
  readonly registrar_lock?: boolean;
  readonly whois_privacy?: boolean;
  readonly dnssec?: boolean;
  readonly nameservers?: readonly string[];
  readonly glue?: readonly RegistryHost[];
}

export interface Plan {
  readonly row: DomainRow;
  readonly requested: RequestedSettings;
  /** From just before, with the hosts below the name where nameservers are requested or those. */
  readonly info: RegistryDomain;
}

/**
 * What the registry has to change; empty when nothing. Throws `no_hosted_zone`, `bad_request` and `pending_operation`
 * for what is not possible, before anything is changed.
 */
export async function planChange(deps: SettingsDependencies, plan: Plan): Promise<WaitingChange> {
  const { row, requested, info } = plan;
  const { glue, registrar_lock: locked, whois_privacy: isPrivate, nameservers } = requested;
  if (locked === false) requireTransferable(deps, row);
  const signing = await findSigning(deps, row);
  const isMoved = nameservers !== undefined && !isSameSet(nameservers, info.nameservers);
  const isGlueChanged = glue !== undefined && !isSameGlue(glue, info.hosts ?? []);
  if (isMoved) requireUnsigned(plan, signing);
  if (isMoved || isGlueChanged) requireGlue(plan);
  if (isGlueChanged) requireUnlocked(plan);
  if (requested.dnssec !== undefined) requireSignable(deps, plan, signing);
  const isHosted = isSameSet(nameservers ?? info.nameservers, deps.nameservers);
  return {
    ...(locked === undefined ? {} : { locked }),
    ...(isPrivate === undefined ? {} : { isPrivate }),
    ...(isMoved ? { nameservers } : {}),
    ...(isGlueChanged ? { hosts: glue } : {}),
    // Those of a hosted zone are removed by the DNSSEC reconciler.
    ...(requested.dnssec === false && !isHosted && info.dsRecords.length > 0 ? { dsRecords: [] } : {}),
  };
}

/** ICANN's transfer policy, II.C.2: a name is not handed over so soon after a change of its registrant. */
function requireTransferable({ clock }: SettingsDependencies, { name, transfer_locked_until: until }: DomainRow): void {
  if (until === null || until <= clock.now()) return;
  throw new ApiError('bad_request', {
    message: `The registrant of ${name} has changed, so it stays locked against transfers until ${until.toISOString().slice(0, 10)}. Unlock it then.`,
    param: 'registrar_lock',
    details: { transfer_locked_until: until.toISOString() },
  });
}

async function findSigning({ db }: SettingsDependencies, row: DomainRow): Promise<DnssecState> {
  const zones = workspaceDb(db, row.workspace_id).selectFrom('zones').select('dnssec');
  return (await zones.where('domain_id', '=', row.id).executeTakeFirst())?.dnssec ?? 'off';
}

/** Throws unless DNSSEC of the zone can be switched as requested. Off is always possible where no zone is hosted here. */
function requireSignable(deps: SettingsDependencies, { row, requested, info }: Plan, signing: DnssecState): void {
  if (!isSameSet(requested.nameservers ?? info.nameservers, deps.nameservers)) {
    if (requested.dnssec !== true) return;
    throw new ApiError('no_hosted_zone', {
      message: `The zone of ${row.name} is not kept here, so it cannot be signed here. Send \`nameservers\`: "hosted" along to switch it to ${deps.nameservers.join(', ')}.`,
      details: { nameservers: [...deps.nameservers], current_nameservers: [...info.nameservers] },
    });
  }
  if (requested.dnssec === true && !deps.publisher.supportsDnssec) {
    throw new ApiError('bad_request', {
      message: 'The nameservers of this service do not sign zones, so `dnssec` cannot be turned on. Leave it out.',
      param: 'dnssec',
    });
  }
  const isLocked = requested.registrar_lock ?? info.statuses.includes('clientUpdateProhibited');
  if (!isLocked || signing === (requested.dnssec === true ? 'on' : 'off')) return;
  throw new ApiError('bad_request', {
    message: `While ${row.name} is locked its registry neither takes DS records nor gives them up. Send \`registrar_lock\`: false along, and lock it again when DNSSEC is switched.`,
    param: 'registrar_lock',
  });
}

/** Resolvers cache the parent's DS records for about a day: with other nameservers meanwhile, validation would fail. */
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

/** Of a nameserver that lies below the name itself, resolvers learn the address from the zone above alone. */
function requireGlue({ row: { name }, requested, info }: Plan): void {
  const known = new Set((requested.glue ?? info.hosts ?? []).map((host) => host.name));
  const lacking = (requested.nameservers ?? info.nameservers).find((host) => isBelow(host, name) && !known.has(host));
  if (lacking === undefined) return;
  throw new ApiError('bad_request', {
    message: `${lacking} lies below ${name}, so resolvers need its addresses from the registry. Send them along: \`glue\`: [{"host": "${lacking}", "addresses": […]}], with every nameserver below ${name}.`,
    param: requested.glue === undefined ? 'nameservers' : 'glue',
  });
}

function requireUnlocked({ row: { name }, requested, info }: Plan): void {
  if (!(requested.registrar_lock ?? info.statuses.includes('clientUpdateProhibited'))) return;
  throw new ApiError('bad_request', {
    message: `While ${name} is locked the nameservers below it stay as they are. Send \`registrar_lock\`: false along, and lock it again afterwards.`,
    param: 'registrar_lock',
  });
}

export function isSameSet(some: readonly string[], others: readonly string[]): boolean {
  const set = new Set(others);
  return some.length === set.size && some.every((each) => set.has(each));
}
