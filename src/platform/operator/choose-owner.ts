/** Which organization or project an operator means: the one that was named, or the only one. */
import type { Transaction } from '../../kernel/db/database.ts';
import { OperatorError } from '../../kernel/operator/index.ts';
import { systemDb } from '../store/tenant-db.ts';

interface Owner {
  readonly id: string;
  readonly name: string;
}

/** Enough to choose from by eye. */
const LISTED = 20;

/** Throws OperatorError, listing the choice, unless exactly one organization has the id or name. */
export async function chooseOrganization(tx: Transaction, wanted: string | undefined): Promise<Owner> {
  let query = systemDb(tx).selectFrom('organizations').select(['id', 'name']).orderBy('id').limit(LISTED);
  if (wanted !== undefined) query = query.where((eb) => eb.or([eb('id', '=', wanted), eb('name', '=', wanted)]));
  return onlyOne('organization', wanted, await query.execute());
}

/** As `chooseOrganization`, among the live projects. */
export async function chooseProject(
  tx: Transaction,
  wanted: string | undefined,
  organization: string | undefined,
): Promise<Owner> {
  const owner = organization === undefined ? undefined : await chooseOrganization(tx, organization);
  let query = systemDb(tx)
    .selectFrom('projects')
    .select(['id', 'name'])
    .where('archived_at', 'is', null)
    .orderBy('id')
    .limit(LISTED);
  if (owner !== undefined) query = query.where('organization_id', '=', owner.id);
  if (wanted !== undefined) query = query.where((eb) => eb.or([eb('id', '=', wanted), eb('name', '=', wanted)]));
  return onlyOne('project', wanted, await query.execute());
}

function onlyOne(kind: 'organization' | 'project', wanted: string | undefined, found: readonly Owner[]): Owner {
  const [first, ...others] = found;
  if (first !== undefined && others.length === 0) return first;
  if (first === undefined) {
    throw new OperatorError(
      wanted === undefined
        ? `There is no ${kind} yet. ${kind === 'organization' ? 'Make one with: npm run ironcraft -- org create NAME' : 'Make one with POST /v1/organization/projects and an organization key.'}`
        : `There is no ${kind} ${wanted}.`,
    );
  }
  const list = found.map(({ id, name }) => `  ${id}  ${name}`).join('\n');
  throw new OperatorError(`There are several: name one with --${kind}.\n${list}`);
}
