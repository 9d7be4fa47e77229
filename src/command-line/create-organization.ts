import type { Command } from 'commander';
import { systemClock } from '../kernel/clock/clock.ts';
import { publicUrlFor } from '../kernel/config/config.ts';
import { createTokenIssuer } from '../platform/access/issue-token.ts';
import { createTokenSigner } from '../platform/access/sign-token.ts';
import { createSigningKeys } from '../platform/access/signing-keys.ts';
import { createOrganization } from '../platform/resources/projects/index.ts';
import { CommandError, EXIT_USAGE } from './command-error.ts';
import { openVault, type Store, withMigratedStore } from './open-store.ts';

const MAX_NAME_LENGTH = 200;

const whileServing =
  'Stop the server, run this again, and start the server. A PostgreSQL server (IRONCRAFT_DATABASE_URL) needs no stop.';

export function addCreateOrganization(organization: Command): void {
  organization
    .command('create')
    .argument('<name>', `what to call it, 1 to ${MAX_NAME_LENGTH} characters`)
    .summary('create an organization and its key')
    .description(
      'Creates an organization and prints its key, once. With the key, POST /v1/organization/projects makes projects. ' +
        'The server notices at once and needs no restart.',
    )
    .option('--json', 'print {organization_id, name, organization_key}')
    .action(async (name: string, { json }: { json?: true }) => {
      if (name.trim() === '' || name.length > MAX_NAME_LENGTH) {
        throw new CommandError(`NAME must be 1 to ${MAX_NAME_LENGTH} characters.`, { exitCode: EXIT_USAGE });
      }
      const created = await withMigratedStore(whileServing, (store) => createWithKey(store, name));
      process.stdout.write(
        json
          ? `${JSON.stringify(created)}\n`
          : `organization      ${created.organization_id}\norganization key  ${created.organization_key}\n`,
      );
    });
}

async function createWithKey({ config, db }: Store, name: string) {
  const keys = createSigningKeys(db, await openVault(config, db));
  const issuer = createTokenIssuer({
    signer: createTokenSigner(keys, publicUrlFor(config, config.port)),
    clock: systemClock,
  });
  return db.transaction(async (tx) => {
    const organization = await createOrganization(tx, { name });
    const key = await issuer.issueOrganizationKey(tx, { organizationId: organization.id, name: 'command line' });
    return { organization_id: organization.id, name, organization_key: key.token };
  });
}
