import type { Command } from 'commander';
import { formatEuros } from '../../domains/prices/money.ts';
import { ask } from './ask.ts';

interface Options {
  readonly json?: true;
}

export function addNames(domains: Command): void {
  const name = domains
    .command('name')
    .helpCommand(false)
    .description('see to names of which the registry and the portfolios say different things, or that nobody pays for');
  name
    .command('missing')
    .summary('list names that the registry says are not ours')
    .description(
      'Lists the names of portfolios that the registry says are not ours, the longest missing first. One that stays missing for a ' +
        'day, is seen to be so three times, and that a second command agrees about, is retired by itself; while more than one ' +
        'name in a thousand is missing, none is.',
    )
    .option('--json', 'print {is_stopped, names}')
    .action(listMissing);
  name
    .command('retire')
    .argument('<name>', 'a missing name')
    .summary('take a missing name out of its portfolio')
    .description('Takes a missing name out of its portfolio without waiting. Its records are kept for 60 days.')
    .option('--json', 'print {name, workspace_id}')
    .action(retire);
  name
    .command('recover')
    .argument('<name>', 'a name that was retired at most 60 days ago')
    .summary('put a retired name back')
    .description(
      'Puts a name back into the portfolio that it was retired from, with its records. What was paid back for it, as of a name that is deleted soon after its registration, is charged again.',
    )
    .option('--json', 'print {name, workspace_id, charged_cents}')
    .action(recover);
  name
    .command('unpaid')
    .summary('list unpaid names that the registry keeps')
    .description(
      'Lists the names whose present term nobody has paid for, and that the registry did not let be suspended, restored or deleted, with ' +
        'its reason. Each step is tried again every hour; a name that is not deleted within the registry’s grace period is billed to you.',
    )
    .option('--json', 'print {names}')
    .action(listUnpaid);
  name
    .command('unassigned')
    .summary('list names that nobody here has')
    .description(
      'Lists the names that are with your registrar account and in no portfolio, as orders came upon them. Such an order fails: ' +
        'nobody gets a name because he asks for it.',
    )
    .option('--json', 'print {names}')
    .action(listUnassigned);
  name
    .command('assign')
    .argument('<name>', 'an unassigned name')
    .summary('put an unassigned name into a portfolio')
    .description(
      'Puts an unassigned name into a workspace’s portfolio, paid for until its term ends. What was paid back for it, as of a name that is deleted soon after its registration, is charged again.',
    )
    .option('--workspace <id|email>', 'the workspace, where there are several')
    .option('--json', 'print {name, workspace_id, workspace_name}')
    .action(assign);
}

interface AssignOptions extends Options {
  readonly workspace?: string;
}

async function listUnassigned({ json }: Options): Promise<void> {
  const answer = await ask('unassigned_names', {});
  if (json) return print(JSON.stringify(answer));
  if (answer.names.length === 0) return print('No name is unassigned.');
  const lines = answer.names.map(
    ({ name, expires_at: expiresAt, found_at: foundAt, order_id: orderId }) =>
      `${name}  expires ${expiresAt ?? 'at a time that its registry does not show'}, found ${foundAt} by ${orderId}`,
  );
  print(lines.join('\n'));
}

async function assign(name: string, { workspace, json }: AssignOptions): Promise<void> {
  const assigned = await ask('assign_name', { name, ...(workspace === undefined ? {} : { workspace }) });
  const { workspace_id: workspaceId, workspace_name: workspaceName } = assigned;
  print(json ? JSON.stringify(assigned) : `${assigned.name} is in the portfolio of ${workspaceId} (${workspaceName})`);
}

async function listUnpaid({ json }: Options): Promise<void> {
  const answer = await ask('unpaid_names', {});
  if (json) return print(JSON.stringify(answer));
  if (answer.names.length === 0) return print('No unpaid name needs attention.');
  const lines = answer.names.map(
    ({ name, workspace_id: workspaceId, paid_until: paidUntil, problem, tried_at: triedAt }) =>
      `${name}  of ${workspaceId}, paid until ${paidUntil}, tried ${triedAt ?? 'never'}: ${problem}`,
  );
  print(lines.join('\n'));
}

async function listMissing({ json }: Options): Promise<void> {
  const answer = await ask('missing_names', {});
  if (json) return print(JSON.stringify(answer));
  if (answer.names.length === 0) return print('No name is missing.');
  const lines = answer.names.map(
    ({ name, workspace_id: workspaceId, missing_since: since, sightings, announced }) =>
      `${name}  of ${workspaceId}, since ${since}, seen ${sightings} times${announced ? ', announced by the registry' : ''}`,
  );
  if (answer.is_stopped) {
    lines.push(
      'More than one name in a thousand is missing: none is retired by itself. Check the address and the account of the registry first; retire those that ' +
        'have truly left with: domains name retire <name>',
    );
  }
  print(lines.join('\n'));
}

async function retire(name: string, { json }: Options): Promise<void> {
  const retired = await ask('retire_name', { name });
  print(json ? JSON.stringify(retired) : `${retired.name} is retired from the portfolio of ${retired.workspace_id}`);
}

async function recover(name: string, { json }: Options): Promise<void> {
  const recovered = await ask('recover_name', { name });
  const charged =
    recovered.charged_cents === 0
      ? ''
      : `, and ${formatEuros(recovered.charged_cents)} that were paid back are charged again`;
  print(
    json
      ? JSON.stringify(recovered)
      : `${recovered.name} is in the portfolio of ${recovered.workspace_id} again${charged}`,
  );
}

function print(text: string): void {
  process.stdout.write(`${text}\n`);
}
