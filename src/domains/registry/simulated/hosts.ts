/**
 * Host objects (RFC 5732). One below a registered name is that name's: its sponsor makes it, it has addresses, it moves and
 * goes with the name. Any other is only a name that delegations may point to; so are those below names of the registrar
 * `elsewhere`, whose hosts are not simulated, and (more lenient than a real registry) below names that are not registered.
 */
import type { Selectable } from 'kysely';
import { type CommandContext, readHostName, requireSponsor } from './command-context.ts';
import { applyChange, requireAddresses } from './domain-links.ts';
import { ELSEWHERE } from './policy.ts';
import type { HostData, HostInfo, ObjectCheck, SetChange } from './registry-core.ts';
import { completed, Refusal, type Result } from './replies.ts';
import type { RegistryDb, RegistryTables } from './tables.ts';

type HostRow = Selectable<RegistryTables['registry_hosts']>;

export async function checkHosts({ db }: CommandContext, names: readonly string[]): Promise<Result<ObjectCheck[]>> {
  const checks: ObjectCheck[] = [];
  for (const text of names) {
    const value = text.toLowerCase();
    const isTaken = (await findHost(db, value)) !== undefined;
    checks.push(isTaken ? { value, available: false, reason: 'In use' } : { value, available: true });
  }
  return completed(checks);
}

export async function infoHost({ db }: CommandContext, text: string): Promise<Result<HostInfo>> {
  const row = requireFound(await findHost(db, text.toLowerCase()), text);
  return completed({
    name: row.name,
    roid: row.roid,
    addresses: row.addresses,
    statuses: (await isLinked(db, row.name)) ? ['linked', 'ok'] : ['ok'],
    sponsor: row.sponsor,
    createdBy: row.created_by,
    createdAt: row.created_at,
    ...(row.updated_by === null ? {} : { updatedBy: row.updated_by }),
    ...(row.updated_at === null ? {} : { updatedAt: row.updated_at }),
  });
}

export async function createHost(
  context: CommandContext,
  command: HostData,
): Promise<Result<{ name: string; createdAt: Date }>> {
  const { db, now, session } = context;
  const name = readHostName(command.name);
  const addresses = requireAddresses(command.addresses);
  const present = await findHost(db, name);
  if (present !== undefined && present.superordinate !== null)
    throw new Refusal(2302, `there is a host ${name} already`);
  const superordinate = await findSuperordinate(context, name);
  if (present !== undefined && superordinate === undefined) throw new Refusal(2302, `there is a host ${name} already`);
  requireGlue(name, superordinate, addresses);
  if (present !== undefined && superordinate !== undefined) return adopt(context, { name, addresses, superordinate });
  const created = await db
    .insertInto('registry_hosts')
    .values({
      name,
      sponsor: session.registrarId,
      created_by: session.registrarId,
      created_at: now,
      updated_by: null,
      updated_at: null,
      addresses,
      superordinate: superordinate ?? null,
    })
    .onConflict((conflict) => conflict.column('name').doNothing())
    .returning('name')
    .executeTakeFirst();
  if (created === undefined) throw new Refusal(2302, `there is a host ${name} already`);
  return completed({ name, createdAt: now });
}

/** One that was a mere name until the name above it was registered becomes that name's. */
async function adopt(
  { db, now, session }: CommandContext,
  { name, ...host }: HostData & { readonly superordinate: string },
): Promise<Result<{ name: string; createdAt: Date }>> {
  const by = { sponsor: session.registrarId, updated_by: session.registrarId, updated_at: now };
  const addresses = [...host.addresses];
  const update = db.updateTable('registry_hosts').set({ ...by, addresses, superordinate: host.superordinate });
  await update.where('name', '=', name).execute();
  return completed({ name, createdAt: now });
}

/** For registries whose nameservers are attributes of names: a host with these addresses, whoever's it is. None: as they are. */
export async function nameHost(context: CommandContext, command: HostData): Promise<Result<undefined>> {
  const { db, now, session } = context;
  const name = readHostName(command.name);
  const addresses = requireAddresses(command.addresses);
  const by = { sponsor: session.registrarId, created_by: session.registrarId, created_at: now };
  await db
    .insertInto('registry_hosts')
    .values({ name, ...by, updated_by: null, updated_at: null, addresses, superordinate: null })
    .onConflict((conflict) =>
      addresses.length === 0
        ? conflict.column('name').doNothing()
        : conflict.column('name').doUpdateSet({ addresses, updated_by: session.registrarId, updated_at: now }),
    )
    .execute();
  return completed(undefined);
}

export async function updateHost(
  context: CommandContext,
  command: { name: string; addresses: SetChange<string> },
): Promise<Result<undefined>> {
  const { db, now, session } = context;
  const row = await lockHost(context, command.name);
  const addresses = requireAddresses(applyChange(row.addresses, command.addresses, (address) => address.toLowerCase()));
  requireGlue(row.name, row.superordinate ?? undefined, addresses);
  const changed = { addresses, updated_by: session.registrarId, updated_at: now };
  await db.updateTable('registry_hosts').set(changed).where('name', '=', row.name).execute();
  return completed(undefined);
}

export async function deleteHost(context: CommandContext, text: string): Promise<Result<undefined>> {
  const { name } = await lockHost(context, text);
  if (await isLinked(context.db, name)) throw new Refusal(2305, `a name is delegated to ${name}`);
  await context.db.deleteFrom('registry_hosts').where('name', '=', name).execute();
  return completed(undefined);
}

/** Locked until the command ends, also against names that begin to point to it. */
async function lockHost(context: CommandContext, text: string): Promise<HostRow> {
  const query = context.db.selectFrom('registry_hosts').selectAll().where('name', '=', text.toLowerCase()).forUpdate();
  const row = requireFound(await query.executeTakeFirst(), text);
  requireSponsor(context, row, `the host ${row.name}`);
  return row;
}

async function findHost(db: RegistryDb, name: string): Promise<HostRow | undefined> {
  return db.selectFrom('registry_hosts').selectAll().where('name', '=', name).executeTakeFirst();
}

function requireFound(row: HostRow | undefined, name: string): HostRow {
  if (row === undefined) throw new Refusal(2303, `there is no host object ${name}`, 'name');
  return row;
}

/** The registered name above the host, locked so that it stays; 2201 when another registrar has it. */
async function findSuperordinate(context: CommandContext, host: string): Promise<string | undefined> {
  const labels = host.split('.');
  const above = labels.slice(1, -1).map((_, index) => labels.slice(index + 1).join('.'));
  const names = [host, ...above];
  const query = context.db.selectFrom('registry_domains').select(['name', 'sponsor']).where('name', 'in', names);
  const domain = await query.orderBy('name').forKeyShare().executeTakeFirst();
  if (domain === undefined || domain.sponsor === ELSEWHERE) return undefined;
  requireSponsor(context, domain, domain.name);
  return domain.name;
}

function requireGlue(host: string, superordinate: string | undefined, addresses: readonly string[]): void {
  if (superordinate !== undefined && addresses.length === 0) {
    throw new Refusal(2003, `${host} lies below ${superordinate}: it needs an address`, 'addr');
  }
  if (superordinate === undefined && addresses.length > 0) {
    throw new Refusal(2306, `${host} does not lie below a name of this registrar: it has no addresses here`, 'addr');
  }
}

async function isLinked(db: RegistryDb, name: string): Promise<boolean> {
  const links = db.selectFrom('registry_domain_hosts').select('host_name').where('host_name', '=', name);
  return (await links.limit(1).executeTakeFirst()) !== undefined;
}
