import { type Command, InvalidArgumentError } from 'commander';
import { MAIL_ADDRESS, MAX_NAME_LENGTH } from '../platform/operator/index.ts';
import { askPlatform } from './ask-platform.ts';
import { CommandError, EXIT_USAGE } from './command-error.ts';

interface UpdateOptions {
  readonly organization?: string;
  readonly name?: string;
  readonly contact?: string;
  readonly json?: true;
}

export function addUpdateOrganization(organization: Command): void {
  organization
    .command('update')
    .summary('rename an organization, or say where it can be written to')
    .description(
      'Programs that somebody of the organization signs in to are told both, where they ask for `profile` and `email`.',
    )
    .option('--organization <id|name>', 'the organization, where there are several')
    .option('--name <name>', `what to call it, 1 to ${MAX_NAME_LENGTH} characters`, parseName)
    .option('--contact <address>', 'its mail address; an empty one removes it', parseContact)
    .option('--json', 'print {organization_id, name, contact_email}')
    .action(update);
}

async function update({ organization, name, contact, json }: UpdateOptions): Promise<void> {
  if (name === undefined && contact === undefined) {
    throw new CommandError('Say what to change: --name or --contact.', { exitCode: EXIT_USAGE });
  }
  const answer = await askPlatform('update_organization', {
    ...(organization === undefined ? {} : { organization }),
    ...(name === undefined ? {} : { name }),
    ...(contact === undefined ? {} : { contact_email: contact === '' ? null : contact }),
  });
  const shown = `${answer.organization_id} (${answer.name}): ${answer.contact_email ?? 'no contact'}`;
  process.stdout.write(`${json ? JSON.stringify(answer) : shown}\n`);
}

function parseName(text: string): string {
  if (text.trim() !== '' && text.length <= MAX_NAME_LENGTH) return text;
  throw new InvalidArgumentError(`Use 1 to ${MAX_NAME_LENGTH} characters.`);
}

export function parseContact(text: string): string {
  if (text === '' || MAIL_ADDRESS.test(text)) return text;
  throw new InvalidArgumentError('Use a mail address such as owner@example.com.');
}
