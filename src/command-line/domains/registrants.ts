import type { Command } from 'commander';
import { ask } from './ask.ts';

interface Options {
  readonly json?: true;
}

interface WorkspaceOptions extends Options {
  readonly workspace?: string;
}

export function addRegistrants(domains: Command): void {
  const registrant = domains
    .command('registrant')
    .helpCommand(false)
    .description('see to registrants whose e-mail addresses are to be confirmed');
  registrant
    .command('list')
    .summary('list registrants who have not confirmed their addresses')
    .description(
      'Lists the registrants who were asked to confirm their e-mail addresses and have not, with the day on which their names are suspended: those first whose day comes first. ' +
        'The days begin when a mail server has taken the first message, or refused the address for good.',
    )
    .option('--json', 'print {registrants}')
    .action(listUnverified);
  registrant
    .command('verify')
    .summary('say that a registrant is verified')
    .description(
      'Says that you have verified a registrant by other means: suspended names work again, and the reason is kept. Also before a portfolio is imported whose registrants were verified elsewhere.',
    )
    .option('--workspace <id|email>', 'the workspace, where there are several')
    .requiredOption('--reason <text>', 'how you have verified the registrant')
    .option('--json', 'print {workspace_id, workspace_name, email}')
    .action(verify);
  registrant
    .command('ask')
    .summary('ask a registrant again')
    .description(
      'Asks a registrant again, as you have reason to doubt the address, such as a message that came back: names of TLDs that ask for it are suspended after 15 days without an answer.',
    )
    .option('--workspace <id|email>', 'the workspace, where there are several')
    .option('--json', 'print {workspace_id, workspace_name}')
    .action(askAgain);
  registrant
    .command('correct')
    .summary('correct the e-mail address of a registrant')
    .description(
      'Corrects the address that a workspace signed up with. Auth codes and links for signing in are mailed to it: be sure who asks. Where names demand it, the new one is to be confirmed.',
    )
    .option('--workspace <id|email>', 'the workspace, where there are several')
    .requiredOption('--email <address>', 'the right address')
    .option('--json', 'print {workspace_id, workspace_name, email, previous_email}')
    .action(correct);
}

async function listUnverified({ json }: Options): Promise<void> {
  const answer = await ask('unverified_registrants', {});
  if (json) return print(JSON.stringify(answer));
  if (answer.registrants.length === 0) return print('No registrant is asked to confirm an address.');
  const lines = answer.registrants.map(
    ({ email, problem, suspended_names: names, suspends_at: suspendsAt, workspace_id: workspaceId }) => {
      const day = suspendsAt === null ? 'no message was taken yet' : `suspended from ${suspendsAt}`;
      return `${email}  of ${workspaceId}, ${day}, ${names} names are${problem === null ? '' : `: ${problem}`}`;
    },
  );
  print(lines.join('\n'));
}

async function verify({ json, reason, workspace }: WorkspaceOptions & { readonly reason: string }): Promise<void> {
  const verified = await ask('verify_registrant', { reason, ...(workspace === undefined ? {} : { workspace }) });
  print(json ? JSON.stringify(verified) : `${verified.email} of ${verified.workspace_id} is verified`);
}

async function askAgain({ json, workspace }: WorkspaceOptions): Promise<void> {
  const asked = await ask('ask_registrant', workspace === undefined ? {} : { workspace });
  print(json ? JSON.stringify(asked) : `${asked.workspace_id} (${asked.workspace_name}) is asked`);
}

async function correct({ email, json, workspace }: WorkspaceOptions & { readonly email: string }): Promise<void> {
  const corrected = await ask('correct_registrant', { email, ...(workspace === undefined ? {} : { workspace }) });
  const { email: after, previous_email: before, workspace_id: workspaceId } = corrected;
  print(json ? JSON.stringify(corrected) : `${workspaceId} has the address ${after}, and had ${before}`);
}

function print(text: string): void {
  process.stdout.write(`${text}\n`);
}
