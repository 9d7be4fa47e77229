import type { Command } from 'commander';
import { MAX_NAME_LENGTH } from '../platform/operator/index.ts';
import { askPlatform } from './ask-platform.ts';
import { CommandError, EXIT_USAGE } from './command-error.ts';
import { parseContact } from './update-organization.ts';

export function addCreateOrganization(organization: Command): void {
  organization
    .command('create')
    .argument('<name>', `what to call it, 1 to ${MAX_NAME_LENGTH} characters`)
    .summary('create an organization and its key')
    .description(
      'Creates an organization and prints its key, once. With the key, POST /v1/organization/projects makes projects. ' +
        'The server notices at once and needs no restart.',
    )
    .option('--contact <address>', 'its mail address, for programs that its people sign in to', parseContact)
    .option('--json', 'print {organization_id, name, organization_key}')
    .action(async (name: string, { contact, json }: { contact?: string; json?: true }) => {
      if (name.trim() === '' || name.length > MAX_NAME_LENGTH) {
        throw new CommandError(`NAME must be 1 to ${MAX_NAME_LENGTH} characters.`, { exitCode: EXIT_USAGE });
      }
      const created = await askPlatform('create_organization', {
        name,
        ...(contact ? { contact_email: contact } : {}),
      });
      process.stdout.write(
        json
          ? `${JSON.stringify(created)}\n`
          : `organization      ${created.organization_id}\norganization key  ${created.organization_key}\n`,
      );
    });
}
