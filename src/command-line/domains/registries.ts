/** The registries of the file: who they are, and their passwords. */
import type { Command } from 'commander';
import type { RegistryFileOptions } from '../../domains/boot/setup/registry-options.ts';
import type { DomainVerbs } from '../../domains/operator/index.ts';
import { loadConfig } from '../../kernel/config/config.ts';
import { readEnvironment } from '../../kernel/config/read-environment.ts';
import type { AnswerOf } from '../../kernel/operator/index.ts';
import { CommandError, EXIT_FAILURE, type Finish } from '../command-error.ts';
import { ask } from './ask.ts';

type Balance = AnswerOf<DomainVerbs, 'registry_balances'>['balances'][number];

interface Options {
  readonly json?: true;
}

export function addRegistries(domains: Command, finish: Finish): void {
  const registry = domains
    .command('registry')
    .helpCommand(false)
    .description('see to the registries of IRONCRAFT_DOMAINS_CONFIG_FILE');
  registry
    .command('list')
    .summary('list the registries, and the TLDs that each sells')
    .description(
      'Lists the registries of the file, where they are, and what they sell. `doctor` tries whether they take the login.',
    )
    .option('--json', 'print {registries}')
    .action(list);
  registry
    .command('balance')
    .summary('show what your accounts at registries may still spend')
    .description(
      'Asks each registry what your account there may still spend, and shows what it has told, when (it may be older where it does not answer within five seconds, or no server runs), and how many orders wait because it has no credit. The exit code is 1 ' +
        'where less is left than `balance.warn_below` of the file, or the registry refuses what costs something.',
    )
    .option('--json', 'print {balances}')
    .action(async ({ json }: Options) => {
      if ((await showBalances(json === true)) > 0) finish(EXIT_FAILURE);
    });
  registry
    .command('password')
    .argument('<id>', 'a registry of the file')
    .summary('change the password of a registry account')
    .description(
      'Has the registry change the password to a new one, and puts it into the password’s file. Running servers read it at their next ' +
        'login. The new one is written down before the registry is told: a call that was cut off is finished by the next.',
    )
    .action(changePassword);
}

async function readRegistries(): Promise<readonly RegistryFileOptions[]> {
  const { configFile } = loadConfig().domains;
  if (configFile === undefined) throw new CommandError('Set IRONCRAFT_DOMAINS_CONFIG_FILE to the file of registries.');
  const { readSetup } = await import('../../domains/boot/setup/read-setup.ts');
  return (await readSetup(configFile, readEnvironment())).registries;
}

async function list({ json }: Options): Promise<void> {
  const registries = (await readRegistries()).map(({ clientId, host, id, port, zones }) => ({
    id,
    endpoint: `epps://${host}:${port}`,
    client_id: clientId,
    tlds: zones,
  }));
  if (json) return print(JSON.stringify({ registries }));
  for (const { id, client_id: clientId, endpoint, tlds } of registries) {
    print(`${id}  ${endpoint} as ${clientId}, sells ${tlds.join(', ')}`);
  }
}

/** How many are low. */
async function showBalances(isJson: boolean): Promise<number> {
  const { balances } = await ask('registry_balances', {});
  if (isJson) print(JSON.stringify({ balances }));
  else for (const balance of balances) print(describeBalance(balance));
  return balances.filter(({ is_low: isLow }) => isLow).length;
}

export function describeBalance(balance: Balance): string {
  const { available_cents: cents, currency, observed_at: at, orders_waiting: waiting, refused_at: refusedAt } = balance;
  const seen = cents === null ? 'has not told' : `${amountOf(cents, currency)} left at ${at}`;
  const parts = [
    `${balance.registry}  ${seen}`,
    ...(refusedAt === null ? [] : [`refuses what costs something since ${refusedAt}`]),
    ...(balance.is_low && balance.warn_below_cents !== null
      ? [`less than ${amountOf(balance.warn_below_cents, currency)}`]
      : []),
    ...(waiting === 0 ? [] : [`${waiting} orders wait`]),
  ];
  return parts.join('; ');
}

function amountOf(cents: number, currency: string | null): string {
  return `${(cents / 100).toFixed(2)}${currency === null ? '' : ` ${currency}`}`;
}

async function changePassword(id: string): Promise<void> {
  const registries = await readRegistries();
  const found = registries.find((registry) => registry.id === id);
  if (found === undefined) throw new CommandError(`The file has no registry ${id}.`);
  const { passwordFile } = found;
  if (passwordFile === undefined) {
    throw new CommandError(`The password of ${id} is in the environment. Put it into a file to have it changed here.`);
  }
  const { rotatePassword } = await import('../../domains/boot/setup/rotate-password.ts');
  try {
    const done = await rotatePassword({ endpoint: found, passwordFile });
    print(
      `${id} has its new password${done === 'finished' ? ', of a change that was begun before' : ''}; it is in ${passwordFile}`,
    );
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new CommandError(`The password of ${id} may not have been changed: ${reason}. Repeat the call.`, {
      cause: error,
    });
  }
}

function print(text: string): void {
  process.stdout.write(`${text}\n`);
}
